// Views: what moved an element forward moves its cotangent back; what repeated it adds them.
#include "grad/rules.h"
#include "ir/build.h"

#include <fuse/builders.h>

#include <algorithm>

namespace fuse {

namespace {

Value zeros(GraphData &g, DType type, const Shape &shape) {
  return g.value(build_constant(g, {type, 0}, shape));
}

/// Puts step - 1 zeros behind each element of an axis but the last.
Value spread(Value v, int axis, std::int64_t step) {
  Shape shape = v.shape();
  auto along = shape.begin() + axis;
  std::int64_t n = along->value();
  if (n <= 1) return v;
  Dim outer = num_elements(Shape(shape.begin(), along));
  Dim inner = num_elements(Shape(along + 1, shape.end()));
  Value apart = pad(reshape(v, {outer, n, 1, inner}), {0, 0, 0, 0}, {0, 0, step - 1, 0});
  *along = n * step;
  return slice(reshape(apart, shape), axis, 0, (n - 1) * step + 1);
}

/// Zeros before and behind an axis, so many that its extent is that given.
Value surround(Value v, int axis, const Dim &before, const Dim &extent) {
  Dim behind = extent - before - v.shape()[axis];
  if (before.is_static() && behind.is_static()) {
    std::vector<std::int64_t> lo(v.shape().size(), 0), hi = lo;
    lo[axis] = before.value();
    hi[axis] = behind.value();
    return pad(v, lo, hi);
  }
  Shape shape = v.shape();
  std::vector<Value> parts;
  auto add_zeros = [&](const Dim &count) {
    shape[axis] = count;
    if (count != Dim(0)) parts.push_back(zeros(*v.graph(), v.dtype(), shape));
  };
  add_zeros(before);
  parts.push_back(v);
  add_zeros(behind);
  return concat(parts, axis);
}

Value sliced(Value v, const std::vector<Dim> &start, const Shape &extents) {
  std::vector<Dim> stop;
  for (std::size_t i = 0; i < start.size(); ++i) stop.push_back(start[i] + extents[i]);
  GraphData &g = *v.graph();
  return g.value(
      build_slice(g, v.index(), start, stop, std::vector<std::int64_t>(start.size(), 1)));
}

std::vector<Dim> starts_of_pad(const PadAttr &pad) { return {pad.lo.begin(), pad.lo.end()}; }

/// The sum of what stands around the padded value.
Value sum_around(Adjoint &a) {
  GraphData &g = a.graph();
  const PadAttr &attr = a.attr<PadAttr>();
  NodeId inside = build_constant(g, {DType::Bool, 1}, a.operand(0).shape());
  NodeId outside = build_constant(g, {DType::Bool, 0}, {});
  Value is_inside = g.value(build_pad(g, inside, outside, attr.lo, attr.hi));
  std::vector<int> axes;
  for (int i = 0; i < static_cast<int>(a.shape().size()); ++i) axes.push_back(i);
  return sum(select(is_inside, 0.0, a.dy()), axes);
}

}  // namespace

void broadcast_rule(Adjoint &a) {
  const Shape &from = a.operand(0).shape(), &to = a.shape();
  std::size_t offset = to.size() - from.size();
  std::vector<int> axes;
  for (std::size_t i = 0; i < to.size(); ++i)
    if (i < offset || from[i - offset] != to[i]) axes.push_back(static_cast<int>(i));
  a.add(0, reshape(sum(a.dy(), axes), from));
}

void transpose_rule(Adjoint &a) {
  const std::vector<int> &axes = a.attr<AxesAttr>().axes;
  std::vector<int> inverse(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) inverse[axes[i]] = static_cast<int>(i);
  a.add(0, transpose(a.cotangent(), inverse));
}

void slice_rule(Adjoint &a) {
  const SliceAttr &attr = a.attr<SliceAttr>();
  const Shape &extents = a.operand(0).shape();
  Value dx = a.cotangent();
  if (std::find(a.shape().begin(), a.shape().end(), Dim(0)) != a.shape().end())
    return a.add(0, zeros(a.graph(), dx.dtype(), extents));
  for (std::size_t i = 0; i < extents.size(); ++i) {
    int axis = static_cast<int>(i);
    dx = attr.step[i] == 1 ? dx : spread(dx, axis, attr.step[i]);
    if (dx.shape()[i] != extents[i]) dx = surround(dx, axis, attr.start[i], extents[i]);
  }
  a.add(0, dx);
}

void pad_rule(Adjoint &a) {
  const PadAttr &attr = a.attr<PadAttr>();
  if (a.wants(0)) a.add(0, sliced(a.cotangent(), starts_of_pad(attr), a.operand(0).shape()));
  if (a.wants(1)) a.add(1, sum_around(a));
}

void concat_rule(Adjoint &a) {
  auto axis = static_cast<std::size_t>(a.attr<AxesAttr>().axes[0]);
  std::vector<Dim> start(a.shape().size(), 0);
  for (std::size_t i = 0; i < a.num_operands(); ++i) {
    const Shape &part = a.operand(i).shape();
    if (a.wants(i)) a.add(i, sliced(a.cotangent(), start, part));
    start[axis] = start[axis] + part[axis];
  }
}

void gather_rule(Adjoint &a) {
  if (!a.wants(0)) return;
  a.add(0, scatter_add(a.operand(0).shape(), a.operand(1), a.dy(), a.attr<AxesAttr>().axes[0]));
}

}  // namespace fuse
