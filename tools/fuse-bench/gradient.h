// A row's forward and backward as two programs, for several plans of what is saved between them.
#pragma once

#include "measure.h"

#include <fuse/partition.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fuse::bench {

struct PlanResult {
  PartitionPlan plan;
  Verdict verdict;           // of all that both programs give
  Result forward, backward;  // without verdicts of their own

  std::int64_t ideal_bytes() const { return forward.bytes + backward.bytes; }
  double us() const { return forward.us + backward.us; }
  double predicted_us() const { return forward.predicted_us + backward.predicted_us; }
};

struct GradientResult {
  Row row;
  std::string error;  // why there is nothing below

  std::vector<PlanResult> plans;  // the chosen one first
  double tensor_bytes = 0;        // of the largest value that a kernel reads or writes

  const PlanResult &chosen() const { return plans.front(); }
  bool passed() const;
  /// The faster of the plans that store all and that compute all again; the chosen one may be it.
  const PlanResult &best_extreme() const;
  /// By what part the chosen plan takes longer than that; 0 without times.
  double behind() const;
};

/// Divides and compiles all rows, several at a time, and returns what measures one of them, once.
/// Without a timer that checks the small instance on the host. Neither throws Error.
std::function<GradientResult(std::size_t)> start_gradients(const std::vector<Row> &rows,
                                                           const GpuTimer *timer,
                                                           const Options &options);

}  // namespace fuse::bench
