# shellcheck shell=bash disable=SC2034
# Shared by tools/demo.sh and tools/test.sh; sourced, not run.
#
# Callers stand in the repository root. Steps write to build/logs; they speak when they fail, and
# every half minute.

readonly build_packages="g++ git cmake ninja-build llvm-22-dev llvm-22-tools zlib1g-dev libzstd-dev
  libfmt-dev libcli11-dev nlohmann-json3-dev libboost-dev"
readonly test_packages="libgtest-dev libgmock-dev pkg-config python3-numpy ccache clang-22
  libclang-rt-22-dev clang-tidy-22 clang-format-22"

export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
failed_steps=0

say() { printf '%s: %s\n' "$(basename "$0")" "$*"; }

# speak_while_running NAME LOG: says every half minute how far the step is, by the end of its log.
speak_while_running() {
  local start=$SECONDS
  while sleep 30 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    say "$1: $((SECONDS - start)) s, $(tail -n 1 "$2" | tr -cd '[:print:]' | cut -c 1-90)"
  done
}

# logged NAME LOG COMMAND...: runs the command into the log, speaking meanwhile.
logged() {
  local name=$1 log=$2 status=0 speaker
  shift 2
  mkdir -p "$(dirname "$log")"
  : >"$log"
  speak_while_running "$name" "$log" &
  speaker=$!
  "$@" >"$log" 2>&1 || status=$?
  kill $speaker 2>/dev/null || true
  wait $speaker 2>/dev/null || true
  return $status
}

install_packages() {
  apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# Installs those of the named Debian packages that dpkg does not have.
need_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg -s "$package" 2>/dev/null | grep -q '^Status: install ok' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  say "installing ${missing[*]}"
  if ! logged "apt-get" build/logs/apt.log install_packages "${missing[@]}"; then
    tail -n 20 build/logs/apt.log
    say "could not install ${missing[*]}: run as root, with Debian 12's security suite enabled"
    exit 1
  fi
}

# step NAME COMMAND...: runs the command; on failure shows the end of its log and counts it.
step() {
  local name=$1 log=build/logs/${1// /_}.log start=$SECONDS
  shift
  say "$name ..."
  if logged "$name" "$log" "$@"; then
    [ $((SECONDS - start)) -lt 5 ] || say "$name took $((SECONDS - start)) s"
    return 0
  fi
  tail -n 60 "$log"
  say "$name FAILED after $((SECONDS - start)) s; all of it is in $log"
  failed_steps=$((failed_steps + 1))
  return 1
}
