"""Ops that someone else runs: extern, with what the call needs besides tensors in the name.

Matrix products read a transposed matrix as fast as a plain one, so they get its source: the name
says so by "_^T" in its place, as in "aten.mm.default(_, _^T)". Others get and give tensors as they
were recorded to lie: "_^0231" has its axes in this order, channels last.
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


def inverse(axes):
    return sorted(range(len(axes)), key=lambda a: axes[a])


def take_transposed(program, x):
    """A matrix as the product reads it."""
    if not swaps_matrix(x):
        return x
    source, axes = x.transpose_of
    program.moved.append((source, x, inverse(axes)))
    return Transposed(source, "T")


def take_as_it_lies(program, node, i):
    """An argument with its axes as they lie in memory."""
    x = node.args[i]
    if not isinstance(x, Value):
        return x
    axes = node.argument_axes(i)
    if axes == sorted(axes):
        return x
    source = program.transpose(x, axes)
    program.moved.append((source, x, axes))
    return Transposed(source, digits(axes))


def digits(axes):
    return "".join(map(str, axes))


class Transposed:
    """An operand that the extern op reads with its axes in another order."""

    def __init__(self, value, axes):
        self.value, self.axes = value, axes


def other_arguments(arguments):
    """Arguments that are no tensors, as text; a tensor's place is marked by '_'."""
    def plain(a):
        if isinstance(a, Transposed):
            return f"_^{a.axes}"
        if isinstance(a, Value):
            return "_"
        return [plain(x) for x in a] if isinstance(a, list) else a
    shown = [plain(a) for a in arguments]
    return "" if all(a == "_" for a in shown) else json.dumps(shown)[1:-1].replace('"', "")


def shown_results(axes):
    """Text for results that do not lie in row-major order."""
    if all(a == sorted(a) for a in axes):
        return ""
    return " -> " + ", ".join("_" if a == sorted(a) else f"_^{digits(a)}" for a in axes)


def make_extern(program, node, reason):
    """All results that are tensors, at their recorded positions."""
    key = (node.op, reason)
    program.extern[key] = program.extern.get(key, 0) + 1
    if node.op in PRODUCTS:
        args = [take_transposed(program, a) for a in node.args]
    else:
        args = [take_as_it_lies(program, node, i) for i in range(len(node.args))]
    extra = other_arguments(args)
    positions = [i for i in range(len(node.outs)) if node.out_type(i)]
    axes = [node.result_axes(i) for i in positions]
    name = (f"{node.op}({extra})" if extra else node.op) + shown_results(axes)
    types = [(dtype, [shape[a] for a in order])
             for (dtype, shape), order in zip(map(node.out_type, positions), axes)]
    results = [None] * len(node.outs)
    for position, value, order in zip(positions, program.emit_extern(name, tensors_of(args), types), axes):
        results[position] = program.transpose(value, inverse(order))
        if results[position] is not value:
            program.moved.append((value, results[position], order))
    return results[0] if len(results) == 1 else results
