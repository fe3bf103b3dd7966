// Vectors that start at any element: cut from the aligned blocks around them.
//
// Loads of single elements touch all lines of a warp's vectors once for each element, those of
// blocks a few times. All blocks of a statement are under way before the first is shifted, and no
// branch parts them: a block that the buffer does not hold is read elsewhere, and what the buffer
// holds of it is loaded by element, once for all vectors of a thread. How far to shift is the same
// along a row, so it is found once.
#include "codegen/emitter.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace fuse {

namespace {

// Of 4, more accesses than the cache has time for; of 16, more words to choose from.
constexpr std::int64_t kBlockBytes = 8;

/// Words from number `start` on, n + 1 of them; start is below `starts`, a power of two.
Values words_from(Builder &b, Values words, std::size_t n, std::size_t starts, llvm::Value *start) {
  for (std::size_t step = starts / 2; step > 0; step /= 2) {
    llvm::Value *bit = b.CreateAnd(start, static_cast<std::uint64_t>(step));
    llvm::Value *moves = b.CreateIsNotNull(bit);
    Values moved;
    for (std::size_t i = 0; i < n + step; ++i)
      moved.push_back(b.CreateSelect(moves, words[i + step], words[i]));
    words = std::move(moved);
  }
  return words;
}

}  // namespace

Emitter::Blocks Emitter::blocks_of(const Stmt &stmt) {
  const Buffer &buffer = kernel_.buffers[stmt.buffer];
  Blocks blocks;
  blocks.size = static_cast<std::int64_t>(size_of(buffer.dtype));
  blocks.elements = std::min<std::int64_t>(stmt.vector, kBlockBytes / blocks.size);
  blocks.count = static_cast<std::size_t>(stmt.vector / blocks.elements) + 1;
  blocks.begins_block = buffer.alignment % (blocks.elements * blocks.size) == 0;
  blocks.extent = product(buffer.shape);
  blocks.ends_block =
      blocks.begins_block && promised_divisor(kernel_, blocks.extent) % blocks.elements == 0;
  return blocks;
}

/// How many elements behind a boundary of blocks the element at the offset is.
llvm::Value *Emitter::elements_ahead(const Stmt &stmt, const Blocks &blocks, llvm::Value *offset) {
  if (!blocks.begins_block) {
    llvm::Value *begin = b_.CreatePtrToInt(buffers_[stmt.buffer], b_.getInt64Ty());
    begin = b_.CreateLShr(begin, static_cast<std::uint64_t>(
                                     std::countr_zero(static_cast<std::uint64_t>(blocks.size))));
    offset = b_.CreateAdd(offset, b_.CreateTrunc(begin, offset->getType()));
  }
  return b_.CreateAnd(offset, static_cast<std::uint64_t>(blocks.elements - 1));
}

/// Where block n of a vector may start, relative to element 0. The last block holds the last
/// element, and is one with the block before it where the vector is aligned.
std::optional<Interval> Emitter::starts_of(const Stmt &stmt, const Blocks &blocks,
                                           const Group &group, std::size_t n) const {
  Index element = map_.at(map_.place(stmt.index, layout_), group.first);
  std::optional<Interval> range = interval(element, map_.ranges());
  if (!range) return std::nullopt;
  bool is_last = n + 1 == blocks.count;
  std::int64_t held = is_last ? group.size - 1 : 0;
  std::int64_t skipped = is_last ? 0 : static_cast<std::int64_t>(n) * blocks.elements;
  std::int64_t around = blocks.elements - 1;
  auto start = [&](std::int64_t at) { return (at + held) & ~around; };
  if (blocks.begins_block) return Interval{start(range->lo) + skipped, start(range->hi) + skipped};
  return Interval{range->lo + held - around + skipped, range->hi + held + skipped};
}

