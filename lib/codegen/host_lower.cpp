// GPU module -> host module; what holds before and after is in the header.
//
// The kernel is cloned into a body with leading context arguments while a type mapper moves all
// pointers to address space 0. Shared arrays become offsets into the block's memory. An entry
// unpacks the arguments as cuLaunchKernel takes them.
#include "codegen/host_lower.h"
#include "codegen/hooks.h"

#include "codegen/host_abi.h"
#include "codegen/host_floats.h"
#include "ir/format.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

namespace fuse {

namespace {

using namespace llvm;

constexpr unsigned kSharedSpace = 3;
constexpr std::uint64_t kSharedAlign = 128;
#ifdef FUSE_HOST_ASAN
constexpr std::uint64_t kSharedGap = 128;  // poisoned by the executor
#else
constexpr std::uint64_t kSharedGap = 0;
#endif

/// Pointers of every address space become flat ones.
struct FlatPointers : ValueMapTypeRemapper {
  Type *remapType(Type *type) override {
    if (type->isPointerTy()) return PointerType::get(type->getContext(), 0);
    if (auto *vector = dyn_cast<VectorType>(type); vector && vector->isPtrOrPtrVectorTy())
      return VectorType::get(remapType(vector->getElementType()), vector->getElementCount());
    return type;
  }
};

class HostLowering {
 public:
  explicit HostLowering(Module &module) : module_(module), context_(module.getContext()) {}

  HostFunctionShape run();

 private:
  Function *find_kernel();
  Function *declare_body();
  void flatten_globals();
  void place_shared(IRBuilder<> &b, HostBody &state);
  void clone_body();
  void drop_address_space_casts();
  Function *declare_entry();
  std::vector<Value *> unpack_arguments(IRBuilder<> &b, Value *arguments);
  void make_loop_entry();
  void make_start_entry();
  void drop_unused();

  Module &module_;
  LLVMContext &context_;
  FlatPointers flat_;
  ValueToValueMapTy map_;
  HostFunctionShape shape_;
  Function *kernel_ = nullptr;
  Function *body_ = nullptr;
  std::vector<Type *> parameters_;  // of the kernel, flat
  unsigned leading_ = 2;            // arguments of the body before the kernel's
};

Function *HostLowering::find_kernel() {
  Function *kernel = nullptr;
  for (Function &function : module_) {
    if (function.getCallingConv() != CallingConv::PTX_Kernel) continue;  // called by the kernel
    if (kernel) fail(ErrorCode::Unsupported, "the host executor takes one kernel a module");
    kernel = &function;
  }
  if (!kernel) fail(ErrorCode::Unsupported, "the module has no kernel");
  return kernel;
}

/// body(block, thread, kernel's ...) or, suspending, body(block, thread, call, frame, kernel's ...)
Function *HostLowering::declare_body() {
  Type *pointer = PointerType::get(context_, 0);
  std::vector<Type *> types{pointer, Type::getInt32Ty(context_)};
  if (shape_.suspends) types.insert(types.end(), {pointer, pointer});
  leading_ = static_cast<unsigned>(types.size());
  for (Argument &argument : kernel_->args())
    parameters_.push_back(flat_.remapType(argument.getType()));
  types.insert(types.end(), parameters_.begin(), parameters_.end());
  Type *result = shape_.suspends ? pointer : Type::getVoidTy(context_);
  auto *body =
      Function::Create(FunctionType::get(result, types, false), GlobalValue::InternalLinkage,
                       kernel_->getName() + ".body", module_);
  for (Argument &argument : kernel_->args())
    map_[&argument] = body->getArg(leading_ + argument.getArgNo());
  return body;
}

/// Constant tables of the GPU's constant or global memory.
void HostLowering::flatten_globals() {
  std::vector<GlobalVariable *> globals;
  for (GlobalVariable &global : module_.globals())
    if (global.getAddressSpace() != 0 && global.getAddressSpace() != kSharedSpace)
      globals.push_back(&global);
  for (GlobalVariable *global : globals)
    map_[global] = new GlobalVariable(module_, global->getValueType(), global->isConstant(),
                                      GlobalValue::InternalLinkage, global->getInitializer(),
                                      global->getName() + ".host");
}

void HostLowering::place_shared(IRBuilder<> &b, HostBody &state) {
  std::vector<GlobalVariable *> arrays;
  for (GlobalVariable &global : module_.globals())
    if (global.getAddressSpace() == kSharedSpace) arrays.push_back(&global);
  if (arrays.empty()) return;
  Value *base = state.block_field(b, offsetof(BlockContext, shared), b.getPtrTy());
  for (GlobalVariable *array : arrays) {
    std::uint64_t bytes = module_.getDataLayout().getTypeAllocSize(array->getValueType());
    if (array->isDeclaration()) bytes = kernel_->getFnAttributeAsParsedInteger(kDynamicShared);
    shape_.shared.push_back({shape_.shared_bytes, bytes});
    map_[array] = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), base, shape_.shared_bytes);
    shape_.shared_bytes = alignTo(shape_.shared_bytes + bytes + kSharedGap, kSharedAlign);
  }
}

