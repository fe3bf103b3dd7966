// Program: what runs. Kernels, and extern ops that the caller runs, in order, with the memory they
// are bound to. It is complete: codegen and the runtime need nothing else.
#pragma once

#include "ir/kernel.h"
#include "ir/plan.h"

#include <string>
#include <vector>

namespace fuse {

/// Where a buffer of a kernel, or an operand of an extern op, lives.
struct Binding {
  enum class Kind : std::uint8_t { Input, Output, Workspace } kind = Kind::Input;
  std::size_t index = 0;  // into Program::inputs, outputs or workspace
};

/// An argument of the program. Offsets of its kernels assume row-major contiguity, or, if strided,
/// the symbols "<name>.stride<axis>" (in elements, any sign).
struct Argument {
  std::string name;
  DType dtype = DType::F32;
  Shape shape;
  bool is_scalar = false;  // by value
  bool strided = false;
  int alignment = 0;  // bytes known to divide the address; 0: the element size
};

struct WorkspaceBuffer {
  Index bytes;           // of symbols
  bool counter = false;  // zero before the first launch; kernels leave it zero
};

struct Step {
  // A kernel: its index and one binding for each of launch_buffers(kernel).
  // An extern op: its name, and bindings of its operands, then of its results.
  bool is_extern = false;
  std::size_t kernel = 0;
  std::string extern_name;
  std::size_t num_operands = 0;
  std::vector<DType> dtypes;  // extern: of operands and results
  std::vector<Shape> shapes;
  std::vector<Binding> bindings;
};

/// The program is right only where value <= max: capacity of a mapping, width of offsets. Checked
/// when sizes are bound; other sizes need another variant.
struct Limit {
  enum class Kind : std::uint8_t {
    Capacity,  // elements that the mapping holds
    Offsets,   // what offsets of few bits reach
    Divisor,   // the remainder of a size that a kernel takes to be divisible
    Minimum,   // how far a size is below what a kernel takes it to be at least
    Blocks,    // of a launch
    NotEmpty,  // 1 less an extent that is not 0
    Fixed,     // a size that is a literal
  } kind = Kind::Capacity;
  Index value;  // of symbols
  std::int64_t max = 0;
  std::string why;  // "a row of N elements in the registers of a block"
};

/// Another variant is better where the value is outside [min, max], though this one is right there:
/// the class of sizes that the program was laid out for.
struct SizeRange {
  Index value;  // of symbols
  std::int64_t min = 0, max = 0;
  friend bool operator==(const SizeRange &a, const SizeRange &b) = default;
};

struct Program {
  std::string name;
  std::vector<Argument> inputs, outputs;
  std::vector<Symbol> symbols;
  std::vector<WorkspaceBuffer> workspace;
  std::vector<Kernel> kernels;
  std::vector<Step> steps;
  std::vector<Limit> limits;
  std::vector<SizeRange> ranges;
  Plan plan;  // for reports: kernel i of the plan is kernel i here, followed by finish kernels
};

}  // namespace fuse
