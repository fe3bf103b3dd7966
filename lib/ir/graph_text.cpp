// Operands and attributes of a statement, checked one by one: see graph_text.h.
#include "ir/graph_text.h"

#include "ir/format.h"
#include "ir/suggest.h"

#include <fuse/builders.h>

#include <bit>
#include <mutex>

namespace fuse {

const char *intern_file(std::string_view file) {
  static std::mutex mutex;
  static auto *files = new std::set<std::string, std::less<>>;
  std::lock_guard lock(mutex);
  return files->emplace(file).first->c_str();
}

void Arguments::expect_operands(std::size_t min, std::size_t max) const {
  std::size_t n = statement_.operands.size();
  if (n >= min && n <= max) return;
  std::string wanted = std::to_string(min);
  if (max == SIZE_MAX)
    wanted += " or more";
  else if (max != min)
    wanted += " to " + std::to_string(max);
  const std::string &op = statement_.op.name;
  error(n > max ? statement_.operands[max].at : statement_.op,
        op + " takes " + wanted + (max == 1 ? " operand" : " operands") + ", not " +
            std::to_string(n));
}

NodeId Arguments::node(std::size_t i) const {
  const TextOperand &o = statement_.operands[i];
  if (!o.is_value) error(o.at, statement_.op.name + " takes a value here, not a literal");
  return o.node;
}

NodeId Arguments::node(std::size_t i, DType literal_dtype) const {
  const TextOperand &o = statement_.operands[i];
  if (o.is_value) return o.node;
  return build_constant(graph_, to_literal(lexer_, o.number, literal_dtype), {});
}

Operand Arguments::operand(std::size_t i) const {
  const TextOperand &o = statement_.operands[i];
  if (o.is_value) return Operand(graph_.value(o.node), where_);
  const Token &t = o.number.token;
  if (t.kind == Token::Kind::Bits) error(t, "bits are literals of primitive operations only");
  if (t.is("true") || t.is("false")) return Operand(t.is("true"), where_);
  if (t.kind == Token::Kind::Integer) {
    Literal literal = to_literal(lexer_, o.number, DType::I64);
    return Operand(static_cast<std::int64_t>(literal.bits), where_);
  }
  return Operand(std::bit_cast<double>(to_literal(lexer_, o.number, DType::F64).bits), where_);
}

Value Arguments::value(std::size_t i) const {
  if (i >= statement_.operands.size()) return {};
  return graph_.value(node(i));
}

const TextType &Arguments::type() const {
  if (statement_.types.empty())
    error(statement_.op, statement_.op.name + " needs a type after its operands: ': f32[4, 8]'");
  return statement_.types[0];
}

const TextAttribute *Arguments::find(const char *name) {
  known_.insert(name);
  auto it = statement_.attributes.find(name);
  return it == statement_.attributes.end() ? nullptr : &it->second;
}

const TextAttribute &Arguments::need(const char *name) {
  const TextAttribute *attribute = find(name);
  if (!attribute) error(statement_.op, statement_.op.name + " needs " + name + "=");
  return *attribute;
}

std::int64_t Arguments::integer_of(const TextAttribute &attribute) const {
  if (attribute.list || attribute.real || !attribute.dim.is_static())
    error(attribute.at, attribute.at.name + " is an integer");
  return attribute.dim.value();
}

int Arguments::axis_of(const Token &at, std::int64_t axis) const {
  if (axis < -kMaxRank || axis >= kMaxRank + 1)
    error(at, "axis " + std::to_string(axis) + " exceeds the rank " + std::to_string(kMaxRank));
  return static_cast<int>(axis);
}

int Arguments::axis(const char *name) {
  const TextAttribute &attribute = need(name);
  return axis_of(attribute.at, integer_of(attribute));
}

int Arguments::axis(const char *name, int otherwise) { return find(name) ? axis(name) : otherwise; }

std::vector<int> Arguments::axes(const char *name) {
  bool is_single = name == std::string_view("axes") && statement_.attributes.count("axis");
  if (is_single) return {axis("axis")};
  std::vector<int> axes;
  for (std::int64_t a : list(name)) axes.push_back(axis_of(statement_.attributes.at(name).at, a));
  return axes;
}

std::vector<std::int64_t> Arguments::list(const char *name) {
  const TextAttribute &attribute = need(name);
  if (!attribute.list) error(attribute.at, attribute.at.name + " is a list: [0, 1]");
  return *attribute.list;
}

std::int64_t Arguments::integer(const char *name) { return integer_of(need(name)); }

std::int64_t Arguments::integer(const char *name, std::int64_t otherwise) {
  return find(name) ? integer(name) : otherwise;
}

int Arguments::small_integer(const char *name, int otherwise) {
  constexpr std::int64_t kLimit = 1 << 20;
  std::int64_t value = integer(name, otherwise);
  if (value < -kLimit || value > kLimit)
    error(statement_.attributes.at(name).at, std::string(name) + " is out of range");
  return static_cast<int>(value);
}

double Arguments::real(const char *name, double otherwise) {
  const TextAttribute *attribute = find(name);
  if (!attribute) return otherwise;
  return attribute->real ? *attribute->real : static_cast<double>(integer_of(*attribute));
}

Dim Arguments::dim(const char *name) {
  const TextAttribute &attribute = need(name);
  if (attribute.list || attribute.real) error(attribute.at, attribute.at.name + " is an extent");
  return attribute.dim;
}

bool Arguments::word(const char *name) { return find(name) != nullptr; }

std::int64_t Arguments::stream() {
  const TextAttribute *attribute = find("stream");
  if (!attribute) return kNextStream;
  std::int64_t stream = integer_of(*attribute);
  if (stream < 0) error(attribute->at, "stream " + std::to_string(stream) + " is negative");
  return stream;
}

void Arguments::expect_all_used() const {
  for (const auto &[name, attribute] : statement_.attributes)
    if (!known_.count(name))
      error(attribute.at, statement_.op.name + " takes no " + name +
                              suggest(name, {known_.begin(), known_.end()}));
}

}  // namespace fuse
