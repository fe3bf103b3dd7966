// A plan becomes a program: kernels, memory and order.
#include "ir/format.h"
#include "ir/op.h"
#include "ir/shared_memory.h"
#include "passes/passes.h"
#include "passes/plan_graph.h"
#include "passes/schedule/choose_fills.h"
#include "passes/schedule/choose_pipe.h"
#include "passes/schedule/kernel_builder.h"
#include "passes/schedule/pack.h"
#include "passes/size_class.h"
#include "passes/tolerance.h"

#include <algorithm>

namespace fuse {

namespace {

/// Of any rule's threads, in powers of two, one warp is left.
constexpr int kFewestThreads = -5;

class Scheduler {
 public:
  Scheduler(const GraphData &graph, const Plan &plan, const Target &target,
            const LowerOptions &options)
      : g_(graph), plan_(plan), target_(target), options_(options), leeway_(graph) {
    options_.sizes = expected_sizes(graph.symbols, plan.sizes.empty() ? options.sizes : plan.sizes);
  }

  Program run() {
    program_.name = g_.name;
    program_.symbols = g_.symbols;
    program_.plan.decisions = plan_.decisions;
    program_.plan.unfused = plan_.unfused;
    program_.plan.sizes = plan_.sizes;
    require_known_kernels();
    add_arguments();
    for (const PlanStep &step : plan_.steps) {
      if (step.is_extern)
        add_extern(step.extern_node);
      else
        add_kernel(plan_.kernels[step.kernel]);
    }
    pack_instances(program_, target_, options_, [this](std::size_t kernel, int common_threads) {
      BuiltKernel built = build(program_.plan.kernels[kernel], common_threads);
      return is_next_[kernel] ? std::move(built.next[0].kernel) : std::move(built.kernel);
    });
    return std::move(program_);
  }

 private:
  /// Tunings are of planned kernels.
  void require_known_kernels() const {
    for (const auto &[name, tuning] : options_.tunings) {
      auto is_meant = [&](const PlannedKernel &k) { return k.name == name; };
      if (std::none_of(plan_.kernels.begin(), plan_.kernels.end(), is_meant))
        fail(ErrorCode::InvalidArgument,
             "{}: no planned kernel is named '{}': there are {} from k0 on", g_.name, name,
             plan_.kernels.size());
    }
  }

  const GraphData &g_;
  const Plan &plan_;
  const Target &target_;
  LowerOptions options_;  // the sizes are those of the plan
  Leeway leeway_;
  Program program_;
  std::vector<bool> is_next_;  // by kernel: the second of a planned one
  // By memory root: a reshape lies where its operand lies.
  std::map<NodeId, Binding> places_;
  std::map<NodeId, std::vector<std::size_t>> outputs_;

  /// Elements lie at multiples of their size at least.
  static ArgumentClass class_of(const std::vector<ArgumentClass> &classes, std::size_t i,
                                DType dtype) {
    ArgumentClass c = i < classes.size() ? classes[i] : ArgumentClass{};
    if (c.alignment > 0) c.alignment = std::max(c.alignment, static_cast<int>(size_of(dtype)));
    return c;
  }

  void add_arguments() {
    for (NodeId id : g_.inputs) {
      const auto &attr = g_.attr<InputAttr>(id);
      ArgumentClass c = class_of(options_.inputs, program_.inputs.size(), g_.dtype(id));
      places_[id] = {Binding::Kind::Input, program_.inputs.size()};
      program_.inputs.push_back({attr.name, g_.dtype(id), g_.shape(id), attr.is_scalar,
                                 c.strided && !attr.is_scalar, c.alignment});
    }
    for (const Output &o : g_.outputs) {
      ArgumentClass c = class_of(options_.outputs, program_.outputs.size(), g_.dtype(o.node));
      outputs_[memory_root(g_, o.node)].push_back(program_.outputs.size());
      program_.outputs.push_back(
          {o.name, g_.dtype(o.node), g_.shape(o.node), false, c.strided, c.alignment});
    }
  }

  ArgumentClass class_of(const Binding &place) const {
    const auto &classes = place.kind == Binding::Kind::Input ? options_.inputs : options_.outputs;
    return class_of(classes, place.index, argument(place).dtype);
  }

  const Argument &argument(const Binding &place) const {
    return place.kind == Binding::Kind::Input ? program_.inputs[place.index]
                                              : program_.outputs[place.index];
  }

