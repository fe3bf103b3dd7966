// Candidates of one level and one body, laid out alike, generalised, and cut into launches.
#include "passes/schedule/pack.h"

#include "ir/env.h"
#include "ir/format.h"
#include "ir/instances.h"
#include "passes/schedule/canonical_body.h"
#include "passes/schedule/generalize.h"
#include "passes/schedule/step_order.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace fuse {

namespace {

// A block finds its instance by dependent reads of constant memory, some 30 clocks each.
constexpr double kLookupSeconds = 20e-9;

// What sizes cost that are read from a table: edges that are tested, divisions that are not folded.
constexpr double kTableShare = 0.01;

/// A kernel that may become an instance: its buffers in the order in which the body uses them.
struct Candidate {
  std::size_t step = 0;
  Kernel kernel;
  std::vector<Binding> bindings;
};

/// Kernels that become instances of one.
struct Pack {
  Kernel kernel;
  std::vector<std::size_t> steps;
  std::vector<Binding> bindings;
};

void number_uses(const std::vector<Stmt> &body, std::vector<std::size_t> &first,
                 std::size_t &next) {
  for (const Stmt &stmt : body) {
    if (stmt.buffer != kNone && first[stmt.buffer] == SIZE_MAX) first[stmt.buffer] = next++;
    number_uses(stmt.body, first, next);
  }
}

void rename_buffers(std::vector<Stmt> &body, const std::vector<BufferId> &name) {
  for (Stmt &stmt : body) {
    if (stmt.buffer != kNone) stmt.buffer = name[stmt.buffer];
    rename_buffers(stmt.body, name);
  }
}

/// Puts buffers of a role in the order of their first uses: graphs number values as they please.
void order_buffers(Candidate &c) {
  Kernel &k = c.kernel;
  std::vector<std::size_t> first(k.buffers.size(), SIZE_MAX);
  std::size_t next = 0;
  number_uses(k.body, first, next);
  auto rank = [&](BufferId b) {
    BufferRole role =
        k.buffers[b].role == BufferRole::Scalar ? BufferRole::Input : k.buffers[b].role;
    return std::tuple(role, first[b], b);
  };
  std::vector<BufferId> order(k.buffers.size()), name(order.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](BufferId a, BufferId b) { return rank(a) < rank(b); });
  std::vector<Buffer> buffers;
  std::vector<Binding> bindings;
  for (BufferId b : order) {
    name[b] = static_cast<BufferId>(buffers.size());
    buffers.push_back(std::move(k.buffers[b]));
    bindings.push_back(c.bindings[b]);
  }
  k.buffers = std::move(buffers);
  c.bindings = std::move(bindings);
  rename_buffers(k.body, name);
  for (Layout &layout : k.layouts)
    for (Axis &axis : layout.axes)
      if (axis.align.buffer != kNone) axis.align.buffer = name[axis.align.buffer];
}

/// Offsets are linear: how many elements a buffer has is all that its shape says.
void flatten(std::vector<Buffer> &buffers) {
  for (Buffer &b : buffers) {
    if (b.role != BufferRole::Scalar) b.shape = {product(b.shape)};
  }
}

class Packer {
 public:
  Packer(Program &program, const Target &target, const LowerOptions &options,
         const RebuildKernel &rebuild)
      : p_(program), target_(target), options_(options), rebuild_(rebuild) {}

  void run() {
    StepOrder order(p_, options_.in_place);
    for (auto &[key, candidates] : candidates_by_body(order)) pack_alike(std::move(candidates));
    if (packs_.empty()) return;
    std::vector<std::size_t> group(p_.steps.size());
    std::iota(group.begin(), group.end(), 0);
    for (const Pack &pack : packs_)
      for (std::size_t step : pack.steps) group[step] = pack.steps[0];
    rewrite(order.arrange(group));
  }

 private:
  using Group = std::vector<Candidate>;

