"""Node by node from a recorded graph to a program; the handlers of ops are in the other modules."""
from . import extern, indexing, pointwise, reductions, scans, views
from .extern import Extern
from .program import Program, Value, dtype_of
from .strides import axes_in_memory

HANDLERS = {**pointwise.HANDLERS, **views.HANDLERS, **reductions.HANDLERS, **scans.HANDLERS,
            **indexing.HANDLERS}


class ImportFailure(Exception):
    """A node that does not translate: a fault of the importer or of the recording."""


class Node:
    """A recorded node, its arguments resolved to values, numbers, strings and lists of them."""

    def __init__(self, recorded, values, records):
        self.name, self.op = recorded["name"], recorded["op"]
        self.recorded, self.records = recorded, records
        self.args = [self.resolve(a, values) for a in recorded["args"]]
        self.kwargs = {k: self.resolve(v, values) for k, v in recorded["kwargs"].items()}
        out = recorded.get("out")
        self.outs = out if isinstance(out, list) else [out]

    def resolve(self, argument, values):
        if isinstance(argument, list):
            return [self.resolve(a, values) for a in argument]
        if not isinstance(argument, dict):
            return argument
        if "ref" in argument:
            return values[argument["ref"]]
        return float(argument["float"]) if "float" in argument else argument["str"]

    def out_type(self, i=0):
        """(dtype, shape) of a result; None where it is no tensor."""
        out = self.outs[i]
        return (dtype_of(out["dtype"]), tuple(out["shape"])) if out and "shape" in out else None

    def stride_of(self, i):
        """Recorded strides of an argument."""
        return self.records[self.recorded["args"][i]["ref"]]["out"]["stride"]

    def argument_axes(self, i):
        """The axes of a tensor argument as it was recorded to lie."""
        return self.axes_of(self.records[self.recorded["args"][i]["ref"]].get("out"))

    def result_axes(self, i):
        """Likewise of a result. What the graph returns is the caller's, and row-major."""
        return self.axes_of(self.outs[i], is_returned=self.is_returned(i))

    @staticmethod
    def axes_of(out, is_returned=False):
        if not out or "stride" not in out or is_returned:
            return list(range(len(out["shape"]))) if out else []
        return axes_in_memory(out["shape"], out["stride"])

    def is_returned(self, i):
        names = {self.name} if len(self.outs) == 1 else {
            r["name"] for r in self.records.values()
            if r["op"] == "<built-in function getitem>" and r["args"] == [{"ref": self.name}, i]}
        return any(r["op"] == "output" and any(a and a["ref"] in names for a in r["args"][0])
                   for r in self.records.values())

    def is_used(self, i):
        """Whether a node takes result i."""
        return any(r["op"] == "<built-in function getitem>" and r["args"] == [{"ref": self.name}, i]
                   for r in self.records.values())

    @property
    def dtype(self):
        return self.out_type()[0]

    @property
    def shape(self):
        return self.out_type()[1]


def check(node, results):
    """Results must have the recorded types; a wrong handler shows here."""
    for i, value in enumerate(results):
        expected = node.out_type(i)
        if value is not None and expected and (value.dtype, value.shape) != expected:
            raise ImportFailure(f"{node.name} ({node.op}): made {value.type()}, recorded {expected}")


def run_handler(program, node):
    handler = HANDLERS.get(node.op)
    if handler is None:
        reason = extern.REASONS.get(node.op, "unknown to the importer")
        return extern.make_extern(program, node, reason)
    try:
        return handler(program, node, *node.args, **node.kwargs)
    except Extern as refusal:
        return extern.make_extern(program, node, str(refusal))


def translate_node(program, node):
    program.prefix, program.temporaries = node.name, 0
    result = run_handler(program, node)
    check(node, result if isinstance(result, list) else [result])
    if isinstance(result, Value) and not result.claimed:
        result.name, result.claimed = node.name, True
    return result


def constant_types(graph):
    """A stored constant has no type of its own: its one reader says it."""
    types = {}
    for n in graph["nodes"]:
        for a in n["args"]:
            if isinstance(a, dict) and "ref" in a and n.get("out") and "shape" in n["out"]:
                types.setdefault(a["ref"], n["out"])
    return types


def add_outputs(program, node, values):
    """Inputs handed back are the caller's already, and a value needs one name."""
    seen = set()
    for a in node["args"][0]:
        if a is None or a["ref"] in seen or values[a["ref"]] in program.inputs:
            continue
        seen.add(a["ref"])
        program.output(a["ref"], values[a["ref"]])


def translate(graph, makes_random=True):
    """The program of a recorded graph. Random numbers are made of an input %seed, or come from an
    extern op. Raises ImportFailure."""
    program = Program(graph["id"].replace(".", "_").replace("+", "_"))
    program.makes_random = makes_random
    constants = constant_types(graph)
    values, records = {}, {n["name"]: n for n in graph["nodes"]}
    for recorded in graph["nodes"]:
        name, op = recorded["name"], recorded["op"]
        if op in ("placeholder", "get_attr"):
            out = recorded.get("out") or constants[name]
            values[name] = program.input(name, dtype_of(out["dtype"]), out["shape"])
        elif op == "output":
            add_outputs(program, recorded, values)
        else:
            values[name] = translate_node(program, Node(recorded, values, records))
    return program