  MemoryLayout layout_of(NodeId id, const Binding &place) const {
    if (place.kind == Binding::Kind::Workspace)
      return {"t" + std::to_string(id), g_.shape(id), false, false, 256};
    const Argument &a = argument(place);
    ArgumentClass c = class_of(place);
    int alignment = a.alignment ? a.alignment : static_cast<int>(size_of(a.dtype));
    return {a.name, a.shape, a.strided, a.is_scalar, alignment, c.has_rows, c.shifted};
  }

  Binding add_workspace(const Index &bytes, bool counter = false) {
    program_.workspace.push_back({bytes, counter});
    return {Binding::Kind::Workspace, program_.workspace.size() - 1};
  }

  static Index bytes_of(DType dtype, const Shape &shape) {
    return Index(num_elements(shape)) * Index(static_cast<std::int64_t>(size_of(dtype)));
  }

  /// Where a value is written: every output that shows it, or workspace. Users read the first.
  std::vector<Binding> written_places(NodeId id) {
    std::vector<Binding> places;
    for (std::size_t i : outputs_[id]) places.push_back({Binding::Kind::Output, i});
    bool is_new = !places_.count(id);
    if (places.empty() && is_new) places_[id] = add_workspace(bytes_of(g_.dtype(id), g_.shape(id)));
    if (places.empty()) return {places_.at(id)};
    if (is_new) places_[id] = places[0];
    return places;
  }

  /// Where a kernel writes a value. An extern operation has written the first place itself: what a
  /// kernel stores of its result are copies.
  std::vector<Binding> places_of_kernel(NodeId id) {
    std::vector<Binding> places = written_places(id);
    Op op = g_.node(id).op;
    if (op == Op::Extern || op == Op::ExternResult) places.erase(places.begin());
    return places;
  }

  const Binding &place_of(NodeId id, std::string_view reader) const {
    auto place = places_.find(memory_root(g_, id));
    FUSE_CHECK(place != places_.end(), "{} reads %{}, which nothing stored", reader, id);
    return place->second;
  }

  KernelMemory memory_of(const PlannedKernel &kernel) {
    KernelMemory memory;
    for (NodeId id : kernel.reads) memory.reads[id] = layout_of(id, place_of(id, kernel.name));
    for (NodeId id : kernel.stores)
      for (const Binding &place : places_of_kernel(id))
        memory.writes[id].push_back(layout_of(id, place));
    return memory;
  }

  Binding bind(const KernelArgument &argument) {
    switch (argument.kind) {
      case KernelArgument::Kind::Read: return place_of(argument.node, "a kernel");
      case KernelArgument::Kind::Write: return places_of_kernel(argument.node)[argument.output];
      case KernelArgument::Kind::Part: return add_workspace(argument.bytes);
      case KernelArgument::Kind::Counter: return add_workspace(argument.bytes, true);
      case KernelArgument::Kind::Shared: break;  // bound by the kernel before
    }
    FUSE_CHECK(false, "an argument of no kind");
  }

  /// Whether there is nothing to write: some extent of every stored value is 0.
  bool is_empty(const PlannedKernel &planned) const {
    return std::all_of(planned.stores.begin(), planned.stores.end(),
                       [&](NodeId id) { return num_elements(g_.shape(id)) == Dim(0); });
  }

  BuiltKernel build(const PlannedKernel &planned, int common_threads = 0) {
    BuiltKernel built = build_within_memory(planned, common_threads);
    choose_fills(built.kernel);
    for (BuiltKernel &next : built.next) choose_fills(next.kernel);
    return built;
  }

  /// Mappings know about what threads tell one another; the kernel tells it. With too much, half as
  /// many threads do.
  BuiltKernel build_within_memory(const PlannedKernel &planned, int common_threads) {
    KernelMemory memory = memory_of(planned);
    LowerOptions options = options_;
    Tuning &tuning = options.tunings[planned.name];
    for (;; --tuning.threads) {
      BuiltKernel built =
          build_kernel(g_, planned, memory, target_, options, leeway_, common_threads);
      choose_pipes(built.kernel, target_, tuning.stages);
      bool fits = fits_memory(built.kernel) &&
                  std::all_of(built.next.begin(), built.next.end(),
                              [](const BuiltKernel &next) { return fits_memory(next.kernel); });
      if (fits || tuning.threads <= kFewestThreads) return built;
    }
  }

