// Combination and folds of monoids.
//
// Commutative monoids combine to the same bits in either order, so a butterfly needs no ordering
// of its lanes. Online guards against -inf - -inf: a state without elements has the factor 0.
#include "codegen/monoid.h"

#include "ir/format.h"

#include <limits>

namespace fuse {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLog2E = 1.4426950408889634;

}  // namespace

llvm::Value *MonoidOps::emit(Op op, DType dtype, llvm::Value *a, llvm::Value *b) {
  Scalar operands[] = {{a, dtype}, {b, dtype}};
  return ops_.emit(op, dtype, operands);
}

State MonoidOps::identity() {
  DType t = dtypes_[0];
  auto last = [&] { return b_.getInt64(INT64_MAX); };
  switch (monoid_) {
    case Monoid::Sum:
    case Monoid::Any: return {ops_.constant(t, 0)};
    case Monoid::Prod:
    case Monoid::All: return {ops_.constant(t, 1)};
    case Monoid::Max: return {ops_.least(t)};
    case Monoid::Min: return {ops_.greatest(t)};
    case Monoid::ArgMax: return {ops_.least(t), last()};
    case Monoid::ArgMin: return {ops_.greatest(t), last()};
    case Monoid::Welford: return {ops_.constant(t, 0), ops_.constant(t, 0), ops_.constant(t, 0)};
    case Monoid::Online: return {ops_.constant(t, -kInfinity), ops_.constant(dtypes_[1], 0)};
  }
  return {};
}

State MonoidOps::combine(const State &left, const State &right) {
  auto simple = [&](Op op) -> State { return {emit(op, dtypes_[0], left[0], right[0])}; };
  switch (monoid_) {
    case Monoid::Sum: return simple(Op::Add);
    case Monoid::Prod: return simple(Op::Mul);
    case Monoid::Max: return simple(Op::Max);
    case Monoid::Min: return simple(Op::Min);
    case Monoid::Any: return simple(Op::Or);
    case Monoid::All: return simple(Op::And);
    case Monoid::ArgMax:
    case Monoid::ArgMin: return combine_arg(left, right);
    case Monoid::Welford: return combine_welford(left, right);
    case Monoid::Online: return combine_online(left, right);
  }
  return {};
}

State MonoidOps::combine_arg(const State &left, const State &right) {
  DType t = dtypes_[0];
  auto compare = [&](Op op, llvm::Value *a, llvm::Value *b) {
    Scalar operands[] = {{a, t}, {b, t}};
    return ops_.emit(op, DType::Bool, operands);
  };
  Op better_than = monoid_ == Monoid::ArgMax ? Op::Gt : Op::Lt;
  llvm::Value *better = compare(better_than, right[0], left[0]);
  llvm::Value *equal = compare(Op::Eq, right[0], left[0]);
  if (is_float(t)) {
    llvm::Value *left_nan = compare(Op::Ne, left[0], left[0]);
    llvm::Value *right_nan = compare(Op::Ne, right[0], right[0]);
    better = b_.CreateOr(better, b_.CreateAnd(right_nan, b_.CreateNot(left_nan)));
    equal = b_.CreateOr(equal, b_.CreateAnd(right_nan, left_nan));
  }
  llvm::Value *earlier = b_.CreateICmpSLT(right[1], left[1]);
  llvm::Value *take = b_.CreateOr(better, b_.CreateAnd(equal, earlier));
  return {b_.CreateSelect(take, right[0], left[0]), b_.CreateSelect(take, right[1], left[1])};
}

/// n = na + nb, d = mean_b - mean_a: mean = mean_a + d*nb/n, m2 = m2_a + m2_b + d*d*na*nb/n.
State MonoidOps::combine_welford(const State &left, const State &right) {
  llvm::Value *count = b_.CreateFAdd(left[2], right[2]);
  llvm::Value *zero = ops_.constant(dtypes_[0], 0);
  llvm::Value *share =
      b_.CreateSelect(b_.CreateFCmpOEQ(count, zero), zero, b_.CreateFDiv(right[2], count));
  llvm::Value *delta = b_.CreateFSub(right[0], left[0]);
  llvm::Value *step = b_.CreateFMul(delta, share);
  llvm::Value *mean = b_.CreateFAdd(left[0], step);
  llvm::Value *between = b_.CreateFMul(b_.CreateFMul(delta, step), left[2]);
  return {mean, b_.CreateFAdd(b_.CreateFAdd(left[1], right[1]), between), count};
}

/// The maximum to subtract: 0 for -inf, so that -inf - it stays -inf.
llvm::Value *MonoidOps::finite_or_zero(llvm::Value *maximum) {
  llvm::Value *empty = b_.CreateFCmpOEQ(maximum, ops_.constant(dtypes_[0], -kInfinity));
  return b_.CreateSelect(empty, ops_.constant(dtypes_[0], 0), maximum);
}

llvm::Value *MonoidOps::exp_difference(llvm::Value *x, llvm::Value *maximum) {
  llvm::Value *difference = b_.CreateFSub(x, maximum);
  if (dtypes_[0] == DType::F64) {
    Scalar operands[] = {{difference, DType::F64}};
    return ops_.emit(Op::Exp, DType::F64, operands);
  }
  return ops_.exp2(b_.CreateFMul(difference, ops_.constant(DType::F32, kLog2E)), approximate_);
}

llvm::Value *MonoidOps::rescale(const State &state, llvm::Value *maximum) {
  return b_.CreateFMul(state[1], exp_difference(state[0], finite_or_zero(maximum)));
}

