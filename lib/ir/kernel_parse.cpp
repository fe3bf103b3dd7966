// Text -> Kernel; docs/kernel.md has the format.
//
// Syntax and names are checked here, meaning in kernel_verify.cpp. Every failure is Error{Parse}
// with the place; nesting is bounded, so no text exhausts the stack. What the text leaves out is
// filled in: dtypes by natural_dtype, the dims of values by dependence.
#include "ir/kernel_parser.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr std::int64_t kMaxCount = 1 << 20;  // of threads, alignments and the like

std::optional<DigitKind> digit_from_string(std::string_view text) {
  constexpr std::pair<std::string_view, DigitKind> kNames[] = {
      {"grid", DigitKind::Grid}, {"cta", DigitKind::Cta}, {"thread", DigitKind::Thread},
      {"loop", DigitKind::Loop}, {"reg", DigitKind::Reg}, {"vec", DigitKind::Vec}};
  for (auto [name, kind] : kNames)
    if (name == text) return kind;
  return std::nullopt;
}

}  // namespace

bool is_number(const std::string &text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Kernel KernelParser::parse() {
  parse_signature();
  if (lexer_.accept("instances")) parse_instances();
  if (lexer_.accept("dims")) parse_dims();
  while (lexer_.peek().is("layout")) parse_layout();
  parse_body(k_.body, 0);
  return std::move(k_);
}

std::uint32_t KernelParser::find(const std::map<std::string, std::uint32_t> &names,
                                 const Token &name, const char *what) const {
  auto it = names.find(name.name);
  if (it == names.end())
    lexer_.error(name, std::string(what) + " " + name.name + " is not defined");
  return it->second;
}

void KernelParser::define(std::map<std::string, std::uint32_t> &names, const Token &name,
                          std::size_t id, const char *what) {
  if (!names.emplace(name.name, static_cast<std::uint32_t>(id)).second)
    lexer_.error(name, std::string(what) + " " + name.name + " is defined twice");
}

Index KernelParser::parse_expression(bool in_body) {
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

Index KernelParser::parse_bracketed() {
  lexer_.expect("[");
  Index index = parse_expression(true);
  lexer_.expect("]");
  return index;
}

BufferId KernelParser::parse_buffer() {
  return find(buffer_ids_, lexer_.expect(Token::Kind::Value, "a buffer"), "buffer");
}

ValueId KernelParser::parse_value() {
  return find(value_ids_, lexer_.expect(Token::Kind::Value, "a value"), "value");
}

DimId KernelParser::parse_dim() {
  return find(dim_ids_, lexer_.expect(Token::Kind::Identifier, "a dim"), "dim");
}

LayoutId KernelParser::parse_layout_name() {
  return find(layout_ids_, lexer_.expect(Token::Kind::Identifier, "a layout"), "layout");
}

DType KernelParser::parse_dtype() {
  Token name = lexer_.expect(Token::Kind::Identifier, "a dtype");
  std::optional<DType> dtype = dtype_from_string(name.name);
  if (!dtype) lexer_.error(name, name.name + " is no dtype");
  return *dtype;
}

void KernelParser::parse_signature() {
  lexer_.expect("kernel");
  k_.name = lexer_.expect(Token::Kind::Symbol, "@name").name;
  parse_parameters(BufferRole::Input);
  lexer_.expect("->");
  parse_parameters(BufferRole::Output);
  if (lexer_.accept("workspace")) parse_parameters(BufferRole::Workspace);
  k_.threads = parse_setting("threads");
  k_.cluster = parse_setting("cluster");
  if (lexer_.peek().name == "resident") k_.resident = parse_setting("resident");
  k_.index_bits = parse_setting("index");
  if (lexer_.accept("divisors")) k_.divisors = parse_promises();
  if (lexer_.accept("minima")) k_.minima = parse_promises();
  lexer_.expect("{");
}

Bindings KernelParser::parse_promises() {
  Bindings promises;
  lexer_.expect("(");
  do {
    Token symbol = lexer_.expect(Token::Kind::Identifier, "a symbol");
    std::int64_t value = lexer_.expect_integer("a size", INT64_MAX);
    if (!promises.emplace(symbol.name, value).second)
      lexer_.error(symbol, symbol.name + " stands twice");
  } while (lexer_.accept(","));
  lexer_.expect(")");
  return promises;
}

int KernelParser::parse_setting(std::string_view name) {
  lexer_.expect(name);
  return static_cast<int>(lexer_.expect_integer(name, kMaxCount));
}

void KernelParser::parse_parameters(BufferRole role) {
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

void KernelParser::parse_extents(std::vector<Index> &extents) {
  lexer_.expect("[");
  if (lexer_.accept("]")) return;
  do extents.push_back(parse_expression(false));
  while (lexer_.accept(","));
  lexer_.expect("]");
}

void KernelParser::parse_attributes(Buffer &b) {
  if (lexer_.accept("align"))
    b.alignment = static_cast<int>(lexer_.expect_integer("alignment", kMaxCount));
  b.coherent = lexer_.accept("coherent");
  b.strided = lexer_.accept("strided");
  if (lexer_.peek().is("scalar")) {
    if (b.role != BufferRole::Input) lexer_.error(lexer_.peek(), "only an input can be a scalar");
    lexer_.next();
    b.role = BufferRole::Scalar;
  }
  b.each = lexer_.accept("each");
}

/// `instances 3 n: 4, 0, B*2; m: 1, 2, 3`, after the word.
void KernelParser::parse_instances() {
  k_.instances = static_cast<int>(lexer_.expect_integer("instances", kMaxCount));
  bool has_table = !lexer_.peek().first_on_line && lexer_.peek().kind == Token::Kind::Identifier;
  if (!has_table) return;
  do {
    InstanceSize size;
    size.name = lexer_.expect(Token::Kind::Identifier, "a size of the instances").name;
    lexer_.expect(":");
    do size.values.push_back(parse_expression(false));
    while (lexer_.accept(","));
    k_.table.push_back(std::move(size));
  } while (lexer_.accept(";"));
}

void KernelParser::parse_dims() {
  do {
    Token name = lexer_.expect(Token::Kind::Identifier, "a dim");
    lexer_.expect(":");
    KernelDim dim{name.name, parse_expression(false)};
    define(dim_ids_, name, k_.dims.size(), "dim");
    k_.dims.push_back(std::move(dim));
  } while (lexer_.accept(","));
}

void KernelParser::parse_layout() {
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

Axis KernelParser::parse_axis() {
  Axis axis;
  if (lexer_.accept("(")) {
    axis.dims = parse_dim_list();
    lexer_.expect(")");
  } else {
    axis.dims.push_back(parse_dim());
  }
  lexer_.expect("=");
  bool has_digits = !lexer_.peek().first_on_line && !lexer_.peek().is(";");
  if (has_digits) {
    do axis.digits.push_back(parse_digit());
    while (lexer_.accept("."));
  }
  if (lexer_.accept("align")) {
    axis.align.buffer = parse_buffer();
    axis.align.base = parse_bracketed();
  }
  return axis;
}

std::vector<DimId> KernelParser::parse_dim_list() {
  std::vector<DimId> dims;
  do dims.push_back(parse_dim());
  while (lexer_.accept(","));
  return dims;
}

Digit KernelParser::parse_digit() {
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

void KernelParser::parse_stride(Index &stride) {
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

Kernel parse_kernel(std::string_view text, std::string_view file) {
  Lexer lexer(text, file);
  Kernel kernel = KernelParser(lexer).parse();
  lexer.expect_end();
  return kernel;
}

}  // namespace fuse
