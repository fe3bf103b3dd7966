"""Results that are on disk after every row, limits of time, and errors against f64."""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import signal
import time

import numpy

# Bits of the fraction, and the exponent of the smallest normal number.
FORMATS = {"bfloat16": (7, -126), "float16": (10, -14), "float32": (23, -126),
           "float64": (52, -1022), "float8_e4m3fn": (3, -6), "float8_e5m2": (2, -14)}


def ulp(values, dtype):
    """Distance of neighbours of the dtype at the values."""
    bits, smallest = FORMATS[dtype]
    _, exponents = numpy.frexp(values)
    exponents = numpy.where(values == 0, smallest, exponents - 1)
    return numpy.ldexp(1.0, numpy.maximum(exponents, smallest) - bits)


def errors_of(outputs, references, dtypes):
    """The largest error in ulps of the outputs' dtypes, and relative by sums of squares."""
    worst = {"ulps": 0.0, "relative_error": 0.0}
    for actual, exact, dtype in zip(outputs, references, dtypes):
        known = numpy.isfinite(exact) & numpy.isfinite(actual)
        if dtype not in FORMATS or not known.any():
            continue
        exact, error = exact[known], numpy.abs(actual - exact)[known]
        norm = numpy.sqrt(numpy.square(exact).sum())
        worst["ulps"] = max(worst["ulps"], float((error / ulp(exact, dtype)).max()))
        if norm > 0:
            relative = float(numpy.sqrt(numpy.square(error).sum()) / norm)
            worst["relative_error"] = max(worst["relative_error"], relative)
    return worst


class OutOfTime(Exception):
    """A row that took longer than a row may."""


@contextlib.contextmanager
def time_limit(seconds):
    def interrupt(*_):
        raise OutOfTime(f"took more than {seconds:.0f} s")
    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


class Results:
    """{"modes": {mode: {"copy_bytes_per_second", "copy_queued_bytes_per_second", "rows": {name: numbers}}}};
    what a file holds already stays, row by row."""

    def __init__(self, path, **machine):
        self.path = pathlib.Path(path)
        self.document = json.loads(self.path.read_text()) if self.path.exists() else {"modes": {}}
        self.document.update(machine, date=datetime.datetime.now(datetime.timezone.utc)
                             .isoformat(timespec="seconds"))

    def begin(self, mode, copy, copy_queued):
        self.document["modes"].setdefault(mode, {"rows": {}}).update(
            copy_bytes_per_second=copy, copy_queued_bytes_per_second=copy_queued)
        self.write()

    def add(self, mode, name, numbers):
        self.document["modes"][mode]["rows"][name] = numbers
        self.write()

    def write(self):
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.document, indent=1) + "\n")
        os.replace(new, self.path)


def describe(mode, name, numbers):
    if "error" in numbers:
        return f"{mode:9} {name:36} FAILED: {numbers['error']}"
    first = f" first call {numbers['first_s']:7.2f} s" if "first_s" in numbers else ""
    error = f" {numbers['ulps']:9.2f} ulps" if "ulps" in numbers else ""
    return f"{mode:9} {name:36} {numbers.get('us', numbers.get('queued_us', 0)):9.1f} us{error}{first}"


def run_rows(results, mode, rows, measure, options):
    """measure(row) for each row, until the budget of the mode is spent. What fails is noted."""
    start = time.monotonic()
    for row in rows:
        left = options.budget - (time.monotonic() - start)
        if left <= 0:
            print(f"{mode}: budget of {options.budget:.0f} s spent before {row.name}", flush=True)
            return
        try:
            with time_limit(min(options.row_limit, left)):
                numbers = measure(row)
        except Exception as error:  # of whatever kind: it is a result of the peer
            text = str(error).strip() or repr(error)
            numbers = {"error": f"{type(error).__name__}: {text.splitlines()[0][:200]}"}
        if numbers:
            results.add(mode, row.name, numbers)
            print(describe(mode, row.name, numbers), flush=True)


def parser(description):
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--rows", action="append", default=[], metavar="PART",
                         help="only rows whose names contain this; may be repeated")
    options.add_argument("--out", default=os.environ.get("OUT", "."), type=pathlib.Path,
                         help="folder of the results; default $OUT")
    options.add_argument("--budget", type=float, default=540, metavar="SECONDS",
                         help="of each mode; rows beyond it are left out")
    options.add_argument("--row-limit", type=float, default=90, metavar="SECONDS")
    options.add_argument("--runs", type=int, default=30)
    options.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    options.add_argument("--small", action="store_true",
                         help="the sizes that are checked instead of those that are timed")
    return options
