// compile(): the picture of the whole library as one function.
#include <fuse/compile.h>

#include "ir/env.h"
#include "ir/format.h"
#include "ir/graph_data.h"
#include "ir/op.h"
#include "ir/symbol_size.h"
#include "passes/size_class.h"
#include "runtime/executable_impl.h"
#include "runtime/plan_cache.h"

#include <algorithm>

namespace fuse {

namespace {

Executor resolve(Executor wanted) {
  if (wanted == Executor::Gpu) driver();  // throws NoDevice, naming why
  if (wanted != Executor::Auto) return wanted;
  return has_driver() ? Executor::Gpu : Executor::Host;
}

Target resolve(const CompileOptions &options, Executor executor) {
  if (options.target) return *options.target;
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

Executable make_executable(Interface interface, Lower lower, const CompileOptions &options) {
  check_expected_sizes(interface, options.expected_sizes);
  Executor executor = resolve(options.executor);
  Target target = resolve(options, executor);
  std::string name = interface.name;
  try {
    return Executable(std::make_shared<ExecutableImpl>(std::move(interface), std::move(lower),
                                                       options, std::move(target), executor));
  } catch (const Error &error) {
    rethrow_named(name, error);
  }
}

}  // namespace fuse

FUSE_BEGIN_NAMESPACE

Executable compile(const Graph &graph, const CompileOptions &options) {
  if (graph.data().outputs.empty())
    fail(ErrorCode::InvalidArgument, "graph {} has no output: call output()", graph.name());
  CompileOptions resolved = options;
  resolved.executor = resolve(options.executor);
  resolved.target = resolve(options, resolved.executor);
  if (dumps("graph")) dump("graph", graph.name(), to_string(graph));
  // The copy makes later variants independent of what happens to the caller's graph.
  auto copy = std::make_shared<const Graph>(graph.clone());
  Lower road = [copy, target = *resolved.target](const LowerOptions &lower_options) {
    Lowered lowered = lower_cached(*copy, target, lower_options, DiskCache::process());
    dump_program(lowered.program);
    return lowered;
  };
  return make_executable(interface_of(graph), std::move(road), resolved);
}

FUSE_END_NAMESPACE
