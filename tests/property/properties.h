// What must hold of every graph. Each gives "" or what is wrong; an Error that is thrown on the way
// is wrong too. Tests try them on seeds, fuzz targets on bytes.
#pragma once

#include "property/shrink.h"

namespace fuse {

/// A number of the environment: how many graphs a test tries, and the first seed.
std::uint64_t setting(const char *name, std::uint64_t otherwise);

/// Every graph pass keeps the meaning, and simplify finds nothing in its own result.
std::string passes_keep_meaning(const RandomGraph &random);

/// Texts of the graph and of its kernels read back equal; plan and kernels verify.
std::string texts_read_back(const RandomGraph &random);

/// The digits of every layout span its dims, and the head of an aligned axis, at all sizes that the
/// program's limits allow.
std::string layouts_span_dims(const RandomGraph &random);

/// No kernel has more statements than the planner counted; the slots of none have more than the
/// limit, unless it is one operation.
std::string statements_are_planned(const RandomGraph &random);

/// Interpreter and host executor compute what the evaluator accepts, with the same bits where no
/// inexact function is involved, in any order of threads.
std::string kernels_compute(const RandomGraph &random);
std::string kernels_compute_strictly(const RandomGraph &random);

/// Executable::launch on strided and misaligned memory, as the evaluator wants it.
std::string launches_compute(const RandomGraph &random);

}  // namespace fuse
