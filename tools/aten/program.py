"""A .fuse program under construction: values, statements, and the text they make."""
import math

import numpy

DTYPES = {
    "bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
}
FLOATS = ("f16", "bf16", "f32", "f64")


def dtype_of(torch_name):
    """'torch.bfloat16' or 'bfloat16' -> 'bf16'."""
    return DTYPES[torch_name.removeprefix("torch.")]


def is_float(dtype):
    return dtype in FLOATS


def compute_type(dtype):
    """The type of literals and of arithmetic: f32 for 16-bit floats."""
    return "f32" if dtype in ("f16", "bf16") else dtype


def literal(value, dtype):
    """A number as text, exact in the compute type of the dtype."""
    if dtype == "bool":
        return "true" if value else "false"
    if not is_float(dtype):
        return str(int(value))
    value = float(value)
    if math.isnan(value) or math.isinf(value):
        return str(value)
    return repr(value)


def round_to(value, dtype):
    """The value of a 16-bit float nearest to a number, ties to even; others as they are."""
    if dtype == "f16":
        return float(numpy.float16(value))
    if dtype != "bf16" or not math.isfinite(value):
        return value
    bits = int(numpy.float32(value).view(numpy.uint32))
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return float(numpy.uint32(bits).view(numpy.float32))


class Value:
    """A tensor. Unclaimed values get the name of the first node whose result they are. A transpose
    knows its operand and its permutation."""

    transpose_of = None

    def __init__(self, name, dtype, shape, claimed=False):
        self.name, self.dtype, self.shape, self.claimed = name, dtype, tuple(shape), claimed

    def type(self):
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    def rank(self):
        return len(self.shape)


class Program:
    """Statements are kept unformatted until the end, because values are named late."""

    def __init__(self, name):
        self.name = name
        self.inputs, self.outputs, self.statements = [], [], []
        self.extern = {}  # (op, reason) -> count
        self.moved = []  # (value, recorded one, axes): the transpose of it that an extern op has
        self.prefix = ""  # node being translated
        self.temporaries = 0
        self.makes_random = True  # else an extern op gives random numbers
        self.seed, self.streams = None, 0

    def next_stream(self):
        """The seed, an input of its own, and the number of a stream that nobody has."""
        if self.seed is None:
            self.seed = self.input("seed", "u64", ())
        self.streams += 1
        return self.seed, self.streams - 1

    def input(self, name, dtype, shape):
        value = Value(name, dtype, shape, claimed=True)
        self.inputs.append(value)
        return value

    def fresh(self, dtype, shape):
        self.temporaries += 1
        return Value(f"{self.prefix}.{self.temporaries}", dtype, shape)

    def emit(self, op, operands, dtype, shape, attributes=""):
        """Adds a statement with one result. Operands are values, or numbers: literals of the
        operation's type."""
        result = self.fresh(dtype, shape)
        self.statements.append(([result], op, list(operands), attributes))
        return result

    def transpose(self, x, axes):
        """The axes in this order; a transpose of a transpose is one of its operand."""
        axes = list(axes)
        if x.transpose_of:
            x, first = x.transpose_of
            axes = [first[a] for a in axes]
        if axes == sorted(axes):
            return x
        result = self.emit("transpose", [x], x.dtype, [x.shape[a] for a in axes], f"perm={axes}")
        result.transpose_of = (x, axes)
        return result

    def emit_extern(self, name, operands, types):
        results = [self.fresh(dtype, shape) for dtype, shape in types]
        self.statements.append((results, f'extern "{name}"', list(operands), None))
        return results

    def output(self, name, value):
        self.outputs.append((name, value))

    def text(self):
        inputs = ", ".join(f"%{v.name}: {v.type()}" for v in self.inputs)
        lines = [f"graph @{self.name}({inputs}) {{"]
        lines += ["  " + self.statement_text(*s) for s in self.statements]
        if self.outputs:
            lines.append("  return " + ", ".join(f"%{v.name} as {n}" for n, v in self.outputs))
        return "\n".join(lines + ["}"]) + "\n"

    @staticmethod
    def statement_text(results, op, operands, attributes):
        names = ", ".join("%" + r.name for r in results)
        types = ", ".join(r.type() for r in results)
        values = [o for o in operands if isinstance(o, Value)]
        dtype = compute_type(values[-1].dtype if values else results[0].dtype)
        listed = ", ".join("%" + o.name if isinstance(o, Value) else literal(o, dtype)
                           for o in operands)
        if attributes is None:  # extern
            return f"{names} = {op}({listed}) : {types}"
        middle = " ".join(part for part in (op, listed, attributes) if part)
        return f"{names} = {middle} : {types}"
