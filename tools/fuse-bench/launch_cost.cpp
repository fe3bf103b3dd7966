// Every call is timed on its own and the median taken; in between the stream is waited for, so that
// no call waits for a place in its queue.
#include "launch_cost.h"

#include "capture.h"
#include "ir/float_bits.h"
#include "runtime/gpu_timer.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace fuse::bench {

using namespace cuda;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kInQueue = 32, kLeast = 20 * kInQueue, kMost = 10000;
constexpr double kSecondsOfCalls = 2;
constexpr int kInGraph = 100, kReplays = 10;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Seconds of each of a queue's calls.
void time_queue(const std::function<void()> &call, const Stream &stream,
                std::vector<double> &seconds) {
  for (int i = 0; i < kInQueue; ++i) {
    auto start = Clock::now();
    call();
    seconds.push_back(seconds_since(start));
  }
  stream.wait();
}

/// Median microseconds of the host for each of the calls. They take turns, so that what changes the
/// machine's speed changes all of them.
std::vector<double> host_us(const std::vector<std::function<void()>> &calls, const Stream &stream) {
  std::vector<std::vector<double>> seconds(calls.size());
  auto take_turns = [&] {
    for (std::size_t i = 0; i < calls.size(); ++i) time_queue(calls[i], stream, seconds[i]);
  };
  take_turns();  // warms up
  for (std::vector<double> &s : seconds) s.clear();
  auto start = Clock::now();
  int count = 0;
  while (count < kLeast || (count < kMost && seconds_since(start) < kSecondsOfCalls)) {
    take_turns();
    count += kInQueue;
  }
  std::vector<double> us;
  for (std::vector<double> &s : seconds) us.push_back(1e6 * median(std::move(s)));
  return us;
}

Arg scalar_of(DType type, const void *address) {
  Literal literal{type, 0};
  std::memcpy(&literal.bits, address, size_of(type));
  if (is_float(type)) return as_double(literal);
  if (type == DType::U64) return literal.bits;
  return as_int(literal);
}

/// The arguments as launch() takes them.
std::vector<Arg> arguments_of(const Instance &instance) {
  std::vector<ArgumentInfo> infos = instance.executable().inputs();
  for (const ArgumentInfo &info : instance.executable().outputs()) infos.push_back(info);
  std::vector<Arg> arguments;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const void *address = instance.arguments()[i];
    if (infos[i].is_scalar)
      arguments.push_back(scalar_of(infos[i].dtype, address));
    else
      arguments.push_back(tensor(address, instance.shape_of(infos[i])));
  }
  return arguments;
}

void launch_bare(const CUkernelNodeParams &k, CUstream stream) {
  FUSE_CUDA(cuLaunchKernel, k.function, k.grid_x, k.grid_y, k.grid_z, k.block_x, k.block_y,
            k.block_z, k.shared_bytes, stream, k.arguments, k.extra);
}

/// Median microseconds of a kernel on the device.
double replayed_us(const std::function<void()> &launch, int kernels, const Stream &stream) {
  Capture many(stream, [&] {
    for (int i = 0; i < kInGraph; ++i) launch();
  });
  many.replay(stream);
  stream.wait();
  std::vector<double> seconds;
  for (int i = 0; i < kReplays; ++i)
    seconds.push_back(seconds_on(stream, [&] { many.replay(stream); }));
  return 1e6 * median(std::move(seconds)) / (kInGraph * kernels);
}

}  // namespace

LaunchCost time_launches(const Instance &instance) {
  Stream stream;
  std::vector<Arg> arguments = arguments_of(instance);
  const std::vector<const void *> &addresses = instance.arguments();
  auto launch = [&] { instance.executable().launch(stream, arguments.data(), arguments.size()); };
  auto bound = [&] { instance.launcher()(stream, addresses.data(), addresses.size()); };
  FUSE_CUDA(cuStreamSynchronize, nullptr);  // the arguments are there
  launch();
  Capture once(stream, bound);
  std::vector<CUkernelNodeParams> kernels = once.kernels();
  auto bare = [&] {
    for (const CUkernelNodeParams &k : kernels) launch_bare(k, stream);
  };
  std::vector<double> us = host_us({launch, bound, bare}, stream);
  LaunchCost cost{static_cast<int>(kernels.size()), us[0], us[1], us[2]};
  if (!kernels.empty()) cost.replayed = replayed_us(bound, cost.kernels, stream);
  return cost;
}

LaunchResult measure_launch(const Row &row) {
  LaunchResult result{row, "", {}};
  try {
    Instance instance(Source(row, row.sizes), Executor::Gpu);
    instance.set_arguments(instance.random_inputs(row, row.sizes));
    result.cost = time_launches(instance);
  } catch (const Error &e) {
    result.error = e.what();
  }
  return result;
}

}  // namespace fuse::bench
