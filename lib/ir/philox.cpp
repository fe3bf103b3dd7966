// Ten rounds of two multiplications, whose halves cross over.
#include "ir/philox.h"

namespace fuse {

namespace {

std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

}  // namespace

std::array<std::uint32_t, kPhiloxWords> philox(std::array<std::uint32_t, 4> counter,
                                               std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    std::uint64_t a = std::uint64_t{kPhiloxMultipliers[0]} * counter[0];
    std::uint64_t b = std::uint64_t{kPhiloxMultipliers[1]} * counter[2];
    counter = {high(b) ^ counter[1] ^ key[0], low(b), high(a) ^ counter[3] ^ key[1], low(a)};
    key = {key[0] + kPhiloxKeySteps[0], key[1] + kPhiloxKeySteps[1]};
  }
  return counter;
}

std::uint32_t random_word(std::uint64_t seed, std::uint64_t stream, std::uint64_t element) {
  std::uint64_t block = element / kPhiloxWords;
  return philox({low(block), high(block), low(stream), high(stream)},
                {low(seed), high(seed)})[element % kPhiloxWords];
}

}  // namespace fuse
