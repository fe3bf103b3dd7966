// Reading of binary forms: every extent is checked before it is used.
#include "ir/bytes.h"

#include "ir/format.h"

namespace fuse {

void ByteReader::require(bool fine) const {
  if (!fine) fail(ErrorCode::Parse, "the bytes are no {}", what_);
}

std::string_view ByteReader::bytes(std::uint64_t count) {
  require(count <= rest_.size());
  std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

std::uint64_t ByteReader::number() {
  std::uint64_t value = 0;
  int shift = 0;
  for (char c : bytes(8)) {
    value |= std::uint64_t{static_cast<unsigned char>(c)} << shift;
    shift += 8;
  }
  return value;
}

std::uint64_t ByteReader::number(std::uint64_t limit) {
  std::uint64_t value = number();
  require(value <= limit);
  return value;
}

std::string_view ByteReader::view() { return bytes(number()); }

}  // namespace fuse
