// A launch for fixed sizes: every expression evaluated, every kernel resolved.
#pragma once

#include "ir/instances.h"
#include "runtime/observe.h"
#include "runtime/variant.h"
#include "runtime/workspace.h"

#include <cstdint>
#include <memory>
#include <vector>

FUSE_BEGIN_NAMESPACE

/// Immutable. run() packs parameters and launches; it takes no lock, and allocates nothing where no
/// kernel has more than 511 parameters, a table of instances being one behind these, the program no
/// more than 256 workspace buffers and no extern operation more than 16 operands and results.
class BoundLaunch {
 public:
  /// `sizes` holds the symbols and, for strided arguments, "<name>.stride<axis>". `key` is what
  /// launch() compares. The context is current and has id 0 for the host.
  BoundLaunch(std::shared_ptr<const Variant> variant, Bindings sizes, const Context &context,
              std::vector<std::int64_t> key);

  /// Addresses of tensors and of values of scalars: inputs, then outputs.
  void run(CUstream_st *stream, const void *const *arguments, const WorkspaceMemory &workspace,
           const ExternHandler &run_extern, const StepObserver &observer) const;

  const Variant &variant() const { return *variant_; }
  const Bindings &sizes() const { return sizes_; }
  const Context &context() const { return context_; }
  const std::vector<std::int64_t> &key() const { return key_; }
  WorkspaceSize workspace_size() const { return workspace_size_; }
  /// Blocks of the first launch of a kernel of the program.
  std::uint64_t grid(std::size_t kernel) const;

  /// Throws InvalidArgument naming an argument whose address the variant does not take.
  void check_addresses(const void *const *arguments, std::size_t count) const;

 private:
  enum class Source : std::uint8_t { Tensor, Scalar, Workspace, Size };
  struct Parameter {
    Source source;
    std::uint32_t index;  // into arguments, workspace buffers or size_values_
  };
  /// What a launch writes into the table of instances: an address, or the value of a scalar.
  struct Entry {
    TableColumn column;
    int instance = 0;
    Parameter parameter;
  };
  struct BoundKernel {
    std::size_t index = 0;  // into Program::kernels
    std::uint64_t grid = 0;
    unsigned shared_bytes = 0;            // dynamic
    cuda::CUfunction function = nullptr;  // or, on the host,
    const HostKernel *host = nullptr;
    std::vector<Parameter> parameters;  // but for the table of instances
    std::vector<std::uint64_t> table;   // of instances: sizes and blocks
    std::vector<Entry> entries;
  };
  struct BoundExtern {
    std::vector<Parameter> parameters;
    std::vector<TensorView> views;  // without addresses
  };

  /// What the address of an argument has to be: a multiple of mask + 1, and not null.
  struct AddressRule {
    std::uintptr_t mask = 0;
    bool is_needed = false;
  };

  const Argument &argument(std::size_t i) const;
  AddressRule rule_for(std::size_t argument) const;
  [[noreturn]] void fail_address(std::size_t argument, const void *address) const;
  Parameter parameter(const Binding &binding) const;
  BoundKernel bind_kernel(const Step &step);
  void bind_buffers(const Step &step, BoundKernel &bound) const;
  BoundExtern bind_extern(const Step &step) const;
  TensorView extern_view(const Step &step, std::size_t operand) const;
  void lay_out_workspace();
  std::int64_t evaluate(const Index &index) const;
  const void *value_of(const Parameter &parameter, const void *const *arguments,
                       void *const *workspace) const;
  bool may_launch_early(CUstream_st *stream) const;
  void run_kernel(const BoundKernel &bound, CUstream_st *stream, bool is_early,
                  const void *const *arguments, void *const *workspace) const;
  void call_extern(const Step &step, const BoundExtern &bound, CUstream_st *stream,
                   const void *const *arguments, void *const *workspace,
                   const ExternHandler &run_extern) const;

  std::shared_ptr<const Variant> variant_;
  Bindings sizes_;
  Context context_;
  std::vector<std::int64_t> key_;
  std::vector<std::int64_t> size_values_;
  std::vector<AddressRule> addresses_;  // of inputs, then outputs
  std::vector<BoundKernel> kernels_;    // in the order of their steps
  std::vector<BoundExtern> externs_;    // likewise
  std::vector<std::int64_t> offsets_;   // of workspace buffers: counters, or data
  WorkspaceSize workspace_size_;
};

FUSE_END_NAMESPACE
