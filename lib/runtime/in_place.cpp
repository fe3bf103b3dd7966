// Sharing within a kernel is shown from its text: one layout whose threads cover all positions
// once, and loads and stores at one index that tells any two positions apart.
#include "runtime/in_place.h"

#include "ir/format.h"
#include "ir/instances.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr std::size_t kNever = SIZE_MAX;

bool is_bound(const Step &step, Binding::Kind kind, std::size_t index, std::size_t first,
              std::size_t last) {
  return std::any_of(step.bindings.begin() + static_cast<std::ptrdiff_t>(first),
                     step.bindings.begin() + static_cast<std::ptrdiff_t>(last),
                     [&](const Binding &b) { return b.kind == kind && b.index == index; });
}

bool reads(const Step &step, std::size_t input) {
  std::size_t last = step.is_extern ? step.num_operands : step.bindings.size();
  return is_bound(step, Binding::Kind::Input, input, 0, last);
}

bool is_stored(const std::vector<Stmt> &body, BufferId buffer) {
  return std::any_of(body.begin(), body.end(), [&](const Stmt &stmt) {
    return (stmt.kind == StmtKind::Store && stmt.buffer == buffer) || is_stored(stmt.body, buffer);
  });
}

/// Buffers of the step's kernel that are bound to the argument.
std::vector<LaunchBuffer> buffers_of(const Program &program, const Step &step, Binding::Kind kind,
                                     std::size_t index) {
  std::vector<LaunchBuffer> all = launch_buffers(program.kernels[step.kernel]), bound;
  for (std::size_t i = 0; i < step.bindings.size(); ++i)
    if (step.bindings[i].kind == kind && step.bindings[i].index == index) bound.push_back(all[i]);
  return bound;
}

bool writes(const Program &program, const Step &step, std::size_t output) {
  if (step.is_extern)
    return is_bound(step, Binding::Kind::Output, output, step.num_operands, step.bindings.size());
  std::vector<LaunchBuffer> bound = buffers_of(program, step, Binding::Kind::Output, output);
  return std::any_of(bound.begin(), bound.end(), [&](const LaunchBuffer &at) {
    return is_stored(program.kernels[step.kernel].body, at.buffer);
  });
}

/// Looks at one kernel that reads `input` and writes `output`.
class Overwriting {
 public:
  Overwriting(const Kernel &kernel, BufferId input, BufferId output)
      : k_(kernel), input_(input), output_(output) {}

  std::optional<std::string> obstacle() {
    if (k_.layouts.size() != 1 || !covers_cluster()) return "its threads share elements";
    visit(k_.body);
    return obstacle_;
  }

 private:
  /// Whether every thread of a cluster has positions of its own.
  bool covers_cluster() const {
    Index threads = 1, blocks = 1;
    for (const Axis &axis : k_.layouts[0].axes)
      for (const Digit &digit : axis.digits) {
        if (digit.kind == DigitKind::Thread) threads = threads * digit.extent;
        if (digit.kind == DigitKind::Cta) blocks = blocks * digit.extent;
      }
    return threads == Index(k_.threads) && blocks == Index(k_.cluster);
  }

  void visit(const std::vector<Stmt> &body) {
    for (const Stmt &stmt : body) {
      if (stmt.kind == StmtKind::LastBlock && touches(stmt.body))
        obstacle_ = "its last block touches them";
      if (stmt.kind == StmtKind::Load && stmt.buffer == input_) visit_load(stmt);
      if (stmt.kind == StmtKind::Store && stmt.buffer == output_) visit_store(stmt);
      visit(stmt.body);
    }
  }

  bool touches(const std::vector<Stmt> &body) const {
    return std::any_of(body.begin(), body.end(), [&](const Stmt &stmt) {
      bool access = stmt.kind == StmtKind::Load || stmt.kind == StmtKind::Store;
      return (access && (stmt.buffer == input_ || stmt.buffer == output_)) || touches(stmt.body);
    });
  }

  void visit_load(const Stmt &load) {
    if (is_written_) obstacle_ = "it reads the one after it has written the other";
    visit_index(load.index);
  }

  void visit_store(const Stmt &store) {
    is_written_ = true;
    visit_index(store.index);
  }

