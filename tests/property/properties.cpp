// Targets and strides come from a generator of their own, so that shrinking keeps them.
#include "property/properties.h"

#include "ir/evaluate.h"
#include "ir/float_bits.h"
#include "ir/op.h"
#include "passes/passes.h"
#include "property/execute.h"
#include "property/memory.h"
#include "property/run_program.h"
#include "runtime/arguments.h"

#include <fuse/compile.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace fuse {

std::uint64_t setting(const char *name, std::uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

namespace {

using Body = std::string (*)(const RandomGraph &random);

std::string catching(const RandomGraph &random, Body body) {
  try {
    return body(random);
  } catch (const Error &e) {
    return std::string("throws ") + std::string(to_string(e.code())) + ": " + e.what();
  }
}

std::string judge(const GraphData &g, const std::vector<Expected> &expected,
                  const std::vector<Tensor> &actual, const std::string &who) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Comparison c = compare(expected[i], actual[i]);
    if (!c.passed()) return who + ": output " + g.outputs[i].name + ": " + to_string(c);
  }
  return "";
}

std::vector<Tensor> executed_outputs(const Graph &graph, const RandomGraph &random) {
  std::vector<Tensor> values = execute(graph.data(), random.inputs, random.symbols);
  std::vector<Tensor> outputs;
  for (const Output &o : graph.data().outputs) outputs.push_back(values[o.node]);
  return outputs;
}

std::string check_passes(const RandomGraph &random) {
  const GraphData &g = random.graph.data();
  std::vector<Expected> expected = evaluate(g, random.inputs, random.symbols).outputs;
  for (const GraphPass &pass : graph_passes()) {
    Graph after = pass.run(random.graph);
    // A widened graph rounds less often: it means something else, and must be valid and final.
    bool widens = pass.name == "widen";
    Evaluation own = evaluate(after.data(), random.inputs, random.symbols);
    std::string fault = judge(g, widens ? own.outputs : expected, executed_outputs(after, random),
                              std::string(pass.name));
    if (!fault.empty()) return fault;
    if (!(pass.run(after) == after)) return std::string(pass.name) + " changes its own result";
  }
  Graph canonical = canonicalize(random.graph, true);
  return judge(g, expected, executed_outputs(canonical, random), "canonicalize");
}

const Target &target_of(const RandomGraph &random) {
  static const std::vector<Target> kTargets = {Target::named("h200"), Target::named("a100"),
                                               Target::named("b200"), Target::named("host")};
  return kTargets[random.inputs.size() % kTargets.size()];
}

LowerOptions options_of(const RandomGraph &random, bool strict) {
  LowerOptions options;
  options.strict = strict;
  options.sizes = random.symbols;
  return options;
}

std::string check_texts(const RandomGraph &random) {
  std::string text = to_string(random.graph);
  if (!(parse(text) == random.graph)) return "the graph does not read back";
  Graph canonical = canonicalize(random.graph);
  if (!(parse(to_string(canonical)) == canonical)) return "the canonical graph does not read back";
  LowerOptions options = options_of(random, false);
  Plan planned = plan(canonical, target_of(random), options);
  verify(planned, canonical);
  Program program = schedule(canonical, planned, target_of(random), options);
  for (const Kernel &kernel : program.kernels) {
    verify(kernel);
    std::string printed = to_string(kernel);
    if (to_string(parse_kernel(printed)) != printed) return "does not read back:\n" + printed;
  }
  return "";
}

/// Whether interpreter and host may differ: inexact functions, and bits of NaNs that are looked at.
bool is_inexact(const Program &program, const GraphData &g) {
  for (NodeId id = 0; id < g.size(); ++id) {
    bool looks = g.node(id).op == Op::Bitcast && is_float(g.dtype(g.operand(id, 0)));
    if (looks || info(g.node(id).op).is(Mufu)) return true;
  }
  auto has_online = [](auto &self, const std::vector<Stmt> &body) -> bool {
    for (const Stmt &s : body)
      if ((s.kind == StmtKind::Reduce && s.monoid == Monoid::Online) || self(self, s.body))
        return true;
    return false;
  };
  for (const Kernel &k : program.kernels)
    if (has_online(has_online, k.body)) return true;
  return false;
}

bool same_value(const Tensor &a, const Tensor &b, std::int64_t i) {
  if (a.bits(i) == b.bits(i)) return true;
  return is_float(a.dtype) && std::isnan(as_double(a.literal(i))) &&
         std::isnan(as_double(b.literal(i)));
}

std::string differences(const std::vector<Tensor> &a, const std::vector<Tensor> &b,
                        const std::string &who) {
  for (std::size_t k = 0; k < a.size(); ++k)
    for (std::int64_t i = 0; i < a[k].size(); ++i)
      if (!same_value(a[k], b[k], i))
        return who + " differ: output " + std::to_string(k) + " at " + std::to_string(i);
  return "";
}