/// The blocks around a vector, and which of them the buffer does not hold.
Emitter::Window Emitter::window_of(const Stmt &stmt, const Blocks &blocks, const Group &group) {
  const Buffer &buffer = kernel_.buffers[stmt.buffer];
  llvm::Type *element = memory_type_of(buffer.dtype, module_.getContext());
  llvm::Value *offset = materialize(group.offset, bits_);
  auto number = [&](std::int64_t n) { return llvm::ConstantInt::getSigned(offset->getType(), n); };
  Window window;
  window.ahead = elements_ahead(stmt, blocks, offset);
  llvm::Value *start = b_.CreateSub(offset, window.ahead);
  llvm::Value *back = b_.CreateSExt(b_.CreateNeg(window.ahead), b_.getInt64Ty());
  llvm::Value *base = b_.CreateGEP(element, address(stmt.buffer, group.offset), back);
  for (std::size_t n = 0; n < blocks.count; ++n) {
    auto before = static_cast<std::int64_t>(n) * blocks.elements;
    llvm::Value *skipped = number(before);
    if (n + 1 == blocks.count)
      skipped =
          b_.CreateSelect(b_.CreateIsNull(window.ahead), number(before - blocks.elements), skipped);
    llvm::Value *far = b_.CreateSExt(skipped, b_.getInt64Ty());
    Window::Block block{b_.CreateGEP(element, base, far)};
    std::optional<Interval> starts = starts_of(stmt, blocks, group, n);
    llvm::Value *at = b_.CreateAdd(start, skipped);
    if (!starts || starts->lo < 0) block.below = b_.CreateICmpSLT(at, number(0));
    if (!starts || !map_.is_nonnegative(blocks.extent - (starts->hi + blocks.elements)))
      block.above =
          b_.CreateICmpSGT(at, b_.CreateSub(emit_elements(buffer, bits_), number(blocks.elements)));
    window.blocks.push_back(block);
  }
  return window;
}

/// Where blocks may be read instead of those that the buffer does not hold.
llvm::Value *Emitter::held_block(const Stmt &stmt, const Blocks &blocks) {
  llvm::Value *begin = buffers_[stmt.buffer];
  if (blocks.begins_block) return begin;
  llvm::Value *first = elements_ahead(stmt, blocks, b_.getInt64(0));
  llvm::Value *next = b_.CreateSub(b_.getInt64(static_cast<std::uint64_t>(blocks.elements)), first);
  llvm::Type *element = memory_type_of(kernel_.buffers[stmt.buffer].dtype, module_.getContext());
  return b_.CreateGEP(element, begin, next);
}

/// Words of the block that the buffer begins or ends within, up to the last that it holds a part
/// of; what it does not hold of them is arbitrary.
Values Emitter::edge_block(const Stmt &stmt, const Blocks &blocks, bool is_last) {
  std::optional<std::int64_t> extent = blocks.extent.constant();
  Values elements = is_last && blocks.begins_block && extent
                        ? last_elements(stmt, blocks, *extent)
                        : clamped_elements(stmt, blocks, is_last);
  auto words = static_cast<unsigned>(static_cast<std::int64_t>(elements.size()) * blocks.size / 4);
  llvm::Type *type = b_.getInt32Ty();
  if (words > 1) type = llvm::FixedVectorType::get(type, words);
  return split_vector(b_, b_.CreateBitCast(join_vector(b_, elements), type));
}

/// Those behind the last whole block, by the widest loads, and 0 up to a whole word.
Values Emitter::last_elements(const Stmt &stmt, const Blocks &blocks, std::int64_t extent) {
  llvm::Type *element = memory_type_of(kernel_.buffers[stmt.buffer].dtype, module_.getContext());
  std::int64_t count = extent % blocks.elements, start = extent - count;
  Values elements;
  for (std::int64_t at = 0, width; at < count; at += width) {
    width = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count - at)));
    llvm::Value *pointer = b_.CreateConstGEP1_64(element, buffers_[stmt.buffer],
                                                 static_cast<std::uint64_t>(start + at));
    for (llvm::Value *value : split_vector(b_, load_vector(stmt, pointer, static_cast<int>(width))))
      elements.push_back(value);
  }
  while (static_cast<std::int64_t>(elements.size()) * blocks.size % 4 != 0)
    elements.push_back(llvm::Constant::getNullValue(element));
  return elements;
}

