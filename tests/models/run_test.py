#!/usr/bin/python3
"""Recorded models run on the host and match what was recorded of them: a sample, and whatever
FUSE_MODEL_GRAPHS (graphs, .jsonl.gz) and FUSE_MODEL_VALUES (a folder of ID.npz) name."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def run_models(program, graphs, values):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([HERE / "pack_models.py", graphs, values, folder], check=True)
        bases = sorted(p.with_suffix("") for p in pathlib.Path(folder).glob("*.values"))
        if not bases:
            sys.exit(f"run_test: error: {values} has no values of the graphs in {graphs}")
        return subprocess.run([program, *bases], check=False).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run-model", required=True, help="the run_model program")
    options = parser.parse_args()
    code = run_models(options.run_model, HERE / "small.jsonl.gz", HERE / "values")
    graphs, values = os.environ.get("FUSE_MODEL_GRAPHS"), os.environ.get("FUSE_MODEL_VALUES")
    if graphs and values:
        code = code or run_models(options.run_model, graphs, values)
    sys.exit(code)


if __name__ == "__main__":
    main()
