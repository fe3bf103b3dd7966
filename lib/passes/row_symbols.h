// Which symbols number rows: what batch_invariant decisions must not see.
#pragma once

#include "ir/graph_data.h"

#include <set>
#include <string>

namespace fuse {

/// Symbols that number rows: they are in extents of axes outside those that some reduction folds.
/// One that is the length of rows as well, as in the scores of an attention, is none of them.
std::set<std::string> row_symbols(const GraphData &graph);

/// The sizes of all other symbols.
Bindings sizes_without_rows(const GraphData &graph, const Bindings &sizes);

}  // namespace fuse
