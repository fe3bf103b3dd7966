// Builders that only move elements.
#include "ir/build.h"
#include "ir/composite.h"
#include "ir/format.h"
#include "ir/plan.h"

FUSE_BEGIN_NAMESPACE

namespace {

/// x with the range of the axis that starts at `start` replaced.
Value splice(Value x, Value part, int axis, const Dim &start, const Dim &stop) {
  std::vector<Value> parts;
  if (start != Dim(0)) parts.push_back(slice(x, axis, 0, start));
  parts.push_back(part);
  if (stop != x.shape()[axis]) parts.push_back(slice(x, axis, stop, x.shape()[axis]));
  return concat(parts, axis);
}

/// x where the axis is off the stride; the update, spread out, on it.
Value interleave(Value x, Value part, int axis, std::int64_t start, std::int64_t step) {
  GraphData &g = *x.graph();
  const Dim &extent = x.shape()[axis];
  std::int64_t count = part.shape()[axis].value();
  Value offset = g.value(build_iota(g, DType::I64, {extent}, 0)) - start;
  Value spread = gather(part, floordiv(offset, step), axis);
  Shape along(x.shape().size(), Dim(1));
  along[axis] = extent;
  Value hit = (offset >= 0) & (offset < count * step) & eq(mod(offset, step), 0);
  return select(reshape(hit, along), spread, x);
}

void check_index(const GraphData &g, Value index) {
  if (!index.valid()) fail(ErrorCode::InvalidArgument, "the index is an empty Value");
  if (index.graph() != &g)
    fail(ErrorCode::InvalidArgument, "the index is of another graph: of {}, not of {}",
         index.graph()->name, g.name);
  if (!is_int(index.dtype()))
    fail(ErrorCode::DType, "the index %{} is {}, not integers; cast it first",
         value_label(g, index.index()), type_string(g, index.index()));
}

/// Insists on updates of the index's shape in the place of the axis.
void check_updates(const GraphData &g, const Shape &shape, Value index, Value updates, int axis) {
  Shape wanted = shape;
  wanted.erase(wanted.begin() + axis);
  wanted.insert(wanted.begin() + axis, index.shape().begin(), index.shape().end());
  if (updates.shape() != wanted)
    fail(ErrorCode::Shape, "updates {} are not of the shape {}", type_string(g, updates.index()),
         to_string(wanted));
}

}  // namespace

Value unsqueeze(Operand x, int axis) {
  return composite("unsqueeze", x, [&](Value v) {
    Shape shape = v.shape();
    int at = normalize_axis("unsqueeze", axis, v.rank() + 1, x.where());
    shape.insert(shape.begin() + at, Dim(1));
    return reshape(v, shape);
  });
}

Value squeeze(Operand x, int axis) {
  return composite("squeeze", x, [&](Value v) {
    Shape shape = v.shape();
    int at = normalize_axis("squeeze", axis, v.rank(), x.where());
    if (shape[at] != Dim(1))
      fail(ErrorCode::Shape, "axis {} of {} has extent {}, not 1", axis,
           type_string(*v.graph(), v.index()), to_string(shape[at]));
    shape.erase(shape.begin() + at);
    return reshape(v, shape);
  });
}

Value slice_scatter(Operand x, Value update, int axis, Dim start, Dim stop, std::int64_t step) {
  return composite("slice_scatter", x, [&](Value v) {
    int at = normalize_axis("slice_scatter", axis, v.rank(), x.where());
    Value part = broadcast(update, slice(v, at, start, stop, step).shape());
    if (step == 1) return splice(v, part, at, start, stop);
    return interleave(v, part, at, start.value(), step);
  });
}

Value select_scatter(Operand x, Value update, int axis, Dim index) {
  return composite("select_scatter", x, [&](Value v) {
    int at = normalize_axis("select_scatter", axis, v.rank(), x.where());
    return slice_scatter(v, unsqueeze(update, at), at, index, index + 1);
  });
}

Value scatter_add(const Shape &shape, Value index, Operand updates, int axis) {
  return composite("scatter_add", updates, [&](Value v) {
    GraphData &g = *v.graph();
    check_rank("scatter_add", shape, updates.where());
    check_index(g, index);
    int at = normalize_axis("scatter_add", axis, static_cast<int>(shape.size()), updates.where());
    check_updates(g, shape, index, v, at);
    auto outer = shape.begin(), along = outer + at;
    Dim count = num_elements(index.shape()), rows = num_elements(Shape(outer, along)),
        columns = num_elements(Shape(along + 1, shape.end()));
    DType type = position_type(index.dtype());
    Value place = g.value(build_iota(g, type, {1, *along, 1, 1}, 1));
    Value is_here = eq(reshape(as_positions(index), {1, 1, count, 1}), place);
    Value parts = select(is_here, reshape(v, {rows, 1, count, columns}), 0);
    return reshape(sum(parts, {2}), shape);
  });
}

Value rotary_embedding(Operand x, Value cos, Value sin) {
  return float_composite("rotary_embedding", x, [&](Value v) {
    if (v.rank() == 0) fail(ErrorCode::Shape, "takes a tensor of rank 1 or more");
    Dim extent = v.shape().back(), half;
    if (!extent.divide_exact(2, half))
      fail(ErrorCode::Shape, "the last extent {} has no halves", to_string(extent));
    Value a = slice(v, -1, 0, half), b = slice(v, -1, half, extent);
    Value c = cast(cos, v.dtype()), s = cast(sin, v.dtype());
    return concat({a * c - b * s, b * c + a * s}, -1);
  });
}

FUSE_END_NAMESPACE
