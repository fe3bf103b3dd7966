// Facts of arguments and the checks on them.
#include "runtime/arguments.h"

#include "ir/exact.h"
#include "ir/float_bits.h"
#include "ir/format.h"
#include "runtime/scratch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace fuse {

namespace {

bool is_row_major(const std::int64_t *extents, const std::int64_t *strides,
                  const std::int64_t *row_major, std::size_t rank) {
  for (std::size_t d = 0; d < rank; ++d)
    if (extents[d] != 1 && strides[d] != row_major[d]) return false;
  return true;
}

void check_output_strides(const std::string &name, const std::int64_t *extents,
                          const std::int64_t *strides, std::size_t rank) {
  for (std::size_t d = 0; d < rank; ++d)
    if (extents[d] > 1 && strides[d] == 0)
      fail(ErrorCode::InvalidArgument, "output {} has stride 0 on axis {} of {} elements", name, d,
           extents[d]);
  // From the axis with the shortest stride outwards, each must step over all that lies within.
  Scratch<std::size_t, 8> axes(rank);
  std::iota(axes.begin(), axes.begin() + rank, std::size_t{0});
  auto step = [&](std::size_t axis) { return extents[axis] > 1 ? std::abs(strides[axis]) : 0; };
  std::sort(axes.begin(), axes.begin() + rank,
            [&](std::size_t a, std::size_t b) { return step(a) < step(b); });
  std::int64_t reach = 0;
  for (std::size_t axis : std::span(axes.data(), rank)) {
    if (extents[axis] > 1 && step(axis) <= reach)
      fail(ErrorCode::InvalidArgument,
           "output {} overlaps itself: stride {} on axis {} is within {} elements of other axes",
           name, strides[axis], axis, reach + 1);
    reach += (extents[axis] - 1) * step(axis);
  }
}

/// Refuses strides that lead beyond 63 bits.
void check_reach(const ExactArithmetic &exact, const std::int64_t *extents,
                 const std::int64_t *strides, std::size_t rank, std::int64_t size) {
  std::int64_t low = 0, high = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    if (extents[d] == 1) continue;
    std::int64_t step = exact.mul(exact.mul(strides[d], extents[d]), size);
    (step < 0 ? low : high) = exact.add(step < 0 ? low : high, step);
  }
}

__extension__ using WideInteger = __int128;

/// True where the integer is a value of the dtype.
bool fits(DType type, WideInteger value) {
  if (is_bool(type)) return value == 0 || value == 1;
  int bits = 8 * static_cast<int>(size_of(type));
  WideInteger one = 1;
  if (is_unsigned_int(type)) return value >= 0 && value < one << bits;
  return value >= -(one << (bits - 1)) && value < one << (bits - 1);
}

std::string decimal(WideInteger value) {
  return value < 0 ? std::to_string(static_cast<std::int64_t>(value))
                   : std::to_string(static_cast<std::uint64_t>(value));
}

double real_of(const Arg &given) {
  if (given.kind == Arg::Kind::Real) return given.real;
  return given.kind == Arg::Kind::Unsigned
             ? static_cast<double>(static_cast<std::uint64_t>(given.integer))
             : static_cast<double>(given.integer);
}

WideInteger integer_of(const Argument &argument, const Arg &given) {
  if (given.kind == Arg::Kind::Unsigned) return static_cast<std::uint64_t>(given.integer);
  if (given.kind == Arg::Kind::Integer) return given.integer;
  bool whole = given.real >= -0x1p63 && given.real < 0x1p64 && std::trunc(given.real) == given.real;
  if (!whole)
    fail(ErrorCode::DType, "{} is a scalar of {}: {} is not an integer of 64 bits", argument.name,
         to_string(argument.dtype), given.real);
  return static_cast<WideInteger>(given.real);
}

std::uint64_t float_bits(const Argument &argument, double value) {
  std::uint64_t bits = encode_float(argument.dtype, value);
  if (std::isfinite(value) && !std::isfinite(decode_float(argument.dtype, bits)))
    fail(ErrorCode::DType, "{} is a scalar of {}, which does not hold {}", argument.name,
         to_string(argument.dtype), value);
  return bits;
}

/// Fills in what the strided argument spans; its reach is checked.
void describe_span(const std::int64_t *extents, const std::int64_t *strides, std::size_t rank,
                   std::int64_t size, ArgumentFacts &facts) {
  facts.bytes = size;
  for (std::size_t d = 0; d < rank; ++d) {
    if (extents[d] == 1 || strides[d] == 0) continue;
    std::int64_t step = strides[d] * size, reach = (extents[d] - 1) * step;
    if (step < 0) facts.first += reach;
    facts.bytes += std::abs(reach);
    facts.axes[facts.num_axes++] = {std::abs(step), extents[d]};
  }
}

}  // namespace

