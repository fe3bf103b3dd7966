// Integer division that neither traps nor rounds.
#pragma once

#include <cstdint>
#include <optional>

namespace fuse {

/// a / b where b divides a and the quotient has 64 bits: INT64_MIN / -1 has not.
inline std::optional<std::int64_t> exact_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN) || a % b != 0) return std::nullopt;
  return a / b;
}

}  // namespace fuse
