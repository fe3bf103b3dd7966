// Invariants of a kernel's signature, dims and layouts; kernel_verify.cpp lists them.
//
// Checks run in the list's order, so each may rely on those before it.
#include "ir/kernel_verify.h"

#include <algorithm>
#include <bit>
#include <set>

namespace fuse {

namespace {

constexpr std::int64_t kMaxSlots = 4096;

bool is_power_of_two(std::int64_t n) {
  return n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n));
}

bool is_identifier(std::string_view name) {
  auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  auto is_tail = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.'; };
  return !name.empty() && is_letter(name[0]) && name.back() != '.' &&
         std::all_of(name.begin(), name.end(), is_tail) &&
         name.find("..") == std::string_view::npos;
}

class LayoutVerifier {
 public:
  explicit LayoutVerifier(const Kernel &kernel) : k_(kernel) {}

  void verify() {
    verify_settings();
    verify_names();
    verify_buffers();
    for (const KernelDim &d : k_.dims) require_symbolic(d.extent, "dim " + d.name);
    for (const Layout &layout : k_.layouts) verify_layout(layout);
    verify_loops_agree();
    grid_size(k_);
  }

 private:
  void verify_settings() {
    require(is_identifier(k_.name), k_, "signature", "the kernel's name is no identifier");
    require(k_.threads >= 32 && k_.threads <= 1024 && k_.threads % 32 == 0, k_, "signature",
            "{} threads: a block has 32 to 1024 threads in whole warps", k_.threads);
    require(k_.resident >= 0 && k_.resident <= 32, k_, "signature",
            "resident {}: an SM holds up to 32 blocks", k_.resident);
    require(k_.cluster >= 1 && k_.cluster <= 16, k_, "signature",
            "cluster of {}: a cluster has 1 to 16 blocks", k_.cluster);
    require(k_.index_bits == 32 || k_.index_bits == 64, k_, "signature",
            "index width {} is neither 32 nor 64", k_.index_bits);
  }

  template <class T>
  void verify_unique(const std::vector<T> &items, const char *what, bool may_be_empty = false) {
    std::set<std::string_view> seen;
    for (const T &item : items) {
      if (item.name.empty() && may_be_empty) continue;
      require(is_identifier(item.name), k_, what, "'{}' is no identifier", item.name);
      require(seen.insert(item.name).second, k_, what, "{} names two", item.name);
    }
  }

  void verify_names() {
    verify_unique(k_.buffers, "buffer");
    verify_unique(k_.dims, "dim");
    verify_unique(k_.layouts, "layout");
    verify_unique(k_.values, "value", true);
    verify_unique(k_.table, "size");
    for (const std::string &symbol : symbols_of(k_)) {
      require(is_identifier(symbol), k_, "symbol", "'{}' is no identifier", symbol);
      for (const KernelDim &d : k_.dims)
        require(d.name != symbol, k_, "symbol", "{} is also the name of a dim", symbol);
    }
    for (const auto &[symbol, divisor] : k_.divisors)
      require(is_identifier(symbol) && is_power_of_two(divisor), k_, "signature",
              "divisor {} of {} is no power of two", divisor, symbol);
    for (const auto &[symbol, least] : k_.minima)
      require(is_identifier(symbol) && least >= 0, k_, "signature",
              "minimum {} of {} is no size of a symbol", least, symbol);
  }

  void verify_buffers() {
    auto rank = [](BufferRole role) {
      return role == BufferRole::Scalar ? 0 : static_cast<int>(role);
    };
    int last = 0;
    for (const Buffer &b : k_.buffers) {
      std::string place = "buffer " + b.name;
      require(rank(b.role) >= last, k_, place, "inputs, outputs, workspace is the order");
      last = rank(b.role);
      require(b.role != BufferRole::Scalar || (b.shape.empty() && !b.coherent && !b.strided), k_,
              place, "a scalar has rank 0 and is neither coherent nor strided");
      require(b.alignment == 0 || (is_power_of_two(b.alignment) &&
                                   b.alignment >= static_cast<int>(size_of(b.dtype))),
              k_, place, "alignment {} is no power of two of at least an element", b.alignment);
      for (const Index &extent : b.shape) require_symbolic(extent, place);
    }
  }