/// Those of the block, in the place of others the nearest that there is.
Values Emitter::clamped_elements(const Stmt &stmt, const Blocks &blocks, bool is_last) {
  llvm::Type *element = memory_type_of(kernel_.buffers[stmt.buffer].dtype, module_.getContext());
  llvm::Value *first = b_.getInt64(0);
  llvm::Value *last = b_.CreateSub(emit_elements(kernel_.buffers[stmt.buffer], 64), b_.getInt64(1));
  llvm::Value *held = is_last ? last : first;
  llvm::Value *start = b_.CreateSub(held, elements_ahead(stmt, blocks, held));
  Values elements;
  for (std::int64_t i = 0; i < blocks.elements; ++i) {
    llvm::Value *at = b_.CreateAdd(start, b_.getInt64(static_cast<std::uint64_t>(i)));
    at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, at, first);
    at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, last);
    elements.push_back(load_vector(stmt, b_.CreateGEP(element, buffers_[stmt.buffer], at), 1));
  }
  return elements;
}

/// What each group loads, as one vector. A buffer that may hold no block is read by element.
Values Emitter::load_unaligned(const Stmt &stmt, const std::vector<Group> &groups) {
  Blocks blocks = blocks_of(stmt);
  std::int64_t least = 2 * blocks.elements;
  if (map_.is_nonnegative(blocks.extent - least)) return load_by_blocks(stmt, blocks, groups);
  llvm::Value *elements = emit_elements(kernel_.buffers[stmt.buffer], 64);
  llvm::Value *holds_one =
      b_.CreateICmpSGE(elements, b_.getInt64(static_cast<std::uint64_t>(least)));
  Values by_blocks, by_element;
  llvm::BasicBlock *block = nullptr, *element = nullptr;
  emit_if_else(
      b_, holds_one,
      [&] {
        scopes_.emplace_back();
        by_blocks = load_by_blocks(stmt, blocks, groups);
        block = b_.GetInsertBlock();
        scopes_.pop_back();
      },
      [&] {
        scopes_.emplace_back();
        by_element = load_by_element(stmt, groups);
        element = b_.GetInsertBlock();
        scopes_.pop_back();
      });
  for (std::size_t g = 0; g < groups.size(); ++g) {
    llvm::PHINode *phi = b_.CreatePHI(by_blocks[g]->getType(), 2);
    phi->addIncoming(by_blocks[g], block);
    phi->addIncoming(by_element[g], element);
    by_blocks[g] = phi;
  }
  return by_blocks;
}

Values Emitter::load_by_element(const Stmt &stmt, const std::vector<Group> &groups) {
  Values loaded;
  for (const Group &group : groups) {
    llvm::Value *touches = group.uniform;
    if (group.whole) touches = conjunction(touches, emit_touches(group));
    llvm::BasicBlock *before = b_.GetInsertBlock(), *inside = nullptr;
    llvm::Value *elements = nullptr;
    emit_if(b_, touches, [&] {
      scopes_.emplace_back();
      elements = load_edge(stmt, group, emit_span(group), address(stmt.buffer, group.offset));
      inside = b_.GetInsertBlock();
      scopes_.pop_back();
    });
    loaded.push_back(touches ? emit_or(b_, elements, inside, fill_of(stmt, group.size), before)
                             : elements);
  }
  return loaded;
}

Values Emitter::load_by_blocks(const Stmt &stmt, const Blocks &blocks,
                               const std::vector<Group> &groups) {
  std::vector<Window> windows;
  bool meets_begin = false, meets_end = false;
  for (const Group &group : groups) {
    windows.push_back(window_of(stmt, blocks, group));
    for (const Window::Block &block : windows.back().blocks) {
      meets_begin |= block.below != nullptr;
      meets_end |= block.above != nullptr;
    }
  }
  Values head, tail;
  if (meets_begin && !blocks.begins_block) head = edge_block(stmt, blocks, false);
  if (meets_end && !blocks.ends_block) tail = edge_block(stmt, blocks, true);
  Values loaded;
  for (std::size_t begin = 0, end; begin < groups.size(); begin = end) {
    end = begin + 1;
    while (end < groups.size() && groups[end].uniform == groups[begin].uniform) ++end;
    load_windows(stmt, blocks, std::span(groups).subspan(begin, end - begin),
                 std::span(windows).subspan(begin, end - begin), loaded);
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    loaded[g] = shift_window(stmt, blocks, windows[g], loaded[g], groups[g].uniform, head, tail);
    bool is_seen = groups[g].whole && invalid_.is_folded(stmt.results[0]);
    if (is_seen)
      loaded[g] = mend_edge(stmt, groups[g], {nullptr, groups[g].uniform, nullptr, groups[g].whole},
                            loaded[g]);
  }
  return loaded;
}

