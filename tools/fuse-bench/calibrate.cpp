#include "calibrate.h"

#include "capture.h"
#include "codegen/codegen.h"
#include "instance.h"
#include "ir/float_bits.h"
#include "launch_cost.h"
#include "progress.h"
#include "report_json.h"
#include "runtime/device.h"
#include "runtime/module.h"
#include "runtime/worker.h"
#include "sm_clock.h"
#include "text.h"

#include <algorithm>
#include <cstdio>

namespace fuse::bench {

using namespace cuda;

namespace {

std::vector<Probe> all_probes(const Target &target) {
  std::vector<Probe> probes;
  for (auto *make : {memory_probes, pipe_probes, row_probes})
    for (Probe &p : make(target)) probes.push_back(std::move(p));
  return probes;
}

/// A scalar factor a little below 1 and summands near 0 keep chains from infinities, whose bits
/// would switch nothing; integers are odd.
std::vector<Tensor> quiet_inputs(const Instance &instance) {
  Row row;
  row.index_limits[""] = "1048576";
  std::vector<Tensor> inputs = instance.random_inputs(row, {});
  std::vector<ArgumentInfo> infos = instance.executable().inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!infos[i].is_scalar) continue;
    double value = infos[i].name == "s0" ? 0.999 : 0.015;
    DType type = infos[i].dtype;
    inputs[i].set_bits(
        0, is_float(type) ? float_literal(type, value).bits : int_literal(type, 0x5bd1e995).bits);
  }
  return inputs;
}

Sample sample_of(const Probe &probe, const GpuTimer &timer, const SmClock &clock) {
  Instance instance(Source(probe.text, probe.sizes), Executor::Gpu);
  instance.set_arguments(quiet_inputs(instance));
  Sample sample{probe};
  sample.seconds = 1e-6 * timer.median_us([&] { instance.run(); });
  sample.clock_hz = clock.hertz();
  return sample;
}

/// Of one kernel after another, all enqueued behind writes that take longer than enqueueing them.
double busy_us(const Instance &instance) {
  constexpr int kKernels = 200, kWrites = 12;
  DeviceBuffer memory = DeviceBuffer::device(std::size_t{1} << 30);
  auto address = reinterpret_cast<CUdeviceptr>(memory.data());
  auto fill = [&] {
    for (int i = 0; i < kWrites; ++i)
      FUSE_CUDA(cuMemsetD8Async, address, 0, memory.size(), nullptr);
  };
  std::vector<double> seconds;
  for (int run = 0; run < 9; ++run) {
    FUSE_CUDA(cuStreamSynchronize, nullptr);
    fill();
    seconds.push_back(seconds_on(nullptr, [&] {
      for (int i = 0; i < kKernels; ++i) instance.run();
    }));
  }
  std::sort(seconds.begin(), seconds.end());
  return 1e6 * seconds[seconds.size() / 2] / kKernels;
}

LaunchTimes time_empty_kernel() {
  Instance instance(Source(empty_kernel(), Bindings{}), Executor::Gpu);
  instance.set_arguments(quiet_inputs(instance));
  LaunchCost cost = time_launches(instance);
  return {busy_us(instance), cost.replayed, cost.bare};
}

/// SMs that clusters of the size reach, one block on each: more than half of its shared memory
/// keeps a second block away.
int count_usable_sms(int cluster, const Target &target) {
  std::string name = formatted("row_cluster_{}", cluster), ptx;
  for (const Probe &p : row_probes(target)) {
    if (p.name != name) continue;
    Kernel kernel = parse_kernel(p.text);
    run_on_worker([&] { ptx = emit_ptx({&kernel}, target); });
    FunctionSettings settings{name, kernel.threads, cluster, target.shared_per_sm / 2 + 1024};
    Context context = context_of(nullptr, 0);
    CUfunction function = load_function(context, assemble(ptx), settings);
    return cluster * max_active_clusters(function, settings);
  }
  return 0;
}

void write_figures(const std::string &path, const std::vector<Figure> &figures) {
  Machine machine = describe_machine(0);
  nlohmann::json document = document_of(machine);
  document["figures"] = nlohmann::json::array();
  for (const Figure &f : figures)
    document["figures"].push_back({{"name", f.name},
                                   {"measured", f.measured},
                                   {"built_in", f.built_in},
                                   {"is_of_target", f.is_field},
                                   {"what", f.what}});
  write_document(path, document);
}

}  // namespace

Calibration calibrate(const Target &target, const Options &options) {
  GpuTimer timer(0, options.runs);
  SmClock clock;
  Calibration calibration;
  std::vector<Probe> probes = all_probes(target);
  Progress progress(probes.size() + 3);
  progress.next("copy by the driver");
  calibration.driver_copy = timer.copy_bandwidth().timed;
  for (const Probe &probe : probes) {
    progress.next(probe.name);
    calibration.samples.push_back(sample_of(probe, timer, clock));
  }
  progress.next("launches");
  calibration.launch = time_empty_kernel();
  progress.next("clusters");
  for (int cluster = 2; cluster <= target.max_cluster; cluster *= 2)
    calibration.usable_sms[cluster] = count_usable_sms(cluster, target);
  return calibration;
}

std::string probe_texts(const Target &target, const std::vector<std::string> &filters) {
  std::string text;
  for (const Probe &probe : all_probes(target)) {
    auto matches = [&](const std::string &part) { return probe.name.find(part) != part.npos; };
    if (!filters.empty() && std::none_of(filters.begin(), filters.end(), matches)) continue;
    for (const auto &[symbol, size] : probe.sizes) append(text, "// {} = {}\n", symbol, size);
    text += probe.text;
  }
  if (text.empty())
    throw UsageError("no probe has such a name: --calibrate --list prints them all");
  return text;
}

void run_calibration(const Options &options) {
  ContextScope scope(primary_context(0));
  Target target = target_of(0);
  std::vector<Figure> figures = figures_of(calibrate(target, options), target);
  Machine machine = describe_machine(0);
  std::string head = formatted(
      "// {}, driver {}: measured by fuse-bench --calibrate. Beside each figure the one of {}.\n",
      machine.device, machine.driver, target.name);
  std::fputs(target_text(figures, target, head).c_str(), stdout);
  if (!options.json.empty()) write_figures(options.json, figures);
}

}  // namespace fuse::bench
