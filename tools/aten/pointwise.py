"""Elementwise ops. PyTorch's habits are written out: operands are cast to the result's dtype,
scalars stay in the compute type, and division by a scalar multiplies by its reciprocal."""
import numpy

from .extern import Extern
from .program import Value, compute_type, dtype_of, is_float, round_to


def cast(p, x, dtype):
    """PyTorch converts integers and doubles to 16-bit floats through f32, rounding twice."""
    if x.dtype == dtype:
        return x
    if dtype in ("f16", "bf16") and x.dtype not in ("bool", "f16", "bf16", "f32"):
        x = p.emit("cast", [x], "f32", x.shape)
    return p.emit("cast", [x], dtype, x.shape)


def as_dtype(p, x, dtype):
    """A tensor operand in the dtype; scalars are literals."""
    return cast(p, x, dtype) if isinstance(x, Value) else x


def apply(p, op, dtype, shape, *operands):
    return p.emit(op, [as_dtype(p, o, dtype) for o in operands], dtype, shape)


def unary(op):
    return lambda p, node, x: apply(p, op, node.dtype, node.shape, x)


def binary(op):
    def handler(p, node, a, b, alpha=1):
        if alpha != 1:
            raise Extern("alpha of a sum")
        return apply(p, op, node.dtype, node.shape, a, b)
    return handler


def divide(p, node, a, b):
    if isinstance(b, Value) or not isinstance(a, Value):
        return apply(p, "div", node.dtype, node.shape, a, b)
    real = numpy.float64 if node.dtype == "f64" else numpy.float32
    return apply(p, "mul", node.dtype, node.shape, a, float(real(1) / real(b)))


def compare(op):
    """A scalar is rounded to the tensor's dtype."""
    def handler(p, node, a, b):
        if not isinstance(b, Value):
            if is_float(a.dtype):
                b = round_to(float(b), a.dtype)
            elif b != int(b):
                raise Extern("comparison of integers with a fraction")
        elif a.dtype != b.dtype:
            raise Extern("comparison of different dtypes")
        return p.emit(op, [a, b], "bool", node.shape)
    return handler


def power(p, node, x, exponent):
    """Small powers are products and roots, as in PyTorch: each step rounds to the dtype."""
    x = cast(p, x, node.dtype)
    square = lambda: p.emit("mul", [x, x], x.dtype, x.shape)
    if exponent == 1:
        return x
    if exponent == 2:
        return square()
    if exponent == 3:
        return p.emit("mul", [square(), x], x.dtype, x.shape)
    if exponent == 0.5:
        return p.emit("sqrt", [x], x.dtype, x.shape)
    return p.emit("pow", [x, exponent], x.dtype, x.shape)


def scalar_power(p, node, base, x):
    return apply(p, "pow", node.dtype, node.shape, base, x)


def reciprocal(p, node, x):
    return apply(p, "div", node.dtype, node.shape, 1, x)


def relu(p, node, x):
    return apply(p, "max", node.dtype, node.shape, x, 0)


def where(p, node, condition, a, b):
    operands = [cast(p, condition, "bool")] + [as_dtype(p, o, node.dtype) for o in (a, b)]
    return p.emit("select", operands, node.dtype, node.shape)


def fma(p, node, a, b, c):
    if compute_type(node.dtype) != node.dtype:
        raise Extern("fma in 16 bits")
    return apply(p, "fma", node.dtype, node.shape, a, b, c)


def convert(p, node, x, dtype):
    return cast(p, x, dtype_of(dtype))


def constant(p, node, value):
    return p.emit("const", [round_to(value, node.dtype) if is_float(node.dtype) else value],
                  node.dtype, node.shape)


def full(p, node, shape, value, **options):
    return constant(p, node, value)


def scalar_tensor(p, node, value, **options):
    return constant(p, node, value)


def iota(p, node, length, start=0, step=1, **options):
    x = p.emit("iota", [], node.dtype, [length], "axis=0")
    if step != 1:
        x = p.emit("mul", [x, step], node.dtype, [length])
    return p.emit("add", [x, start], node.dtype, [length]) if start else x


def rand(p, node, shape, **options):
    if not p.makes_random:
        raise Extern("random numbers")
    seed, stream = p.next_stream()
    return p.emit("uniform", [seed], node.dtype, node.shape, f"stream={stream}")


HANDLERS = {
    "aten.add.Tensor": binary("add"),
    "aten.sub.Tensor": binary("sub"),
    "aten.mul.Tensor": binary("mul"),
    "aten.mul.Scalar": binary("mul"),
    "aten.div.Tensor": divide,
    "aten.div.Scalar": divide,
    "aten.bitwise_and.Tensor": binary("and"),
    "aten.pow.Tensor_Scalar": power,
    "aten.pow.Scalar": scalar_power,
    "aten.eq.Scalar": compare("eq"),
    "aten.eq.Tensor": compare("eq"),
    "aten.ne.Scalar": compare("ne"),
    "aten.le.Scalar": compare("le"),
    "aten.le.Tensor": compare("le"),
    "aten.ge.Scalar": compare("ge"),
    "aten.gt.Scalar": compare("gt"),
    "aten.where.self": where,
    "aten.relu.default": relu,
    "aten.reciprocal.default": reciprocal,
    "prims.fma.default": fma,
    "prims.convert_element_type.default": convert,
    "aten.full.default": full,
    "aten.scalar_tensor.default": scalar_tensor,
    "prims.iota.default": iota,
    "aten.rand.default": rand,
    **{f"aten.{name}.default": unary(name)
       for name in ("neg", "exp", "log", "log1p", "sin", "cos", "tanh", "erf", "sqrt", "rsqrt")},
}
