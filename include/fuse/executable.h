// A compiled graph: launching it, and asking what was decided.
//
// An Executable is immutable and cheap to copy; threads, streams and devices may share it.
// launch() takes shapes and checks everything; bind() does all that depends on sizes beforehand
// and returns a Launcher whose call only packs parameters and launches.
#pragma once

#include <fuse/buffer.h>
#include <fuse/config.h>
#include <fuse/dtype.h>
#include <fuse/report.h>
#include <fuse/shape.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

struct CUstream_st;  // cudaStream_t and CUstream

FUSE_BEGIN_NAMESPACE

/// A tensor in memory: address, extents, and strides in elements. Rank 0 to 8.
struct FUSE_API TensorView {
  const void *data = nullptr;
  int rank = 0;
  bool contiguous = true;  ///< row-major without gaps; strides are ignored
  std::int64_t shape[kMaxRank] = {};
  std::int64_t strides[kMaxRank] = {};
};

/// A view of memory that the caller owns, row-major without strides: `tensor(x, {rows, 4096})`, or
/// with strides in elements, of any sign, 0 for inputs: `tensor(x, {rows, 64}, {128, 1})`. The
/// dtype is the argument's. Throw InvalidArgument for a rank above 8 and for strides of another
/// rank.
FUSE_API TensorView tensor(const void *data, const std::vector<std::int64_t> &shape);
FUSE_API TensorView tensor(const void *data, const std::vector<std::int64_t> &shape,
                           const std::vector<std::int64_t> &strides);
FUSE_API TensorView tensor(const void *data, std::initializer_list<std::int64_t> shape);
FUSE_API TensorView tensor(const void *data, std::initializer_list<std::int64_t> shape,
                           std::initializer_list<std::int64_t> strides);

/// One argument of a launch: a tensor, or a scalar, which is converted to the argument's dtype.
struct FUSE_API Arg {
  enum class Kind : unsigned char { Tensor, Real, Integer, Unsigned };

  Arg(const TensorView &tensor) : kind(Kind::Tensor), view(tensor) {}
  /// All of a buffer as the shape that the graph declares. Symbols must follow from others.
  Arg(const DeviceBuffer &buffer) : kind(Kind::Tensor) {
    view.data = buffer.data();
    view.rank = -1;
    bytes = buffer.size();
  }
  Arg(double value) : kind(Kind::Real), real(value) {}
  Arg(float value) : kind(Kind::Real), real(value) {}
  template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
  Arg(T value)
      : kind(std::is_signed_v<T> ? Kind::Integer : Kind::Unsigned),
        integer(static_cast<std::int64_t>(value)) {}

  Kind kind;
  double real = 0;
  std::int64_t integer = 0;  ///< Unsigned: its bits
  std::size_t bytes = 0;     ///< of the buffer
  TensorView view;
};

/// Values of the symbols: in the order in which the graph declares them, or by name.
class FUSE_API Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<std::int64_t> values) : values_(values) {}
  Dims(std::vector<std::int64_t> values) : values_(std::move(values)) {}
  Dims(Bindings by_name) : by_name_(std::move(by_name)) {}
  Dims(std::initializer_list<std::pair<const std::string, std::int64_t>> by_name)
      : by_name_(by_name) {}

  const std::vector<std::int64_t> &values() const noexcept { return values_; }
  const Bindings &by_name() const noexcept { return by_name_; }

 private:
  std::vector<std::int64_t> values_;
  Bindings by_name_;
};

/// Scratch memory of one launch, at least workspace_bytes(dims), 256-byte aligned. Launches that
/// may overlap in time need one each. `zeroed` promises that it holds zeros, or what a launch with
/// the same sizes left in it; otherwise counters in it are cleared on the stream first.
struct Workspace {
  void *data = nullptr;  ///< null: the library keeps one for each (executable, stream)
  std::size_t bytes = 0;
  bool zeroed = false;
};

