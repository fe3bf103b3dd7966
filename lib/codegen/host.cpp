// HostKernel: a kernel's module through the GPU's pipeline, then to machine code.
#include "codegen/host.h"

#include "codegen/diagnostics.h"
#include "codegen/emit.h"
#include "codegen/host_run.h"
#include "codegen/ptx.h"
#include "ir/format.h"

namespace fuse {

struct HostKernel::Impl {
  Impl(std::unique_ptr<llvm::Module> &&module, std::unique_ptr<llvm::LLVMContext> &&context,
       HostGeometry geometry)
      : code(std::move(module), std::move(context)), geometry(std::move(geometry)) {}

  HostCode code;
  HostGeometry geometry;
};

namespace {

/// A module for the host: in a context that goes with it to the linker.
struct Draft {
  Draft() : context(std::make_unique<llvm::LLVMContext>()), diagnostics(*context) {}

  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  Diagnostics diagnostics;
};

std::string name_of(const llvm::Module &module) {
  for (const llvm::Function &function : module)
    if (!function.isDeclaration()) return function.getName().str();
  return "";
}

}  // namespace

HostKernel::HostKernel(const Kernel &kernel, const Target &target) {
  initialize_llvm();
  Draft draft;
  draft.module = std::make_unique<llvm::Module>(kernel.name, *draft.context);
  prepare_ptx_module(*draft.module, target);
  emit_kernel(kernel, target, *draft.module);
  verify_if_asked(*draft.module, "emit");
  optimize_for_ptx(*draft.module, target);
  draft.diagnostics.check("host executor");
  HostGeometry geometry{kernel.name, static_cast<std::uint32_t>(kernel.threads),
                        static_cast<std::uint32_t>(kernel.cluster)};
  impl_ = std::make_unique<Impl>(std::move(draft.module), std::move(draft.context),
                                 std::move(geometry));
}

HostKernel::HostKernel(std::string_view ir, const Target &target, int threads, int cluster) {
  initialize_llvm();
  Draft draft;
  draft.module = parse_llvm(ir, *draft.context);
  prepare_ptx_module(*draft.module, target);
  verify_module(*draft.module, "host executor");
  optimize_for_ptx(*draft.module, target);
  draft.diagnostics.check("host executor");
  HostGeometry geometry{name_of(*draft.module), static_cast<std::uint32_t>(threads),
                        static_cast<std::uint32_t>(cluster)};
  impl_ = std::make_unique<Impl>(std::move(draft.module), std::move(draft.context),
                                 std::move(geometry));
}

HostKernel::~HostKernel() = default;
HostKernel::HostKernel(HostKernel &&) noexcept = default;
HostKernel &HostKernel::operator=(HostKernel &&) noexcept = default;

void HostKernel::launch(const HostLaunch &launch) const {
  run_grid(impl_->code, impl_->geometry, launch);
}

std::uint64_t HostKernel::shared_bytes() const { return impl_->code.shape().shared_bytes; }

}  // namespace fuse
