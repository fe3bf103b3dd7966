// One planned kernel becomes a Kernel.
#pragma once

#include "passes/passes.h"
#include "passes/schedule/body.h"

#include <optional>

namespace fuse {

/// A tensor of the kernel as the program binds it.
struct KernelArgument {
  enum class Kind : std::uint8_t { Read, Write, Part, Counter, Shared } kind = Kind::Read;
  NodeId node = kNoNode;  // Read, Write
  std::size_t output =
      0;        // Write: which of the node's tensors; Shared: argument of the first kernel
  Index bytes;  // Part, Counter: workspace of this kernel alone
};

struct BuiltKernel {
  Kernel kernel;
  std::vector<KernelArgument> arguments;  // one for each buffer
  std::vector<Limit> limits;
  std::vector<SizeRange> ranges;
  std::vector<BuiltKernel> next;  // run behind it; they read what it left in workspace
};

/// How a node lies in memory, decided by the program: names, strides, alignment.
struct MemoryLayout {
  std::string name;
  Shape shape;  // the node's, or a reshape of it
  bool strided = false;
  bool is_scalar = false;
  int alignment = 16;
  bool has_rows = false;  // strided: the last axis has stride 1
  bool shifted = false;   // ArgumentClass
};
struct KernelMemory {
  std::map<NodeId, MemoryLayout> reads;
  std::map<NodeId, std::vector<MemoryLayout>> writes;
};

/// Lays a planned kernel on the machine. `leeway`: see tolerance.h. With
/// `common_threads`, so that others of its kind differ from it in sizes alone: pack_instances.
BuiltKernel build_kernel(const GraphData &graph, const PlannedKernel &planned,
                         const KernelMemory &memory, const Target &target,
                         const LowerOptions &options, const Leeway &leeway, int common_threads = 0);

}  // namespace fuse
