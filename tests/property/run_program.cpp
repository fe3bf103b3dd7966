// Workspace is made of bytes; counters start at zero and must end there.
#include "property/run_program.h"

#include "codegen/host.h"
#include "ir/instances.h"
#include "ir/kernel_interpret.h"
#include "property/memory.h"

#include <algorithm>

namespace fuse {

std::int64_t value_of(const Index &index, const Bindings &symbols) {
  return evaluate(index, [&](const Atom &atom) { return symbols.at(atom.symbol); });
}

namespace {

struct Arguments {
  Arguments(const Program &program, std::span<const Tensor> tensors, const Bindings &symbols) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      add(inputs, tensors[i].dtype, tensors[i].shape);
      inputs.back().write(tensors[i]);
    }
    for (const Argument &a : program.outputs) add(outputs, a.dtype, evaluate(a.shape, symbols));
    for (const WorkspaceBuffer &w : program.workspace) {
      std::int64_t bytes = value_of(w.bytes, symbols);
      add(workspace, DType::U8, {bytes});
      if (w.counter) workspace.back().write(Tensor(DType::U8, {bytes}));
    }
  }

  void add(std::vector<GuardedMemory> &to, DType type, const std::vector<std::int64_t> &extents) {
    to.emplace_back(type, extents, row_major(extents));
  }

  GuardedMemory &at(const Binding &binding) {
    switch (binding.kind) {
      case Binding::Kind::Input: return inputs[binding.index];
      case Binding::Kind::Output: return outputs[binding.index];
      case Binding::Kind::Workspace: break;
    }
    return workspace[binding.index];
  }

  std::vector<GuardedMemory> inputs, outputs, workspace;
};

std::string guard_faults(const Program &program, const Arguments &arguments,
                         std::span<const Tensor> inputs) {
  std::string fault;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!arguments.inputs[i].is_intact() || arguments.inputs[i].read().bytes != inputs[i].bytes)
      fault += "input " + program.inputs[i].name + " was written\n";
  }
  for (std::size_t i = 0; i < arguments.outputs.size(); ++i)
    if (!arguments.outputs[i].is_intact())
      fault += "memory around output " + program.outputs[i].name + " was written\n";
  for (std::size_t i = 0; i < arguments.workspace.size(); ++i) {
    const GuardedMemory &w = arguments.workspace[i];
    if (!w.is_intact()) fault += "memory around workspace " + std::to_string(i) + " was written\n";
    std::vector<std::byte> bytes = w.read().bytes;
    if (program.workspace[i].counter &&
        std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; }))
      fault += "counter " + std::to_string(i) + " is not left zero\n";
  }
  return fault;
}

void run_step(const Program &program, const Step &step, Arguments &arguments,
              const Bindings &symbols, const Engine &engine) {
  const Kernel &kernel = program.kernels[step.kernel];
  std::vector<void *> addresses;
  std::vector<std::int64_t> elements;
  std::vector<LaunchBuffer> buffers = launch_buffers(kernel);
  for (std::size_t i = 0; i < step.bindings.size(); ++i) {
    addresses.push_back(arguments.at(step.bindings[i]).data());
    Index size = 1;
    for (const Index &extent : kernel.buffers[buffers[i].buffer].shape)
      size = size * at_instance(kernel, extent, buffers[i].instance);
    elements.push_back(value_of(size, symbols));
  }
  engine(kernel, addresses, elements, symbols);
}

}  // namespace

Engine interpreter(std::uint64_t seed) {
  return [=](const Kernel &kernel, std::span<void *const> buffers,
             std::span<const std::int64_t> elements, const Bindings &symbols) {
    InterpreterLaunch launch;
    launch.symbols = symbols;
    launch.seed = seed;
    std::vector<LaunchBuffer> all = launch_buffers(kernel);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      auto place = reinterpret_cast<std::uintptr_t>(buffers[i]) % 32;
      auto phase = std::int64_t(place / size_of(kernel.buffers[all[i].buffer].dtype));
      launch.buffers.push_back({buffers[i], elements[i], phase});
    }
    interpret(kernel, launch);
  };
}

Engine host_executor(std::uint64_t seed) {
  return [=](const Kernel &kernel, std::span<void *const> buffers, std::span<const std::int64_t>,
             const Bindings &symbols) {
    std::vector<void *> values(buffers.begin(), buffers.end());
    std::vector<std::int64_t> sizes;
    for (const std::string &name : symbols_of(kernel)) sizes.push_back(symbols.at(name));
    std::vector<std::uint64_t> table = make_table(kernel, symbols);
    TableShape shape = table_shape(kernel);
    std::vector<LaunchBuffer> all = launch_buffers(kernel);
    std::vector<void *> parameters;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Buffer &buffer = kernel.buffers[all[i].buffer];
      void *value = buffer.role == BufferRole::Scalar ? values[i] : &values[i];
      if (buffer.each)
        set_entry(table.data(), shape.buffers[all[i].buffer], all[i].instance, value);
      else
        parameters.push_back(value);
    }
    for (std::int64_t &size : sizes) parameters.push_back(&size);
    parameters.push_back(table.data());
    HostLaunch launch;
    launch.grid = std::uint64_t(num_blocks(kernel, symbols));
    launch.arguments = parameters.data();
    launch.shuffle_seed = seed;
    if (launch.grid > 0) HostKernel(kernel, Target::named("host")).launch(launch);
  };
}

ProgramRun run_program(const Program &program, std::span<const Tensor> inputs,
                       const Bindings &symbols, const Engine &engine) {
  ProgramRun run;
  for (const Limit &limit : program.limits)
    if (value_of(limit.value, symbols) > limit.max)
      run.fault += "limit broken: " + limit.why + "\n";
  if (!run.fault.empty()) return run;
  Arguments arguments(program, inputs, symbols);
  for (const Step &step : program.steps) run_step(program, step, arguments, symbols, engine);
  run.fault = guard_faults(program, arguments, inputs);
  for (const GuardedMemory &output : arguments.outputs) run.outputs.push_back(output.read());
  return run;
}

}  // namespace fuse
