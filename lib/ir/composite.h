// The frame of every builder: its nodes and errors belong to the caller's line.
#pragma once

#include "ir/graph_data.h"

#include <fuse/builders.h>

#include <string_view>
#include <vector>

namespace fuse {

/// The graph of a builder's first operand, which must be a value.
GraphData &composite_graph(std::string_view name, const Operand &x);

/// Gives the nodes from `first` on the place.
void locate(GraphData &graph, std::size_t first, SourceLocation where);

/// The error as the function's, once by its name.
[[noreturn]] void rethrow_as(std::string_view name, const Error &error, SourceLocation where);

/// Calls the body with the value of x.
template <class Body>
auto composite(std::string_view name, const Operand &x, Body body) {
  GraphData &graph = composite_graph(name, x);
  std::size_t first = graph.size();
  try {
    auto result = body(x.value());
    locate(graph, first, x.where());
    return result;
  } catch (const Error &e) {
    rethrow_as(name, e, x.where());
  }
}

/// The float value in the type that it is computed in. Throws Error{DType} for other values.
Value to_compute_type(Value x);

/// As composite, in the compute type of x; the result is rounded to the dtype of x.
template <class Body>
Value float_composite(std::string_view name, const Operand &x, Body body) {
  return composite(name, x, [&](Value v) { return cast(body(to_compute_type(v)), v.dtype()); });
}

/// Integer type that holds the positions on an axis and those that the integers name.
DType position_type(DType integers);
/// The integers in that type; those that it does not hold are none of its positions.
Value as_positions(Value integers);

/// Number of elements that a reduction over the axes folds, as an operand of float arithmetic.
Operand element_count(Value x, const std::vector<int> &axes);

}  // namespace fuse
