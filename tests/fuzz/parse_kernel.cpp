// Fuzz target: any text is a kernel that reads back from its print, or an Error that says why not.
// What parses is verified too: that ends with an Error or without, and nothing else.
#include "ir/kernel.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

bool verifies(const fuse::Kernel &kernel) {
  try {
    fuse::verify(kernel);
    return true;
  } catch (const fuse::Error &) {
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  std::string printed;
  try {
    fuse::Kernel kernel =
        fuse::parse_kernel(std::string_view(reinterpret_cast<const char *>(data), size));
    if (!verifies(kernel)) return 0;
    printed = fuse::to_string(kernel);
  } catch (const fuse::Error &) {
    return 0;
  }
  try {
    if (fuse::to_string(fuse::parse_kernel(printed)) == printed) return 0;
  } catch (const fuse::Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::fprintf(stderr, "does not read back:\n%s", printed.c_str());
  std::abort();
}
