// The C++ API from C++17: errors cross the library's border, graphs can be built and printed.
#include <fuse/jit.h>

#include <cstdio>
#include <string>

namespace {

/// Compiles and launches, by shapes and bound.
bool computes(const fuse::Graph &graph) {
  fuse::CompileOptions options;
  options.executor = fuse::Executor::Host;
  const fuse::Executable executable = fuse::compile(graph, options);
  alignas(16) float x[24], y[24] = {};
  for (int i = 0; i < 24; ++i) x[i] = static_cast<float>(i);
  executable.launch(nullptr, {fuse::tensor(x, {3, 8}), fuse::tensor(y, {3, 8})});
  if (y[23] != 47.0f) return false;
  executable.bind({2})(nullptr, {x + 8, y});
  return y[0] == 17.0f && y[23] == 47.0f;
}

}  // namespace

int main() {
  if (std::string(fuse::version()) != FUSE_VERSION_STRING) return 1;
  fuse::Graph graph("scale");
  fuse::Value x = graph.input("x", fuse::f32, {graph.dim("B"), 8});
  graph.output("y", 2.0 * x + 1.0);
  if (graph.outputs().size() != 1) return 2;
  if (!computes(graph)) return 5;
  try {
    graph.output("z", x + graph.input("w", fuse::f32, {3}));
    return 3;
  } catch (const fuse::Error &error) {
    if (error.code() != fuse::ErrorCode::Shape) return 4;
    std::printf("%s\n", error.what());
  }
  return 0;
}
