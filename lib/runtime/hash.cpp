// SipHash-2-4-128, written from its definition: four lanes of 64 bits, two rounds for each
// little-endian word of input, four rounds for each half of the result.
#include "runtime/hash.h"

#include "ir/format.h"

#include <bit>
#include <cstring>

namespace fuse {

namespace {

struct Lanes {
  std::uint64_t a, b, c, d;

  void round() {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }

  void absorb(std::uint64_t word) {
    d ^= word;
    round();
    round();
    a ^= word;
  }

  std::uint64_t squeeze() {
    for (int i = 0; i < 4; ++i) round();
    return a ^ b ^ c ^ d;
  }
};

std::uint64_t word_at(const char *data, std::size_t bytes) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word = 0;
  std::memcpy(&word, data, bytes);
  return word;
}

}  // namespace

Hash128 hash128(std::string_view data, std::uint64_t key0, std::uint64_t key1) {
  // The constants spell "somepseudorandomlygeneratedbytes"; 0xee and 0xdd select 128-bit output.
  Lanes lanes{key0 ^ 0x736f6d6570736575, key1 ^ 0x646f72616e646f6d ^ 0xee,
              key0 ^ 0x6c7967656e657261, key1 ^ 0x7465646279746573};
  std::size_t whole = data.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) lanes.absorb(word_at(data.data() + i, 8));
  std::uint64_t last = data.size() > whole ? word_at(data.data() + whole, data.size() - whole) : 0;
  lanes.absorb(last | static_cast<std::uint64_t>(data.size()) << 56);

  Hash128 hash;
  lanes.c ^= 0xee;
  hash.lo = lanes.squeeze();
  lanes.b ^= 0xdd;
  hash.hi = lanes.squeeze();
  return hash;
}

std::string to_string(const Hash128 &hash) {
  return fmt::format("{:016x}{:016x}", hash.hi, hash.lo);
}

}  // namespace fuse
