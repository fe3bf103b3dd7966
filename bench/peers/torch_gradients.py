#!/usr/bin/env python3
"""Times forward and backward of bench/suite/gradients.json in PyTorch, into $OUT/torch_gradients.json.

    bench/peers/torch_gradients.py                            by torch.compile, forward under autograd
    bench/peers/torch_gradients.py --suite generated/random.json --rows "random 1"
    bench/peers/torch_gradients.py eager compile --device cpu --small     without a GPU: no times to quote

What is saved between the two is the compiler's choice. Each is timed by events behind writes to more
than the L2 cache, which go on until the host has enqueued it; the median. Products do nothing.
"""
import pathlib
import statistics
import sys

import results
import rows
import torch_bench
import torch_programs
from torch_bench import DTYPES, Clock, arguments, filled, head, in_f64, tensors

import torch

MODES = ["eager", "compile", "autotune"]
FLUSH_US, MOST_FLUSHES = 200, 30  # of 1 GiB, on any device
NAMES = {dtype: name for name, dtype in DTYPES.items() if name != "u64"}


def operations_of(row):
    """The program as a function of its inputs."""
    if row.program in torch_programs.GRADIENTS:
        return torch_programs.GRADIENTS[row.program]
    if row.program in torch_programs.PROGRAMS:
        return torch_programs.PROGRAMS[row.program][0]
    import fuse_text
    return fuse_text.function_of(row.path.read_text())


def outputs_of(function, given):
    return [o for o in tensors(function(*given)) if o.is_floating_point()]


def draw_cotangents(row, operations, drawn_from, shapes, device):
    """What fuse-bench draws for d_<output>, behind the inputs."""
    inputs = row.inputs(drawn_from)
    with torch.no_grad():
        own = outputs_of(operations, arguments(row, drawn_from, drawn_from, device))
    drawn = [rows.Input("", NAMES[o.dtype], list(o.shape), False, 0) for o in own]
    values = rows.draw([*inputs, *drawn])[len(inputs):]
    return [filled(rows.Input("", d.dtype, list(shape), False, 0), v, device)
            for d, shape, v in zip(drawn, shapes, values)]


class Step:
    """Forward and backward of a function, of arguments in memory."""

    def __init__(self, row, function, given):
        self.function, self.given, self.cotangents = function, given, None
        names = [i.name for i in row.inputs(row.sizes)]
        self.inputs = [given[names.index(name)].requires_grad_() for name in row.grad]

    def forward(self):
        return outputs_of(self.function, self.given)

    def backward(self, outputs):
        return torch.autograd.grad(outputs, self.inputs, self.cotangents)

    def kept_bytes(self):
        """Of all that is saved for backward, each memory counted once."""
        storages = {}

        def pack(tensor):
            storage = tensor.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
            return tensor
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            self.forward()
        return sum(storages.values())


def flushes_to_cover(clock, work):
    """So many that the GPU is busy until the host has enqueued the work; and what the work gives."""
    host_us, result = 1e6, None
    for _ in range(torch_bench.WARM_UPS):
        clock.finish()
        start = torch_bench.time.perf_counter()
        result = work()
        host_us = min(host_us, 1e6 * (torch_bench.time.perf_counter() - start))
    clock.finish()
    return min(MOST_FLUSHES, 1 + round(host_us / FLUSH_US)), result


def median_times(step, clock):
    """Microseconds of forward and of backward."""
    ahead, outputs = flushes_to_cover(clock, step.forward)
    behind, _ = flushes_to_cover(clock, lambda: step.backward(step.forward()))
    times = []
    for _ in range(clock.runs):
        del outputs
        forward, outputs = clock.timed(step.forward, ahead)
        times.append((forward, clock.timed(lambda: step.backward(outputs), behind)[0]))
    return [statistics.median(t) for t in zip(*times)]


def errors_of(row, operations, outputs, gradients, device):
    """Against f64, of rows whose large instance repeats the small one."""
    if row.program in torch_programs.RANDOM or not row.repeats:
        return {}
    small = [in_f64(g) for g in arguments(row, row.check, row.check, device)]
    step = Step(row, operations, small)
    exact = step.forward()
    step.cotangents = [in_f64(c) for c in draw_cotangents(
        row, operations, row.check, [o.shape for o in exact], device)]
    pairs = list(zip([*outputs, *gradients], [*exact, *step.backward(exact)]))
    return results.errors_of([head(o, r).detach().double().cpu().numpy() for o, r in pairs],
                             [r.detach().cpu().numpy() for _, r in pairs],
                             [str(o.dtype).removeprefix("torch.") for o, _ in pairs])


def measure(row, mode, clock, options):
    operations = operations_of(row)
    function = operations if mode == "eager" else torch_bench.compiled(operations, mode)
    sizes = row.check if options.small else row.sizes
    drawn_from = row.check if row.repeats else sizes
    step = Step(row, function, arguments(row, sizes, drawn_from, options.device))
    first, outputs = clock.first_seconds(step.forward)
    step.cotangents = draw_cotangents(row, operations, drawn_from, [o.shape for o in outputs], options.device)
    second, gradients = clock.first_seconds(lambda: step.backward(outputs))
    numbers = {"first_s": first + second, **errors_of(row, operations, outputs, gradients, options.device)}
    del outputs, gradients
    torch_programs.RUN_PRODUCTS = not clock.on_gpu
    forward, backward = median_times(step, clock)
    torch_programs.RUN_PRODUCTS = True
    return {**numbers, "forward_us": forward, "backward_us": backward, "us": forward + backward,
            "kept_bytes": step.kept_bytes()}


def main():
    parser = results.parser(__doc__.splitlines()[0])
    parser.add_argument("modes", nargs="*", metavar="MODE", default=["compile"], help=", ".join(MODES))
    parser.add_argument("--suite", default="gradients.json", help="a list of rows in bench/suite")
    options = parser.parse_args()
    if unknown := set(options.modes) - set(MODES):
        sys.exit(f"torch_gradients: no mode is named {unknown.pop()}: {', '.join(MODES)}")
    if options.device == "cuda" and not torch.cuda.is_available():
        print("torch_gradients: skipped: PyTorch sees no GPU; --device cpu --small checks without")
        return
    clock = Clock(options.device, options.runs)
    device = torch.cuda.get_device_name() if clock.on_gpu else "cpu"
    stem = pathlib.Path(options.suite).stem
    options.out.mkdir(parents=True, exist_ok=True)
    found = results.Results(options.out / f"torch_{stem}.json", peer=f"torch {torch.__version__}",
                            device=device)
    for mode in options.modes:
        chosen = rows.read_rows(options.rows, rows.SUITE.parent / options.suite)
        torch_bench.run_mode(mode, chosen, clock, options, found, measure)


if __name__ == "__main__":
    main()
