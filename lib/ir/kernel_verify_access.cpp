// Invariants 18, 19, 22, 29 and 33: loads and stores, their vectors, the shared offset of a move,
// and random words.
#include "ir/bulk.h"
#include "ir/kernel_verify.h"
#include "ir/philox.h"

#include <bit>
#include <numeric>

namespace fuse {

namespace {

/// What is known to divide an atom.
std::int64_t divisor_of(const Atom &atom) {
  if (atom.kind != Atom::Kind::Mod) return 1;
  return std::gcd(known_divisor(*atom.numerator, divisor_of),
                  known_divisor(*atom.denominator, divisor_of));
}

/// The index at element e of any vector: the vec digit is a multiple of the width, and e.
Index at_element(const MachineMap &map, const Index &placed, const AxisMap &along, int width,
                 int e) {
  constexpr DimId kVector = kNone - 1;
  Ranges ranges = map.ranges();
  ranges.extent = [&](DimId id) -> std::optional<Index> {
    return id == kVector ? Index(along.vec_extent / width) : map.ranges().extent(id);
  };
  auto by = [&](const Atom &atom) -> std::optional<Index> {
    bool is_vec = atom.kind == Atom::Kind::Dim && atom.id == along.vec;
    return is_vec ? std::optional(Index::dim(kVector) * width + e) : std::nullopt;
  };
  return substitute(placed, by, ranges);
}

/// Elements of each vector lie side by side, the first at a multiple of their number.
void verify_shared_vector(const Kernel &kernel, const MachineMap &map, const VectorAccess &access,
                          const Index &placed, const std::string &place) {
  std::uint32_t axis = map.vector_axis(access.layout, access.index, access.width, access.dims);
  const AxisMap &along = map.axis(access.layout, axis);
  Index first = at_element(map, placed, along, access.width, 0);
  for (int e = 1; e < access.width; ++e)
    require(at_element(map, placed, along, access.width, e) - first == Index(e), kernel, place,
            "the {} elements of a vector do not lie side by side at shared offset {}", access.width,
            to_string(kernel, access.index));
  require(known_divisor(first, divisor_of) % access.width == 0, kernel, place,
          "a vector of {} elements at shared offset {} is not aligned to its size", access.width,
          to_string(kernel, access.index));
}

void verify_unaligned(const Kernel &kernel, const Stmt &stmt, const Buffer &b,
                      const std::string &place) {
  std::size_t bytes = size_of(b.dtype) * static_cast<std::size_t>(stmt.vector);
  require(stmt.kind == StmtKind::Load && !stmt.bulk && stmt.cache == Cache::Default, kernel, place,
          "only loads without a cache policy are unaligned");
  require(stmt.vector > 1 && (bytes == 8 || bytes == 16), kernel, place,
          "an unaligned load is a vector of 8 or 16 bytes, not {} of {}", stmt.vector,
          to_string(b.dtype));
  require(!b.coherent && !b.strided, kernel, place,
          "%{} is read around an unaligned vector, so it may be neither coherent nor strided",
          b.name);
}

}  // namespace

void verify_access(const Kernel &kernel, const MachineMap &map, LayoutId in, const Stmt &stmt,
                   bool in_pipe, const std::string &place) {
  const Buffer &b = kernel.buffers[stmt.buffer];
  bool is_load = stmt.kind == StmtKind::Load;
  bool read_only = b.role == BufferRole::Input || b.role == BufferRole::Scalar;
  require(is_load || !read_only, kernel, place, "%{} is an input", b.name);
  DType dtype = kernel.values[is_load ? stmt.results[0] : stmt.operands[0]].dtype;
  require(dtype == b.dtype, kernel, place, "%{} holds {}, not {}", b.name, to_string(b.dtype),
          to_string(dtype));
  require(b.role != BufferRole::Scalar || stmt.index.is_constant(0), kernel, place,
          "a scalar is loaded at 0");
  verify_vector(kernel, map, {stmt.index, dependence(kernel, stmt), in, stmt.vector, b.dtype},
                place);
  require(stmt.fill == 0 || has_fill(kernel, stmt), kernel, place,
          "a load with a guard, in bulk or of a scalar has no fill");
  if (stmt.unaligned) verify_unaligned(kernel, stmt, b, place);
  require(!stmt.bulk || in_pipe, kernel, place, "a bulk load stands in a loop with a pipe");
  if (!stmt.bulk) return;
  std::string obstacle = bulk_load(kernel, map, in, stmt).obstacle;
  require(obstacle.empty(), kernel, place, "{}", obstacle);
}

void verify_random(const Kernel &kernel, const MachineMap &map, LayoutId in, const Stmt &stmt,
                   const std::string &place) {
  const KernelValue &seed = kernel.values[stmt.operands[0]];
  require(seed.dtype == DType::U64 && seed.dims.empty(), kernel, place,
          "the seed %{} is no u64 that is one for all positions", seed.name);
  require(kernel.values[stmt.results[0]].dtype == DType::U32, kernel, place,
          "random words are u32, not {}", to_string(kernel.values[stmt.results[0]].dtype));
  require(stmt.stream <= INT64_MAX, kernel, place, "stream {} is not below 2^63", stmt.stream);
  require(stmt.vector <= kPhiloxWords, kernel, place, "{} words do not come from one call",
          stmt.vector);
  verify_vector(kernel, map, {stmt.index, dependence(kernel, stmt), in, stmt.vector, DType::U32},
                place);
}

void verify_vector(const Kernel &kernel, const MachineMap &map, const VectorAccess &access,
                   const std::string &place) {
  int width = access.width;
  require(width >= 1 && std::has_single_bit(static_cast<unsigned>(width)) &&
              static_cast<std::size_t>(width) * size_of(access.dtype) <= 32,
          kernel, place, "vectors of {} {} are no power of two of at most 32 bytes", width,
          to_string(access.dtype));
  bool runs =
      width == 1 || map.vector_axis(access.layout, access.index, width, access.dims) != kNone;
  require(runs, kernel, place, "no vec digit that {} divides advances {} by 1", width,
          to_string(kernel, access.index));
}

void verify_shared_offset(const Kernel &kernel, const MachineMap &map, const VectorAccess &access,
                          const std::string &place) {
  verify_vector(kernel, map, access, place);
  Index placed = map.place(access.index, access.layout);
  std::optional<Interval> range = interval(placed, map.ranges());
  require(range.has_value(), kernel, place, "shared offset {} has no bounds that are known",
          to_string(kernel, access.index));
  require(range->lo >= 0, kernel, place, "shared offset {} may be {}: it starts at 0",
          to_string(kernel, access.index), range->lo);
  if (access.width > 1) verify_shared_vector(kernel, map, access, placed, place);
}

}  // namespace fuse
