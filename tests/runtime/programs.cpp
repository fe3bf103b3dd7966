// Programs written as kernel texts.
#include "programs.h"

using namespace fuse;

namespace {

constexpr const char *kScale = R"(
kernel @scale(%x: f32[B] align 4, %s: f32[] scalar) -> (%y: f32[B] align 4) threads 128 cluster 1 index 64 {
  dims i: B
  layout L: i = grid ceil(B / 128) . thread 128
  in L {
    %a = load.1 %x[i]
    %b = load.1 %s[0]
    %c = mul %a, %b : f32
    store.1 %y[i], %c
  }
}
)";

constexpr const char *kScaleStrided = R"(
kernel @scale_strided(%x: f32[B] align 4, %s: f32[] scalar) -> (%y: f32[B] align 4) threads 128 cluster 1 index 64 {
  dims i: B
  layout L: i = grid ceil(B / 128) . thread 128
  in L {
    %a = load.1 %x[i*x.stride0]
    %b = load.1 %s[0]
    %c = mul %a, %b : f32
    store.1 %y[i], %c
  }
}
)";

constexpr const char *kFirst = R"(
kernel @first(%x: f32[B] align 4) -> () workspace (%w: f32[B] align 4, %ctr: u32[1] align 4) threads 128 cluster 1 index 64 {
  dims i: B
  layout L: i = grid ceil(B / 128) . thread 128
  in L {
    %a = load.1 %x[i]
    store.1 %w[i], %a
  }
}
)";

constexpr const char *kSecond = R"(
kernel @second(%w: f32[B] align 4) -> (%y: f32[B] align 4) threads 128 cluster 1 index 64 {
  dims i: B
  layout L: i = grid ceil(B / 128) . thread 128
  in L {
    %a = load.1 %w[i]
    %b = const 1.0 : f32
    %c = add %a, %b : f32
    store.1 %y[i], %c
  }
}
)";

Argument vector_argument(const std::string &name) { return {name, DType::F32, {Dim::symbol("B")}}; }

std::vector<Symbol> symbols() { return {{"B", {.min = 0, .max = 1 << 20}}}; }

Program program_of(const Interface &interface) {
  Program program;
  program.name = interface.name;
  program.inputs = interface.inputs;
  program.outputs = interface.outputs;
  program.symbols = interface.symbols;
  return program;
}

Step kernel_step(std::size_t kernel, std::vector<Binding> bindings) {
  Step step;
  step.kernel = kernel;
  step.bindings = std::move(bindings);
  return step;
}

constexpr auto kInput = Binding::Kind::Input;
constexpr auto kOutput = Binding::Kind::Output;
constexpr auto kWorkspace = Binding::Kind::Workspace;

}  // namespace

Interface scale_interface() {
  Argument s{"s", DType::F32, {}};
  s.is_scalar = true;
  return {"scale", {vector_argument("x"), s}, {vector_argument("y")}, symbols()};
}

Program scale_program(const LowerOptions &options) {
  Program program = program_of(scale_interface());
  bool strided = !options.inputs.empty() && options.inputs[0].strided;
  program.inputs[0].strided = strided;
  program.kernels.push_back(parse_kernel(strided ? kScaleStrided : kScale));
  program.steps.push_back(kernel_step(0, {{kInput, 0}, {kInput, 1}, {kOutput, 0}}));
  program.limits.push_back(
      {Limit::Kind::Capacity, Index::symbol("B"), 1 << 16, "more than 65536 elements"});
  if (options.sizes.contains("B") && options.sizes.at("B") > (1 << 16))
    program.limits[0].max = 1 << 19;
  PlannedKernel planned;
  planned.name = "scale";
  planned.seconds = 2e-6;
  planned.bound = "hbm";
  program.plan.kernels.push_back(planned);
  program.plan.decisions.push_back(
      {"boundary none", "one kernel", "nothing to split", 1e-6, "two kernels"});
  return program;
}

Interface staged_interface() {
  return {"staged", {vector_argument("x")}, {vector_argument("y")}, symbols()};
}

Program staged_program(const LowerOptions &) {
  Program program = program_of(staged_interface());
  program.workspace.push_back({Index::symbol("B") * Index(4), false});
  program.workspace.push_back({Index(4), true});
  program.kernels.push_back(parse_kernel(kFirst));
  program.kernels.push_back(parse_kernel(kSecond));
  program.steps.push_back(kernel_step(0, {{kInput, 0}, {kWorkspace, 0}, {kWorkspace, 1}}));
  program.steps.push_back(kernel_step(1, {{kWorkspace, 0}, {kOutput, 0}}));
  return program;
}

Program extern_program(const LowerOptions &) {
  Program program = program_of(staged_interface());
  Step step;
  step.is_extern = true;
  step.extern_name = "twice";
  step.num_operands = 1;
  step.dtypes = {DType::F32, DType::F32};
  step.shapes = {{Dim::symbol("B")}, {Dim::symbol("B")}};
  step.bindings = {{kInput, 0}, {kOutput, 0}};
  program.steps.push_back(std::move(step));
  return program;
}

const fuse::Graph &softmax() {
  static const fuse::Graph graph = fuse::parse(R"(graph @softmax(%x: bf16[B, C]) {
  symbol B min=1
  symbol C min=1
  %y = softmax %x axis=1
  return %y as y
})");
  return graph;
}

std::vector<std::string> reasons(const std::vector<fuse::Compilation> &compilations) {
  std::vector<std::string> all;
  for (const fuse::Compilation &c : compilations) all.push_back(c.reason);
  return all;
}
