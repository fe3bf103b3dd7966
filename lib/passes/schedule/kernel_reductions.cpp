// Depths of reductions, and sums that rise with their maximum.
#include "passes/schedule/kernel_reductions.h"

#include "ir/op.h"
#include "passes/schedule/body.h"

#include <algorithm>

namespace fuse {

namespace {

class Analysis {
 public:
  Analysis(const GraphData &graph, const PlannedKernel &planned)
      : g_(graph), planned_(planned), domain_(planned.domain) {}

  KernelReductions run() {
    for (NodeId id : planned_.nodes) add_node(id);
    for (NodeId id : planned_.stores) {
      // Without reductions there is one pass, the last.
      if (passes_[id] == 0 && r_.use.levels > 0) continue;
      r_.finished.insert(id);
      r_.use.reexpands |= runs_along_row(id);
    }
    match_online();
    return std::move(r_);
  }

 private:
  const GraphData &g_;
  const PlannedKernel &planned_;
  const Domain &domain_;
  std::map<NodeId, int> levels_, passes_;  // of nodes
  std::map<NodeId, int> scans_;            // 1 for those that depend on a scan
  KernelReductions r_;

  int most_of_operands(const std::map<NodeId, int> &numbers, NodeId id) const {
    int most = 0;
    for (NodeId operand : g_.operands(id)) {
      auto it = numbers.find(operand);
      if (it != numbers.end()) most = std::max(most, it->second);
    }
    return most;
  }

  void add_node(NodeId id) {
    int level = most_of_operands(levels_, id), pass = most_of_operands(passes_, id);
    if (domain_.folds.count(id)) {
      r_.level[id] = ++level;
      pass += is_looped(domain_, id);
      r_.pass[id] = std::max(pass, 1);
      count_reduction(id);
    }
    if (auto scan = domain_.scans.find(id); scan != domain_.scans.end()) {
      ++r_.use.scans;
      r_.use.scan_bytes = std::max(r_.use.scan_bytes, scan_bytes(id));
      r_.use.scans_scans |= most_of_operands(scans_, id) > 0;
      scans_[id] = 1;
      r_.use.reverse = g_.attr<ScanAttr>(id).reverse;
      r_.use.scanned = scan->second.dims;
      r_.use.reexpands = true;
    }
    scans_[id] = std::max(scans_[id], most_of_operands(scans_, id));
    levels_[id] = level;
    passes_[id] = pass;
    r_.use.levels = std::max(r_.use.levels, pass);
  }

  bool runs_along_row(NodeId id) const {
    std::vector<DimId> dims = Domain::dims_of(domain_.at.at(id));
    return std::any_of(dims.begin(), dims.end(),
                       [&](DimId d) { return domain_.roles[d] == DimRole::Row; });
  }

  /// The widest that a thread tells others of one reduction.
  int state_bytes(NodeId id) const {
    Op op = g_.node(id).op;
    std::size_t value = size_of(compute_type(g_.dtype(g_.operand(id, 0))));
    std::size_t index = op == Op::ArgMax || op == Op::ArgMin ? sizeof(std::int64_t) : 0;
    return static_cast<int>(std::max<std::size_t>(4, value) + index);
  }

  /// Of what a thread keeps for an element of a scan.
  int scan_bytes(NodeId id) const {
    std::size_t value = size_of(compute_type(g_.dtype(id)));
    int states = num_results(monoid_of_scan(g_.node(id).op));
    return states * static_cast<int>(std::max<std::size_t>(4, value));
  }

  void count_reduction(NodeId id) {
    r_.use.state_bytes += state_bytes(id);
    if (!domain_.has_columns() || !is_looped(domain_, id) || !runs_along_row(id)) return;
    r_.use.column_bytes += state_bytes(id);
    ++r_.use.columns;
  }

  /// Where nothing but results of reductions is stored along the rows, sums that can rise with
  /// their maximum spare the second pass; all of them must.
  void match_online() {
    if (r_.use.reexpands || r_.use.levels != 2 || domain_.has_columns()) return;
    std::map<NodeId, OnlineSum> matches;
    for (const auto &[node, pass] : r_.pass) {
      if (pass == 1) continue;
      std::optional<OnlineSum> match = match_online_sum(g_, node);
      if (!match || !r_.pass.count(match->maximum)) return;
      // A weight that is another reduction's is not there yet in the pass over the elements.
      if (match->weight != kNoNode && passes_[match->weight] > 0) return;
      if (domain_.folds.at(node).dims != domain_.folds.at(match->maximum).dims) return;
      matches[node] = *match;
    }
    r_.online = std::move(matches);
    r_.use.levels = 1;
  }
};

}  // namespace

bool KernelReductions::is_folded_online(NodeId maximum) const {
  return std::any_of(online.begin(), online.end(),
                     [&](const auto &entry) { return entry.second.maximum == maximum; });
}

bool is_looped(const Domain &domain, NodeId reduction) {
  const std::vector<DimId> &dims = domain.folds.at(reduction).dims;
  return std::any_of(dims.begin(), dims.end(), [&](DimId d) { return domain.is_looped(d); });
}

KernelReductions analyze_reductions(const GraphData &graph, const PlannedKernel &planned) {
  return Analysis(graph, planned).run();
}

}  // namespace fuse
