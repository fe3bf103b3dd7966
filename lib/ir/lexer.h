// Tokens of the text formats (graphs and kernels).
//
// Whitespace and `//` comments separate tokens; line ends do not count, but each token knows if it
// is the first of its line, so that a parser can insist on one statement a line. Any bytes are
// accepted: what is no token is reported where it stands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fuse {

struct Token {
  enum class Kind : std::uint8_t {
    End,
    Identifier,  // [A-Za-z_][A-Za-z0-9_.]*; a dot only before a further letter, digit or _
    Value,       // %name or %12; `name` is without the sign
    Symbol,      // @name
    Integer,     // 42, without sign
    Bits,        // 0x3f800000
    Float,       // 0.5, 1e-5, 2.5e+10, without sign
    String,      // "..." with \" \\ \n \t; `name` is what stands for
    Punctuation  // one character, or -> == ..
  };
  Kind kind = Kind::End;
  std::string name;           // as the kind says; otherwise the text
  std::uint64_t integer = 0;  // Integer, Bits
  unsigned line = 1, column = 1;
  bool first_on_line = false;

  bool is(std::string_view punctuation_or_word) const {
    return (kind == Kind::Punctuation || kind == Kind::Identifier) && name == punctuation_or_word;
  }
};

/// Reads tokens one ahead of the parser. Every failure is Error{Parse} with
/// "file:line:col: error: message".
class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file);

  const Token &peek() const { return current_; }
  Token next();

  /// Takes the next token if it is this punctuation or word.
  bool accept(std::string_view punctuation_or_word);

  /// Takes the next token, which must be of this kind (or text); `what` names it in the error.
  void expect(std::string_view punctuation_or_word);
  Token expect(Token::Kind kind, std::string_view what);

  /// The value of an integer token at most `limit`.
  std::int64_t expect_integer(std::string_view what, std::int64_t limit);

  /// Insists that nothing follows.
  void expect_end() const;

  [[noreturn]] void error(const Token &at, const std::string &message) const;

 private:
  Token lex();
  void skip_blanks();
  void lex_number(Token &token);
  void lex_bits(Token &token);
  void lex_string(Token &token);
  std::string lex_name();
  void advance(std::size_t bytes);
  char at(std::size_t ahead) const;

  std::string_view text_;
  std::string file_;
  std::size_t position_ = 0;
  unsigned line_ = 1, column_ = 1;
  bool first_on_line_ = true;
  Token current_;
};

/// The text as a String token shows it, with quotes and escapes.
std::string quoted(std::string_view text);

/// The token as an error message shows it: `'%x'`, `end of text`.
std::string describe(const Token &token);

}  // namespace fuse
