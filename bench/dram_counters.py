#!/usr/bin/env python3
"""HBM passes of forward and backward as the profiler counts them, beside those that plans count.

    bench/dram_counters.py                          the sigmoids of bench/suite/gradients.json
    bench/dram_counters.py "softmax 32768x4096"     rows whose names contain this

Every program of every plan runs once under ncu, from a cold L2 cache. A pass is the bytes of the row's
largest tensor; what a kernel leaves in the L2 cache (at most its size) is not among the bytes written.
CARRY is the packed folder, by default the one of this script; $OUT gets dram.csv and dram.json.
"""
import argparse
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys

READ, WRITE = "dram__bytes_read.sum", "dram__bytes_write.sum"
HERE = pathlib.Path(__file__).resolve().parent


def packed_folder():
    given = pathlib.Path(os.environ.get("CARRY", HERE.parent)).resolve()
    return given if (given / "bin" / "fuse-bench").exists() else HERE.parent / "build" / "pack"


def profile(carry, out, suite, filters):
    """Runs fuse-bench under ncu: counters in out/dram.csv, plans in out/dram_plans.json."""
    counting = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
                "--kernel-name", "regex:^k[0-9]+$", "--metrics", f"{READ},{WRITE}",
                "--log-file", str(out / "dram.csv"), "--force-overwrite"]
    program = ["bin/fuse-bench", f"--suite={suite}", "--once", f"--json={out / 'dram_plans.json'}", *filters]
    libraries = f"{carry / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    subprocess.run([*counting, *program], cwd=carry, env={**os.environ, "LD_LIBRARY_PATH": libraries}, check=True)


def read_counters(text):
    """(kernel, bytes read, bytes written) of each launch, in their order."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise ValueError("ncu counted nothing: " + (lines[-1] if lines else "no output"))
    launches = []
    for row in csv.DictReader(lines[start:]):
        if row["ID"]:  # the line behind the head has units
            counts = [float(row[m].replace(",", "")) for m in (READ, WRITE)]
            launches.append((row["Kernel Name"], *counts))
    return launches


def take(counters, names):
    """The bytes that the next launches, of these kernels, read and wrote."""
    read = written = 0
    for name in names:
        counted, r, w = next(counters, (None, 0, 0))
        if counted is None or counted.split("(")[0] != name:
            raise ValueError(f"ncu counted {counted} where {name} was launched")
        read, written = read + r, written + w
    return {"read_bytes": read, "written_bytes": written}


def set_side_by_side(document, launches):
    """A line for each program: what its plan counts, and what the profiler counted."""
    counters = iter(launches)
    for row in document["rows"]:
        for plan in row.get("plans", []):
            for part in ("forward", "backward"):
                program = plan[part]
                found = take(counters, program.get("launches", []))
                passes = (found["read_bytes"] + found["written_bytes"]) / row["tensor_bytes"]
                yield {"row": row["name"], "plan": plan["name"], "program": part,
                       "counted": program["passes"], "measured": passes, **found}


def table_of(lines):
    yield f"{'row':<34} {'plan':<16} {'program':<9} {'counted':>7} {'measured':>9} {'read MB':>9} {'written MB':>10}"
    for l in lines:
        yield (f"{l['row']:<34} {l['plan']:<16} {l['program']:<9} {l['counted']:>7} {l['measured']:>9.2f} "
               f"{l['read_bytes'] / 1e6:>9.1f} {l['written_bytes'] / 1e6:>10.1f}")
    for name, plan in dict.fromkeys((l["row"], l["plan"]) for l in lines):
        own = [l for l in lines if (l["row"], l["plan"]) == (name, plan)]
        yield (f"{name:<34} {plan:<16} {'both':<9} {sum(l['counted'] for l in own):>7} "
               f"{sum(l['measured'] for l in own):>9.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", default=["sigmoid3"], help="parts of the names of rows")
    parser.add_argument("--suite", default="bench/suite/gradients.json")
    options = parser.parse_args()
    if not shutil.which("ncu"):
        print("dram_counters: skipped: there is no ncu")
        return 0
    out = pathlib.Path(os.environ.get("OUT", ".")).resolve()
    out.mkdir(parents=True, exist_ok=True)
    try:
        profile(packed_folder(), out, options.suite, options.rows)
        launches = read_counters((out / "dram.csv").read_text())
        lines = list(set_side_by_side(json.loads((out / "dram_plans.json").read_text()), launches))
    except (subprocess.CalledProcessError, ValueError) as error:
        print(f"dram_counters: {error}", file=sys.stderr)
        return 1
    (out / "dram.json").write_text(json.dumps(lines, indent=1) + "\n")
    print("\n".join(table_of(lines)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
