#!/usr/bin/env python3
"""Times the rows of bench/suite in PyTorch, by mode, into $OUT/torch.json.

    bench/peers/torch_bench.py eager builtin compile autotune
    bench/peers/torch_bench.py compile --rows softmax --budget 120
    bench/peers/torch_bench.py eager builtin --device cpu --small     without a GPU: no times to quote

GPU time as fuse-bench takes it: events around a run behind a write to more than the L2 cache, the
median; and "queued", what a run adds to a queue of such writes and runs. Errors are against the same operations in f64, on the numbers that fuse-bench draws.
"""
import math
import os
import statistics
import sys
import time

os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")

import results
import rows
try:
    import torch
except ImportError as error:
    print(f"torch_bench: skipped: there is no PyTorch: {error}")
    sys.exit(0)
from torch_programs import PROGRAMS, RANDOM

DTYPES = {"bool": torch.bool, "i8": torch.int8, "i32": torch.int32, "i64": torch.int64,
          "u64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
          "f64": torch.float64}
MODES = {"eager": None, "builtin": None, "compile": {},
         "autotune": {"mode": "max-autotune-no-cudagraphs"}}
FLUSH_BYTES, COPY_BYTES, WARM_UPS, QUEUED, QUEUES = 1 << 30, 2 << 30, 3, 10, 3


class Clock:
    """Times of work on the device."""

    def __init__(self, device, runs):
        self.on_gpu, self.runs, self.device = device == "cuda", runs, device
        self.flushed = torch.empty(FLUSH_BYTES if self.on_gpu else 1, dtype=torch.uint8, device=device)

    def finish(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    def between_events(self, work):
        """Microseconds, and what the work gives."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        result = work()
        end.record()
        end.synchronize()
        return 1e3 * start.elapsed_time(end), result

    def once_on_gpu(self, work, flushes):
        for _ in range(flushes):
            self.flushed.zero_()
        return self.between_events(work)

    def queue_us(self, work):
        def run():
            for _ in range(QUEUED):
                self.flushed.zero_()
                work()
        return self.between_events(run)[0] / QUEUED

    def queued_us(self, work):
        return statistics.median(self.queue_us(work) - self.queue_us(lambda: None) for _ in range(QUEUES))

    def first_seconds(self, work):
        start = time.perf_counter()
        result = work()
        self.finish()
        return time.perf_counter() - start, result

    def timed(self, work, flushes=1):
        """Microseconds, and what the work gives."""
        if self.on_gpu:
            return self.once_on_gpu(work, flushes)
        seconds, result = self.first_seconds(work)
        return 1e6 * seconds, result

    def once(self, work):
        return self.timed(work)[0]

    def median_us(self, work):
        for _ in range(WARM_UPS):
            work()
        return statistics.median(self.once(work) for _ in range(self.runs))

    def copy_bandwidths(self):
        """Timed and queued."""
        if not self.on_gpu:
            return 0, 0
        source = torch.full([COPY_BYTES], 0x5A, dtype=torch.uint8, device=self.device)
        target = torch.empty_like(source)
        return [2e6 * COPY_BYTES / us(lambda: target.copy_(source)) for us in (self.median_us, self.queued_us)]


def filled(given, values, device):
    """The input, by repeating the values."""
    drawn = torch.from_numpy(values).to(DTYPES[given.dtype]).flatten().to(device)
    count = math.prod(given.shape)
    return drawn.repeat(-(-count // drawn.numel()))[:count].reshape(given.shape)


def arguments(row, sizes, drawn_from, device):
    inputs = row.inputs(sizes)
    values = rows.draw(row.inputs(drawn_from))
    return [int(v) if i.is_scalar else filled(i, v, device) for i, v in zip(inputs, values)]


def in_f64(argument):
    is_float = isinstance(argument, torch.Tensor) and argument.is_floating_point()
    return argument.double() if is_float else argument


def tensors(outputs):
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def head(output, reference):
    """The part that has the reference's elements; large instances repeat it."""
    return output.flatten()[:reference.numel()].reshape(reference.shape)


def errors_of(row, function, outputs, device):
    """Against f64: the beginning of what repeats, or another run at the sizes that are checked."""
    if row.program in RANDOM:
        return {}
    small = arguments(row, row.check, row.check, device)
    references = tensors(PROGRAMS[row.program][0](*map(in_f64, small)))
    if not row.repeats:
        outputs = tensors(function(*small))
    pairs = list(zip(outputs, references))
    return results.errors_of([head(o, r).double().cpu().numpy() for o, r in pairs],
                             [r.double().cpu().numpy() for _, r in pairs],
                             [str(o.dtype).removeprefix("torch.") for o, _ in pairs])


def compiled(function, mode):
    torch._dynamo.reset()
    return torch.compile(function, dynamic=False, **MODES[mode])


def function_of(row, mode):
    operations, builtin = PROGRAMS[row.program]
    if mode in ("eager", "builtin"):
        return builtin if mode == "builtin" else operations
    return compiled(operations, mode)


def warm_up(mode, device):
    """What the first compilation of a process starts is not a row's."""
    if mode in ("compile", "autotune"):
        torch.compile(lambda x: x + 1, **MODES[mode])(torch.ones(8, device=device))


def measure(row, mode, clock, options):
    """Nothing where the mode has no such row."""
    function = function_of(row, mode)
    if function is None:
        return None
    sizes = row.check if options.small else row.sizes
    given = arguments(row, sizes, row.check if row.repeats else sizes, options.device)
    first, outputs = clock.first_seconds(lambda: function(*given))
    numbers = {"first_s": first} if mode in ("compile", "autotune") else {}
    numbers["us"] = clock.median_us(lambda: function(*given))
    if clock.on_gpu:
        numbers["queued_us"] = clock.queued_us(lambda: function(*given))
    numbers.update(errors_of(row, function, tensors(outputs), options.device))
    return numbers


def run_mode(mode, chosen, clock, options, found, measure_row=measure):
    warm_up(mode, options.device)
    found.begin(mode, *clock.copy_bandwidths())

    def measured(row):
        try:
            return measure_row(row, mode, clock, options)
        finally:
            if clock.on_gpu:
                torch.cuda.empty_cache()
    results.run_rows(found, mode, chosen, measured, options)


def main():
    parser = results.parser(__doc__.splitlines()[0])
    parser.add_argument("modes", nargs="+", choices=MODES)
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("torch_bench: skipped: PyTorch sees no GPU; --device cpu --small checks without")
        return
    torch.set_grad_enabled(False)
    clock = Clock(options.device, options.runs)
    device = torch.cuda.get_device_name() if clock.on_gpu else "cpu"
    found = results.Results(options.out / "torch.json", peer=f"torch {torch.__version__}", device=device)
    for mode in options.modes:
        run_mode(mode, rows.read_rows(options.rows), clock, options, found)


if __name__ == "__main__":
    main()