int alignment_of(const void *address) {
  auto bits = reinterpret_cast<std::uintptr_t>(address) | 16;
  return 1 << std::countr_zero(bits);
}

ArgumentFacts describe(const Argument &argument, bool is_output, const std::int64_t *extents,
                       const std::int64_t *strides, int alignment) {
  const std::size_t rank = argument.shape.size();
  ArgumentFacts facts;
  const ExactArithmetic exact{ErrorCode::Shape, argument.name};
  std::int64_t elements = 1;
  for (std::size_t d = rank; d-- > 0;) {
    facts.strides[d] = elements;
    elements = exact.mul(elements, extents[d]);
  }
  const auto size = static_cast<std::int64_t>(size_of(argument.dtype));
  facts.kind.alignment = std::max(alignment, static_cast<int>(size));
  facts.bytes = exact.mul(elements, size);
  if (elements == 0 || !strides || is_row_major(extents, strides, facts.strides, rank))
    return facts;
  check_reach(exact, extents, strides, rank, size);
  if (is_output) check_output_strides(argument.name, extents, strides, rank);
  facts.kind.strided = true;
  facts.kind.has_rows = extents[rank - 1] == 1 || strides[rank - 1] == 1;
  describe_span(extents, strides, rank, size, facts);
  std::copy_n(strides, rank, facts.strides);
  return facts;
}

void find_shifted(ArgumentFacts *facts, const int *sizes, std::size_t count) {
  auto is_candidate = [&](std::size_t i) { return facts[i].data && facts[i].kind.alignment < 16; };
  auto phase = [&](std::size_t i, int vector) {
    return reinterpret_cast<std::uintptr_t>(facts[i].data) / static_cast<std::uintptr_t>(sizes[i]) %
           static_cast<std::uintptr_t>(vector);
  };
  // Vectors of the narrowest hold most elements: what agrees with it agrees with each other.
  std::size_t frame = count;
  for (std::size_t i = 0; i < count; ++i)
    if (is_candidate(i) && (frame == count || sizes[i] < sizes[frame])) frame = i;
  auto agrees = [&](std::size_t i) {
    int vector = 16 / std::max(sizes[i], 1);
    return is_candidate(i) && phase(i, vector) == phase(frame, vector);
  };
  std::size_t agreeing = 0;
  for (std::size_t i = 0; i < count; ++i) agreeing += agrees(i);
  for (std::size_t i = 0; agreeing > 1 && i < count; ++i)
    if (agrees(i)) facts[i].kind = {facts[i].kind.strided, sizes[i], facts[i].kind.has_rows, true};
}

Arg scalar_argument(const Literal &value) {
  if (is_float(value.dtype)) return as_double(value);
  std::uint64_t bits = wrap_int(value.dtype, value.bits);
  return is_signed_int(value.dtype) ? Arg(static_cast<std::int64_t>(bits)) : Arg(bits);
}

std::uint64_t scalar_bits(const Argument &argument, const Arg &given) {
  if (is_float(argument.dtype)) return float_bits(argument, real_of(given));
  WideInteger value = integer_of(argument, given);
  if (!fits(argument.dtype, value))
    fail(ErrorCode::DType, "{} is a scalar of {}, which does not hold {}", argument.name,
         to_string(argument.dtype), decimal(value));
  return static_cast<std::uint64_t>(value);
}

std::optional<std::vector<std::int64_t>> strides_of_reshape(
    const std::vector<std::int64_t> &extents, const std::vector<std::int64_t> &strides,
    const std::vector<std::int64_t> &shape) {
  std::vector<std::int64_t> result(shape.size(), 0);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return result;
  // From the innermost axes outwards: axes that steps of one stride walk through make a run, and
  // the new axes share runs out.
  std::size_t next = shape.size();
  for (std::size_t d = extents.size(); d-- > 0;) {
    if (extents[d] == 1) continue;
    std::int64_t stride = strides[d], run = extents[d];
    while (d > 0 && (extents[d - 1] == 1 || strides[d - 1] == stride * run)) run *= extents[--d];
    for (std::int64_t left = run; left > 1;) {
      std::int64_t extent = shape[--next];
      if (left % extent != 0) return {};
      result[next] = stride * (run / left);
      left /= extent;
    }
  }
  return result;
}

}  // namespace fuse
