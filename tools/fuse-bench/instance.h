// A row for one set of sizes: compiled, and with its arguments in memory.
#pragma once

#include "ir/tensor.h"
#include "runtime/observe.h"
#include "suite.h"

#include <fuse/compile.h>

#include <map>
#include <optional>

namespace fuse::bench {

/// Milliseconds of the stages from a graph to functions that can be launched, caches off: planning
/// and scheduling, PTX, machine code (by the driver), loading.
struct CompileTimes {
  double lower = 0, emit = 0, assemble = 0, load = 0;
  double total() const { return lower + emit + assemble + load; }
};

/// The program of a row for one set of sizes: a graph with static extents, or the text of a kernel.
struct Source {
  Source(const Row &row, const Bindings &sizes);
  Source(std::string kernel_text, const Bindings &sizes)
      : kernel(std::move(kernel_text)), symbols(sizes) {}

  std::optional<Graph> graph;
  std::string kernel;
  Bindings symbols;  // values of those that are left
};

/// Compiles the source for the device and takes the time of each stage.
CompileTimes time_compilation(const Source &source, int device);

/// Milliseconds of compile() where the disk cache has all of it, without the loading of code, which
/// this process has done; 0 where it did not come from the cache.
double time_from_disk(const Source &source);

class Instance {
 public:
  Instance(const Source &source, Executor executor, bool tune = false);

  const Executable &executable() const { return executable_; }
  const Bindings &symbols() const { return symbols_; }

  std::vector<std::int64_t> shape_of(const ArgumentInfo &info) const {
    return evaluate(info.shape, symbols_);
  }
  /// Bytes of all inputs and outputs, each counted once; of inputs that are only gathered from, no
  /// more than what is taken.
  std::int64_t ideal_bytes() const;

  /// Random inputs of the row for its sizes, or of large ones the first elements, as vectors. Every
  /// instance draws the same numbers.
  std::vector<Tensor> random_inputs(const Row &row, const Bindings &sizes) const;

  /// Gives the inputs memory, filled by repeating the tensors, and the outputs memory full of ones
  /// in every bit.
  void set_arguments(const std::vector<Tensor> &inputs);
  /// Launches. Extern operations do nothing: their results stay as they are.
  void run() const;
  void run(const StepObserver &observer, const ExternHandler &run_extern) const;
  /// Fills memory of the executor with a tensor, over and over.
  void fill(void *data, std::size_t bytes, const Tensor &tensor) const;
  /// Bytes of arguments and workspace.
  std::int64_t memory_bytes() const;
  /// What a launch takes: inputs, then outputs.
  const std::vector<const void *> &arguments() const { return arguments_; }
  const Launcher &launcher() const { return *launcher_; }
  /// The outputs as they are in memory.
  std::vector<Tensor> outputs() const;

 private:
  DeviceBuffer allocate(std::size_t bytes) const;
  void set_input(const ArgumentInfo &info, const Tensor &tensor);
  void add_output(const ArgumentInfo &info);

  Bindings symbols_;
  Executable executable_;
  std::map<std::string, std::int64_t> gathered_;  // bytes, by input
  std::optional<Launcher> launcher_;
  std::vector<Tensor> scalars_;  // what arguments_ points to
  std::vector<DeviceBuffer> buffers_;
  std::vector<const void *> arguments_;
};

}  // namespace fuse::bench
