// Kernel: one GPU kernel, laid on the machine. Every decision is here; codegen transcribes it.
//
// A kernel has iteration dims, layouts that map machine positions to dims, buffers, and a body of
// statements over scalar values. docs/kernel.md has the text format and the exact semantics.
//
// Slots. In a layout, the reg and vec digits of the axes that a value depends on span its slots:
// each thread holds one scalar per slot. A value that does not depend on an axis (a row's mean, a
// column's weight) is the same for all positions of that axis and is held once.
//
// Instances. A kernel may run its body several times side by side, each time over memory and sizes
// of its own (ir/instances.h); everything else here speaks of one of them.
//
// Validity. A position whose index on some axis is not in [0, extent) is invalid on that axis: no
// load, no store, no contribution to a reduction over it. What a load gives there is its fill.
#pragma once

#include "ir/domain.h"
#include "ir/literal.h"

#include <fuse/graph.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fuse {

using BufferId = std::uint32_t;
using LayoutId = std::uint32_t;
inline constexpr std::uint32_t kNone = UINT32_MAX;

enum class Monoid : std::uint8_t {
#define FUSE_MONOID(name, text, operands, results, commutative, doc) name,
#include "ir/monoids.def"
};

enum class DigitKind : std::uint8_t {
  Grid,    // block index: (block / stride) % extent
  Cta,     // rank of the block in its cluster
  Thread,  // thread index: (thread / stride) % extent
  Loop,    // the iteration of the enclosing `for` of this name
  Reg,     // unrolled
  Vec,     // unrolled and contiguous
};

struct Digit {
  DigitKind kind = DigitKind::Reg;
  Index extent = 1;  // Cta, Thread, Reg, Vec: constant; Grid, Loop: may use symbols
  Index stride = 1;  // Grid, Cta, Thread
  std::string name;  // Loop: its name
};

/// `align %x[base]`: positions start at the vector boundary of %x at or before element `base`.
/// With V the extent of the axis's vec digit, the axis index is the digits' number minus
/// (address of %x[base] / element size) mod V; it is invalid where negative.
struct AlignTo {
  BufferId buffer = kNone;
  Index base;
};

/// One axis of a layout: dims flattened in row-major order, and digits, outermost first, whose
/// mixed-radix number is the index on the axis.
struct Axis {
  std::vector<DimId> dims;
  std::vector<Digit> digits;
  AlignTo align;  // buffer kNone: not aligned
};

/// Positions that the digits of the axis make, at most 2^63 - 1; nullopt where a symbol decides.
std::optional<std::int64_t> constant_positions(const Axis &axis);

/// So many positions, and a vector before and behind, are told apart in 32 bits.
inline constexpr std::int64_t kMaxNarrowPositions = INT32_MAX - 1024;

/// Every dim of the kernel is in at most one axis of a layout. A thread digit covers the bits of
/// the thread index that [stride, stride * extent) spans; threads along bits that no digit covers
/// hold copies, and the one at 0 stores.
struct Layout {
  std::string name;
  std::vector<Axis> axes;
};

enum class BufferRole : std::uint8_t { Input, Output, Workspace, Scalar };

/// A pointer parameter (or a scalar passed by value). Elements are addressed by a linear offset.
struct Buffer {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Index> shape;  // all of it may be read; its product bounds every offset
  BufferRole role = BufferRole::Input;
  int alignment = 0;      // bytes that the address of element 0 is known to divide; 0: element
  bool coherent = false;  // other blocks write it while the kernel runs: no read-only path
  bool strided = false;   // elements lie apart: the shape bounds no offset
  bool each = false;      // every instance has its own
};

/// Cache policy of an access.
enum class Cache : std::uint8_t { Default, Streaming, EvictLast, NoAllocate };

enum class StmtKind : std::uint8_t {
  Constant,   // %r = const literal
  Index,      // %r = index expr                     an integer from dims, symbols and values
  Random,     // %r = random %seed[expr] stream n    a word of Philox4x32-10: ir/philox.h
  Compute,    // %r = op %a, ..                      a row of ops.def, elementwise
  Load,       // %r = load %buffer[expr] (if %p) (fill literal)      0 where %p is false
  Store,      // store %buffer[expr] = %a (if %p)
  Reduce,     // %r, .. = reduce monoid(%a, ..) over dims (terms) (approx)
  Scan,       // %r, .. = scan monoid(%a, ..) over dim (from %s, ..) (exclusive) (reverse)
  Move,       // %r = move %a to Layout via shared[expr]
  Keep,       // %r = keep reg|shared %a             hides how %a was made from the compiler
  For,        // for name (reverse) { .. }           binds the loop digit of that name
  In,         // in Layout { .. }                    statements stand in this layout
  LastBlock,  // last_block %counter[expr] of n { .. }  run by the last of n blocks to arrive
};