/// Only the sum of the smaller maximum is rescaled; of two that are equal, infinite ones too, none.
State MonoidOps::combine_online(const State &left, const State &right) {
  DType t = dtypes_[0];
  llvm::Value *maximum = emit(Op::Max, t, left[0], right[0]);
  llvm::Value *left_first = b_.CreateFCmpOGE(left[0], right[0]);
  llvm::Value *smaller = b_.CreateSelect(left_first, right[0], left[0]);
  llvm::Value *first = b_.CreateSelect(left_first, left[1], right[1]);
  llvm::Value *second = b_.CreateSelect(left_first, right[1], left[1]);
  llvm::Value *factor = b_.CreateSelect(b_.CreateFCmpOEQ(left[0], right[0]), ops_.constant(t, 1),
                                        exp_difference(smaller, maximum));
  return {maximum, b_.CreateFAdd(first, b_.CreateFMul(second, factor))};
}

State MonoidOps::lift(const Element &element) {
  State none = identity(), state;
  for (std::size_t i = 0; i < none.size(); ++i) state.push_back(masked(element, i, none[i]));
  if (monoid_ == Monoid::Online)
    state[1] = b_.CreateSelect(b_.CreateFCmpOEQ(state[0], none[0]), none[1], state[1]);
  return state;
}

State MonoidOps::tree(std::span<const State> states) {
  if (states.size() == 1) return states[0];
  if (monoid_ == Monoid::Online) {
    std::vector<Element> elements;
    for (const State &s : states) elements.push_back({s, nullptr});
    return fold_online(elements, {}, nullptr);
  }
  if (states.size() > kFoldGroup) {
    std::vector<State> groups;
    for (; !states.empty(); states = states.subspan(std::min(kFoldGroup, states.size())))
      groups.push_back(tree(states.first(std::min(kFoldGroup, states.size()))));
    return tree(groups);
  }
  std::size_t half = (states.size() + 1) / 2;
  State left = tree(states.first(half));
  return combine(left, tree(states.subspan(half)));
}

llvm::Value *MonoidOps::tree(Op op, Values values) {
  if (values.size() == 1) return values[0];
  if (values.size() > kFoldGroup) {
    Values groups;
    for (std::size_t i = 0; i < values.size(); i += kFoldGroup) {
      auto begin = values.begin() + static_cast<std::ptrdiff_t>(i);
      std::size_t count = std::min(kFoldGroup, values.size() - i);
      groups.push_back(tree(op, Values(begin, begin + static_cast<std::ptrdiff_t>(count))));
    }
    return tree(op, groups);
  }
  auto half = static_cast<std::ptrdiff_t>((values.size() + 1) / 2);
  llvm::Value *left = tree(op, Values(values.begin(), values.begin() + half));
  return emit(op, dtypes_[0], left, tree(op, Values(values.begin() + half, values.end())));
}

llvm::Value *MonoidOps::masked(const Element &element, std::size_t operand,
                               llvm::Value *otherwise) {
  llvm::Value *value = element.operands[operand];
  return element.valid ? b_.CreateSelect(element.valid, value, otherwise) : value;
}

State MonoidOps::fold(std::span<const Element> elements, const State &before, Values *terms) {
  if (monoid_ == Monoid::Online) return fold_online(elements, before, terms);
  State state;
  if (monoid_ == Monoid::Welford) {
    state = fold_welford(elements);
  } else {
    State none = identity();
    std::vector<State> states;
    for (const Element &e : elements) {
      State &s = states.emplace_back();
      for (std::size_t i = 0; i < none.size(); ++i) s.push_back(masked(e, i, none[i]));
    }
    state = tree(states);
  }
  return before.empty() ? state : combine(before, state);
}

State MonoidOps::fold_welford(std::span<const Element> elements) {
  DType t = dtypes_[0];
  llvm::Value *zero = ops_.constant(t, 0), *one = ops_.constant(t, 1);
  Values counts, values, squares;
  for (const Element &e : elements) {
    counts.push_back(e.valid ? b_.CreateSelect(e.valid, one, zero) : one);
    values.push_back(masked(e, 0, zero));
  }
  llvm::Value *count = tree(Op::Add, counts);
  llvm::Value *mean = b_.CreateFDiv(tree(Op::Add, values), count);
  mean = b_.CreateSelect(b_.CreateFCmpOEQ(count, zero), zero, mean);
  for (const Element &e : elements) {
    llvm::Value *d = b_.CreateFSub(e.operands[0], mean);
    llvm::Value *square = b_.CreateFMul(d, d);
    squares.push_back(e.valid ? b_.CreateSelect(e.valid, square, zero) : square);
  }
  return {mean, tree(Op::Add, squares), count};
}

State MonoidOps::fold_online(std::span<const Element> elements, const State &before,
                             Values *terms_out) {
  llvm::Value *least = ops_.constant(dtypes_[0], -kInfinity);
  llvm::Value *zero = ops_.constant(dtypes_[1], 0);
  Values xs, terms;
  for (const Element &e : elements) xs.push_back(masked(e, 0, least));
  llvm::Value *maximum = tree(Op::Max, xs);
  if (!before.empty()) maximum = emit(Op::Max, dtypes_[0], before[0], maximum);
  llvm::Value *reference = finite_or_zero(maximum);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    llvm::Value *weight = masked(elements[i], 1, zero);
    terms.push_back(b_.CreateFMul(weight, exp_difference(xs[i], reference)));
  }
  if (terms_out) *terms_out = terms;
  llvm::Value *sum = tree(Op::Add, terms);
  if (before.empty()) return {maximum, sum};
  llvm::Value *rescaled = b_.CreateFMul(before[1], exp_difference(before[0], reference));
  return {maximum, b_.CreateFAdd(rescaled, sum)};
}

}  // namespace fuse
