// Which function is computed how, and the integer algorithms.
#include "codegen/math.h"

#include "codegen/math_functions.h"
#include "ir/format.h"
#include "ir/op.h"

namespace fuse {

llvm::Value *emit_math(Builder &b, Op op, const Values &x) {
  std::vector<Num> operands;
  for (llvm::Value *v : x) operands.emplace_back(b, v);
  bool is_f64 = x[0]->getType()->isDoubleTy();
  if (std::optional<Num> y = is_f64 ? std::nullopt : math_f32(op, operands)) return y->value();
  return emit_math_in_f64(b, op, x);
}

llvm::Value *emit_math_in_f64(Builder &b, Op op, const Values &x) {
  bool is_f64 = x[0]->getType()->isDoubleTy();
  std::string name = "fuse." + std::string(info(op).text) + (is_f64 ? ".f64" : ".f32");
  return call_outlined(b, name, x, [op](Builder &inner, const Values &arguments) {
    std::vector<Num> wide;
    for (llvm::Value *v : arguments)
      wide.emplace_back(inner, inner.CreateFPExt(v, inner.getDoubleTy()));
    return inner.CreateFPTrunc(math_f64(op, wide).value(), arguments[0]->getType());
  });
}

llvm::Value *call_outlined(Builder &b, std::string_view name, const Values &operands,
                           const std::function<llvm::Value *(Builder &, const Values &)> &body) {
  llvm::Module &module = *b.GetInsertBlock()->getModule();
  llvm::Function *function = module.getFunction(llvm::StringRef(name));
  if (!function) {
    std::vector<llvm::Type *> types;
    for (llvm::Value *v : operands) types.push_back(v->getType());
    auto *type = llvm::FunctionType::get(operands[0]->getType(), types, false);
    function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                                      llvm::StringRef(name), module);
    for (llvm::Attribute::AttrKind a :
         {llvm::Attribute::NoInline, llvm::Attribute::NoUnwind, llvm::Attribute::WillReturn})
      function->addFnAttr(a);
    function->setDoesNotAccessMemory();
    Builder inner(llvm::BasicBlock::Create(module.getContext(), "entry", function));
    Values arguments;
    for (llvm::Argument &argument : function->args()) arguments.push_back(&argument);
    inner.CreateRet(body(inner, arguments));
  }
  return b.CreateCall(function, operands);
}

}  // namespace fuse
