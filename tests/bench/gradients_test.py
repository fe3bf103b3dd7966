#!/usr/bin/python3
"""Forward and backward as bench/ measures them: generated graphs, counters of the profiler, tables.

    tests/bench/gradients_test.py --fuse-bench build/release/bin/fuse-bench --fake-cuda libfake_cuda.so
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(BENCH), str(BENCH / "peers")]

import dram_counters  # noqa: E402
import gradient_graphs  # noqa: E402
import gradient_table  # noqa: E402

OPTIONS = None
# Runs the program as ncu would, and says of each kernel that the fake driver launched 100 bytes a pass.
NCU = """#!/usr/bin/python3
import json, subprocess, sys
words = sys.argv[1:]
log, program = words[words.index("--log-file") + 1], words.index("bin/fuse-bench")
subprocess.run(words[program:], check=True)
plans = next(w.removeprefix("--json=") for w in words if w.startswith("--json="))
launches = [(name, plan[part]["kernel_bytes"]) for row in json.load(open(plans))["rows"]
            for plan in row["plans"] for part in ("forward", "backward") for name in plan[part]["launches"]]
with open(log, "w") as out:
    print("==PROF== Connected", file=out)
    print('"ID","Kernel Name","dram__bytes_read.sum","dram__bytes_write.sum"', file=out)
    print('"","","byte","byte"', file=out)
    for i, (name, moved) in enumerate(launches):
        print(f'"{i}","{name}","{moved - 1000:,.0f}","1,000"', file=out)
