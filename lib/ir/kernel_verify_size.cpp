// Invariant 29: what a kernel unrolls to.
#include "ir/kernel_verify.h"

#include <algorithm>
#include <bit>

namespace fuse {

namespace {

/// Planning counts instructions and by estimate: kernels have a few times as much room.
constexpr std::int64_t kMaxUnrolled = 4 * kMaxStatements;

/// Counts what the emitter writes down: each statement once for every slot, and the steps that
/// combine the threads of a reduction.
class Unrolling {
 public:
  explicit Unrolling(const Kernel &kernel) : k_(kernel) {}

  std::int64_t of_body(const std::vector<Stmt> &body, LayoutId layout) const {
    std::int64_t count = 0;
    for (const Stmt &s : body) count += of_statement(s, layout);
    return count;
  }

 private:
  std::int64_t of_statement(const Stmt &s, LayoutId layout) const {
    switch (s.kind) {
      case StmtKind::Constant: return 1;
      case StmtKind::Index:
      case StmtKind::Compute:
      case StmtKind::Load:
      case StmtKind::Store:
      case StmtKind::Scan:
      case StmtKind::Keep: return slots(layout, dependence(k_, s));
      case StmtKind::Reduce: return of_reduction(s, layout);
      case StmtKind::Move: {
        const std::vector<DimId> &dims = k_.values[s.operands[0]].dims;
        return slots(layout, dims) + slots(s.layout, dims);
      }
      case StmtKind::For: return (s.partition ? 2 : 1) * of_body(s.body, layout);
      case StmtKind::In: return of_body(s.body, s.layout);
      case StmtKind::LastBlock: return of_body(s.body, layout);
    }
    return 0;
  }

  std::int64_t of_reduction(const Stmt &s, LayoutId in) const {
    const Layout &layout = k_.layouts[in];
    std::vector<DimId> folded;
    for (ValueId v : s.operands)
      folded.insert(folded.end(), k_.values[v].dims.begin(), k_.values[v].dims.end());
    std::int64_t threads = 1, ranks = 1;
    for (std::uint32_t a : axes_of(layout, s.axes))
      for (const Digit &d : layout.axes[a].digits) {
        if (d.kind == DigitKind::Thread) threads *= *d.extent.constant();
        if (d.kind == DigitKind::Cta) ranks *= *d.extent.constant();
      }
    std::int64_t steps = std::bit_width(static_cast<std::uint64_t>(threads)) + threads / 32 + ranks;
    return slots(in, folded) + slots(in, dependence(k_, s)) * steps;
  }

  std::int64_t slots(LayoutId layout, const std::vector<DimId> &dims) const {
    return num_slots(k_.layouts[layout], axes_of(k_.layouts[layout], dims));
  }

  const Kernel &k_;
};

}  // namespace

void verify_size(const Kernel &kernel) {
  std::int64_t unrolled = Unrolling(kernel).of_body(kernel.body, kNone);
  require(unrolled <= kMaxUnrolled, kernel, "body",
          "it unrolls to {} statements, more than {}: take smaller reg and vec digits, or loops",
          unrolled, kMaxUnrolled);
}

}  // namespace fuse
