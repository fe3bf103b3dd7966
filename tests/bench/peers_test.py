#!/usr/bin/python3
"""The peers of bench/compare.sh compute what the programs of bench/suite compute, on the same numbers.

Skips a peer that this Python does not have; run it by one that has them:

    tests/bench/peers_test.py --fuse-opt build/release/bin/fuse-opt
"""
import argparse
import importlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy

PEERS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"
sys.path.insert(0, str(PEERS))

import results  # noqa: E402
import rows  # noqa: E402
import table  # noqa: E402

FUSE_OPT = None
# Relative errors that rounding alone explains, by dtype of the output.
TOLERANCE = {"bf16": 4e-3, "f8e4m3": 5e-2, "f32": 1e-5}
ON_DISK = {"bf16": "u2", "f32": "f4", "f64": "f8", "i8": "i1", "i64": "i8", "bool": "?"}


def small_sizes(row):
    return {name: min(size, 64) for name, size in row.check.items()}


def programs(suite="suite.json"):
    """A row of each program."""
    return list({row.program: row for row in rows.read_rows(suite=rows.SUITE.parent / suite)}.values())


def bf16_bits(values):
    bits = values.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def from_f8(bits):
    """Numbers of f8e4m3."""
    exponent, fraction = (bits >> 3 & 15).astype(int), (bits & 7) / 8
    magnitude = numpy.where(exponent == 0, numpy.ldexp(fraction, -6),
                            numpy.ldexp(1 + fraction, exponent - 7))
    return numpy.where(bits >> 7, -magnitude, magnitude)


def from_disk(array, dtype):
    if dtype == "bf16":
        return (array.astype(numpy.uint32) << 16).view(numpy.float32).astype(float)
    return from_f8(array) if dtype == "f8e4m3" else array.astype(float)


def to_disk(values, dtype):
    return bf16_bits(values) if dtype == "bf16" else values.astype(ON_DISK[dtype])


def on_disk_values(values, dtype):
    """The numbers of a program's input as f64, or integers."""
    return from_disk(to_disk(values, dtype), dtype) if dtype in ("bf16", "f32") else to_disk(values, dtype)


def with_sizes(row):
    """The text of the program, its symbols replaced as fuse-bench replaces them."""
    sizes, text = small_sizes(row), row.path.read_text()
    def replaced(extents):
        return re.sub(r"[A-Z]\w*", lambda w: str(sizes.get(w[0], w[0])), extents[0])
    return re.sub(r"\[[^\]]*\]", replaced, text)


def output_types(path):
    """(name, dtype) of the outputs."""
    text = subprocess.check_output([FUSE_OPT, path], text=True)
    names = re.findall(r"%([\w.]+)(?: as (\w+))?", re.search(r"return (.*)", text).group(1))
    types = dict(re.findall(r"%([\w.]+) = .*: (\w+)(?:\[[^\]]*\])?$", text, re.M))
    return [(alias or f"out{i}", types[name]) for i, (name, alias) in enumerate(names)]


