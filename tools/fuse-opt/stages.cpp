// Texts of the stages of a compilation, and the times of their making.
#include "stages.h"

#include "codegen/codegen.h"
#include "files.h"

#include "ir/format.h"
#include "ir/graph_data.h"
#include "ir/program_text.h"
#include "passes/passes.h"
#include "passes/size_class.h"
#include "runtime/worker.h"
#include "targets.h"

#include <fuse/grad.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace fuse;

namespace {

bool is_code(Stage stage) {
  return stage == Stage::Llvm || stage == Stage::Ptx || stage == Stage::Sass;
}

/// Runs the function; --time reports how long it took.
template <class Function>
auto timed(std::string_view what, const Options &options, Function function) {
  auto start = std::chrono::steady_clock::now();
  auto result = function();
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  if (options.time)
    std::fprintf(stderr, "%-16.*s %8.3f ms\n", static_cast<int>(what.size()), what.data(),
                 elapsed.count());
  return result;
}

/// Reports passes as --time and --print-after ask.
PassListener listener(const Options &options) {
  return [&options](const PassReport &report) {
    std::string text;
    if (options.time)
      append(text, "{:<16} {:8.3f} ms{}\n", report.name, 1e3 * report.seconds,
             report.changed ? "" : "  no change");
    if (options.print_after == "all" || options.print_after == report.name)
      append(text, "// after {}\n{}", report.name, to_string(report.after));
    std::fputs(text.c_str(), stderr);
  };
}

/// Code of kernels. LLVM gets a stack of known size.
std::string code_of(const std::vector<Kernel> &kernels, Stage stage, const Target &target) {
  if (kernels.empty()) return "";
  std::string text;
  run_on_worker([&] {
    std::vector<const Kernel *> pointers;
    for (const Kernel &k : kernels) pointers.push_back(&k);
    if (stage != Stage::Llvm)
      text = emit_ptx(pointers, target);
    else
      for (const Kernel &k : kernels) text += emit_llvm(k, target);
  });
  return stage == Stage::Sass ? sass_of(text) : text;
}

std::string text_of(const std::vector<Kernel> &kernels) {
  std::string text;
  for (const Kernel &k : kernels) append(text, "{}{}", text.empty() ? "" : "\n", to_string(k));
  return text;
}

/// A stage of something that is lowered already.
std::string lowered_text(const Program &program, Stage stage, const Target &target,
                         const Options &options) {
  if (is_code(stage))
    return timed(to_string(stage), options,
                 [&] { return code_of(program.kernels, stage, target); });
  return stage == Stage::Program ? to_string(program) : text_of(program.kernels);
}

bool wants(const Options &options, std::initializer_list<Stage> stages) {
  return std::find_first_of(options.emit.begin(), options.emit.end(), stages.begin(),
                            stages.end()) != options.emit.end();
}

/// Whether offsets of all values fit in 32 bits, with room for slots beyond them.
bool has_narrow_offsets(const GraphData &graph, const Bindings &given) {
  constexpr double kMost = INT32_MAX - (1 << 20);
  Bindings sizes = expected_sizes(graph.symbols, given);
  for (NodeId id = 0; id < graph.size(); ++id) {
    double elements = 1;
    for (const Dim &d : graph.shape(id)) elements *= static_cast<double>(d.evaluate(sizes));
    if (elements > kMost) return false;
  }
  return true;
}

/// The texts of a graph's stages for a target. Nothing is made that no stage asks for.
class Lowering {
 public:
  Lowering(const Graph &graph, const Target &target, const Options &options)
      : graph_(graph), target_(target), options_(options), planned_{graph.clone(), {}} {
    if (options.emit.size() == static_cast<std::size_t>(std::count(
                                   options.emit.begin(), options.emit.end(), Stage::Graph)))
      return;
    lowering_ = lowering_of(graph, options);
    planned_ = timed("passes, plan", options,
                     [&] { return plan_graph(graph, target, lowering_, listener(options)); });
    if (!wants(options, {Stage::Program, Stage::Kernel, Stage::Llvm, Stage::Ptx, Stage::Sass}))
      return;
    program_ = timed("schedule", options,
                     [&] { return schedule(planned_.graph, planned_.plan, target, lowering_); });
  }

