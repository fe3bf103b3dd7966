// Compile, run, check, time: in this order, so that nothing is timed that is wrong.
#include "measure.h"

#include "ir/format.h"

namespace fuse::bench {

namespace {

constexpr std::uint64_t kSeed = 20;

std::string words_of(const Bindings &sizes) {
  std::string text;
  for (const auto &[name, size] : sizes)
    append(text, "{}{}={}", text.empty() ? "" : " ", name, size);
  return text;
}

/// The small instance on its own: random inputs, every element judged.
void check_small(const Row &row, Executor executor, Verdict &verdict) {
  Source source(row, row.check);
  Instance instance(source, executor);
  std::vector<Tensor> inputs = instance.random_inputs(kSeed, row.index_limit);
  instance.set_arguments(inputs);
  instance.run();
  check_against(expected_outputs(*source.graph, inputs), instance.outputs(), verdict);
  verdict.what = "evaluated at " + words_of(row.check);
}

/// The inputs for the small instance, from which those of the large one are filled.
std::vector<Tensor> small_inputs(const Row &row) {
  Instance shapes(Source(row, row.check), Executor::None);
  return shapes.random_inputs(kSeed, row.index_limit);
}

void check_large(const Row &row, const Instance &instance, const std::vector<Tensor> &inputs,
                 Verdict &verdict) {
  std::vector<Tensor> outputs = instance.outputs();
  if (!row.repeats) {
    check_written(outputs, verdict);
    return;
  }
  Source small(row, row.check);
  check_repeats(expected_outputs(*small.graph, inputs), outputs, verdict);
  verdict.what = "all of it, repeating what is evaluated at " + words_of(row.check);
}

void add_reports(const Instance &instance, Result &result) {
  double longest = -1;
  for (const KernelReport &k : instance.executable().kernels(Dims(instance.symbols()))) {
    ++result.kernels;
    result.predicted_us += k.predicted_us;
    result.registers = std::max(result.registers, k.registers);
    result.spills += std::max(k.spills, 0);
    if (k.predicted_us > longest) {
      result.bound = k.bound;
      result.occupancy = k.occupancy;
    }
    longest = std::max(longest, k.predicted_us);
  }
  result.bytes = instance.ideal_bytes();
}

/// The time of the row with tuned mappings, judged like that by the rules.
void measure_tuned(const Row &row, const Source &source, const GpuTimer &timer,
                   const std::vector<Tensor> &inputs, Result &result) {
  Instance instance(source, Executor::Gpu, true);
  instance.set_arguments(inputs);
  instance.run();
  if (!row.check.empty()) check_large(row, instance, inputs, result.verdict);
  result.tuned_us = timer.median_us([&] { instance.run(); });
  for (const Decision &d : instance.executable().decisions())
    if (d.about.starts_with("mapping of "))
      result.mappings.push_back(d.about + ": " + d.chosen + ", " + d.why);
}

void measure_on_gpu(const Row &row, const GpuTimer &timer, bool tune, Result &result) {
  Source source(row, row.sizes);
  result.cold = time_compilation(source, 0);
  result.warm = time_compilation(source, 0);
  Instance instance(source, Executor::Gpu);
  if (double ms = time_from_disk(source); ms > 0) result.from_disk_ms = ms + result.warm.load;
  add_reports(instance, result);
  bool is_checked = row.is_checked();
  if (is_checked && !row.repeats) check_small(row, Executor::Gpu, result.verdict);
  std::vector<Tensor> inputs =
      is_checked ? small_inputs(row) : instance.random_inputs(kSeed, row.index_limit);
  instance.set_arguments(inputs);
  instance.run();
  if (is_checked) check_large(row, instance, inputs, result.verdict);
  result.us = timer.median_us([&] { instance.run(); });
  if (tune) measure_tuned(row, source, timer, inputs, result);
}

void check_on_host(const Row &row, Result &result) {
  add_reports(Instance(Source(row, row.sizes), Executor::None), result);
  if (row.is_checked()) check_small(row, Executor::Host, result.verdict);
}

}  // namespace

Result measure(const Row &row, const GpuTimer *timer, bool tune) {
  Result result;
  result.row = row;
  try {
    if (timer)
      measure_on_gpu(row, *timer, tune, result);
    else
      check_on_host(row, result);
  } catch (const Error &e) {
    result.error = e.what();
  }
  return result;
}

}  // namespace fuse::bench
