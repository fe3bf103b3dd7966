// Runs a kernel file: tensors by name, sizes by symbol.
//
// The interpreter always runs it, and counts its accesses. FUSE_TEST_EXECUTOR=host or gpu then runs
// it once more there, and these are the results that a test sees; clusters and odd addresses too.
#pragma once

#include "ir/float_bits.h"
#include "ir/instances.h"
#include "ir/kernel_interpret.h"
#include "runtime/kernel_program.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace fuse::test {

/// The folder of the kernels; another one on a machine without this source tree.
inline std::string kernel_folder() {
  const char *folder = std::getenv("FUSE_KERNEL_DIR");
  return folder ? folder : FUSE_KERNEL_DIR;
}

/// Where kernels run beside the interpreter, if anywhere.
inline Executor extra_executor() {
  const char *on = std::getenv("FUSE_TEST_EXECUTOR");
  std::string word = on ? on : "";
  if (word == "gpu") return Executor::Gpu;
  return word == "host" ? Executor::Host : Executor::None;
}

inline Kernel read_kernel(const std::string &name) {
  std::string path = kernel_folder() + "/" + name + ".kernel";
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return parse_kernel(text.str(), path);
}

/// A host tensor of any dtype, read and written as doubles.
class Tensor {
 public:
  Tensor(DType dtype, std::int64_t elements)
      : dtype_(dtype), bytes_(static_cast<std::size_t>(elements) * size_of(dtype)) {}

  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size() / size_of(dtype_)); }
  void *data() { return bytes_.data(); }
  std::size_t bytes() const { return bytes_.size(); }
  DType dtype() const { return dtype_; }
  bool operator==(const Tensor &) const = default;

  double operator[](std::int64_t i) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &bytes_[place(i)], size_of(dtype_));
    return is_int(dtype_) ? static_cast<double>(as_int({dtype_, wrap_int(dtype_, bits)}))
                          : as_double({dtype_, bits});
  }

  void set(std::int64_t i, double value) {
    std::uint64_t bits = is_float(dtype_)
                             ? encode_float(dtype_, value)
                             : static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    std::memcpy(&bytes_[place(i)], &bits, size_of(dtype_));
  }

 private:
  std::size_t place(std::int64_t i) const { return static_cast<std::size_t>(i) * size_of(dtype_); }

  DType dtype_;
  std::vector<char> bytes_;
};

/// One kernel, its sizes and its tensors; inputs are random in [-2, 2) until they are set.
class KernelRun {
 public:
  KernelRun(const std::string &name, Bindings symbols)
      : kernel_(read_kernel(name)), symbols_(std::move(symbols)) {
    verify(kernel_);
    std::mt19937 random(7);
    for (const LaunchBuffer &at : launch_buffers(kernel_)) {
      const Buffer &b = kernel_.buffers[at.buffer];
      Index elements = 1;
      for (const Index &e : b.shape) elements = elements * at_instance(kernel_, e, at.instance);
      Tensor tensor(b.dtype, evaluate(elements, [&](const Atom &a) { return symbols_[a.symbol]; }));
      bool is_input = b.role == BufferRole::Input || b.role == BufferRole::Scalar;
      for (std::int64_t i = 0; is_input && i < tensor.size(); ++i)
        tensor.set(i, static_cast<double>(random() % 4096) / 1024 - 2);
      tensors_.emplace(name_of(kernel_, at), std::move(tensor));
    }
  }

  const Kernel &kernel() const { return kernel_; }
  Tensor &operator[](const std::string &name) { return tensors_.at(name); }
  std::map<std::string, std::int64_t> phases;  // by buffer; 0 if missing

  /// Runs it, and once more with clusters in another order: the results must have the same bits.
  /// Then it runs on the extra executor.
  void run() {
    auto before = tensors_;
    launch(0);
    auto first = tensors_;
    tensors_ = before;
    launch(3);
    if (!(tensors_ == first)) throw std::runtime_error("results depend on the order of blocks");
    if (extra_executor() != Executor::None) execute(std::move(before));
  }

