// 128-bit hash of keys and checksums of cache entries.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace fuse {

struct Hash128 {
  std::uint64_t lo = 0, hi = 0;
  bool operator==(const Hash128 &) const = default;
};

/// SipHash-2-4 with 128-bit output (J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast
/// short-input PRF", 2012). The default key is fixed, so that hashes name files across processes.
Hash128 hash128(std::string_view data, std::uint64_t key0 = 0, std::uint64_t key1 = 0);

/// 32 hexadecimal digits.
std::string to_string(const Hash128 &hash);

}  // namespace fuse
