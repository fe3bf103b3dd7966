// The tanh form of gelu on the hidden states of a 7B model, written as the naive chain of
// primitives, compiled and run: on the GPU if there is one, else on the host.
#include <fuse/jit.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t kRows = 512, kColumns = 11008;

fuse::Graph gelu() {
  fuse::Graph g("gelu");
  auto rows = g.dim("B", {.min = 1, .max = 1 << 20});  // symbolic: one program serves every B
  auto x = g.input("x", fuse::bf16, {rows, kColumns});
  auto u = 0.7978845608 * (x + 0.044715 * x * x * x);  // literals are f32, not rounded to bf16
  g.output("y", 0.5 * x * (1.0 + tanh(u)));
  return g;
}

void print_prediction(const char *target, const char *what, const fuse::PlanTotals &totals) {
  std::printf("%-8s %-8s %8zu %9.1f %14.1f\n", target, what, totals.kernels, 1e-6 * totals.bytes,
              totals.predicted_us);
}

/// Beside one kernel for each operation, as a framework without fusion runs it.
void print_predictions(const fuse::Graph &graph) {
  std::printf("%-8s %-8s %8s %9s %14s\n", "target", "", "launches", "HBM MB", "predicted us");
  fuse::CompileOptions options;
  options.executor = fuse::Executor::None;
  options.expected_sizes = {{"B", kRows}};
  for (const char *target : {"a100", "h100", "h200", "b100"}) {
    options.target = fuse::Target::named(target);
    fuse::PlanOverview overview = fuse::compile(graph, options).overview();
    print_prediction(target, "unfused", overview.unfused);
    print_prediction(target, "fused", overview.fused);
  }
}

float from_bf16(std::uint16_t bits) {
  std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

std::vector<std::uint16_t> ramp() {
  std::vector<std::uint16_t> x(kRows * kColumns);
  for (std::size_t i = 0; i < x.size(); ++i) {
    float value = static_cast<float>(i % 1601) / 200.0f - 4.0f;
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    x[i] = static_cast<std::uint16_t>(bits >> 16);
  }
  return x;
}

/// Elements that differ from gelu in double by more than one place of bf16.
std::size_t count_wrong(const std::vector<std::uint16_t> &x, const std::vector<std::uint16_t> &y) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double v = from_bf16(x[i]);
    double right = 0.5 * v * (1 + std::tanh(0.7978845608 * (v + 0.044715 * v * v * v)));
    // 1 + tanh cancels in f32 where tanh is near -1.
    double allowed = std::fabs(right) / 128 + std::fabs(v) * 0x1p-22;
    if (!(std::fabs(from_bf16(y[i]) - right) <= allowed)) ++wrong;
  }
  return wrong;
}

struct Tensors {
  fuse::DeviceBuffer x, y;
};

Tensors make_tensors(const fuse::Executable &executable, const std::vector<std::uint16_t> &input) {
  std::size_t bytes = 2 * input.size();
  bool on_gpu = executable.executor() == "gpu";
  auto make = [&] {
    return on_gpu ? fuse::DeviceBuffer::device(bytes) : fuse::DeviceBuffer::host(bytes);
  };
  Tensors tensors{make(), make()};
  tensors.x.copy_from_host(input.data(), bytes);
  return tensors;
}

/// Mean microseconds of launches that go through the sets of tensors in turn.
double microseconds(const fuse::Launcher &launch, const std::vector<Tensors> &sets, int launches) {
  std::uint16_t first;
  auto run = [&](int n) {
    for (int i = 0; i < n; ++i) {
      const Tensors &t = sets[static_cast<std::size_t>(i) % sets.size()];
      launch(nullptr, {t.x.data(), t.y.data()});
    }
    sets[0].y.copy_to_host(&first, sizeof first);  // waits
  };
  run(1);
  auto start = std::chrono::steady_clock::now();
  run(launches);
  std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / launches;
}

/// One set of tensors stays in the L2 cache of the GPU; many sets in turn come from HBM.
void print_times(const fuse::Executable &executable, std::vector<Tensors> sets,
                 const std::vector<std::uint16_t> &input) {
  fuse::Launcher launch = executable.bind({kRows});
  double elements = static_cast<double>(input.size());
  if (executable.executor() == "host") {
    double us = microseconds(launch, sets, 2);
    std::printf("host: %.0f us, %.3g elements/s\n", us, 1e6 * elements / us);
    return;
  }
  auto print = [&](const char *where, double us) {
    std::printf("gpu, %s: %.2f us, %.0f GB/s\n", where, us, 4e-3 * elements / us);
  };
  print("warm from L2", microseconds(launch, sets, 500));
  while (sets.size() < 32) sets.push_back(make_tensors(executable, input));
  print("cold from HBM", microseconds(launch, sets, 512));
}

}  // namespace

int main() try {
  fuse::Graph graph = gelu();
  std::printf("%s\n", to_string(graph).c_str());
  print_predictions(graph);

  fuse::Executable executable = fuse::compile(graph);
  std::vector<std::uint16_t> input = ramp(), output(input.size());
  Tensors tensors = make_tensors(executable, input);
  executable.launch(nullptr, {fuse::tensor(tensors.x.data(), {kRows, kColumns}),
                              fuse::tensor(tensors.y.data(), {kRows, kColumns})});
  tensors.y.copy_to_host(output.data(), 2 * output.size());
  std::size_t wrong = count_wrong(input, output);
  std::printf("\nran on the %s: %zu of %zu elements wrong\n",
              std::string(executable.executor()).c_str(), wrong, input.size());
  print_times(executable, {tensors}, input);
  return wrong == 0 ? 0 : 1;
} catch (const fuse::Error &e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