  /// Counts of the access to the buffer, or of the move, of the given name.
  const AccessStats &stats(const std::string &name) const {
    for (const AccessStats &s : stats_) {
      bool is_move = s.stmt->kind == StmtKind::Move;
      const std::string &own =
          is_move ? kernel_.values[s.stmt->results[0]].name : kernel_.buffers[s.stmt->buffer].name;
      if (own == name) return s;
    }
    throw std::out_of_range(name);
  }

 private:
  void launch(std::uint64_t seed) {
    InterpreterLaunch launch;
    for (const LaunchBuffer &at : launch_buffers(kernel_)) {
      std::string name = name_of(kernel_, at);
      Tensor &t = tensors_.at(name);
      launch.buffers.push_back({t.data(), t.size(), phases[name]});
    }
    launch.symbols = symbols_;
    launch.seed = seed;
    stats_ = interpret(kernel_, launch);
  }

  BufferRole role_of(const LaunchBuffer &at) const { return kernel_.buffers[at.buffer].role; }

  /// Bytes by which the buffer lies behind a 16-byte boundary.
  std::size_t shift(const LaunchBuffer &at) {
    std::string name = name_of(kernel_, at);
    return static_cast<std::size_t>(phases[name]) * size_of(kernel_.buffers[at.buffer].dtype);
  }

  DeviceBuffer upload(const LaunchBuffer &at, bool on_host) {
    Tensor &tensor = tensors_.at(name_of(kernel_, at));
    std::size_t bytes = shift(at) + tensor.bytes();
    DeviceBuffer memory = on_host ? DeviceBuffer::host(bytes) : DeviceBuffer::device(bytes);
    std::string ones(bytes, '\xFF');
    memory.copy_from_host(ones.data(), bytes);
    if (role_of(at) == BufferRole::Input)
      memory.copy_from_host(tensor.data(), tensor.bytes(), shift(at));
    return memory;
  }

  /// Inputs as they were, outputs full of ones; workspace tensors stay as the interpreter left
  /// them.
  void execute(std::map<std::string, Tensor> before) {
    std::vector<LaunchBuffer> buffers = launch_buffers(kernel_);
    for (const LaunchBuffer &at : buffers)
      if (role_of(at) != BufferRole::Workspace)
        tensors_.at(name_of(kernel_, at)) = before.at(name_of(kernel_, at));
    CompileOptions options;
    options.executor = extra_executor();
    Executable executable = compile_kernel(kernel_, options);
    std::map<std::string, DeviceBuffer> memory;
    std::map<std::string, const void *> address;
    int alignment = 16;
    for (const LaunchBuffer &at : buffers) {
      if (role_of(at) == BufferRole::Workspace) continue;
      std::string name = name_of(kernel_, at);
      address[name] = tensors_.at(name).data();
      if (role_of(at) == BufferRole::Scalar) continue;
      memory[name] = upload(at, options.executor == Executor::Host);
      address[name] = static_cast<char *>(memory[name].data()) + shift(at);
      if (shift(at) % 16 != 0)
        alignment = static_cast<int>(size_of(kernel_.buffers[at.buffer].dtype));
    }
    std::vector<const void *> arguments;
    for (const ArgumentInfo &info : executable.inputs()) arguments.push_back(address[info.name]);
    for (const ArgumentInfo &info : executable.outputs()) arguments.push_back(address[info.name]);
    BindOptions binding;
    binding.alignment = alignment;
    executable.bind(Dims(symbols_), binding)(nullptr, arguments.data(), arguments.size());
    for (const LaunchBuffer &at : buffers) {
      if (role_of(at) != BufferRole::Output) continue;
      Tensor &tensor = tensors_.at(name_of(kernel_, at));
      memory[name_of(kernel_, at)].copy_to_host(tensor.data(), tensor.bytes(), shift(at));
    }
  }

  Kernel kernel_;
  Bindings symbols_;
  std::map<std::string, Tensor> tensors_;
  std::vector<AccessStats> stats_;
};

}  // namespace fuse::test
