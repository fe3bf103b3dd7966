// Text -> Program; docs/kernel.md has the format.
//
// Every failure is Error{Parse} with the place. Beyond syntax, whatever the runtime takes for
// granted is checked: steps are bound to memory that exists, scalars to scalars, and every size is
// one of the program's.
#include "ir/format.h"
#include "ir/kernel_parser.h"
#include "ir/program_text.h"

#include <bit>
#include <set>

namespace fuse {

namespace {

constexpr std::int64_t kMaxAlignment = 1 << 20;

class ProgramParser {
 public:
  ProgramParser(std::string_view text, std::string_view file) : lexer_(text, file) {}

  Program parse() {
    lexer_.expect("program");
    p_.name = lexer_.expect(Token::Kind::Symbol, "@name").name;
    lexer_.expect("{");
    while (lexer_.accept("symbol")) parse_symbol();
    while (lexer_.accept("input")) p_.inputs.push_back(parse_argument());
    while (lexer_.accept("output")) p_.outputs.push_back(parse_argument());
    while (lexer_.accept("workspace")) parse_workspace();
    while (lexer_.accept("limit")) parse_limit();
    while (lexer_.accept("class")) parse_range();
    while (lexer_.peek().is("kernel")) parse_kernel();
    while (parse_step()) {
    }
    while (lexer_.accept("planned")) parse_planned();
    while (lexer_.accept("decision")) parse_decision();
    if (lexer_.accept("unfused")) parse_unfused();
    while (lexer_.accept("size")) parse_planned_size();
    lexer_.expect("}");
    lexer_.expect_end();
    return std::move(p_);
  }

 private:
  std::string parse_text(std::string_view what) {
    return lexer_.expect(Token::Kind::String, what).name;
  }

  void require_size(const Token &at, const std::string &name) const {
    if (!sizes_.contains(name)) lexer_.error(at, name + " is no size of the program");
  }

  Index parse_expression() {
    return parse_index(lexer_, [&](const Token &t) {
      require_size(t, t.name);
      return Index::symbol(t.name);
    });
  }

  Dim parse_extent() {
    Token start = lexer_.peek();
    Index index = parse_expression();
    try {
      if (std::optional<Dim> extent = to_dim(index)) return *extent;
    } catch (const Error &e) {
      lexer_.error(start, e.what());
    }
    lexer_.error(start, "an extent is a polynomial in symbols");
  }

  Shape parse_shape() {
    Shape shape;
    Token start = lexer_.peek();
    lexer_.expect("[");
    if (lexer_.accept("]")) return shape;
    do shape.push_back(parse_extent());
    while (lexer_.accept(","));
    lexer_.expect("]");
    if (shape.size() > kMaxRank) lexer_.error(start, "a shape has too many extents");
    return shape;
  }

  DType parse_dtype() {
    Token name = lexer_.expect(Token::Kind::Identifier, "a dtype");
    std::optional<DType> dtype = dtype_from_string(name.name);
    if (!dtype) lexer_.error(name, name.name + " is no dtype");
    return *dtype;
  }

  double parse_real() {
    Literal literal = to_literal(lexer_, parse_number(lexer_), DType::F64);
    return std::bit_cast<double>(literal.bits);
  }

  std::int64_t parse_field(std::string_view name) {
    lexer_.expect(name);
    lexer_.expect("=");
    return lexer_.expect_integer(name, INT64_MAX);
  }

  // --- Declarations ------------------------------------------------------------------------------

  void parse_symbol() {
    Token name = lexer_.expect(Token::Kind::Identifier, "a symbol");
    if (!sizes_.insert(name.name).second) lexer_.error(name, name.name + " is declared twice");
    SymbolBounds bounds;
    bounds.min = parse_field("min");
    bounds.max = parse_field("max");
    bounds.divisor = parse_field("divisor");
    if (bounds.max < bounds.min || bounds.divisor < 1)
      lexer_.error(name, "the bounds of " + name.name + " hold no size");
    p_.symbols.push_back({name.name, bounds});
  }

