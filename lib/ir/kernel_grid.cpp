// The blocks of a kernel: how the grid digits of its layouts share the block index.
#include "ir/kernel_verify.h"

#include <algorithm>

namespace fuse {

namespace {

/// Whether digit b spans every block that digit a does: by size, or because a nests in b's stride.
bool spans_all_of(const Digit &b, const Digit &a, const Ranges &ranges) {
  Index span = a.extent * a.stride;
  return provably_in(span, b.extent * b.stride + 1, ranges) ||
         (!span.is_constant(0) && mod(b.stride, span).is_constant(0));
}

/// The grid digit that spans the blocks of all others, null without any; nullopt where two cannot
/// be compared.
std::optional<const Digit *> widest_grid_digit(const Kernel &kernel) {
  Ranges ranges;
  ranges.symbol_min = [](const std::string &) { return INT64_C(1); };
  const Digit *widest = nullptr;
  for (const Layout &layout : kernel.layouts) {
    for (const Axis &axis : layout.axes) {
      for (const Digit &d : axis.digits) {
        if (d.kind != DigitKind::Grid || (widest && spans_all_of(*widest, d, ranges))) continue;
        if (widest && !spans_all_of(d, *widest, ranges)) return std::nullopt;
        widest = &d;
      }
    }
  }
  return widest;
}

/// Whether the outer digit names a part of the block index that the inner one is a part of: dims
/// may be partial results, and their tiles.
bool is_part(const Digit &inner, const Digit &outer) {
  return mod(inner.stride, outer.stride).is_constant(0) &&
         mod(outer.extent * outer.stride, inner.extent * inner.stride).is_constant(0);
}

}  // namespace

Index clusters_of(const Kernel &kernel) {
  std::optional<const Digit *> widest = widest_grid_digit(kernel);
  if (!widest)
    fail(ErrorCode::Internal,
         "kernel {}: two grid digits span numbers of blocks that cannot be compared", kernel.name);
  return *widest ? (*widest)->extent * (*widest)->stride : Index(1);
}

Index grid_size(const Kernel &kernel) { return clusters_of(kernel) * kernel.cluster; }

bool nests(const Digit &inner, const Digit &outer) {
  Index span = inner.extent * inner.stride;
  return span.is_constant(0) || mod(outer.stride, span).is_constant(0);
}

std::optional<std::pair<const Digit *, const Digit *>> overlapping_grid_digits(
    const Layout &layout) {
  std::vector<const Digit *> digits;
  for (const Axis &axis : layout.axes)
    for (const Digit &d : axis.digits)
      if (d.kind == DigitKind::Grid && !d.extent.is_constant(1)) digits.push_back(&d);
  for (std::size_t i = 0; i < digits.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Digit &a = *digits[j], &b = *digits[i];
      if (!is_part(a, b) && !is_part(b, a) && !nests(a, b) && !nests(b, a)) return {{&a, &b}};
    }
  return {};
}

bool grids_nest(const Kernel &kernel) {
  return widest_grid_digit(kernel) &&
         std::none_of(kernel.layouts.begin(), kernel.layouts.end(), [](const Layout &layout) {
           return overlapping_grid_digits(layout).has_value();
         });
}

}  // namespace fuse
