// What an Executable tells of itself.
#include "codegen/codegen.h"
#include "ir/format.h"
#include "ir/instances.h"
#include "runtime/executable_impl.h"
#include "runtime/worker.h"

#include <algorithm>

FUSE_BEGIN_NAMESPACE

namespace {

std::int64_t bytes_of(const Kernel &kernel, const Bindings &sizes) {
  auto leaf = [&](const Atom &atom) {
    auto it = sizes.find(atom.symbol);
    return it == sizes.end() ? std::int64_t{1} : it->second;
  };
  std::int64_t total = 0;
  for (const LaunchBuffer &at : launch_buffers(kernel)) {
    const Buffer &buffer = kernel.buffers[at.buffer];
    if (buffer.role == BufferRole::Scalar) continue;
    std::int64_t bytes = static_cast<std::int64_t>(size_of(buffer.dtype));
    for (const Index &extent : buffer.shape)
      bytes *= evaluate(at_instance(kernel, extent, at.instance), leaf);
    total += bytes;
  }
  return total;
}

/// The code of a kernel. Runs on a worker: it is LLVM.
void add_code(KernelReport &report, const Kernel &kernel, const Target &target) {
  run_on_worker([&] {
    report.llvm = emit_llvm(kernel, target);
    report.ptx = emit_ptx({&kernel}, target);
  });
}

void add_device_facts(KernelReport &report, const Variant &variant, std::size_t index, int device) {
  Context context = context_of(nullptr, device);
  ContextScope scope(context.handle);
  FunctionFacts facts = facts_of(variant.functions(context)[index], variant.settings(index));
  report.registers = facts.registers;
  report.spills = facts.spill_bytes;
  report.blocks_per_sm = facts.blocks_per_sm;
  report.occupancy = facts.occupancy;
}

std::string signature(const std::vector<Argument> &arguments) {
  std::string text;
  for (const Argument &a : arguments)
    append(text, "{}{}: {}{}", text.empty() ? "" : ", ", a.name, to_string(a.dtype),
           a.is_scalar ? "" : to_string(a.shape));
  return text;
}

std::string sizes_text(const Bindings &sizes) {
  std::string text;
  for (const auto &[symbol, size] : sizes)
    append(text, "{}{} = {}", text.empty() ? "" : ", ", symbol, size);
  return text;
}

std::string machine(const Target &target) {
  return fmt::format("target {} (sm_{}, copy {:.2f} TB/s{})", target.name, target.sm,
                     1e-12 * target.hbm_bytes, target.measured ? " measured" : ", estimated");
}

PlanOverview overview_of(const Program &program) {
  PlanOverview overview{program.plan.unfused, {}, program.plan.sizes};
  overview.fused.kernels = program.kernels.size();
  for (const PlannedKernel &kernel : program.plan.kernels) {
    overview.fused.bytes += kernel.bytes;
    overview.fused.moved_bytes += kernel.moved_bytes;
    overview.fused.predicted_us += 1e6 * kernel.seconds;
  }
  return overview;
}

/// A program serves a class of sizes and was planned for some of them.
std::string sizes_line(const Bindings &planned, const Bindings &bound) {
  if (planned.empty()) return "";
  Bindings asked = planned;  // the bound sizes hold strides too
  for (auto &[symbol, size] : asked)
    if (auto it = bound.find(symbol); it != bound.end()) size = it->second;
  std::string text = "predicted for " + sizes_text(planned);
  if (planned != asked)
    append(text, ", which this program was planned for; blocks for {}", sizes_text(asked));
  return text + "\n";
}

std::string totals(std::string_view what, const PlanTotals &totals) {
  return fmt::format("  {:<22} {:>7} {:>12.3f} {:>12.1f}", what, totals.kernels,
                     1e-6 * totals.bytes, totals.predicted_us);
}

std::string comparison(const PlanOverview &overview, const Target &target) {
  const auto &[unfused, fused, sizes] = overview;
  std::string text = fmt::format("  {:<22} {:>7} {:>12} {:>12} {:>9} {:>8}\n", "", "kernels",
                                 "HBM MB", "predicted us", "of copy", "gain");
  append(text, "{}\n{}", totals("a kernel an operation", unfused), totals("fused", fused));
  if (fused.predicted_us > 0)
    append(text, " {:>7.0f} % {:>6.1f} x",
           100 * (1e6 * fused.bytes / target.hbm_bytes) / fused.predicted_us,
           unfused.predicted_us / fused.predicted_us);
  return text + "\n\n";
}

/// Pipes that take a tenth of the kernel's time at least, busiest first.
std::string busy_pipes(const PlannedKernel &kernel) {
  std::vector<PipeTime> pipes = kernel.pipes;
  std::stable_sort(pipes.begin(), pipes.end(),
                   [](const PipeTime &a, const PipeTime &b) { return a.us > b.us; });
  std::string text;
  for (const PipeTime &t : pipes)
    if (t.us >= 0.1 * 1e6 * kernel.seconds)
      append(text, "{}{} {:.1f}", text.empty() ? "" : ", ", t.pipe, t.us);
  return text;
}

std::string kernel_table(const BoundLaunch &bound) {
  const Program &program = bound.variant().program();
  std::string text;
  append(text, "{:<24} {:>9}  {:<8} {:>10} {:>10} {:>8}  {}\n", "kernel", "time us", "bound by",
         "HBM MB", "blocks", "threads", "pipes alone, us");
  for (std::size_t i = 0; i < program.kernels.size(); ++i) {
    const Kernel &kernel = program.kernels[i];
    const PlannedKernel planned =
        i < program.plan.kernels.size() ? program.plan.kernels[i] : PlannedKernel{};
    append(text, "{:<24} {:>9.1f}  {:<8} {:>10.3f} {:>10} {:>8}  {}\n", kernel.name,
           1e6 * planned.seconds, planned.bound, 1e-6 * planned.bytes, bound.grid(i),
           kernel.threads, busy_pipes(planned));
  }
  return text + "\n";
}

std::string decision_table(const std::vector<Decision> &decisions) {
  if (decisions.empty()) return "";
  std::string text;
  append(text, "{:<24} {:<14} {:<18} {:>12}  {}\n", "decision", "chosen", "best rejected", "costs",
         "because");
  for (const Decision &d : decisions) {
    std::string price = d.rejected.empty() ? "" : fmt::format("{:+.1f} us", 1e6 * d.gain_seconds);
    append(text, "{:<24} {:<14} {:<18} {:>12}  {}\n", d.about, d.chosen,
           d.rejected.empty() ? "none" : d.rejected, price, d.why);
  }
  return text + "\n";
}

}  // namespace

