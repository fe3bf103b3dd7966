# Golden tests: a program, the command that reads it, and what FileCheck expects of the output.
#
# ctest sets FUSE_BIN (the tools) and LLVM_TOOLS (FileCheck, not); `lit-22 tests/golden -v` works
# by hand with both set.
import os

import lit.formats

config.name = "fuse"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".fuse", ".kernel", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(os.environ["FUSE_BIN"], "..", "tests", "golden")
config.environment["PATH"] = os.pathsep.join(
    [os.environ["FUSE_BIN"], os.environ["LLVM_TOOLS"], config.environment["PATH"]])
config.environment["FUSE_CACHE_DIR"] = ""
config.substitutions.append(("%fuse-opt", os.path.join(os.environ["FUSE_BIN"], "fuse-opt")))
# Debian's, which has its NumPy.
config.substitutions.append(("%python", "/usr/bin/python3"))
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
