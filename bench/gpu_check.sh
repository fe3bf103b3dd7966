#!/usr/bin/env bash
# Everything that needs a GPU, in one go: programs against the evaluator, tests, compute-sanitizer,
# fuse-bench. Runs on what bench/pack.sh packed; goes on after failures and ends with a summary.
#
#   bench/gpu_check.sh [CARRY] [STEP...]
#
# CARRY is the packed folder, by default build/pack. Steps: programs, tests, sanitizer, suite, kernels,
# gradients, launch, calibrate, models, all of them by default, and compare, which is bench/compare.sh.
# Logs and JSON go to $OUT, or to gpu_check_out. Exits with 1 if anything failed.
set -u

carry=$(realpath "${1:-build/pack}")
[ $# -eq 0 ] || shift
steps="${*:-programs tests sanitizer suite kernels gradients launch calibrate models}"
out=$(realpath -m "${OUT:-gpu_check_out}")
mkdir -p "$out"
export LD_LIBRARY_PATH="$carry/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export FUSE_CACHE_DIR=
export FUSE_KERNEL_DIR="$carry/tests/kernels"
on=${FUSE_TEST_EXECUTOR:-gpu}
cd "$carry" || exit 1
chmod +x bin/* 2>/dev/null

summary=()
failures=0
quiet=  # not empty: only failures are noted

note() { summary+=("$(printf '%-44s %s' "$1" "$2")"); }

# attempt NAME SECONDS COMMAND...: runs it with its output in a log; notes how it ended.
attempt() {
  local name=$1 limit=$2 start=$SECONDS log rc
  shift 2
  log="$out/${name//[ \/]/_}.log"
  timeout -k 5 "$limit" "$@" >"$log" 2>&1
  rc=$?
  if [ $rc -eq 0 ]; then
    [ -n "$quiet" ] || note "$name" "ok, $((SECONDS - start)) s"
    return 0
  fi
  failures=$((failures + 1))
  case $rc in
    124 | 137) note "$name" "TIMED OUT after $limit s" ;;
    *) note "$name" "FAILED with $rc: $(grep -v '^ *$' "$log" | tail -n 1 | cut -c1-200)" ;;
  esac
  return $rc
}

# Sizes for the symbols of a program: "B=37,C=21". Odd, and different from one another.
sizes_of() {
  bin/fuse-opt "$1" 2>/dev/null | awk '
    $1 == "symbol" {
      value = 37 - 8 * (count++ % 5); divisor = 1
      for (i = 3; i <= NF; ++i) if ($i ~ /^divisor=/) divisor = substr($i, 9)
      printf "%s%s=%d", (count > 1 ? "," : ""), $2, value * divisor
    }'
}

# Graphs that fuse-opt reads and can run by itself: files that show errors are none of them,
# extern operations need a caller that runs them, models are too large for the evaluator, and golden
# tests say whether they can be judged.
programs() {
  local file
  find tests examples bench/suite -name '*.fuse' -not -path '*/suite/models/*' \
    -not -path '*/suite/generated/*' 2>/dev/null | sort | while read -r file; do
    bin/fuse-opt "$file" 2>/dev/null | grep -q ' extern "' && continue
    case $file in tests/golden/*) grep -q -e --verify "$file" || continue ;; esac
    bin/fuse-opt "$file" >/dev/null 2>&1 && echo "$file"
  done
}

# run_program NAME FILE SECONDS TOOL...: the program on the GPU, judged by the evaluator.
run_program() {
  local name=$1 file=$2 limit=$3 dims options=()
  shift 3
  dims=$(sizes_of "$file")
  [ -z "$dims" ] || options=("--dim=$dims")
  attempt "$name" "$limit" "$@" bin/fuse-opt "$file" --verify "--on=$on" "${options[@]}"
}

step_programs() {
  local file total=0 wrong=0 quiet=1
  while read -r file; do
    total=$((total + 1))
    run_program "run $file" "$file" 60 || wrong=$((wrong + 1))
  done < <(programs)
  note "programs" "$((total - wrong)) of $total agree with the evaluator"
}

step_tests() {
  local name
  while read -r name; do
    [ -x "bin/$name" ] || continue
    attempt "test $name" 180 env "FUSE_TEST_EXECUTOR=$on" "bin/$name" --gtest_brief=1
    note "  " "$(grep -E '^\[  (PASSED|SKIPPED|FAILED)' "$out/test_$name.log" | head -n 3 | paste -sd ' ')"
  done <tests.txt
}

step_sanitizer() {
  local tool file
  if ! command -v compute-sanitizer >/dev/null; then
    note "sanitizer" "skipped: there is no compute-sanitizer"
    return
  fi
  for tool in memcheck racecheck; do
    while read -r file; do
      run_program "$tool $file" "$file" 90 compute-sanitizer --tool "$tool" --error-exitcode 9
    done < <(programs | head -n "${FUSE_SANITIZE_PROGRAMS:-6}")
    [ ! -x bin/kernels_test ] ||
      attempt "$tool kernels_test" 150 env "FUSE_TEST_EXECUTOR=$on" \
        compute-sanitizer --tool "$tool" --error-exitcode 9 bin/kernels_test --gtest_brief=1
  done
}

# measure SUITE OPTION...: a list in bench/suite through fuse-bench; its table is part of the summary.
measure() {
  local suite=$1 name=${1##*/}
  shift
  attempt "fuse-bench $name" 300 bin/fuse-bench "--suite=bench/suite/$suite.json" "--on=$on" \
    "--json=$out/$name.json" "$@"
  tables+=("$out/fuse-bench_$name.log")
}

