// The frame of a kernel: parameters, machine registers, the walk over the body, loops and scopes.
//
// Before: the kernel verifies. After: the function is complete and passes LLVM's verifier.
#include "codegen/codegen.h"
#include "codegen/emit.h"
#include "codegen/emitter.h"
#include "codegen/hooks.h"
#include "ir/format.h"

#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace fuse {

llvm::Function *emit_kernel(const Kernel &kernel, const Target &target, llvm::Module &module) {
  return Emitter(kernel, target, module).run();
}

Emitter::Emitter(const Kernel &kernel, const Target &target, llvm::Module &module)
    : kernel_(kernel),
      target_(target),
      module_(module),
      map_(kernel),
      invalid_(kernel),
      b_(module.getContext()),
      ops_(b_, target),
      bits_(static_cast<unsigned>(kernel.index_bits)),
      values_(kernel.values.size()) {}

llvm::Function *Emitter::run() {
  declare();
  entry_ = llvm::BasicBlock::Create(module_.getContext(), "entry", function_);
  b_.SetInsertPoint(entry_);
  if (awaits_grids(target_)) b_.CreateCall(hook_function(module_, Hook::grid_wait), {});
  emit_machine_registers();
  scopes_.emplace_back();
  if (kernel_.instances > 0) emit_instance();
  awaits_cluster_ = kernel_.cluster > 1;
  if (awaits_cluster_) emit_cluster_arrive();
  emit_body(kernel_.body);
  emit_cluster_start();
  b_.CreateRetVoid();
  check_shared_memory();
  return function_;
}

void Emitter::check_shared_memory() const {
  std::int64_t bytes = shared_bytes_ + dynamic_shared_bytes(kernel_);
  if (shared_bytes_ < bytes && bytes > target_.shared_per_block)
    fail(ErrorCode::Unsupported,
         "kernel {} needs {} bytes of shared memory with its pipe, more than a block of {} has: {}",
         kernel_.name, bytes, target_.name, target_.shared_per_block);
}

void Emitter::declare() {
  if (kernel_.cluster > 1 && target_.sm < 90)
    fail(ErrorCode::Unsupported, "kernel {}: clusters of {} blocks need sm_90, not sm_{}",
         kernel_.name, kernel_.cluster, target_.sm);
  if (parameter_bytes(kernel_) > target_.parameter_bytes)
    fail(ErrorCode::Unsupported, "kernel {}: {} bytes of parameters, and target {} takes {}",
         kernel_.name, parameter_bytes(kernel_), target_.name, target_.parameter_bytes);
  function_ =
      llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), parameter_types(), false),
                             llvm::GlobalValue::ExternalLinkage, kernel_.name, module_);
  function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
  function_->setDoesNotThrow();
  function_->addFnAttr("nvvm.maxntid", std::to_string(kernel_.threads));
  if (kernel_.resident > 0) function_->addFnAttr("nvvm.minctasm", std::to_string(kernel_.resident));
  if (kernel_.cluster > 1)
    function_->addFnAttr("nvvm.cluster_dim", std::to_string(kernel_.cluster) + ",1,1");
  name_parameters();
}

/// Buffers, then symbols, then the table of instances.
std::vector<llvm::Type *> Emitter::parameter_types() const {
  llvm::LLVMContext &context = module_.getContext();
  std::vector<llvm::Type *> types;
  for (const Buffer &buffer : kernel_.buffers)
    if (!buffer.each)
      types.push_back(buffer.role == BufferRole::Scalar ? memory_type_of(buffer.dtype, context)
                                                        : llvm::PointerType::get(context, 1));
  types.insert(types.end(), symbols_of(kernel_).size(), llvm::Type::getInt64Ty(context));
  if (kernel_.instances > 0) types.push_back(llvm::PointerType::get(context, 0));
  return types;
}

void Emitter::name_parameters() {
  llvm::Argument *argument = function_->arg_begin();
  for (const Buffer &buffer : kernel_.buffers) {
    buffers_.push_back(buffer.each ? nullptr : argument);
    if (buffer.each) continue;
    argument->setName(buffer.name);
    bool is_scalar = buffer.role == BufferRole::Scalar;
    if (!is_scalar && buffer.alignment > 0)
      argument->addAttr(llvm::Attribute::getWithAlignment(
          module_.getContext(), llvm::Align(static_cast<std::uint64_t>(buffer.alignment))));
    if (!is_scalar && !buffer.coherent) argument->addAttr(llvm::Attribute::NoAlias);
    if (buffer.role == BufferRole::Input) argument->addAttr(llvm::Attribute::ReadOnly);
    ++argument;
  }
  for (const std::string &symbol : symbols_of(kernel_)) {
    argument->setName(symbol);
    symbols_[symbol] = argument++;
  }
}

