#include "gradient.h"

#include "externs.h"
#include "gradient_programs.h"
#include "runtime/device.h"
#include "runtime/worker.h"

#include <algorithm>
#include <memory>

namespace fuse::bench {

namespace {

using Tensors = std::map<std::string, Tensor>;

std::vector<PartitionPlan> plans_of(const GradientResult &result) {
  std::vector<PartitionPlan> plans;
  for (const PlanResult &p : result.plans) plans.push_back(p.plan);
  return plans;
}

std::vector<Expected> expected_of(const Graph &joint, const Tensors &inputs) {
  std::vector<Tensor> in_order;
  for (NodeId id : joint.data().inputs)
    in_order.push_back(inputs.at(joint.data().attr<InputAttr>(id).name));
  return expected_outputs(joint, in_order);
}

void run_small(PlanInstance &programs, const Tensors &inputs) {
  programs.set_arguments(inputs);
  run_with_stand_ins(programs.forward);
  run_with_stand_ins(programs.backward);
}

/// Every plan at the sizes to check, every element judged.
void check_small(const Target &target, Executor executor, GradientResult &result) {
  const Row &row = result.row;
  Graph joint = joint_of(row, *row.check);
  Tensors inputs = random_inputs(row, joint, *row.check);
  std::vector<Expected> expected = expected_of(joint, inputs);
  std::vector<PlanInstance> programs = compile_plans(joint, target, plans_of(result), executor);
  for (std::size_t i = 0; i < programs.size(); ++i) {
    run_small(programs[i], inputs);
    check_against(expected, programs[i].outputs(joint), result.plans[i].verdict);
    result.plans[i].verdict.what = "evaluated at " + words_of(*row.check);
  }
}

/// What the large instances are given, and what they should then give.
struct Judge {
  Graph joint;
  Tensors inputs;
  std::vector<Expected> expected;  // none: not all of it is known

  void judge(const Row &row, const PlanInstance &programs, Verdict &verdict) const {
    std::vector<Tensor> outputs = programs.outputs(joint);
    if (expected.empty()) return check_written(outputs, verdict);
    check_repeats(expected, outputs, verdict);
    verdict.what = "all of it, repeating what is evaluated at " + words_of(*row.check);
  }
};

Judge judge_of(const Row &row) {
  bool whole = row.check && row.repeats;
  const Bindings &sizes = whole ? *row.check : row.sizes;
  Judge judge{joint_of(row, sizes), {}, {}};
  judge.inputs = random_inputs(row, judge.joint, sizes);
  if (whole) judge.expected = expected_of(judge.joint, judge.inputs);
  return judge;
}

void measure_program(const Instance &program, const GpuTimer &timer, const Options &options,
                     Result &result) {
  result.us = timer.median_us([&] { program.run(); });
  result.queued_us = timer.queued_us([&] { program.run(); });
  if (options.kernels) add_kernel_times(program, timer, result);
}

void measure_plan(const Judge &judge, const Row &row, const GpuTimer &timer, const Options &options,
                  PlanInstance programs, PlanResult &result) {
  programs.set_arguments(judge.inputs);
  std::vector<std::size_t> forward = run_with_stand_ins(programs.forward);
  std::vector<std::size_t> backward = run_with_stand_ins(programs.backward);
  if (options.once) {
    result.forward.launches = std::move(forward);
    result.backward.launches = std::move(backward);
    return;
  }
  if (row.check) judge.judge(row, programs, result.verdict);
  measure_program(programs.forward, timer, options, result.forward);
  measure_program(programs.backward, timer, options, result.backward);
}

void measure_on_gpu(const GpuTimer &timer, const Options &options, const Target &target,
                    std::vector<PlanInstance> programs, GradientResult &result) {
  const Row &row = result.row;
  if (row.check && !row.repeats && !options.once) check_small(target, Executor::Gpu, result);
  Judge judge = judge_of(row);
  for (std::size_t i = 0; i < programs.size(); ++i)
    measure_plan(judge, row, timer, options, std::move(programs[i]), result.plans[i]);
}

/// The work of every plan is that of the chosen one: what it reads and writes at least.
void add_reports(const std::vector<PlanInstance> &programs, const Options &options,
                 GradientResult &result) {
  for (std::size_t i = 0; i < programs.size(); ++i) {
    PlanResult &plan = result.plans[i];
    plan.forward.each_kernel = plan.backward.each_kernel = options.kernels;
    add_reports(programs[i].forward, plan.forward);
    add_reports(programs[i].backward, plan.backward);
    plan.forward.bytes = result.chosen().forward.bytes;
    plan.backward.bytes = result.chosen().backward.bytes;
  }
}

/// A row that is compiled and has not run.
struct Prepared {
  GradientResult result;
  std::vector<PlanInstance> programs;
};

/// Calls the function; what it throws is what came of the row.
void attempt(GradientResult &result, const std::function<void()> &function) {
  if (!result.error.empty()) return;
  try {
    function();
  } catch (const Error &e) {
    result.error = e.what();
  }
}

void prepare(const Target &target, const Options &options, Prepared &prepared) {
  GradientResult &result = prepared.result;
  Graph joint = joint_of(result.row, result.row.sizes);
  PartitionOptions partitioning;
  partitioning.target = target;
  Partition parts = partition(joint, partitioning);
  result.tensor_bytes = parts.tensor_bytes;
  for (PartitionPlan &plan : plans_to_compare(parts))
    result.plans.emplace_back().plan = std::move(plan);
  Executor executor = options.on == Executor::Gpu ? Executor::Gpu : Executor::None;
  prepared.programs = compile_plans(joint, target, plans_of(result), executor);
  add_reports(prepared.programs, options, result);
}

GradientResult measure_prepared(const Target &target, const GpuTimer *timer, const Options &options,
                                Prepared prepared) {
  GradientResult &result = prepared.result;
  attempt(result, [&] {
    if (timer)
      measure_on_gpu(*timer, options, target, std::move(prepared.programs), result);
    else if (result.row.check)
      check_small(target, Executor::Host, result);
  });
  return std::move(result);
}

}  // namespace

bool GradientResult::passed() const {
  return std::all_of(plans.begin(), plans.end(),
                     [](const PlanResult &p) { return p.verdict.passed; });
}

const PlanResult &GradientResult::best_extreme() const {
  const PlanResult *best = nullptr;
  for (const PlanResult &p : plans)
    if (p.plan.name == "store all" || p.plan.name == "recompute")
      if (!best || p.us() < best->us()) best = &p;
  return best ? *best : chosen();
}

double GradientResult::behind() const {
  double best = best_extreme().us();
  return best > 0 ? chosen().us() / best - 1 : 0;
}

std::function<GradientResult(std::size_t)> start_gradients(const std::vector<Row> &rows,
                                                           const GpuTimer *timer,
                                                           const Options &options) {
  Target target = timer ? target_of(0) : PartitionOptions().target;
  auto all = std::make_shared<std::vector<Prepared>>(rows.size());
  run_on_workers(rows.size(), 0, [&](std::size_t i) {
    Prepared &prepared = (*all)[i];
    prepared.result.row = rows[i];
    attempt(prepared.result, [&] { prepare(target, options, prepared); });
  });
  return
      [=](std::size_t i) { return measure_prepared(target, timer, options, std::move((*all)[i])); };
}

}  // namespace fuse::bench
