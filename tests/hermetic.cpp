// Linked into every test program: no test sees the code of an earlier run, whoever starts it. A
// test of the disk cache starts a process with a folder of its own, which stays.
#include <cstdlib>

namespace {
[[maybe_unused]] const int kNoDiskCache = ::setenv("FUSE_CACHE_DIR", "", 0);
}
