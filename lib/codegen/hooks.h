// Hooks: named functions for what only inline assembly can say (hooks.def).
#pragma once

#include "codegen/llvm.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace fuse {

enum class Hook : std::uint8_t {
#define FUSE_HOOK(name, ...) name,
#include "codegen/hooks.def"
};

inline constexpr int kNumHooks = 0
#define FUSE_HOOK(...) +1
#include "codegen/hooks.def"
    ;

enum class HookMemory : std::uint8_t { None, Read, Write, Sync };

struct HookInfo {
  std::string_view name;      // the enumerator
  std::string_view results;   // letters of hooks.def
  std::string_view operands;  // letters of hooks.def
  HookMemory memory;
  std::string_view assembly;
  std::string_view constraints;
};

/// Attribute of a kernel: bytes of dynamic shared memory that its launch must provide.
inline constexpr const char *kDynamicShared = "fuse-dynamic-shared";

const HookInfo &info(Hook hook);

/// The declaration of the hook, "fuse.hook.<name>", in the module.
llvm::Function *hook_function(llvm::Module &module, Hook hook);

/// The hook that a function declares, if any.
std::optional<Hook> hook_of(const llvm::Function &function);

/// Replaces every call of a hook by its inline assembly and drops the declarations.
void expand_hooks(llvm::Module &module);

}  // namespace fuse
