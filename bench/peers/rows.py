"""Rows of bench/suite as peers see them: the arguments of each program, and the numbers
that fuse-bench fills them with."""
import dataclasses
import json
import math
import pathlib
import re

import numpy

SUITE = pathlib.Path(__file__).resolve().parents[1] / "suite" / "suite.json"
USUAL_LIMIT = 100  # of integers, where a row says nothing else
MOST_DRAWN = 1 << 22  # elements of an input; larger ones repeat them


@dataclasses.dataclass
class Input:
    name: str
    dtype: str  # as in programs: "bf16"
    shape: list
    is_scalar: bool
    limit: int  # integers are below it

    def drawn_shape(self):
        return self.shape if math.prod(self.shape) <= MOST_DRAWN else [MOST_DRAWN]


@dataclasses.dataclass
class Row:
    name: str
    program: str  # the stem of its file
    sizes: dict
    check: dict  # sizes that are compared with f64
    repeats: bool  # inputs of the large instance repeat those of the small one
    limits: object
    signature: str
    path: pathlib.Path
    grad: list  # names of inputs to differentiate by

    def inputs(self, sizes):
        parameters = re.findall(r"%(\w+): (\w+)(\[[^\]]*\])?( scalar)?", self.signature)
        return [Input(name, dtype, self.extents(shape, sizes), bool(scalar), self.limit(name, sizes))
                for name, dtype, shape, scalar in parameters]

    @staticmethod
    def extents(shape, sizes):
        words = [w.strip() for w in shape.strip("[]").split(",") if w.strip()]
        return [sizes[w] if w in sizes else int(w) for w in words]

    def limit(self, name, sizes):
        limit = self.limits.get(name, USUAL_LIMIT) if isinstance(self.limits, dict) else self.limits
        return sizes[limit] if isinstance(limit, str) else limit


def signature_of(text):
    """The parameters of a program."""
    return re.search(r"graph @\w+\((.*?)\)\s*\{", text, re.S).group(1)


def read_row(entry, folder):
    text = (folder / entry["file"]).read_text()
    sizes = entry.get("sizes", {})
    return Row(entry["name"], pathlib.Path(entry["file"]).stem, sizes,
               {**sizes, **entry.get("check", {})}, entry.get("repeats", False),
               entry.get("index_limit", USUAL_LIMIT),
               signature_of(text), folder / entry["file"], entry.get("grad", []))


def read_rows(filters=(), suite=SUITE):
    """Rows whose names contain one of the filters; all without."""
    rows = [read_row(entry, suite.parent) for entry in json.loads(suite.read_text())]
    return [r for r in rows if not filters or any(f in r.name for f in filters)]


class Mersenne:
    """std::mt19937_64 in whole blocks, as numbers in [0, 1)."""
    WORDS, MIDDLE = 312, 156

    def __init__(self, seed):
        state = [seed]
        for i in range(1, self.WORDS):
            word = 6364136223846793005 * (state[-1] ^ (state[-1] >> 62)) + i
            state.append(word & (2**64 - 1))
        self.state = numpy.array(state, numpy.uint64)
        self.drawn = numpy.empty(0)

    @staticmethod
    def twist(words, following, far):
        u = numpy.uint64
        x = (words & u(0xFFFFFFFF80000000)) | (following & u(0x7FFFFFFF))
        return far ^ (x >> u(1)) ^ numpy.where(x & u(1), u(0xB5026F5AA96619E9), u(0))

    def next_block(self):
        old, n, m = self.state, self.WORDS, self.MIDDLE
        first = self.twist(old[:m], old[1:m + 1], old[m:])
        second = self.twist(old[m:n - 1], old[m + 1:], first[:m - 1])
        last = self.twist(old[n - 1:], first[:1], first[m - 1:])
        self.state = numpy.concatenate([first, second, last])
        return self.tempered()

    def tempered(self):
        u, x = numpy.uint64, self.state
        x = x ^ ((x >> u(29)) & u(0x5555555555555555))
        x = x ^ ((x << u(17)) & u(0x71D67FFFEDA60000))
        x = x ^ ((x << u(37)) & u(0xFFF7EEE000000000))
        return (x ^ (x >> u(43))) >> u(11)

    def first(self, count):
        """The first numbers of the sequence, which are kept."""
        missing = count - len(self.drawn)
        if missing > 0:
            blocks = [self.next_block() for _ in range(-(-missing // self.WORDS))]
            self.drawn = numpy.concatenate([self.drawn, numpy.concatenate(blocks) * 2.0**-53])
        return self.drawn[:count]


NUMBERS = Mersenne(20)


def draw(inputs):
    """What fuse-bench draws for the inputs: floats in f64, not rounded to their dtype yet."""
    counts = [math.prod(i.drawn_shape()) for i in inputs]
    unit, start, values = NUMBERS.first(sum(counts)), 0, []
    for given, count in zip(inputs, counts):
        own, start = unit[start:start + count], start + count
        is_float = given.dtype.startswith(("f", "bf"))
        numbers = 4 * own - 2 if is_float else (own * given.limit).astype(numpy.int64)
        values.append(numbers.reshape(given.drawn_shape()))
    return values
