// Host modules to machine code through ORC, one linker for each kernel.
//
// Instructions on 16-bit floats stay off whatever the CPU has: some flush denormals.
#include "codegen/host_jit.h"

#include "codegen/diagnostics.h"
#include "codegen/host_emulate.h"
#include "codegen/host_optimize.h"
#include "ir/format.h"

#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

namespace fuse {

namespace {

using namespace llvm;

template <class T>
T value_or_fail(Expected<T> expected, const char *stage) {
  if (!expected)
    fail(ErrorCode::Internal, "host executor, {}: {}", stage, toString(expected.takeError()));
  return std::move(*expected);
}

void check(llvm::Error error, const char *stage) {
  if (error) fail(ErrorCode::Internal, "host executor, {}: {}", stage, toString(std::move(error)));
}

orc::JITTargetMachineBuilder this_cpu() {
  auto builder = value_or_fail(orc::JITTargetMachineBuilder::detectHost(), "detecting the CPU");
  builder.addFeatures({"-avx512bf16", "-avxneconvert", "-avx512fp16"});
  builder.setCodeGenOptLevel(CodeGenOptLevel::Default);
  // What the linker of LLJIT asks for.
  builder.setRelocationModel(Reloc::PIC_);
  builder.setCodeModel(CodeModel::Small);
  return builder;
}

/// The machine of this thread.
TargetMachine &host_machine() {
  thread_local std::unique_ptr<TargetMachine> machine =
      value_or_fail(this_cpu().createTargetMachine(), "making a target machine");
  return *machine;
}

orc::SymbolMap emulators(orc::LLJIT &jit) {
  orc::SymbolMap symbols;
  for (const HostFunction &function : host_functions())
    symbols[jit.mangleAndIntern(StringRef(function.name))] = {
        orc::ExecutorAddr::fromPtr(function.address),
        JITSymbolFlags::Exported | JITSymbolFlags::Callable};
  return symbols;
}

std::unique_ptr<orc::LLJIT> make_linker() {
  static const orc::JITTargetMachineBuilder cpu = this_cpu();
  auto jit = value_or_fail(orc::LLJITBuilder()
                               .setJITTargetMachineBuilder(cpu)
                               .setPlatformSetUp(orc::setUpInactivePlatform)
                               .setLinkProcessSymbolsByDefault(true)
                               .create(),
                           "making a linker");
  check(jit->getMainJITDylib().define(orc::absoluteSymbols(emulators(*jit))), "naming emulators");
  return jit;
}

}  // namespace

struct HostCode::Linker {
  std::unique_ptr<orc::LLJIT> jit;
};

HostObject compile_for_host(std::unique_ptr<Module> &&given,
                            std::unique_ptr<LLVMContext> &&given_context) {
  // In this order: an exception must destroy the module before its context.
  std::unique_ptr<LLVMContext> context = std::move(given_context);
  std::unique_ptr<Module> module = std::move(given);
  Diagnostics diagnostics(*context);
  TargetMachine &machine = host_machine();
  HostObject object;
  object.shape = lower_for_host(*module, machine.getTargetTriple(), machine.createDataLayout());
  verify_if_asked(*module, "lower_for_host");
  optimize_for_host(*module, machine, object.shape.suspends);
  verify_if_asked(*module, "optimize_for_host");
  auto code = value_or_fail(orc::SimpleCompiler(machine)(*module), "compiling");
  diagnostics.check("host executor");
  object.code = code->getBuffer().str();
  return object;
}

std::string host_cpu() {
  orc::JITTargetMachineBuilder cpu = this_cpu();
  return cpu.getCPU() + " " + cpu.getFeatures().getString();
}

HostCode::HostCode(HostObject object)
    : linker_(std::make_unique<Linker>()), shape_(std::move(object.shape)) {
  linker_->jit = make_linker();
  check(linker_->jit->addObjectFile(MemoryBuffer::getMemBufferCopy(object.code, shape_.entry)),
        "adding the object");
  entry_ = value_or_fail(linker_->jit->lookup(shape_.entry), "linking").toPtr<void *>();
}

HostCode::~HostCode() = default;

}  // namespace fuse
