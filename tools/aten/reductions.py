"""Reductions. 16-bit floats accumulate in f32 and are rounded once, which is what a 16-bit sum means
in a .fuse program; a mean multiplies the f32 sum by 1/n before it is rounded."""
import math

import numpy

from .pointwise import cast
from .program import compute_type, dtype_of
from .views import axis_of


def axes_of(x, axes):
    """All axes where none is given."""
    return sorted(axis_of(a, x.rank()) for a in axes) if axes else list(range(x.rank()))


def folded_shape(x, axes, keep):
    if keep:
        return [1 if i in axes else n for i, n in enumerate(x.shape)]
    return [n for i, n in enumerate(x.shape) if i not in axes]


def fold(p, op, x, axes, keep):
    if not axes:
        return x
    attributes = f"axes={axes}" + (" keep" if keep else "")
    return p.emit(op, [x], x.dtype, folded_shape(x, axes, keep), attributes)


def reciprocal(n, dtype):
    real = numpy.float64 if dtype == "f64" else numpy.float32
    return float(real(1) / real(n))


def count(x, axes):
    return math.prod(x.shape[a] for a in axes)


def mean_of(p, x, axes, keep):
    total = fold(p, "sum", x, axes, keep)
    return p.emit("mul", [total, reciprocal(count(x, axes), x.dtype)], x.dtype, total.shape)


def sum_axes(p, node, x, axes=None, keep=False, dtype=None):
    x = cast(p, x, dtype_of(dtype) if dtype else node.dtype)
    return fold(p, "sum", x, axes_of(x, axes), keep)


def sum_all(p, node, x, dtype=None):
    return sum_axes(p, node, x, None, False, dtype)


def mean(p, node, x, axes=None, keep=False, dtype=None):
    x = cast(p, x, compute_type(node.dtype))
    return cast(p, mean_of(p, x, axes_of(x, axes), keep), node.dtype)


def amax(p, node, x, axes=(), keep=False):
    return fold(p, "max", x, axes_of(x, axes), keep)


def var_mean(p, node, x, axes=None, correction=1, keepdim=False):
    """Two passes: the mean, then the squares of what is left."""
    x = cast(p, x, compute_type(x.dtype))
    axes = axes_of(x, axes)
    mean_kept = mean_of(p, x, axes, True)
    rest = p.emit("sub", [x, mean_kept], x.dtype, x.shape)
    squares = p.emit("mul", [rest, rest], x.dtype, x.shape)
    total = fold(p, "sum", squares, axes, keepdim)
    divisor = max(0, count(x, axes) - correction)
    variance = p.emit("div", [total, divisor], x.dtype, total.shape)
    mean_out = mean_kept if keepdim else p.emit("reshape", [mean_kept], x.dtype, total.shape)
    return [cast(p, variance, node.out_type(0)[0]), cast(p, mean_out, node.out_type(1)[0])]


HANDLERS = {
    "aten.sum.dim_IntList": sum_axes,
    "aten.sum.default": sum_all,
    "aten.mean.dim": mean,
    "aten.amax.default": amax,
    "aten.var_mean.correction": var_mean,
}
