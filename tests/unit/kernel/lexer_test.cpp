// Tokens, their places, and literals of every dtype.
#include "ir/lexer.h"

#include "ir/literal_text.h"

#include <fuse/error.h>

#include <gtest/gtest.h>

#include <random>

namespace fuse {
namespace {

std::string error_of(std::string_view text) {
  try {
    Lexer lexer(text, "t");
    while (lexer.next().kind != Token::Kind::End) {
    }
  } catch (const Error &e) {
    EXPECT_EQ(e.code(), ErrorCode::Parse);
    return e.what();
  }
  return "";
}

TEST(Lexer, TokensAndPlaces) {
  Lexer lexer("load.8 %x[i*4] // comment\n  -> @s 12 0x1F 2.5e-3 \"a\\\"b\"", "t");
  Token t = lexer.next();
  EXPECT_EQ(t.kind, Token::Kind::Identifier);
  EXPECT_EQ(t.name, "load.8");
  EXPECT_TRUE(t.first_on_line);
  t = lexer.next();
  EXPECT_EQ(t.kind, Token::Kind::Value);
  EXPECT_EQ(t.name, "x");
  EXPECT_EQ(t.column, 8u);
  EXPECT_FALSE(t.first_on_line);
  for (std::string_view text : {"[", "i", "*"}) EXPECT_TRUE(lexer.accept(text)) << text;
  EXPECT_EQ(lexer.next().integer, 4u);
  lexer.expect("]");
  EXPECT_EQ(lexer.peek().line, 2u);
  EXPECT_EQ(lexer.peek().column, 3u);
  EXPECT_TRUE(lexer.peek().first_on_line);
  lexer.expect("->");
  EXPECT_EQ(lexer.next().kind, Token::Kind::Symbol);
  EXPECT_EQ(lexer.next().integer, 12u);
  EXPECT_EQ(lexer.next().integer, 31u);
  t = lexer.next();
  EXPECT_EQ(t.kind, Token::Kind::Float);
  EXPECT_EQ(t.name, "2.5e-3");
  EXPECT_EQ(lexer.next().name, "a\"b");
  EXPECT_EQ(lexer.next().kind, Token::Kind::End);
  EXPECT_EQ(lexer.next().kind, Token::Kind::End);
}

TEST(Lexer, DotsBetweenDigitsOfALayout) {
  Lexer lexer("reg 5 . thread 8@4 . vec", "t");
  for (int n = 0; n < 2; ++n) lexer.next();
  EXPECT_TRUE(lexer.accept("."));
  EXPECT_TRUE(lexer.accept("thread"));
  EXPECT_EQ(lexer.next().integer, 8u);
  EXPECT_EQ(lexer.next().name, "4");
  EXPECT_TRUE(lexer.accept("."));
}

TEST(Lexer, ReportsWhatIsNoToken) {
  EXPECT_EQ(error_of("a\n  `"), "t:2:3: error: unexpected '`'");
  EXPECT_EQ(error_of(std::string_view("a\0b", 3)), "t:1:2: error: unexpected byte 0x00");
  EXPECT_EQ(error_of("\xff"), "t:1:1: error: unexpected byte 0xff");
  EXPECT_EQ(error_of("99999999999999999999"),
            "t:1:1: error: integer 99999999999999999999 exceeds 64 bits");
  EXPECT_EQ(error_of("12ab"), "t:1:1: error: '12' runs into a letter");
  EXPECT_EQ(error_of("0x"), "t:1:1: error: expected hexadecimal digits after '0x'");
  EXPECT_EQ(error_of("0x12345678123456781"), "t:1:1: error: hexadecimal number exceeds 64 bits");
  EXPECT_EQ(error_of("\"ab\n\""), "t:1:1: error: string has no end on its line");
  EXPECT_EQ(error_of("\"a"), "t:1:1: error: string has no end on its line");
  EXPECT_EQ(error_of("\"\\q\""), "t:1:1: error: string has an escape other than \\\" \\\\ \\n \\t");
}

Literal read(const std::string &text, DType dtype) {
  Lexer lexer(text, "t");
  NumberText number = parse_number(lexer);
  return to_literal(lexer, number, dtype);
}

TEST(Literal, PrintsSoThatItReadsBack) {
  std::mt19937_64 random(1);
  for (int d = 0; d < kNumDTypes; ++d) {
    DType dtype = static_cast<DType>(d);
    int width = static_cast<int>(8 * size_of(dtype));
    for (int round = 0; round < 2000; ++round) {
      std::uint64_t bits = random();
      if (round % 4 == 1) bits &= 15;
      if (round % 4 == 2) bits = ~(bits & 15);
      if (width < 64) bits &= (UINT64_C(1) << width) - 1;
      if (is_bool(dtype)) bits &= 1;
      if (is_signed_int(dtype))
        bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << (64 - width)) >>
                                          (64 - width));
      Literal literal{dtype, bits};
      ASSERT_EQ(read(to_string(literal), dtype), literal) << to_string(literal);
    }
  }
}

TEST(Literal, ShortForms) {
  EXPECT_EQ(to_string(Literal{DType::F32, 0x3f000000}), "0.5");
  EXPECT_EQ(to_string(Literal{DType::F32, 0x3f800000}), "1.0");
  EXPECT_EQ(to_string(Literal{DType::F32, 0x80000000}), "-0.0");
  EXPECT_EQ(to_string(Literal{DType::F32, 0x7f800000}), "0x7f800000");
  EXPECT_EQ(to_string(Literal{DType::BF16, 0x3f80}), "0x3f80");
  EXPECT_EQ(read("1", DType::F32).bits, 0x3f800000u);
  EXPECT_EQ(read("0xff", DType::I8).bits, UINT64_MAX);
}

TEST(Literal, RefusesWhatDoesNotFit) {
  EXPECT_THROW(read("128", DType::I8), Error);
  EXPECT_NO_THROW(read("-128", DType::I8));
  EXPECT_THROW(read("-1", DType::U8), Error);
  EXPECT_THROW(read("0x1ff", DType::U8), Error);
  EXPECT_THROW(read("1e99", DType::F32), Error);
  EXPECT_THROW(read("0.5", DType::I32), Error);
  EXPECT_THROW(read("1e6", DType::F16), Error);
  EXPECT_THROW(read("1", DType::Bool), Error);
  EXPECT_THROW(read("true", DType::F32), Error);
  EXPECT_THROW(read("-true", DType::Bool), Error);
}

}  // namespace
}  // namespace fuse