  std::map<std::pair<std::size_t, std::string>, Group> candidates_by_body(const StepOrder &order);
  Candidate candidate(std::size_t step, Kernel kernel) const;
  double busy_seconds(const PlannedKernel &planned) const {
    return planned.seconds - target_.launch_seconds;
  }
  bool is_worth_it(const PlannedKernel &planned) const;
  void pack_alike(Group group);
  static std::map<std::string, Group> by_skeleton(Group group);
  void pack(const Group &group);
  Group without_long_ones(const Group &group) const;
  bool is_shared(const Kernel &kernel, const Group &group, BufferId buffer) const;
  std::size_t instances_of_a_launch(const Kernel &kernel) const;
  Pack slice(const Kernel &kernel, const Group &group, std::size_t begin, std::size_t end) const;
  PlannedKernel planned(const Pack &pack) const;
  void limit_blocks(const Kernel &kernel);
  void explain(const Pack &pack, const PlannedKernel &planned);
  void rewrite(const std::vector<std::size_t> &order);

  Program &p_;
  const Target &target_;
  const LowerOptions &options_;
  const RebuildKernel &rebuild_;
  std::vector<Pack> packs_;
};

bool Packer::is_worth_it(const PlannedKernel &planned) const {
  return target_.launch_seconds > kLookupSeconds + kTableShare * busy_seconds(planned);
}

Candidate Packer::candidate(std::size_t step, Kernel kernel) const {
  Candidate c{step, std::move(kernel), p_.steps[step].bindings};
  canonicalize_body(c.kernel);
  order_buffers(c);
  flatten(c.kernel.buffers);
  return c;
}

std::map<std::pair<std::size_t, std::string>, Packer::Group> Packer::candidates_by_body(
    const StepOrder &order) {
  std::map<std::pair<std::size_t, std::string>, Group> groups;
  for (std::size_t s = 0; s < p_.steps.size(); ++s) {
    if (p_.steps[s].is_extern || !is_worth_it(p_.plan.kernels[p_.steps[s].kernel])) continue;
    Candidate c = candidate(s, p_.kernels[p_.steps[s].kernel]);
    std::string body = body_skeleton_of(c.kernel);
    groups[{order.levels()[s], std::move(body)}].push_back(std::move(c));
  }
  return groups;
}

/// Packs kernels of one body that differ in sizes alone, once they are laid out alike.
void Packer::pack_alike(Group group) {
  if (group.size() < 2) return;
  int threads = 0, index_bits = 0;
  for (const Candidate &c : group) {
    threads = std::max(threads, c.kernel.threads);
    index_bits = std::max(index_bits, c.kernel.index_bits);
  }
  for (Candidate &c : group) c.kernel.index_bits = index_bits;
  std::map<std::string, Group> alike = by_skeleton(std::move(group));
  if (alike.size() > 1) {
    Group again;
    for (const auto &[skeleton, candidates] : alike)
      for (const Candidate &c : candidates) {
        again.push_back(candidate(c.step, rebuild_(p_.steps[c.step].kernel, threads)));
        again.back().kernel.index_bits = index_bits;
      }
    alike = by_skeleton(std::move(again));
  }
  for (auto &[skeleton, candidates] : alike) {
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate &a, const Candidate &b) { return a.step < b.step; });
    pack(candidates);
  }
}

std::map<std::string, Packer::Group> Packer::by_skeleton(Group group) {
  std::map<std::string, Group> alike;
  for (Candidate &c : group) {
    std::string skeleton = skeleton_of(c.kernel);
    alike[std::move(skeleton)].push_back(std::move(c));
  }
  return alike;
}