/// An operation that the caller runs: enqueue it on the stream. Pointers are of the device.
struct ExternCall {
  std::string_view name;
  const TensorView *operands = nullptr;
  std::size_t num_operands = 0;
  const TensorView *results = nullptr;
  std::size_t num_results = 0;
  CUstream_st *stream = nullptr;
};
using ExternHandler = std::function<void(const ExternCall &call)>;

struct LaunchOptions {
  Workspace workspace;
  ExternHandler run_extern;  ///< needed by graphs with extern ops
  int device = 0;            ///< where neither the stream nor the thread has a context
};

struct BindOptions {
  /// Bytes that every tensor's address will divide (16 at most), checked at each call.
  int alignment = 16;
  /// Strides in elements of the arguments that are not contiguous, by name.
  std::map<std::string, std::vector<std::int64_t>> strides;
  /// Context in which the Launcher will be called: of this stream, else the current one, else the
  /// primary one of the device.
  CUstream_st *stream = nullptr;
  int device = 0;
};

struct PrepareOptions {
  /// Threads that compile at once; 0: as many as the machine runs.
  unsigned threads = 0;
  /// How the arguments of the launches will lie, and the context that code is loaded in.
  BindOptions arguments;
};

/// An argument of an Executable.
struct ArgumentInfo {
  std::string name;
  DType dtype = DType::F32;
  Shape shape;
  bool is_scalar = false;  ///< passed by value
  int alignment = 0;       ///< bytes that the fastest variant wants the address to divide
};

/// An input and an output, by name, that a launch may pass the same memory for.
struct InPlacePair {
  std::string input, output;
};

class BoundLaunch;
class ExecutableImpl;
class ObservedLaunch;

/// An Executable for fixed sizes. A value: const, usable from any thread, keeps what it needs
/// alive. The call does not allocate, lock or wait, and may be captured in a CUDA graph.
class FUSE_API Launcher {
 public:
  /// Arguments in order, inputs then outputs: addresses of tensors, and for scalars the address of
  /// a value of the argument's dtype. A tensor of no elements may be null. Overlap is not looked
  /// for. Throws InvalidArgument for a wrong number of arguments, a null address, one that does not
  /// divide BindOptions::alignment and a workspace that is too small; OutOfMemory and Driver.
  ///
  ///     at512(stream, {x, &scale, y}, {.workspace = {memory, bytes, true}});
  void operator()(CUstream_st *stream, std::initializer_list<const void *> arguments,
                  const LaunchOptions &options = {}) const {
    (*this)(stream, arguments.begin(), arguments.size(), options);
  }
  void operator()(CUstream_st *stream, const void *const *arguments, std::size_t count,
                  const LaunchOptions &options = {}) const;

  /// Bytes of a Workspace; 0: none is needed.
  std::size_t workspace_bytes() const;

 private:
  friend class Executable;
  friend class ObservedLaunch;
  Launcher(std::shared_ptr<const ExecutableImpl> owner, std::shared_ptr<const BoundLaunch> bound);

  std::shared_ptr<const ExecutableImpl> owner_;
  std::shared_ptr<const BoundLaunch> bound_;
};

class FUSE_API Executable {
 public:
  explicit Executable(std::shared_ptr<ExecutableImpl> impl);
  ~Executable();
  Executable(const Executable &) noexcept;
  Executable(Executable &&) noexcept;
  Executable &operator=(const Executable &) noexcept;
  Executable &operator=(Executable &&) noexcept;

