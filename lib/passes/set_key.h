// A name for a set of numbers: equal sets have equal ones. Those of disjoint sets add up to that of
// their union, so a search knows a set before it lists it.
#pragma once

#include <cstdint>
#include <span>

namespace fuse {

/// A sum of random words, one of each member: 128 bits, of which no two sets that a machine could
/// count will share one.
struct SetKey {
  std::uint64_t low = 0, high = 0;

  SetKey &operator+=(const SetKey &other) {
    low += other.low;
    high += other.high;
    return *this;
  }
  SetKey &operator-=(const SetKey &other) {
    low -= other.low;
    high -= other.high;
    return *this;
  }
  bool operator==(const SetKey &) const = default;
};

struct SetKeyHash {
  std::size_t operator()(const SetKey &key) const { return key.low; }
};

/// The finalizer of SplitMix64.
constexpr std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

inline SetKey key_of(std::uint32_t member) {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
  std::uint64_t n = 2 * std::uint64_t{member};
  return {scramble((n + 1) * kStep), scramble((n + 2) * kStep)};
}

inline SetKey key_of(std::span<const std::uint32_t> members) {
  SetKey key;
  for (std::uint32_t m : members) key += key_of(m);
  return key;
}

}  // namespace fuse
