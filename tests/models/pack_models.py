#!/usr/bin/python3
"""Writes recorded models in the form that run_model reads: ID.fuse, the program, and ID.values, what
was recorded of it.

Every extern op gets a name of its own, "op@result", because a launch knows it by name alone. Values
are "name bytes\n" and the bytes, one after another. Random numbers were not recorded: they are
rebuilt from their recorded comparison with a threshold.
"""
import argparse
import pathlib
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))

import aten2fuse  # noqa: E402
from aten.program import Value  # noqa: E402
from aten.translate import translate  # noqa: E402


def name_externs(program):
    for i, (results, op, operands, attributes) in enumerate(program.statements):
        if op.startswith("extern "):
            op = op[:-1] + f'@{results[0].name}"'
            program.statements[i] = (results, op, operands, attributes)


def random_numbers(program, recorded):
    """1 where the recorded comparison "rand > p" says yes, else 0."""
    sources = {results[0] for results, op, *_ in program.statements
               if op.startswith('extern "aten.rand')}
    for results, op, operands, _ in program.statements:
        if op != "gt" or results[0].name not in recorded:
            continue
        source = operands[0]
        if isinstance(source, Value) and source in sources:
            yield source.name, to_dtype(recorded[results[0].name], source.dtype)


def to_dtype(mask, dtype):
    one = {"f32": numpy.float32(1), "bf16": numpy.int16(0x3F80), "f16": numpy.float16(1)}[dtype]
    return mask.astype(one.dtype) * one


def transposed(program, recorded):
    """What extern ops read and give with its axes in another order, from what was recorded."""
    for value, original, axes in program.moved:
        if original.name in recorded and value.name not in recorded:
            yield value.name, recorded[original.name].transpose(axes)


def pack(graph, recorded, folder):
    program = translate(graph, makes_random=False)
    values = {**recorded, **dict(random_numbers(program, recorded)),
              **dict(transposed(program, recorded))}
    name_externs(program)
    (folder / f"{graph['id']}.fuse").write_text(program.text())
    with open(folder / f"{graph['id']}.values", "wb") as out:
        for name, value in values.items():
            data = numpy.ascontiguousarray(value).tobytes()
            out.write(f"{name} {len(data)}\n".encode() + data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", help="recorded graphs, .jsonl or .jsonl.gz")
    parser.add_argument("values", type=pathlib.Path, help="folder with their values, ID.npz")
    parser.add_argument("out", type=pathlib.Path, help="folder to write to")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for graph in aten2fuse.load(options.graphs):
        values = options.values / f"{graph['id']}.npz"
        if values.exists():
            with numpy.load(values) as recorded:
                pack(graph, dict(recorded), options.out)


if __name__ == "__main__":
    main()
