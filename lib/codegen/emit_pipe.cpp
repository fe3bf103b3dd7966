// Bulk loads of later iterations, in flight while this one is worked on.
//
// Each stage of the pipe is a part of dynamic shared memory with a memory barrier of its own. One
// thread asks for the bytes of an iteration and tells the barrier how many come; all threads wait
// for them. The stage of iteration k is free for iteration k + depth once all threads have read
// theirs, so a barrier of the block stands between. An iteration without valid rows asks for
// nothing and waits for nothing. What a whole block shares of an iteration, one value, is loaded an
// iteration ahead into registers.
#include "codegen/emitter.h"
#include "codegen/hooks.h"
#include "ir/format.h"

#include <algorithm>
#include <utility>

namespace fuse {

void Emitter::begin_pipe(const Stmt &loop, llvm::Value *count) {
  if (target_.sm < 90)
    fail(ErrorCode::Unsupported, "kernel {}: bulk copies need sm_90, not sm_{}", kernel_.name,
         target_.sm);
  if (dynamic_shared_bytes(kernel_) > target_.shared_per_block - kStaticShared)
    fail(ErrorCode::Unsupported, "kernel {}: a pipe of {} bytes is more than a block of {} has",
         kernel_.name, dynamic_shared_bytes(kernel_), target_.name);
  pipe_ = Pipe();
  pipe_.loop = &loop;
  for (const Stmt &s : loop.body) {
    if (s.kind != StmtKind::Load || !s.bulk) continue;
    if (bulk_dim(kernel_.layouts[layout_], s) == kNone) {
      pipe_.values.push_back(&s);
      continue;
    }
    pipe_.loads.push_back(&s);
    pipe_.offsets.push_back(pipe_.stage_bytes);
    std::int64_t row = bulk_bytes(kernel_, kernel_.layouts[layout_], s);
    pipe_.row_bytes += row;
    pipe_.stage_bytes += (row + kBulkAlignment - 1) / kBulkAlignment * kBulkAlignment;
  }
  pipe_.count = count;
  pipe_.stages = dynamic_shared();
  pipe_.barriers = allocate_shared(8 * pipe_.loop->pipe, "pipe");
  emit_if(b_, b_.CreateICmpEQ(thread_, b_.getInt32(0)), [&] {
    for (int stage = 0; stage < pipe_.loop->pipe; ++stage)
      call(Hook::barrier_init, {pipe_barrier(b_.getInt32(static_cast<unsigned>(stage)))});
    call(Hook::barrier_init_fence, {});
  });
  emit_barrier();
  for (int stage = 0; stage < pipe_.loop->pipe; ++stage)
    emit_bulk_copies(b_.getInt32(static_cast<unsigned>(stage)));
  emit_barrier();  // the host copies when it is asked, and waits for nothing
  for (const Stmt *value : pipe_.values) {
    llvm::Type *type = memory_type_of(kernel_.buffers[value->buffer].dtype, module_.getContext());
    Builder::InsertPointGuard guard(b_);
    b_.SetInsertPoint(entry_, entry_->begin());
    pipe_.ahead.push_back(b_.CreateAlloca(type));
  }
  load_ahead(b_.getInt32(0));
}

/// Runs `emit` as if the loop were at another iteration. Nothing that was emitted for the current
/// one is used again.
void Emitter::at_iteration(llvm::Value *iteration, const std::function<void()> &emit) {
  std::vector<Scope> outer = std::exchange(scopes_, std::vector<Scope>(1));
  loops_.emplace_back();
  loops_.back().stmt = pipe_.loop;
  loops_.back().iteration = iteration;
  emit();
  loops_.pop_back();
  scopes_ = std::move(outer);
}

/// The values that the block shares of an iteration, if there is one.
void Emitter::load_ahead(llvm::Value *iteration) {
  at_iteration(iteration, [&] {
    for (std::size_t i = 0; i < pipe_.values.size(); ++i) {
      const Stmt &load = *pipe_.values[i];
      Offset offset = emit_offset(map_.place(load.index, layout_), {}, bits_);
      llvm::Value *pointer = address(load.buffer, offset);
      llvm::Value *valid = b_.CreateICmpULT(iteration, pipe_.count);
      for (std::uint32_t a : axes_of(kernel_.layouts[layout_], load.index.dims()))
        valid = conjunction(valid, emit_valid(a, {}, 1));
      emit_if(b_, valid, [&] { b_.CreateStore(load_vector(load, pointer, 1), pipe_.ahead[i]); });
    }
  });
}

void Emitter::call(Hook hook, const Values &arguments) {
  b_.CreateCall(hook_function(module_, hook), arguments);
}

llvm::Value *Emitter::dynamic_shared() {
  std::string name = kernel_.name + "_dynamic";
  auto *memory = new llvm::GlobalVariable(module_, llvm::ArrayType::get(b_.getInt8Ty(), 0), false,
                                          llvm::GlobalValue::ExternalLinkage, nullptr, name,
                                          nullptr, llvm::GlobalValue::NotThreadLocal, 3);
  memory->setAlignment(llvm::Align(kBulkAlignment));
  function_->addFnAttr(kDynamicShared, std::to_string(dynamic_shared_bytes(kernel_)));
  return memory;
}

llvm::Value *Emitter::pipe_stage(llvm::Value *iteration) {
  return b_.CreateURem(iteration, b_.getInt32(static_cast<unsigned>(pipe_.loop->pipe)));
}

llvm::Value *Emitter::pipe_barrier(llvm::Value *stage) {
  return b_.CreateGEP(b_.getInt64Ty(), pipe_.barriers, stage);
}

llvm::Value *Emitter::pipe_buffer(std::size_t load, llvm::Value *stage) {
  llvm::Value *offset = b_.CreateMul(stage, b_.getInt32(static_cast<unsigned>(pipe_.stage_bytes)));
  offset = b_.CreateAdd(offset, b_.getInt32(static_cast<unsigned>(pipe_.offsets[load])));
  return b_.CreateGEP(b_.getInt8Ty(), pipe_.stages, offset);
}

/// Whether the rows of the current iteration are valid; null: always.
llvm::Value *Emitter::emit_rows_valid() {
  llvm::Value *valid = nullptr;
  for (const Stmt *load : pipe_.loads) {
    const Layout &layout = kernel_.layouts[layout_];
    std::uint32_t along = axis_of(layout, bulk_dim(layout, *load));
    for (std::uint32_t a : axes_of(layout, load->index.dims()))
      if (a != along) valid = conjunction(valid, emit_valid(a, {}, 1));
  }
  return valid;
}

/// One thread asks for the rows of an iteration, if there is one and they are valid.
void Emitter::emit_bulk_copies(llvm::Value *iteration) {
  at_iteration(iteration, [&] {
    llvm::Value *runs = b_.CreateAnd(b_.CreateICmpEQ(thread_, b_.getInt32(0)),
                                     b_.CreateICmpULT(iteration, pipe_.count));
    emit_if(b_, conjunction(runs, emit_rows_valid()), [&] { ask_for_rows(iteration); });
  });
}

void Emitter::ask_for_rows(llvm::Value *iteration) {
  auto number = [&](std::int64_t n) { return b_.getInt32(static_cast<unsigned>(n)); };
  const Layout &layout = kernel_.layouts[layout_];
  llvm::Value *stage = pipe_stage(iteration), *barrier = pipe_barrier(stage);
  call(Hook::barrier_expect, {barrier, number(pipe_.row_bytes)});
  for (std::size_t i = 0; i < pipe_.loads.size(); ++i) {
    const Stmt &load = *pipe_.loads[i];
    Index row = load.index - Index::dim(bulk_dim(layout, load));
    llvm::Value *source = address(load.buffer, emit_offset(map_.place(row, layout_), {}, bits_));
    llvm::Value *bytes = number(bulk_bytes(kernel_, layout, load));
    call(Hook::bulk_copy, {pipe_buffer(i, stage), source, bytes, barrier});
  }
}

void Emitter::await_pipe() {
  llvm::Value *iteration = loops_.back().iteration;
  llvm::Value *stage = pipe_stage(iteration);
  auto depth = static_cast<unsigned>(pipe_.loop->pipe);
  llvm::Value *parity = b_.CreateAnd(b_.CreateUDiv(iteration, b_.getInt32(depth)), 1);
  emit_if(b_, emit_rows_valid(), [&] { call(Hook::barrier_wait, {pipe_barrier(stage), parity}); });
  pipe_.reads_since = loops_.back().barriers;
  pipe_.current.clear();
  for (std::size_t i = 0; i < pipe_.values.size(); ++i) {
    DType dtype = kernel_.buffers[pipe_.values[i]->buffer].dtype;
    llvm::Type *type = memory_type_of(dtype, module_.getContext());
    llvm::Value *value = b_.CreateLoad(type, pipe_.ahead[i]);
    pipe_.current.push_back(is_bool(dtype) ? b_.CreateIsNotNull(value) : value);
  }
  load_ahead(b_.CreateAdd(iteration, b_.getInt32(1)));
}

/// The stage that all threads have read is filled again.
void Emitter::advance_pipe() {
  if (loops_.back().barriers == pipe_.reads_since) emit_barrier();
  llvm::Value *ahead = b_.getInt32(static_cast<unsigned>(pipe_.loop->pipe));
  emit_bulk_copies(b_.CreateAdd(loops_.back().iteration, ahead));
}

/// A bulk load reads the thread's elements of the stage.
void Emitter::emit_bulk_load(const Stmt &stmt) {
  ValueId result = stmt.results[0];
  if (auto value = std::find(pipe_.values.begin(), pipe_.values.end(), &stmt);
      value != pipe_.values.end())
    return define(result, {pipe_.current[static_cast<std::size_t>(value - pipe_.values.begin())]});
  auto at = std::find(pipe_.loads.begin(), pipe_.loads.end(), &stmt) - pipe_.loads.begin();
  llvm::Value *stage =
      pipe_buffer(static_cast<std::size_t>(at), pipe_stage(loops_.back().iteration));
  llvm::Type *type = memory_type_of(kernel_.buffers[stmt.buffer].dtype, module_.getContext());
  DimId along = bulk_dim(kernel_.layouts[layout_], stmt);
  SlotSpace space = slots_of(result);
  Values slots(space.size());
  for (const Group &group : group_access({Index::dim(along), stmt.vector, kNone}, {along})) {
    Values elements =
        split_vector(b_, read_vector(shared_element(stage, type, group.offset), type, group.size));
    for (int i = 0; i < group.size; ++i)
      slots[space.slot_at(advance(group.first, group.vec, i))] =
          elements[static_cast<std::size_t>(i)];
  }
  if (is_bool(kernel_.buffers[stmt.buffer].dtype))
    for (llvm::Value *&value : slots) value = b_.CreateIsNotNull(value);
  define(result, std::move(slots));
}

}  // namespace fuse
