#!/usr/bin/env python3
"""Times the rows of bench/suite in JAX into $OUT/jax.json.

    bench/peers/jax_bench.py
    bench/peers/jax_bench.py --device cpu --small        without a GPU: no times to quote

JAX gives no events, so a time is that of runs in a queue, each behind a write to more than the L2
cache, less that of the writes alone: the GPU is never idle. Errors are against the same operations in
f64, on the numbers that fuse-bench draws.
"""
import math
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy

import results
import rows
try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    print(f"jax_bench: skipped: there is no JAX: {error}")
    sys.exit(0)
from jax_programs import PROGRAMS, RANDOM

DTYPES = {"bool": jnp.bool_, "i8": jnp.int8, "i32": jnp.int32, "i64": jnp.int64,
          "u64": jnp.uint64, "f16": jnp.float16, "bf16": jnp.bfloat16, "f32": jnp.float32,
          "f64": jnp.float64}
FLUSH_WORDS, COPY_BYTES, QUEUED, WARM_UPS = 1 << 27, 2 << 30, 10, 3


class Clock:
    """Times of work, behind writes to other memory."""

    def __init__(self, device, runs):
        self.repetitions = max(1, runs // QUEUED) if device == "cuda" else 1
        self.flushed = jnp.zeros(FLUSH_WORDS if device == "cuda" else 1, jnp.int32)
        self.flush = jax.jit(lambda x: x + 1, donate_argnums=0)
        self.flush_us = self.queue_us(lambda: None)

    def queue_us(self, work):
        """Microseconds of one flush and one run, of many in a queue."""
        jax.block_until_ready(self.flushed)
        start = time.perf_counter()
        for _ in range(QUEUED):
            self.flushed = self.flush(self.flushed)
            result = work()
        jax.block_until_ready((self.flushed, result))
        return 1e6 * (time.perf_counter() - start) / QUEUED

    def median_us(self, work):
        for _ in range(WARM_UPS):
            jax.block_until_ready(work())
        pairs = [self.queue_us(work) - self.queue_us(lambda: None) for _ in range(self.repetitions)]
        return max(statistics.median(pairs), 0.01)

    def copy_bandwidth(self):
        source = jnp.full(COPY_BYTES // 4, 0x5A5A5A5A, jnp.int32)
        copy = jax.jit(jnp.copy)
        return 2e6 * COPY_BYTES / self.median_us(lambda: copy(source))


def filled(given, values):
    """The input, by repeating the values."""
    drawn = jnp.asarray(values.ravel()).astype(DTYPES[given.dtype])
    count = math.prod(given.shape)
    if drawn.size < count:
        drawn = jnp.tile(drawn, -(-count // drawn.size))[:count]
    return drawn.reshape(given.shape)


def arguments(row, sizes, drawn_from):
    values = rows.draw(row.inputs(drawn_from))
    return [filled(i, v) for i, v in zip(row.inputs(sizes), values)]


def in_f64(argument):
    return argument.astype(jnp.float64) if jnp.issubdtype(argument.dtype, jnp.floating) else argument


def arrays(outputs):
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def head(output, reference):
    """The part that has the reference's elements; large instances repeat it."""
    return output.reshape(-1)[:reference.size].reshape(reference.shape)


def errors_of(row, function, outputs):
    """Against f64: the beginning of what repeats, or another run at the sizes that are checked."""
    if row.program in RANDOM:
        return {}
    small = arguments(row, row.check, row.check)
    references = arrays(function(*map(in_f64, small)))
    if not row.repeats:
        outputs = arrays(function(*small))
    pairs = list(zip(outputs, references))
    return results.errors_of([numpy.asarray(head(o, r).astype(jnp.float64)) for o, r in pairs],
                             [numpy.asarray(r, numpy.float64) for _, r in pairs],
                             [o.dtype.name for o, _ in pairs])


def measure(row, clock, options):
    function = jax.jit(PROGRAMS[row.program])
    sizes = row.check if options.small else row.sizes
    given = jax.block_until_ready(arguments(row, sizes, row.check if row.repeats else sizes))
    start = time.perf_counter()
    outputs = jax.block_until_ready(function(*given))
    numbers = {"first_s": time.perf_counter() - start}
    numbers["queued_us"] = clock.median_us(lambda: function(*given))
    numbers.update(errors_of(row, function, arrays(outputs)))
    return numbers


def main():
    options = results.parser(__doc__.splitlines()[0]).parse_args()
    jax.config.update("jax_enable_x64", True)  # indices of 64 bits, and references
    if options.device == "cpu":
        jax.config.update("jax_platforms", "cpu")
    elif jax.default_backend() != "gpu":
        print("jax_bench: skipped: JAX sees no GPU; --device cpu --small checks without")
        return
    clock = Clock(options.device, options.runs)
    found = results.Results(options.out / "jax.json", peer=f"jax {jax.__version__}",
                            device=jax.devices()[0].device_kind)
    found.begin("jax", None, clock.copy_bandwidth() if options.device == "cuda" else 0)
    results.run_rows(found, "jax", rows.read_rows(options.rows),
                     lambda row: measure(row, clock, options), options)


if __name__ == "__main__":
    main()
