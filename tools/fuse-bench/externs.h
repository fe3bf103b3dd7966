// Extern operations of a row, which nobody runs: in place of their results stand numbers that are
// the same for the evaluator and for a launch, so that all that reads them can be judged.
#pragma once

#include "instance.h"
#include "ir/evaluate.h"

#include <cstddef>
#include <vector>

namespace fuse::bench {

/// For the evaluator: results of the extern operations of the graph, which must outlive the
/// function.
ExternFn stand_ins(const GraphData &graph);

/// Launches; the results of extern operations get the same numbers. Returns the kernels in the
/// order of their launches, by position in the program.
std::vector<std::size_t> run_with_stand_ins(const Instance &instance);

}  // namespace fuse::bench
