// Fuzz target: any text is a program that reads back from its print, or an Error that says why not.
#include "ir/program_text.h"

#include <fuse/error.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  std::string printed;
  try {
    printed = fuse::to_string(
        fuse::parse_program(std::string_view(reinterpret_cast<const char *>(data), size)));
  } catch (const fuse::Error &error) {
    if (error.code() != fuse::ErrorCode::Internal) return 0;
    std::fprintf(stderr, "%s\n", error.what());
    std::abort();
  }
  try {
    if (fuse::to_string(fuse::parse_program(printed)) == printed) return 0;
  } catch (const fuse::Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::fprintf(stderr, "does not read back:\n%s", printed.c_str());
  std::abort();
}
