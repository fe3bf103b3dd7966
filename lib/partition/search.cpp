// Which values to save: minimum cuts propose, plans decide.
//
// Prices of single values do not add up: instructions are free until a pipe of the kernel is full.
// So cuts are made for prices within the kernels of the best plan so far, again and again, and for
// instructions at several shares of their price; then values are moved, one or two at a time.
#include "partition/search.h"

#include "ir/format.h"
#include "ir/op.h"
#include "ir/suggest.h"
#include "partition/bottlenecks.h"

#include <algorithm>

namespace fuse {

namespace {

// Plans are made as long as this many nodes are planned together, but at least kFewPlans.
constexpr std::size_t kPlannedNodes = 40000, kFewPlans = 24, kManyPlans = 300;
constexpr int kMostRepricings = 8, kMostSettlings = 4;
// Values that are told of: a plan is made for each, of graphs of this many nodes together.
constexpr std::size_t kMostWeighty = 24, kFewWeighty = 4, kWeightyNodes = 6000;
constexpr std::size_t kMostExhaustive = 14;
constexpr std::size_t kMostPaired = 20;  // candidates, where two are moved at a time

// Shares of the price of instructions, and prices of memory as passes of its bytes.
constexpr double kShares[] = {0, 0.25, 0.5, 1, 2};
constexpr double kMemoryPrices[] = {0, 0.25, 0.5, 1, 2, 4, 8, 32, 1000};
// Checkpoints at every so many places where the graph is narrow.
constexpr std::size_t kStrides[] = {1, 2, 3, 4, 6, 8};

/// What derivatives need, by node.
std::vector<bool> needed_by_derivatives(const Joint &j) {
  std::vector<bool> needed(j.graph.size());
  for (const Output &o : j.derivatives) needed[o.node] = true;
  for (NodeId id = static_cast<NodeId>(j.graph.size()); id-- > 0;) {
    if (j.backward[id] && j.graph.node(id).op == Op::Extern) needed[id] = true;
    if (needed[id])
      for (NodeId operand : j.graph.operands(id)) needed[operand] = true;
  }
  return needed;
}

/// What forward writes whatever is saved: outputs, and operands and results of extern operations.
std::vector<bool> written_by_forward(const Joint &j) {
  std::vector<bool> written(j.graph.size());
  for (const Output &o : j.outputs) written[o.node] = true;
  for (NodeId id = 0; id < j.graph.size(); ++id) {
    if (j.backward[id]) continue;
    if (j.kept[id] && j.forward[id]) written[id] = true;
    if (!is_extern(j.graph.node(id).op)) continue;
    written[id] = true;
    for (NodeId operand : j.graph.operands(id)) written[operand] = true;
  }
  return written;
}

}  // namespace

Search::Search(const Joint &joint, Pricer &pricer, std::optional<std::int64_t> budget)
    : joint_(joint),
      pricer_(pricer),
      budget_(budget),
      most_plans_(std::clamp(kPlannedNodes / std::max<std::size_t>(1, joint.graph.size()),
                             kFewPlans, kManyPlans)),
      position_(joint.graph.size()),
      in_memory_(written_by_forward(joint)) {
  std::vector<bool> needed = needed_by_derivatives(joint);
  for (NodeId id = 0; id < joint.graph.size(); ++id) {
    if (!needed[id] || joint.backward[id]) continue;
    position_[id] = nodes_.size();
    nodes_.push_back(id);
    if (joint.may_save[id]) candidates_.push_back(id);
  }
}

CutProblem Search::empty_problem() const {
  const GraphData &g = joint_.graph;
  CutProblem problem;
  problem.needed.resize(nodes_.size());
  for (NodeId id : nodes_) {
    std::vector<std::size_t> operands;
    for (NodeId o : g.operands(id)) operands.push_back(position_[o]);
    problem.operands.push_back(std::move(operands));
  }
  auto need = [&](NodeId id) {
    if (!joint_.backward[id]) problem.needed[position_[id]] = true;
  };
  std::vector<bool> needed = needed_by_derivatives(joint_);
  for (NodeId id = 0; id < g.size(); ++id)
    if (joint_.backward[id] && needed[id])
      for (NodeId operand : g.operands(id)) need(operand);
  for (const Output &o : joint_.derivatives) need(o.node);
  return problem;
}

std::vector<bool> Search::cut(const std::vector<CutPrice> &prices) const {
  CutProblem problem = empty_problem();
  problem.prices = prices;
  std::vector<bool> cut = min_cut(problem), save(joint_.graph.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    save[nodes_[i]] = cut[i] && joint_.may_save[nodes_[i]];
  return save;
}

/// Values of forward in the dtypes that the graph gives them: not those of which it uses the
/// rounding.
std::vector<bool> Search::values_of_forward() const {
  const GraphData &g = joint_.graph;
  std::vector<bool> save(g.size());
  for (NodeId id : candidates_) save[id] = joint_.forward[id];
  for (NodeId id = 0; id < g.size(); ++id)
    if (g.node(id).op == Op::Cast && joint_.forward[id] && is_float16(g.dtype(id)))
      save[g.operand(id, 0)] = false;
  return save;
}

const PricedDivision &Search::store_all() { return pricer_.price(values_of_forward()); }

const PricedDivision &Search::outputs_again() {
  std::vector<bool> save = values_of_forward();
  for (const Output &o : joint_.outputs) save[o.node] = false;
  return pricer_.price(save);
}

const PricedDivision &Search::least_memory() { return pricer_.price(cut(memory_prices())); }

const PricedDivision &Search::recompute_all() {
  return pricer_.price(std::vector<bool>(joint_.graph.size()));
}

bool Search::is_better(const PricedDivision &a, const PricedDivision &b) const {
  constexpr double kEqual = 1e-9;
  auto fits = [&](const PricedDivision &p) {
    return !budget_ || p.kept_bytes <= static_cast<double>(*budget_);
  };
  if (fits(a) != fits(b)) return fits(a);
  if (a.seconds < b.seconds * (1 - kEqual)) return true;
  return a.seconds <= b.seconds * (1 + kEqual) && a.kept_bytes < b.kept_bytes;
}

void Search::consider(const std::vector<bool> &save) {
  const PricedDivision &priced = pricer_.price(save);
  if (!best_ || is_better(priced, *best_)) best_ = &priced;
}

void Search::propose() {
  for (const PricedDivision *known :
       {&store_all(), &outputs_again(), &least_memory(), &recompute_all()})
    consider(known->save);
  for (double share : kShares) consider(cut(additive_prices(share, 0)));
  for (const PricedDivision *start : {&least_memory(), best_}) {
    save_what_backward_stores(start);
    reprice(start);
  }
  propose_checkpoints();
  for (double memory : kMemoryPrices)
    if (may_continue()) consider(cut(additive_prices(1, memory)));
}

/// Saves what backward would compute again and write for its own kernels.
void Search::save_what_backward_stores(const PricedDivision *priced) {
  for (int i = 0; i < kMostRepricings && may_continue(); ++i) {
    std::vector<bool> save = priced->save;
    for (const PlannedKernel &k : priced->backward.plan.kernels)
      for (NodeId stored : k.stores)
        if (NodeId id = priced->backward.joint_node[stored]; joint_.may_save[id]) save[id] = true;
    const PricedDivision *next = &pricer_.price(save);
    if (next == priced) return;
    consider(next->save);
    priced = next;
  }
}

void Search::propose_checkpoints() {
  std::vector<std::vector<NodeId>> places = bottlenecks(joint_);
  for (std::size_t stride : kStrides) {
    if (stride > places.size() || !may_continue()) return;
    std::vector<bool> save(joint_.graph.size());
    for (std::size_t i = stride - 1; i < places.size(); i += stride)
      for (NodeId id : places[i]) save[id] = true;
    const PricedDivision &priced = pricer_.price(save);
    consider(priced.save);
    save_what_backward_stores(&priced);
  }
}

/// Cuts for prices within the kernels of the last cut, until one comes again.
void Search::reprice(const PricedDivision *last) {
  for (int i = 0; i < kMostRepricings && may_continue(); ++i) {
    std::size_t known = pricer_.all().size();
    const PricedDivision &next = pricer_.price(cut(prices_within(*last)));
    consider(next.save);
    if (pricer_.all().size() == known) return;
    last = &next;
  }
}

/// Saves a value or does not, or saves what it is computed from in its place.
bool Search::improve_at(NodeId id) {
  const PricedDivision *before = best_;
  std::vector<bool> save = before->save;
  save[id] = !save[id];
  consider(save);
  if (save[id]) return best_ != before;
  for (NodeId operand : joint_.graph.operands(id))
    if (joint_.may_save[operand]) save[operand] = true;
  consider(save);
  return best_ != before;
}

bool Search::improve_one(const std::vector<NodeId> &order) {
  bool improved = false;
  for (NodeId id : order)
    if (may_continue() && improve_at(id)) improved = true;
  return improved;
}

/// Two values that only together make a difference: one pays for the other.
bool Search::improve_two(const std::vector<NodeId> &order) {
  if (order.size() > kMostPaired) return false;
  const PricedDivision *before = best_;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t k = i + 1; k < order.size() && may_continue(); ++k) {
      std::vector<bool> save = before->save;
      save[order[i]] = !save[order[i]];
      save[order[k]] = !save[order[k]];
      consider(save);
      if (best_ != before) return true;
    }
  return false;
}

void Search::improve() {
  std::vector<NodeId> order = candidates_;
  std::stable_sort(order.begin(), order.end(),
                   [&](NodeId a, NodeId b) { return joint_.bytes[a] > joint_.bytes[b]; });
  while (improve_one(order) || improve_two(order)) {
  }
}

std::vector<NodeId> Search::weighty_values() {
  std::vector<NodeId> values = store_all().division.saved;
  const std::vector<NodeId> &saved = best_->division.saved;
  values.insert(values.end(), saved.begin(), saved.end());
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::stable_sort(values.begin(), values.end(),
                   [&](NodeId a, NodeId b) { return joint_.bytes[a] > joint_.bytes[b]; });
  std::size_t most = std::clamp(kWeightyNodes / joint_.graph.size(), kFewWeighty, kMostWeighty);
  if (values.size() > most) values.resize(most);
  std::sort(values.begin(), values.end());
  return values;
}

/// No value that is told of would better be treated the other way, however large the graph.
void Search::settle() {
  for (int i = 0; i < kMostSettlings; ++i) {
    const PricedDivision *before = best_;
    for (NodeId id : weighty_values())
      if (joint_.may_save[id] && joint_.may_repeat[id]) improve_at(id);
    if (best_ == before) return;
  }
}

/// Leaves out what is saved for next to nothing.
void Search::shed() {
  const double limit = best_->seconds * (1 + kEqualTime);
  for (NodeId id : candidates_) {
    std::vector<bool> save = best_->save;
    if (!save[id] || !joint_.may_repeat[id] || !may_continue()) continue;
    save[id] = false;
    const PricedDivision &without = pricer_.price(save);
    if (without.seconds <= limit && without.kept_bytes < best_->kept_bytes) best_ = &without;
  }
}

void Search::require_budget(double least) const {
  if (budget_ && least > static_cast<double>(*budget_))
    fail(ErrorCode::InvalidArgument,
         "partition: graph {} cannot keep to a budget of {} bytes: backward needs at least {:.0f}",
         joint_.graph.name, *budget_, least);
}

void Search::take(const std::vector<std::string> &names) {
  Division all;
  all.saved = candidates_;
  std::vector<std::string> known = saved_names(joint_, all);
  std::vector<bool> save(joint_.graph.size());
  for (const std::string &name : names) {
    auto it = std::find(known.begin(), known.end(), name);
    if (it == known.end())
      fail(ErrorCode::InvalidArgument, "partition: graph {} has no value {} that can be saved{}",
           joint_.graph.name, name, suggest(name, {known.begin(), known.end()}));
    save[candidates_[static_cast<std::size_t>(it - known.begin())]] = true;
  }
  best_ = &pricer_.price(save);
  require_budget(best_->kept_bytes);
}

const PricedDivision &Search::find() {
  if (best_) return *best_;
  require_budget(least_memory().kept_bytes);
  propose();
  save_what_backward_stores(best_);
  improve();
  settle();
  shed();
  return *best_;
}

const PricedDivision &Search::exhaustive() {
  std::size_t n = candidates_.size();
  if (n > kMostExhaustive)
    fail(ErrorCode::InvalidArgument, "partition: {} candidates are too many to try all sets", n);
  const PricedDivision *best = nullptr;
  for (std::size_t set = 0; set < std::size_t{1} << n; ++set) {
    std::vector<bool> save(joint_.graph.size());
    for (std::size_t i = 0; i < n; ++i) save[candidates_[i]] = set >> i & 1;
    const PricedDivision &priced = pricer_.price(save);
    if (!best || is_better(priced, *best)) best = &priced;
  }
  return *best;
}

}  // namespace fuse
