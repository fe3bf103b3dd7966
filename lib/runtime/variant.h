// A variant: the program for one class of arguments, and its code.
#pragma once

#include "codegen/host.h"
#include "ir/program.h"
#include "passes/passes.h"
#include "runtime/kernel_code.h"
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

enum class CodeKind : std::uint8_t { Gpu, Host };

/// What code is made for, and what runs it.
struct Machine {
  Target target;
  Executor executor = Executor::None;
  CodeKind code = CodeKind::Gpu;  // without an executor, what a file holds
  unsigned threads = 0;           // that make code at once; 0: as many as the machine runs
};
Machine machine_of(const Target &target, Executor executor);

/// Code of the kernels of a program, in their order.
struct VariantCode {
  std::vector<GpuCode> gpu;       // CodeKind::Gpu
  std::vector<std::string> host;  // CodeKind::Host: what compile_host_kernel() gives
};

/// Immutable, but for code, which is made when it is first asked for. Thread-safe.
class Variant {
 public:
  Variant(Lowered lowered, VariantClass arguments, const Machine &machine);
  /// With code that was made before.
  Variant(Program program, VariantClass arguments, const Machine &machine, VariantCode code);

  /// Generates what the executor runs, if it is not there, on so many threads; 0: on those of the
  /// Machine. Call it on a worker thread.
  void prepare(unsigned threads = 0) const;

  /// The code, generated where it is not there; without an executor too. On a worker thread.
  VariantCode code(unsigned threads = 0) const;

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

  /// Functions of the kernels in the context, which must be current; assembled on so many threads
  /// where that was not done. Executor::Gpu.
  const std::vector<cuda::CUfunction> &functions(const Context &context,
                                                 unsigned threads = 0) const;

  Executor executor() const { return machine_.executor; }
  const Target &target() const { return machine_.target; }

  /// Kernels linked into the process; they stay where they are. Executor::Host.
  const std::vector<HostKernel> &host_kernels() const;

  FunctionSettings settings(std::size_t kernel) const;

 private:
  void generate(unsigned threads) const;
  void link_for_host() const;

  Program program_;
  VariantClass arguments_;
  Machine machine_;
  bool plan_from_disk_ = false;

  mutable std::mutex mutex_;  // of all that follows; elements of functions_ stay where they are
  mutable bool has_code_ = false, code_from_disk_ = false;
  mutable VariantCode code_;
  mutable std::vector<HostKernel> host_kernels_;
  mutable std::map<std::uint64_t, std::vector<cuda::CUfunction>> functions_;  // by context id
};

}  // namespace fuse