/// Groups under one condition. A window is one vector of words.
void Emitter::load_windows(const Stmt &stmt, const Blocks &blocks, std::span<const Group> groups,
                           std::span<const Window> windows, Values &loaded) {
  llvm::Value *condition = groups[0].uniform;
  llvm::BasicBlock *before = b_.GetInsertBlock(), *inside = nullptr;
  std::size_t first = loaded.size();
  emit_if(b_, condition, [&] {
    for (const Window &window : windows) loaded.push_back(load_window(stmt, blocks, window));
    inside = b_.GetInsertBlock();
  });
  if (!condition) return;
  // However they are shifted, the fill in every element.
  auto elements = static_cast<int>(blocks.elements * static_cast<std::int64_t>(blocks.count));
  for (std::size_t g = first; g < loaded.size(); ++g) {
    llvm::Value *fill = b_.CreateBitCast(fill_of(stmt, elements), loaded[g]->getType());
    loaded[g] = emit_or(b_, loaded[g], inside, llvm::cast<llvm::Constant>(fill), before);
  }
}

llvm::Value *Emitter::load_window(const Stmt &stmt, const Blocks &blocks, const Window &window) {
  auto words = static_cast<int>(blocks.elements * blocks.size / 4);
  Values window_words;
  for (const Window::Block &block : window.blocks) {
    llvm::Value *pointer = block.pointer;
    llvm::Value *outside = block.below && block.above ? b_.CreateOr(block.below, block.above)
                           : block.below              ? block.below
                                                      : block.above;
    if (outside) pointer = b_.CreateSelect(outside, held_block(stmt, blocks), pointer);
    for (llvm::Value *word : split_vector(b_, read_words(stmt, pointer, words)))
      window_words.push_back(word);
  }
  return join_vector(b_, window_words);
}

llvm::Value *Emitter::shift_window(const Stmt &stmt, const Blocks &blocks, const Window &window,
                                   llvm::Value *loaded, llvm::Value *condition, const Values &head,
                                   const Values &tail) {
  Values words = split_vector(b_, loaded);
  auto per_block = static_cast<std::size_t>(blocks.elements * blocks.size / 4);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Window::Block &block = window.blocks[i / per_block];
    std::size_t n = i % per_block;
    if (block.below && n < head.size())
      words[i] = b_.CreateSelect(conjunction(condition, block.below), head[n], words[i]);
    if (block.above && n < tail.size())
      words[i] = b_.CreateSelect(conjunction(condition, block.above), tail[n], words[i]);
  }
  auto count = static_cast<std::size_t>(stmt.vector * blocks.size / 4);
  llvm::Value *bytes = b_.CreateMul(b_.CreateTrunc(window.ahead, b_.getInt32Ty()),
                                    b_.getInt32(static_cast<std::uint32_t>(blocks.size)));
  words = words_from(b_, words, count, per_block, b_.CreateLShr(bytes, 2));
  llvm::Value *bits = b_.CreateShl(b_.CreateAnd(bytes, 3), 3);
  for (std::size_t i = 0; i < count && blocks.size < 4; ++i)
    words[i] = b_.CreateIntrinsic(llvm::Intrinsic::fshr, {b_.getInt32Ty()},
                                  {words[i + 1], words[i], bits});
  words.resize(count);
  llvm::Type *element = memory_type_of(kernel_.buffers[stmt.buffer].dtype, module_.getContext());
  return b_.CreateBitCast(join_vector(b_, words),
                          llvm::FixedVectorType::get(element, static_cast<unsigned>(stmt.vector)));
}

}  // namespace fuse
