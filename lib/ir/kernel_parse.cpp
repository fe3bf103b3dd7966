// Text -> Kernel; docs/kernel.md has the format.
//
// Syntax and names are checked here, meaning in kernel_verify.cpp. Every failure is Error{Parse}
// with the place; nesting is bounded, so no text exhausts the stack. What the text leaves out is
// filled in: dtypes by natural_dtype, the dims of values by dependence.
#include "ir/format.h"
#include "ir/index_parse.h"
#include "ir/kernel.h"
#include "ir/literal_text.h"
#include "ir/op.h"

#include <algorithm>
#include <map>

namespace fuse {

namespace {

constexpr int kMaxDepth = 64;
constexpr std::int64_t kMaxCount = 1 << 20;  // of threads, alignments and the like

std::optional<DigitKind> digit_from_string(std::string_view text) {
  constexpr std::pair<std::string_view, DigitKind> kNames[] = {
      {"grid", DigitKind::Grid}, {"cta", DigitKind::Cta}, {"thread", DigitKind::Thread},
      {"loop", DigitKind::Loop}, {"reg", DigitKind::Reg}, {"vec", DigitKind::Vec}};
  for (auto [name, kind] : kNames)
    if (name == text) return kind;
  return std::nullopt;
}

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

bool is_number(const std::string &text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class KernelParser {
 public:
  KernelParser(std::string_view text, std::string_view file) : lexer_(text, file) {}

  Kernel parse() {
    parse_signature();
    if (lexer_.accept("dims")) parse_dims();
    while (lexer_.peek().is("layout")) parse_layout();
    parse_body(k_.body, 0);
    if (lexer_.peek().kind != Token::Kind::End)
      lexer_.error(lexer_.peek(), "expected end of text, found " + describe(lexer_.peek()));
    return std::move(k_);
  }

 private:
  // --- Names -------------------------------------------------------------------------------------

  template <class T>
  std::uint32_t find(const std::map<std::string, T> &names, const Token &name,
                     const char *what) const {
    auto it = names.find(name.name);
    if (it == names.end())
      lexer_.error(name, std::string(what) + " " + name.name + " is not defined");
    return it->second;
  }

  void define(std::map<std::string, std::uint32_t> &names, const Token &name, std::size_t id,
              const char *what) {
    if (!names.emplace(name.name, static_cast<std::uint32_t>(id)).second)
      lexer_.error(name, std::string(what) + " " + name.name + " is defined twice");
  }

  /// An expression over symbols, or, in the body, over dims and values too.
  Index parse_expression(bool in_body) {
    return parse_index(lexer_, [&](const Token &t) -> Index {
      if (t.kind == Token::Kind::Value) {
        if (!in_body) lexer_.error(t, "%" + t.name + " is a value: extents use symbols only");
        return Index::value(find(value_ids_, t, "value"));
      }
      auto dim = dim_ids_.find(t.name);
      if (dim == dim_ids_.end()) return Index::symbol(t.name);
      if (!in_body) lexer_.error(t, t.name + " is a dim: extents use symbols only");
      return Index::dim(dim->second);
    });
  }

  Index parse_bracketed() {
    lexer_.expect("[");
    Index index = parse_expression(true);
    lexer_.expect("]");
    return index;
  }

  BufferId parse_buffer() {
    return find(buffer_ids_, lexer_.expect(Token::Kind::Value, "a buffer"), "buffer");
  }

  ValueId parse_value() {
    return find(value_ids_, lexer_.expect(Token::Kind::Value, "a value"), "value");
  }

  DimId parse_dim() {
    return find(dim_ids_, lexer_.expect(Token::Kind::Identifier, "a dim"), "dim");
  }

  LayoutId parse_layout_name() {
    return find(layout_ids_, lexer_.expect(Token::Kind::Identifier, "a layout"), "layout");
  }

  DType parse_dtype() {
    Token name = lexer_.expect(Token::Kind::Identifier, "a dtype");
    std::optional<DType> dtype = dtype_from_string(name.name);
    if (!dtype) lexer_.error(name, name.name + " is no dtype");
    return *dtype;
  }

  // --- Signature, dims, layouts ------------------------------------------------------------------

  void parse_signature() {
    lexer_.expect("kernel");
    k_.name = lexer_.expect(Token::Kind::Symbol, "@name").name;
    parse_parameters(BufferRole::Input);
    lexer_.expect("->");
    parse_parameters(BufferRole::Output);
    if (lexer_.accept("workspace")) parse_parameters(BufferRole::Workspace);
    k_.threads = parse_setting("threads");
    k_.cluster = parse_setting("cluster");
    k_.index_bits = parse_setting("index");
    lexer_.expect("{");
  }

  int parse_setting(std::string_view name) {
    lexer_.expect(name);
    return static_cast<int>(lexer_.expect_integer(name, kMaxCount));
  }

  void parse_parameters(BufferRole role) {
    lexer_.expect("(");
    if (lexer_.accept(")")) return;
    do {
      Buffer b;
      b.role = role;
      Token name = lexer_.expect(Token::Kind::Value, "a buffer");
      define(buffer_ids_, name, k_.buffers.size(), "buffer");
      b.name = name.name;
      lexer_.expect(":");
      b.dtype = parse_dtype();
      parse_extents(b.shape);
      parse_attributes(b);
      k_.buffers.push_back(std::move(b));
    } while (lexer_.accept(","));
    lexer_.expect(")");
  }

  void parse_extents(std::vector<Index> &extents) {
    lexer_.expect("[");
    if (lexer_.accept("]")) return;
    do extents.push_back(parse_expression(false));
    while (lexer_.accept(","));
    lexer_.expect("]");
  }

  void parse_attributes(Buffer &b) {
    if (lexer_.accept("align"))
      b.alignment = static_cast<int>(lexer_.expect_integer("alignment", kMaxCount));
    b.coherent = lexer_.accept("coherent");
    if (!lexer_.peek().is("scalar")) return;
    if (b.role != BufferRole::Input) lexer_.error(lexer_.peek(), "only an input can be a scalar");
    lexer_.next();
    b.role = BufferRole::Scalar;
  }

  void parse_dims() {
    do {
      Token name = lexer_.expect(Token::Kind::Identifier, "a dim");
      lexer_.expect(":");
      KernelDim dim{name.name, parse_expression(false)};
      define(dim_ids_, name, k_.dims.size(), "dim");
      k_.dims.push_back(std::move(dim));
    } while (lexer_.accept(","));
  }

  void parse_layout() {
    lexer_.next();
    Token name = lexer_.expect(Token::Kind::Identifier, "the layout's name");
    define(layout_ids_, name, k_.layouts.size(), "layout");
    lexer_.expect(":");
    Layout layout{name.name, {}};
    if (!lexer_.peek().first_on_line) {
      do layout.axes.push_back(parse_axis());
      while (lexer_.accept(";"));
    }
    k_.layouts.push_back(std::move(layout));
  }

  Axis parse_axis() {
    Axis axis;
    if (lexer_.accept("(")) {
      axis.dims = parse_dim_list();
      lexer_.expect(")");
    } else {
      axis.dims.push_back(parse_dim());
    }
    lexer_.expect("=");
    do axis.digits.push_back(parse_digit());
    while (lexer_.accept("."));
    if (lexer_.accept("align")) {
      axis.align.buffer = parse_buffer();
      axis.align.base = parse_bracketed();
    }
    return axis;
  }

  std::vector<DimId> parse_dim_list() {
    std::vector<DimId> dims;
    do dims.push_back(parse_dim());
    while (lexer_.accept(","));
    return dims;
  }

  Digit parse_digit() {
    Digit digit;
    Token word = lexer_.expect(Token::Kind::Identifier, "a digit");
    std::optional<DigitKind> kind = digit_from_string(word.name);
    if (!kind)
      lexer_.error(word, word.name + " is no digit; one of grid, cta, thread, loop, reg, vec");
    digit.kind = *kind;
    if (digit.kind == DigitKind::Loop) {
      lexer_.expect(":");
      digit.name = lexer_.expect(Token::Kind::Identifier, "the loop's name").name;
    }
    digit.extent = parse_expression(false);
    parse_stride(digit.stride);
    return digit;
  }

  /// "@8" is one token; "@(N)" is not.
  void parse_stride(Index &stride) {
    const Token &t = lexer_.peek();
    if (t.kind == Token::Kind::Symbol) {
      if (!is_number(t.name) || t.name.size() > 12)
        lexer_.error(t, "stride " + t.name + " is no integer; write '@(" + t.name + ")'");
      stride = std::stoll(lexer_.next().name);
    } else if (lexer_.accept("@")) {
      lexer_.expect("(");
      stride = parse_expression(false);
      lexer_.expect(")");
    }
  }

  // --- Statements --------------------------------------------------------------------------------

  void parse_body(std::vector<Stmt> &body, int depth) {
    while (!lexer_.accept("}")) {
      Token start = lexer_.peek();
      if (depth > kMaxDepth) lexer_.error(start, "statements nest too deeply");
      if (!start.first_on_line)
        lexer_.error(start, "expected a new line before " + describe(start));
      body.push_back(start.kind == Token::Kind::Value ? parse_definition() : parse_effect(depth));
    }
  }

  Stmt parse_definition() {
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
    std::vector<DimId> dims = dependence(k_, s);
    for (std::size_t i = 0; i < names.size(); ++i) {
      define(value_ids_, names[i], k_.values.size(), "value");
      s.results.push_back(static_cast<ValueId>(k_.values.size()));
      k_.values.push_back({is_number(names[i].name) ? "" : names[i].name, dtypes[i],
                           s.kind == StmtKind::Move ? s.layout : layout_, dims});
      is_literal_.push_back(s.kind == StmtKind::Constant);
    }
    return s;
  }

  /// Reads what follows the operation's word; gives the dtypes of the results.
  std::vector<DType> parse_operation(Stmt &s, const Token &word) {
    std::vector<std::string> parts = split_at_dots(word.name);
    if (parts[0] == "load") return {parse_load(s, word, parts)};
    if (parts[0] == "move") return {parse_move(s, word, parts)};
    if (word.name == "const") return {parse_constant(s)};
    if (word.name == "index") return {parse_position(s)};
    if (word.name == "reduce") return parse_fold(s, StmtKind::Reduce);
    if (word.name == "scan") return parse_fold(s, StmtKind::Scan);
    if (word.name == "keep") return {parse_keep(s)};
    return {parse_compute(s, word)};
  }

  DType operand_dtype(const Stmt &s) const { return k_.values[s.operands[0]].dtype; }

  DType parse_constant(Stmt &s) {
    s.kind = StmtKind::Constant;
    NumberText number = parse_number(lexer_);
    lexer_.expect(":");
    DType dtype = parse_dtype();
    s.literal = to_literal(lexer_, number, dtype);
    return dtype;
  }

  DType parse_position(Stmt &s) {
    s.kind = StmtKind::Position;
    s.index = parse_expression(true);
    return lexer_.accept(":") ? parse_dtype() : DType::I64;
  }

  DType parse_compute(Stmt &s, const Token &word) {
    std::optional<Op> op = op_from_string(word.name);
    if (!op || !info(*op).is_elementwise())
      lexer_.error(word, word.name + " is no operation of a kernel");
    s.kind = StmtKind::Compute;
    s.op = *op;
    do s.operands.push_back(parse_value());
    while (lexer_.accept(","));
    if (s.op == Op::Select && s.operands.size() != 3) lexer_.error(word, "select has 3 operands");
    if (lexer_.accept(":")) return parse_dtype();
    if (info(s.op).kind == OpKind::Convert)
      lexer_.error(lexer_.peek(), "expected ':' and the dtype that " + word.name + " gives");
    return natural_dtype(k_, is_literal_, s);
  }

  int parse_width(const Token &word, const std::string &part) {
    if (!is_number(part) || part.size() > 3)
      lexer_.error(word, "'" + part + "' in " + word.name + " is no number of elements");
    return std::stoi(part);
  }

  /// ".8.streaming" of a load or store.
  void parse_access(Stmt &s, const Token &word, const std::vector<std::string> &parts) {
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
    if (i < parts.size()) lexer_.error(word, "'" + parts[i] + "' is no cache policy");
    s.buffer = parse_buffer();
    s.index = parse_bracketed();
  }

  void parse_guard(Stmt &s) {
    if (lexer_.accept("if")) s.guard = parse_value();
  }

  DType parse_load(Stmt &s, const Token &word, const std::vector<std::string> &parts) {
    s.kind = StmtKind::Load;
    parse_access(s, word, parts);
    parse_guard(s);
    return k_.buffers[s.buffer].dtype;
  }

  Stmt parse_store(const Token &word, const std::vector<std::string> &parts) {
    Stmt s;
    s.kind = StmtKind::Store;
    parse_access(s, word, parts);
    lexer_.expect(",");
    s.operands.push_back(parse_value());
    parse_guard(s);
    return s;
  }

  DType parse_move(Stmt &s, const Token &word, const std::vector<std::string> &parts) {
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

  DType parse_keep(Stmt &s) {
    s.kind = StmtKind::Keep;
    if (lexer_.accept("shared"))
      s.residence = Residence::Shared;
    else
      lexer_.expect("reg");
    s.operands.push_back(parse_value());
    return operand_dtype(s);
  }

  std::vector<DType> parse_fold(Stmt &s, StmtKind kind) {
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
    s.exclusive = kind == StmtKind::Scan && lexer_.accept("exclusive");
    std::vector<DType> dtypes(static_cast<std::size_t>(num_results(s.monoid)), operand_dtype(s));
    if (s.operands.size() == 2) dtypes[1] = k_.values[s.operands[1]].dtype;
    return dtypes;
  }

  /// A statement without results.
  Stmt parse_effect(int depth) {
    Token word = lexer_.expect(Token::Kind::Identifier, "a statement");
    std::vector<std::string> parts = split_at_dots(word.name);
    if (parts[0] == "store") return parse_store(word, parts);
    Stmt s;
    if (word.name == "for") {
      s.kind = StmtKind::For;
      s.loop = lexer_.expect(Token::Kind::Identifier, "the loop's name").name;
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

  Lexer lexer_;
  Kernel k_;
  std::map<std::string, std::uint32_t> buffer_ids_, dim_ids_, layout_ids_, value_ids_;
  std::vector<bool> is_literal_;
  LayoutId layout_ = kNone;
};

}  // namespace

Kernel parse_kernel(std::string_view text, std::string_view file) {
  return KernelParser(text, file).parse();
}

}  // namespace fuse
