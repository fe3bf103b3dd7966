# Shared by tools/demo.sh and tools/test.sh; sourced, not run.
#
# Callers stand in the repository root. Steps write to build/logs and speak only when they fail.

readonly build_packages="g++ git cmake ninja-build llvm-22-dev llvm-22-tools zlib1g-dev libzstd-dev
  libfmt-dev libcli11-dev nlohmann-json3-dev libboost-dev"
readonly test_packages="libgtest-dev libgmock-dev python3-numpy ccache clang-22
  libclang-rt-22-dev clang-tidy-22 clang-format-22"

export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
failed_steps=0

say() { printf '%s: %s\n' "$(basename "$0")" "$*"; }

# Installs those of the named Debian packages that dpkg does not have.
need_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg -s "$package" 2>/dev/null | grep -q '^Status: install ok' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  say "installing ${missing[*]}"
  mkdir -p build/logs
  if ! { apt-get update && DEBIAN_FRONTEND=noninteractive \
         apt-get install -y --no-install-recommends "${missing[@]}"; } >build/logs/apt.log 2>&1; then
    tail -n 20 build/logs/apt.log
    say "could not install ${missing[*]}: run as root, with Debian 12's security suite enabled"
    exit 1
  fi
}

# step NAME COMMAND...: runs the command; on failure shows the end of its log and counts it.
step() {
  local name=$1 start=$SECONDS
  shift
  mkdir -p build/logs
  say "$name ..."
  if "$@" >"build/logs/${name// /_}.log" 2>&1; then
    [ $((SECONDS - start)) -lt 5 ] || say "$name took $((SECONDS - start)) s"
    return 0
  fi
  tail -n 60 "build/logs/${name// /_}.log"
  say "$name FAILED after $((SECONDS - start)) s; all of it is in build/logs/${name// /_}.log"
  failed_steps=$((failed_steps + 1))
  return 1
}
