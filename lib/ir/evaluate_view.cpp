// Views: strided copies between element arrays, forwards and backwards.
#include "ir/evaluate_ball.h"
#include "ir/format.h"
#include "ir/op.h"

namespace fuse {

namespace {

using Extents = std::vector<std::int64_t>;

/// Positions of a box in a source and a destination, both affine.
struct Walk {
  Extents extents, source, destination;  // per axis: extent and steps
  std::int64_t source_base = 0, destination_base = 0;
};

Extents row_major(const Extents &extents) {
  Extents strides(extents.size(), 1);
  for (std::size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  return strides;
}

/// Calls body(source, destination, source step, destination step, length) for every innermost run.
template <class Body>
void for_each_run(const Walk &walk, Body body) {
  if (count_elements(walk.extents) == 0) return;
  std::size_t outer = walk.extents.empty() ? 0 : walk.extents.size() - 1;
  std::int64_t length = walk.extents.empty() ? 1 : walk.extents[outer];
  std::int64_t source_step = walk.extents.empty() ? 0 : walk.source[outer];
  std::int64_t destination_step = walk.extents.empty() ? 0 : walk.destination[outer];
  Extents position(outer, 0);
  std::int64_t from = walk.source_base, to = walk.destination_base;
  for (;;) {
    body(from, to, source_step, destination_step, length);
    std::size_t axis = outer;
    while (axis-- > 0) {
      from += walk.source[axis];
      to += walk.destination[axis];
      if (++position[axis] < walk.extents[axis]) break;
      from -= walk.source[axis] * walk.extents[axis];
      to -= walk.destination[axis] * walk.extents[axis];
      position[axis] = 0;
    }
    if (axis == static_cast<std::size_t>(-1)) return;
  }
}

template <class T>
void copy_array(std::vector<T> &to, const std::vector<T> &from, const Walk &walk) {
  if (from.empty() || to.empty()) return;
  for_each_run(walk, [&](std::int64_t s, std::int64_t d, std::int64_t s_step, std::int64_t d_step,
                         std::int64_t length) {
    for (std::int64_t k = 0; k < length; ++k) to[d + k * d_step] = from[s + k * s_step];
  });
}

void copy(Expected &to, const Expected &from, Walk walk) {
  if (from.splat) {
    walk.source_base = 0;
    walk.source.assign(walk.source.size(), 0);
  }
  copy_array(to.value, from.value, walk);
  copy_array(to.low, from.low, walk);
  copy_array(to.bits, from.bits, walk);
  if (!from.error.empty()) return copy_array(to.error, from.error, walk);
  walk.source.assign(walk.source.size(), 0);
  walk.source_base = 0;
  copy_array(to.error, {0.0}, walk);
}

/// A view whose every element comes from x.
Expected strided(const Expected &x, Extents shape, Extents source, std::int64_t base) {
  Expected out = make_expected(x.dtype, std::move(shape), x.splat, !x.error.empty());
  Walk walk{out.shape, std::move(source), row_major(out.shape), base, 0};
  if (x.splat) walk = Walk{};
  copy(out, x, walk);
  return out;
}

Expected broadcast(const Expected &x, Extents shape) {
  Extents strides = row_major(x.shape), source(shape.size(), 0);
  std::size_t offset = shape.size() - x.shape.size();
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    source[offset + i] = x.shape[i] == 1 ? 0 : strides[i];
  return strided(x, std::move(shape), std::move(source), 0);
}

Expected transpose(const Expected &x, Extents shape, const std::vector<int> &permutation) {
  Extents strides = row_major(x.shape), source;
  for (int axis : permutation) source.push_back(strides[axis]);
  return strided(x, std::move(shape), std::move(source), 0);
}

Expected slice(const Expected &x, Extents shape, const SliceAttr &attr, const Bindings &symbols) {
  Extents source = row_major(x.shape);
  std::int64_t base = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    base += attr.start[i].evaluate(symbols) * source[i];
    source[i] *= attr.step[i];
  }
  return strided(x, std::move(shape), std::move(source), base);
}

Expected flip(const Expected &x, Extents shape, const std::vector<int> &axes) {
  Extents source = row_major(x.shape);
  std::int64_t base = 0;
  for (int axis : axes) {
    base += (x.shape[axis] - 1) * source[axis];
    source[axis] = -source[axis];
  }
  return strided(x, std::move(shape), std::move(source), base);
}

/// The pad value in the tensor's dtype: literals of narrow floats are wider.
Expected pad_value(const Expected &value, DType dtype) {
  return value.dtype == dtype ? value : evaluate_convert(Op::Cast, dtype, value);
}

Expected pad(const Expected &x, const Expected &given, Extents shape, const PadAttr &attr) {
  Expected value = pad_value(given, x.dtype);
  bool inexact = !x.error.empty() || !value.error.empty();
  Expected out = make_expected(x.dtype, std::move(shape), false, inexact);
  Extents none(out.shape.size(), 0);
  copy(out, value, {out.shape, none, row_major(out.shape), 0, 0});
  Extents destination = row_major(out.shape);
  std::int64_t base = 0;
  for (std::size_t i = 0; i < destination.size(); ++i) base += attr.lo[i] * destination[i];
  copy(out, x, {x.shape, row_major(x.shape), destination, 0, base});
  return out;
}

Expected concat(std::span<const Expected *const> parts, Extents shape, int axis) {
  bool inexact =
      std::any_of(parts.begin(), parts.end(), [](const Expected *x) { return !x->error.empty(); });
  Expected out = make_expected(parts[0]->dtype, std::move(shape), false, inexact);
  Extents destination = row_major(out.shape);
  std::int64_t base = 0;
  for (const Expected *x : parts) {
    copy(out, *x, {x->shape, row_major(x->shape), destination, 0, base});
    base += x->shape[axis] * destination[axis];
  }
  return out;
}

/// Extents before, of, and after an axis.
struct Split {
  std::int64_t before = 1, extent = 1, after = 1;
};

Split split_at(const Extents &shape, int axis) {
  Split s{1, shape[axis], 1};
  for (int i = 0; i < axis; ++i) s.before *= shape[i];
  for (std::size_t i = axis + 1; i < shape.size(); ++i) s.after *= shape[i];
  return s;
}

/// Whether the integer, unsigned or not, lies in [0, extent).
bool in_range(DType type, std::uint64_t bits, std::int64_t extent) {
  if (is_signed_int(type) && std::int64_t(bits) < 0) return false;
  return bits < std::uint64_t(extent);
}

void mark_unknown(Expected &out, std::int64_t begin, std::int64_t count) {
  std::fill_n(out.error.begin() + begin, count, kUnknown);
}

Expected gather(const Expected &x, const Expected &index, Extents shape, int axis) {
  bool inexact = !x.error.empty() || !index.error.empty();
  Expected out = make_expected(x.dtype, std::move(shape), false, inexact);
  Split s = split_at(x.shape, axis);
  std::int64_t picked = index.size();
  for (std::int64_t i = 0; i < picked; ++i) {
    std::uint64_t at = bits_at(index, i);
    bool inside = in_range(index.dtype, at, s.extent);
    bool certain = error_at(index, i) == 0;
    if (inside) {
      copy(out, x,
           {{s.before, s.after},
            {s.extent * s.after, 1},
            {picked * s.after, 1},
            std::int64_t(at) * s.after,
            i * s.after});
    }
    if (certain) continue;
    for (std::int64_t b = 0; b < s.before; ++b)
      mark_unknown(out, (b * picked + i) * s.after, s.after);
  }
  return out;
}

Expected reshape(const Expected &x, Extents shape) {
  Expected out = x;
  out.shape = std::move(shape);
  return out;
}

}  // namespace

Expected evaluate_view(const GraphData &g, NodeId id, Extents shape,
                       std::span<const Expected *const> x, const Bindings &symbols) {
  Op op = g.node(id).op;
  if (op == Op::Broadcast) return broadcast(*x[0], std::move(shape));
  if (op == Op::Reshape) return reshape(*x[0], std::move(shape));
  if (op == Op::Transpose) return transpose(*x[0], std::move(shape), g.attr<AxesAttr>(id).axes);
  if (op == Op::Slice) return slice(*x[0], std::move(shape), g.attr<SliceAttr>(id), symbols);
  if (op == Op::Flip) return flip(*x[0], std::move(shape), g.attr<AxesAttr>(id).axes);
  if (op == Op::Pad) return pad(*x[0], *x[1], std::move(shape), g.attr<PadAttr>(id));
  if (op == Op::Concat) return concat(x, std::move(shape), g.attr<AxesAttr>(id).axes[0]);
  FUSE_CHECK(op == Op::Gather, "{} is no view", info(op).text);
  return gather(*x[0], *x[1], std::move(shape), g.attr<AxesAttr>(id).axes[0]);
}

}  // namespace fuse