void Emitter::emit_machine_registers() {
  auto read = [&](llvm::Intrinsic::ID id, std::uint32_t end) {
    llvm::CallInst *call = b_.CreateIntrinsic(b_.getInt32Ty(), id, llvm::ArrayRef<llvm::Value *>{});
    call->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, end)));
    return call;
  };
  thread_ =
      read(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, static_cast<std::uint32_t>(kernel_.threads));
  llvm::Value *block = read(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, 0x7fffffff);
  llvm::Value *cluster = b_.getInt32(static_cast<std::uint32_t>(kernel_.cluster));
  block_ = b_.CreateUDiv(block, cluster);
  rank_ = b_.CreateURem(block, cluster);
}

SlotSpace Emitter::slots_of(const std::vector<DimId> &dims) const {
  if (layout_ == kNone || dims.empty()) return SlotSpace();
  return map_.slots(layout_, axes_of(kernel_.layouts[layout_], dims));
}

llvm::Value *Emitter::value_at(ValueId value, const Assignment &assignment) {
  std::size_t slot = slots_of(value).slot_at(assignment);
  llvm::Value *held = values_[value].empty() ? nullptr : values_[value][slot];
  FUSE_CHECK(held, "value {} of kernel {} is used before it is ready", kernel_.values[value].name,
             kernel_.name);
  if (!held->getType()->isPointerTy()) return held;
  // Kept in shared memory: volatile, or the stored value would be forwarded in a register.
  return b_.CreateLoad(type_of(kernel_.values[value].dtype, module_.getContext()), held,
                       /*isVolatile=*/true);
}

void Emitter::define(ValueId value, Values slots) { values_[value] = std::move(slots); }

void Emitter::emit_body(const std::vector<Stmt> &body) {
  for (std::size_t i = 0; i < body.size();) {
    std::size_t run = end_of_local(body, i), end = end_of_reductions(body, run);
    if (end == i) {
      emit_stmt(body[i++]);
      continue;
    }
    emit_run(std::span(body).subspan(i, run - i), std::span(body).subspan(run, end - run));
    i = end;
  }
}

void Emitter::emit_stmt(const Stmt &stmt) {
  switch (stmt.kind) {
    case StmtKind::Constant: return emit_constant(stmt);
    case StmtKind::Index:
    case StmtKind::Random:
    case StmtKind::Compute:
    case StmtKind::Keep: return emit_all_slots(stmt);
    case StmtKind::Load: return emit_load(stmt);
    case StmtKind::Store: return emit_store(stmt);
    case StmtKind::Reduce: return emit_run({}, {&stmt, 1});
    case StmtKind::Scan: return emit_scan(stmt);
    case StmtKind::Move: return emit_move(stmt);
    case StmtKind::For: return emit_for(stmt);
    case StmtKind::In: return emit_in(stmt);
    case StmtKind::LastBlock: return emit_last_block(stmt);
  }
}

void Emitter::emit_in(const Stmt &stmt) {
  LayoutId outer = layout_;
  layout_ = stmt.layout;
  scopes_.emplace_back();
  emit_body(stmt.body);
  scopes_.pop_back();
  layout_ = outer;
}

void Emitter::emit_loop_body(const Stmt &stmt) {
  scopes_.emplace_back();
  emit_body(stmt.body);
  scopes_.pop_back();
}

/// A partitioned loop holds its body twice: iterations that no edge touches make no tests.
void Emitter::emit_iteration(const Stmt &stmt) {
  scopes_.emplace_back();
  llvm::Value *interior = stmt.partition ? emit_interior(stmt.loop) : nullptr;
  if (interior) {
    emit_if_else(
        b_, interior,
        [&] {
          loops_.back().interior = true;
          emit_loop_body(stmt);
          loops_.back().interior = false;
        },
        [&] { emit_loop_body(stmt); });
  } else {
    emit_loop_body(stmt);
  }
  scopes_.pop_back();
}

