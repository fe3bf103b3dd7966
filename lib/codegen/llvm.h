// The wrapper of LLVM's headers: include it first in every file of this room.
//
// LLVM's allocators poison memory in a build with AddressSanitizer; the packaged archives, built
// without it, never unpoison, so the headers must not poison either.
#pragma once

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Compiler.h"
#undef LLVM_ADDRESS_SANITIZER_BUILD
#define LLVM_ADDRESS_SANITIZER_BUILD 0
#undef __asan_poison_memory_region
#undef __asan_unpoison_memory_region
#define __asan_poison_memory_region(p, n)
#define __asan_unpoison_memory_region(p, n)

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

static_assert(LLVM_VERSION_MAJOR == 22, "fuse is written for LLVM 22");
