#!/usr/bin/python3
"""Turns graphs recorded from PyTorch (one JSON object a line) into .fuse programs.

    tools/aten2fuse.py graphs.jsonl.gz -o programs            every graph, one file each
    tools/aten2fuse.py graphs.jsonl.gz --graph ID             one graph, to standard output
    tools/aten2fuse.py graphs.jsonl.gz --joint MODEL -o dir   forward and backward as one graph
    tools/aten2fuse.py graphs.jsonl.gz --report               what became extern, and why
    tools/aten2fuse.py graphs.jsonl.gz --extern-random -o dir random numbers from outside, too

Matrix products, convolutions, attention and pooling become extern ops, and so does what has no
meaning as a graph of primitives yet: the report lists both. Values keep the names of their nodes.
Random numbers are made of an input %seed, each node's of a stream of its own.
"""
import argparse
import collections
import gzip
import json
import pathlib
import sys

from aten.joint import joint_graphs
from aten.translate import ImportFailure, translate


def load(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", help="recorded graphs, .jsonl or .jsonl.gz")
    parser.add_argument("-o", "--out", type=pathlib.Path, help="folder for the programs")
    parser.add_argument("--graph", action="append", default=[], metavar="ID",
                        help="only this graph; may be repeated")
    parser.add_argument("--joint", action="append", default=[], metavar="MODEL",
                        help="unite the model's forward and backward graphs; may be repeated")
    parser.add_argument("--extern-random", action="store_true",
                        help="an extern op gives random numbers")
    parser.add_argument("--report", action="store_true", help="list extern ops with reasons")
    parser.add_argument("--list", action="store_true", help="list the graphs and stop")
    return parser.parse_args()


def fail(message):
    print(f"aten2fuse: error: {message}", file=sys.stderr)
    sys.exit(1)


def choose(graphs, options):
    if options.joint:
        chosen = []
        for model in options.joint:
            pairs = joint_graphs(graphs, model)
            if not pairs:
                fail(f"no model '{model}' with forward and backward graphs; --list shows them")
            chosen += pairs
        return chosen
    known = {g["id"]: g for g in graphs}
    for graph_id in options.graph:
        if graph_id not in known:
            fail(f"no graph '{graph_id}'; --list shows them")
    return [known[i] for i in options.graph] or graphs


def print_report(extern):
    for (op, reason), count in sorted(extern.items(), key=lambda item: (-item[1], item[0])):
        print(f"{count:6}  {op:50} {reason}")


def main():
    options = parse_arguments()
    try:
        graphs = load(options.graphs)
    except (OSError, ValueError) as error:
        fail(f"{options.graphs}: {error}")
    if options.list:
        for g in graphs:
            print(f"{g['id']:28} {g['kind']}  {len(g['nodes'])} nodes")
        return
    extern = collections.Counter()
    for graph in choose(graphs, options):
        try:
            program = translate(graph, makes_random=not options.extern_random)
        except ImportFailure as error:
            fail(f"{graph['id']}: {error}")
        extern.update(program.extern)
        if options.out:
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / f"{graph['id']}.fuse").write_text(program.text())
        elif not options.report:
            print(program.text(), end="")
    if options.report:
        print_report(extern)


if __name__ == "__main__":
    main()
