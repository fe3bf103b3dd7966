// A variant: the program for one class of arguments, and its code.
#pragma once

#include "codegen/host.h"
#include "ir/program.h"
#include "passes/passes.h"
#include "runtime/module.h"
#include "runtime/plan_cache.h"

#include <fuse/compile.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace fuse {

/// Strides and alignment of the arguments: inputs, then outputs.
using VariantClass = std::vector<ArgumentClass>;

/// The first limit, or class, of the program that the sizes are outside of; null: none.
const Limit *broken_limit(const Program &program, const Bindings &sizes);
const SizeRange *broken_range(const Program &program, const Bindings &sizes);

/// Immutable, but for code that is loaded into further contexts. Thread-safe.
class Variant {
 public:
  /// Generates the code for the executor; call it on a worker thread.
  Variant(Lowered lowered, VariantClass arguments, const Target &target, Executor executor);

  const Program &program() const { return program_; }
  /// Which parts of it were on disk; empty if none.
  std::string origin() const;

  const VariantClass &arguments() const { return arguments_; }

  /// The first limit of the program that the sizes break, or null. Sizes are symbols and strides.
  const Limit *broken_limit(const Bindings &sizes) const {
    return fuse::broken_limit(program_, sizes);
  }

  /// Why the sizes want another variant, in words; empty where this one is theirs.
  std::string objection(const Bindings &sizes) const;

  /// Functions of the kernels in the context, which must be current. Executor::Gpu.
  const std::vector<cuda::CUfunction> &functions(const Context &context) const;

  /// Executor::Host.
  const HostKernel &host_kernel(std::size_t kernel) const { return host_kernels_[kernel]; }

  FunctionSettings settings(std::size_t kernel) const;

 private:
  void compile_for_host(const Target &target);

  Program program_;
  VariantClass arguments_;
  std::string ptx_;
  bool plan_from_disk_ = false, code_from_disk_ = false;
  std::vector<HostKernel> host_kernels_;

  mutable std::mutex mutex_;  // of functions_, whose elements stay where they are
  mutable std::map<std::uint64_t, std::vector<cuda::CUfunction>> functions_;  // by context id
};

/// PTX of the kernels, from the disk cache where it has it, which `from_disk` then tells.
std::string ptx_of(const std::vector<Kernel> &kernels, const Target &target,
                   bool *from_disk = nullptr);

}  // namespace fuse
