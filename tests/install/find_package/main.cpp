// The C++ API from C++17: errors cross the library's border, graphs can be built and printed.
#include <fuse/jit.h>

#include <cstdio>
#include <string>

int main() {
  if (std::string(fuse::version()) != FUSE_VERSION_STRING) return 1;
  fuse::Graph graph("scale");
  fuse::Value x = graph.input("x", fuse::f32, {graph.dim("B"), 8});
  graph.output("y", 2.0 * x + 1.0);
  if (graph.outputs().size() != 1) return 2;
  try {
    graph.output("z", x + graph.input("w", fuse::f32, {3}));
    return 3;
  } catch (const fuse::Error &error) {
    if (error.code() != fuse::ErrorCode::Shape) return 4;
    std::printf("%s\n", error.what());
  }
  return 0;
}
