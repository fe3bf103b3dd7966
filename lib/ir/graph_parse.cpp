// Text -> Graph; docs/graph.md has the format.
//
// Syntax and names are checked here; operations are built through build.h and the builders, whose
// errors get the place of the statement. Any bytes are survived: nesting is bounded, extents are
// bounded polynomials, numbers that do not fit are errors.
#include "ir/format.h"
#include "ir/graph_text.h"
#include "ir/op.h"
#include "ir/suggest.h"

#include <algorithm>
#include <bit>

FUSE_BEGIN_NAMESPACE

namespace {

constexpr int kMaxDepth = 64;
constexpr int kMaxRuleDepth = 8;  // of custom gradients in rules
constexpr std::size_t kMaxListLength = 64;
constexpr std::int64_t kMaxInteger = INT64_MAX;

struct PendingInput {
  Token at;
  TextType type;
  bool is_scalar = false;
};

std::string suggest_dtype(const std::string &word) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kNumDTypes; ++i) names.push_back(to_string(static_cast<DType>(i)));
  return suggest(word, names);
}

class GraphParser {
 public:
  GraphParser(Lexer &lexer, const char *file, int depth, std::uint64_t stream = kFirstOwnStream)
      : lexer_(lexer), file_(file), depth_(depth), first_stream_(stream) {}

  Graph parse() {
    lexer_.expect("graph");
    Token name = lexer_.expect(Token::Kind::Symbol, "@name");
    parse_signature();
    lexer_.expect("{");
    located(name, [&] { graph_ = Graph(name.name); });
    data().next_stream = first_stream_;
    while (lexer_.accept("symbol")) parse_symbol();
    for (const PendingInput &input : inputs_) add_input(input);
    while (lexer_.peek().kind == Token::Kind::Value) parse_statement();
    if (lexer_.accept("return")) parse_return();
    Token end = lexer_.peek();
    lexer_.expect("}");
    if (data().outputs.empty())
      lexer_.error(end, "graph " + data().name + " returns nothing: end it with 'return %x as y'");
    return std::move(graph_);
  }

 private:
  GraphData &data() { return graph_.data(); }
  SourceLocation where(const Token &at) const { return {file_, at.line}; }

  /// Calls the function; an error that has no place in the text yet gets the token's.
  template <class Function>
  auto located(const Token &at, Function function) -> decltype(function()) {
    try {
      return function();
    } catch (const Error &e) {
      if (e.code() == ErrorCode::Parse) throw;
      fail_at(where(at), e.code(), "{}:{}:{}: error: {}", file_, at.line, at.column, words_of(e));
    }
  }

  // --- Signature and symbols ---------------------------------------------------------------------

  void parse_signature() {
    lexer_.expect("(");
    if (lexer_.accept(")")) return;
    do {
      PendingInput input;
      input.at = lexer_.expect(Token::Kind::Value, "an input");
      lexer_.expect(":");
      input.type = parse_type();
      input.is_scalar = lexer_.accept("scalar");
      if (input.is_scalar && input.type.shape && !input.type.shape->empty())
        lexer_.error(input.type.at, "a scalar has no extents");
      inputs_.push_back(std::move(input));
    } while (lexer_.accept(","));
    lexer_.expect(")");
  }

  void parse_symbol() {
    Token name = lexer_.expect(Token::Kind::Identifier, "a symbol");
    SymbolBounds bounds;
    while (lexer_.peek().kind == Token::Kind::Identifier && !lexer_.peek().first_on_line) {
      Token field = lexer_.next();
      std::int64_t *target = field.is("min")       ? &bounds.min
                             : field.is("max")     ? &bounds.max
                             : field.is("divisor") ? &bounds.divisor
                                                   : nullptr;
      if (!target) lexer_.error(field, "a symbol has min=, max= and divisor=, not " + field.name);
      lexer_.expect("=");
      *target = lexer_.expect_integer(field.name, kMaxInteger);
    }
    if (declared_.count(name.name))
      lexer_.error(name, "symbol " + name.name + " is declared twice");
    declare(name, bounds);
  }