void Packer::pack(const Group &group) {
  if (group.size() < 2) return;
  std::vector<const Kernel *> kernels;
  for (const Candidate &c : group) kernels.push_back(&c.kernel);
  std::optional<Kernel> kernel = generalize(kernels);
  if (!kernel) return;
  if (divides_by_sizes(*kernel)) {
    Group small = without_long_ones(group);
    if (small.size() < group.size()) return pack(small);
  }
  for (BufferId b = 0; b < kernel->buffers.size(); ++b)
    kernel->buffers[b].each = !is_shared(*kernel, group, b);
  std::size_t most = instances_of_a_launch(*kernel);
  if (most < 2) return;
  std::size_t launches = (group.size() + most - 1) / most;
  for (std::size_t i = 0; i < launches; ++i) {
    std::size_t begin = group.size() * i / launches, end = group.size() * (i + 1) / launches;
    if (end - begin > 1) packs_.push_back(slice(*kernel, group, begin, end));
  }
}

/// Divisions by numbers that the compiler does not know may take as long as the work itself.
Packer::Group Packer::without_long_ones(const Group &group) const {
  Group small;
  std::copy_if(group.begin(), group.end(), std::back_inserter(small), [&](const Candidate &c) {
    return busy_seconds(p_.plan.kernels[p_.steps[c.step].kernel]) < target_.launch_seconds;
  });
  return small;
}

/// All instances read one memory, in one shape.
bool Packer::is_shared(const Kernel &kernel, const Group &group, BufferId buffer) const {
  const Buffer &b = kernel.buffers[buffer];
  if (b.role != BufferRole::Input && b.role != BufferRole::Scalar) return false;
  const Binding &first = group[0].bindings[buffer];
  bool is_one = std::all_of(group.begin(), group.end(), [&](const Candidate &c) {
    return c.bindings[buffer].kind == first.kind && c.bindings[buffer].index == first.index;
  });
  return is_one && std::none_of(b.shape.begin(), b.shape.end(), [&](const Index &extent) {
           return differs_between_instances(kernel, extent);
         });
}

/// How many instances the parameters of a launch take.
std::size_t Packer::instances_of_a_launch(const Kernel &kernel) const {
  Kernel two = kernel, many = kernel;
  constexpr int kMany = 2 + 64;  // columns are padded to 8 bytes
  two.instances = 2;
  many.instances = kMany;
  std::int64_t fixed = parameter_bytes(two), slope = parameter_bytes(many) - fixed;
  std::int64_t limit = std::min(target_.parameter_bytes, kMaxParameterBytes);
  if (fixed > limit) return 0;
  return static_cast<std::size_t>(2 + (limit - fixed) * (kMany - 2) / slope / 2 * 2);
}

Pack Packer::slice(const Kernel &kernel, const Group &group, std::size_t begin,
                   std::size_t end) const {
  Pack pack{kernel, {}, {}};
  pack.kernel.name = group[begin].kernel.name;
  pack.kernel.instances = static_cast<int>(end - begin);
  for (InstanceSize &size : pack.kernel.table) {
    auto first = size.values.begin();
    size.values = {first + static_cast<std::ptrdiff_t>(begin),
                   first + static_cast<std::ptrdiff_t>(end)};
  }
  for (std::size_t i = begin; i < end; ++i) pack.steps.push_back(group[i].step);
  for (const LaunchBuffer &at : launch_buffers(pack.kernel))
    pack.bindings.push_back(
        group[begin + static_cast<std::size_t>(at.instance)].bindings[at.buffer]);
  return pack;
}

