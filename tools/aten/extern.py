"""Ops that someone else runs: extern, with what the call needs besides tensors in the name.

Matrix products read a transposed matrix as fast as a plain one, so they get its source: the name
says so by "_^T" in its place, as in "aten.mm.default(_, _^T)".
"""
import json

from .program import Value

LIBRARY = "a kernel of a library"
REASONS = {
    "aten.mm.default": LIBRARY,
    "aten.bmm.default": LIBRARY,
    "aten.addmm.default": LIBRARY,
    "aten.convolution.default": LIBRARY,
    "aten.convolution_backward.default": LIBRARY,
    "aten.avg_pool2d.default": LIBRARY,
    "aten.avg_pool2d_backward.default": LIBRARY,
    "prims._low_memory_max_pool_with_offsets.default": LIBRARY,
    "prims._low_memory_max_pool_offsets_to_indices.default": LIBRARY,
    "aten.max_pool2d_with_indices_backward.default": LIBRARY,
    "aten.rand.default": "random numbers",
    "aten.index_put.default": "a scatter with repeated positions",
}


PRODUCTS = ("aten.mm.default", "aten.bmm.default", "aten.addmm.default")


class Extern(Exception):
    """Raised by a handler for a form of its op that it does not translate; says why."""


def tensors_of(arguments):
    for a in arguments:
        if isinstance(a, Transposed):
            yield a.value
        elif isinstance(a, Value):
            yield a
        elif isinstance(a, list):
            yield from tensors_of(a)


def swaps_matrix(x):
    """Whether a value is a transpose of the last two axes alone."""
    if not isinstance(x, Value) or x.transpose_of is None:
        return False
    rank = x.rank()
    return x.transpose_of[1] == [*range(rank - 2), rank - 1, rank - 2]


def take_transposed(program, x):
    """A matrix as the product reads it."""
    if not swaps_matrix(x):
        return x
    program.folded.append(x)
    return Transposed(x.transpose_of[0])


class Transposed:
    """An operand that the extern op transposes itself."""

    def __init__(self, value):
        self.value = value


def other_arguments(arguments):
    """Arguments that are no tensors, as text; a tensor's place is marked by '_'."""
    def plain(a):
        if isinstance(a, Transposed):
            return "_^T"
        if isinstance(a, Value):
            return "_"
        return [plain(x) for x in a] if isinstance(a, list) else a
    shown = [plain(a) for a in arguments]
    return "" if all(a == "_" for a in shown) else json.dumps(shown)[1:-1].replace('"', "")


def make_extern(program, node, reason):
    """All results that are tensors, at their recorded positions."""
    key = (node.op, reason)
    program.extern[key] = program.extern.get(key, 0) + 1
    args = node.args
    if node.op in PRODUCTS:
        args = [take_transposed(program, a) for a in args]
    extra = other_arguments(args)
    name = f"{node.op}({extra})" if extra else node.op
    positions = [i for i in range(len(node.outs)) if node.out_type(i)]
    types = [node.out_type(i) for i in positions]
    made = program.emit_extern(name, tensors_of(args), types)
    if len(node.outs) == 1:
        return made[0]
    results = [None] * len(node.outs)
    for position, value in zip(positions, made):
        results[position] = value
    return results
