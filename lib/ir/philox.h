// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011).
#pragma once

#include <array>
#include <cstdint>

namespace fuse {

inline constexpr std::uint32_t kPhiloxMultipliers[] = {0xD2511F53, 0xCD9E8D57};
inline constexpr std::uint32_t kPhiloxKeySteps[] = {0x9E3779B9, 0xBB67AE85};
inline constexpr int kPhiloxRounds = 10;
inline constexpr int kPhiloxWords = 4;  // that a call gives

std::array<std::uint32_t, kPhiloxWords> philox(std::array<std::uint32_t, 4> counter,
                                               std::array<std::uint32_t, 2> key);

/// The meaning of RandomBits: word e % 4 of the call with counter (e / 4, stream) and the seed as
/// key, each 64 bits, lower half first.
std::uint32_t random_word(std::uint64_t seed, std::uint64_t stream, std::uint64_t element);

}  // namespace fuse
