// HostKernel: a kernel's module through the GPU's pipeline, then to machine code.
#include "codegen/host.h"

#include "codegen/diagnostics.h"
#include "codegen/emit.h"
#include "codegen/host_object.h"
#include "codegen/host_run.h"
#include "codegen/ptx.h"
#include "ir/format.h"

namespace fuse {

struct HostKernel::Impl {
  explicit Impl(CompiledHostKernel &&compiled)
      : code(std::move(compiled.object)), geometry(std::move(compiled.geometry)) {}

  HostCode code;
  HostGeometry geometry;
};

namespace {

/// A module for the host: in a context that goes with it to the compiler.
struct Draft {
  Draft() : context(std::make_unique<llvm::LLVMContext>()), diagnostics(*context) {}

  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  Diagnostics diagnostics;

  CompiledHostKernel compile(HostGeometry geometry, const Target &target) {
    optimize_for_ptx(*module, target);
    diagnostics.check("host executor");
    return {compile_for_host(std::move(module), std::move(context)), std::move(geometry)};
  }
};

std::string name_of(const llvm::Module &module) {
  for (const llvm::Function &function : module)
    if (!function.isDeclaration()) return function.getName().str();
  return "";
}

CompiledHostKernel compile(const Kernel &kernel, const Target &target) {
  initialize_llvm();
  Draft draft;
  draft.module = std::make_unique<llvm::Module>(kernel.name, *draft.context);
  prepare_ptx_module(*draft.module, target);
  emit_kernel(kernel, target, *draft.module);
  verify_if_asked(*draft.module, "emit");
  return draft.compile({kernel.name, static_cast<std::uint32_t>(kernel.threads),
                        static_cast<std::uint32_t>(kernel.cluster)},
                       target);
}

CompiledHostKernel compile(std::string_view ir, const Target &target, int threads, int cluster) {
  initialize_llvm();
  Draft draft;
  draft.module = parse_llvm(ir, *draft.context);
  prepare_ptx_module(*draft.module, target);
  verify_module(*draft.module, "host executor");
  std::string name = name_of(*draft.module);
  return draft.compile(
      {std::move(name), static_cast<std::uint32_t>(threads), static_cast<std::uint32_t>(cluster)},
      target);
}

}  // namespace

HostKernel::HostKernel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HostKernel::HostKernel(const Kernel &kernel, const Target &target)
    : impl_(std::make_unique<Impl>(compile(kernel, target))) {}

HostKernel::HostKernel(std::string_view ir, const Target &target, int threads, int cluster)
    : impl_(std::make_unique<Impl>(compile(ir, target, threads, cluster))) {}

HostKernel HostKernel::link(std::string_view compiled) {
  initialize_llvm();
  return HostKernel(std::make_unique<Impl>(from_bytes(compiled)));
}

HostKernel::~HostKernel() = default;
HostKernel::HostKernel(HostKernel &&) noexcept = default;
HostKernel &HostKernel::operator=(HostKernel &&) noexcept = default;

void HostKernel::launch(const HostLaunch &launch) const {
  run_grid(impl_->code, impl_->geometry, launch);
}

std::uint64_t HostKernel::shared_bytes() const { return impl_->code.shape().shared_bytes; }

std::string compile_host_kernel(const Kernel &kernel, const Target &target) {
  return to_bytes(compile(kernel, target));
}

}  // namespace fuse