  void declare(const Token &name, SymbolBounds bounds) {
    located(name, [&] { add_symbol(data(), name.name, bounds); });
    declared_.insert(name.name);
  }

  /// Symbols that only types mention have default bounds.
  void declare_pending() {
    for (const Token &name : mentioned_)
      if (!declared_.count(name.name)) declare(name, {});
    mentioned_.clear();
  }

  void add_input(const PendingInput &input) {
    declare_pending();
    define(input.at, located(input.at, [&] {
             return build_input(data(), input.at.name, input.type.dtype,
                                input.type.shape.value_or(Shape{}), input.is_scalar,
                                where(input.at));
           }));
    data().locations.try_emplace(values_.at(input.at.name), where(input.at));
  }

  void define(const Token &name, NodeId id) {
    if (!values_.emplace(name.name, id).second)
      lexer_.error(name, "%" + name.name + " is defined twice");
  }

  // --- Types and extents -------------------------------------------------------------------------

  TextType parse_type() {
    TextType type;
    type.at = lexer_.expect(Token::Kind::Identifier, "a dtype");
    std::optional<DType> dtype = dtype_from_string(type.at.name);
    if (!dtype) lexer_.error(type.at, type.at.name + " is no dtype" + suggest_dtype(type.at.name));
    type.dtype = *dtype;
    if (!lexer_.accept("[")) return type;
    type.shape.emplace();
    if (lexer_.accept("]")) return type;
    do {
      if (type.shape->size() == kMaxRank)
        lexer_.error(lexer_.peek(), "rank exceeds " + std::to_string(kMaxRank));
      type.shape->push_back(parse_extent());
    } while (lexer_.accept(","));
    lexer_.expect("]");
    return type;
  }

  Dim parse_extent() {
    Token at = lexer_.peek();
    return located(at, [&] { return parse_sum(0, lexer_.accept("-")); });
  }

  Dim parse_sum(int depth, bool is_negative) {
    Dim sum = parse_product(depth);
    if (is_negative) sum = Dim(0) - sum;
    for (;;) {
      if (lexer_.accept("+"))
        sum = sum + parse_product(depth);
      else if (lexer_.accept("-"))
        sum = sum - parse_product(depth);
      else
        return sum;
    }
  }

  Dim parse_product(int depth) {
    Dim product = parse_factor(depth);
    while (lexer_.accept("*")) product = product * parse_factor(depth);
    return product;
  }

  Dim parse_factor(int depth) {
    const Token &t = lexer_.peek();
    if (depth > kMaxDepth) lexer_.error(t, "expression is nested too deeply");
    if (lexer_.accept("(")) {
      Dim inner = parse_sum(depth + 1, lexer_.accept("-"));
      lexer_.expect(")");
      return inner;
    }
    if (t.kind == Token::Kind::Identifier) {
      mentioned_.push_back(lexer_.next());
      return Dim::symbol(mentioned_.back().name);
    }
    if (t.kind == Token::Kind::Integer) return lexer_.expect_integer("extent", kMaxInteger);
    lexer_.error(t, "expected an extent, found " + describe(t));
  }

  // --- Statements --------------------------------------------------------------------------------

  void parse_statement() {
    Statement s;
    do {
      s.results.push_back(lexer_.expect(Token::Kind::Value, "a value"));
    } while (lexer_.accept(","));
    lexer_.expect("=");
    s.op = lexer_.expect(Token::Kind::Identifier, "an operation");
    if (s.op.is("extern")) s.extern_name = lexer_.expect(Token::Kind::String, "a name").name;
    bool is_parenthesized = lexer_.accept("(");
    parse_operands(s);
    if (is_parenthesized) lexer_.expect(")");
    if (s.op.is("slice")) parse_ranges(s);
    if (s.op.is("custom_gradient")) parse_rule(s);
    while (lexer_.peek().kind == Token::Kind::Identifier && !lexer_.peek().is("stored") &&
           !lexer_.peek().is("recomputed") && !lexer_.peek().is("return"))
      parse_attribute(s);
    for (bool more = lexer_.accept(":"); more; more = lexer_.accept(","))
      s.types.push_back(parse_type());
    s.is_stored = lexer_.accept("stored");
    s.is_recomputed = !s.is_stored && lexer_.accept("recomputed");
    declare_pending();
    build(s);
  }