step_suite() { measure suite; }
step_kernels() { measure kernels; }
# Forward and backward, plan by plan.
step_gradients() {
  measure gradients
  measure generated/chains
  measure generated/random
  attempt "dram counters" 120 env "OUT=$out" "CARRY=$carry" python3 bench/dram_counters.py
  tables+=("$out/dram_counters.log")
}
step_models() {
  if [ -e bench/suite/models ]; then
    measure models --kernels --runs=10
  else
    note "models" "skipped: bench/pack.sh had no FUSE_MODEL_GRAPHS"
  fi
}
step_compare() {
  attempt compare 1800 env "OUT=$out" "CARRY=$carry" bench/compare.sh
  tables+=("$out/compare.md")
}

step_launch() {
  attempt "fuse-bench launch" 120 bin/fuse-bench --launch chain \
    'row sum 16384' 'softmax 32768x1024' 'batch norm' "--json=$out/launch.json"
  tables+=("$out/fuse-bench_launch.log")
}

# The figures are those of a machine: fuse-opt plans with them.
step_calibrate() {
  attempt "fuse-bench calibrate" 120 bin/fuse-bench --calibrate "--json=$out/calibrate.json" &&
    attempt "explain calibrated" 30 bin/fuse-opt examples/gelu.fuse --explain --dim=B=512 \
      "--target=$out/fuse-bench_calibrate.log"
  tables+=("$out/fuse-bench_calibrate.log")
}

echo "commit $(cat commit.txt 2>/dev/null), $(date -u +%FT%TZ), $(uname -r)"
grep -h PRETTY_NAME /etc/os-release
nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,temperature.gpu --format=csv 2>&1 |
  tail -n 2
bin/fuse-opt --list-targets >"$out/targets.log" 2>&1 || {
  echo "fuse-opt does not start: $(cat "$out/targets.log")"
  exit 1
}

tables=()
for step in $steps; do
  case $step in
    programs | tests | sanitizer | suite | kernels | gradients | launch | calibrate | models | compare) "step_$step" ;;
    *) echo "gpu_check.sh: no step is named $step" >&2 ;;
  esac
done

echo
for table in "${tables[@]+"${tables[@]}"}"; do cat "$table" && echo; done
printf '%s\n' "${summary[@]+"${summary[@]}"}" | tee "$out/summary.txt"
echo "$failures failures; logs in $out"
[ "$failures" -eq 0 ]
