// Labels to values: as plans print them.
#include "passes/plan_overrides.h"

#include "ir/format.h"
#include "ir/suggest.h"

#include <algorithm>

namespace fuse {

namespace {

/// "%u, %v, ..": a line holds some.
std::string listed(const std::vector<std::string_view> &names) {
  constexpr std::size_t kShown = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
    append(text, "{}%{}", i ? ", " : "", names[i]);
  return text + (names.size() > kShown ? ", .." : "");
}

class Labels {
 public:
  Labels(const GraphData &graph, const PlanGraph &values) : g_(graph), p_(values) {
    for (NodeId id = 0; id < g_.size(); ++id) labels_.push_back(value_label(g_, id));
  }

  /// A value that a kernel computes.
  PlanId computed(const std::string &label) const {
    NodeId id = node(label);
    PlanId v = p_.value_of[id];
    if (v == kNoPlan || !p_.is_computed(v))
      fail(ErrorCode::InvalidArgument, "no kernel computes %{}: it is {}", label,
           v == kNoPlan ? "a view, a constant, random bits or not used"
                        : "an input or an extern result");
    return v;
  }

 private:
  NodeId node(const std::string &label) const {
    for (NodeId id = 0; id < g_.size(); ++id)
      if (labels_[id] == label) return id;
    for (const Output &o : g_.outputs)
      if (o.name == label) return memory_root(g_, o.node);
    std::vector<std::string_view> known = names();
    fail(ErrorCode::InvalidArgument,
         "the canonical graph has no value %{}{}; labels are those that plans show: {}", label,
         suggest(label, known, "%"), listed(known));
  }

  /// Of what can be named: values of kernels, and outputs.
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> known;
    for (NodeId id = 0; id < g_.size(); ++id)
      if (p_.value_of[id] != kNoPlan && p_.is_computed(p_.value_of[id]))
        known.push_back(labels_[id]);
    for (const Output &o : g_.outputs)
      if (std::find(known.begin(), known.end(), o.name) == known.end()) known.push_back(o.name);
    return known;
  }

  const GraphData &g_;
  const PlanGraph &p_;
  std::vector<std::string> labels_;  // by node
};

void ask_to_recompute(PlanValue &value, const std::string &label) {
  if (value.kind == ValueKind::Reduction)
    fail(ErrorCode::InvalidArgument, "%{} is a reduction, which is not computed twice", label);
  if (value.kind == ValueKind::Scan)
    fail(ErrorCode::InvalidArgument, "%{} is a scan, which is not computed twice", label);
  if (value.must_store)
    fail(ErrorCode::InvalidArgument, "%{} lies in memory anyway, where its readers find it", label);
  value.recompute = true;
}

}  // namespace

void apply_overrides(const GraphData &graph, const PlanOverrides &overrides, PlanGraph &values) {
  if (overrides.keep.empty() && overrides.recompute.empty() && overrides.no_fuse.empty()) return;
  Labels labels(graph, values);
  for (const std::string &label : overrides.keep)
    values.values[labels.computed(label)].must_store = true;
  for (const std::string &label : overrides.recompute)
    ask_to_recompute(values.values[labels.computed(label)], label);
  for (const std::vector<std::string> &set : overrides.no_fuse) {
    std::vector<PlanId> apart;
    for (const std::string &label : set) apart.push_back(labels.computed(label));
    values.apart.push_back(std::move(apart));
  }
}

}  // namespace fuse
