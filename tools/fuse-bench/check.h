// Judging the outputs of a row.
#pragma once

#include "ir/evaluate.h"

#include <fuse/graph.h>

#include <optional>
#include <string>
#include <vector>

namespace fuse::bench {

/// How far floats are from what exact arithmetic gives.
struct Accuracy {
  double ulps = 0;      // the largest error, in distances of neighbours of the dtype
  double relative = 0;  // the root of the sums of squares, of errors and of values
};

/// What was compared with what, and the first thing that was wrong.
struct Verdict {
  bool passed = true;
  std::string what;                  // "all of it against 8 evaluated rows"
  std::string wrong;                 // empty if passed
  std::optional<Accuracy> accuracy;  // the worst of the outputs; none without floats

  void fail(std::string text) {
    if (passed) wrong = std::move(text);
    passed = false;
  }
};

/// Compares every element with the evaluator.
void check_against(const std::vector<Expected> &expected, const std::vector<Tensor> &actual,
                   Verdict &verdict);

/// The outputs consist of repetitions of the first part, which has the shape that is expected.
void check_repeats(const std::vector<Expected> &expected, const std::vector<Tensor> &actual,
                   Verdict &verdict);

/// No element still holds ones in every bit, as it did before the launch.
void check_written(const std::vector<Tensor> &actual, Verdict &verdict);

/// What a graph should give for the inputs.
/// Extern operations get stand-ins.
std::vector<Expected> expected_outputs(const Graph &graph, const std::vector<Tensor> &inputs);

}  // namespace fuse::bench