  void parse_operands(Statement &s) {
    auto is_operand = [&] {
      const Token &t = lexer_.peek();
      return (t.kind != Token::Kind::Identifier && t.kind != Token::Kind::Punctuation &&
              t.kind != Token::Kind::End) ||
             t.is("-") || t.is("true") || t.is("false") || t.is("inf") || t.is("nan");
    };
    if (!is_operand()) return;
    do {
      TextOperand operand;
      operand.at = lexer_.peek();
      operand.is_value = operand.at.kind == Token::Kind::Value;
      if (operand.is_value)
        operand.node = lookup(lexer_.next());
      else
        operand.number = parse_number(lexer_);
      s.operands.push_back(std::move(operand));
    } while (lexer_.accept(","));
  }

  NodeId lookup(const Token &name) const {
    auto it = values_.find(name.name);
    if (it != values_.end()) return it->second;
    std::vector<std::string_view> known;
    for (const auto &[defined, node] : values_) known.push_back(defined);
    lexer_.error(name, "%" + name.name + " is not defined" + suggest(name.name, known, "%"));
  }

  void parse_rule(Statement &s) {
    if (depth_ == kMaxRuleDepth) lexer_.error(s.op, "rules are nested too deeply");
    GraphParser rule(lexer_, file_, depth_ + 1, data().next_stream);
    s.rule = std::make_shared<Graph>(rule.parse());
  }

  /// [start:stop, start:stop:step]
  void parse_ranges(Statement &s) {
    lexer_.expect("[");
    if (lexer_.accept("]")) return;
    do {
      TextRange range;
      range.start = parse_extent();
      lexer_.expect(":");
      range.stop = parse_extent();
      if (lexer_.accept(":")) range.step = lexer_.expect_integer("step", kMaxInteger);
      s.ranges.push_back(range);
      if (s.ranges.size() > kMaxRank) lexer_.error(lexer_.peek(), "too many axes");
    } while (lexer_.accept(","));
    lexer_.expect("]");
  }

  void parse_attribute(Statement &s) {
    TextAttribute attribute;
    attribute.at = lexer_.next();
    bool is_word =
        attribute.at.is("keep") || attribute.at.is("exclusive") || attribute.at.is("reverse");
    if (!is_word) {
      lexer_.expect("=");
      parse_attribute_value(attribute);
    }
    if (!s.attributes.emplace(attribute.at.name, attribute).second)
      lexer_.error(attribute.at, attribute.at.name + " is given twice");
  }

  void parse_attribute_value(TextAttribute &attribute) {
    if (lexer_.accept("[")) {
      attribute.list = parse_list();
      return;
    }
    NumberText number;
    number.negative = lexer_.accept("-");
    if (lexer_.peek().kind != Token::Kind::Float) {
      attribute.dim = located(attribute.at, [&] { return parse_sum(0, number.negative); });
      return;
    }
    number.token = lexer_.next();
    attribute.real = std::bit_cast<double>(to_literal(lexer_, number, DType::F64).bits);
  }

  std::vector<std::int64_t> parse_list() {
    std::vector<std::int64_t> list;
    if (lexer_.accept("]")) return list;
    do {
      if (list.size() == kMaxListLength) lexer_.error(lexer_.peek(), "list is too long");
      std::int64_t sign = lexer_.accept("-") ? -1 : 1;
      list.push_back(sign * lexer_.expect_integer("an integer", kMaxInteger));
    } while (lexer_.accept(","));
    lexer_.expect("]");
    return list;
  }

