// What steps of a program wait for: the memory that they touch orders them.
#pragma once

#include "ir/program.h"

#include <span>
#include <utility>
#include <vector>

namespace fuse {

/// Steps of a program, by what they must come behind.
class StepOrder {
 public:
  /// `in_place`: inputs and outputs that are one memory.
  StepOrder(const Program &program, std::span<const std::pair<std::size_t, std::size_t>> in_place);

  /// Steps of one level do not wait for one another. A step that others wait for is at the level at
  /// which it can run first; one that none waits for is at the last.
  const std::vector<std::size_t> &levels() const { return levels_; }

  /// Steps in an order that runs where those of a group run together, as the last of them would:
  /// groups in order. Steps of a group are of one level; `group` is by step.
  std::vector<std::size_t> arrange(const std::vector<std::size_t> &group) const;

 private:
  struct Memory {
    std::vector<std::size_t> readers;  // since it was written
    std::size_t writer = SIZE_MAX;     // the last one
  };

  void read(std::size_t step, Memory &memory);
  void write(std::size_t step, Memory &memory);
  void add_edge(std::size_t from, std::size_t to);

  std::vector<std::size_t> levels_;
  std::vector<std::vector<std::size_t>> users_;  // steps that wait for each
};

}  // namespace fuse