  static bool fits_memory(const Kernel &kernel) {
    return static_shared_bytes(kernel) <= kStaticShared;
  }

  void add_kernel(const PlannedKernel &planned) {
    if (is_empty(planned)) {
      for (NodeId id : planned.stores) written_places(id);
      return;
    }
    BuiltKernel built = build(planned);
    std::vector<Binding> bindings = add_built(built, planned, built.next.size() + 1, {});
    for (BuiltKernel &next : built.next) add_built(next, planned, built.next.size() + 1, bindings);
  }

  /// One of the kernels that a planned one becomes; `first`: what the first of them is bound to.
  std::vector<Binding> add_built(BuiltKernel &built, const PlannedKernel &planned,
                                 std::size_t kernels, const std::vector<Binding> &first) {
    program_.plan.steps.push_back({false, program_.plan.kernels.size(), kNoNode});
    program_.plan.kernels.push_back(share_of(planned, built, kernels));
    is_next_.push_back(!first.empty());
    Step step;
    step.kernel = program_.kernels.size();
    for (const KernelArgument &a : built.arguments)
      step.bindings.push_back(a.kind == KernelArgument::Kind::Shared ? first[a.output] : bind(a));
    std::vector<Binding> bindings = step.bindings;
    program_.kernels.push_back(std::move(built.kernel));
    program_.steps.push_back(std::move(step));
    for (const Limit &limit : built.limits) add_limit(limit);
    for (const SizeRange &range : built.ranges) add_range(range);
    return bindings;
  }

  /// Kernels of one planned kernel take its time together, and the last stores its results.
  static PlannedKernel share_of(PlannedKernel planned, const BuiltKernel &built,
                                std::size_t kernels) {
    planned.name = built.kernel.name;
    planned.seconds /= static_cast<double>(kernels);
    planned.bytes /= static_cast<double>(kernels);
    for (auto &[pipe, microseconds] : planned.pipes) microseconds /= static_cast<double>(kernels);
    return planned;
  }

  void add_limit(const Limit &limit) {
    auto is_known = [&](const Limit &l) { return l.value == limit.value && l.max <= limit.max; };
    if (std::none_of(program_.limits.begin(), program_.limits.end(), is_known))
      program_.limits.push_back(limit);
  }

  void add_range(const SizeRange &range) {
    std::vector<SizeRange> &ranges = program_.ranges;
    if (std::find(ranges.begin(), ranges.end(), range) == ranges.end()) ranges.push_back(range);
  }

  std::vector<NodeId> results_of(NodeId id) const {
    std::vector<NodeId> results(g_.attr<ExternAttr>(id).dtypes.size(), kNoNode);
    results[0] = id;
    for (NodeId n = id + 1; n < g_.size(); ++n)
      if (g_.node(n).op == Op::ExternResult && g_.operand(n, 0) == id)
        results[g_.attr<ExternAttr>(n).result] = n;
    return results;
  }

  void add_extern(NodeId id) {
    program_.plan.steps.push_back({true, 0, id});
    const auto &attr = g_.attr<ExternAttr>(id);
    Step step;
    step.is_extern = true;
    step.extern_name = attr.name;
    step.num_operands = g_.operands(id).size();
    for (NodeId operand : g_.operands(id)) {
      step.dtypes.push_back(g_.dtype(operand));
      step.shapes.push_back(g_.shape(operand));
      step.bindings.push_back(place_of(operand, attr.name));
    }
    std::vector<NodeId> results = results_of(id);
    for (std::size_t i = 0; i < results.size(); ++i) {
      step.dtypes.push_back(attr.dtypes[i]);
      step.shapes.push_back(attr.shapes[i]);
      step.bindings.push_back(result_place(results[i], attr.dtypes[i], attr.shapes[i]));
    }
    program_.steps.push_back(std::move(step));
  }

  /// A result that nobody uses has been eliminated; the extern op still writes it somewhere.
  Binding result_place(NodeId id, DType dtype, const Shape &shape) {
    if (id == kNoNode) return add_workspace(bytes_of(dtype, shape));
    return written_places(id)[0];
  }
};

}  // namespace

Program schedule(const Graph &graph, const Plan &plan, const Target &target,
                 const LowerOptions &options) {
  return Scheduler(graph.data(), plan, target, options).run();
}

}  // namespace fuse