  // --- From statements to nodes ------------------------------------------------------------------

  void build(const Statement &s) {
    Arguments arguments(lexer_, data(), s, where(s.op));
    std::size_t first = data().size();
    std::vector<NodeId> nodes = located(s.op, [&] {
      std::vector<NodeId> results = build_statement(arguments);
      return results.empty() ? build_text_builder(arguments) : results;
    });
    if (nodes.empty()) unknown_operation(s.op);
    arguments.expect_all_used();
    for (std::size_t id = first; id < data().size(); ++id)
      data().locations.try_emplace(static_cast<NodeId>(id), where(s.op));
    if (nodes.size() != s.results.size())
      lexer_.error(s.results[0], s.op.name + " gives " + std::to_string(nodes.size()) +
                                     " values, not " + std::to_string(s.results.size()));
    check_types(s, nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i) finish(s, s.results[i], nodes[i]);
  }

  [[noreturn]] void unknown_operation(const Token &op) const {
    std::vector<std::string_view> names = text_builder_names();
    for (int i = 0; i < kNumOps; ++i) names.push_back(info(static_cast<Op>(i)).text);
    lexer_.error(op, "no operation is named " + op.name + suggest(op.name, names));
  }

  void check_types(const Statement &s, const std::vector<NodeId> &nodes) {
    if (s.types.empty()) return;
    if (s.types.size() != nodes.size())
      lexer_.error(s.types[0].at, std::to_string(s.types.size()) + " types for " +
                                      std::to_string(nodes.size()) + " values");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const TextType &type = s.types[i];
      const Shape &shape = data().shape(nodes[i]);
      bool is_inferred = !type.shape || std::find(type.shape->begin(), type.shape->end(),
                                                  Dim(-1)) != type.shape->end();
      if (type.dtype != data().dtype(nodes[i]) || (!is_inferred && *type.shape != shape))
        lexer_.error(type.at, s.op.name + " gives " + type_string(data(), nodes[i]) + ", not " +
                                  std::string(to_string(type.dtype)) +
                                  to_string(type.shape.value_or(Shape{})));
    }
  }

  void finish(const Statement &s, const Token &name, NodeId id) {
    define(name, id);
    bool is_number = name.name[0] >= '0' && name.name[0] <= '9';
    bool is_input = data().node(id).op == Op::Input;
    if (!is_number && !is_input) data().names.try_emplace(id, name.name);
    bool is_mark_of_call = s.is_recomputed && data().node(id).op == Op::ExternResult;
    if ((s.is_stored || s.is_recomputed) && !is_mark_of_call) data().keep_marks[id] = s.is_stored;
  }

  void parse_return() {
    std::vector<std::pair<Token, std::string>> outputs;
    do {
      Token value = lexer_.expect(Token::Kind::Value, "a value");
      std::string name;
      if (lexer_.accept("as")) name = lexer_.expect(Token::Kind::Identifier, "a name").name;
      outputs.emplace_back(value, name);
    } while (lexer_.accept(","));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      auto &[value, name] = outputs[i];
      if (name.empty()) name = outputs.size() == 1 ? "out" : "out" + std::to_string(i);
      located(value, [&] { add_output(data(), name, lookup(value), where(value)); });
    }
  }

  Lexer &lexer_;
  const char *file_;
  int depth_;  // of rules around the graph, whose streams go on in it
  std::uint64_t first_stream_;
  Graph graph_;
  std::vector<PendingInput> inputs_;
  std::map<std::string, NodeId> values_;
  std::vector<Token> mentioned_;  // symbols in types, not declared yet
  std::set<std::string> declared_;
};

}  // namespace

Graph parse(std::string_view text, std::string_view file) {
  Lexer lexer(text, file);
  Graph graph = GraphParser(lexer, intern_file(file), 0).parse();
  lexer.expect_end();
  return graph;
}

FUSE_END_NAMESPACE