enum class Residence : std::uint8_t { Register, Shared };

struct Stmt {
  StmtKind kind = StmtKind::Compute;
  Op op = Op::Add;  // Compute
  /// Compute: a relative error of 2^-16 will do (exp exp2 sigmoid div). Reduce: terms of `online`
  /// below the smallest normal number may become 0.
  bool approximate = false;
  /// Compute: div of f32, by the divisor's reciprocal; the result is the same.
  bool by_reciprocal = false;
  Monoid monoid = Monoid::Sum;                // Reduce, Scan
  Cache cache = Cache::Default;               // Load, Store
  Residence residence = Residence::Register;  // Keep
  bool exclusive = false;                     // Scan
  bool reverse = false;    // Scan: from the last position; For: from the last iteration
  bool terms = false;      // Reduce online: a third result, the terms w * exp(x - max) of the sum
  bool partition = false;  // For: iterations that are valid as a whole run without tests
  int pipe = 0;            // For: iterations whose bulk loads are under way at once; 0: none
  bool bulk = false;       // Load: comes through the pipe of the loop
  bool unaligned = false;  // Load: its vectors start at any element
  /// Load, Store, Move (writing): elements per access along vec. Random: that share a call.
  int vector = 1;
  int read_vector = 1;  // Move (reading)
  std::vector<ValueId> results;
  std::vector<ValueId> operands;
  ValueId guard = kNone;     // Load, Store: a bool value
  std::uint64_t fill = 0;    // Load: bits that it gives at positions invalid on its result's axes
  Literal literal;           // Constant
  std::uint64_t stream = 0;  // Random
  BufferId buffer = kNone;   // Load, Store, LastBlock (the counter)
  Index index;               // Index, Random, Load, Store, Move, LastBlock
  Index count;               // LastBlock: the number of blocks that arrive
  std::vector<DimId> axes;   // Reduce, Scan: dims folded
  LayoutId layout = kNone;   // In; Move: the layout of the result
  std::string loop;          // For
  std::vector<Stmt> body;    // For, In, LastBlock
};

/// A scalar value of the body: one per slot in the layout where it stands.
struct KernelValue {
  std::string name;
  DType dtype = DType::F32;
  LayoutId layout = kNone;
  std::vector<DimId> dims;  // it depends on these, ascending
};

/// A size that differs between instances: to the body a symbol.
struct InstanceSize {
  std::string name;
  std::vector<Index> values;  // by instance; of symbols of the launch
};

struct Kernel {
  std::string name;
  int threads = 256;    // per block
  int cluster = 1;      // blocks per cluster
  int resident = 0;     // blocks an SM shall hold at least, which bounds registers; 0: no bound
  int index_bits = 64;  // width of offsets: 32 where no offset reaches 2^31
  int instances = 0;    // 0: the body runs once, and there is no table
  std::vector<InstanceSize> table;
  Bindings divisors;            // powers of two that the launch promises to divide symbols
  Bindings minima;              // sizes that it promises symbols not to be below
  std::vector<Buffer> buffers;  // in parameter order
  std::vector<KernelDim> dims;
  std::vector<Layout> layouts;
  std::vector<KernelValue> values;
  std::vector<Stmt> body;
};

/// Whether digits of the axes, one after another, span the part of the machine position that the
/// digit of another axis names. A store that depends on those axes is done at every position of it.
bool is_shared_digit(const Layout &layout, const std::vector<std::uint32_t> &axes,
                     const Digit &digit);

// --- Queries used by every consumer --------------------------------------------------------------

/// Axis of the layout that holds the dim; kNone if none does.
std::uint32_t axis_of(const Layout &layout, DimId dim);

/// Axes of the layout that hold any of the dims, ascending.
std::vector<std::uint32_t> axes_of(const Layout &layout, const std::vector<DimId> &dims);

