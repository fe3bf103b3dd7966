// A row for one set of sizes: compiled, and with its arguments in memory.
#pragma once

#include "ir/tensor.h"
#include "runtime/observe.h"
#include "suite.h"

#include <fuse/compile.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  /// A part of a partition for the target: its 16-bit values are rounded where the graph says so.
  Source(Graph part, Target target)
      : graph(std::move(part)), target(std::move(target)), strict(true) {}
  Source(std::string kernel_text, const Bindings &sizes)
      : kernel(std::move(kernel_text)), symbols(sizes) {}

  std::optional<Graph> graph;
  std::string kernel;
  Bindings symbols;              // values of those that are left
  std::optional<Target> target;  // none: the device, or the host
  bool strict = false;
};

/// Random numbers for inputs of a row's program, or of large ones for the first elements, as
/// vectors. The same inputs always get the same numbers; limits may name the sizes.
std::vector<Tensor> random_inputs(const Row &row, const Bindings &sizes,
                                  const std::vector<ArgumentInfo> &inputs, const Bindings &symbols);

/// Compiles the source for the device and takes the time of each stage.
CompileTimes time_compilation(const Source &source, int device);

/// Milliseconds of compile() where the disk cache has all of it, without the loading of code, which
/// this process has done; 0 where it did not come from the cache.
double time_from_disk(const Source &source);

/// Of tensors in memory of the executor, by name.
using Addresses = std::map<std::string, const void *>;

class Instance {
 public:
  Instance(const Source &source, Executor executor, bool tune = false);

  const Executable &executable() const { return executable_; }
  const Bindings &symbols() const { return symbols_; }
  /// How often the program calls each extern operation.
  const std::map<std::string, int> &externs() const { return externs_; }

  std::vector<std::int64_t> shape_of(const ArgumentInfo &info) const {
    return evaluate(info.shape, symbols_);
  }
  /// Bytes of all inputs and outputs, each counted once; of inputs that are only gathered from, no
  /// more than what is taken.
  std::int64_t ideal_bytes() const;

  std::vector<Tensor> random_inputs(const Row &row, const Bindings &sizes) const {
    return bench::random_inputs(row, sizes, executable_.inputs(), symbols_);
  }

  /// Gives the inputs memory, filled by repeating the tensors, and the outputs memory full of ones
  /// in every bit.
  void set_arguments(const std::vector<Tensor> &inputs);
  /// Inputs that lie somewhere already, by name, stay there and need no tensor.
  void set_arguments(const std::map<std::string, Tensor> &inputs, const Addresses &lying);
  /// Of inputs and outputs.
  Addresses addresses() const;
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
  /// Nothing where it has no output of this name.
  std::optional<Tensor> output(std::string_view name) const;

 private:
  DeviceBuffer allocate(std::size_t bytes) const;
  void set_input(const ArgumentInfo &info, const Tensor &tensor);
  void add_output(const ArgumentInfo &info);
  void finish_arguments();

  Bindings symbols_;
  Executable executable_;
  std::map<std::string, std::int64_t> gathered_;  // bytes, by input
  std::map<std::string, int> externs_;
  std::optional<Launcher> launcher_;
  std::vector<Tensor> scalars_;  // what arguments_ points to
  std::vector<DeviceBuffer> buffers_;
  std::vector<const void *> arguments_;
};

}  // namespace fuse::bench
