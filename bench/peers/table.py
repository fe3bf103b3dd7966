#!/usr/bin/env python3
"""Merges results of fuse-bench and of peers into one table in Markdown.

    bench/peers/table.py FOLDER... > compare.md

Reads fuse.json, torch.json, jax.json, models.json and models_torch.json of the folders, gradients.json,
random.json with those of torch, and chains.json; of rows that stand in several, the last counts. A
fraction is of the copy bandwidth of the same process.
"""
import pathlib
import sys

from gradient_table import gradient_lines
from tables import copy_of, lines_of, load, ours, percent, theirs

PEERS = ["eager", "builtin", "compile", "autotune", "jax"]
HEADS = {"eager": "torch eager", "builtin": "torch built-in", "compile": "torch.compile",
         "autotune": "max-autotune", "jax": "jax"}


def fraction(bytes_, numbers, clock):
    """Of the copy by the same clock; None without a time."""
    if not numbers.get(clock) or not numbers.get(f"{clock} copy"):
        return None
    return bytes_ / numbers[f"{clock} copy"] * 1e6 / numbers[clock]


def bandwidths(measured):
    """"4.27 4.31": of the copy, by both clocks."""
    values = (copy_of(measured), measured.get("copy_queued_bytes_per_second"))
    return " ".join(f"{v / 1e12:.2f}" if v else "-" for v in values)


def cell(bytes_, numbers, clock):
    if numbers and "error" in numbers:
        return "failed"
    if not numbers or not numbers.get(clock):
        return "-"
    return f"{numbers[clock]:.1f} ({percent(fraction(bytes_, numbers, clock))})"


def best_peer(name, bytes_, modes, clock):
    """(fraction of copy, mode) of the fastest."""
    known = [(fraction(bytes_, m[name], clock), mode) for mode, m in modes.items()
             if name in m and fraction(bytes_, m[name], clock)]
    return max(known, default=None)


def time_rows(rows, modes, shown, clock):
    for name, row in rows.items():
        if "error" in row:
            yield [name, "failed", "", "", *[""] * len(shown)]
            continue
        own = fraction(row["bytes"], row, clock)
        best = best_peer(name, row["bytes"], modes, clock)
        lead = f"{own / best[0]:.2f}x {HEADS[best[1]]}" if own and best else "-"
        yield [name, f"{row[clock]:.1f}" if row.get(clock) else "-", percent(own), lead,
               *(cell(row["bytes"], modes[m].get(name), clock) for m in shown)]


def time_lines(rows, modes, shown, clock):
    heads = [HEADS[m] for m in shown]
    return lines_of(["row", "fuse us", "of copy", "lead", *heads], time_rows(rows, modes, shown, clock))


def cold_ms(row):
    times = row.get("compile_cold")
    return sum(times.values()) if times else None


def first_call_rows(rows, modes):
    for name, row in rows.items():
        seconds = [modes.get(m, {}).get(name, {}).get("first_s") for m in ("compile", "autotune", "jax")]
        if cold_ms(row) or any(seconds):
            yield [name, f"{cold_ms(row):.0f}" if cold_ms(row) else "-",
                   *(f"{1e3 * s:,.0f}" if s else "-" for s in seconds)]


def error_cell(numbers):
    if not numbers or "ulps" not in numbers:
        return "-"
    return f"{numbers['ulps']:.3g} ({numbers['relative_error']:.1g})"


def error_rows(rows, modes, shown):
    for name, row in rows.items():
        yield [name, error_cell(row), *(error_cell(modes[m].get(name)) for m in shown)]


def failures(rows, modes):
    for name, row in rows.items():
        if "error" in row or not row.get("correct", True):
            yield f"- fuse, {name}: {row.get('error') or row['mismatch']}"
    for mode, measured in modes.items():
        for name, numbers in measured.items():
            if "error" in numbers:
                yield f"- {HEADS[mode]}, {name}: {numbers['error']}"


def suite_lines(folders):
    fuse, peers = load(folders, "fuse.json"), load(folders, "torch.json") + load(folders, "jax.json")
    rows, modes = ours(fuse), theirs(peers)
    shown = [m for m in PEERS if m in modes]
    if not rows:
        return ["There is no fuse.json: the table needs the bytes that it tells."]
    machine = "; ".join(sorted({f"{d.get('peer', 'fuse ' + d.get('fuse', ''))} on {d['device']}"
                                for d in fuse + peers}))
    copies = [f"fuse {bandwidths(d)}" for d in fuse]
    copies += [f"{m} {bandwidths(v)}" for d in peers for m, v in d["modes"].items()]
    heads = [HEADS[m] for m in shown]
    lines = [f"{machine}. Copy in the same process, TB/s between events and queued: {', '.join(copies)}.", "",
             "GPU time in microseconds behind a write to more than the L2 cache, median, and the fraction of "
             "a copy by the same clock. Lead: over the fastest peer.", "",
             "## In a queue", "",
             "What a run adds to a queue of such writes and runs: without the launch, and with the "
             "write-back of the lines that the run leaves.", "",
             *time_lines(rows, modes, shown, "queued_us"), "",
             "## Between two events", "",
             "With the launch, and with the write-back of what the write before it left.", "",
             *time_lines(rows, modes, [m for m in shown if m != "jax"], "us"), "", "## Until the first result", "",
             "fuse: from the graph to machine code, cold; peers: the first call. Milliseconds.", "",
             *lines_of(["row", "fuse", "torch.compile", "max-autotune", "jax"],
                       first_call_rows(rows, modes)),
             "", "## Errors against f64", "",
             "The largest in ulps of the output's dtype (0.5: rounded once), and the relative one, by "
             "sums of squares, on the same numbers.", "",
             *lines_of(["row", "fuse", *heads], error_rows(rows, modes, shown))]
    failed = list(failures(rows, modes))
    return lines + (["", "## Failed", "", *failed] if failed else [])


