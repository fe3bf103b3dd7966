// The public function: the joint graph divided, and what the alternatives cost.
#include <fuse/partition.h>

#include "ir/plan.h"
#include "partition/search.h"

#include <algorithm>
#include <cmath>
#include <string_view>

FUSE_BEGIN_NAMESPACE

namespace {

constexpr double kMicro = 1e6;
constexpr std::size_t kMostFrontier = 12;  // that are told of

/// "s1": without the number that an unnamed value has in the canonical graph, as in its saved name.
std::string label(const Joint &j, NodeId id) {
  Division one;
  one.saved = {id};
  return saved_names(j, one)[0];
}

ProgramPrice price_of(const Joint &j, const PlannedPart &part, double elements) {
  ProgramPrice price;
  price.predicted_us = kMicro * part.seconds;
  const PlannedKernel *longest = nullptr;
  for (const PlannedKernel &k : part.plan.kernels) {
    price.hbm_bytes += k.bytes;
    if (!longest || k.seconds > longest->seconds) longest = &k;
    if (price.pipes.empty())
      price.pipes = k.pipes;
    else
      for (std::size_t i = 0; i < k.pipes.size(); ++i) price.pipes[i].us += k.pipes[i].us;
  }
  if (longest) price.bound = longest->bound;
  price.passes = count_passes(j, part, elements);
  return price;
}

class Telling {
 public:
  Telling(const Joint &joint, Pricer &pricer, Search &search)
      : j_(joint), pricer_(pricer), search_(search), chosen_(search.find()) {
    NodeId largest = largest_access(j_, search_.store_all().forward);
    if (largest == kNoNode) return;
    elements_ = j_.elements[largest];
    tensor_bytes_ = j_.bytes[largest];
  }

  double tensor_bytes() const { return tensor_bytes_; }

  PartitionPlan plan_of(const PricedDivision &priced) const {
    PartitionPlan plan;
    plan.name = name_of(priced);
    plan.saved = saved_names(j_, priced.division);
    for (NodeId id : priced.division.inputs)
      plan.inputs.push_back(j_.graph.attr<InputAttr>(id).name);
    plan.forward = price_of(j_, priced.forward, elements_);
    plan.backward = price_of(j_, priced.backward, elements_);
    plan.predicted_us = kMicro * priced.seconds;
    plan.kept_bytes = std::llround(priced.kept_bytes);
    return plan;
  }

  std::vector<PartitionPlan> frontier() const;
  std::vector<PartitionPlan> plans() const;
  std::vector<SavedChoice> values();

 private:
  std::string name_of(const PricedDivision &priced) const;
  std::vector<const PricedDivision *> best_by_memory() const;
  SavedChoice choice_of(NodeId id);

