#include "capture.h"

namespace fuse::bench {

using namespace cuda;

Capture::Capture(CUstream stream, const std::function<void()> &work) {
  FUSE_CUDA(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  try {
    work();
  } catch (...) {
    driver().cuStreamEndCapture(stream, &graph_);
    if (graph_) driver().cuGraphDestroy(graph_);
    throw;
  }
  FUSE_CUDA(cuStreamEndCapture, stream, &graph_);
  FUSE_CUDA(cuGraphInstantiate, &executable_, graph_, 0);
}

Capture::~Capture() {
  driver().cuGraphExecDestroy(executable_);
  driver().cuGraphDestroy(graph_);
}

std::vector<CUkernelNodeParams> Capture::kernels() const {
  std::size_t count = 0;
  FUSE_CUDA(cuGraphGetNodes, graph_, nullptr, &count);
  std::vector<CUgraphNode> nodes(count);
  FUSE_CUDA(cuGraphGetNodes, graph_, nodes.data(), &count);
  std::vector<CUkernelNodeParams> kernels;
  for (CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    FUSE_CUDA(cuGraphNodeGetType, node, &type);
    if (type == CU_GRAPH_NODE_TYPE_KERNEL)
      FUSE_CUDA(cuGraphKernelNodeGetParams, node, &kernels.emplace_back());
  }
  return kernels;
}

}  // namespace fuse::bench
