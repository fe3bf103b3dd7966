#!/bin/sh
# check_add_subdirectory.sh SOURCE BUILD OPTIONS...: configures a project that has the library as a
# part of itself, and builds a user of its headers; with FUSE_TEST_LONG all of it, and runs it.
set -eu
source=$1 build=$2
shift 2
cmake -S "$source" -B "$build" "$@"
if [ -z "${FUSE_TEST_LONG:-}" ]; then
  exec cmake --build "$build" --target headers
fi
cmake --build "$build"
exec ctest --test-dir "$build" --output-on-failure --no-tests=error
