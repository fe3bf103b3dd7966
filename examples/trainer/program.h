// Graphs made ready to run over shared memory: what one writes, another reads by the same name.
#pragma once

#include <fuse/jit.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

/// Tensors and scalars, by the names that graphs give them.
class Arguments {
 public:
  explicit Arguments(bool on_gpu) : on_gpu_(on_gpu) {}

  /// Memory for a tensor of static shape, zeros at first.
  fuse::DeviceBuffer &tensor(const fuse::ArgumentInfo &argument);
  fuse::DeviceBuffer &tensor(const std::string &name) { return tensors_.at(name); }

  template <class T>
  void set(const std::string &scalar, T value) {
    std::memcpy(&scalars_[scalar], &value, sizeof value);
  }
  const void *scalar(const std::string &name) { return &scalars_[name]; }

 private:
  bool on_gpu_;
  std::map<std::string, fuse::DeviceBuffer> tensors_;
  std::map<std::string, std::uint64_t> scalars_;  // as many of the bytes as the dtype has
};

/// A compiled graph, bound to its arguments.
class Program {
 public:
  Program(const fuse::Graph &graph, const fuse::CompileOptions &options, Arguments &arguments,
          const fuse::ExternHandler &run_extern);

  void run() const { launch_(nullptr, addresses_.data(), addresses_.size(), options_); }
  const fuse::Executable &executable() const { return executable_; }

 private:
  fuse::Executable executable_;
  fuse::Launcher launch_;
  fuse::LaunchOptions options_;
  std::vector<const void *> addresses_;
};
