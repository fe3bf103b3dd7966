"""Reads and writes by index tensors. Negative positions count from the end, as in PyTorch."""
import math

from .extern import Extern
from .program import is_float, round_to
from .strides import row_major
from .views import axis_of, broadcast, reshape


def wrap(p, index, extent):
    """Positions below 0 plus the extent."""
    below = p.emit("lt", [index, 0], "bool", index.shape)
    wrapped = p.emit("add", [index, extent], index.dtype, index.shape)
    return p.emit("select", [below, wrapped, index], index.dtype, index.shape)


def common_shape(shapes):
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    return [max(extents) if 0 not in extents else 0 for extents in zip(*padded)]


def linear(p, terms, shape):
    """The sum of index * stride over the terms."""
    total = None
    for index, stride in terms:
        if stride != 1:
            index = p.emit("mul", [index, stride], index.dtype, index.shape)
        total = index if total is None else p.emit("add", [total, index], index.dtype, shape)
    return broadcast(p, total, shape)


def index_tensor(p, node, x, indices):
    """Indices of the leading axes: one gather by their row-major position."""
    if any(i is None for i in indices):
        raise Extern("index of other than the leading axes")
    if any(i.dtype in ("bool", "u8") for i in indices):
        raise Extern("index by a mask")
    extents = x.shape[:len(indices)]
    wrapped = [wrap(p, i, n) for i, n in zip(indices, extents)]
    position = linear(p, list(zip(wrapped, row_major(extents))),
                      common_shape([i.shape for i in indices]))
    rows = reshape(p, x, [math.prod(extents), *x.shape[len(indices):]])
    return p.emit("gather", [rows, position], x.dtype, node.shape, "axis=0")


def embedding(p, node, weight, index, *options):
    return p.emit("gather", [weight, index], weight.dtype, node.shape, "axis=0")


def gather(p, node, x, axis, index):
    """x at the index's own position, but for the axis: a gather by row-major position."""
    axis = axis_of(axis, x.rank())
    terms = []
    for a, stride in enumerate(row_major(x.shape)):
        if a == axis:
            terms.append((index, stride))
        elif index.shape[a] != 1:
            terms.append((p.emit("iota", [], index.dtype, index.shape, f"axis={a}"), stride))
    flat = reshape(p, x, [math.prod(x.shape)])
    return p.emit("gather", [flat, linear(p, terms, index.shape)], x.dtype, node.shape, "axis=0")


def scatter_value(p, node, x, axis, index, value):
    """One position a row: select(iota == index, value, x)."""
    axis = axis_of(axis, x.rank())
    rows = [1 if a == axis else n for a, n in enumerate(x.shape)]
    if list(index.shape) != rows:
        raise Extern("scatter of several positions")
    position = p.emit("iota", [], index.dtype, x.shape, f"axis={axis}")
    here = p.emit("eq", [position, index], "bool", x.shape)
    value = round_to(value, x.dtype) if is_float(x.dtype) else value
    return p.emit("select", [here, value, x], x.dtype, x.shape)


HANDLERS = {
    "aten.index.Tensor": index_tensor,
    "aten.embedding.default": embedding,
    "aten.gather.default": gather,
    "aten.scatter.value": scatter_value,
}
