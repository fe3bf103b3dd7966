// Statements of kernel text: definitions of values, stores, scopes.
//
// Before: dims and layouts are known. After: every statement names what is defined; values have
// their dtype, layout and dims.
#include "ir/format.h"
#include "ir/kernel_parser.h"
#include "ir/op.h"

namespace fuse {

namespace {

constexpr int kMaxDepth = 64;

/// "load.8.streaming" -> load, 8, streaming
std::vector<std::string> split_at_dots(const std::string &word) {
  std::vector<std::string> parts(1);
  for (char c : word) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

}  // namespace

void KernelParser::parse_body(std::vector<Stmt> &body, int depth) {
  while (!lexer_.accept("}")) {
    Token start = lexer_.peek();
    if (depth > kMaxDepth) lexer_.error(start, "statements nest too deeply");
    if (!start.first_on_line) lexer_.error(start, "expected a new line before " + describe(start));
    body.push_back(start.kind == Token::Kind::Value ? parse_definition() : parse_effect(depth));
  }
}

Stmt KernelParser::parse_definition() {
  std::vector<Token> names;
  do names.push_back(lexer_.expect(Token::Kind::Value, "a value"));
  while (lexer_.accept(","));
  lexer_.expect("=");
  Stmt s;
  Token word = lexer_.expect(Token::Kind::Identifier, "an operation");
  std::vector<DType> dtypes = parse_operation(s, word);
  if (names.size() != dtypes.size()) {
    std::string message;
    append(message, "{} has {} results, but {} names stand for them", word.name, dtypes.size(),
           names.size());
    lexer_.error(names[0], message);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<DimId> dims = dependence(k_, s, i);
    define(value_ids_, names[i], k_.values.size(), "value");
    s.results.push_back(static_cast<ValueId>(k_.values.size()));
    k_.values.push_back({is_number(names[i].name) ? "" : names[i].name, dtypes[i],
                         s.kind == StmtKind::Move ? s.layout : layout_, std::move(dims)});
    is_literal_.push_back(s.kind == StmtKind::Constant);
  }
  return s;
}

std::vector<DType> KernelParser::parse_operation(Stmt &s, const Token &word) {
  std::vector<std::string> parts = split_at_dots(word.name);
  if (parts[0] == "load") return {parse_load(s, word, parts)};
  if (parts[0] == "random") return {parse_random(s, word, parts)};
  if (parts[0] == "move") return {parse_move(s, word, parts)};
  if (word.name == "const") return {parse_constant(s)};
  if (word.name == "index") return {parse_statement_index(s)};
  if (word.name == "reduce") return parse_fold(s, StmtKind::Reduce);
  if (word.name == "scan") return parse_fold(s, StmtKind::Scan);
  if (word.name == "keep") return {parse_keep(s)};
  return {parse_compute(s, word)};
}

DType KernelParser::parse_constant(Stmt &s) {
  s.kind = StmtKind::Constant;
  NumberText number = parse_number(lexer_);
  lexer_.expect(":");
  DType dtype = parse_dtype();
  s.literal = to_literal(lexer_, number, dtype);
  return dtype;
}

DType KernelParser::parse_statement_index(Stmt &s) {
  s.kind = StmtKind::Index;
  s.index = parse_expression(true);
  return lexer_.accept(":") ? parse_dtype() : DType::I64;
}

DType KernelParser::parse_random(Stmt &s, const Token &word,
                                 const std::vector<std::string> &parts) {
  s.kind = StmtKind::Random;
  if (parts.size() > 1) s.vector = parse_width(word, parts[1]);
  if (parts.size() > 2) lexer_.error(word, "random is written random.N, N words of a call");
  s.operands.push_back(parse_value());
  s.index = parse_bracketed();
  lexer_.expect("stream");
  s.stream = static_cast<std::uint64_t>(lexer_.expect_integer("stream", INT64_MAX));
  return DType::U32;
}

DType KernelParser::parse_compute(Stmt &s, const Token &word) {
  std::optional<Op> op = op_from_string(word.name);
  if (!op || !info(*op).is_elementwise())
    lexer_.error(word, word.name + " is no operation of a kernel");
  s.kind = StmtKind::Compute;
  s.op = *op;
  do s.operands.push_back(parse_value());
  while (lexer_.accept(","));
  if (s.op == Op::Select && s.operands.size() != 3) lexer_.error(word, "select has 3 operands");
  std::optional<DType> dtype;
  if (lexer_.accept(":")) dtype = parse_dtype();
  s.approximate = lexer_.accept("approx");
  s.by_reciprocal = lexer_.accept("recip");
  if (!dtype && info(s.op).kind == OpKind::Convert)
    lexer_.error(lexer_.peek(), "expected ':' and the dtype that " + word.name + " gives");
  return dtype ? *dtype : natural_dtype(k_, is_literal_, s);
}

int KernelParser::parse_width(const Token &word, const std::string &part) {
  if (!is_number(part) || part.size() > 3)
    lexer_.error(word, "'" + part + "' in " + word.name + " is no number of elements");
  return std::stoi(part);
}

void KernelParser::parse_access(Stmt &s, const Token &word, const std::vector<std::string> &parts) {
  constexpr std::pair<std::string_view, Cache> kPolicies[] = {{"streaming", Cache::Streaming},
                                                              {"evict_last", Cache::EvictLast},
                                                              {"no_allocate", Cache::NoAllocate}};
  std::size_t i = 1;
  if (i < parts.size() && is_number(parts[i])) s.vector = parse_width(word, parts[i++]);
  for (auto [name, policy] : kPolicies) {
    if (i >= parts.size() || parts[i] != name) continue;
    s.cache = policy;
    ++i;
  }
  if (i < parts.size() && parts[i] == "bulk") {
    s.bulk = true;
    ++i;
  }
  if (i < parts.size() && parts[i] == "unaligned") {
    s.unaligned = true;
    ++i;
  }
  if (i < parts.size()) lexer_.error(word, "'" + parts[i] + "' is no cache policy");
  s.buffer = parse_buffer();
  s.index = parse_bracketed();
}

void KernelParser::parse_guard(Stmt &s) {
  if (lexer_.accept("if")) s.guard = parse_value();
}

DType KernelParser::parse_load(Stmt &s, const Token &word, const std::vector<std::string> &parts) {
  s.kind = StmtKind::Load;
  parse_access(s, word, parts);
  parse_guard(s);
  DType dtype = k_.buffers[s.buffer].dtype;
  if (lexer_.accept("fill")) s.fill = to_literal(lexer_, parse_number(lexer_), dtype).bits;
  return dtype;
}

Stmt KernelParser::parse_store(const Token &word, const std::vector<std::string> &parts) {
  Stmt s;
  s.kind = StmtKind::Store;
  parse_access(s, word, parts);
  lexer_.expect(",");
  s.operands.push_back(parse_value());
  parse_guard(s);
  return s;
}

DType KernelParser::parse_move(Stmt &s, const Token &word, const std::vector<std::string> &parts) {
  if (parts.size() != 3) lexer_.error(word, "a move is written move.W.R, its vector widths");
  s.kind = StmtKind::Move;
  s.vector = parse_width(word, parts[1]);
  s.read_vector = parse_width(word, parts[2]);
  s.operands.push_back(parse_value());
  lexer_.expect("to");
  s.layout = parse_layout_name();
  lexer_.expect("via");
  lexer_.expect("shared");
  s.index = parse_bracketed();
  return operand_dtype(s);
}

DType KernelParser::parse_keep(Stmt &s) {
  s.kind = StmtKind::Keep;
  if (lexer_.accept("shared"))
    s.residence = Residence::Shared;
  else
    lexer_.expect("reg");
  s.operands.push_back(parse_value());
  return operand_dtype(s);
}

std::vector<DType> KernelParser::parse_fold(Stmt &s, StmtKind kind) {
  s.kind = kind;
  Token word = lexer_.expect(Token::Kind::Identifier, "a monoid");
  std::optional<Monoid> monoid = monoid_from_string(word.name);
  if (!monoid) lexer_.error(word, word.name + " is no monoid");
  s.monoid = *monoid;
  lexer_.expect("(");
  do s.operands.push_back(parse_value());
  while (lexer_.accept(","));
  lexer_.expect(")");
  if (s.operands.size() != static_cast<std::size_t>(num_operands(s.monoid)))
    lexer_.error(word, word.name + " folds " + std::to_string(num_operands(s.monoid)) +
                           " operands, not " + std::to_string(s.operands.size()));
  lexer_.expect("over");
  s.axes = parse_dim_list();
  DType state_type = operand_dtype(s);
  if (kind == StmtKind::Scan && lexer_.accept("from")) {
    do s.operands.push_back(parse_value());
    while (lexer_.accept(","));
  }
  s.exclusive = kind == StmtKind::Scan && lexer_.accept("exclusive");
  s.reverse = kind == StmtKind::Scan && lexer_.accept("reverse");
  s.terms = kind == StmtKind::Reduce && s.monoid == Monoid::Online && lexer_.accept("terms");
  s.approximate = kind == StmtKind::Reduce && lexer_.accept("approx");
  std::vector<DType> dtypes(static_cast<std::size_t>(num_results(s.monoid)), state_type);
  if (num_operands(s.monoid) == 2) dtypes[1] = k_.values[s.operands[1]].dtype;
  if (s.terms) dtypes.push_back(dtypes[0]);
  return dtypes;
}

Stmt KernelParser::parse_effect(int depth) {
  Token word = lexer_.expect(Token::Kind::Identifier, "a statement");
  std::vector<std::string> parts = split_at_dots(word.name);
  if (parts[0] == "store") return parse_store(word, parts);
  Stmt s;
  if (word.name == "for") {
    s.kind = StmtKind::For;
    s.loop = lexer_.expect(Token::Kind::Identifier, "the loop's name").name;
    s.reverse = lexer_.accept("reverse");
    s.partition = lexer_.accept("partition");
    if (lexer_.accept("pipe")) s.pipe = static_cast<int>(lexer_.expect_integer("depth", kMaxPipe));
  } else if (word.name == "in") {
    s.kind = StmtKind::In;
    s.layout = parse_layout_name();
  } else if (word.name == "last_block") {
    s.kind = StmtKind::LastBlock;
    s.buffer = parse_buffer();
    s.index = parse_bracketed();
    lexer_.expect("of");
    s.count = parse_expression(true);
  } else {
    lexer_.error(word, word.name + " is no statement");
  }
  lexer_.expect("{");
  LayoutId outer = layout_;
  if (s.kind == StmtKind::In) layout_ = s.layout;
  parse_body(s.body, depth + 1);
  layout_ = outer;
  return s;
}

}  // namespace fuse