  void require_symbolic(const Index &index, const std::string &place) const {
    require(!index.uses(Atom::Kind::Dim) && !index.uses(Atom::Kind::Value), k_, place,
            "{} uses more than symbols", to_string(k_, index));
  }

  void verify_layout(const Layout &layout) {
    require(layout.axes.size() <= kMaxAxes, k_, "layout " + layout.name, "it has more than {} axes",
            kMaxAxes);
    std::set<DimId> seen;
    std::set<std::string_view> loops;
    std::int64_t slots = 1;
    for (const Axis &axis : layout.axes) {
      std::string place = "layout " + layout.name;
      require(!axis.dims.empty(), k_, place, "an axis has no dims");
      for (DimId d : axis.dims) {
        require(d < k_.dims.size(), k_, place, "dim {} is out of range", d);
        require(seen.insert(d).second, k_, place, "dim {} is in two axes", k_.dims[d].name);
      }
      place += ", axis " + k_.dims[axis.dims[0]].name;
      verify_digits(axis, place, slots);
      for (const Digit &d : axis.digits)
        require(d.kind != DigitKind::Loop || loops.insert(d.name).second, k_, place,
                "loop {} is in the layout twice", d.name);
    }
    verify_span(layout, DigitKind::Thread, k_.threads);
    verify_span(layout, DigitKind::Cta, k_.cluster);
    verify_grid(layout);
    for (std::uint32_t a = 0; a < layout.axes.size(); ++a) verify_align(layout, a);
    for (const Axis &axis : layout.axes) verify_positions(layout, axis);
  }

  /// Positions are computed in the width of offsets; a size that is not known yet may be small.
  void verify_positions(const Layout &layout, const Axis &axis) {
    std::optional<std::int64_t> positions = constant_positions(axis);
    require(k_.index_bits == 64 || !positions || *positions <= kMaxNarrowPositions, k_,
            "layout " + layout.name, "{} positions on an axis need index 64",
            positions.value_or(0));
  }

  void verify_digits(const Axis &axis, const std::string &place, std::int64_t &slots) {
    require(!axis.digits.empty(), k_, place, "it has no digits; write reg 1");
    for (const Digit &d : axis.digits) {
      require(d.kind != DigitKind::Vec || &d == &axis.digits.back(), k_, place,
              "a vec digit is not the last");
      require(d.kind != DigitKind::Loop || is_identifier(d.name), k_, place,
              "'{}' is no identifier", d.name);
      verify_digit(d, place);
      if (d.kind != DigitKind::Reg && d.kind != DigitKind::Vec) continue;
      slots *= *d.extent.constant();
      require(slots <= kMaxSlots, k_, place, "the layout has more than {} slots", kMaxSlots);
    }
  }

  void verify_digit(const Digit &d, const std::string &place) {
    require_symbolic(d.extent, place);
    require_symbolic(d.stride, place);
    std::optional<std::int64_t> extent = d.extent.constant(), stride = d.stride.constant();
    bool may_be_symbolic = d.kind == DigitKind::Grid || d.kind == DigitKind::Loop;
    require(extent || may_be_symbolic, k_, place, "extent {} of a digit is not constant",
            to_string(k_, d.extent));
    require(!extent || (*extent >= (may_be_symbolic ? 0 : 1) && *extent <= INT32_MAX), k_, place,
            "digit extent {} is out of range", extent.value_or(0));
    require(stride || d.kind == DigitKind::Grid, k_, place, "stride {} of a digit is not constant",
            to_string(k_, d.stride));
    require(!stride || (*stride >= 1 && *stride <= INT32_MAX), k_, place,
            "digit stride {} is out of range", stride.value_or(0));
    bool has_stride =
        d.kind == DigitKind::Grid || d.kind == DigitKind::Cta || d.kind == DigitKind::Thread;
    require(has_stride || stride == 1, k_, place, "only grid, cta and thread digits have a stride");
  }

