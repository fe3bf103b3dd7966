// What an Executable tells of itself.
#include "codegen/codegen.h"
#include "ir/format.h"
#include "runtime/executable_impl.h"
#include "runtime/worker.h"

FUSE_BEGIN_NAMESPACE

namespace {

std::int64_t bytes_of(const Kernel &kernel, const Bindings &sizes) {
  auto leaf = [&](const Atom &atom) {
    auto it = sizes.find(atom.symbol);
    return it == sizes.end() ? std::int64_t{1} : it->second;
  };
  std::int64_t total = 0;
  for (const Buffer &buffer : kernel.buffers) {
    if (buffer.role == BufferRole::Scalar) continue;
    std::int64_t bytes = static_cast<std::int64_t>(size_of(buffer.dtype));
    for (const Index &extent : buffer.shape) bytes *= evaluate(extent, leaf);
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
}

std::string signature(const std::vector<Argument> &arguments) {
  std::string text;
  for (const Argument &a : arguments)
    append(text, "{}{}: {}{}", text.empty() ? "" : ", ", a.name, to_string(a.dtype),
           a.is_scalar ? "" : to_string(a.shape));
  return text;
}

std::string summary_of(const ExecutableImpl &impl, const BoundLaunch &bound) {
  const Program &program = impl.first_variant().program();
  std::string text;
  append(text, "{:<28} {:>9}  {:<8} {:>12} {:>10} {:>8}\n", "kernel", "time us", "bound by",
         "bytes", "blocks", "threads");
  for (std::size_t i = 0; i < program.kernels.size(); ++i) {
    const Kernel &kernel = program.kernels[i];
    bool planned = i < program.plan.kernels.size();
    append(text, "{:<28} {:>9.1f}  {:<8} {:>12} {:>10} {:>8}\n", kernel.name,
           planned ? 1e6 * program.plan.kernels[i].seconds : 0.0,
           planned ? program.plan.kernels[i].bound : "", bytes_of(kernel, bound.sizes()),
           bound.grid(i), kernel.threads);
  }
  return text;
}

}  // namespace

std::vector<KernelReport> Executable::kernels(const Dims &dims) const {
  const Variant &variant = impl_->first_variant();
  const Program &program = variant.program();
  auto bound = impl_->inspect(dims);
  std::vector<KernelReport> reports;
  for (std::size_t i = 0; i < program.kernels.size(); ++i) {
    const Kernel &kernel = program.kernels[i];
    KernelReport r;
    r.name = kernel.name;
    if (i < program.plan.kernels.size()) {
      r.predicted_us = 1e6 * program.plan.kernels[i].seconds;
      r.bound = program.plan.kernels[i].bound;
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

std::string Executable::explain(const Dims &dims) const {
  const Interface &interface = impl_->interface();
  std::string text;
  append(text, "{}   {} -> {}   target {} (sm_{}{})   executor {}\n\n", interface.name,
         signature(interface.inputs), signature(interface.outputs), impl_->target().name,
         impl_->target().sm, impl_->target().measured ? "" : ", estimated", executor());
  text += summary_of(*impl_, *impl_->inspect(dims));
  for (const Decision &d : decisions()) {
    append(text, "\n{}: {}, because {}", d.about, d.chosen, d.why);
    if (d.gain_seconds != 0) append(text, " ({:.1f} us)", 1e6 * d.gain_seconds);
  }
  if (!decisions().empty()) text += "\n";
  for (const Compilation &c : compilations())
    append(text, "\ncompiled {} kernels in {:.1f} ms: {}", c.kernels, c.milliseconds, c.reason);
  return text + "\n";
}

FUSE_END_NAMESPACE
