// compile(): the picture of the whole library as one function.
#include <fuse/compile.h>

#include "ir/env.h"
#include "ir/format.h"
#include "ir/graph_data.h"
#include "ir/op.h"
#include "ir/symbol_size.h"
#include "ir/target_text.h"
#include "passes/size_class.h"
#include "runtime/executable_impl.h"
#include "runtime/plan_cache.h"

#include <algorithm>

namespace fuse {

Executor resolve(Executor wanted) {
  if (wanted == Executor::Gpu) driver();  // throws NoDevice, naming why
  if (wanted != Executor::Auto) return wanted;
  return has_driver() ? Executor::Gpu : Executor::Host;
}

namespace {

Target resolve(const CompileOptions &options, Executor executor) {
  if (options.target) return *options.target;
  if (executor == Executor::None && !options.targets.empty()) return options.targets[0];
  return executor == Executor::Gpu ? target_of(options.device) : Target::named("host");
}

void require_extent(const Dim &extent, std::int64_t least, std::string words,
                    Interface &interface) {
  auto known = [&](const LeastExtent &e) { return e.extent == extent && e.least == least; };
  std::vector<LeastExtent> &all = interface.least_extents;
  if (!extent.is_static() && std::none_of(all.begin(), all.end(), known))
    all.push_back({extent, least, std::move(words)});
}

/// Symbolic axes that a maximum, a minimum or a position is taken over: static ones were checked
/// when the graph was built.
void require_elements(const GraphData &g, NodeId id, Interface &interface) {
  const OpInfo &op = info(g.node(id).op);
  bool has_identity = g.node(id).op == Op::Sum || g.node(id).op == Op::Prod ||
                      g.node(id).op == Op::Any || g.node(id).op == Op::All;
  if (op.kind != OpKind::Reduce || has_identity) return;
  const Shape &shape = g.shape(g.operand(id, 0));
  for (int axis : g.attr<AxesAttr>(id).axes) {
    const Dim &extent = shape[static_cast<std::size_t>(axis)];
    require_extent(extent, 1,
                   fmt::format("{}: axis {} of {}{} is empty", op.text, axis,
                               to_string(g.dtype(g.operand(id, 0))), to_string(shape)),
                   interface);
  }
}

/// Symbolic extents that sizes may make negative.
void require_extents(const GraphData &g, NodeId id, Interface &interface) {
  Ranges ranges = ranges_of(g.symbols);
  for (const Dim &extent : g.shape(id))
    if (!extent.is_static() && !is_nonnegative(extent, ranges))
      require_extent(extent, 0,
                     fmt::format("{}: the extent {} of {}{} is negative: a slice is longer than "
                                 "its axis",
                                 info(g.node(id).op).text, to_string(extent),
                                 to_string(g.dtype(id)), to_string(g.shape(id))),
                     interface);
}

Interface interface_of(const Graph &graph) {
  const GraphData &g = graph.data();
  Interface interface{g.name, {}, {}, g.symbols, {}};
  for (NodeId id : g.inputs) {
    const InputAttr &input = g.attr<InputAttr>(id);
    Argument a{input.name, g.dtype(id), g.shape(id)};
    a.is_scalar = input.is_scalar;
    interface.inputs.push_back(std::move(a));
  }
  for (const Output &o : g.outputs)
    interface.outputs.push_back({o.name, g.dtype(o.node), g.shape(o.node)});
  for (NodeId id = 0; id < g.size(); ++id) {
    require_elements(g, id, interface);
    require_extents(g, id, interface);
  }
  return interface;
}

void check_expected_sizes(const Interface &interface, const Bindings &sizes) {
  for (const auto &[name, size] : sizes)
    if (std::string why = objection_to_size(interface.symbols, name, size); !why.empty())
      fail(ErrorCode::InvalidArgument, "{}: expected_sizes: {}", interface.name, why);
}

void dump_program(const Program &program) {
  if (dumps("kernel")) {
    std::string text;
    for (const Kernel &k : program.kernels) text += to_string(k) + "\n";
    dump("kernel", program.name, text);
  }
}

}  // namespace

namespace {

std::shared_ptr<ExecutableImpl> make_impl(Interface interface, Source source,
                                          const CompileOptions &options) {
  check_expected_sizes(interface, options.expected_sizes);
  Executor executor = resolve(options.executor);
  Machine machine = machine_of(resolve(options, executor), executor);
  machine.threads = options.threads;
  std::string name = interface.name;
  try {
    return std::make_shared<ExecutableImpl>(std::move(interface), std::move(source), options,
                                            machine);
  } catch (const Error &error) {
    rethrow_named(name, error);
  }
}

bool same_code(const Machine &a, const Machine &b) {
  return a.code == b.code && to_string(a.target) == to_string(b.target);
}

/// The first machine and further ones, each once.
std::vector<Machine> machines_of(const CompileOptions &options, const Machine &first) {
  std::vector<Machine> machines = {first};
  for (const Target &target : options.targets) {
    Machine m = machine_of(target, Executor::None);
    if (std::none_of(machines.begin(), machines.end(),
                     [&](const Machine &other) { return same_code(other, m); }))
      machines.push_back(m);
  }
  return machines;
}

}  // namespace

Executable make_executable(Interface interface, Source source, const CompileOptions &options) {
  return Executable(make_impl(std::move(interface), std::move(source), options));
}

Source source_of(std::shared_ptr<const Graph> graph, const Target &target) {
  auto road = [graph, target](const LowerOptions &options) {
    Lowered lowered = lower_cached(*graph, target, options, DiskCache::process());
    dump_program(lowered.program);
    return lowered;
  };
  auto plan = [graph, target](const LowerOptions &options) -> ScheduleTuned {
    auto planned = std::make_shared<const PlannedGraph>(plan_graph(*graph, target, options));
    return [planned, target, options](const Tunings &tunings) {
      LowerOptions tuned = options;
      tuned.tunings = tunings;
      return schedule(planned->graph, planned->plan, target, tuned);
    };
  };
  return {std::move(road), [graph] { return to_string(*graph); }, std::move(plan)};
}

}  // namespace fuse

FUSE_BEGIN_NAMESPACE

Executable compile(const Graph &graph, const CompileOptions &options) {
  if (graph.data().outputs.empty())
    fail(ErrorCode::InvalidArgument, "graph {} has no output: call output()", graph.name());
  if (options.tune && options.batch_invariant)
    fail(ErrorCode::InvalidArgument,
         "{}: tune chooses by time, which the number of rows changes: leave it or "
         "batch_invariant out",
         graph.name());
  CompileOptions resolved = options;
  resolved.executor = resolve(options.executor);
  resolved.target = resolve(options, resolved.executor);
  if (dumps("graph")) dump("graph", graph.name(), to_string(graph));
  // The copy makes later variants independent of what happens to the caller's graph.
  auto copy = std::make_shared<const Graph>(graph.clone());
  Interface interface = interface_of(graph);
  auto impl = make_impl(interface, source_of(copy, *resolved.target), resolved);
  std::vector<Machine> machines = machines_of(options, impl->machine());
  for (std::size_t i = 1; i < machines.size(); ++i) {
    resolved.executor = Executor::None;
    resolved.target = machines[i].target;
    impl->add_target(make_impl(interface, source_of(copy, machines[i].target), resolved));
  }
  return Executable(std::move(impl));
}

FUSE_END_NAMESPACE
