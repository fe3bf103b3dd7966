// Binary forms: 64-bit little-endian numbers and counted strings, one after another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace fuse {

class ByteWriter {
 public:
  void number(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) out_ += static_cast<char>(value >> shift);
  }
  void text(std::string_view value) {
    number(value.size());
    out_ += value;
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

/// Reads what a ByteWriter wrote. Throws Error{Parse}, "the bytes are no <what>", where they end
/// early or hold a number that cannot be.
class ByteReader {
 public:
  ByteReader(std::string_view bytes, const char *what) : rest_(bytes), what_(what) {}

  std::uint64_t number();
  /// A number of at most `limit`.
  std::uint64_t number(std::uint64_t limit);
  bool flag() { return number(1) != 0; }
  /// How many elements follow, each of at least `bytes` bytes: what a vector may be reserved for.
  std::size_t count(std::size_t bytes) { return number(rest_.size() / bytes); }
  std::string_view view();
  std::string text() { return std::string(view()); }
  std::string_view bytes(std::uint64_t count);

  std::size_t left() const { return rest_.size(); }
  void require(bool fine) const;

 private:
  std::string_view rest_;
  const char *what_;
};

}  // namespace fuse
