"""Running combinations along an axis. 16-bit floats accumulate in f32 and each result is rounded
once, as in a .fuse program. Positions of running maxima are not translated."""
from .extern import Extern
from .pointwise import cast
from .program import dtype_of
from .views import axis_of


def scan(p, op, x, axis):
    if x.rank() == 0:
        return x
    return p.emit(op, [x], x.dtype, x.shape, f"axis={axis_of(axis, x.rank())}")


def cumulative(op):
    def handler(p, node, x, axis, dtype=None):
        return scan(p, op, cast(p, x, dtype_of(dtype) if dtype else node.dtype), axis)
    return handler


def logcumsumexp(p, node, x, axis):
    return scan(p, "logcumsumexp", x, axis)


def extreme(op):
    """Values and positions; only values, where nobody reads the positions."""
    def handler(p, node, x, axis):
        if node.is_used(1):
            raise Extern("a position of a running maximum")
        return [scan(p, op, x, axis), None]
    return handler


HANDLERS = {
    "aten.cumsum.default": cumulative("cumsum"),
    "aten.cumprod.default": cumulative("cumprod"),
    "aten.logcumsumexp.default": logcumsumexp,
    "aten.cummax.default": extreme("cummax"),
    "aten.cummin.default": extreme("cummin"),
}
