// Texts of the stages of a compilation.
#include "emit.h"

#include "codegen/codegen.h"
#include "ir/format.h"
#include "ir/graph_text.h"
#include "ir/op.h"
#include "ir/program_text.h"
#include "passes/passes.h"
#include "runtime/worker.h"

#include <algorithm>
#include <cstdio>

namespace {

using namespace fuse;

std::string list_ops() {
  std::string text;
  for (int i = 0; i < kNumOps; ++i) {
    const OpInfo &op = info(static_cast<Op>(i));
    append(text, "{:<14} {}\n", op.text, op.doc);
  }
  text += "\nbuilders:";
  for (std::string_view name : text_builder_names()) append(text, " {}", name);
  return text + "\n";
}

std::string list_targets() {
  std::string text;
  for (const std::string &name : Target::names()) {
    Target t = Target::named(name);
    append(text, "{:<10} sm_{:<4} {:>4} SMs  copy {:.2f} TB/s{}\n", name, t.sm, t.num_sms,
           t.hbm_bytes * 1e-12, t.measured ? " measured" : "");
  }
  return text;
}

LowerOptions lower_options(const Options &options) {
  LowerOptions lowering;
  lowering.strict = options.strict;
  lowering.sizes = options.dims;
  return lowering;
}

bool is_code(Stage stage) { return stage == Stage::Llvm || stage == Stage::Ptx; }

/// LLVM IR or PTX of the kernels. LLVM gets a stack of known size.
std::string code_of(const std::vector<const Kernel *> &kernels, Stage stage, const Target &target) {
  std::string text;
  run_on_worker([&] {
    if (stage == Stage::Ptx) {
      text = emit_ptx(kernels, target);
      return;
    }
    for (const Kernel *k : kernels) text += emit_llvm(*k, target);
  });
  return text;
}

std::string plan_text(const Graph &graph, const Target &target, const Options &options) {
  Graph canonical = canonicalize(graph, options.strict);
  return to_string(plan(canonical, target, lower_options(options)), canonical);
}

std::string lowered_text(const Graph &graph, Stage stage, const Target &target,
                         const Options &options) {
  Program program = lower(graph, target, lower_options(options));
  if (stage == Stage::Program) return to_string(program);
  std::vector<const Kernel *> kernels;
  std::string text;
  for (const Kernel &k : program.kernels) {
    kernels.push_back(&k);
    append(text, "{}{}", text.empty() ? "" : "\n", to_string(k));
  }
  return is_code(stage) ? code_of(kernels, stage, target) : text;
}

}  // namespace

std::string lists(const Options &options) {
  std::string text;
  if (options.list_ops) text += list_ops();
  if (options.list_passes)
    for (const GraphPass &p : graph_passes()) append(text, "{:<16} {}\n", p.name, p.doc);
  if (options.list_targets) text += list_targets();
  return text;
}

Graph transform(const Graph &graph, const Options &options) {
  std::vector<std::string_view> names(options.passes.begin(), options.passes.end());
  return run_passes(graph, names, [&](const PassReport &report) {
    std::string text;
    if (options.time)
      append(text, "{:<16} {:8.3f} ms{}\n", report.name, 1e3 * report.seconds,
             report.changed ? "" : "  no change");
    if (options.print_after == "all" || options.print_after == report.name)
      append(text, "// after {}\n{}", report.name, to_string(report.after));
    std::fputs(text.c_str(), stderr);
  });
}

std::string emit_graph(const Graph &graph, const Options &options) {
  Target target = options.resolved_target();
  std::string text;
  for (Stage stage : options.emit) {
    if (stage == Stage::Graph)
      text += to_string(graph);
    else if (stage == Stage::Plan)
      text += plan_text(graph, target, options);
    else
      text += lowered_text(graph, stage, target, options);
  }
  return text;
}

std::string emit_kernel(std::string_view source, const Options &options) {
  Kernel kernel = parse_kernel(source, options.input);
  verify(kernel);
  std::string text;
  for (Stage stage : options.emit) {
    if (stage == Stage::Graph || stage == Stage::Plan || stage == Stage::Program)
      throw UsageError("--emit: a kernel has no graph, no plan and no program");
    text +=
        is_code(stage) ? code_of({&kernel}, stage, options.resolved_target()) : to_string(kernel);
  }
  return text;
}

std::string explain(const Graph &graph, const Options &options) {
  CompileOptions compiling;
  compiling.executor = Executor::None;
  compiling.target = options.resolved_target();
  compiling.strict = options.strict;
  compiling.expected_sizes = options.dims;
  return compile(graph, compiling).explain(Dims(options.dims));
}
