// What values cost to save and to compute again: by themselves, and within planned kernels.
#include "partition/search.h"

#include <algorithm>

namespace fuse {

namespace {

double longest(const std::array<double, kNumPipes> &seconds) {
  return *std::max_element(seconds.begin(), seconds.end());
}

/// A kernel's pipes in seconds, for what is added to them or left out.
class Room {
 public:
  explicit Room(const PlannedKernel &kernel) {
    for (std::size_t i = 0; i < kNumPipes; ++i) pipes_[i] = 1e-6 * kernel.pipes[i].us;
  }

  /// What the kernel takes longer with this besides.
  double adding(std::array<double, kNumPipes> seconds) const {
    for (std::size_t i = 0; i < kNumPipes; ++i) seconds[i] += pipes_[i];
    return longest(seconds) - longest(pipes_);
  }

  /// What it takes less without it.
  double removing(std::array<double, kNumPipes> seconds) const {
    for (std::size_t i = 0; i < kNumPipes; ++i) seconds[i] = pipes_[i] - seconds[i];
    return longest(pipes_) - longest(seconds);
  }

 private:
  std::array<double, kNumPipes> pipes_{};
};

std::array<double, kNumPipes> on_hbm(double seconds) {
  std::array<double, kNumPipes> pipes{};
  pipes[static_cast<std::size_t>(Pipe::Hbm)] = seconds;
  return pipes;
}

/// Where the values of a joint graph are in a planned part.
struct Places {
  std::vector<const PlannedKernel *> computed, read, stored;  // by node; nullptr: nowhere

  Places(const PlannedPart &part, std::size_t nodes) : computed(nodes), read(nodes), stored(nodes) {
    for (const PlannedKernel &k : part.plan.kernels) {
      auto note = [&](const std::vector<NodeId> &ids, auto &at) {
        for (NodeId id : ids)
          if (NodeId node = part.joint_node[id]; !at[node]) at[node] = &k;
      };
      note(k.nodes, computed);
      note(k.reads, read);
      note(k.stores, stored);
    }
  }
};

/// The first kernel of backward that something made of the value is in.
std::vector<const PlannedKernel *> readers(const Joint &j, const Places &places) {
  std::vector<const PlannedKernel *> kernel = places.computed;
  for (NodeId id = static_cast<NodeId>(j.graph.size()); id-- > 0;)
    for (NodeId operand : j.graph.operands(id))
      if (!kernel[operand])
        kernel[operand] = places.read[operand] ? places.read[operand] : kernel[id];
  return kernel;
}

}  // namespace

CutPrice Search::allowed(NodeId id, CutPrice price) const {
  if (!joint_.is_input(id) && !joint_.may_save[id]) price.save = kNever;
  if (!joint_.may_repeat[id]) price.repeat = kNever;
  return price;
}

bool Search::lies_in_memory(NodeId id) const { return joint_.is_input(id) || in_memory_[id]; }

std::vector<CutPrice> Search::memory_prices() const {
  std::vector<CutPrice> prices;
  for (NodeId id : nodes_) prices.push_back(allowed(id, {joint_.bytes[id], 0}));
  return prices;
}

std::vector<CutPrice> Search::additive_prices(double instructions, double memory) const {
  std::vector<CutPrice> prices;
  for (NodeId id : nodes_) {
    double passes = (lies_in_memory(id) ? 1 : 2) + memory;
    prices.push_back(allowed(
        id, {passes * pricer_.pass_seconds(id), instructions * longest(pricer_.instructions(id))}));
  }
  return prices;
}

std::vector<CutPrice> Search::prices_within(const PricedDivision &priced) const {
  Places forward(priced.forward, joint_.graph.size()),
      backward(priced.backward, joint_.graph.size());
  std::vector<const PlannedKernel *> reader = readers(joint_, backward);
  std::vector<CutPrice> prices;
  for (NodeId id : nodes_) {
    std::array<double, kNumPipes> pass = on_hbm(pricer_.pass_seconds(id));
    auto on_pass = [&](const PlannedKernel *kernel, bool is_there) {
      if (!kernel) return longest(pass);
      return is_there ? Room(*kernel).removing(pass) : Room(*kernel).adding(pass);
    };
    CutPrice price;
    price.save = on_pass(reader[id], backward.read[id]);
    bool is_written = forward.stored[id] != nullptr;
    if (!lies_in_memory(id)) price.save += on_pass(forward.computed[id], is_written);
    const auto &work = pricer_.instructions(id);
    if (!reader[id])
      price.repeat = longest(work);
    else
      price.repeat =
          backward.computed[id] ? Room(*reader[id]).removing(work) : Room(*reader[id]).adding(work);
    // What backward computes again and writes for its own kernels is read by them all the same.
    if (backward.stored[id]) price.repeat += price.save + longest(pass);
    prices.push_back(allowed(id, price));
  }
  return prices;
}

}  // namespace fuse