"""


def run(*command, **environment):
    return subprocess.run([str(c) for c in command], env={**os.environ, **environment}, check=True,
                          capture_output=True, text=True).stdout


class GeneratedGraphs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        run(BENCH / "gradient_graphs.py", "-o", self.folder, "--random", 12)

    def rows(self, name):
        return json.loads((self.folder / f"{name}.json").read_text())

    def check_on_host(self, name, *rows):
        text = run(OPTIONS.fuse_bench, "--on=host", f"--suite={self.folder / name}.json", *rows)
        self.assertIn(f"{len(rows)} rows, 0 failed, 0 wrong", text)
        return text

    def test_they_are_the_same_every_time(self):
        first = {f.name: f.read_text() for f in self.folder.iterdir()}
        run(BENCH / "gradient_graphs.py", "-o", self.folder, "--random", 12)
        self.assertEqual(first, {f.name: f.read_text() for f in self.folder.iterdir()})
        self.assertEqual(len(self.rows("random")), 12)

    def test_random_graphs_give_what_the_evaluator_gives(self):
        self.check_on_host("random", "random 7", "random 8")

    def test_chains_flip(self):
        text = self.check_on_host("chains", "chain tanh bf16 x1", "chain tanh bf16 x6")
        self.assertRegex(text, r"x1: .*\n  > recompute")
        self.assertRegex(text, r"x6: .*\n  > store all")

    def test_values_stay_bounded(self):
        for seed in range(200):
            graph = gradient_graphs.RandomGraph(seed)
            self.assertLessEqual(max(graph.largest.values()), 2 * gradient_graphs.MOST)
            self.assertTrue(graph.outputs())

    def test_pytorch_is_told_every_operation(self):
        try:
            import fuse_text
        except ImportError as error:
            self.skipTest(str(error))
        for path in self.folder.glob("*.fuse"):
            with self.subTest(path.stem):
                self.assertTrue(callable(fuse_text.function_of(path.read_text())))


class Counters(unittest.TestCase):
    DOCUMENT = {"rows": [{"name": "r", "tensor_bytes": 100.0, "plans": [{
        "name": "store all", "forward": {"passes": 4, "launches": ["k0"]},
        "backward": {"passes": 5, "launches": ["k0", "k1"]}}]}, {"name": "failed", "error": "x"}]}

    def test_passes_of_each_program(self):
        launches = [("k0", 100.0, 290.0), ("k0(float*)", 300.0, 0.0), ("k1", 100.0, 99.0)]
        found = list(dram_counters.set_side_by_side(self.DOCUMENT, launches))
        self.assertEqual([(l["program"], l["counted"], l["measured"]) for l in found],
                         [("forward", 4, 3.9), ("backward", 5, 4.99)])
        self.assertIn("both            9      8.89", "\n".join(dram_counters.table_of(found)))

    def test_kernels_in_another_order_are_refused(self):
        with self.assertRaisesRegex(ValueError, "ncu counted k7 where k0 was launched"):
            list(dram_counters.set_side_by_side(self.DOCUMENT, [("k7", 1.0, 1.0)]))
        with self.assertRaisesRegex(ValueError, "ncu counted nothing: ==ERROR== no permission"):
            dram_counters.read_counters("==ERROR== no permission")

    def test_a_run_under_the_profiler(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "bin").mkdir()
            (folder / "bin" / "fuse-bench").symlink_to(OPTIONS.fuse_bench)
            (folder / "ncu").write_text(NCU)
            (folder / "ncu").chmod(0o755)
            row = {"name": "sigmoid3 small", "file": str(BENCH / "suite" / "sigmoid3_f32.fuse"),
                   "grad": ["x"], "sizes": {"R": 64, "C": 128}}
            (folder / "rows.json").write_text(json.dumps([row]))
            text = run(BENCH / "dram_counters.py", f"--suite={folder / 'rows.json'}", OUT=name, CARRY=name,
                       PATH=f"{name}:{os.environ['PATH']}", FUSE_LIBCUDA=OPTIONS.fake_cuda)
        self.assertRegex(text, r"store all +both +9 +9\.00")
        self.assertRegex(text, r"outputs again +both +8 +8\.00")
        self.assertRegex(text, r"recompute +both +5 +5\.00")


def plan(name, forward, backward, passes=(2, 3)):
    programs = {part: {"us": us, "fraction_of_copy": 0.5, "passes": n} for part, us, n in
                zip(("forward", "backward"), (forward, backward), passes)}
    return {"name": name, "kept_bytes": 4e6, "predicted_us": 11.0, "us": forward + backward, **programs}


def chain_row(length, chosen, store, again):
    plans = [plan("store all", store, 1.0), plan("recompute", again, 1.0)]
    us = (store if chosen == "store all" else again) + 1
    return {"name": f"chain tanh f32 x{length}", "chosen": chosen, "us": us, "plans": plans,
            "behind": us / (min(store, again) + 1) - 1}


class Table(unittest.TestCase):
    ROWS = [{"name": "a", "chosen": "recompute", "us": 10.0, "behind": 0.01,
             "plans": [plan("recompute", 4.0, 6.0), plan("store all", 5.0, 9.0)]}, {"name": "b", "error": "e"}]
    PEER = {"modes": {"compile": {"copy_bytes_per_second": 4e12, "rows": {
        "a": {"us": 12.0, "forward_us": 5.0, "backward_us": 7.0, "kept_bytes": 8e6}}}}}

    def text(self, **documents):
        with tempfile.TemporaryDirectory() as folder:
            for name, document in documents.items():
                pathlib.Path(folder, f"{name}.json").write_text(json.dumps(
                    {"copy_bytes_per_second": [4e12, 4e12], **document}))
            return "\n".join(gradient_table.gradient_lines([pathlib.Path(folder)]))

    def test_plans_and_a_peer(self):
        text = self.text(gradients={"rows": self.ROWS}, torch_gradients=self.PEER)
        self.assertIn("| a | recompute | 4.0 (50.0 %) | 6.0 (50.0 %) | 10.0 | 11.0 | 2 + 3 | 4.0 | 14.0 | 10.0 |"
                      " +1.0 % |", text)
        self.assertIn("| a | 10.0 | 12.0 | 1.20x | 5.0 | 7.0 | 4.0 / 8.0 |", text)
        self.assertIn("Together 10 us beside 12 us; slower in 0 of 1 rows.", text)
        self.assertIn("| b | failed |", text)

    def test_where_chains_flip(self):
        rows = [chain_row(1, "recompute", 9, 5), chain_row(2, "recompute", 9, 8), chain_row(3, "store all", 9, 8.5),
                chain_row(40, "store all", 9, 50)]
        self.assertIn("| tanh f32 | 2 | 3 | +5.3 % at 3 |", self.text(chains={"rows": rows}))


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--fuse-bench", required=True)
    parser.add_argument("--fake-cuda", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
