// Errors of LLVM as exceptions of ours.
//
// LLVM's habit on an error is to print and exit, or to abort. Here its diagnostics are collected
// and thrown after it has returned; what would end in an abort is refused before code generation;
// and a fatal error that still happens is thrown from LLVM's handler, at the price of a leak.
#pragma once

#include "codegen/llvm.h"

#include <memory>
#include <string>
#include <string_view>

namespace fuse {

/// Registers the targets and the fatal-error handler. Call it before anything else of LLVM.
void initialize_llvm();

/// Collects the error diagnostics of a context from here on.
class Diagnostics {
 public:
  explicit Diagnostics(llvm::LLVMContext &context);

  /// Throws Error{Internal} with all that was collected, if anything was.
  void check(std::string_view stage) const;

 private:
  std::shared_ptr<std::string> errors_ = std::make_shared<std::string>();
};

/// Parses LLVM IR text. Throws Error{Parse} with line and column.
std::unique_ptr<llvm::Module> parse_llvm(std::string_view ir, llvm::LLVMContext &context);

/// Throws Error{Internal} if the module calls anything that NVPTX cannot select.
void check_selectable(const llvm::Module &module);

/// Throws Error{Internal} if the module is malformed. Runs only where FUSE_VERIFY is set.
void verify_if_asked(const llvm::Module &module, std::string_view stage);

/// Throws Error{Internal} if the module is malformed.
void verify_module(const llvm::Module &module, std::string_view stage);

}  // namespace fuse
