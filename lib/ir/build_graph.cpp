// Inputs, outputs, symbols and extern operations.
#include "ir/build.h"
#include "ir/format.h"

#include <algorithm>
#include <cctype>

namespace fuse {

namespace {

/// Names appear in texts after % or @, and symbols in extents.
bool is_identifier(std::string_view name) {
  auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)); };
  if (name.empty() || digit(name[0]) || name[0] == '.' || name.back() == '.') return false;
  auto part = [&](char c) { return word(c) || c == '.'; };
  return std::all_of(name.begin(), name.end(), part) && name.find("..") == name.npos;
}

void check_symbols(const GraphData &g, std::string_view what, const Shape &shape,
                   SourceLocation where) {
  for (const Dim &d : shape) {
    for (const Dim::Term &t : d.terms()) {
      for (const std::string &s : t.symbols) {
        auto known = [&](const Symbol &symbol) { return symbol.name == s; };
        if (std::none_of(g.symbols.begin(), g.symbols.end(), known))
          fail_at(where, ErrorCode::InvalidArgument,
                  "{}: symbol {} is not of this graph; make it with Graph::dim", what, s);
      }
    }
  }
}

void check_type(const GraphData &g, std::string_view what, const Shape &shape,
                SourceLocation where) {
  if (shape.size() > kMaxRank)
    fail_at(where, ErrorCode::Shape, "{}: rank {} exceeds {}", what, shape.size(), kMaxRank);
  for (const Dim &d : shape)
    if (d.is_static() && d.value() < 0)
      fail_at(where, ErrorCode::Shape, "{}: negative extent {}", what, d.value());
  check_symbols(g, what, shape, where);
  num_elements(shape);  // throws where the count exceeds 63 bits
}

bool is_input(const GraphData &g, std::string_view name) {
  return std::any_of(g.inputs.begin(), g.inputs.end(),
                     [&](NodeId id) { return g.attr<InputAttr>(id).name == name; });
}

bool is_output(const GraphData &g, std::string_view name) {
  return std::any_of(g.outputs.begin(), g.outputs.end(),
                     [&](const Output &o) { return o.name == name; });
}

/// Names of inputs and of other values are one space: texts write both as %name.
bool is_taken(const GraphData &g, std::string_view name) {
  auto is_named = [&](const auto &entry) { return entry.second == name; };
  return is_input(g, name) || std::any_of(g.names.begin(), g.names.end(), is_named);
}

}  // namespace

void check_name(std::string_view what, std::string_view name, SourceLocation where) {
  if (!is_identifier(name))
    fail_at(where, ErrorCode::InvalidArgument,
            "{}: '{}' is not a name; use letters, digits, '_' and '.' between them, and no digit "
            "first",
            what, name);
}

void add_name(GraphData &g, NodeId id, std::string_view name, SourceLocation where) {
  check_name("named", name, where);
  if (g.node(id).op == Op::Input)
    fail_at(where, ErrorCode::InvalidArgument, "named: {} is an input and keeps its name",
            g.attr<InputAttr>(id).name);
  auto old = g.names.find(id);
  if (old != g.names.end() && old->second == name) return;
  if (is_taken(g, name))
    fail_at(where, ErrorCode::InvalidArgument, "named: the name {} is taken", name);
  g.names[id] = std::string(name);
}

NodeId build_input(GraphData &g, std::string_view name, DType type, const Shape &shape,
                   bool is_scalar, SourceLocation where) {
  check_name("input", name, where);
  check_type(g, name, shape, where);
  if (is_taken(g, name) || is_output(g, name))
    fail_at(where, ErrorCode::InvalidArgument, "input: the name {} is taken", name);
  NodeId id = g.add(Op::Input, type, shape, {}, InputAttr{std::string(name), is_scalar});
  g.inputs.push_back(id);
  return id;
}

std::vector<NodeId> build_extern(GraphData &g, std::string_view name,
                                 std::span<const NodeId> operands, std::vector<DType> dtypes,
                                 std::vector<Shape> shapes, SourceLocation where) {
  if (name.empty() || name.find_first_of("\"\n\\") != std::string_view::npos)
    fail_at(where, ErrorCode::InvalidArgument, "extern: '{}' is not a name", name);
  if (dtypes.empty() || dtypes.size() != shapes.size())
    fail_at(where, ErrorCode::InvalidArgument, "extern {}: {} result dtypes, {} shapes", name,
            dtypes.size(), shapes.size());
  for (const Shape &s : shapes) check_type(g, name, s, where);
  ExternAttr attr{std::string(name), 0, dtypes, shapes};
  std::vector<NodeId> results = {g.add(Op::Extern, dtypes[0], shapes[0], operands, attr)};
  for (std::size_t i = 1; i < dtypes.size(); ++i)
    results.push_back(g.add(Op::ExternResult, dtypes[i], shapes[i], {{results[0]}},
                            ExternAttr{std::string(name), i, {}, {}}));
  return results;
}

void add_output(GraphData &g, std::string_view name, NodeId node, SourceLocation where) {
  check_name("output", name, where);
  if (is_input(g, name))
    fail_at(where, ErrorCode::InvalidArgument,
            "output: {} is the name of an input; launches tell arguments apart by name", name);
  if (is_output(g, name))
    fail_at(where, ErrorCode::InvalidArgument, "output: the name {} is taken", name);
  g.outputs.push_back({std::string(name), node});
}

void add_symbol(GraphData &g, std::string_view name, SymbolBounds bounds, SourceLocation where) {
  check_name("dim", name, where);
  if (bounds.min < 0 || bounds.max < bounds.min || bounds.divisor < 1)
    fail_at(where, ErrorCode::InvalidArgument,
            "dim {}: bounds [{}, {}] divisible by {} hold no size", name, bounds.min, bounds.max,
            bounds.divisor);
  for (const Symbol &s : g.symbols) {
    if (s.name != name) continue;
    if (s.bounds.min != bounds.min || s.bounds.max != bounds.max ||
        s.bounds.divisor != bounds.divisor)
      fail_at(where, ErrorCode::InvalidArgument,
              "dim {}: bounds [{}, {}] divisible by {}; it was declared with [{}, {}] and {}", name,
              bounds.min, bounds.max, bounds.divisor, s.bounds.min, s.bounds.max, s.bounds.divisor);
    return;
  }
  g.symbols.push_back({std::string(name), bounds});
}

}  // namespace fuse
