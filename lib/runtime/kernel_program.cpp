// One kernel around which a program is built.
#include "runtime/kernel_program.h"

#include "ir/format.h"
#include "ir/instances.h"
#include "ir/program_text.h"
#include "runtime/executable_impl.h"

#include <set>

namespace fuse {

namespace {

Dim extent_of(const Index &index) {
  std::optional<Dim> extent = to_dim(index);
  if (!extent) fail(ErrorCode::Unsupported, "an argument's extent is not a polynomial in symbols");
  return *extent;
}

Argument argument_of(const Kernel &kernel, const LaunchBuffer &at) {
  const Buffer &buffer = kernel.buffers[at.buffer];
  Argument argument{name_of(kernel, at), buffer.dtype, {}};
  argument.is_scalar = buffer.role == BufferRole::Scalar;
  argument.alignment = buffer.alignment;
  for (const Index &extent : buffer.shape)
    argument.shape.push_back(extent_of(at_instance(kernel, extent, at.instance)));
  return argument;
}

std::set<BufferId> counters_of(const Kernel &kernel) {
  std::set<BufferId> counters;
  std::vector<const std::vector<Stmt> *> bodies = {&kernel.body};
  while (!bodies.empty()) {
    const std::vector<Stmt> &body = *bodies.back();
    bodies.pop_back();
    for (const Stmt &stmt : body) {
      if (stmt.kind == StmtKind::LastBlock) counters.insert(stmt.buffer);
      bodies.push_back(&stmt.body);
    }
  }
  return counters;
}

WorkspaceBuffer workspace_of(const Kernel &kernel, const LaunchBuffer &at, bool is_counter) {
  const Buffer &buffer = kernel.buffers[at.buffer];
  WorkspaceBuffer workspace{static_cast<std::int64_t>(size_of(buffer.dtype)), is_counter};
  for (const Index &extent : buffer.shape)
    workspace.bytes = workspace.bytes * at_instance(kernel, extent, at.instance);
  return workspace;
}

void require_alignment(const std::vector<Argument> &arguments,
                       const std::vector<ArgumentClass> &classes) {
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (classes[i].strided || classes[i].alignment < arguments[i].alignment)
      fail(ErrorCode::InvalidArgument, "{} must be contiguous and aligned to {} bytes",
           arguments[i].name, arguments[i].alignment);
}

}  // namespace

Program program_of(const Kernel &kernel) {
  Program program;
  program.name = kernel.name;
  std::set<BufferId> counters = counters_of(kernel);
  Step step;
  for (const LaunchBuffer &at : launch_buffers(kernel)) {
    BufferRole role = kernel.buffers[at.buffer].role;
    if (role == BufferRole::Workspace) {
      step.bindings.push_back({Binding::Kind::Workspace, program.workspace.size()});
      program.workspace.push_back(workspace_of(kernel, at, counters.contains(at.buffer)));
      continue;
    }
    bool is_output = role == BufferRole::Output;
    std::vector<Argument> &arguments = is_output ? program.outputs : program.inputs;
    step.bindings.push_back(
        {is_output ? Binding::Kind::Output : Binding::Kind::Input, arguments.size()});
    arguments.push_back(argument_of(kernel, at));
  }
  for (const std::string &name : symbols_of(kernel)) program.symbols.push_back({name, {}});
  program.kernels = {kernel};
  program.steps = {std::move(step)};
  return program;
}

Executable compile_kernel(const Kernel &kernel, const CompileOptions &options) {
  verify(kernel);
  Program program = program_of(kernel);
  Interface interface{program.name, program.inputs, program.outputs, program.symbols};
  return make_executable(
      std::move(interface),
      [program = std::move(program)](const LowerOptions &lowering) {
        require_alignment(program.inputs, lowering.inputs);
        require_alignment(program.outputs, lowering.outputs);
        return program;
      },
      options);
}

}  // namespace fuse
