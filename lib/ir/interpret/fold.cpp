// The order of every reduction (docs/kernel.md, "Order").
//
// Trees recurse over their halves: depth log2 of a thread's slots, at most 12.
#include "ir/interpret/fold.h"

#include "ir/float_bits.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr std::int64_t kWarp = 32;

std::uint64_t apply2(Op op, DType type, std::uint64_t a, std::uint64_t b) {
  const Literal operands[] = {{type, a}, {type, b}};
  return apply(op, type, operands);
}

std::uint64_t tree2(Op op, DType type, std::span<const std::uint64_t> x) {
  if (x.size() == 1) return x[0];
  if (x.size() > kFoldGroup) {
    std::vector<std::uint64_t> groups;
    for (; !x.empty(); x = x.subspan(std::min(kFoldGroup, x.size())))
      groups.push_back(tree2(op, type, x.first(std::min(kFoldGroup, x.size()))));
    return tree2(op, type, groups);
  }
  std::size_t half = (x.size() + 1) / 2;
  return apply2(op, type, tree2(op, type, x.first(half)), tree2(op, type, x.subspan(half)));
}

/// Offsets that the digits span, ascending.
std::vector<std::int64_t> offsets_of(const std::vector<FoldPart> &parts) {
  std::vector<std::int64_t> offsets = {0};
  for (const FoldPart &p : parts) {
    std::vector<std::int64_t> next;
    for (std::int64_t n = 0; n < p.extent; ++n)
      for (std::int64_t offset : offsets) next.push_back(offset + n * p.stride);
    offsets = std::move(next);
  }
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

/// Splits digits into lane bits, lowest first, and digits of whole warps.
struct SplitParts {
  std::vector<std::int64_t> lane_bits;
  std::vector<FoldPart> warps;
};

SplitParts split_at_warp(const std::vector<FoldPart> &parts) {
  SplitParts split;
  for (const FoldPart &p : parts) {
    std::int64_t span = p.stride * p.extent;
    for (std::int64_t bit = p.stride; bit < std::min(span, kWarp); bit *= 2)
      split.lane_bits.push_back(bit);
    std::int64_t stride = std::max(p.stride, kWarp);
    if (span > stride) split.warps.push_back({stride, span / stride});
  }
  std::sort(split.lane_bits.begin(), split.lane_bits.end());
  return split;
}

/// Every member of a group gets the tree over the group, in ascending order.
void fold_groups(const MonoidFold &fold, const std::vector<FoldPart> &parts,
                 std::span<MonoidState> states) {
  if (parts.empty()) return;
  std::vector<std::int64_t> offsets = offsets_of(parts);
  std::vector<MonoidState> before(states.begin(), states.end()), group(offsets.size());
  for (std::size_t n = 0; n < states.size(); ++n) {
    auto start = static_cast<std::int64_t>(n);
    for (const FoldPart &p : parts)
      start -= static_cast<std::int64_t>(n) / p.stride % p.extent * p.stride;
    for (std::size_t i = 0; i < offsets.size(); ++i)
      group[i] = before[static_cast<std::size_t>(start + offsets[i])];
    states[n] = fold.tree(group);
  }
}

}  // namespace

MonoidState MonoidFold::tree(std::span<const MonoidState> states) const {
  if (states.size() == 1) return states[0];
  if (monoid == Monoid::Online) {
    std::vector<FoldElement> elements;
    for (const MonoidState &s : states) elements.push_back({{s[0], s[1]}, true});
    return fold_online(elements, nullptr);
  }
  if (states.size() > kFoldGroup) {
    std::vector<MonoidState> groups;
    for (; !states.empty(); states = states.subspan(std::min(kFoldGroup, states.size())))
      groups.push_back(tree(states.first(std::min(kFoldGroup, states.size()))));
    return tree(groups);
  }
  std::size_t half = (states.size() + 1) / 2;
  return combine(tree(states.first(half)), tree(states.subspan(half)));
}

MonoidState MonoidFold::fold(std::span<const FoldElement> elements,
                             const MonoidState *before) const {
  if (monoid == Monoid::Online) return fold_online(elements, before);
  MonoidState state;
  if (monoid == Monoid::Welford) {
    state = fold_welford(elements);
  } else {
    std::vector<MonoidState> states;
    for (const FoldElement &e : elements)
      states.push_back(e.valid ? lift(monoid, type, e.operands) : identity());
    state = tree(states);
  }
  return before ? combine(*before, state) : state;
}

