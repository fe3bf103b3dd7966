#!/bin/sh
# fusejit.pc of the installed tree says what a compiler needs.
set -eu
prefix=$1 libdir=$2 version=$3

command -v pkg-config >/dev/null || { echo "SKIP: pkg-config is not installed"; exit 77; }
export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig"
test "$(pkg-config --modversion fusejit)" = "$version"
pkg-config --libs fusejit | grep -Eq -- "-L.*/$libdir -lfusejit"
pkg-config --cflags fusejit | grep -Eq -- "-I.*/include"
