// 64-bit integer arithmetic that neither wraps, traps nor rounds.
#pragma once

#include <fuse/error.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace fuse {

/// Sums and products of numbers of one kind, which the message names: "extent 3 * 4 exceeds 63
/// bits". Throws Error of the code where a result has no 64 bits.
struct ExactArithmetic {
  ErrorCode code;
  std::string_view what;

  std::int64_t add(std::int64_t a, std::int64_t b) const {
    std::int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) fail(a, '+', b);
    return sum;
  }
  std::int64_t mul(std::int64_t a, std::int64_t b) const {
    std::int64_t product;
    if (__builtin_mul_overflow(a, b, &product)) fail(a, '*', b);
    return product;
  }

 private:
  [[noreturn]] void fail(std::int64_t a, char operation, std::int64_t b) const;
};

/// a / b where b divides a and the quotient has 64 bits: INT64_MIN / -1 has not.
inline std::optional<std::int64_t> exact_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN) || a % b != 0) return std::nullopt;
  return a / b;
}

}  // namespace fuse
