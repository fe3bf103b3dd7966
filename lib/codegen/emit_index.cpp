// Index -> integer arithmetic, and validity of positions.
//
// Offsets are split into a base, emitted once per scope, and a constant per slot that becomes an
// immediate of the access. Terms whose range is known to fit are computed in 32 bits.
#include "codegen/emitter.h"
#include "ir/format.h"

#include <algorithm>

namespace fuse {

namespace {

/// The constant term, and the rest.
std::pair<std::int64_t, Index> split_constant(const Index &index) {
  for (const Index::Term &t : index.terms())
    if (t.atoms.empty()) return {t.coefficient, index - Index(t.coefficient)};
  return {0, index};
}

bool is_power_of_two(std::int64_t x) { return x > 0 && (x & (x - 1)) == 0; }

bool has_loop(const Axis &axis, const std::string &loop) {
  return std::any_of(axis.digits.begin(), axis.digits.end(),
                     [&](const Digit &d) { return d.kind == DigitKind::Loop && d.name == loop; });
}

}  // namespace

Offset Emitter::emit_offset(const Index &placed, const Assignment &assignment, unsigned bits) {
  auto [constant, rest] = split_constant(map_.at(placed, assignment));
  if (rest.is_constant(0)) return {nullptr, constant};
  if (is_local(rest)) return {emit_sum(rest, assignment, bits), constant};
  auto table = [bits](Scope &scope) -> auto & { return bits == 32 ? scope.narrow : scope.wide; };
  for (std::size_t i = scopes_.size(); i-- > 0;)
    if (auto it = table(scopes_[i]).find(rest); it != table(scopes_[i]).end())
      return {it->second, constant};
  llvm::Value *base = emit_sum(rest, assignment, bits);
  table(scopes_.back()).emplace(rest, base);
  return {base, constant};
}

/// Whether the index has a value per slot beyond its reg and vec atoms.
bool Emitter::is_local(const Index &index) const {
  if (index.uses(Atom::Kind::Value)) return true;
  for (DimId id : index.dims())
    if (const MachineAtom &atom = map_.atom(id); !atom.digit) {
      const Index &base = kernel_.layouts[atom.layout].axes[atom.axis].align.base;
      if (!slots_of(base.dims()).atoms().empty()) return true;
    }
  return false;
}

bool Emitter::fits_32(const Index &index) const {
  if (index.uses(Atom::Kind::Symbol) || index.uses(Atom::Kind::Value)) return false;
  return provably_in(index, Index(INT64_C(1) << 31), map_.ranges());
}

llvm::Value *Emitter::emit_sum(const Index &index, const Assignment &assignment, unsigned bits) {
  if (bits > 32 && fits_32(index))
    return b_.CreateZExt(emit_sum(index, assignment, 32), b_.getIntNTy(bits));
  if (bits > 32) {
    Index narrow, wide;
    for (const Index::Term &t : index.terms()) {
      Index term = map_.term(t);
      if (fits_32(term) && fits_32(narrow + term))
        narrow = narrow + term;
      else
        wide = wide + term;
    }
    if (!narrow.is_constant(0) && !wide.is_constant(0))
      return b_.CreateAdd(emit_sum(narrow, assignment, bits), emit_sum(wide, assignment, bits));
  }
  llvm::Value *sum = nullptr;
  for (const Index::Term &t : index.terms()) {
    llvm::Value *term = emit_term(t, assignment, bits);
    sum = sum ? b_.CreateAdd(sum, term) : term;
  }
  return sum ? sum : b_.getIntN(bits, 0);
}

llvm::Value *Emitter::emit_term(const Index::Term &term, const Assignment &assignment,
                                unsigned bits) {
  llvm::Value *product = nullptr;
  for (const Atom &atom : term.atoms) {
    llvm::Value *x = emit_atom(atom, assignment, bits);
    product = product ? b_.CreateMul(product, x) : x;
  }
  llvm::Value *factor = llvm::ConstantInt::getSigned(b_.getIntNTy(bits), term.coefficient);
  return product ? b_.CreateMul(product, factor) : factor;
}

llvm::Value *Emitter::emit_atom(const Atom &atom, const Assignment &assignment, unsigned bits) {
  llvm::Type *type = b_.getIntNTy(bits);
  switch (atom.kind) {
    case Atom::Kind::Dim: return b_.CreateZExt(emit_machine_atom(atom.id, assignment), type);
    case Atom::Kind::Symbol: return b_.CreateTrunc(symbols_.at(atom.symbol), type);
    case Atom::Kind::Value: {
      bool is_signed = is_signed_int(kernel_.values[atom.id].dtype);
      llvm::Value *value = value_at(atom.id, assignment);
      return is_signed ? b_.CreateSExtOrTrunc(value, type) : b_.CreateZExtOrTrunc(value, type);
    }
    case Atom::Kind::FloorDiv:
    case Atom::Kind::Mod: return emit_quotient(atom, assignment, bits);
  }
  return nullptr;
}

llvm::Value *Emitter::emit_quotient(const Atom &atom, const Assignment &assignment, unsigned bits) {
  const Index &n = *atom.numerator, &d = *atom.denominator;
  if (bits > 32 && fits_32(n) && fits_32(d))
    return b_.CreateZExt(emit_quotient(atom, assignment, 32), b_.getIntNTy(bits));
  bool is_mod = atom.kind == Atom::Kind::Mod;
  llvm::Value *x = emit_sum(n, assignment, bits);
  llvm::Value *y = emit_sum(d, assignment, bits);
  std::optional<std::int64_t> constant = d.constant();
  if (map_.is_nonnegative(n)) return is_mod ? b_.CreateURem(x, y) : b_.CreateUDiv(x, y);
  if (constant && is_power_of_two(*constant)) {
    llvm::Value *mask = b_.CreateSub(y, llvm::ConstantInt::get(y->getType(), 1));
    auto shift = static_cast<std::uint64_t>(__builtin_ctzll(static_cast<std::uint64_t>(*constant)));
    return is_mod ? b_.CreateAnd(x, mask) : b_.CreateAShr(x, shift);
  }
  llvm::Value *remainder = b_.CreateSRem(x, y);
  llvm::Value *zero = llvm::ConstantInt::get(x->getType(), 0);
  llvm::Value *below = b_.CreateICmpSLT(remainder, zero);
  if (is_mod) return b_.CreateSelect(below, b_.CreateAdd(remainder, y), remainder);
  return b_.CreateAdd(b_.CreateSDiv(x, y), b_.CreateSExt(below, x->getType()));
}

llvm::Value *Emitter::emit_machine_atom(DimId id, const Assignment &assignment) {
  const MachineAtom &atom = map_.atom(id);
  if (!atom.digit) return emit_phase(atom, assignment);
  if (std::optional<std::int64_t> value = value_of(assignment, id))
    return b_.getInt32(static_cast<std::uint32_t>(*value));
  return emit_digit(*atom.digit);
}

llvm::Value *Emitter::emit_phase(const MachineAtom &atom, const Assignment &assignment) {
  const AlignTo &align = kernel_.layouts[atom.layout].axes[atom.axis].align;
  std::uint64_t size = size_of(kernel_.buffers[align.buffer].dtype);
  std::int64_t vector = map_.axis(atom.layout, atom.axis).vec_extent;
  llvm::Value *start = b_.CreatePtrToInt(buffers_[align.buffer], b_.getInt64Ty());
  llvm::Value *elements = b_.CreateTrunc(
      b_.CreateLShr(start, static_cast<std::uint64_t>(__builtin_ctzll(size))), b_.getInt32Ty());
  Index placed = map_.place(align.base, atom.layout);
  llvm::Value *base = materialize(emit_offset(placed, assignment, 32), 32);
  return b_.CreateURem(b_.CreateAdd(elements, base),
                       b_.getInt32(static_cast<std::uint32_t>(vector)));
}

/// A number of blocks, threads or iterations: below 2^31 itself, but not all that it is made of.
llvm::Value *Emitter::emit_count(const Index &count) {
  return b_.CreateTrunc(materialize(emit_offset(count, {}, bits_), bits_), b_.getInt32Ty());
}

llvm::Value *Emitter::emit_digit(const Digit &digit) {
  if (digit.extent.is_constant(1)) return b_.getInt32(0);
  switch (digit.kind) {
    case DigitKind::Grid: {
      llvm::Value *quotient = b_.CreateUDiv(block_, emit_count(digit.stride));
      bool is_last = digit.extent * digit.stride * kernel_.cluster == grid_size(kernel_);
      return is_last ? quotient : b_.CreateURem(quotient, emit_count(digit.extent));
    }
    case DigitKind::Cta:
      return b_.CreateURem(b_.CreateUDiv(rank_, emit_count(digit.stride)),
                           emit_count(digit.extent));
    case DigitKind::Thread:
      return b_.CreateURem(b_.CreateUDiv(thread_, emit_count(digit.stride)),
                           emit_count(digit.extent));
    case DigitKind::Loop:
      for (std::size_t i = loops_.size(); i-- > 0;)
        if (loops_[i].stmt->loop == digit.name) return loops_[i].iteration;
      break;
    case DigitKind::Reg:
    case DigitKind::Vec: break;
  }
  fail(ErrorCode::Internal, "kernel {}: digit {} has no value here", kernel_.name, digit.name);
}

llvm::Value *Emitter::materialize(const Offset &offset, unsigned bits) {
  llvm::Value *constant = llvm::ConstantInt::getSigned(b_.getIntNTy(bits), offset.constant);
  return offset.base ? b_.CreateAdd(offset.base, constant) : constant;
}

bool Emitter::is_uniform(const AxisMap &axis, int vector) const {
  return axis.phase == kNone && axis.vec_extent % vector == 0 &&
         promised_divisor(kernel_, axis.extent) % vector == 0;
}

llvm::Value *Emitter::emit_valid(std::uint32_t axis, const Assignment &assignment,
                                 std::int64_t count) {
  if (is_interior(axis)) return nullptr;
  const AxisMap &map = map_.axis(layout_, axis);
  Index first = map_.at(map.position, assignment);
  if (is_local(first)) return emit_range_check(map, assignment, count);
  std::pair<std::uint32_t, std::int64_t> key(layout_ * kMaxRank + axis, count);
  for (std::size_t i = scopes_.size(); i-- > 0;)
    if (auto it = scopes_[i].valid.find(first); it != scopes_[i].valid.end())
      if (auto hit = it->second.find(key); hit != it->second.end()) return hit->second;
  llvm::Value *valid = emit_range_check(map, assignment, count);
  scopes_.back().valid[first][key] = valid;
  return valid;
}

bool Emitter::is_below(const AxisMap &axis, const Assignment &assignment,
                       std::int64_t count) const {
  Index first = map_.at(axis.position, assignment);
  return provably_in(Index(0), axis.extent - first - (count - 1), map_.ranges());
}

llvm::Value *Emitter::emit_range_check(const AxisMap &axis, const Assignment &assignment,
                                       std::int64_t count) {
  bool above = map_.is_nonnegative(map_.at(axis.position, assignment));
  if (above || count > 1 || is_below(axis, assignment, count))
    return conjunction(emit_above(axis, assignment), emit_below(axis, assignment, count));
  // One comparison without signs does for both ends.
  llvm::Value *position = emit_position(axis, assignment, 0);
  return b_.CreateICmpULT(position, emit_extent(axis));
}

/// The width in which positions on the axis, and a vector beyond, are compared.
unsigned Emitter::position_bits(const AxisMap &axis) const {
  std::optional<Interval> range = interval(axis.position, map_.ranges());
  std::optional<std::int64_t> extent = axis.extent.constant();
  bool fits = range && range->lo >= -kMaxNarrowPositions && range->hi <= kMaxNarrowPositions &&
              extent && *extent <= kMaxNarrowPositions;
  return fits ? 32 : bits_;
}

llvm::Value *Emitter::emit_position(const AxisMap &axis, const Assignment &assignment,
                                    std::int64_t ahead) {
  unsigned bits = position_bits(axis);
  Offset position = emit_offset(axis.position, assignment, bits);
  position.constant += ahead;
  return materialize(position, bits);
}

llvm::Value *Emitter::emit_extent(const AxisMap &axis) {
  unsigned bits = position_bits(axis);
  return materialize(emit_offset(axis.extent, {}, bits), bits);
}

/// Whether the position is at least 0; null: always.
llvm::Value *Emitter::emit_above(const AxisMap &axis, const Assignment &assignment) {
  if (map_.is_nonnegative(map_.at(axis.position, assignment))) return nullptr;
  llvm::Value *position = emit_position(axis, assignment, 0);
  return b_.CreateICmpSGE(position, llvm::ConstantInt::get(position->getType(), 0));
}

/// Whether the position and the count - 1 after it are below the extent; null: always.
llvm::Value *Emitter::emit_below(const AxisMap &axis, const Assignment &assignment,
                                 std::int64_t count) {
  if (is_below(axis, assignment, count)) return nullptr;
  llvm::Value *last = emit_position(axis, assignment, count - 1);
  return b_.CreateICmpSLT(last, emit_extent(axis));
}

bool Emitter::is_interior(std::uint32_t axis) const {
  return std::any_of(loops_.begin(), loops_.end(), [&](const Loop &loop) {
    return loop.interior && has_loop(kernel_.layouts[layout_].axes[axis], loop.stmt->loop);
  });
}

llvm::Value *Emitter::emit_interior(const std::string &loop) {
  const Layout &layout = kernel_.layouts[layout_];
  llvm::Value *interior = nullptr;
  for (std::uint32_t a = 0; a < layout.axes.size(); ++a) {
    if (!has_loop(layout.axes[a], loop)) continue;
    Assignment first, last;
    for (const Digit &d : layout.axes[a].digits)
      if (d.kind == DigitKind::Thread || d.kind == DigitKind::Reg || d.kind == DigitKind::Vec) {
        first.emplace_back(map_.atom_of(d), 0);
        last.emplace_back(map_.atom_of(d), *d.extent.constant() - 1);
      }
    const AxisMap &axis = map_.axis(layout_, a);
    interior = conjunction(interior, emit_above(axis, first));
    interior = conjunction(interior, emit_below(axis, last, 1));
  }
  return interior;
}

}  // namespace fuse
