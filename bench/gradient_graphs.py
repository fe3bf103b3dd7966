#!/usr/bin/env python3
"""Writes graphs whose forward and backward are measured, and the lists of rows for fuse-bench.

    bench/gradient_graphs.py                     into bench/suite/generated/: chains.json, random.json
    fuse-bench --suite=bench/suite/generated/random.json

Chains f(x) * w, of which the derivative by w reads f(x): up to some length it is computed again, from
there on stored. Random graphs of large values: functions, sums and products of them, rows of them
reduced, what is broadcast along rows and columns.
"""
import argparse
import json
import pathlib
import random

CHECKED_ROWS = 16


class Text:
    """The statements of a graph; each returns the name of its value."""

    def __init__(self, name, parameters):
        self.name, self.parameters, self.lines = name, parameters, []

    def add(self, statement):
        self.lines.append(f"  %{len(self.lines)} = {statement}")
        return f"%{len(self.lines) - 1}"

    def graph(self, outputs):
        returned = ", ".join(f"{value} as {name}" for name, value in outputs.items())
        head = f"graph @{self.name}({', '.join(f'{n}: {t}' for n, t in self.parameters.items())}) {{"
        return "\n".join([head, *self.lines, f"  return {returned}", "}", ""])


# --- Chains ----------------------------------------------------------------------------------------

# Functions in turn, the dtype, and lengths around where an H200 is predicted to store.
CHAINS = [("sin exp", "f32", range(1, 9)), ("exp sigmoid", "f32", range(5, 14)),
          ("tanh", "f32", range(3, 11)), ("tanh", "bf16", range(1, 7)),
          ("sin exp", "f64", range(1, 6)), ("sqrt", "f64", range(1, 6))]
LONG = 40


def chain(functions, dtype, length):
    matrix = f"{dtype}[R, C]"
    text = Text("chain", {"%x": matrix, "%w": matrix})
    value = text.add("abs %x") if "sqrt" in functions else "%x"
    for i in range(length):
        value = text.add(f"{functions[i % len(functions)]} {value}")
    return text.graph({"y": text.add(f"mul {value}, %w")})


def chains():
    """(name, file, text, sizes, inputs to differentiate by, whether rows repeat)"""
    for functions, dtype, lengths in CHAINS:
        for length in [*lengths, LONG]:
            stem = f"chain_{functions.replace(' ', '_')}_{dtype}_{length}"
            sizes = {"R": 8192, "C": 4096 if dtype == "f64" else 8192}
            yield (f"chain {functions} {dtype} x{length}", stem, chain(functions.split(), dtype, length),
                   sizes, ["w"], True)


# --- Random graphs ---------------------------------------------------------------------------------

SIZES = {"R": 8192, "C": 4096}
# The largest magnitude of a result, by that of the operand; nothing: not of so large a value.
FUNCTIONS = {"tanh": lambda m: 1, "sigmoid": lambda m: 1, "sin": lambda m: 1, "cos": lambda m: 1,
             "atan": lambda m: 1.6, "erf": lambda m: 1, "exp": lambda m: 2.72 ** m if m <= 4 else None,
             "gelu": lambda m: m, "silu": lambda m: m}
PAIRS = {"add": lambda a, b: a + b, "sub": lambda a, b: a + b, "mul": lambda a, b: a * b,
         "max": max, "min": max}
ROWS = ["mean", "max", "softmax", "rms_norm", "layer_norm"]
MOST = 1000.0


class RandomGraph:
    """Values in f32 or bf16, bounded, so that neither they nor their derivatives overflow."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.dtype = self.draw.choice(["f32", "bf16"])
        self.has_column = self.draw.random() < 0.25
        self.parameters = {f"%{n}": f"{self.dtype}[R, C]" for n in "xyz"[:self.draw.randint(1, 3)]}
        if self.has_column:
            self.parameters["%v"] = f"{self.dtype}[C]"
        self.text = Text(f"random{seed}", self.parameters)
        self.largest = dict.fromkeys(self.parameters, 2.0)  # magnitude, by value
        self.unread = set(self.parameters)
        self.thin = {"%v"}  # values of fewer elements than a matrix
        for _ in range(self.draw.randint(5, 14)):
            self.step()

    def add(self, statement, operands, largest):
        value = self.text.add(statement)
        self.largest[value] = largest
        self.unread -= set(operands)
        self.unread.add(value)
        return value

    def pick(self, values=None):
        """One of the last values, mostly."""
        values = [v for v in self.largest if values is None or v in values]
        recent = [v for v in values if v in self.unread]
        return self.draw.choice(recent if recent and self.draw.random() < 0.7 else values)

    def matrix(self):
        return self.pick([v for v in self.largest if v not in self.thin])

    def step(self):
        kind = self.draw.random()
        if kind < 0.45:
            self.add_function()
        elif kind < 0.85:
            self.add_pair()
        else:
            self.add_row()

    def add_function(self):
        operand = self.matrix()
        name = self.draw.choice([n for n, f in FUNCTIONS.items() if f(self.largest[operand])])
        self.add(f"{name} {operand}", [operand], FUNCTIONS[name](self.largest[operand]))

    def add_pair(self):
        a, b = self.matrix(), self.pick()
        name = self.draw.choice(list(PAIRS))
        largest = PAIRS[name](self.largest[a], self.largest[b])
        if a != b and largest <= MOST:
            self.add(f"{name} {a}, {b}", [a, b], largest)

    def add_row(self):
        """Something of a row, or a row set in relation to itself."""
        name, operand = self.draw.choice(ROWS), self.matrix()
        largest = {"softmax": 1, "rms_norm": 64, "layer_norm": 64}.get(name, self.largest[operand])
        if largest > MOST:
            return
        kept = name in ("mean", "max")
        words = "axes=[1] keep" if kept else "axis=1"
        value = self.add(f"{name} {operand} {words}", [operand], largest)
        if kept:
            self.thin.add(value)
            self.add(f"sub {operand}, {value}", [operand, value], 2 * largest)

    def outputs(self):
        """All that nothing reads, as one or two values."""
        unread = sorted(v for v in self.unread if v not in self.thin or v == "%v")
        kept = [unread.pop()] if len(unread) > 2 and self.draw.random() < 0.5 else []
        total = unread[0] if unread[0] not in self.thin else self.text.add(f"mul {self.matrix()}, %v")
        for value in unread[1:]:
            total = self.text.add(f"add {total}, {value}")
        return {name: value for name, value in zip("pq", [total, *kept])}


def random_graphs(count):
    for seed in range(1, count + 1):
        graph = RandomGraph(seed)
        text = graph.text.graph(graph.outputs())
        inputs = [p[1:] for p in graph.parameters]
        yield f"random {seed}", f"random_{seed}", text, SIZES, inputs, not graph.has_column


def write(folder, name, graphs):
    rows = []
    for title, stem, text, sizes, inputs, repeats in graphs:
        (folder / f"{stem}.fuse").write_text(text)
        rows.append({"name": title, "file": f"{stem}.fuse", "grad": inputs, "sizes": sizes,
                     "check": {"R": CHECKED_ROWS}, **({"repeats": True} if repeats else {})})
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    (folder / f"{name}.json").write_text(f"[\n{lines}\n]\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument("-o", default=here / "suite" / "generated", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--random", default=50, type=int, metavar="N", help="random graphs")
    options = parser.parse_args()
    options.o.mkdir(parents=True, exist_ok=True)
    write(options.o, "chains", chains())
    write(options.o, "random", random_graphs(options.random))


if __name__ == "__main__":
    main()
