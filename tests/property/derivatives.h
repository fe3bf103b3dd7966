// Gradients judged by two evaluations that know no rule: differences of the whole graph along a
// direction, and differences of one node after another, which carry the direction forward.
#pragma once

#include "ir/evaluate.h"
#include "property/random_graph.h"

#include <string>

namespace fuse {

struct DerivativeReport {
  bool judged = false;  // false: a kink, a step or a value beyond bounds is in the way
  double gradient = 0;  // the cotangents of the inputs times the direction
  double by_nodes = 0;  // the cotangents of the outputs times what the direction came to
  double by_graph = 0;
  double scale = 0;  // what the products add up to without their signs
  bool has_by_graph = false;

  bool passed() const;
};
std::string to_string(const DerivativeReport &report);

/// The graph with the cotangents of its float inputs as further outputs, and random ones of its
/// float outputs as further inputs. The same graph where it has no such.
RandomGraph with_gradients(RandomGraph random, Entropy &entropy);

/// Draws cotangents for the float outputs and directions for the float inputs, all of f64.
DerivativeReport judge_gradient(const Graph &graph, const std::vector<Tensor> &inputs,
                                const Bindings &symbols, Entropy &entropy);

}  // namespace fuse
