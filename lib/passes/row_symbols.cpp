// Symbols of the axes of reductions.
#include "passes/row_symbols.h"

#include "ir/op.h"

#include <algorithm>

namespace fuse {

namespace {

using Symbols = std::set<std::string>;

void add_symbols(const Dim &extent, Symbols &symbols) {
  for (const Dim::Term &term : extent.terms())
    symbols.insert(term.symbols.begin(), term.symbols.end());
}

/// The axes of a reduction: rows are numbered by those outside the folded ones, and have the length
/// of these where nothing is inside them.
struct FoldedAxes {
  Symbols outside, folded;
  bool has_rows = false;
  bool is_innermost = true;
};

FoldedAxes axes_of(const GraphData &g, NodeId id) {
  const std::vector<int> &axes = g.attr<AxesAttr>(id).axes;
  const Shape &shape = g.shape(g.operand(id, 0));
  FoldedAxes result;
  bool inside = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    bool folds = std::find(axes.begin(), axes.end(), static_cast<int>(i)) != axes.end();
    inside |= folds;
    if (folds) add_symbols(shape[i], result.folded);
    if (!inside) add_symbols(shape[i], result.outside);
    if (!folds && inside && shape[i] != Dim(1)) result.is_innermost = false;
    result.has_rows |= !folds && shape[i] != Dim(1);
  }
  return result;
}

}  // namespace

std::set<std::string> row_symbols(const GraphData &graph) {
  Symbols rows, lengths;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (info(graph.node(id).op).kind != OpKind::Reduce) continue;
    FoldedAxes axes = axes_of(graph, id);
    rows.insert(axes.outside.begin(), axes.outside.end());
    if (axes.is_innermost && axes.has_rows) lengths.insert(axes.folded.begin(), axes.folded.end());
  }
  for (const std::string &name : lengths) rows.erase(name);
  return rows;
}

Bindings sizes_without_rows(const GraphData &graph, const Bindings &sizes) {
  Bindings rest = sizes;
  for (const std::string &name : row_symbols(graph)) rest.erase(name);
  return rest;
}

}  // namespace fuse
