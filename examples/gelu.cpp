// The tanh form of gelu on the hidden states of a 7B model, written as the naive chain of
// primitives, compiled and run: on the GPU if there is one, else on the host.
#include <fuse/jit.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
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

/// What the machines would take: fused as planned, and with a kernel for each operation.
void print_predictions(const fuse::Graph &graph) {
  std::printf("%-8s %8s %12s %14s\n", "target", "kernels", "HBM bytes", "predicted us");
  for (const char *name : {"a100", "h100", "h200", "b100"}) {
    fuse::CompileOptions options;
    options.target = fuse::Target::named(name);
    options.executor = fuse::Executor::None;
    fuse::Executable executable = fuse::compile(graph, options);
    std::int64_t bytes = 0;
    double us = 0;
    auto kernels = executable.kernels({kRows});
    for (const fuse::KernelReport &k : kernels) {
      bytes += k.bytes;
      us += k.predicted_us;
    }
    std::printf("%-8s %8zu %12lld %14.1f\n", name, kernels.size(), static_cast<long long>(bytes),
                us);
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

fuse::DeviceBuffer memory(const fuse::Executable &executable, std::size_t bytes) {
  bool on_gpu = executable.executor() == "gpu";
  return on_gpu ? fuse::DeviceBuffer::device(bytes) : fuse::DeviceBuffer::host(bytes);
}

/// Microseconds of a launch: the median of several, each waited for.
double microseconds(const fuse::Executable &executable, const fuse::TensorView &x,
                    const fuse::DeviceBuffer &y, const fuse::TensorView &y_view) {
  std::uint16_t first;
  auto start = std::chrono::steady_clock::now();
  executable.launch(nullptr, {x, y_view});
  y.copy_to_host(&first, sizeof first);  // waits
  std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count();
}

}  // namespace

int main() try {
  fuse::Graph graph = gelu();
  std::printf("%s\n", to_string(graph).c_str());
  print_predictions(graph);

  fuse::Executable executable = fuse::compile(graph);
  std::vector<std::uint16_t> input = ramp(), output(input.size());
  std::size_t bytes = 2 * input.size();
  fuse::DeviceBuffer x = memory(executable, bytes), y = memory(executable, bytes);
  x.copy_from_host(input.data(), bytes);
  fuse::TensorView x_view = fuse::tensor(x.data(), {kRows, kColumns});
  fuse::TensorView y_view = fuse::tensor(y.data(), {kRows, kColumns});
  executable.launch(nullptr, {x_view, y_view});
  y.copy_to_host(output.data(), bytes);
  std::size_t wrong = count_wrong(input, output);
  double us = microseconds(executable, x_view, y, y_view);
  std::printf(
      "\nran on the %s: %zu of %zu elements wrong, %.0f us with the call, %.3g elements/s\n",
      std::string(executable.executor()).c_str(), wrong, input.size(), us,
      1e6 * static_cast<double>(input.size()) / us);
  return wrong == 0 ? 0 : 1;
} catch (const fuse::Error &e) {
  std::fprintf(stderr, "%s: %s\n", e.where().c_str(), e.what());
  return 1;
}
