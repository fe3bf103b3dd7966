#!/usr/bin/env bash
# Installs what is missing, builds, and runs the main job: the gelu of a 7B model's hidden states,
# from C++ and from text.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/common.sh
. tools/common.sh

# shellcheck disable=SC2086
need_packages $build_packages
step "configure demo" cmake --preset release -DFUSE_BUILD_TESTS=OFF -B build/demo
step "build demo" cmake --build build/demo -j "$(nproc)"

say "examples/gelu.cpp: built through the C++ interface"
build/demo/bin/gelu
say "examples/gelu.fuse: the same from text, explained for an H200"
build/demo/bin/fuse-opt examples/gelu.fuse --explain --target=h200 --dim B=512
say "and run, every element compared with the evaluator"
build/demo/bin/fuse-opt examples/gelu.fuse --verify --dim B=512
