// The pipeline of host modules: coroutines are split, bodies inlined, and the IR tidied.
//
// The IR has been through the GPU's pipeline, so only what the lowering added needs work. In the
// sanitizer build LLVM's AddressSanitizer instruments every access at the end.
#include "codegen/host_optimize.h"

#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Coroutines/CoroCleanup.h"
#include "llvm/Transforms/Coroutines/CoroEarly.h"
#include "llvm/Transforms/Coroutines/CoroSplit.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

namespace fuse {

namespace {

using namespace llvm;

FunctionPassManager tidy() {
  FunctionPassManager passes;
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
  return passes;
}

ModulePassManager coroutine_pipeline() {
  ModulePassManager pipeline;
  pipeline.addPass(CoroEarlyPass());
  pipeline.addPass(createModuleToFunctionPassAdaptor(tidy()));
  pipeline.addPass(createModuleToPostOrderCGSCCPassAdaptor(CoroSplitPass(/*OptimizeFrame=*/true)));
  pipeline.addPass(CoroCleanupPass());
  FunctionPassManager after;
  after.addPass(EarlyCSEPass());
  after.addPass(SimplifyCFGPass());
  pipeline.addPass(createModuleToFunctionPassAdaptor(std::move(after)));
  return pipeline;
}

ModulePassManager loop_pipeline() {
  ModulePassManager pipeline;
  pipeline.addPass(AlwaysInlinerPass());
  FunctionPassManager passes = tidy();
  passes.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()), /*UseMemorySSA=*/true));
  pipeline.addPass(createModuleToFunctionPassAdaptor(std::move(passes)));
  return pipeline;
}

#ifdef FUSE_HOST_ASAN
void add_sanitizer(Module &module, ModulePassManager &pipeline) {
  for (Function &function : module)
    if (!function.isDeclaration()) function.addFnAttr(Attribute::SanitizeAddress);
  AddressSanitizerOptions options;
  options.UseAfterReturn = AsanDetectStackUseAfterReturnMode::Never;
  pipeline.addPass(AddressSanitizerPass(options, /*UseGlobalGC=*/false, /*UseOdrIndicator=*/false,
                                        AsanDtorKind::None, AsanCtorKind::None));
}
#endif

}  // namespace

void optimize_for_host(Module &module, TargetMachine &machine, bool suspends) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  ModulePassManager pipeline = suspends ? coroutine_pipeline() : loop_pipeline();
  pipeline.run(module, modules);
#ifdef FUSE_HOST_ASAN
  ModulePassManager sanitizer;
  add_sanitizer(module, sanitizer);
  sanitizer.run(module, modules);
#endif
}

}  // namespace fuse
