// Declaration of hooks and their expansion for PTX.
//
// After expand_hooks the module declares no hook: each call became inline assembly with the
// memory effects that hooks.def states.
#include "codegen/hooks.h"

#include "ir/format.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"

#include <array>

namespace fuse {

namespace {

using namespace llvm;

constexpr std::array<HookInfo, kNumHooks> kHooks = {{
#define FUSE_HOOK(name, results, operands, memory, assembly, constraints) \
  {#name, results, operands, HookMemory::memory, assembly, constraints},
#include "codegen/hooks.def"
}};

constexpr std::string_view kPrefix = "fuse.hook.";

Type *type_of(char letter, LLVMContext &context) {
  switch (letter) {
    case 'h': return Type::getInt16Ty(context);
    case 'i': return Type::getInt32Ty(context);
    case 'l': return Type::getInt64Ty(context);
    case 'f': return Type::getFloatTy(context);
    case 'd': return Type::getDoubleTy(context);
    case 'g': return PointerType::get(context, 1);
    case 's': return PointerType::get(context, 3);
  }
  fail(ErrorCode::Internal, "hooks.def: unknown type letter '{}'", letter);
}

FunctionType *type_of(const HookInfo &hook, LLVMContext &context) {
  SmallVector<Type *> results, operands;
  for (char c : hook.results) results.push_back(type_of(c, context));
  for (char c : hook.operands) operands.push_back(type_of(c, context));
  Type *result = results.empty()       ? Type::getVoidTy(context)
                 : results.size() == 1 ? results[0]
                                       : StructType::get(context, results);
  return FunctionType::get(result, operands, false);
}

MemoryEffects effects_of(HookMemory memory) {
  switch (memory) {
    case HookMemory::None: return MemoryEffects::none();
    case HookMemory::Read: return MemoryEffects::argMemOnly(ModRefInfo::Ref);
    case HookMemory::Write: return MemoryEffects::argMemOnly(ModRefInfo::Mod);
    case HookMemory::Sync: return MemoryEffects::unknown();
  }
  return MemoryEffects::unknown();
}

void expand_calls(Function &function, const HookInfo &hook) {
  InlineAsm *assembly =
      InlineAsm::get(function.getFunctionType(), hook.assembly, hook.constraints,
                     hook.memory == HookMemory::Write || hook.memory == HookMemory::Sync);
  for (User *user : make_early_inc_range(function.users())) {
    auto *call = cast<CallInst>(user);
    SmallVector<Value *> arguments(call->args());
    CallInst *expanded =
        CallInst::Create(function.getFunctionType(), assembly, arguments, "", call->getIterator());
    expanded->setMemoryEffects(effects_of(hook.memory));
    expanded->setDoesNotThrow();
    call->replaceAllUsesWith(expanded);
    call->eraseFromParent();
  }
}

}  // namespace

const HookInfo &info(Hook hook) { return kHooks[static_cast<std::size_t>(hook)]; }

Function *hook_function(Module &module, Hook hook) {
  const HookInfo &h = info(hook);
  std::string name = std::string(kPrefix) + std::string(h.name);
  if (Function *existing = module.getFunction(name)) return existing;
  auto *function =
      Function::Create(type_of(h, module.getContext()), GlobalValue::ExternalLinkage, name, module);
  function->setMemoryEffects(effects_of(h.memory));
  function->setDoesNotThrow();
  function->addFnAttr(Attribute::Convergent);
  function->addFnAttr(Attribute::WillReturn);
  return function;
}

std::optional<Hook> hook_of(const Function &function) {
  StringRef name = function.getName();
  if (!name.consume_front(kPrefix)) return std::nullopt;
  for (std::size_t i = 0; i < kHooks.size(); ++i)
    if (name == StringRef(kHooks[i].name)) return static_cast<Hook>(i);
  return std::nullopt;
}

void expand_hooks(Module &module) {
  for (Function &function : make_early_inc_range(module)) {
    std::optional<Hook> hook = hook_of(function);
    if (!hook) continue;
    expand_calls(function, info(*hook));
    function.eraseFromParent();
  }
}

}  // namespace fuse