  const Joint &j_;
  Pricer &pricer_;
  Search &search_;
  const PricedDivision &chosen_;
  double elements_ = 0, tensor_bytes_ = 0;
};

std::string Telling::name_of(const PricedDivision &priced) const {
  if (&priced == &search_.recompute_all()) return "recompute";
  if (&priced == &search_.store_all()) return "store all";
  if (&priced == &search_.outputs_again()) return "outputs again";
  if (&priced == &search_.least_memory()) return "least memory";
  std::size_t count = priced.division.saved.size();
  return "save " + (count == 1 ? label(j_, priced.division.saved[0]) : std::to_string(count));
}

/// Those that no other beats in both, from least memory to most; what gains next to nothing is left
/// out.
std::vector<const PricedDivision *> Telling::best_by_memory() const {
  std::vector<const PricedDivision *> sorted, best;
  for (const auto &[saved, priced] : pricer_.all()) sorted.push_back(&priced);
  std::sort(sorted.begin(), sorted.end(), [](const auto *a, const auto *b) {
    if (a->kept_bytes != b->kept_bytes) return a->kept_bytes < b->kept_bytes;
    return a->seconds < b->seconds;
  });
  for (const PricedDivision *p : sorted)
    if (best.empty() || p->seconds < best.back()->seconds * (1 - kEqualTime)) best.push_back(p);
  return best;
}

std::vector<PartitionPlan> Telling::frontier() const {
  std::vector<PartitionPlan> plans;
  for (const PricedDivision *p : best_by_memory()) plans.push_back(plan_of(*p));
  return plans;
}

/// The extremes, the chosen one, and between them some of the frontier.
std::vector<PartitionPlan> Telling::plans() const {
  std::vector<const PricedDivision *> told = best_by_memory();
  while (told.size() > kMostFrontier) {
    std::vector<const PricedDivision *> half;
    for (std::size_t i = 0; i < told.size(); i += 2) half.push_back(told[i]);
    told = std::move(half);
  }
  for (const PricedDivision *p : {&search_.store_all(), &search_.outputs_again(),
                                  &search_.least_memory(), &search_.recompute_all(), &chosen_})
    if (std::find(told.begin(), told.end(), p) == told.end()) told.push_back(p);
  std::stable_sort(told.begin(), told.end(), [&](const auto *a, const auto *b) {
    if (a->division.saved.size() != b->division.saved.size())
      return a->division.saved.size() > b->division.saved.size();
    return a->kept_bytes > b->kept_bytes;
  });
  std::vector<PartitionPlan> plans;
  for (const PricedDivision *p : told) plans.push_back(plan_of(*p));
  return plans;
}

SavedChoice Telling::choice_of(NodeId id) {
  SavedChoice choice;
  choice.value = label(j_, id);
  choice.bytes = std::llround(j_.bytes[id]);
  choice.saved = chosen_.save[id];
  choice.read_us = kMicro * pricer_.pass_seconds(id);
  choice.write_us = search_.is_written(id) ? 0 : choice.read_us;
  if (j_.kept[id])
    choice.why = "marked to be kept";
  else if (!j_.may_save[id])
    choice.why = "marked to be computed again";
  else if (!j_.may_repeat[id])
    choice.why = "an extern operation gives it";
  if (!choice.why.empty()) return choice;
  std::vector<bool> other = chosen_.save;
  other[id] = !other[id];
  const PricedDivision &flipped = pricer_.price(other);
  choice.gain_us = kMicro * (flipped.seconds - chosen_.seconds);
  ProgramPrice saved = price_of(j_, (choice.saved ? chosen_ : flipped).backward, 0);
  ProgramPrice again = price_of(j_, (choice.saved ? flipped : chosen_).backward, 0);
  for (std::size_t i = 0; i < again.pipes.size() && i < saved.pipes.size(); ++i) {
    double more = again.pipes[i].us - saved.pipes[i].us;
    if (again.pipes[i].pipe == "hbm" || more <= 0) continue;
    choice.recompute.push_back({again.pipes[i].pipe, more});
    choice.backward.push_back(again.pipes[i]);
  }
  return choice;
}

std::vector<SavedChoice> Telling::values() {
  std::vector<SavedChoice> choices;
  for (NodeId id : search_.weighty_values())
    if (j_.elements[id] > 1 || chosen_.save[id]) choices.push_back(choice_of(id));
  return choices;
}

}  // namespace

Partition partition(const Graph &joint, const PartitionOptions &options) {
  Graph canonical = canonicalize(joint, options.strict);
  Joint j = read_joint(canonical, options);
  Pricer pricer(j, options);
  Search search(j, pricer, options.budget_bytes);
  if (options.save) search.take(*options.save);
  const PricedDivision &chosen = search.find();
  Telling telling(j, pricer, search);
  std::vector<SavedChoice> values = telling.values();
  Partition result{forward_part(j, chosen.division).graph,
                   backward_part(j, chosen.division).graph,
                   saved_names(j, chosen.division),
                   telling.plan_of(chosen),
                   telling.plans(),
                   telling.frontier(),
                   std::move(values),
                   options.target,
                   telling.tensor_bytes()};
  return result;
}

FUSE_END_NAMESPACE