/// Number of slots of the axes: the product of their reg and vec extents. Slots are numbered in
/// mixed radix over the axes in layout order and their reg and vec digits in digit order, the last
/// running fastest.
std::int64_t num_slots(const Layout &layout, const std::vector<std::uint32_t> &axes);

/// Extent of the axis's vec digit, 1 if it has none; the vec digit is the last one of its axis.
std::int64_t vec_extent(const Axis &axis);

/// Product of the extents of the axis's dims.
Index axis_extent(const Kernel &kernel, const Axis &axis);

/// Positions that the digits of the axis make.
Index axis_span(const Axis &axis);

/// Whether these are the positions of its dims, from the first.
bool is_exact(const Kernel &kernel, const Axis &axis);

/// Statements that one kernel shall unroll to, body x slots: LLVM and ptxas are superlinear beyond.
inline constexpr std::int64_t kMaxStatements = 4096;

/// Statements that a random word counts as, a call of the generator four times as many.
inline constexpr std::int64_t kRandomStatements = 10;
std::int64_t statements_of(const Stmt &stmt);

inline constexpr int kMaxPipe = 16;          // stages
inline constexpr std::size_t kMaxAxes = 64;  // of a layout: sets of axes are words

/// Folds of more slots or states than this fold groups of as many first (docs/kernel.md, "Order").
inline constexpr std::size_t kFoldGroup = 8;

/// Blocks of one instance: the number that the grid digits of all layouts span, times the cluster
/// size. A launch has num_blocks() of ir/instances.h.
Index grid_size(const Kernel &kernel);
Index clusters_of(const Kernel &kernel);

/// Whether the grid digits of each layout nest and the blocks that all span can be compared, so
/// that there is a grid_size.
bool grids_nest(const Kernel &kernel);

/// Statements of the body, scopes not counted; and each of them once for every slot, which is what
/// planning limits.
std::int64_t num_statements(const Kernel &kernel);
std::int64_t num_unrolled(const Kernel &kernel);

/// What the emitter writes down: num_unrolled, with the steps that combine the threads of a
/// reduction, the reads of moves and the second bodies of partitioned loops.
std::int64_t num_emitted(const Kernel &kernel);

/// Largest known divisor of an index over symbols, with what the kernel is promised of them.
std::int64_t promised_divisor(const Kernel &kernel, const Index &index);

/// Symbols that a launch gives values to, sorted: the size parameters of the kernel, after the
/// buffers. Sizes of the table are none of them; symbols that their values use are.
std::vector<std::string> symbols_of(const Kernel &kernel);

/// Whether a load has a fill: it has no guard, is no bulk load and reads no scalar.
bool has_fill(const Kernel &kernel, const Stmt &load);

/// The state that a scan starts from, behind its operands; empty: the identity.
std::span<const ValueId> scan_start(const Stmt &scan);

/// Whether the statement meets no other threads, but for a reduction that may end in its loop.
bool stays_in_thread(const Stmt &stmt);

/// The loop digit of that name; null if the layout has none.
const Digit *loop_digit(const Layout &layout, std::string_view name);

/// Values that a statement uses: operands, in order, its guard, and those of its index. A value may
/// be there twice.
std::vector<ValueId> used_values(const Stmt &stmt);

/// Dims that the results of a statement depend on, ascending (KernelValue::dims).
std::vector<DimId> dependence(const Kernel &kernel, const Stmt &stmt, std::size_t result = 0);

/// Result dtype of a Compute other than a conversion: bool for comparisons and tests, else that of
/// the first operand that is not a literal. `is_literal` tells of each value if a Constant made it.
DType natural_dtype(const Kernel &kernel, const std::vector<bool> &is_literal, const Stmt &stmt);

std::string_view to_string(Monoid monoid);
std::optional<Monoid> monoid_from_string(std::string_view text);
int num_operands(Monoid monoid);
int num_results(Monoid monoid);
bool is_commutative(Monoid monoid);

// --- Text (kernel_print.cpp, kernel_parse.cpp), invariants, meaning ------------------------------

std::string to_string(const Kernel &kernel);
Kernel parse_kernel(std::string_view text, std::string_view file = "<text>");

/// Throws Error{Internal} naming the first broken invariant; they are listed in kernel_verify.cpp.
void verify(const Kernel &kernel);

/// Likewise of a kernel that was read: Throws Error{Parse} with the file's name.
void verify_text(const Kernel &kernel, std::string_view file);

}  // namespace fuse
