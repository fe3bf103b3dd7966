// Initialisation of LLVM and its errors; the rules are in the header.
#include "codegen/diagnostics.h"

#include "codegen/codegen.h"

#include "ir/env.h"
#include "ir/format.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <mutex>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
}

namespace fuse {

namespace {

struct Collector : llvm::DiagnosticHandler {
  explicit Collector(std::shared_ptr<std::string> errors) : errors(std::move(errors)) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    if (!errors->empty()) *errors += "; ";
    *errors += text;
    return true;
  }

  std::shared_ptr<std::string> errors;
};

void throw_fatal(void *, const char *reason, bool) {
  fail(ErrorCode::Internal, "LLVM gave up: {}; this is a bug in fuse, please report it", reason);
}

std::atomic<bool> is_initialized{false};

}  // namespace

bool has_used_llvm() { return is_initialized; }

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    is_initialized = true;
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    llvm::install_fatal_error_handler(throw_fatal);
  });
}

Diagnostics::Diagnostics(llvm::LLVMContext &context) {
  context.setDiagnosticHandler(std::make_unique<Collector>(errors_));
}

void Diagnostics::check(std::string_view stage) const {
  if (errors_->empty()) return;
  fail(ErrorCode::Internal, "{}: LLVM reports: {}; this is a bug in fuse, please report it", stage,
       *errors_);
}

std::unique_ptr<llvm::Module> parse_llvm(std::string_view ir, llvm::LLVMContext &context) {
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(ir, error, context);
  if (!module)
    fail(ErrorCode::Parse, "<llvm>:{}:{}: error: {}", error.getLineNo(), error.getColumnNo(),
         error.getMessage().str());
  return module;
}

void verify_module(const llvm::Module &module, std::string_view stage) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (!llvm::verifyModule(module, &stream)) return;
  fail(ErrorCode::Internal, "{}: malformed LLVM IR: {}; this is a bug in fuse, please report it",
       stage, text);
}

void verify_if_asked(const llvm::Module &module, std::string_view stage) {
  if (environment().verify) verify_module(module, stage);
}

}  // namespace fuse
