// An array whose size is known when it is made: on the stack where it is small.
#pragma once

#include <cstddef>
#include <memory>

namespace fuse {

/// Elements are uninitialised. Keeps the launch path free of allocations for up to N elements.
template <class T, std::size_t N>
class Scratch {
 public:
  explicit Scratch(std::size_t size)
      : heap_(size > N ? new T[size] : nullptr), data_(heap_ ? heap_.get() : stack_), size_(size) {}
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  T *data() { return data_; }
  std::size_t size() const { return size_; }
  T &operator[](std::size_t i) { return data_[i]; }
  T *begin() { return data_; }
  T *end() { return data_ + size_; }

 private:
  T stack_[N];
  std::unique_ptr<T[]> heap_;
  T *data_;
  std::size_t size_;
};

}  // namespace fuse