std::vector<KernelReport> Executable::kernels(const Dims &dims) const {
  auto bound = impl_->inspect(dims);
  const Variant &variant = bound->variant();
  const Program &program = variant.program();
  std::vector<KernelReport> reports;
  for (std::size_t i = 0; i < program.kernels.size(); ++i) {
    const Kernel &kernel = program.kernels[i];
    KernelReport r;
    r.name = kernel.name;
    if (i < program.plan.kernels.size()) {
      r.predicted_us = 1e6 * program.plan.kernels[i].seconds;
      r.bound = program.plan.kernels[i].bound;
      r.pipes = program.plan.kernels[i].pipes;
      r.hbm_bytes = program.plan.kernels[i].bytes;
    }
    r.bytes = bytes_of(kernel, bound->sizes());
    r.grid = bound->grid(i);
    r.threads = kernel.threads;
    r.text = to_string(kernel);
    add_code(r, kernel, impl_->target());
    if (impl_->executor() == Executor::Gpu) add_device_facts(r, variant, i, impl_->device());
    reports.push_back(std::move(r));
  }
  return reports;
}

PlanOverview Executable::overview() const { return overview_of(impl_->first_variant().program()); }

std::string Executable::explain(const Dims &dims) const {
  const Interface &interface = impl_->interface();
  auto bound = impl_->inspect(dims);
  const Program &program = bound->variant().program();
  PlanOverview planned = overview_of(program);
  std::string text;
  append(text, "{}   {} -> {}   {}   executor {}\n", interface.name, signature(interface.inputs),
         signature(interface.outputs), machine(impl_->target()), executor());
  text += sizes_line(planned.sizes, bound->sizes()) + "\n";
  text += comparison(planned, impl_->target()) + kernel_table(*bound);
  text += decision_table(program.plan.decisions);
  for (const Compilation &c : compilations())
    append(text, "compiled {} kernels in {:.1f} ms: {}\n", c.kernels, c.milliseconds, c.reason);
  return text;
}

FUSE_END_NAMESPACE
