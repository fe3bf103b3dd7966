// Graphs as one-line expressions, so that a test of a rule reads like the rule.
#pragma once

#include "passes/passes.h"

#include <functional>
#include <string>

namespace fuse {

/// The outputs, joined by "; ": "add(x, 2)", "cast:bf16(x)", "sum{1}(x)", "reshape[6](x)".
std::string expression(const Graph &graph);

/// Builds a graph with f32 tensors x and y of shape [4, 6] by default, and the given output.
using Build = std::function<Value(Graph &graph, Value x, Value y)>;
Graph graph_of(const Build &build, DType type = f32, const Shape &shape = {4, 6});

/// expression(simplify(graph_of(..))); checks that simplify is idempotent and the result verifies.
std::string simplified(const Build &build, DType type = f32, const Shape &shape = {4, 6});

}  // namespace fuse
