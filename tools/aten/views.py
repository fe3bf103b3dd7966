"""Views and joins. Copies are values of their own in PyTorch; here they are the value itself."""
import math

from .extern import Extern
from .pointwise import cast
from .program import is_float, round_to
from .strides import is_contiguous


def axis_of(axis, rank):
    return axis + rank if axis < 0 else axis


def reshape(p, x, shape):
    return x if x.shape == tuple(shape) else p.emit("reshape", [x], x.dtype, shape)


def to_out_shape(p, node, x, *arguments):
    return reshape(p, x, node.shape)


def broadcast(p, x, shape):
    return x if x.shape == tuple(shape) else p.emit("broadcast", [x], x.dtype, shape)


def expand(p, node, x, sizes, **options):
    return broadcast(p, x, node.shape)


def permute(p, node, x, axes):
    return p.transpose(x, [axis_of(a, x.rank()) for a in axes])


def slice_axis(p, x, axis, start, stop, step=1):
    """start:stop:step of one axis; the whole of the others."""
    if (start, stop, step) == (0, x.shape[axis], 1):
        return x
    ranges = [f"0:{n}" for n in x.shape]
    ranges[axis] = f"{start}:{stop}" + (f":{step}" if step != 1 else "")
    shape = list(x.shape)
    shape[axis] = max(0, -(-(stop - start) // step))
    return p.emit("slice", [x], x.dtype, shape, f"[{', '.join(ranges)}]")


def clamp_range(extent, start, stop):
    """Python's rules: negative positions count from the end, ends are cut."""
    start, stop = (0 if start is None else start), (extent if stop is None else stop)
    start = min(max(start + extent if start < 0 else start, 0), extent)
    stop = min(max(stop + extent if stop < 0 else stop, start), extent)
    return start, stop


def slice_tensor(p, node, x, axis=0, start=None, stop=None, step=1):
    axis = axis_of(axis, x.rank())
    return slice_axis(p, x, axis, *clamp_range(x.shape[axis], start, stop), step)


def select(p, node, x, axis, index):
    axis = axis_of(axis, x.rank())
    index = axis_of(index, x.shape[axis])
    return reshape(p, slice_axis(p, x, axis, index, index + 1), node.shape)


def concat(p, parts, axis):
    """Parts without elements along the axis are left out."""
    parts = [x for x in parts if x.shape[axis]] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    shape = list(parts[0].shape)
    shape[axis] = sum(x.shape[axis] for x in parts)
    return p.emit("concat", parts, parts[0].dtype, shape, f"axis={axis}")


def cat(p, node, parts, axis=0):
    """PyTorch ignores empty vectors whatever the rank of the others."""
    parts = [cast(p, x, node.dtype) for x in parts if x.shape != (0,)]
    return concat(p, parts, axis_of(axis, len(node.shape)))


def replace_range(p, x, inside, axis, start, stop):
    before = slice_axis(p, x, axis, 0, start) if start else None
    after = slice_axis(p, x, axis, stop, x.shape[axis]) if stop < x.shape[axis] else None
    return concat(p, [v for v in (before, inside, after) if v is not None], axis)


def slice_scatter(p, node, x, source, axis=0, start=None, stop=None, step=1):
    if step != 1:
        raise Extern("scatter with a step")
    axis = axis_of(axis, x.rank())
    start, stop = clamp_range(x.shape[axis], start, stop)
    shape = list(x.shape)
    shape[axis] = stop - start
    return replace_range(p, x, broadcast(p, cast(p, source, x.dtype), shape), axis, start, stop)


def select_scatter(p, node, x, source, axis, index):
    axis = axis_of(axis, x.rank())
    index = axis_of(index, x.shape[axis])
    shape = list(x.shape)
    shape[axis] = 1
    inside = reshape(p, cast(p, source, x.dtype), shape)
    return replace_range(p, x, inside, axis, index, index + 1)


def split(p, node, x, sizes, axis=0):
    axis = axis_of(axis, x.rank())
    extent = x.shape[axis]
    if not isinstance(sizes, list):
        sizes = [min(sizes, extent - at) for at in range(0, extent, sizes)]
    parts, at = [], 0
    for size in sizes:
        parts.append(slice_axis(p, x, axis, at, at + size))
        at += size
    return parts


def constant_pad(p, node, x, widths, value=0):
    """Widths come in pairs from the last axis; negative ones cut."""
    if any(w < 0 for w in widths):
        raise Extern("padding that cuts")
    lo, hi = [0] * x.rank(), [0] * x.rank()
    for i in range(len(widths) // 2):
        lo[-1 - i], hi[-1 - i] = widths[2 * i], widths[2 * i + 1]
    value = round_to(float(value), x.dtype) if is_float(x.dtype) else value
    return p.emit("pad", [x, value], x.dtype, node.shape, f"lo={lo} hi={hi}")


def check_reshape(node, x, size, stride, offset):
    """The strided view must be all of x in row-major order, x itself being laid out so."""
    whole = not offset and math.prod(size) == math.prod(x.shape)
    if not (whole and is_contiguous(size, stride) and is_contiguous(x.shape, node.stride_of(0))):
        raise Extern("strided view that is no reshape")


def as_strided(p, node, x, size, stride, offset=0):
    check_reshape(node, x, size, stride, offset)
    return reshape(p, x, node.shape)


def as_strided_scatter(p, node, x, source, size, stride, offset=0):
    check_reshape(node, x, size, stride, offset)
    return reshape(p, cast(p, source, x.dtype), x.shape)


def identity(p, node, x, **options):
    return x


def copy(p, node, destination, source):
    return broadcast(p, cast(p, source, destination.dtype), destination.shape)


def getitem(p, node, values, index):
    return values[index]


HANDLERS = {
    "aten.view.default": to_out_shape,
    "aten.unsqueeze.default": to_out_shape,
    "aten.squeeze.dim": to_out_shape,
    "aten.squeeze.dims": to_out_shape,
    "aten.expand.default": expand,
    "aten.permute.default": permute,
    "aten.slice.Tensor": slice_tensor,
    "aten.select.int": select,
    "aten.cat.default": cat,
    "aten.slice_scatter.default": slice_scatter,
    "aten.select_scatter.default": select_scatter,
    "aten.split.Tensor": split,
    "aten.split_with_sizes.default": split,
    "aten.constant_pad_nd.default": constant_pad,
    "aten.as_strided.default": as_strided,
    "aten.as_strided_scatter.default": as_strided_scatter,
    "aten.clone.default": identity,
    "aten.alias.default": identity,
    "aten.lift_fresh_copy.default": identity,
    "aten.copy.default": copy,
    "<built-in function getitem>": getitem,
}
