// Labels to values: as plans print them.
#include "passes/plan_overrides.h"

#include "ir/format.h"
#include "ir/suggest.h"

namespace fuse {

namespace {

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
           v == kNoPlan ? "a view, a constant or not used" : "an input or an extern result");
    return v;
  }

 private:
  NodeId node(const std::string &label) const {
    for (NodeId id = 0; id < g_.size(); ++id)
      if (labels_[id] == label) return id;
    std::vector<std::string_view> known(labels_.begin(), labels_.end());
    fail(ErrorCode::InvalidArgument,
         "the canonical graph has no value %{}{}; labels are those that plans show", label,
         suggest(label, known));
  }

  const GraphData &g_;
  const PlanGraph &p_;
  std::vector<std::string> labels_;  // by node
};

void ask_to_recompute(PlanValue &value, const std::string &label) {
  if (value.kind == ValueKind::Reduction)
    fail(ErrorCode::InvalidArgument, "%{} is a reduction, which is not computed twice", label);
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