/// As for a launch: sizes that symbolic kernels are not right for become literals.
Program lower_for_sizes(const RandomGraph &random, bool strict) {
  LowerOptions options = options_of(random, strict);
  for (;;) {
    Program program = lower(random.graph, target_of(random), options);
    std::size_t fixed = options.fixed.size();
    for (const Limit &limit : program.limits)
      if (limit.kind == Limit::Kind::NotEmpty && value_of(limit.value, random.symbols) > limit.max)
        for (const std::string &name : symbols_of(limit.value))
          options.fixed[name] = random.symbols.at(name);
    if (options.fixed.size() == fixed) return program;
  }
}

std::string check_kernels(const RandomGraph &random, bool strict) {
  Graph canonical = canonicalize(random.graph, strict);
  const Graph &meaning = strict ? random.graph : canonical;
  std::vector<Expected> expected = evaluate(meaning.data(), random.inputs, random.symbols).outputs;
  Program program = lower_for_sizes(random, strict);
  auto run = [&](const Engine &engine) {
    return run_program(program, random.inputs, random.symbols, engine);
  };
  ProgramRun first = run(interpreter());
  std::string fault = first.fault;
  if (fault.empty()) fault = judge(meaning.data(), expected, first.outputs, "interpreter");
  if (!fault.empty()) return fault;
  ProgramRun host = run(host_executor());
  fault = host.fault;
  if (fault.empty()) fault = judge(meaning.data(), expected, host.outputs, "host");
  if (fault.empty() && !is_inexact(program, canonical.data()))
    fault = differences(first.outputs, host.outputs, "interpreter and host");
  if (!fault.empty()) return fault;
  ProgramRun shuffled = run(host_executor(7));
  return shuffled.fault + differences(host.outputs, shuffled.outputs, "orders of threads");
}

/// Elements that differ only along axes of stride 0 are one element.
Tensor folded(const Tensor &tensor, const std::vector<std::int64_t> &strides) {
  GuardedMemory memory(tensor.dtype, tensor.shape, strides);
  memory.write(tensor);
  return memory.read();
}

/// Symbols by value: they need not follow from the shapes.
void launch_bound(const Executable &executable, const RandomGraph &random,
                  std::vector<GuardedMemory> &memory) {
  BindOptions options;
  options.alignment = 1;
  std::vector<std::string> names;
  for (const ArgumentInfo &a : executable.inputs()) names.push_back(a.is_scalar ? "" : a.name);
  for (const ArgumentInfo &a : executable.outputs()) names.push_back(a.name);
  std::vector<const void *> addresses;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (!names[i].empty()) options.strides[names[i]] = memory[i].strides();
    addresses.push_back(memory[i].data());
  }
  executable.bind(random.symbols, options)(nullptr, addresses.data(), addresses.size());
}

std::string check_launches(const RandomGraph &random) {
  const GraphData &g = random.graph.data();
  Entropy entropy(std::uint64_t(g.inputs.size() + 3 * g.outputs.size()));
  std::vector<Tensor> inputs;
  std::vector<GuardedMemory> memory;
  std::vector<Arg> arguments;
  auto place = [&](DType type, const std::vector<std::int64_t> &extents, bool is_input) {
    bool strided = entropy.one_in(2);
    memory.emplace_back(type, extents,
                        strided ? random_strides(entropy, extents, is_input) : row_major(extents),
                        entropy.one_in(2) ? entropy.below(17) : 0);
    arguments.push_back(tensor(memory.back().data(), extents, memory.back().strides()));
  };
  memory.reserve(g.inputs.size() + g.outputs.size());
  for (std::size_t i = 0; i < g.inputs.size(); ++i) {
    place(random.inputs[i].dtype, random.inputs[i].shape, true);
    inputs.push_back(folded(random.inputs[i], memory.back().strides()));
    memory.back().write(inputs.back());
    if (g.attr<InputAttr>(g.inputs[i]).is_scalar)
      arguments.back() = scalar_argument(inputs[i].literal(0));
  }
  for (const Output &o : g.outputs)
    place(g.dtype(o.node), evaluate(g.shape(o.node), random.symbols), false);

  Graph canonical = canonicalize(random.graph);
  std::vector<Expected> expected = evaluate(canonical.data(), inputs, random.symbols).outputs;
  CompileOptions options;
  options.executor = Executor::Host;
  options.target = target_of(random);
  Executable executable = compile(random.graph, options);
  if (g.symbols.empty())
    executable.launch(nullptr, arguments.data(), arguments.size());
  else
    launch_bound(executable, random, memory);

  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (!memory[i].is_intact()) return "memory around argument " + std::to_string(i) + " changed";
    Tensor now = memory[i].read();
    if (i >= inputs.size())
      outputs.push_back(now);
    else if (now.bytes != inputs[i].bytes)
      return "input " + std::to_string(i) + " was written";
  }
  return judge(g, expected, outputs, "launch");
}

}  // namespace

std::string passes_keep_meaning(const RandomGraph &random) {
  return catching(random, check_passes);
}

std::string texts_read_back(const RandomGraph &random) { return catching(random, check_texts); }

std::string kernels_compute(const RandomGraph &random) {
  return catching(random, [](const RandomGraph &r) { return check_kernels(r, false); });
}

std::string kernels_compute_strictly(const RandomGraph &random) {
  return catching(random, [](const RandomGraph &r) { return check_kernels(r, true); });
}

std::string launches_compute(const RandomGraph &random) { return catching(random, check_launches); }

}  // namespace fuse