def by_model(rows):
    """A model may be several programs: "gpt2" and "gpt2 loss"."""
    models = {}
    for name, row in rows.items():
        if "error" not in row:
            models.setdefault(name.split()[0], []).append(row)
    return models


def total(rows, key):
    return sum(row.get(key, 0) for row in rows)


def kernel_sum(rows, key):
    return sum(k.get(key, 0) for row in rows for k in row.get("by_kernel", []))


def model_rows(rows, peer):
    for model, own in by_model(rows).items():
        other = peer.get(model, {})
        us, glue = kernel_sum(own, "us"), other.get("glue_us")
        yield [model, str(total(own, "kernels")), f"{us:,.0f}", f"{total(own, 'us'):,.0f}",
               f"{kernel_sum(own, 'cold_us'):,.0f}", f"{total(own, 'predicted_us'):,.0f}",
               f"{total(own, 'kernel_bytes') / 1e6:,.0f}", f"{total(own, 'memory_bytes') / 1e9:.1f}",
               f"{sum(filter(None, map(cold_ms, own))) / 1e3:.2f}",
               f"{other['launches']:.0f}" if glue else "-", f"{glue:,.0f}" if glue else "-",
               f"{other['first_s']:.1f}" if glue else "-", f"{glue / us:.2f}x" if glue and us else "-"]


def left_out(rows, peer):
    for model, own in by_model(rows).items():
        externs = {}
        for row in own:
            for name, count in row.get("externs", {}).items():
                externs[name] = externs.get(name, 0) + count
        names = ", ".join(f"{count} {name}" for name, count in externs.items())
        others = ", ".join(f"{name} {us:.0f} us" for name, us in
                           peer.get(model, {}).get("left_out", {}).items())
        yield f"- {model}: with us {names}; with Inductor, of its own kernels, {others or 'none'}"


def largest_kernels(rows, copy, count=12):
    for name, row in rows.items():
        kernels = sorted(row.get("by_kernel", []), key=lambda k: -k.get("us", 0))
        for k in [k for k in kernels if k.get("us")][:count]:
            of_copy = k["bytes"] / copy * 1e6 / k["cold_us"]
            yield [name, k["name"], f"{k['us']:.1f}", f"{k['cold_us']:.1f}", f"{k['predicted_us']:.1f}",
                   f"{k['bytes'] / 1e6:.1f}", percent(of_copy), k["bound"], str(k["registers"]),
                   str(k["spill_bytes"])]


def model_lines(folders):
    fuse = load(folders, "models.json")
    if not fuse:
        return []
    rows, peer = ours(fuse), {}
    for document in load(folders, "models_torch.json"):
        peer.update(document["models"])
    heads = ["model", "kernels", "us", "back to back us", "cold us", "predicted us", "MB", "memory GB",
             "compile s", "Inductor launches", "Inductor us", "first call s", "ratio"]
    failed = [f"- fuse, {n}: {r['error']}" for n, r in rows.items() if "error" in r]
    failed += [f"- Inductor, {n}: {r['error']}" for n, r in peer.items() if "error" in r]
    return ["## Models: what stands between the library's kernels", "",
            "Forward and backward as one program. us: each kernel between two events, the L2 cache as "
            "the one before it left it; back to back: all of them between two events; cold: each behind "
            "a flush. Extern operations do nothing and leave their results as they are. Inductor: its "
            "generated kernels of a training step, by the profiler. Ratio: its time over ours.", "",
            *lines_of(heads, model_rows(rows, peer)), "", "Left out on both sides:", "",
            *left_out(rows, peer), *failed, "", "### The largest kernels of each", "",
            *lines_of(["program", "kernel", "us", "cold us", "predicted us", "MB", "of copy, cold",
                       "bound", "registers", "spill"], largest_kernels(rows, copy_of(fuse[-1]))), ""]


def main():
    folders = [pathlib.Path(f) for f in sys.argv[1:]] or [pathlib.Path(".")]
    print("\n".join(["# fuse beside its peers", "", *suite_lines(folders), "", *gradient_lines(folders),
                     *model_lines(folders)]))


if __name__ == "__main__":
    main()
