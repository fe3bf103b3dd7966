#!/usr/bin/python3
"""Every recorded graph imports, alone and joined with its backward graph; what the importer writes
parses, verifies after every pass, prints, and reads back as it was printed."""
import argparse
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))

import aten2fuse  # noqa: E402
from aten import extern, views  # noqa: E402
from aten.joint import joint_graphs  # noqa: E402
from aten.program import literal, round_to  # noqa: E402
from aten.strides import axes_in_memory  # noqa: E402
from aten.translate import translate  # noqa: E402

FUSE_OPT = None


def recorded_graphs():
    graphs = aten2fuse.load(str(HERE / "small.jsonl.gz"))
    more = os.environ.get("FUSE_MODEL_GRAPHS")
    return graphs + (aten2fuse.load(more) if more else [])


def fuse_opt(text, *options):
    run = subprocess.run([FUSE_OPT, "-", *options], input=text, capture_output=True, text=True,
                         check=False)
    if run.returncode:
        raise AssertionError(run.stderr.strip() or f"exit code {run.returncode}")
    return run.stdout


class Import(unittest.TestCase):
    graphs = recorded_graphs()

    def check_program(self, graph):
        program = translate(graph)
        printed = fuse_opt(program.text())
        self.assertEqual(fuse_opt(printed), printed)
        fuse_opt(printed, "--pass=eliminate_dead,fold_constants,simplify,widen,simplify")
        return program

    def test_every_graph(self):
        for graph in self.graphs:
            with self.subTest(graph["id"]):
                program = self.check_program(graph)
                reasons = {reason for _, reason in program.extern}
                self.assertLessEqual(reasons, set(extern.REASONS.values()))

    def test_forward_and_backward_as_one(self):
        for model in sorted({g["model"] for g in self.graphs}):
            for graph in joint_graphs(self.graphs, model):
                with self.subTest(graph["id"]):
                    program = self.check_program(graph)
                    names = [v.name for v in program.inputs]
                    self.assertTrue(any(n.startswith("tangents") for n in names))
                    self.assertFalse(any(n.startswith("getitem") for n in names))


    def test_random_numbers_are_made_of_a_seed(self):
        graph = next(g for g in self.graphs if any(n["op"] == "aten.rand.default"
                                                   for n in g["nodes"]))
        count = sum(n["op"] == "aten.rand.default" for n in graph["nodes"])
        program = translate(graph)
        self.assertEqual([v.name for v in program.inputs].count("seed"), 1)
        self.assertNotIn("aten.rand", program.text())
        for stream in range(count):
            self.assertIn(f"uniform %seed stream={stream} :", program.text())
        self.assertEqual(translate(graph, makes_random=False).text().count('extern "aten.rand'), count)


def recorded_node(name, op, args, *outs, **kwargs):
    """A node as recordings have it; `outs` are (dtype, shape)."""
    types = [{"dtype": d, "shape": s} for d, s in outs]
    return {"name": name, "op": op, "args": args, "kwargs": kwargs,
            "out": types if len(types) > 1 else types[0] if types else None}


def graph_of(shape, dtype, *nodes):
    """A graph of one input x whose outputs are the last result."""
    nodes = [recorded_node("x", "placeholder", [], (dtype, shape)), *nodes]
    output = recorded_node("output", "output", [[{"ref": nodes[-1]["name"]}]])
    return {"model": "m", "kind": "fwd", "id": "m.fwd", "nodes": [*nodes, output]}


class Scans(unittest.TestCase):
    X = {"ref": "x"}

    def texts(self, dtype, *nodes):
        program = translate(graph_of([4, 6], dtype, *nodes))
        printed = fuse_opt(program.text())
        self.assertEqual(fuse_opt(printed), printed)
        return printed, [reason for _, reason in program.extern]

    def test_running_sums_and_products(self):
        text, _ = self.texts("int32", recorded_node("y", "aten.cumsum.default", [self.X, -1],
                                                    ("int64", [4, 6])))
        self.assertIn("cast %x : i64[4, 6]", text)
        self.assertIn("cumsum %y.1 axis=1 : i64[4, 6]", text)
        text, _ = self.texts("bfloat16", recorded_node("y", "aten.cumprod.default", [self.X, 0],
                                                       ("float32", [4, 6]), dtype={"str": "float32"}))
        self.assertIn("cumprod %y.1 axis=0 : f32[4, 6]", text)
        text, _ = self.texts("float32", recorded_node("y", "aten.logcumsumexp.default",
                                                      [self.X, 1], ("float32", [4, 6])))
        self.assertIn("logcumsumexp %x axis=1 : f32[4, 6]", text)

    def test_running_maxima(self):
        both = recorded_node("m", "aten.cummax.default", [self.X, 1], ("float32", [4, 6]),
                             ("int64", [4, 6]))
        def item(i, dtype):
            return recorded_node("y", "<built-in function getitem>", [{"ref": "m"}, i],
                                 (dtype, [4, 6]))
        text, reasons = self.texts("float32", both, item(0, "float32"))
        self.assertIn("cummax %x axis=1 : f32[4, 6]", text)
        self.assertEqual(reasons, [])
        text, reasons = self.texts("float32", both, item(1, "int64"))
        self.assertEqual(reasons, ["a position of a running maximum"])


class Strides(unittest.TestCase):
    def test_order_in_memory(self):
        self.assertEqual(axes_in_memory([2, 3, 4, 5], [60, 20, 5, 1]), [0, 1, 2, 3])
        self.assertEqual(axes_in_memory([2, 3, 4, 5], [60, 1, 15, 3]), [0, 2, 3, 1])
        self.assertEqual(axes_in_memory([6, 1, 3], [3, 3, 1]), [0, 1, 2])
        self.assertEqual(axes_in_memory([2, 3], [1, 5]), [0, 1])  # with gaps

    def test_library_reads_and_writes_as_recorded(self):
        graph = next(g for g in recorded_graphs() if g["id"].startswith("convnext_small.fwd"))
        text = translate(graph).text()
        self.assertIn("_^0231, _, _, [1, 1], [3, 3]", text)
        self.assertIn("-> _^0231", text)


class Parts(unittest.TestCase):
    def test_ranges_follow_python(self):
        for extent in (0, 5):
            for start in (None, -9, -2, 0, 3, 9):
                for stop in (None, -9, -1, 0, 4, 2**63 - 1):
                    got = range(*views.clamp_range(extent, start, stop))
                    self.assertEqual(list(got), list(range(extent))[start:stop])

    def test_bfloat16_rounds_to_even(self):
        self.assertEqual(round_to(1 + 2**-8, "bf16"), 1.0)
        self.assertEqual(round_to(1 + 3 * 2**-8, "bf16"), 1 + 2**-6)
        self.assertEqual(round_to(0.1, "bf16"), 0.10009765625)

    def test_literals(self):
        self.assertEqual(literal(True, "bool"), "true")
        self.assertEqual(literal(-100.0, "i64"), "-100")
        self.assertEqual(literal(float("-inf"), "bf16"), "-inf")


def main():
    global FUSE_OPT
    parser = argparse.ArgumentParser()
    parser.add_argument("--fuse-opt", required=True)
    options, rest = parser.parse_known_args()
    FUSE_OPT = options.fuse_opt
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
