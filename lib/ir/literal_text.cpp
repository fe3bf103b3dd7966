// Printing and reading of literals. to_literal(to_string(x), x.dtype) is x, bit by bit.
#include "ir/literal_text.h"

#include "ir/float_bits.h"
#include "ir/format.h"

#include <bit>
#include <charconv>
#include <cmath>

namespace fuse {

namespace {

int width_of(DType dtype) { return static_cast<int>(8 * size_of(dtype)); }

template <class T>
std::string float_to_string(T value, std::uint64_t bits, DType dtype) {
  std::string text;
  if (std::isfinite(value)) {
    append(text, "{}", value);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
  } else {
    append(text, "0x{:0{}x}", bits, width_of(dtype) / 4);
  }
  return text;
}

template <class T>
T parse_float(const Lexer &lexer, const NumberText &number) {
  const std::string &text = number.token.name;
  T value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    lexer.error(number.token, "number " + text + " is out of range");
  return number.negative ? -value : value;
}

Literal from_bits(const Lexer &lexer, const NumberText &number, DType dtype) {
  int width = width_of(dtype);
  if (number.negative) lexer.error(number.token, "bits take no sign");
  if (width < 64 && number.token.integer >> width)
    lexer.error(number.token,
                number.token.name + " has more bits than " + std::string(to_string(dtype)));
  std::uint64_t bits = number.token.integer;
  if (is_signed_int(dtype) && width < 64)
    bits =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << (64 - width)) >> (64 - width));
  if (is_bool(dtype) && bits > 1) lexer.error(number.token, "a bool is 0x0 or 0x1");
  return {dtype, bits};
}

Literal from_integer(const Lexer &lexer, const NumberText &number, DType dtype) {
  int width = width_of(dtype);
  std::uint64_t magnitude = number.token.integer;
  std::uint64_t limit = is_signed_int(dtype) ? (UINT64_C(1) << (width - 1)) - !number.negative
                        : number.negative    ? 0
                        : width == 64        ? UINT64_MAX
                                             : (UINT64_C(1) << width) - 1;
  if (number.token.kind != Token::Kind::Integer || magnitude > limit)
    lexer.error(number.token, std::string(number.negative ? "-" : "") + number.token.name +
                                  " is no value of " + std::string(to_string(dtype)));
  return {dtype, number.negative ? 0 - magnitude : magnitude};
}

}  // namespace

std::string to_string(const Literal &literal) {
  std::string text;
  DType t = literal.dtype;
  if (t == DType::F32)
    return float_to_string(std::bit_cast<float>(static_cast<std::uint32_t>(literal.bits)),
                           literal.bits, t);
  if (t == DType::F64) return float_to_string(std::bit_cast<double>(literal.bits), literal.bits, t);
  if (is_bool(t)) return literal.bits ? "true" : "false";
  if (is_signed_int(t))
    append(text, "{}", static_cast<std::int64_t>(literal.bits));
  else if (is_int(t))
    append(text, "{}", literal.bits);
  else
    append(text, "0x{:0{}x}", literal.bits, width_of(t) / 4);
  return text;
}

NumberText parse_number(Lexer &lexer) {
  NumberText number;
  number.negative = lexer.accept("-");
  const Token &t = lexer.peek();
  bool is_number =
      t.kind == Token::Kind::Integer || t.kind == Token::Kind::Float || t.kind == Token::Kind::Bits;
  bool is_word =
      t.is("inf") || t.is("nan") || (!number.negative && (t.is("true") || t.is("false")));
  if (!is_number && !is_word) lexer.error(t, "expected a number, found " + describe(t));
  number.token = lexer.next();
  return number;
}

Literal to_literal(const Lexer &lexer, const NumberText &number, DType dtype) {
  const Token &t = number.token;
  if (is_float(dtype) && (t.is("inf") || t.is("nan"))) {
    double value = t.is("inf") ? INFINITY : NAN;
    return float_literal(dtype, number.negative ? -value : value);
  }
  if (t.kind == Token::Kind::Identifier || is_bool(dtype)) {
    if (t.kind == Token::Kind::Bits) return from_bits(lexer, number, dtype);
    if (!is_bool(dtype) || t.kind != Token::Kind::Identifier)
      lexer.error(t, t.name + " is no value of " + std::string(to_string(dtype)));
    return {dtype, t.name == "true" ? 1u : 0u};
  }
  if (t.kind == Token::Kind::Bits) return from_bits(lexer, number, dtype);
  if (dtype == DType::F32)
    return {dtype, std::bit_cast<std::uint32_t>(parse_float<float>(lexer, number))};
  if (dtype == DType::F64)
    return {dtype, std::bit_cast<std::uint64_t>(parse_float<double>(lexer, number))};
  if (is_int(dtype)) return from_integer(lexer, number, dtype);
  Literal literal = float_literal(dtype, parse_float<double>(lexer, number));
  if (!std::isfinite(as_double(literal))) lexer.error(t, "number " + t.name + " is out of range");
  return literal;
}

}  // namespace fuse
