// Fuzz target: any text of a graph compiles to PTX, or an Error says why not. What may be refused
// is a wrong program; an internal error is a finding.
#include "codegen/codegen.h"
#include "ir/graph_data.h"
#include "passes/passes.h"

#include <fuse/graph.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::size_t kMaxNodes = 60;

void compile(const fuse::Graph &graph, const fuse::Target &target) {
  fuse::Program program = fuse::lower(graph, target, {});
  std::vector<const fuse::Kernel *> kernels;
  for (const fuse::Kernel &kernel : program.kernels) {
    fuse::verify(kernel);
    kernels.push_back(&kernel);
  }
  if (!kernels.empty()) fuse::emit_ptx(kernels, target);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static const fuse::Target target = fuse::Target::named("h200");
  try {
    fuse::Graph graph = fuse::parse(std::string_view(reinterpret_cast<const char *>(data), size));
    if (graph.data().size() <= kMaxNodes) compile(graph, target);
    return 0;
  } catch (const fuse::Error &error) {
    if (error.code() != fuse::ErrorCode::Internal) return 0;
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::abort();
}