MonoidState MonoidFold::fold_welford(std::span<const FoldElement> elements) const {
  std::uint64_t one = encode_float(type, 1);
  std::vector<std::uint64_t> counts, values, squares;
  for (const FoldElement &e : elements) {
    counts.push_back(e.valid ? one : 0);
    values.push_back(e.valid ? e.operands[0] : 0);
  }
  std::uint64_t count = tree2(Op::Add, type, counts);
  if (count == 0) return identity();
  std::uint64_t mean = apply2(Op::Div, type, tree2(Op::Add, type, values), count);
  for (const FoldElement &e : elements) {
    std::uint64_t d = apply2(Op::Sub, type, e.operands[0], mean);
    squares.push_back(e.valid ? apply2(Op::Mul, type, d, d) : 0);
  }
  return {mean, tree2(Op::Add, type, squares), count};
}

MonoidState MonoidFold::fold_online(std::span<const FoldElement> elements,
                                    const MonoidState *before) const {
  const std::uint64_t least = identity()[0];
  std::vector<std::uint64_t> xs, terms;
  for (const FoldElement &e : elements) xs.push_back(e.valid ? e.operands[0] : least);
  std::uint64_t maximum = tree2(Op::Max, type, xs);
  if (before) maximum = apply2(Op::Max, type, (*before)[0], maximum);
  for (const FoldElement &e : elements) terms.push_back(term(e, maximum));
  std::uint64_t sum = tree2(Op::Add, type, terms);
  if (before) sum = apply2(Op::Add, type, combine(*before, {maximum, 0, 0})[1], sum);
  return {maximum, sum, 0};
}

std::uint64_t MonoidFold::term(const FoldElement &element, std::uint64_t maximum) const {
  if (!element.valid || element.operands[0] == identity()[0]) return 0;
  // combine() rescales the weight to the maximum, which has no elements of its own here.
  return combine({element.operands[0], element.operands[1], 0}, {maximum, 0, 0})[1];
}

void MonoidFold::fold_online_lanes(std::span<const std::int64_t> bits,
                                   std::span<MonoidState> states) const {
  std::vector<std::uint64_t> maxima, sums;
  for (const MonoidState &s : states) maxima.push_back(s[0]), sums.push_back(s[1]);
  auto butterfly = [&](Op op, std::vector<std::uint64_t> &x) {
    for (std::int64_t bit : bits) {
      std::vector<std::uint64_t> before = x;
      for (std::size_t t = 0; t < x.size(); ++t) {
        auto mask = static_cast<std::size_t>(bit);
        x[t] = apply2(op, type, before[t & ~mask], before[t | mask]);
      }
    }
  };
  butterfly(Op::Max, maxima);
  for (std::size_t t = 0; t < sums.size(); ++t)
    sums[t] = term({{states[t][0], sums[t]}, true}, maxima[t]);
  butterfly(Op::Add, sums);
  for (std::size_t t = 0; t < states.size(); ++t) states[t] = {maxima[t], sums[t], 0};
}

void fold_threads(const MonoidFold &fold, std::vector<FoldPart> parts,
                  std::span<MonoidState> states) {
  SplitParts split = split_at_warp(parts);
  bool is_online = fold.monoid == Monoid::Online && !split.lane_bits.empty();
  if (is_online) fold.fold_online_lanes(split.lane_bits, states);
  if (is_online) split.lane_bits.clear();
  for (std::int64_t bit : split.lane_bits) {
    std::vector<MonoidState> before(states.begin(), states.end());
    for (std::size_t t = 0; t < states.size(); ++t) {
      auto mask = static_cast<std::size_t>(bit);
      states[t] = fold.combine(before[t & ~mask], before[t | mask]);
    }
  }
  fold_groups(fold, split.warps, states);
}

void fold_blocks(const MonoidFold &fold, const std::vector<FoldPart> &parts,
                 std::span<MonoidState> states) {
  fold_groups(fold, parts, states);
}

}  // namespace fuse
