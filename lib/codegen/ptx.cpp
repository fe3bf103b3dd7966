// LLVM IR -> PTX text: a pipeline picked by hand, one TargetMachine for each thread and target.
//
// The emitter unrolls and vectorises, and NVPTX's own code generation reduces strength, numbers
// values and joins loads: O2 gives the same PTX at up to twice the time.
#include "codegen/ptx.h"

#include "codegen/bfloat_words.h"
#include "codegen/codegen.h"
#include "codegen/diagnostics.h"
#include "ir/format.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace fuse {

namespace {

constexpr const char *kTriple = "nvptx64-nvidia-cuda";

/// The newest PTX ISA that the linked LLVM writes.
constexpr int kNewestPtx = 90;

/// The least PTX ISA with which LLVM accepts the SM; anything less is a fatal error in LLVM.
struct SmPtx {
  int sm;
  int ptx;
};
constexpr SmPtx kLeastPtx[] = {{75, 63},  {80, 70},  {86, 71},  {87, 74},  {89, 78},  {90, 80},
                               {100, 86}, {101, 86}, {103, 88}, {110, 90}, {120, 87}, {121, 88}};

const SmPtx &row_of(const Target &target) {
  auto row = std::find_if(std::begin(kLeastPtx), std::end(kLeastPtx),
                          [&](const SmPtx &r) { return r.sm == target.sm; });
  if (row == std::end(kLeastPtx))
    fail(ErrorCode::Unsupported, "target {}: no code generation for compute capability {}.{}",
         target.name, target.sm / 10, target.sm % 10);
  return *row;
}

std::unique_ptr<llvm::TargetMachine> make_machine(const std::string &cpu,
                                                  const std::string &features) {
  initialize_llvm();
  llvm::Triple triple(kTriple);
  std::string error;
  const llvm::Target *backend = llvm::TargetRegistry::lookupTarget(triple, error);
  FUSE_CHECK(backend, "{}", error);
  return std::unique_ptr<llvm::TargetMachine>(
      backend->createTargetMachine(triple, cpu, features, llvm::TargetOptions(), std::nullopt,
                                   std::nullopt, llvm::CodeGenOptLevel::Default));
}

/// The backend's pipeline, which numbers values three times. What the emitter writes keeps nothing
/// for the first two: straight code is made from unrolled slots, whose offsets are shared already.
class BackendPasses : public llvm::legacy::PassManager {
 public:
  void add(llvm::Pass *pass) override {
    bool is_needless = pass->getPassName() == "Early CSE" && ++numberings_ < 3;
    if (is_needless)
      delete pass;
    else
      llvm::legacy::PassManager::add(pass);
  }

 private:
  int numberings_ = 0;
};

}  // namespace

std::string ptx_cpu(const Target &target) {
  // From sm_90 on, "a" names the exact device: its instructions are not portable, nor are cubins.
  return fmt::format("sm_{}{}", row_of(target).sm, target.sm >= 90 ? "a" : "");
}

std::string ptx_features(const Target &target) {
  return fmt::format("+ptx{}", std::clamp(target.ptx, row_of(target).ptx, kNewestPtx));
}

llvm::TargetMachine &ptx_machine(const Target &target) {
  thread_local std::map<std::string, std::unique_ptr<llvm::TargetMachine>> machines;
  std::string cpu = ptx_cpu(target);
  std::string features = ptx_features(target);
  auto &machine = machines[cpu + features];
  if (!machine) machine = make_machine(cpu, features);
  return *machine;
}

void prepare_ptx_module(llvm::Module &module, const Target &target) {
  llvm::TargetMachine &machine = ptx_machine(target);
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
}

void optimize_for_ptx(llvm::Module &module, const Target &target) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&ptx_machine(target));
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager pipeline;
  pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  pipeline.run(module, modules);
}

std::string module_to_ptx(llvm::Module &module, const Target &target) {
  check_selectable(module);
  if (target.sm >= kPackedBfloats) convert_bfloats_in_words(module);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  BackendPasses passes;
  bool unable = ptx_machine(target).addPassesToEmitFile(
      passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile, /*DisableVerify=*/true);
  FUSE_CHECK(!unable, "NVPTX emits no text");
  passes.run(module);
  return std::string(text);
}

std::string ptx_from_llvm(std::string_view ir, const Target &target) {
  initialize_llvm();
  llvm::LLVMContext context;
  Diagnostics diagnostics(context);
  auto module = parse_llvm(ir, context);
  prepare_ptx_module(*module, target);
  verify_module(*module, "ptx_from_llvm");
  optimize_for_ptx(*module, target);
  std::string ptx = module_to_ptx(*module, target);
  diagnostics.check("ptx_from_llvm");
  return ptx;
}

}  // namespace fuse