  /// Runs on the stream, arguments in order: inputs then outputs. Symbols are solved from the
  /// shapes and checked. The first call of a class of sizes, alignments and strides compiles a
  /// variant (docs/embedding.md). The call does not wait: memory and workspace belong to the stream
  /// until it is done, while the Executable may be dropped. For Executor::Host the stream is null,
  /// addresses are of the host, and the call waits. From any thread, and while the stream is
  /// captured.
  ///
  ///     exe.launch(stream, {tensor(x, {rows, 4096}), 0.5f, tensor(y, {rows, 4096})});
  ///
  /// Throws InvalidArgument for a wrong number or kind of arguments, null or unaligned addresses,
  /// overlap that is not declared and a workspace that is too small; Shape for extents that do not
  /// fit; DType for a scalar that its dtype does not hold, as 1e300 in f32; Unsupported where
  /// no_recompile forbids the variant; NoDevice, OutOfMemory and Driver. Nothing has run then but
  /// earlier kernels of the launch.
  void launch(CUstream_st *stream, std::initializer_list<Arg> arguments,
              const LaunchOptions &options = {}) const {
    launch(stream, arguments.begin(), arguments.size(), options);
  }
  void launch(CUstream_st *stream, const Arg *arguments, std::size_t count,
              const LaunchOptions &options = {}) const;

  /// Does all that depends on sizes: `Launcher at512 = exe.bind({512})`. Compiles and loads what
  /// the sizes need. Errors as launch().
  Launcher bind(const Dims &dims, const BindOptions &options = {}) const;

  /// Compiles all that launches of these sizes need, in parallel, and loads it: they will compile
  /// nothing. With no_recompile, too. Each variant is compiled once, for the first of the sizes
  /// that it serves; of further targets likewise. Returns what was compiled, in the order of the
  /// sizes.
  ///
  ///     exe.prepare({{{"B", 1}}, {{"B", 8}}, {{"B", 512}}}, {.threads = 8});
  ///
  /// Errors as bind(), after the other sizes are done, and before any for values that no symbol
  /// takes. From any thread, while others launch.
  std::vector<Compilation> prepare(const std::vector<Dims> &sizes,
                                   const PrepareOptions &options = {}) const;

  /// Bytes that deserialize() makes an Executable of, in this process or another: the graph, every
  /// variant that is compiled, and its code for the target and CompileOptions::targets. PTX, and
  /// where a driver assembled it for its device, that as well; host code for this CPU. What is not
  /// there yet is generated, in parallel. An Executable that was itself deserialized writes the
  /// target that it was taken for. Throws InvalidArgument for a target whose figures no machine
  /// has.
  std::string serialize() const;

  /// Names of the machines that serialize() writes code for, that of launches first.
  std::vector<std::string> targets() const;

  /// Arguments in order; `alignment` in bytes is what the fastest variant wants.
  std::vector<ArgumentInfo> inputs() const;
  std::vector<ArgumentInfo> outputs() const;

  /// Names of the symbols, in the order in which Dims lists values.
  std::vector<std::string> symbols() const;

  /// Extents of each output: `exe.output_shapes({512})[0]`. Throws InvalidArgument for values that
  /// are missing or of no symbol, Shape for sizes outside their bounds.
  std::vector<std::vector<std::int64_t>> output_shapes(const Dims &dims) const;

  /// Bytes of a Workspace for these sizes and contiguous, aligned arguments; 0: none is needed.
  /// Compiles the variant of their class. Errors as output_shapes().
  std::size_t workspace_bytes(const Dims &dims) const;

  /// Pairs that contiguous launches could share memory for: declare those wanted in
  /// CompileOptions::in_place. An input stands in several pairs where several outputs would do.
  std::vector<InPlacePair> in_place_pairs() const;

  /// "gpu", "host" or "none".
  std::string_view executor() const;

  /// What each kernel of the variant for these sizes is and costs; its code is made for the report.
  /// Throws InvalidArgument and Shape for sizes that the graph does not take.
  std::vector<KernelReport> kernels(const Dims &dims) const;

  /// Why the kernels are what they are: boundaries, stores, recomputation.
  std::vector<Decision> decisions() const;

  /// Kernels, bytes and time, fused and with a kernel for each operation.
  PlanOverview overview() const;

  /// All of it as a screen of text; decisions are those of the first variant.
  std::string explain(const Dims &dims) const;

  /// All compilations so far, each with what made it necessary.
  std::vector<Compilation> compilations() const;

 private:
  std::shared_ptr<ExecutableImpl> impl_;
};

FUSE_END_NAMESPACE
