// What was recorded of a model: the bits of values by the name of their node, and the results of
// the extern ops that were not recorded because they follow from their operands.
#pragma once

#include "ir/evaluate.h"
#include "ir/graph_data.h"

#include <map>
#include <optional>
#include <string>

namespace fuse {

/// Throws Error{InvalidArgument}.
[[noreturn]] void refuse(const std::string &message);

class Recorded {
 public:
  /// Reads "name bytes\n" and the bytes, one value after another. Throws InvalidArgument.
  explicit Recorded(const std::string &path);

  /// The value of a name, if it was recorded.
  std::optional<Tensor> find(const std::string &name, DType type,
                             const std::vector<std::int64_t> &shape) const;

 private:
  std::map<std::string, std::string, std::less<>> bytes_;
};

/// The result of a cumulative sum of integers or bools along the last axis, or of adding rows to a
/// table at given positions. Throws InvalidArgument for other ops.
Expected compute_extern(std::string_view name, std::span<const Expected> operands);

}  // namespace fuse
