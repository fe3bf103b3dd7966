// Places of elements are computed one by one from their coordinates.
#include "property/memory.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace fuse {

namespace {

std::byte pattern(std::size_t at) { return std::byte(0xA5 ^ (at * 37 & 0x1F)); }

}  // namespace

std::vector<std::int64_t> row_major(const std::vector<std::int64_t> &extents) {
  std::vector<std::int64_t> strides(extents.size());
  std::int64_t elements = 1;
  for (std::size_t i = extents.size(); i-- > 0; elements *= extents[i]) strides[i] = elements;
  return strides;
}

std::vector<std::int64_t> random_strides(Entropy &entropy, const std::vector<std::int64_t> &extents,
                                         bool is_input) {
  std::vector<std::size_t> order(extents.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});  // innermost first
  if (!order.empty() && entropy.one_in(3))
    std::swap(order[entropy.below(order.size())], order[entropy.below(order.size())]);
  std::vector<std::int64_t> strides(extents.size());
  std::int64_t reach = 1;  // elements that the axes so far span
  for (std::size_t axis : order) {
    std::int64_t stride = reach + (entropy.one_in(4) ? std::int64_t(1 + entropy.below(3)) : 0);
    reach = stride * std::max<std::int64_t>(extents[axis], 1);
    if (is_input && entropy.one_in(6)) stride = 0;
    strides[axis] = entropy.one_in(4) ? -stride : stride;
  }
  return strides;
}

GuardedMemory::GuardedMemory(DType type, std::vector<std::int64_t> extents,
                             std::vector<std::int64_t> strides, std::size_t offset)
    : type_(type), extents_(std::move(extents)), strides_(std::move(strides)) {
  std::int64_t below = 0, above = 1;  // elements before and from element 0 on
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    std::int64_t span = std::max<std::int64_t>(extents_[i] - 1, 0) * strides_[i];
    (span < 0 ? below : above) += std::abs(span);
  }
  std::size_t element = size_of(type);
  std::size_t before = (std::size_t(below) * element / kBoundary + 2) * kBoundary;
  origin_ = before + offset * element;
  size_ = origin_ + std::size_t(above) * element + kBoundary;
  storage_.resize(size_ + kBoundary);
  for (std::size_t i = 0; i < size_; ++i) base()[i] = pattern(i);
}

std::byte *GuardedMemory::base() const {
  auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
  return storage_.data() + (kBoundary - address % kBoundary) % kBoundary;
}

std::size_t GuardedMemory::place(std::int64_t element) const {
  std::int64_t at = 0;
  for (std::size_t i = extents_.size(); i-- > 0; element /= extents_[i])
    at += element % extents_[i] * strides_[i];
  return origin_ + std::size_t(at * std::int64_t(size_of(type_)));
}

void GuardedMemory::write(const Tensor &tensor) {
  std::size_t size = size_of(type_);
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    std::memcpy(base() + place(i), tensor.bytes.data() + std::size_t(i) * size, size);
}

Tensor GuardedMemory::read() const {
  Tensor tensor(type_, extents_);
  std::size_t size = size_of(type_);
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    std::memcpy(tensor.bytes.data() + std::size_t(i) * size, base() + place(i), size);
  return tensor;
}

bool GuardedMemory::is_intact() const {
  std::vector<bool> owned(size_, false);
  for (std::int64_t i = 0, n = count_elements(extents_); i < n; ++i)
    std::fill_n(owned.begin() + std::ptrdiff_t(place(i)), size_of(type_), true);
  for (std::size_t i = 0; i < size_; ++i)
    if (!owned[i] && base()[i] != pattern(i)) return false;
  return true;
}

}  // namespace fuse
