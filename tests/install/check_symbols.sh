#!/bin/sh
# Only fuse_*, fuse::v0 (FUSE_0) and fuse:: (FUSE_PRIVATE) may be exported: another LLVM, fmt or
# zlib in the process must never meet ours.
set -eu
library=$1

names=$(nm -DC --defined-only "$library" | cut -d' ' -f3-)
foreign=$(printf '%s\n' "$names" |
  grep -Ev '^(guard variable for |typeinfo name for |typeinfo for |vtable for |non-virtual thunk to )?fuse(::|_)|^FUSE_(0|PRIVATE)(@|$)|^FUSE_(0|PRIVATE)$' || true)
if [ -n "$foreign" ]; then
  echo "exported, but not ours:"
  printf '%s\n' "$foreign" | head -20
  exit 1
fi

# The public API is under FUSE_0, what is internal is not.
misplaced=$(printf '%s\n' "$names" | grep '^fuse::v0::.*@@FUSE_PRIVATE$' || true)
misplaced=$misplaced$(printf '%s\n' "$names" | grep -Ev 'fuse::v0::|^fuse_|^FUSE_' |
  grep '@@FUSE_0$' || true)
if [ -n "$misplaced" ]; then
  echo "exported under the wrong version:"
  printf '%s\n' "$misplaced" | head -20
  exit 1
fi
for symbol in 'fuse::v0::compile(.*)' 'fuse_compile'; do
  printf '%s\n' "$names" | grep -q "^$symbol@@FUSE_0\$" || { echo "missing: $symbol"; exit 1; }
done

needed=$(objdump -p "$library" | awk '/NEEDED/ { print $2 }')
for n in $needed; do
  case $n in
    libstdc++.so.*|libm.so.*|libgcc_s.so.*|libc.so.*|ld-linux*|libasan*|libubsan*) ;;
    *) echo "needs $n at run time"; exit 1 ;;
  esac
done
