// Runs a lowered program step by step with an engine of choice, every buffer between guards.
#pragma once

#include "ir/program.h"
#include "ir/tensor.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace fuse {

/// Value of an index of symbols.
std::int64_t value_of(const Index &index, const Bindings &symbols);

/// Addresses of the buffers of a kernel in parameter order, or of the values of scalars.
using Engine = std::function<void(const Kernel &kernel, std::span<void *const> buffers,
                                  std::span<const std::int64_t> elements, const Bindings &symbols)>;

Engine interpreter(std::uint64_t seed = 0);
Engine host_executor(std::uint64_t seed = 0);

struct ProgramRun {
  std::vector<Tensor> outputs;
  std::string fault;  // a broken limit or guard; empty if there is none
};

/// All arguments contiguous and 16-byte aligned. No extern operations.
ProgramRun run_program(const Program &program, std::span<const Tensor> inputs,
                       const Bindings &symbols, const Engine &engine);

}  // namespace fuse
