// Graphs and looks at partitions that tests share.
#pragma once

#include "ir/graph_data.h"

#include <fuse/jit.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace fuse {

/// The graph of y = build(g) with the cotangents of these inputs, given d_y.
inline Graph joint_of(const std::function<Value(Graph &)> &build,
                      const std::vector<std::string> &inputs) {
  Graph g("g");
  Value y = build(g);
  g.output("y", y);
  return vjp(g, inputs, {"y"});
}

/// Three sigmoids of [16384, 11008].
inline Graph sigmoid3(DType type) {
  auto build = [&](Graph &g) {
    Value x = g.input("x", type, {16384, 11008});
    Value s1 = sigmoid(x).named("s1"), s2 = sigmoid(s1).named("s2");
    return sigmoid(s2).named("s3");
  };
  return joint_of(build, {"x"});
}

inline Partition partition_for(const Graph &joint, const char *target) {
  PartitionOptions options;
  options.target = Target::named(target);
  return partition(joint, options);
}

inline const PartitionPlan *plan_named(const Partition &p, std::string_view name) {
  for (const PartitionPlan &plan : p.plans)
    if (plan.name == name) return &plan;
  return nullptr;
}

inline int passes_of(const PartitionPlan *plan) {
  return plan ? plan->forward.passes + plan->backward.passes : -1;
}

inline const SavedChoice *choice_of(const Partition &p, std::string_view value) {
  for (const SavedChoice &choice : p.values)
    if (choice.value == value) return &choice;
  return nullptr;
}

inline bool saves(const Partition &p, std::string_view name) {
  return std::find(p.saved.begin(), p.saved.end(), name) != p.saved.end();
}

/// Elements of the largest value that forward computes and saves, by the sizes given.
inline std::int64_t largest_saved(const Partition &p, const Bindings &sizes = {}) {
  const GraphData &g = p.backward.data();
  std::int64_t largest = 0;
  for (NodeId id : g.inputs)
    if (saves(p, g.attr<InputAttr>(id).name))
      largest = std::max(largest, num_elements(g.shape(id)).evaluate(sizes));
  return largest;
}

/// a @ b, whose derivatives are two more products.
inline Value product(Value a, Value b, Graph &g) {
  DType type = a.dtype();
  Shape shape = {a.shape()[0], b.shape()[1]};
  Graph rule("mm_backward");
  Value dy = rule.input("dy", type, shape), left = rule.input("a", type, a.shape());
  Value right = rule.input("b", type, b.shape());
  std::vector<Value> d =
      rule.extern_op("mm_backward", {dy, left, right}, {{type, a.shape()}, {type, b.shape()}});
  rule.output("da", d[0]);
  rule.output("db", d[1]);
  return custom_gradient(g.extern_op("mm", {a, b}, {{type, shape}})[0], {a, b}, rule);
}

}  // namespace fuse
