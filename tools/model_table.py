#!/usr/bin/python3
"""Compiles recorded models for a target and writes a table of what it took, .md and .json.

    tools/model_table.py graphs.jsonl.gz --measure build/release/bin/measure_model -o bench/results

For models with a forward and a backward graph: each alone, and both as one. PTX is assembled where
ptxas is found.
"""
import argparse
import concurrent.futures
import datetime
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

import aten2fuse
from aten.joint import joint_graphs
from aten.translate import translate

# Kernels for forward and backward as one: a prototype of the planner, and PyTorch's compiler.
TARGETS = {"llama_big": (24, 33), "gpt2_big": (20, 46), "bert_big": (22, 59), "vit_big": (18, 48),
           "timm_convnext_tiny": (116, 359), "timm_resnet50": (153, 448)}
MODELS = [*TARGETS, "mamba_big", "adamw_40"]
COLUMNS = ["graph", "nodes", "ops", "extern", "kernels", "unfused MB", "fused MB", "predicted us",
           "plan ms", "schedule ms", "statements", "code ms/kernel", "worst ms", "assembled", "spills"]


def find_ptxas():
    return shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")


def spilled_bytes(ptxas, ptx):
    """Bytes that a kernel stores to spill. Raises where ptxas refuses."""
    arch = re.search(r"^\.target (\w+)", ptx.read_text(), re.M).group(1)
    run = subprocess.run([ptxas, "-v", f"-arch={arch}", str(ptx), "-o", "/dev/null"],
                         capture_output=True, text=True, check=True)
    return sum(int(n) for n in re.findall(r"(\d+) bytes spill stores", run.stderr))


def assemble(folder):
    """What ptxas says of the kernels in a folder."""
    ptxas = find_ptxas()
    if not ptxas:
        return {"ptxas": "skipped"}
    kernels = sorted(folder.glob("*.ptx"))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        try:
            spills = list(pool.map(lambda k: spilled_bytes(ptxas, k), kernels))
        except subprocess.CalledProcessError as error:
            return {"ptxas": error.stderr.strip().splitlines()[0]}
    return {"ptxas": "yes", "spills": {k.stem: n for k, n in zip(kernels, spills) if n}}


def measure(graph, options):
    row = {"model": graph["model"], "kind": graph["kind"], "id": graph["id"]}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source = folder / "graph.fuse"
        source.write_text(translate(graph).text())
        run = subprocess.run([options.measure, options.target, str(source), name],
                             capture_output=True, text=True, check=False)
        if run.returncode:
            return {**row, "error": run.stderr.strip() or f"exit code {run.returncode}"}
        return {**row, **json.loads(run.stdout), **assemble(folder)}


def cells(row):
    if "error" in row:
        return [row["id"], row["error"]] + [""] * (len(COLUMNS) - 2)
    spills = row.get("spills")
    spilled = "" if spills is None else ", ".join(f"{k} {n} B" for k, n in spills.items()) or "none"
    return [row["id"], row["nodes"], row["operations"], row["externs"], row["kernels"],
            f"{row['bytes_unfused'] / 1e6:,.0f}", f"{row['bytes_fused'] / 1e6:,.0f}",
            f"{row['predicted_us']:,.0f}", f"{row['plan_ms']:.0f}", f"{row['schedule_ms']:.0f}",
            row["statements"], f"{row['code_ms'] / max(1, row['kernels']):.1f}", f"{row['worst_code_ms']:.0f}",
            row["ptxas"], spilled]


def table(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    return lines + ["| " + " | ".join(map(str, r)) + " |" for r in rows]


def summary(rows):
    for model, (prototype, inductor) in TARGETS.items():
        joint = [r["kernels"] for r in rows if r["model"] == model and r["kind"] == "joint"
                 and "kernels" in r]
        if joint:
            yield [model, sum(joint), prototype, inductor]


def report(rows, options):
    lines = [f"# Recorded models compiled for {options.target}", "",
             "Made by tools/model_table.py. Bytes unfused: every operation that is no view as a "
             "kernel of its own. Bytes fused: every buffer of every kernel once. Times are CPU "
             "milliseconds; code is kernel to PTX, per kernel, in process; ptxas is not in it.", "",
             "## Kernels for forward and backward as one", ""]
    lines += table(["model", "kernels", "prototype plan", "PyTorch's compiler"], summary(rows))
    lines += ["", "## All graphs", "", *table(COLUMNS, map(cells, rows)), ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", help="recorded graphs, .jsonl or .jsonl.gz")
    parser.add_argument("--measure", required=True, help="the measure_model program")
    parser.add_argument("--target", default="h100")
    parser.add_argument("--model", action="append", metavar="NAME", help="only this one")
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    graphs = aten2fuse.load(options.graphs)
    options.out.mkdir(parents=True, exist_ok=True)
    name = f"models_{datetime.date.today().isoformat()}"
    rows = []
    for model in options.model or MODELS:
        for graph in [g for g in graphs if g["model"] == model] + joint_graphs(graphs, model):
            rows.append(measure(graph, options))
        (options.out / f"{name}.json").write_text(json.dumps(rows, indent=1) + "\n")
        (options.out / f"{name}.md").write_text(report(rows, options))


if __name__ == "__main__":
    main()
