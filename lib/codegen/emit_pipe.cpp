// Bulk loads of later iterations, in flight while this one is worked on.
//
// Each stage of the pipe is a part of dynamic shared memory with a memory barrier of its own. One
// thread asks for the runs of an iteration, as far as they are valid, and tells the barrier how
// many bytes come; all threads wait for them. The stage of iteration k is free for iteration k +
// depth once all threads have read theirs, so a barrier of the block stands between. What a whole
// block shares of an iteration, one value, is loaded an iteration ahead into registers.
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
  pipe_ = Pipe();
  pipe_.loop = &loop;
  for (const Stmt &s : loop.body) {
    if (s.kind != StmtKind::Load || !s.bulk) continue;
    BulkLoad load = bulk_load(kernel_, map_, layout_, s);
    if (load.is_value) {
      pipe_.values.push_back(&s);
      continue;
    }
    pipe_.loads.push_back({&s, load.shape, pipe_.stage_bytes});
    pipe_.stage_bytes += bulk_stage_bytes(load.shape, kernel_.buffers[s.buffer].dtype);
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
  offset = b_.CreateAdd(offset, b_.getInt32(static_cast<unsigned>(pipe_.loads[load].offset)));
  return b_.CreateGEP(b_.getInt8Ty(), pipe_.stages, offset);
}

/// One thread asks for the runs of an iteration, if there is one.
void Emitter::emit_bulk_copies(llvm::Value *iteration) {
  if (pipe_.loads.empty()) return;
  at_iteration(iteration, [&] {
    llvm::Value *runs = b_.CreateAnd(b_.CreateICmpEQ(thread_, b_.getInt32(0)),
                                     b_.CreateICmpULT(iteration, pipe_.count));
    emit_if(b_, runs, [&] { ask_for_runs(iteration); });
  });
}

void Emitter::ask_for_runs(llvm::Value *iteration) {
  llvm::Value *stage = pipe_stage(iteration), *barrier = pipe_barrier(stage);
  llvm::Value *all = b_.getInt32(0);
  std::vector<Values> bytes;
  for (const Pipe::Load &load : pipe_.loads) {
    bytes.emplace_back();
    for (std::size_t r = 0; r < load.shape.runs.size(); ++r) {
      bytes.back().push_back(emit_run_bytes(load, load.shape.runs.decode(r)));
      all = b_.CreateAdd(all, bytes.back().back());
    }
  }
  call(Hook::barrier_expect, {barrier, all});
  for (std::size_t i = 0; i < pipe_.loads.size(); ++i)
    for (std::size_t r = 0; r < bytes[i].size(); ++r) copy_run(i, r, stage, bytes[i][r]);
}

/// Of the part of a run that is valid.
llvm::Value *Emitter::emit_run_bytes(const Pipe::Load &load, const Assignment &run) {
  const Layout &layout = kernel_.layouts[layout_];
  auto size = static_cast<std::int64_t>(size_of(kernel_.buffers[load.stmt->buffer].dtype));
  std::int64_t positions = load.shape.positions(), unit_bytes = load.shape.unit * size;
  Assignment first = merge(run, load.shape.run_atoms);
  llvm::Value *bytes = b_.getInt32(static_cast<std::uint32_t>(positions * unit_bytes));
  const AxisMap &along = map_.axis(layout_, load.shape.outermost);
  if (!is_below(along, first, positions)) {
    llvm::Value *position = emit_position(along, first, 0), *extent = emit_extent(along);
    llvm::Value *left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, extent, position);
    llvm::Value *run_length = llvm::ConstantInt::getSigned(left->getType(), positions);
    left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, run_length);
    bytes = b_.CreateMul(b_.CreateTrunc(left, b_.getInt32Ty()),
                         b_.getInt32(static_cast<std::uint32_t>(unit_bytes)));
  }
  llvm::Value *valid = nullptr;
  for (std::uint32_t a : axes_of(layout, load.stmt->index.dims()))
    if (a != load.shape.outermost) valid = conjunction(valid, emit_valid(a, first, 1));
  return valid ? b_.CreateSelect(valid, bytes, b_.getInt32(0)) : bytes;
}

void Emitter::copy_run(std::size_t load, std::size_t run, llvm::Value *stage, llvm::Value *bytes) {
  const auto &[stmt, shape, offset] = pipe_.loads[load];
  Assignment first = merge(shape.runs.decode(run), shape.run_atoms);
  llvm::Value *source = address(stmt->buffer, emit_offset(shape.source, first, bits_));
  llvm::Type *type = memory_type_of(kernel_.buffers[stmt->buffer].dtype, module_.getContext());
  auto element = static_cast<std::uint64_t>(static_cast<std::int64_t>(run) * shape.run);
  llvm::Value *target = b_.CreateConstGEP1_64(type, pipe_buffer(load, stage), element);
  emit_if(b_, b_.CreateIsNotNull(bytes),
          [&] { call(Hook::bulk_copy, {target, source, bytes, pipe_barrier(stage)}); });
}

void Emitter::await_pipe() {
  llvm::Value *iteration = loops_.back().iteration;
  llvm::Value *stage = pipe_stage(iteration);
  auto depth = static_cast<unsigned>(pipe_.loop->pipe);
  llvm::Value *parity = b_.CreateAnd(b_.CreateUDiv(iteration, b_.getInt32(depth)), 1);
  if (!pipe_.loads.empty()) call(Hook::barrier_wait, {pipe_barrier(stage), parity});
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

/// A bulk load reads the thread's elements of the stage; beyond the row's end stands anything.
void Emitter::emit_bulk_load(const Stmt &stmt) {
  ValueId result = stmt.results[0];
  if (auto value = std::find(pipe_.values.begin(), pipe_.values.end(), &stmt);
      value != pipe_.values.end())
    return define(result, {pipe_.current[static_cast<std::size_t>(value - pipe_.values.begin())]});
  auto at = std::find_if(pipe_.loads.begin(), pipe_.loads.end(),
                         [&](const Pipe::Load &load) { return load.stmt == &stmt; });
  llvm::Value *stage = pipe_buffer(static_cast<std::size_t>(at - pipe_.loads.begin()),
                                   pipe_stage(loops_.back().iteration));
  llvm::Type *type = memory_type_of(kernel_.buffers[stmt.buffer].dtype, module_.getContext());
  SlotSpace space = slots_of(result);
  DimId vec = stmt.vector > 1 ? map_.axis(layout_, at->shape.innermost).vec : kNone;
  Values slots(space.size());
  for (std::size_t s = 0; s < space.size(); ++s) {
    Assignment first = space.decode(s);
    if (vec != kNone && *value_of(first, vec) % stmt.vector != 0) continue;
    Offset offset = emit_offset(at->shape.stage, first, 32);
    Values elements =
        split_vector(b_, read_vector(shared_element(stage, type, offset), type, stmt.vector));
    for (int i = 0; i < stmt.vector; ++i)
      slots[space.slot_at(advance(first, vec, i))] = elements[static_cast<std::size_t>(i)];
  }
  if (is_bool(kernel_.buffers[stmt.buffer].dtype))
    for (llvm::Value *&value : slots) value = b_.CreateIsNotNull(value);
  define(result, std::move(slots));
}

}  // namespace fuse
