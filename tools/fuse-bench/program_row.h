// Rows for files named on the command line.
#pragma once

#include "suite.h"

namespace fuse::bench {

/// "softmax R=4096 C=4096": a graph or a kernel with sizes for all of its symbols. Graphs of few
/// elements are checked whole. Throws Error for a file that cannot be read or is no program, and
/// UsageError for symbols without sizes and sizes without symbols.
Row row_of_file(const std::string &path, const Bindings &sizes);

}  // namespace fuse::bench