  Argument parse_argument() {
    Argument a;
    Token name = lexer_.expect(Token::Kind::Value, "an argument");
    a.name = name.name;
    lexer_.expect(":");
    a.dtype = parse_dtype();
    a.shape = parse_shape();
    lexer_.expect("align");
    a.alignment = static_cast<int>(lexer_.expect_integer("alignment", kMaxAlignment));
    a.is_scalar = lexer_.accept("scalar");
    a.strided = lexer_.accept("strided");
    if (a.is_scalar && (!a.shape.empty() || a.strided))
      lexer_.error(name, "a scalar has no extents and no strides");
    for (std::size_t axis = 0; a.strided && axis < a.shape.size(); ++axis)
      sizes_.insert(a.name + ".stride" + std::to_string(axis));
    return a;
  }

  void parse_workspace() {
    Index bytes = parse_expression();
    p_.workspace.push_back({std::move(bytes), lexer_.accept("counter")});
  }

  Limit::Kind parse_limit_kind() {
    using enum Limit::Kind;
    for (Limit::Kind kind : {Capacity, Offsets, Divisor, Minimum, Blocks, NotEmpty, Fixed})
      if (lexer_.accept(to_string(kind))) return kind;
    Token at = lexer_.peek();
    lexer_.error(at, "a limit is one of capacity, offsets, divisor, minimum and blocks, not '" +
                         at.name + "'");
  }

  void parse_limit() {
    Limit limit;
    limit.kind = parse_limit_kind();
    limit.value = parse_expression();
    lexer_.expect("<");
    lexer_.expect("=");
    limit.max = lexer_.expect_integer("limit", INT64_MAX);
    limit.why = parse_text("the reason of the limit");
    p_.limits.push_back(std::move(limit));
  }

  void parse_range() {
    SizeRange range;
    range.min = lexer_.expect_integer("least value", INT64_MAX);
    lexer_.expect("<");
    lexer_.expect("=");
    range.value = parse_expression();
    lexer_.expect("<");
    lexer_.expect("=");
    range.max = lexer_.expect_integer("largest value", INT64_MAX);
    p_.ranges.push_back(std::move(range));
  }

  void parse_kernel() {
    Token start = lexer_.peek();
    Kernel kernel = KernelParser(lexer_).parse();
    for (const std::string &name : symbols_of(kernel)) require_size(start, name);
    p_.kernels.push_back(std::move(kernel));
  }

  // --- Steps -------------------------------------------------------------------------------------

  std::size_t parse_position(std::string_view what, std::size_t size) {
    Token at = lexer_.peek();
    auto position = static_cast<std::size_t>(lexer_.expect_integer(what, INT64_MAX));
    if (position < size) return position;
    lexer_.error(at, "there is no " + std::string(what) + " " + at.name);
  }

  Binding parse_binding() {
    if (lexer_.accept("input"))
      return {Binding::Kind::Input, parse_position("input", p_.inputs.size())};
    if (lexer_.accept("output"))
      return {Binding::Kind::Output, parse_position("output", p_.outputs.size())};
    lexer_.expect("workspace");
    return {Binding::Kind::Workspace, parse_position("workspace", p_.workspace.size())};
  }

  bool is_scalar(const Binding &binding) const {
    return binding.kind == Binding::Kind::Input && p_.inputs[binding.index].is_scalar;
  }

  /// Reads one step, if one follows.
  bool parse_step() {
    Token word = lexer_.peek();
    if (lexer_.accept("launch"))
      p_.steps.push_back(parse_launch(word));
    else if (lexer_.accept("call"))
      p_.steps.push_back(parse_call());
    else
      return false;
    return true;
  }

  Step parse_launch(const Token &start) {
    Step step;
    step.kernel = parse_position("kernel", p_.kernels.size());
    std::vector<std::vector<Binding>> given;
    lexer_.expect("(");
    if (!lexer_.accept(")")) {
      do given.push_back(parse_bindings());
      while (lexer_.accept(","));
      lexer_.expect(")");
    }
    const Kernel &kernel = p_.kernels[step.kernel];
    if (given.size() != kernel.buffers.size())
      lexer_.error(start, "a kernel of " + std::to_string(kernel.buffers.size()) +
                              " buffers is bound to " + std::to_string(given.size()));
    for (std::size_t i = 0; i < given.size(); ++i) {
      require_kind(start, kernel, kernel.buffers[i], given[i]);
      step.bindings.insert(step.bindings.end(), given[i].begin(), given[i].end());
    }
    return step;
  }