void HostLowering::clone_body() {
  BasicBlock *prologue = BasicBlock::Create(context_, "prologue", body_);
  IRBuilder<> b(prologue);
  HostBody state(*body_, shape_.suspends);
  Instruction *end = b.CreateUnreachable();
  b.SetInsertPoint(end);
  if (shape_.suspends) state.begin_coroutine(b);
  place_shared(b, state);
  prologue = end->getParent();

  SmallVector<ReturnInst *, 4> returns;
  CloneFunctionInto(body_, kernel_, map_, CloneFunctionChangeType::LocalChangesOnly, returns, "",
                    nullptr, &flat_);
  auto *first = cast<BasicBlock>(map_[&kernel_->getEntryBlock()]);
  end->eraseFromParent();
  BranchInst::Create(first, prologue);
  MergeBlockIntoPredecessor(first);  // so that its allocas are in the entry block

  body_->setCallingConv(CallingConv::C);
  body_->setAttributes(AttributeList());
  body_->setDSOLocal(true);
  body_->setDoesNotThrow();
  if (shape_.suspends) body_->setPresplitCoroutine();
  drop_address_space_casts();
  lower_intrinsics_for_host(*body_, state);
  state.finish_returns();
}

/// They became casts of a type to itself, which are no legal IR.
void HostLowering::drop_address_space_casts() {
  for (Instruction &instruction : make_early_inc_range(instructions(*body_))) {
    if (!isa<AddrSpaceCastInst>(instruction)) continue;
    instruction.replaceAllUsesWith(instruction.getOperand(0));
    instruction.eraseFromParent();
  }
}

Function *HostLowering::declare_entry() {
  shape_.entry = (kernel_->getName() + ".entry").str();
  Type *pointer = PointerType::get(context_, 0);
  Type *word = Type::getInt32Ty(context_);
  std::vector<Type *> types{pointer, pointer, word};
  if (shape_.suspends)
    types.insert(types.end(), {pointer, pointer});
  else
    types.push_back(word);
  auto *entry = Function::Create(FunctionType::get(Type::getVoidTy(context_), types, false),
                                 GlobalValue::ExternalLinkage, shape_.entry, module_);
  entry->setDoesNotThrow();
  return entry;
}

std::vector<Value *> HostLowering::unpack_arguments(IRBuilder<> &b, Value *arguments) {
  std::vector<Value *> values;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Value *address =
        b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), arguments, i));
    bool by_value = kernel_->getArg(static_cast<unsigned>(i))->hasByValAttr();
    values.push_back(by_value ? address : b.CreateLoad(parameters_[i], address));
  }
  return values;
}

/// for (thread = first; thread < last; ++thread) body(block, thread, ...)
void HostLowering::make_loop_entry() {
  Function *entry = declare_entry();
  body_->addFnAttr(Attribute::AlwaysInline);
  BasicBlock *start = BasicBlock::Create(context_, "start", entry);
  BasicBlock *loop = BasicBlock::Create(context_, "loop", entry);
  BasicBlock *done = BasicBlock::Create(context_, "done", entry);
  IRBuilder<> b(start);
  std::vector<Value *> values = unpack_arguments(b, entry->getArg(1));
  Value *first = entry->getArg(2);
  Value *last = entry->getArg(3);
  b.CreateCondBr(b.CreateICmpULT(first, last), loop, done);
  b.SetInsertPoint(loop);
  PHINode *thread = b.CreatePHI(b.getInt32Ty(), 2);
  std::vector<Value *> arguments{entry->getArg(0), thread};
  arguments.insert(arguments.end(), values.begin(), values.end());
  b.CreateCall(body_, arguments);
  Value *next = b.CreateNUWAdd(thread, b.getInt32(1));
  b.CreateCondBr(b.CreateICmpULT(next, last), loop, done);
  thread->addIncoming(first, start);
  thread->addIncoming(next, loop);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
}

void HostLowering::make_start_entry() {
  Function *entry = declare_entry();
  IRBuilder<> b(BasicBlock::Create(context_, "start", entry));
  std::vector<Value *> arguments{entry->getArg(0), entry->getArg(2), entry->getArg(3),
                                 entry->getArg(4)};
  std::vector<Value *> values = unpack_arguments(b, entry->getArg(1));
  arguments.insert(arguments.end(), values.begin(), values.end());
  b.CreateCall(body_, arguments);
  b.CreateRetVoid();
}

void HostLowering::drop_unused() {
  kernel_->eraseFromParent();
  for (Function &function : make_early_inc_range(module_))
    if (function.isDeclaration() && function.use_empty()) function.eraseFromParent();
  for (GlobalVariable &global : make_early_inc_range(module_.globals())) {
    global.removeDeadConstantUsers();
    if (global.use_empty()) global.eraseFromParent();
  }
}

HostFunctionShape HostLowering::run() {
  kernel_ = find_kernel();
  shape_.suspends = has_collectives(*kernel_);
  expand_16bit_floats(*kernel_);
  move_16bit_floats_as_integers(*kernel_);
  SmallVector<Constant *> globals;
  for (GlobalVariable &global : module_.globals()) globals.push_back(&global);
  convertUsersOfConstantsToInstructions(globals);
  flatten_globals();
  body_ = declare_body();
  clone_body();
  if (shape_.suspends)
    make_start_entry();
  else
    make_loop_entry();
  drop_unused();
  return shape_;
}

}  // namespace

HostFunctionShape lower_for_host(Module &module, const Triple &triple, const DataLayout &layout) {
  module.setTargetTriple(triple);
  module.setDataLayout(layout);
  return HostLowering(module).run();
}

}  // namespace fuse
