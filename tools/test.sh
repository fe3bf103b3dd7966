#!/usr/bin/env bash
# Builds and runs every test. Ends with one line: "N passed, N failed, N skipped".
#
#   tools/test.sh           what CI runs: Release, sanitizers, format, lint, sizes
#   tools/test.sh --quick   the Release build and its tests only
#   tools/test.sh --long    also the long forms: whole models, five-minute fuzzing, the analyzer
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/common.sh
. tools/common.sh

mode=normal
case "${1:-}" in
  "") ;;
  --quick | --long) mode=${1#--} ;;
  *) echo "usage: tools/test.sh [--quick | --long]" >&2 && exit 2 ;;
esac
[ "$mode" != long ] || export FUSE_TEST_LONG=1
export FUSE_CACHE_DIR=  # no program that a test starts sees the code of an earlier run
jobs=$(nproc)
reports=()

# Seconds that each set of tests may take before this script complains.
readonly test_budget=480

# run_tests PRESET [CTEST OPTION...]: configures, builds and tests; the results go to the closing
# line.
run_tests() {
  local preset=$1 start
  shift
  step "configure $preset" cmake --preset "$preset" || return 0
  step "build $preset" cmake --build --preset "$preset" -j "$jobs" || return 0
  rm -rf "build/$preset/reports"
  mkdir -p "build/$preset/reports"
  reports+=("build/$preset/reports")
  start=$SECONDS
  step "test $preset" ctest --test-dir "build/$preset" -j 2 --no-tests=error --timeout 120 "$@" \
    --output-on-failure --output-junit "reports/ctest.xml" || true
  [ $((SECONDS - start)) -le $test_budget ] ||
    say "warning: the tests took $((SECONDS - start)) s of a budget of $test_budget s"
}

changed_sources() {
  local base
  base=$(git merge-base HEAD origin/main 2>/dev/null || true)
  [ -n "$base" ] && [ "$base" != "$(git rev-parse HEAD)" ] || base=$(git rev-parse -q --verify HEAD~1)
  git diff --name-only --diff-filter=d "$base" -- 'lib/*.cpp' 'tools/*.cpp' 'examples/*.cpp'
}

tidy() {
  changed_sources | xargs -r -n 1 -P "$jobs" clang-tidy-22 --quiet -p build/asan
}

check_format() {
  git ls-files '*.cpp' '*.h' | xargs clang-format-22 --dry-run -Werror && return
  echo "to mend it: git ls-files '*.cpp' '*.h' | xargs clang-format-22 -i"
  return 1
}

# shellcheck disable=SC2086
need_packages $build_packages $test_packages
run_tests ci
if [ "$mode" != quick ]; then
  # Searches over random graphs, every operation on every input and libFuzzer take sanitizers too
  # long for each change: --long has them.
  sanitized=(-L '^(unit|golden|kernels|gpu)$')
  [ "$mode" != long ] || sanitized=()
  run_tests asan "${sanitized[@]+"${sanitized[@]}"}"
  step "format" check_format || true
  step "lint" tidy || true
  step "sizes" tools/check_sizes.py || true
  grep total build/logs/sizes.log || true
fi
[ $failed_steps -eq 0 ] || say "$failed_steps step(s) failed"
tools/test_summary.py --failed-steps=$failed_steps "${reports[@]}"