void unite(std::vector<NodeId> &all, const std::vector<NodeId> &more) {
  all.insert(all.end(), more.begin(), more.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

/// Side by side they take as long as the longest, or as the pipe that all of them need most.
PlannedKernel Packer::planned(const Pack &pack) const {
  const PlannedKernel &first = p_.plan.kernels[p_.steps[pack.steps[0]].kernel];
  PlannedKernel all;
  all.name = pack.kernel.name;
  all.domain = first.domain;
  all.bound = first.bound;
  all.pipes = first.pipes;
  for (PipeTime &pipe : all.pipes) pipe.us = 0;
  double longest = 0;
  for (std::size_t step : pack.steps) {
    const PlannedKernel &one = p_.plan.kernels[p_.steps[step].kernel];
    unite(all.nodes, one.nodes);
    unite(all.reads, one.reads);
    unite(all.stores, one.stores);
    all.bytes += one.bytes;
    all.moved_bytes += one.moved_bytes;
    all.statements = std::max(all.statements, one.statements);
    longest = std::max(longest, busy_seconds(one));
    for (std::size_t i = 0; i < all.pipes.size(); ++i) all.pipes[i].us += one.pipes[i].us;
  }
  for (const PipeTime &pipe : all.pipes)
    if (1e-6 * pipe.us > longest) {
      longest = 1e-6 * pipe.us;
      all.bound = pipe.pipe;
    }
  auto lookups = std::bit_width(pack.steps.size());
  all.seconds = target_.launch_seconds + kLookupSeconds * static_cast<double>(lookups) +
                longest * (1 + kTableShare);
  return all;
}

/// Sizes at which a launch might have too many blocks make kernels that take long: other sizes are
/// planned anew, and these stay apart.
void Packer::limit_blocks(const Kernel &kernel) {
  auto less = [](const Index &a, const Index &b) { return compare(a, b) < 0; };
  std::set<Index, decltype(less)> seen(less);
  Index grid = grid_size(kernel);
  for (int i = 0; i < kernel.instances; ++i) {
    Index blocks = at_instance(kernel, grid, i);
    if (!blocks.constant() && seen.insert(blocks).second)
      p_.limits.push_back(
          {Limit::Kind::Blocks, blocks, INT32_MAX / kernel.instances, "the blocks of an instance"});
  }
}

void Packer::explain(const Pack &pack, const PlannedKernel &planned) {
  double alone = 0;
  for (std::size_t step : pack.steps) alone += p_.plan.kernels[p_.steps[step].kernel].seconds;
  std::size_t count = pack.steps.size();
  Decision d;
  d.about = "instances " + pack.kernel.name;
  d.chosen = std::to_string(count) + " in one launch";
  append(d.why, "one body, and none waits for another: {} launches fewer, {} bytes of parameters",
         count - 1, parameter_bytes(pack.kernel));
  d.rejected = std::to_string(count) + " kernels";
  d.gain_seconds = alone - planned.seconds;
  p_.plan.decisions.push_back(std::move(d));
}

/// The program with its steps in the order, packs in place of their first steps.
void Packer::rewrite(const std::vector<std::size_t> &order) {
  std::map<std::size_t, Pack *> pack_of;
  for (Pack &pack : packs_) pack_of[pack.steps[0]] = &pack;
  std::vector<Kernel> kernels;
  std::vector<Step> steps;
  std::vector<PlannedKernel> planned_kernels;
  std::vector<PlanStep> plan_steps;
  for (std::size_t s : order) {
    Step step = std::move(p_.steps[s]);
    PlanStep plan_step = p_.plan.steps[s];
    if (!step.is_extern) {
      auto pack = pack_of.find(s);
      std::size_t old = step.kernel;
      step.kernel = plan_step.kernel = kernels.size();
      if (pack == pack_of.end()) {
        kernels.push_back(std::move(p_.kernels[old]));
        planned_kernels.push_back(p_.plan.kernels[old]);
      } else {
        planned_kernels.push_back(planned(*pack->second));
        explain(*pack->second, planned_kernels.back());
        limit_blocks(pack->second->kernel);
        step.bindings = std::move(pack->second->bindings);
        kernels.push_back(std::move(pack->second->kernel));
      }
    }
    steps.push_back(std::move(step));
    plan_steps.push_back(plan_step);
  }
  p_.kernels = std::move(kernels);
  p_.steps = std::move(steps);
  p_.plan.kernels = std::move(planned_kernels);
  p_.plan.steps = std::move(plan_steps);
}

}  // namespace

void pack_instances(Program &program, const Target &target, const LowerOptions &options,
                    const RebuildKernel &rebuild) {
  if (environment().disable.contains("instances")) return;
  Packer(program, target, options, rebuild).run();
}

}  // namespace fuse
