// Every answer of SizeAssumptions depends on the class of the sizes alone, so one program serves
// all sizes of it.
#include "passes/size_class.h"

#include <algorithm>
#include <numeric>

namespace fuse {

namespace {

constexpr std::int64_t kMaxDivisor = 16;  // elements of a vector
constexpr std::int64_t kDefaultSize = 4096;

// The layouts of rows are powers of two of threads, with few elements each: 16 elements, 64, powers
// of two to 1,024; with a step between two of them beyond, where a row leaves a third of its slots
// empty at most.
constexpr std::int64_t kTiers[] = {16,    64,    128,   256,   512,   1024,  1536,
                                   2048,  3072,  4096,  6144,  8192,  12288, 16384,
                                   24576, 32768, 49152, 65536, 98304, 131072};
constexpr std::int64_t kBeyond = 2 * 131072;

}  // namespace

Ranges ranges_of(const std::vector<Symbol> &symbols) {
  Ranges ranges;
  ranges.symbol_min = [&symbols](const std::string &name) -> std::int64_t {
    for (const Symbol &s : symbols)
      if (s.name == name) return s.bounds.min;
    return 0;
  };
  return ranges;
}

Bindings divisors_of(const Bindings &sizes) {
  Bindings divisors;
  for (const auto &[name, size] : sizes) divisors[name] = std::gcd(size, kMaxDivisor);
  return divisors;
}

Bindings expected_sizes(const std::vector<Symbol> &symbols, const Bindings &given) {
  Bindings sizes = given;
  for (const Symbol &s : symbols) {
    std::int64_t size = std::clamp(kDefaultSize, s.bounds.min, s.bounds.max);
    size = std::max(s.bounds.min, size / s.bounds.divisor * s.bounds.divisor);
    sizes.emplace(s.name, size);
  }
  return sizes;
}

Tier tier_of(std::int64_t length) {
  const auto *tier = std::lower_bound(std::begin(kTiers), std::end(kTiers), length);
  std::int64_t min = tier == std::begin(kTiers) ? 0 : tier[-1] + 1;
  return {min, tier == std::end(kTiers) ? INT64_MAX : *tier};
}

std::int64_t tier_length(std::int64_t length) { return std::min(tier_of(length).max, kBeyond); }

}  // namespace fuse
