// The lexer: see lexer.h for the tokens.
//
// Columns count bytes from 1. A token never spans lines, so error positions are exact.
#include "ir/lexer.h"

#include "ir/format.h"

namespace fuse {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_word(char c) { return is_digit(c) || is_letter(c); }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr std::string_view kPunctuation = "()[]{},:;=.+-*/%@<>&|!?^~";
constexpr std::string_view kEscapes = "\"\\nt", kEscaped = "\"\\\n\t";
constexpr std::string_view kPairs[] = {"->", "==", ".."};

std::string printable(char c) {
  std::string text;
  if (c >= 0x20 && c < 0x7f)
    append(text, "'{}'", c);
  else
    append(text, "byte 0x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    std::size_t escape = kEscaped.find(c);
    if (escape != std::string_view::npos)
      append(result, "\\{}", kEscapes[escape]);
    else
      result += c;
  }
  return result + "\"";
}

std::string describe(const Token &token) {
  switch (token.kind) {
    case Token::Kind::End: return "end of text";
    case Token::Kind::Value: return "'%" + token.name + "'";
    case Token::Kind::Symbol: return "'@" + token.name + "'";
    case Token::Kind::String: return "a string";
    case Token::Kind::Identifier:
    case Token::Kind::Integer:
    case Token::Kind::Bits:
    case Token::Kind::Float:
    case Token::Kind::Punctuation: break;
  }
  return "'" + token.name + "'";
}

Lexer::Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {
  current_ = lex();
}

Token Lexer::next() {
  Token token = std::move(current_);
  current_ = token.kind == Token::Kind::End ? token : lex();
  return token;
}

bool Lexer::accept(std::string_view punctuation_or_word) {
  if (!current_.is(punctuation_or_word)) return false;
  next();
  return true;
}

void Lexer::expect(std::string_view punctuation_or_word) {
  if (!accept(punctuation_or_word))
    error(current_,
          "expected '" + std::string(punctuation_or_word) + "', found " + describe(current_));
}

Token Lexer::expect(Token::Kind kind, std::string_view what) {
  if (current_.kind != kind)
    error(current_, "expected " + std::string(what) + ", found " + describe(current_));
  return next();
}

std::int64_t Lexer::expect_integer(std::string_view what, std::int64_t limit) {
  Token token = expect(Token::Kind::Integer, what);
  if (token.integer > static_cast<std::uint64_t>(limit))
    error(token, std::string(what) + " " + token.name + " is above " + std::to_string(limit));
  return static_cast<std::int64_t>(token.integer);
}

void Lexer::expect_end() const {
  if (current_.kind != Token::Kind::End)
    error(current_, "expected end of text, found " + describe(current_));
}

void Lexer::error(const Token &at, const std::string &message) const {
  fail(ErrorCode::Parse, "{}:{}:{}: error: {}", file_, at.line, at.column, message);
}

char Lexer::at(std::size_t ahead) const {
  return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
}

void Lexer::advance(std::size_t bytes) {
  position_ += bytes;
  column_ += static_cast<unsigned>(bytes);
}

void Lexer::skip_blanks() {
  while (position_ < text_.size()) {
    char c = at(0);
    if (c == '\n') {
      ++position_;
      ++line_;
      column_ = 1;
      first_on_line_ = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      advance(1);
    } else if (c == '/' && at(1) == '/') {
      while (position_ < text_.size() && at(0) != '\n') advance(1);
    } else {
      return;
    }
  }
}

std::string Lexer::lex_name() {
  std::size_t n = 0;
  while (is_word(at(n)) || (n > 0 && at(n) == '.' && is_word(at(n + 1)))) ++n;
  std::string name(text_.substr(position_, n));
  advance(n);
  return name;
}

void Lexer::lex_bits(Token &token) {
  token.kind = Token::Kind::Bits;
  std::size_t n = 2;
  for (; hex_value(at(n)) >= 0; ++n) {
    if (token.integer >> 60) error(token, "hexadecimal number exceeds 64 bits");
    token.integer = token.integer << 4 | static_cast<unsigned>(hex_value(at(n)));
  }
  if (n == 2) error(token, "expected hexadecimal digits after '0x'");
  token.name = text_.substr(position_, n);
  advance(n);
}

void Lexer::lex_number(Token &token) {
  std::size_t n = 0;
  bool fits = true;
  for (; is_digit(at(n)); ++n) {
    fits =
        fits && !__builtin_mul_overflow(token.integer, 10u, &token.integer) &&
        !__builtin_add_overflow(token.integer, static_cast<unsigned>(at(n) - '0'), &token.integer);
  }
  token.kind = Token::Kind::Integer;
  auto take_digits = [&](std::size_t from) {
    token.kind = Token::Kind::Float;
    for (n = from; is_digit(at(n)); ++n) {
    }
  };
  if (at(n) == '.' && is_digit(at(n + 1))) take_digits(n + 1);
  if (at(n) == 'e' || at(n) == 'E') {
    std::size_t sign = at(n + 1) == '+' || at(n + 1) == '-' ? 2 : 1;
    if (is_digit(at(n + sign))) take_digits(n + sign);
  }
  token.name = text_.substr(position_, n);
  if (is_letter(at(n))) error(token, "'" + token.name + "' runs into a letter");
  if (token.kind == Token::Kind::Integer && !fits)
    error(token, "integer " + token.name + " exceeds 64 bits");
  advance(n);
}

void Lexer::lex_string(Token &token) {
  token.kind = Token::Kind::String;
  advance(1);
  while (at(0) != '"') {
    if (position_ >= text_.size() || at(0) == '\n') error(token, "string has no end on its line");
    char c = at(0);
    advance(1);
    if (c == '\\') {
      std::size_t escape = kEscapes.find(at(0));
      if (position_ >= text_.size() || escape == std::string_view::npos)
        error(token, "string has an escape other than \\\" \\\\ \\n \\t");
      c = kEscaped[escape];
      advance(1);
    }
    token.name += c;
  }
  advance(1);
}

Token Lexer::lex() {
  skip_blanks();
  Token token;
  token.line = line_;
  token.column = column_;
  token.first_on_line = first_on_line_;
  first_on_line_ = false;
  if (position_ >= text_.size()) return token;
  char c = at(0);
  if (is_letter(c)) {
    token.kind = Token::Kind::Identifier;
    token.name = lex_name();
  } else if (c == '0' && (at(1) == 'x' || at(1) == 'X')) {
    lex_bits(token);
  } else if (is_digit(c)) {
    lex_number(token);
  } else if ((c == '%' || c == '@') && is_word(at(1))) {
    token.kind = c == '%' ? Token::Kind::Value : Token::Kind::Symbol;
    advance(1);
    token.name = lex_name();
  } else if (c == '"') {
    lex_string(token);
  } else {
    token.kind = Token::Kind::Punctuation;
    for (std::string_view pair : kPairs)
      if (text_.substr(position_, 2) == pair) token.name = pair;
    if (token.name.empty() && kPunctuation.find(c) != std::string_view::npos) token.name = c;
    if (token.name.empty()) error(token, "unexpected " + printable(c));
    advance(token.name.size());
  }
  return token;
}

}  // namespace fuse
