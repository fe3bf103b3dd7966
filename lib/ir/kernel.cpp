// Queries on kernels: axes, slots, grid, symbols, dependence of values; the monoid table.
//
// They assume a kernel that verifies, except dependence and natural_dtype, which the parser uses
// while it builds one.
#include "ir/kernel.h"

#include "ir/format.h"
#include "ir/op.h"

#include <algorithm>
#include <array>
#include <set>

namespace fuse {

namespace {

struct MonoidInfo {
  std::string_view text;
  int operands, results;
  bool commutative;
};

constexpr MonoidInfo kMonoids[] = {
#define FUSE_MONOID(name, text, operands, results, commutative, doc) \
  {text, operands, results, commutative != 0},
#include "ir/monoids.def"
};

const MonoidInfo &info(Monoid monoid) { return kMonoids[static_cast<std::size_t>(monoid)]; }

bool is_slot(const Digit &digit) {
  return digit.kind == DigitKind::Reg || digit.kind == DigitKind::Vec;
}

void insert_sorted(std::vector<DimId> &dims, const std::vector<DimId> &more) {
  dims.insert(dims.end(), more.begin(), more.end());
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
}

}  // namespace

std::string_view to_string(Monoid monoid) { return info(monoid).text; }

std::optional<Monoid> monoid_from_string(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kMonoids); ++i)
    if (kMonoids[i].text == text) return static_cast<Monoid>(i);
  return std::nullopt;
}

int num_operands(Monoid monoid) { return info(monoid).operands; }

int num_results(Monoid monoid) { return info(monoid).results; }

bool is_commutative(Monoid monoid) { return info(monoid).commutative; }

namespace {

bool is_at_most(const Index &a, const Index &b) {
  std::optional<std::int64_t> x = a.constant(), y = b.constant();
  return a == b || (x && y && *x <= *y);
}

/// The digit of the kind at this stride.
const Digit *digit_at(const std::vector<const Digit *> &digits, const Index &stride) {
  for (const Digit *d : digits)
    if (d->stride == stride) return d;
  return nullptr;
}

}  // namespace

bool is_shared_digit(const Layout &layout, const std::vector<std::uint32_t> &axes,
                     const Digit &digit) {
  std::vector<const Digit *> digits;
  for (std::uint32_t a : axes)
    for (const Digit &d : layout.axes[a].digits)
      if (d.kind == digit.kind && !d.extent.is_constant(1)) digits.push_back(&d);
  Index end = digit.stride * digit.extent;
  for (const Digit *d : digits) {
    if (!is_at_most(d->stride, digit.stride)) continue;
    for (; d; d = digit_at(digits, d->stride * d->extent))
      if (is_at_most(end, d->stride * d->extent)) return true;
  }
  return false;
}

std::uint32_t axis_of(const Layout &layout, DimId dim) {
  for (std::uint32_t a = 0; a < layout.axes.size(); ++a) {
    const std::vector<DimId> &dims = layout.axes[a].dims;
    if (std::find(dims.begin(), dims.end(), dim) != dims.end()) return a;
  }
  return kNone;
}

std::vector<std::uint32_t> axes_of(const Layout &layout, const std::vector<DimId> &dims) {
  std::vector<std::uint32_t> axes;
  for (DimId d : dims)
    if (std::uint32_t a = axis_of(layout, d); a != kNone) insert_sorted(axes, {a});
  return axes;
}

std::int64_t num_slots(const Layout &layout, const std::vector<std::uint32_t> &axes) {
  std::int64_t slots = 1;
  for (std::uint32_t a : axes)
    for (const Digit &d : layout.axes[a].digits)
      if (is_slot(d)) slots *= *d.extent.constant();
  return slots;
}

std::int64_t vec_extent(const Axis &axis) {
  bool has_vec = !axis.digits.empty() && axis.digits.back().kind == DigitKind::Vec;
  return has_vec ? *axis.digits.back().extent.constant() : 1;
}

Index axis_extent(const Kernel &kernel, const Axis &axis) {
  return extent_of(kernel.dims, axis.dims);
}

Index axis_span(const Axis &axis) {
  std::vector<Index> extents;
  for (const Digit &d : axis.digits) extents.push_back(d.extent);
  return product(extents);
}

bool is_exact(const Kernel &kernel, const Axis &axis) {
  return axis.align.buffer == kNone && axis_span(axis) == axis_extent(kernel, axis);
}

std::optional<std::int64_t> constant_positions(const Axis &axis) {
  std::int64_t positions = 1;
  for (const Digit &d : axis.digits) {
    std::optional<std::int64_t> extent = d.extent.constant();
    if (!extent) return std::nullopt;
    if (__builtin_mul_overflow(positions, *extent, &positions)) return INT64_MAX;
  }
  return positions;
}

