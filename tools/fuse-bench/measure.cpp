// Compile, run, check, time: in this order, so that nothing is timed that is wrong.
#include "measure.h"

#include "externs.h"
#include "ir/format.h"
#include "kernel_times.h"

namespace fuse::bench {

namespace {

/// The small instance on its own: random inputs, every element judged.
void check_small(const Row &row, Executor executor, Verdict &verdict) {
  Source source(row, *row.check);
  Instance instance(source, executor);
  std::vector<Tensor> inputs = instance.random_inputs(row, *row.check);
  instance.set_arguments(inputs);
  run_with_stand_ins(instance);
  check_against(expected_outputs(*source.graph, inputs), instance.outputs(), verdict);
  verdict.what = "evaluated at " + words_of(*row.check);
}

/// The inputs for the small instance, from which those of the large one are filled.
std::vector<Tensor> small_inputs(const Row &row) {
  Instance shapes(Source(row, *row.check), Executor::None);
  return shapes.random_inputs(row, *row.check);
}

void check_large(const Row &row, const Instance &instance, const std::vector<Tensor> &inputs,
                 Verdict &verdict) {
  std::vector<Tensor> outputs = instance.outputs();
  if (!row.repeats) {
    check_written(outputs, verdict);
    return;
  }
  Source small(row, *row.check);
  check_repeats(expected_outputs(*small.graph, inputs), outputs, verdict);
  verdict.what = "all of it, repeating what is evaluated at " + words_of(*row.check);
}

/// The time of the row with tuned mappings, judged like that by the rules.
void measure_tuned(const Row &row, const Source &source, const GpuTimer &timer,
                   const std::vector<Tensor> &inputs, Result &result) {
  Instance instance(source, Executor::Gpu, true);
  instance.set_arguments(inputs);
  run_with_stand_ins(instance);
  if (row.check) check_large(row, instance, inputs, result.verdict);
  result.tuned_us = timer.median_us([&] { instance.run(); });
  for (const Decision &d : instance.executable().decisions())
    if (d.about.starts_with("mapping of "))
      result.mappings.push_back(d.about + ": " + d.chosen + ", " + d.why);
}

void measure_on_gpu(const Row &row, const GpuTimer &timer, const Options &options, Result &result) {
  Source source(row, row.sizes);
  if (!options.once) {
    result.cold = time_compilation(source, 0);
    result.warm = time_compilation(source, 0);
  }
  Instance instance(source, Executor::Gpu);
  if (double ms = options.once ? 0 : time_from_disk(source); ms > 0)
    result.from_disk_ms = ms + result.warm.load;
  add_reports(instance, result);
  if (row.check && !row.repeats && !options.once) check_small(row, Executor::Gpu, result.verdict);
  std::vector<Tensor> inputs =
      row.check && row.repeats ? small_inputs(row) : instance.random_inputs(row, row.sizes);
  instance.set_arguments(inputs);
  result.memory = instance.memory_bytes();
  std::vector<std::size_t> launches = run_with_stand_ins(instance);
  if (options.once) result.launches = std::move(launches);
  if (options.once) return;
  if (row.check) check_large(row, instance, inputs, result.verdict);
  result.us = timer.median_us([&] { instance.run(); });
  result.queued_us = timer.queued_us([&] { instance.run(); });
  if (options.kernels) add_kernel_times(instance, timer, result);
  if (options.tune) measure_tuned(row, source, timer, inputs, result);
}

void check_on_host(const Row &row, Result &result) {
  Source source(row, row.sizes);
  if (row.is_kernel()) return;
  add_reports(Instance(source, Executor::None), result);
  if (row.check) check_small(row, Executor::Host, result.verdict);
}

}  // namespace

void add_reports(const Instance &instance, Result &result) {
  double longest = -1;
  for (KernelReport &k : instance.executable().kernels(Dims(instance.symbols()))) {
    result.predicted_us += k.predicted_us;
    result.registers = std::max(result.registers, k.registers);
    result.spills += std::max(k.spills, 0);
    if (k.predicted_us > longest) {
      result.bound = k.bound;
      result.occupancy = k.occupancy;
    }
    longest = std::max(longest, k.predicted_us);
    result.kernels.push_back({std::move(k)});
  }
  result.externs = instance.externs();
  // What others run between the kernels reads and writes arguments, too.
  result.bytes = result.externs.empty() ? instance.ideal_bytes()
                                        : static_cast<std::int64_t>(result.kernel_bytes());
}

void add_kernel_times(const Instance &instance, const GpuTimer &timer, Result &result) {
  std::size_t count = result.kernels.size();
  std::vector<double> in_turn = kernel_times(instance, count, timer, L2::AsLeft);
  std::vector<double> cold = kernel_times(instance, count, timer, L2::Flushed);
  for (std::size_t i = 0; i < count; ++i) {
    result.kernels[i].us = in_turn[i];
    result.kernels[i].cold_us = cold[i];
  }
}

Result measure(const Row &row, const GpuTimer *timer, const Options &options) {
  Result result;
  result.row = row;
  result.each_kernel = options.kernels;
  try {
    if (timer)
      measure_on_gpu(row, *timer, options, result);
    else
      check_on_host(row, result);
  } catch (const Error &e) {
    result.error = e.what();
  }
  return result;
}

}  // namespace fuse::bench
