// HostKernel: a kernel's module through the GPU's pipeline, then to machine code.
#include "codegen/host.h"

#include "codegen/diagnostics.h"
#include "codegen/host_run.h"
#include "codegen/ptx.h"
#include "ir/format.h"

namespace fuse {

struct HostKernel::Impl {
  Impl(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context,
       HostGeometry geometry)
      : code(std::move(module), std::move(context)), geometry(std::move(geometry)) {}

  HostCode code;
  HostGeometry geometry;
};

namespace {

std::string name_of(const llvm::Module &module) {
  for (const llvm::Function &function : module)
    if (!function.isDeclaration()) return function.getName().str();
  return "";
}

}  // namespace

HostKernel::HostKernel(std::string_view ir, const Target &target, int threads, int cluster) {
  initialize_llvm();
  auto context = std::make_unique<llvm::LLVMContext>();
  Diagnostics diagnostics(*context);
  auto module = parse_llvm(ir, *context);
  prepare_ptx_module(*module, target);
  verify_module(*module, "host executor");
  optimize_for_ptx(*module, target);
  diagnostics.check("host executor");
  HostGeometry geometry{name_of(*module), static_cast<std::uint32_t>(threads),
                        static_cast<std::uint32_t>(cluster)};
  impl_ = std::make_unique<Impl>(std::move(module), std::move(context), std::move(geometry));
}

HostKernel::~HostKernel() = default;
HostKernel::HostKernel(HostKernel &&) noexcept = default;
HostKernel &HostKernel::operator=(HostKernel &&) noexcept = default;

void HostKernel::launch(const HostLaunch &launch) const {
  run_grid(impl_->code, impl_->geometry, launch);
}

std::uint64_t HostKernel::shared_bytes() const {
  return impl_->code.shape().shared_bytes;
}

}  // namespace fuse
