// Fuzz target: any bytes choose a graph, which must keep its meaning all along the road.
#include "property/properties.h"

#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  fuse::Entropy entropy(std::span<const std::uint8_t>(data, size));
  fuse::RandomGraphOptions options;
  options.operations = 6;
  options.max_elements = 300;
  fuse::RandomGraph random = fuse::random_graph(entropy, options);
  for (auto *property : {fuse::passes_keep_meaning, fuse::texts_read_back, fuse::kernels_compute}) {
    std::string fault = fuse::check(random, property);
    if (fault.empty()) continue;
    std::fprintf(stderr, "%s\n", fault.c_str());
    std::abort();
  }
  return 0;
}
