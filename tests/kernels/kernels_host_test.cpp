// The kernels of this folder as emitted code on the host executor, against their interpretation.
#include "codegen/host.h"
#include "kernels/kernel_run.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fuse::test {
namespace {

struct Case {
  const char *kernel;
  Bindings symbols;
};

std::ostream &operator<<(std::ostream &out, const Case &c) { return out << c.kernel; }

/// The table of instances as a launch passes it.
std::vector<std::uint64_t> table_of(const Kernel &kernel, const Bindings &symbols,
                                    std::map<std::string, Tensor> &tensors) {
  TableShape shape = table_shape(kernel);
  std::vector<std::uint64_t> table = make_table(kernel, symbols);
  for (const LaunchBuffer &at : launch_buffers(kernel)) {
    const Buffer &buffer = kernel.buffers[at.buffer];
    if (!buffer.each) continue;
    const void *data = tensors.at(name_of(kernel, at)).data();
    set_entry(table.data(), shape.buffers[at.buffer], at.instance,
              buffer.role == BufferRole::Scalar ? data : &data);
  }
  return table;
}

/// Launches the emitted kernel on tensors like those of the run.
std::map<std::string, Tensor> run_on_host(KernelRun &run, Bindings symbols, std::uint64_t seed) {
  const Kernel &kernel = run.kernel();
  std::map<std::string, Tensor> tensors;
  std::vector<void *> pointers, arguments;
  std::vector<std::int64_t> sizes;
  for (const LaunchBuffer &at : launch_buffers(kernel))
    tensors.emplace(name_of(kernel, at), run[name_of(kernel, at)]);
  pointers.reserve(kernel.buffers.size());
  for (const Buffer &b : kernel.buffers) {
    if (b.each) continue;
    pointers.push_back(tensors.at(b.name).data());
    bool is_scalar = b.role == BufferRole::Scalar;
    arguments.push_back(is_scalar ? pointers.back() : static_cast<void *>(&pointers.back()));
  }
  std::vector<std::string> names = symbols_of(kernel);
  sizes.reserve(names.size());
  for (const std::string &name : names) {
    sizes.push_back(symbols.at(name));
    arguments.push_back(&sizes.back());
  }
  std::vector<std::uint64_t> table = table_of(kernel, symbols, tensors);
  arguments.push_back(table.data());
  HostLaunch launch;
  launch.grid = static_cast<std::uint64_t>(num_blocks(kernel, symbols));
  launch.arguments = arguments.data();
  launch.shuffle_seed = seed;
  HostKernel(kernel, Target::named("host")).launch(launch);
  return tensors;
}

class HostRun : public testing::TestWithParam<Case> {};

TEST_P(HostRun, AgreesWithTheInterpreter) {
  Bindings symbols = GetParam().symbols;
  KernelRun run(GetParam().kernel, symbols);
  const Kernel &kernel = run.kernel();
  for (const LaunchBuffer &at : launch_buffers(kernel))
    if (kernel.buffers[at.buffer].role == BufferRole::Scalar) run[name_of(kernel, at)].set(0, 0.5);
  std::map<std::string, Tensor> first = run_on_host(run, symbols, 0);
  std::map<std::string, Tensor> second = run_on_host(run, symbols, 5);
  run.run();
  for (const LaunchBuffer &at : launch_buffers(kernel)) {
    const Buffer &b = kernel.buffers[at.buffer];
    std::string name = name_of(kernel, at);
    const Tensor &expected = run[name], &actual = first.at(name);
    EXPECT_TRUE(actual == second.at(name)) << name << " depends on the order of threads";
    double tolerance = size_of(b.dtype) <= 2 && is_float(b.dtype) ? 1.0 / 64 : 2e-5;
    for (std::int64_t i = 0; i < expected.size(); ++i) {
      if (std::isnan(expected[i]) && std::isnan(actual[i])) continue;
      double error = std::fabs(actual[i] - expected[i]);
      ASSERT_LE(error, tolerance * (1 + std::fabs(expected[i]))) << name << " at " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, HostRun,
    testing::Values(Case{"gelu", {{"N", 4099}}}, Case{"softmax", {{"B", 3}}},
                    Case{"softmax_odd", {{"B", 9}}}, Case{"softmax_cluster", {{"B", 2}}},
                    Case{"layer_norm", {{"B", 2}}}, Case{"dropout", {{"N", 4099}}},
                    Case{"random_words", {{"R", 14}, {"C", 132}}},
                    Case{"layer_norm_backward", {{"B", 7}, {"G", 3}}},
                    Case{"partial_sums", {{"G", 70}, {"C", 40}}}, Case{"softmax_long", {{"B", 2}}},
                    Case{"batch_norm", {{"N", 3}, {"C", 2}}},
                    Case{"cast_transpose", {{"U", 304}, {"V", 200}}},
                    Case{"column_sum", {{"R", 77}, {"C", 1000}, {"G", 2}}},
                    Case{"cumsum", {{"B", 2}, {"C", 5000}}}, Case{"gemv_int8", {{"R", 2}}},
                    Case{"adam", {{"N", 5000}}}, Case{"adam_many", {{"N", 1400}}},
                    Case{"scaled_sums_many", {{"R", 4}}}, Case{"row_sums_many", {{"R", 2}}},
                    Case{"rotary", {{"T", 5}, {"H", 3}}}, Case{"gather", {{"V", 10}, {"T", 5}}},
                    Case{"cross_entropy", {{"B", 3}, {"C", 5001}}}));

}  // namespace
}  // namespace fuse::test
