// Measured on the H200 (bench/results): a layer norm backward of 4,096 columns at 96 % of copy with
// three stages of 16 KB in each of two blocks an SM, at 44 % without.
#include "passes/schedule/choose_pipe.h"

#include "ir/bulk.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr std::int64_t kUnderWay = 64 << 10;       // bytes of an SM that hide the memory's latency
constexpr std::int64_t kMostExchanged = 48 << 10;  // shared memory in which threads meet
constexpr std::int64_t kFewExchanged = 4 << 10;    // where they meet in one result each time
constexpr std::int64_t kBlockOverhead = 4 << 10;   // of a block's share: the system's, exchanges
constexpr std::int64_t kUsualStages = 3, kMostStages = 4;

class PipeChooser {
 public:
  PipeChooser(Kernel &kernel, const Target &target, int stages)
      : k_(kernel), target_(target), tuned_stages_(stages), map_(kernel) {}

  void choose_in(std::vector<Stmt> &body, LayoutId layout) {
    for (Stmt &s : body) {
      bool may_pipe = s.kind == StmtKind::For && !s.reverse && layout != kNone;
      if (may_pipe && meets(s)) choose(s, layout);
      choose_in(s.body, s.kind == StmtKind::In ? s.layout : layout);
    }
  }

 private:
  Kernel &k_;
  const Target &target_;
  int tuned_stages_;
  MachineMap map_;

  /// Whether threads wait for one another in each iteration: something is reduced that does not
  /// accumulate over the loop.
  bool meets(const Stmt &loop) const {
    return std::any_of(loop.body.begin(), loop.body.end(), [&](const Stmt &s) {
      return s.kind == StmtKind::Reduce && !accumulates(s, loop.loop);
    });
  }

  bool accumulates(const Stmt &reduce, const std::string &loop) const {
    const Layout &layout = k_.layouts[k_.values[reduce.results[0]].layout];
    std::vector<std::uint32_t> axes = axes_of(layout, reduce.axes);
    return std::any_of(axes.begin(), axes.end(), [&](std::uint32_t a) {
      const std::vector<Digit> &digits = layout.axes[a].digits;
      return std::any_of(digits.begin(), digits.end(), [&](const Digit &d) {
        return d.kind == DigitKind::Loop && d.name == loop;
      });
    });
  }

  void choose(Stmt &loop, LayoutId layout) {
    std::vector<Stmt *> loads;
    std::int64_t stage = 0;
    for (Stmt &s : loop.body) {
      if (s.kind != StmtKind::Load || s.cache != Cache::Default || s.unaligned) continue;
      BulkLoad bulk = bulk_load(k_, map_, layout, s);
      if (!bulk.obstacle.empty()) continue;
      loads.push_back(&s);
      if (!bulk.is_value) stage += bulk_stage_bytes(bulk.shape, k_.buffers[s.buffer].dtype);
    }
    std::int64_t depth = stage == 0 ? 0 : stages(stage);
    if (depth < 2) return;
    loop.pipe = static_cast<int>(depth);
    for (Stmt *load : loads) {
      load->bulk = true;
      load->fill = 0;
    }
  }

  std::int64_t exchanged_bytes() const {
    return has_one_result(k_.body) ? kFewExchanged : kMostExchanged;
  }

  /// Whether no reduction gives a thread, or threads that meet, several results.
  bool has_one_result(const std::vector<Stmt> &body) const {
    return std::all_of(body.begin(), body.end(), [&](const Stmt &s) {
      bool is_one = s.kind != StmtKind::Reduce || !is_within_block(k_.values[s.results[0]]);
      return is_one && has_one_result(s.body);
    });
  }

  bool is_within_block(const KernelValue &value) const {
    const Layout &layout = k_.layouts[value.layout];
    std::vector<std::uint32_t> axes = axes_of(layout, value.dims);
    return std::any_of(axes.begin(), axes.end(), [&](std::uint32_t a) {
      const std::vector<Digit> &digits = layout.axes[a].digits;
      return std::any_of(digits.begin(), digits.end(), [](const Digit &d) {
        bool is_shared = d.kind == DigitKind::Grid || d.kind == DigitKind::Cta ||
                         d.kind == DigitKind::Loop || d.extent.is_constant(1);
        return !is_shared;
      });
    });
  }

  /// One is read while the others are under way.
  std::int64_t stages(std::int64_t bytes) const {
    std::int64_t blocks = std::max(1, k_.resident);
    std::int64_t wanted = 1 + (kUnderWay + blocks * bytes - 1) / (blocks * bytes);
    std::int64_t room = std::min(target_.shared_per_block - exchanged_bytes(),
                                 target_.shared_per_sm / blocks - kBlockOverhead);
    if (tuned_stages_ > 0) return std::min<std::int64_t>(tuned_stages_, room / bytes);
    return std::min({std::max(wanted, kUsualStages), room / bytes, kMostStages});
  }
};

}  // namespace

void choose_pipes(Kernel &kernel, const Target &target, int stages) {
  if (target.sm >= kBulkCopies) PipeChooser(kernel, target, stages).choose_in(kernel.body, kNone);
}

}  // namespace fuse
