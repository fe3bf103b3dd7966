#!/usr/bin/env bash
# Packs what a GPU machine without LLVM and without this source tree needs into build/pack/: the
# library, the tools and the tests that can use a GPU, stripped, and the programs they read.
#
#   bench/pack.sh [BUILD]      BUILD: a finished build, by default build/release
#
# FUSE_MODEL_GRAPHS names recordings of models (.jsonl.gz); their programs are imported and packed,
# too. There, bench/gpu_check.sh checks it all and bench/compare.sh sets it beside its peers; copies
# of both stand in build/pack/bench/.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build/release}
carry=build/pack
limit_mib=60

say() { printf 'pack.sh: %s\n' "$*"; }

[ -e "$build/lib/libfusejit.so.0" ] || {
  say "$build/lib/libfusejit.so.0 is missing: build first"
  exit 1
}

# Test programs with a test under a label that a GPU runs.
gpu_tests() {
  ctest --test-dir "$build" -N -L '^(gpu|run|kernels|cases)$' --show-only=json-v1 2>/dev/null |
    python3 -c '
import json, os, sys
paths = {t["command"][0] for t in json.load(sys.stdin).get("tests", []) if t.get("command")}
here = os.path.realpath(sys.argv[1])
print("\n".join(sorted(os.path.basename(p) for p in paths if os.path.dirname(p) == here)))' \
      "$build/bin"
}

# Programs of bench/suite/models.json, forward and backward as one.
import_models() {
  local model options=()
  for model in llama_big gpt2_big bert_big vit_big timm_convnext_tiny timm_resnet50; do
    options+=(--joint "$model")
  done
  "${PYTHON:-/usr/bin/python3}" tools/aten2fuse.py "$FUSE_MODEL_GRAPHS" "${options[@]}" \
    -o bench/suite/models
}

[ -z "${FUSE_MODEL_GRAPHS:-}" ] || import_models
[ -e bench/suite/models ] ||
  say "warning: no FUSE_MODEL_GRAPHS, so there are no programs for bench/suite/models.json"

bench/gradient_graphs.py
rm -rf "$carry"
mkdir -p "$carry/bin" "$carry/lib" "$carry/bench"
strip -o "$carry/lib/libfusejit.so.0" "$build/lib/libfusejit.so.0"
tests=$(gpu_tests)
for name in fuse-opt fuse-bench $tests; do
  if [ -x "$build/bin/$name" ]; then
    strip -o "$carry/bin/$name" "$build/bin/$name"
  else
    say "warning: $name is not built and stays out"
  fi
done
printf '%s\n' "$tests" >"$carry/tests.txt"

cp -r bench/suite bench/peers bench/gpu_check.sh bench/compare.sh bench/dram_counters.py "$carry/bench/"
rm -rf "$carry/bench/peers/__pycache__"
for folder in tests/golden tests/run tests/cases tests/kernels examples; do
  [ -d "$folder" ] || continue
  find "$folder" \( -name '*.fuse' -o -name '*.kernel' -o -name '*.npy' \) \
    -exec cp --parents -t "$carry" {} +
done
git rev-parse HEAD >"$carry/commit.txt"

size_mib=$(du -sm "$carry" | cut -f1)
say "$carry holds $size_mib MiB: $(find "$carry/bin" -type f -printf '%f ' | sort)"
if [ "$size_mib" -ge "$limit_mib" ]; then
  say "that is not under $limit_mib MiB"
  exit 1
fi