def run_on_host(program, inputs, values):
    """(dtype, numbers) of the outputs that fuse computes of the text."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/program.fuse"
        pathlib.Path(path).write_text(program)
        outputs = output_types(path)
        command = [FUSE_OPT, path, "--run", "--on=host"]
        for given, value in zip(inputs, values):
            where = f"{folder}/{given.name}.in.npy"
            numpy.save(where, to_disk(value, given.dtype) if not given.is_scalar else value)
            command += ["--in", f"{given.name}={int(value) if given.is_scalar else where}"]
        for name, _ in outputs:
            command += ["--out", f"{name}={folder}/{name}.npy"]
        subprocess.run(command, check=True, capture_output=True)
        return [(dtype, from_disk(numpy.load(f"{folder}/{name}.npy"), dtype)) for name, dtype in outputs]


def relative_error(actual, exact):
    known = numpy.isfinite(actual) & numpy.isfinite(exact)
    norm = numpy.sqrt(numpy.square(exact[known]).sum())
    return numpy.sqrt(numpy.square((actual - exact)[known]).sum()) / max(norm, 1e-30)


class TorchPeer:
    name = "torch"

    def __init__(self):
        self.torch = importlib.import_module("torch")
        self.module = importlib.import_module("torch_programs")

    def in_f64(self, values):
        tensors = [self.torch.from_numpy(numpy.asarray(v)) for v in values]
        return [t.double() if t.is_floating_point() else t for t in tensors]

    def run(self, row, values):
        found = self.module.PROGRAMS[row.program][0](*self.in_f64(values))
        return [o.double().numpy() for o in (found if isinstance(found, tuple) else (found,))]


class JaxPeer:
    name = "jax"

    def __init__(self):
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.module = importlib.import_module("jax_programs")

    def run(self, row, values):
        found = self.module.PROGRAMS[row.program](*map(self.jax.numpy.asarray, values))
        return [numpy.asarray(o, float) for o in (found if isinstance(found, tuple) else (found,))]


class Programs(unittest.TestCase):
    def check_peer(self, peer):
        self.assertEqual(set(peer.module.PROGRAMS), {row.program for row in programs()})
        for row in programs():
            if row.program in peer.module.RANDOM:
                continue
            with self.subTest(row.program):
                self.check_program(peer, row)

    def check_program(self, peer, row):
        inputs = row.inputs(small_sizes(row))
        values = rows.draw(inputs)
        expected = peer.run(row, [on_disk_values(v, i.dtype) for i, v in zip(inputs, values)])
        self.compare(run_on_host(with_sizes(row), inputs, values), expected)

    def compare(self, actual, expected, roundings=1):
        self.assertEqual(len(actual), len(expected))
        for (dtype, numbers), reference in zip(actual, expected):
            self.assertEqual(numbers.shape, reference.shape)
            self.assertLess(relative_error(numbers, reference), roundings * TOLERANCE[dtype])

    def test_torch(self):
        try:
            peer = TorchPeer()
        except ImportError as error:
            self.skipTest(str(error))
        self.check_peer(peer)

    def test_torch_builtin(self):
        try:
            peer = TorchPeer()
        except ImportError as error:
            self.skipTest(str(error))
        for row in programs():
            operations, builtin = peer.module.PROGRAMS[row.program]
            if builtin is None:
                continue
            with self.subTest(row.program):
                given = [peer.torch.from_numpy(v) for v in rows.draw(row.inputs(small_sizes(row)))]
                given = [g.float() if g.is_floating_point() else g for g in given]
                found, exact = builtin(*given), operations(*given)
                exact = exact[0] if isinstance(exact, tuple) else exact
                self.assertLess(relative_error(found.numpy(), exact.numpy()), 1e-5)

    def test_torch_gradients(self):
        try:
            torch = importlib.import_module("torch")
        except ImportError as error:
            self.skipTest(str(error))
        gradients = importlib.import_module("torch_gradients")
        for row in programs("gradients.json"):
            if row.program in gradients.torch_programs.RANDOM or "extern" in row.path.read_text():
                continue
            with self.subTest(row.program):
                self.check_gradients(row, gradients, torch)

    def check_gradients(self, row, gradients, torch):
        """Of the squares of the last output."""
        text = re.sub(r"  return (.*)(%\w+) as (\w+)", r"  %square = mul \2, \2\n  return \1\2 as \3, "
                      r"%square as square", with_sizes(row))
        joint = subprocess.check_output([FUSE_OPT, "-", f"--grad={','.join(row.grad)}", "--grad-output=square"],
                                        input=text, text=True)
        inputs = row.inputs(small_sizes(row))
        values = rows.draw(inputs)
        given = [torch.from_numpy(on_disk_values(v, i.dtype)) for i, v in zip(inputs, values)]
        step = gradients.Step(row, gradients.operations_of(row), given)
        outputs = step.forward()
        square = outputs[-1].detach().square()
        step.cotangents = [2 * outputs[-1].detach()]
        found = [o.detach().numpy() for o in [*outputs, square, *step.backward(outputs[-1:])]]
        self.compare(run_on_host(joint, inputs, values), found, roundings=3)

    def test_jax(self):
        try:
            peer = JaxPeer()
        except ImportError as error:
            self.skipTest(str(error))
        self.check_peer(peer)


class Parts(unittest.TestCase):
    def test_random_words_are_those_of_the_standard(self):
        # The 10,000th word of std::mt19937_64 from its usual seed; 53 bits of it are kept.
        numbers = rows.Mersenne(5489).first(10000)
        self.assertEqual(int(numbers[-1] * 2**53), 9981545732273789042 >> 11)

    def test_ulps(self):
        self.assertEqual(results.ulp(numpy.array([1.0, 1.9, 2.0, 0.0]), "bfloat16").tolist(),
                         [2**-7, 2**-7, 2**-6, 2**-133])
        found = results.errors_of([numpy.array([1.0, 4.5])], [numpy.array([1.25, 4.0])], ["float8_e4m3fn"])
        self.assertEqual(found["ulps"], 2.0)

    def test_sizes_and_limits_of_inputs(self):
        row = next(r for r in rows.read_rows(["embedding"]))
        table_, index = row.inputs({**row.sizes, "V": 512})
        self.assertEqual(table_.shape, [512, 4096])
        self.assertEqual((index.dtype, index.limit), ("i64", 512))

    def test_results_are_kept_row_by_row(self):
        options = argparse.Namespace(budget=60, row_limit=0.05)
        chosen = rows.read_rows(["adam", "gelu 16384", "row sum 16384"])

        def measure(row):
            if row.program == "gelu":
                raise RuntimeError("no kernel image\nfor this device")
            while row.program == "adam":
                pass
            return {"us": 2.0}
        with tempfile.TemporaryDirectory() as folder:
            found = results.Results(f"{folder}/torch.json", peer="p", device="d")
            found.begin("eager", 4e12, 4e12)
            results.run_rows(found, "eager", chosen, measure, options)
            kept = json.loads(pathlib.Path(folder, "torch.json").read_text())["modes"]["eager"]["rows"]
        self.assertEqual(kept["gelu 16384x11008"], {"error": "RuntimeError: no kernel image"})
        self.assertIn("OutOfTime", kept["adam f32 134M"]["error"])
        self.assertEqual(kept["row sum 16384x16384"], {"us": 2.0})


class Table(unittest.TestCase):
    FUSE = {"device": "D", "fuse": "1", "copy_bytes_per_second": [4e12, 4e12],
            "copy_queued_bytes_per_second": 4e12, "rows": [
        {"name": "a", "bytes": 4e8, "us": 100.0, "queued_us": 80.0, "ulps": 0.5,
         "relative_error": 0.001, "compile_cold": {"lower_ms": 1, "emit_ms": 2, "assemble_ms": 3}},
        {"name": "b", "error": "no such file"}]}
    TORCH = {"peer": "torch 2", "device": "D", "modes": {
        "eager": {"copy_bytes_per_second": 4e12, "rows": {"a": {"us": 400.0}}},
        "jax": {"copy_bytes_per_second": None, "copy_queued_bytes_per_second": 4e12,
                "rows": {"a": {"queued_us": 160.0}}},
        "compile": {"copy_bytes_per_second": 4e12, "rows": {
            "a": {"us": 125.0, "first_s": 1.5, "ulps": 1.5, "relative_error": 0.002}}}}}
    MODELS = {"copy_bytes_per_second": 4e12, "rows": [
        {"name": name, "kernels": 1, "us": 60.0, "predicted_us": 40.0, "kernel_bytes": 2e8,
         "memory_bytes": 2e9, "externs": {"mm": 2}, "by_kernel": [
             {"name": "k0", "us": 50.0, "cold_us": 55.0, "predicted_us": 40.0, "bytes": 2e8,
              "bound": "hbm", "registers": 32, "spill_bytes": 0}]} for name in ("m", "m loss")]}
    INDUCTOR = {"models": {"m": {"launches": 3, "glue_us": 150.0, "first_s": 9.0,
                                 "left_out": {"triton_add": 7.0}}}}

    def text(self, **documents):
        with tempfile.TemporaryDirectory() as folder:
            for name, document in documents.items():
                pathlib.Path(folder, f"{name}.json").write_text(json.dumps(document))
            return subprocess.check_output([sys.executable, PEERS / "table.py", folder], text=True)

    def test_rows_side_by_side(self):
        text = self.text(fuse=self.FUSE, torch=self.TORCH)
        self.assertIn("| a | 100.0 | 100.0 % | 1.25x torch.compile | 400.0 (25.0 %) | 125.0 (80.0 %) |", text)
        self.assertIn("| a | 80.0 | 125.0 % | 2.00x jax | - | - | 160.0 (62.5 %) |", text)
        self.assertIn("| a | 6 | 1,500 | - | - |", text)
        self.assertIn("| a | 0.5 (0.001) | - | 1.5 (0.002) | - |", text)
        self.assertIn("- fuse, b: no such file", text)

    def test_programs_of_a_model_are_summed(self):
        text = self.text(models=self.MODELS, models_torch=self.INDUCTOR)
        self.assertIn("| m | 2 | 100 | 120 | 110 | 80 | 400 | 4.0 |", text)
        self.assertIn("| 3 | 150 | 9.0 | 1.50x |", text)
        self.assertIn("- m: with us 4 mm; with Inductor, of its own kernels, triton_add 7 us", text)
        self.assertIn("| m loss | k0 | 50.0 | 55.0 | 40.0 | 200.0 | 90.9 % |", text)

    def test_best_peer(self):
        modes = table.theirs([self.TORCH])
        self.assertEqual(table.best_peer("a", 4e8, modes, "us"), (0.8, "compile"))
        self.assertEqual(table.best_peer("a", 4e8, modes, "queued_us"), (0.625, "jax"))
        self.assertIsNone(table.best_peer("c", 4e8, modes, "us"))


def main():
    global FUSE_OPT
    parser = argparse.ArgumentParser()
    parser.add_argument("--fuse-opt", required=True)
    options, rest = parser.parse_known_args()
    FUSE_OPT = options.fuse_opt
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