void Emitter::emit_for(const Stmt &stmt) {
  const Digit *digit = nullptr;
  for (LayoutId l = 0; l < kernel_.layouts.size(); ++l)
    if (!digit && (layout_ == kNone || l == layout_))
      digit = loop_digit(kernel_.layouts[l], stmt.loop);
  FUSE_CHECK(digit, "kernel {}: no loop digit {}", kernel_.name, stmt.loop);
  llvm::LLVMContext &context = module_.getContext();
  llvm::Value *count = emit_count(digit->extent);
  emit_cluster_start();
  if (stmt.pipe > 0) begin_pipe(stmt, count);
  auto *header = llvm::BasicBlock::Create(context, stmt.loop, function_);
  auto *body = llvm::BasicBlock::Create(context, stmt.loop + ".body", function_);
  auto *exit = llvm::BasicBlock::Create(context, stmt.loop + ".end", function_);
  Loop loop;
  loop.stmt = &stmt;
  loop.preheader = b_.GetInsertBlock();
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode *iteration = b_.CreatePHI(b_.getInt32Ty(), 2, stmt.loop);
  loop.count = loop.iteration = iteration;
  if (stmt.reverse) loop.iteration = b_.CreateSub(b_.CreateSub(count, b_.getInt32(1)), iteration);
  iteration->addIncoming(b_.getInt32(0), loop.preheader);
  b_.CreateCondBr(b_.CreateICmpULT(iteration, count), body, exit);
  b_.SetInsertPoint(body);
  loops_.push_back(std::move(loop));
  if (stmt.pipe > 0) await_pipe();
  emit_iteration(stmt);
  if (stmt.pipe > 0) advance_pipe();
  // What one iteration reads from shared memory the next must not overwrite: with two or more
  // barriers in the body, one always stands between.
  if (loops_.back().barriers == 1) emit_barrier();
  if (loops_.back().cluster_barriers == 1) emit_cluster_barrier();
  llvm::Value *next = b_.CreateAdd(iteration, b_.getInt32(1), "", /*HasNUW=*/true);
  iteration->addIncoming(next, b_.GetInsertBlock());
  b_.CreateBr(header);
  b_.SetInsertPoint(exit);
  loop = std::move(loops_.back());
  loops_.pop_back();
  if (loop.barriers && !loops_.empty()) loops_.back().barriers = 2;
  if (loop.cluster_barriers && !loops_.empty()) loops_.back().cluster_barriers = 2;
  finish_reductions(loop);
}

void Emitter::emit_last_block(const Stmt &stmt) {
  emit_cluster_start();
  llvm::Value *flag = allocate_shared(4, "last");
  Index placed = map_.place(stmt.index, layout_);
  llvm::Value *counter = address(stmt.buffer, emit_offset(placed, {}, bits_));
  llvm::Value *last = b_.CreateSub(emit_count(map_.place(stmt.count, layout_)), b_.getInt32(1));
  auto device = module_.getContext().getOrInsertSyncScopeID("device");
  auto fence = [&] { b_.CreateFence(llvm::AtomicOrdering::AcquireRelease, device); };
  emit_barrier();
  state_regions_.release();
  emit_if(b_, b_.CreateICmpEQ(thread_, b_.getInt32(0)), [&] {
    fence();
    llvm::Value *arrived =
        b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, counter, b_.getInt32(1), llvm::MaybeAlign(4),
                           llvm::AtomicOrdering::Monotonic, device);
    llvm::Value *is_last = b_.CreateICmpEQ(arrived, last);
    b_.CreateStore(b_.CreateZExt(is_last, b_.getInt32Ty()), flag);
    emit_if(b_, is_last, [&] {
      b_.CreateStore(b_.getInt32(0), counter);
      fence();
    });
  });
  emit_barrier();
  llvm::Value *run = b_.CreateICmpNE(b_.CreateLoad(b_.getInt32Ty(), flag), b_.getInt32(0));
  LayoutId outer = layout_;
  emit_if(b_, run, [&] {
    fence();
    scopes_.emplace_back();
    emit_body(stmt.body);
    scopes_.pop_back();
  });
  layout_ = outer;
}

void emit_if(Builder &b, llvm::Value *condition, const std::function<void()> &then) {
  if (!condition) return then();
  llvm::Function *function = b.GetInsertBlock()->getParent();
  auto *inside = llvm::BasicBlock::Create(b.getContext(), "then", function);
  auto *after = llvm::BasicBlock::Create(b.getContext(), "end", function);
  b.CreateCondBr(condition, inside, after);
  b.SetInsertPoint(inside);
  then();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void emit_if_else(Builder &b, llvm::Value *condition, const std::function<void()> &then,
                  const std::function<void()> &otherwise) {
  llvm::Function *function = b.GetInsertBlock()->getParent();
  auto *first = llvm::BasicBlock::Create(b.getContext(), "then", function);
  auto *second = llvm::BasicBlock::Create(b.getContext(), "else", function);
  auto *after = llvm::BasicBlock::Create(b.getContext(), "end", function);
  b.CreateCondBr(condition, first, second);
  b.SetInsertPoint(first);
  then();
  b.CreateBr(after);
  b.SetInsertPoint(second);
  otherwise();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

}  // namespace fuse
