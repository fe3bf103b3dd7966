// Small programs made by hand.
#pragma once

#include "runtime/executable_impl.h"

/// y = x * s over f32[B], s a scalar; one kernel "scale". Alignment and strides follow the class.
fuse::Interface scale_interface();
fuse::Program scale_program(const fuse::LowerOptions &options);

/// y = x + 1 in two kernels, "first" and "second", through a workspace f32[B]; "first" also has a
/// counter.
fuse::Interface staged_interface();
fuse::Program staged_program(const fuse::LowerOptions &options);

/// y = extern "twice"(x) over f32[B]; no kernel.
fuse::Program extern_program(const fuse::LowerOptions &options);

/// Softmax of the rows of bf16[B, C], neither of which may be 0.
const fuse::Graph &softmax();

std::vector<std::string> reasons(const std::vector<fuse::Compilation> &compilations);
