#!/usr/bin/env bash
# fuse beside its peers on one GPU: times, fractions of the copy bandwidth, times until the first
# result, errors. Runs on what bench/pack.sh packed; a peer that is not installed is skipped.
#
#   bench/compare.sh [PART...] [-- OPTION...]
#   bench/compare.sh table FOLDER...
#
# Parts: fuse, eager, builtin, compile, autotune, jax, models, and of forward and backward gradients,
# chains, random, dram; by default fuse, eager, builtin, compile, jax, models. Options go to every peer: --rows PART, --budget SECONDS (of each mode), --row-limit
# SECONDS; --rows chooses rows of fuse-bench too. Each part adds to JSON files in $OUT, or in
# compare_out, row by row. compare.md there is made of them at the end of a run; `table` makes it of
# the files of several folders, from runs that each did some of the parts.
#
# CARRY is the packed folder, by default the one of this script; PYTHON the Python that has the peers;
# LIMIT the seconds of a part, by default 560.
set -u

here=$(cd "$(dirname "$0")" && pwd)
carry=$(realpath "${CARRY:-$here/..}")
[ -x "$carry/bin/fuse-bench" ] || carry=$(realpath -m "$here/../build/pack")
out=$(realpath -m "${OUT:-compare_out}")
python=${PYTHON:-python3}
limit=${LIMIT:-560}
mkdir -p "$out"
chmod +x "$carry"/bin/* 2>/dev/null
export OUT="$out" LD_LIBRARY_PATH="$carry/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

failures=0

table() {
  "$python" "$here/peers/table.py" "$@" >"$out/compare.md.new" &&
    mv "$out/compare.md.new" "$out/compare.md"
}

if [ "${1:-}" = table ]; then
  shift
  table "${@:-$out}" && cat "$out/compare.md"
  exit
fi

parts=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  parts+=("$1")
  shift
done
[ $# -eq 0 ] || shift
options=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(fuse eager builtin compile jax models)

# Of the options, the rows, which fuse-bench takes as they are.
chosen_rows() {
  local i
  for ((i = 0; i < ${#options[@]}; ++i)); do
    case ${options[i]} in
      --rows) printf '%s\0' "${options[i + 1]}" ;;
      --rows=*) printf '%s\0' "${options[i]#--rows=}" ;;
    esac
  done
}

# attempt NAME COMMAND...: notes how long it took, and goes on after failures.
attempt() {
  local name=$1 start=$SECONDS rc
  shift
  timeout -k 5 "$limit" "$@"
  rc=$?
  echo "== $name: $((SECONDS - start)) s, exit code $rc"
  [ $rc -eq 0 ] || failures=$((failures + 1))
}

# fuse_bench SUITE JSON OPTION...: in the packed folder, where the programs are.
fuse_bench() {
  local suite=$1 json=$2
  shift 2
  attempt "fuse-bench $suite" env -C "$carry" bin/fuse-bench "--suite=bench/suite/$suite.json" \
    "--json=$out/$json.json" "$@"
}

peer() {
  local program=$1
  shift
  attempt "$program $*" "$python" -u "$here/peers/$program.py" "$@" "${options[@]+"${options[@]}"}"
}

run_part() {
  local rows
  mapfile -d '' -t rows < <(chosen_rows)
  case $1 in
    fuse) fuse_bench suite fuse "${rows[@]+"${rows[@]}"}" ;;
    eager | builtin | compile | autotune) peer torch_bench "$1" ;;
    jax) peer jax_bench ;;
    gradients | random)
      local folder=
      [ "$1" = gradients ] || folder=generated/
      fuse_bench "$folder$1" "$1" "${rows[@]+"${rows[@]}"}"
      peer torch_gradients --suite "$folder$1.json"
      ;;
    chains) fuse_bench generated/chains chains "${rows[@]+"${rows[@]}"}" ;;
    dram) attempt dram_counters env "CARRY=$carry" "$python" -u "$here/dram_counters.py" ;;
    models)
      fuse_bench models models --kernels --runs=10
      peer inductor_models
      ;;
    *)
      echo "compare.sh: no part is named $1: fuse, eager, builtin, compile, autotune, jax," \
        "models, gradients, chains, random, dram" >&2
      failures=$((failures + 1))
      ;;
  esac
}

for part in "${parts[@]}"; do run_part "$part"; done
table "$out" && echo "table in $out/compare.md"
[ "$failures" -eq 0 ]