  void visit_index(const Index &index) {
    if (index_ && !(*index_ == index)) obstacle_ = "it reads other elements than it writes";
    index_ = index;
    for (const Axis &axis : k_.layouts[0].axes)
      for (DimId dim : axis.dims)
        if (!tells_apart(index, dim)) obstacle_ = "its threads share elements";
  }

  /// Extents of 1 have nothing to tell apart.
  bool tells_apart(const Index &index, DimId dim) const {
    if (k_.dims[dim].extent == Index(1)) return true;
    std::optional<Index> coefficient = index.coefficient_of(dim);
    return coefficient && !(*coefficient == Index(0));
  }

  const Kernel &k_;
  BufferId input_, output_;
  std::optional<Index> index_;  // of all accesses
  bool is_written_ = false;
  std::optional<std::string> obstacle_;
};

/// Why the input and the output are not of one instance, each as one buffer; empty if they are.
std::string obstacle_in_buffers(const Kernel &kernel, const std::vector<LaunchBuffer> &inputs,
                                const std::vector<LaunchBuffer> &outputs) {
  bool is_single = inputs.size() == 1 && outputs.size() == 1;
  if (kernel.instances == 0) return is_single ? "" : "has several buffers for one of them";
  bool is_own = is_single && kernel.buffers[inputs[0].buffer].each &&
                inputs[0].instance == outputs[0].instance;
  return is_own ? "" : "several of its instances touch them";
}

std::optional<std::string> obstacle_in_step(const Program &program, const Step &step,
                                            SharedMemory pair) {
  if (step.is_extern) return "extern \"" + step.extern_name + "\" takes both";
  const Kernel &kernel = program.kernels[step.kernel];
  auto inputs = buffers_of(program, step, Binding::Kind::Input, pair.input);
  auto outputs = buffers_of(program, step, Binding::Kind::Output, pair.output);
  std::optional<std::string> obstacle = obstacle_in_buffers(kernel, inputs, outputs);
  if (obstacle->empty())
    obstacle = Overwriting(kernel, inputs[0].buffer, outputs[0].buffer).obstacle();
  if (obstacle) return "kernel " + kernel.name + " takes both and " + *obstacle;
  return {};
}

/// What lies around a vector is written meanwhile: elements are loaded one by one.
void load_by_element(std::vector<Stmt> &body, BufferId buffer) {
  for (Stmt &s : body) {
    if (s.unaligned && s.buffer == buffer) {
      s.unaligned = false;
      s.vector = 1;
    }
    load_by_element(s.body, buffer);
  }
}

void make_coherent(Kernel &kernel, BufferId buffer) {
  kernel.buffers[buffer].coherent = true;
  load_by_element(kernel.body, buffer);
}

}  // namespace

std::optional<std::string> obstacle_to_sharing(const Program &program, SharedMemory pair) {
  const Argument &input = program.inputs[pair.input], &output = program.outputs[pair.output];
  if (input.is_scalar) return "a scalar has no memory";
  if (size_of(input.dtype) != size_of(output.dtype) || input.shape != output.shape)
    return "their sizes differ";
  std::size_t last_read = kNever, first_write = kNever;
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    if (reads(program.steps[s], pair.input)) last_read = s;
    if (first_write == kNever && writes(program, program.steps[s], pair.output)) first_write = s;
  }
  if (last_read == kNever || first_write == kNever || last_read < first_write) return {};
  if (last_read > first_write) return input.name + " is read after " + output.name + " is written";
  return obstacle_in_step(program, program.steps[last_read], pair);
}

void share_memory(Program &program, const std::vector<SharedMemory> &pairs) {
  for (const SharedMemory &pair : pairs) {
    if (std::optional<std::string> obstacle = obstacle_to_sharing(program, pair))
      fail(ErrorCode::Unsupported, "{} cannot be written over {}: {}",
           program.outputs[pair.output].name, program.inputs[pair.input].name, *obstacle);
    for (const Step &step : program.steps) {
      if (step.is_extern) continue;
      auto inputs = buffers_of(program, step, Binding::Kind::Input, pair.input);
      auto outputs = buffers_of(program, step, Binding::Kind::Output, pair.output);
      if (inputs.empty() || outputs.empty()) continue;
      make_coherent(program.kernels[step.kernel], inputs[0].buffer);
      make_coherent(program.kernels[step.kernel], outputs[0].buffer);
    }
  }
}

}  // namespace fuse
