// Fuzz target: any text is a graph that reads back from its print, or an Error that says why not.
#include <fuse/graph.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  try {
    fuse::Graph graph = fuse::parse(text);
    std::string printed = fuse::to_string(graph);
    if (fuse::parse(printed) == graph) return 0;
    std::fprintf(stderr, "does not read back:\n%s", printed.c_str());
  } catch (const fuse::Error &error) {
    if (error.code() != fuse::ErrorCode::Internal) return 0;
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::abort();
}