bool has_fill(const Kernel &kernel, const Stmt &load) {
  return load.guard == kNone && !load.bulk &&
         kernel.buffers[load.buffer].role != BufferRole::Scalar;
}

std::span<const ValueId> scan_start(const Stmt &scan) {
  return std::span(scan.operands).subspan(static_cast<std::size_t>(num_operands(scan.monoid)));
}

bool stays_in_thread(const Stmt &stmt) {
  switch (stmt.kind) {
    case StmtKind::Constant:
    case StmtKind::Index:
    case StmtKind::Random:
    case StmtKind::Compute:
    case StmtKind::Load:
    case StmtKind::Store:
    case StmtKind::Reduce: return true;
    case StmtKind::Keep: return stmt.residence == Residence::Register;
    case StmtKind::Scan:
    case StmtKind::Move:
    case StmtKind::For:
    case StmtKind::In:
    case StmtKind::LastBlock: return false;
  }
  return false;
}

const Digit *loop_digit(const Layout &layout, std::string_view name) {
  for (const Axis &axis : layout.axes)
    for (const Digit &d : axis.digits)
      if (d.kind == DigitKind::Loop && d.name == name) return &d;
  return nullptr;
}

namespace {

/// Calls f on every Index of the statements.
template <class F>
void for_each_index(const std::vector<Stmt> &body, const F &f) {
  for (const Stmt &s : body) {
    f(s.index);
    f(s.count);
    for_each_index(s.body, f);
  }
}

template <class F>
void for_each_index(const Kernel &kernel, const F &f) {
  for (const Buffer &b : kernel.buffers)
    for (const Index &extent : b.shape) f(extent);
  for (const KernelDim &d : kernel.dims) f(d.extent);
  for (const Layout &layout : kernel.layouts) {
    for (const Axis &axis : layout.axes) {
      if (axis.align.buffer != kNone) f(axis.align.base);
      for (const Digit &d : axis.digits) {
        f(d.extent);
        f(d.stride);
      }
    }
  }
  for (const InstanceSize &size : kernel.table)
    for (const Index &value : size.values) f(value);
  for_each_index(kernel.body, f);
}

void collect_symbols(const Index &index, std::set<std::string> &symbols) {
  for (const Index::Term &t : index.terms()) {
    for (const Atom &a : t.atoms) {
      if (a.kind == Atom::Kind::Symbol) symbols.insert(a.symbol);
      if (a.numerator) collect_symbols(*a.numerator, symbols);
      if (a.denominator) collect_symbols(*a.denominator, symbols);
    }
  }
}

}  // namespace

std::int64_t promised_divisor(const Kernel &kernel, const Index &index) {
  return known_divisor(index, [&](const Atom &a) -> std::int64_t {
    auto it = kernel.divisors.find(a.symbol);
    return a.kind == Atom::Kind::Symbol && it != kernel.divisors.end() ? it->second : 1;
  });
}

std::vector<std::string> symbols_of(const Kernel &kernel) {
  std::set<std::string> symbols;
  for_each_index(kernel, [&](const Index &index) { collect_symbols(index, symbols); });
  for (const InstanceSize &size : kernel.table) symbols.erase(size.name);
  return {symbols.begin(), symbols.end()};
}

std::vector<ValueId> used_values(const Stmt &stmt) {
  std::vector<ValueId> values = stmt.operands;
  if (stmt.guard != kNone) values.push_back(stmt.guard);
  for (ValueId v : stmt.index.values()) values.push_back(v);
  return values;
}

std::vector<DimId> dependence(const Kernel &kernel, const Stmt &stmt, std::size_t result) {
  std::vector<DimId> dims;
  bool is_move = stmt.kind == StmtKind::Move;  // its index is where the value is on its way
  for (ValueId v : is_move ? stmt.operands : used_values(stmt))
    insert_sorted(dims, kernel.values[v].dims);
  if (is_move) return dims;
  insert_sorted(dims, stmt.index.dims());
  bool is_term = stmt.terms && result == 2;
  if (stmt.kind == StmtKind::Reduce && !is_term)
    for (DimId d : stmt.axes) std::erase(dims, d);
  if (stmt.kind == StmtKind::Scan) insert_sorted(dims, stmt.axes);
  return dims;
}

DType natural_dtype(const Kernel &kernel, const std::vector<bool> &is_literal, const Stmt &stmt) {
  OpKind kind = info(stmt.op).kind;
  if (kind == OpKind::Compare || kind == OpKind::Test) return DType::Bool;
  std::size_t first = stmt.op == Op::Select ? 1 : 0;
  for (std::size_t i = first; i < stmt.operands.size(); ++i)
    if (!is_literal[stmt.operands[i]]) return kernel.values[stmt.operands[i]].dtype;
  return kernel.values[stmt.operands[first]].dtype;
}

}  // namespace fuse
