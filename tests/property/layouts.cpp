// What can be asked of layouts without running them.
#include "ir/instances.h"
#include "passes/passes.h"
#include "property/properties.h"
#include "property/run_program.h"

#include <algorithm>

namespace fuse {

namespace {

/// Powers of two and their neighbours: where a digit more is needed.
std::vector<std::int64_t> sizes_to_try() {
  std::vector<std::int64_t> sizes;
  for (std::int64_t power = 1; power <= 1 << 12; power *= 2)
    for (std::int64_t offset = -9; offset <= 2; ++offset) sizes.push_back(power + offset);
  return sizes;
}

Bindings symbols_at(const Program &program, std::int64_t size) {
  Bindings symbols;
  for (const Symbol &s : program.symbols)
    symbols[s.name] = std::clamp(size, s.bounds.min, s.bounds.max);
  return symbols;
}

bool is_within_limits(const Program &program, const Bindings &symbols) {
  return std::all_of(program.limits.begin(), program.limits.end(), [&](const Limit &limit) {
    return value_of(limit.value, symbols) <= limit.max;
  });
}

/// Vectors of an aligned axis may start up to one element less than a vector early.
std::int64_t head_of(const Axis &axis) {
  if (axis.align.buffer == kNone) return 0;
  const Digit &last = axis.digits.back();
  return last.kind == DigitKind::Vec ? *last.extent.constant() - 1 : 0;
}

bool spans(const Kernel &kernel, const Axis &axis, const Bindings &symbols) {
  std::int64_t extent = 1, spanned = 1;
  for (DimId d : axis.dims) extent *= value_of(kernel.dims[d].extent, symbols);
  for (const Digit &d : axis.digits) spanned *= value_of(d.extent, symbols);
  return extent == 0 || spanned >= extent + head_of(axis);
}

/// The program's elements at these sizes can be counted, and it may run at them.
bool may_run(const Program &program, const Bindings &symbols) try {
  for (const Kernel &kernel : program.kernels)
    for (int i = 0; i < num_instances(kernel); ++i)
      for (const KernelDim &dim : kernel.dims)
        value_of(dim.extent * 1024, sizes_of(kernel, i, symbols));
  return is_within_limits(program, symbols);
} catch (const Error &) {
  return false;
}

std::string fault_at(const Program &program, const Bindings &symbols) {
  if (!may_run(program, symbols)) return "";
  for (const Kernel &kernel : program.kernels)
    for (int i = 0; i < num_instances(kernel); ++i)
      for (const Layout &layout : kernel.layouts)
        for (const Axis &axis : layout.axes)
          if (!spans(kernel, axis, sizes_of(kernel, i, symbols)))
            return "layout " + layout.name + " does not span " + kernel.dims[axis.dims[0]].name +
                   (symbols.empty() ? "" : " of " + std::to_string(symbols.begin()->second)) +
                   "\n" + to_string(kernel);
  return "";
}

}  // namespace

std::string layouts_span_dims(const RandomGraph &random) {
  LowerOptions options;
  options.sizes = random.symbols;
  for (const char *target : {"h200", "a100"}) {
    Program program = lower(random.graph, Target::named(target), options);
    for (std::int64_t size : sizes_to_try()) {
      std::string fault = fault_at(program, symbols_at(program, size));
      if (!fault.empty()) return fault;
      if (program.symbols.empty()) break;
    }
  }
  return "";
}

}  // namespace fuse
