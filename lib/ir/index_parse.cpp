// Recursive descent over index expressions; nesting is bounded, so no text exhausts the stack.
#include "ir/index_parse.h"

#include "ir/format.h"

namespace fuse {

namespace {

constexpr int kMaxDepth = 64;
constexpr std::int64_t kMaxInteger = INT64_C(1) << 53;

class IndexParser {
 public:
  IndexParser(Lexer &lexer, const ResolveName &resolve) : lexer_(lexer), resolve_(resolve) {}

  Index parse_sum() {
    Token start = lexer_.peek();
    if (++depth_ > kMaxDepth) lexer_.error(start, "expression nests too deeply");
    Index sum = lexer_.accept("-") ? Index(0) - parse_product() : parse_product();
    while (operator_follows("+") || operator_follows("-")) {
      Token op = lexer_.next();
      Index right = parse_product();
      sum = located(op, [&] { return op.is("+") ? sum + right : sum - right; });
    }
    --depth_;
    return sum;
  }

 private:
  Index parse_product() {
    Index product = parse_factor();
    while (operator_follows("*") || operator_follows("/") || operator_follows("%")) {
      Token op = lexer_.next();
      Index right = parse_factor();
      product = located(op, [&] {
        if (op.is("*")) return product * right;
        return op.is("/") ? floordiv(product, right) : mod(product, right);
      });
    }
    if (const Token &t = lexer_.peek(); t.kind == Token::Kind::Value && !t.first_on_line)
      lexer_.error(t, "'%" + t.name + "' follows an operand; a remainder is written 'a % b'");
    return product;
  }

  Index parse_factor() {
    const Token &t = lexer_.peek();
    if (t.kind == Token::Kind::Integer) return lexer_.expect_integer("integer", kMaxInteger);
    if (t.kind == Token::Kind::Value) return resolve_(lexer_.next());
    if (lexer_.accept("(")) {
      Index inner = parse_sum();
      lexer_.expect(")");
      return inner;
    }
    Token name = lexer_.expect(Token::Kind::Identifier, "an index expression");
    if (name.name == "ceil" && lexer_.peek().is("(")) return parse_ceil();
    return resolve_(name);
  }

  /// `ceil(a / b)`, after the word.
  Index parse_ceil() {
    Token start = lexer_.next();
    if (++depth_ > kMaxDepth) lexer_.error(start, "expression nests too deeply");
    Index numerator = parse_factor();
    while (lexer_.peek().is("*")) {
      Token op = lexer_.next();
      Index right = parse_factor();
      numerator = located(op, [&] { return numerator * right; });
    }
    Token op = lexer_.peek();
    lexer_.expect("/");
    Index denominator = parse_factor();
    lexer_.expect(")");
    --depth_;
    return located(op, [&] { return ceildiv(numerator, denominator); });
  }

  bool operator_follows(std::string_view op) const {
    const Token &t = lexer_.peek();
    return t.kind == Token::Kind::Punctuation && t.name == op;
  }

  /// Reports a failure of index arithmetic (overflow, division by zero) at the operator.
  template <class F>
  Index located(const Token &op, const F &compute) const {
    try {
      return compute();
    } catch (const Error &e) {
      lexer_.error(op, e.what());
    }
  }

  Lexer &lexer_;
  const ResolveName &resolve_;
  int depth_ = 0;
};

}  // namespace

Index parse_index(Lexer &lexer, const ResolveName &resolve) {
  return IndexParser(lexer, resolve).parse_sum();
}

}  // namespace fuse