  /// Digits of a kind tile [0, total): each span divides the next stride, the last one the total.
  void verify_span(const Layout &layout, DigitKind kind, std::int64_t total) {
    std::vector<std::pair<std::int64_t, std::int64_t>> digits;  // stride, extent
    for (const Axis &axis : layout.axes)
      for (const Digit &d : axis.digits)
        if (d.kind == kind && !d.extent.is_constant(1))
          digits.emplace_back(*d.stride.constant(), *d.extent.constant());
    std::sort(digits.begin(), digits.end());
    std::string place = "layout " + layout.name;
    const char *what = kind == DigitKind::Thread ? "thread" : "cta";
    for (std::size_t i = 0; i < digits.size(); ++i) {
      auto [stride, extent] = digits[i];
      std::int64_t next = i + 1 < digits.size() ? digits[i + 1].first : total;
      require(next % (stride * extent) == 0, k_, place, "{} digits {}@{} and {} overlap", what,
              extent, stride, next);
      if (kind == DigitKind::Thread) verify_warp_part(place, stride, extent);
    }
  }

  /// Lanes are combined by xor, so what lies below 32 counts in powers of two.
  void verify_warp_part(const std::string &place, std::int64_t stride, std::int64_t extent) {
    bool whole_warps = stride >= 32 && stride % 32 == 0;
    bool lanes = stride < 32 && is_power_of_two(stride) &&
                 (is_power_of_two(extent) || stride * extent % 32 == 0);
    require(whole_warps || lanes, k_, place, "thread digit {}@{} splits a warp unevenly", extent,
            stride);
  }

  void verify_grid(const Layout &layout) {
    auto overlap = overlapping_grid_digits(layout);
    if (!overlap) return;
    auto [a, b] = *overlap;
    require(false, k_, "layout " + layout.name, "grid digits {}@{} and {}@{} overlap",
            to_string(k_, a->extent), to_string(k_, a->stride), to_string(k_, b->extent),
            to_string(k_, b->stride));
  }

  void verify_align(const Layout &layout, std::uint32_t a) {
    const Axis &axis = layout.axes[a];
    const AlignTo &align = axis.align;
    if (align.buffer == kNone) return;
    std::string place = "layout " + layout.name + ", axis " + k_.dims[axis.dims[0]].name;
    require(align.buffer < k_.buffers.size(), k_, place, "align names no buffer");
    require(is_power_of_two(vec_extent(axis)), k_, place,
            "align needs a vec digit of a power of two");
    require(!align.base.uses(Atom::Kind::Value), k_, place, "the base of align uses a value");
    for (DimId d : align.base.dims()) {
      std::uint32_t other = d < k_.dims.size() ? axis_of(layout, d) : kNone;
      require(other != kNone && other != a && layout.axes[other].align.buffer == kNone, k_, place,
              "the base of align uses a dim that is not in another, unaligned axis");
    }
  }

  /// A loop is one loop in all layouts.
  void verify_loops_agree() {
    for (const Layout &layout : k_.layouts)
      for (const Axis &axis : layout.axes)
        for (const Digit &d : axis.digits)
          for (const Layout &other : k_.layouts)
            if (const Digit *same = loop_digit(other, d.kind == DigitKind::Loop ? d.name : ""))
              require(same->extent == d.extent, k_, "loop " + d.name,
                      "layouts {} and {} give it different extents", layout.name, other.name);
  }

  const Kernel &k_;
};

}  // namespace

std::string to_string(const Kernel &kernel, const Index &index) {
  return to_string(index, [&](const Atom &a) {
    if (a.kind == Atom::Kind::Dim)
      return a.id < kernel.dims.size() ? kernel.dims[a.id].name : "dim" + std::to_string(a.id);
    return "%" + (a.id < kernel.values.size() ? kernel.values[a.id].name : std::to_string(a.id));
  });
}

void verify_layouts(const Kernel &kernel) { LayoutVerifier(kernel).verify(); }

}  // namespace fuse