  std::string text(Stage stage) const {
    if (stage == Stage::Graph) return to_string(graph_);
    if (stage == Stage::Plan) return to_string(planned_.plan, planned_.graph);
    if (stage == Stage::Dot) return to_dot(planned_.plan, planned_.graph);
    return lowered_text(program_, stage, target_, options_);
  }

 private:
  const Graph &graph_;
  const Target &target_;
  const Options &options_;
  LowerOptions lowering_;
  PlannedGraph planned_;
  Program program_;
};

/// Where the texts go.
class Sink {
 public:
  Sink(std::string name, const Options &options)
      : name_(std::move(name)),
        options_(options),
        has_folder_(options.output != "-" && is_folder(options.output)) {}

  void add(Stage stage, const Target &target, const std::string &text) {
    if (!has_folder_) {
      all_ += text;
      return;
    }
    std::string path = options_.output + "/" + name_;
    if (options_.targets.size() > 1 && stage != Stage::Graph) path += "." + target.name;
    write_file(path + "." + std::string(to_string(stage)), text);
  }

  void finish() {
    if (!has_folder_) write_file(options_.output, all_);
  }

 private:
  std::string name_, all_;
  const Options &options_;
  bool has_folder_;
};

void refuse_stages(const Options &options, std::initializer_list<Stage> stages, const char *what) {
  for (Stage stage : options.emit)
    if (std::find(stages.begin(), stages.end(), stage) != stages.end())
      throw UsageError("--emit: a " + std::string(what) + " has no " +
                       std::string(to_string(stage)));
}

/// --emit of kernels; `own` prints the value that holds them.
void emit_lowered(const std::string &name, const Program &program, const Options &options) {
  Sink sink(name, options);
  for (const Target &target : targets_of(options))
    for (Stage stage : options.emit)
      sink.add(stage, target, lowered_text(program, stage, target, options));
  sink.finish();
}

std::string output_names(const Graph &graph) {
  std::string names;
  for (const Output &o : graph.data().outputs) names += (names.empty() ? "" : ", ") + o.name;
  return names;
}

}  // namespace

Graph transform(const Graph &graph, const Options &options) {
  std::vector<std::string_view> names(options.passes.begin(), options.passes.end());
  if (options.grad.empty()) return run_passes(graph, names, listener(options));
  if (options.grad_output.empty() && graph.outputs().size() > 1)
    throw UsageError("--grad needs --grad-output: the graph has the outputs " +
                     output_names(graph));
  Graph joint = grad(graph, options.grad, options.grad_output);
  return run_passes(joint, names, listener(options));
}

LowerOptions lowering_of(const Graph &graph, const Options &options) {
  LowerOptions lowering;
  lowering.strict = options.strict;
  lowering.batch_invariant = options.batch_invariant;
  lowering.sizes = options.dims;
  lowering.divisors = divisors_of(options.dims);
  lowering.narrow_offsets = !options.dims.empty() && has_narrow_offsets(graph.data(), options.dims);
  lowering.overrides = options.overrides;
  lowering.tunings = options.tunings;
  return lowering;
}

void emit(const Graph &graph, const Options &options) {
  Sink sink(std::string(graph.name()), options);
  bool first = true;
  for (const Target &target : targets_of(options)) {
    Lowering lowering(graph, target, options);
    for (Stage stage : options.emit)
      if (first || stage != Stage::Graph) sink.add(stage, target, lowering.text(stage));
    first = false;
  }
  sink.finish();
}

void emit(const Program &program, const Options &options) {
  refuse_stages(options, {Stage::Graph, Stage::Plan, Stage::Dot}, "program");
  emit_lowered(program.name, program, options);
}

void emit(const Kernel &kernel, const Options &options) {
  refuse_stages(options, {Stage::Graph, Stage::Plan, Stage::Dot, Stage::Program}, "kernel");
  Program program;
  program.kernels = {kernel};
  emit_lowered(kernel.name, program, options);
}
