// What was decided and what it costs: plain data, for people and for tests.
#pragma once

#include <fuse/config.h>

#include <fuse/shape.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

FUSE_BEGIN_NAMESPACE

/// One decision with its price; shown by explain().
struct Decision {
  std::string about;        ///< "boundary k0/k1", "store %12"
  std::string chosen;       ///< "one kernel", "stored", "recomputed"
  std::string why;          ///< in words
  double gain_seconds = 0;  ///< what the rejected option would cost more; 0 where there was none
  std::string rejected;     ///< the best other option: "two kernels"; empty where none was legal
};

/// Decisions taken out of the planner's hands, to try what others cost. Values go by the labels
/// that plans and explain() show, without the '%': a name, or a number in the canonical graph; an
/// output's name stands for its value. Compilation throws InvalidArgument for a label of no value
/// and for what is not possible.
struct PlanOverrides {
  std::vector<std::string> keep;       ///< stored in memory
  std::vector<std::string> recompute;  ///< computed by every kernel that reads them
  std::vector<std::vector<std::string>>
      no_fuse;  ///< one kernel computes one value of a set at most
};

/// A way to run a whole graph, as the cost model sees it.
struct PlanTotals {
  std::size_t kernels = 0;
  double bytes = 0;  ///< of device memory, read and written
  double predicted_us = 0;
  /// Read and written by kernels, also what the L2 cache keeps from one to the next.
  double moved_bytes = 0;
};

/// The graph as it was planned, and with one kernel for each operation. Figures are for the sizes
/// that the plan was made for: CompileOptions::expected_sizes, 4,096 for symbols not named there.
struct PlanOverview {
  PlanTotals unfused, fused;
  Bindings sizes;
};

/// Time that a kernel would take if one pipe of the machine were all there is.
struct PipeTime {
  std::string pipe;  ///< "hbm", "mufu", "fma", ...
  double us = 0;
};

/// One kernel of a compiled graph.
struct KernelReport {
  std::string name;
  double predicted_us = 0;  ///< for the sizes of the PlanOverview
  std::string bound;        ///< the pipe that binds: "hbm", "mufu", "fma", ...
  std::vector<PipeTime> pipes;
  double hbm_bytes = 0;    ///< of device memory, predicted like the time
  std::int64_t bytes = 0;  ///< of the buffers it reads and writes, each counted once
  std::uint64_t grid = 0;  ///< blocks
  int threads = 0;         ///< per block
  int registers = -1;      ///< per thread; -1: not loaded on a device
  int spills = -1;         ///< bytes of local memory per thread; -1: not loaded on a device
  int blocks_per_sm = -1;  ///< resident; -1: not loaded on a device
  /// Resident warps of those that an SM holds, 0 to 1, mean over the SMs; -1: not loaded on a
  /// device
  double occupancy = -1;
  std::string text;  ///< the kernel in its text format
  std::string llvm;  ///< after optimisation
  std::string ptx;
};

/// One compilation and what made it necessary.
struct Compilation {
  std::string reason;  ///< "first compilation", "x is strided", ...
  int kernels = 0;
  double milliseconds = 0;
};

FUSE_END_NAMESPACE