  /// `input 0`, or, of a buffer that each instance has, `(input 0, input 3)`.
  std::vector<Binding> parse_bindings() {
    if (!lexer_.accept("(")) return {parse_binding()};
    std::vector<Binding> bindings;
    do bindings.push_back(parse_binding());
    while (lexer_.accept(","));
    lexer_.expect(")");
    return bindings;
  }

  void require_kind(const Token &start, const Kernel &kernel, const Buffer &buffer,
                    const std::vector<Binding> &bindings) {
    auto count = static_cast<std::size_t>(buffer.each ? kernel.instances : 1);
    if (bindings.size() != count)
      lexer_.error(start, "%" + buffer.name + " of " + std::to_string(count) +
                              " instances is bound to " + std::to_string(bindings.size()));
    for (const Binding &binding : bindings)
      if (is_scalar(binding) != (buffer.role == BufferRole::Scalar))
        lexer_.error(start, "%" + buffer.name + " is bound to memory of another kind");
  }

  void parse_operands(Step &step) {
    lexer_.expect("(");
    if (lexer_.accept(")")) return;
    do {
      step.bindings.push_back(parse_binding());
      lexer_.expect(":");
      step.dtypes.push_back(parse_dtype());
      step.shapes.push_back(parse_shape());
    } while (lexer_.accept(","));
    lexer_.expect(")");
  }

  Step parse_call() {
    Step step;
    step.is_extern = true;
    step.extern_name = parse_text("the name of an extern operation");
    parse_operands(step);
    step.num_operands = step.bindings.size();
    lexer_.expect("->");
    parse_operands(step);
    return step;
  }

  // --- What was planned --------------------------------------------------------------------------

  void parse_planned() {
    PlannedKernel kernel;
    kernel.name = parse_text("the name of a kernel");
    kernel.seconds = parse_real();
    kernel.bound = parse_text("what bounds the kernel");
    kernel.bytes = parse_real();
    kernel.moved_bytes = parse_real();
    lexer_.expect("(");
    while (!lexer_.accept(")")) {
      if (!kernel.pipes.empty()) lexer_.expect(",");
      std::string pipe = parse_text("a pipe");
      kernel.pipes.push_back({std::move(pipe), parse_real()});
    }
    p_.plan.kernels.push_back(std::move(kernel));
  }

  void parse_decision() {
    Decision d;
    d.about = parse_text("what was decided on");
    d.chosen = parse_text("what was chosen");
    d.why = parse_text("why it was chosen");
    d.gain_seconds = parse_real();
    d.rejected = parse_text("what was rejected");
    p_.plan.decisions.push_back(std::move(d));
  }

  void parse_unfused() {
    PlanTotals &unfused = p_.plan.unfused;
    unfused.kernels = static_cast<std::size_t>(lexer_.expect_integer("a number", INT64_MAX));
    unfused.bytes = parse_real();
    unfused.predicted_us = parse_real();
    unfused.moved_bytes = parse_real();
  }

  void parse_planned_size() {
    std::string symbol = lexer_.expect(Token::Kind::Identifier, "a symbol").name;
    p_.plan.sizes[symbol] = lexer_.expect_integer("a size", INT64_MAX);
  }

  Lexer lexer_;
  Program p_;
  std::set<std::string> sizes_;  // symbols, and strides of strided arguments
};

}  // namespace

std::optional<Dim> to_dim(const Index &extent) {
  Dim sum = 0;
  for (const Index::Term &term : extent.terms()) {
    Dim product = term.coefficient;
    for (const Atom &atom : term.atoms) {
      if (atom.kind != Atom::Kind::Symbol) return std::nullopt;
      product = product * Dim::symbol(atom.symbol);
    }
    sum = sum + product;
  }
  return sum;
}

/// A kernel of a text that breaks an invariant is the writer's error.
void verify_text(const Kernel &kernel, std::string_view file) {
  try {
    verify(kernel);
  } catch (const Error &e) {
    fail(ErrorCode::Parse, "{}: error: {}", file, e.what());
  }
}

Program parse_program(std::string_view text, std::string_view file) {
  Program program = ProgramParser(text, file).parse();
  for (const Kernel &kernel : program.kernels) verify_text(kernel, file);
  return program;
}

}  // namespace fuse
