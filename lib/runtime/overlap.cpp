// Spans are compared in one sweep; only where two meet are their steps looked at.
#include "runtime/overlap.h"

#include "ir/format.h"
#include "runtime/scratch.h"

#include <algorithm>
#include <numeric>

namespace fuse {

namespace {

struct Span {
  std::uintptr_t begin, end;
  std::size_t argument;
  bool is_output;
};

std::uintptr_t begin_of(const ArgumentFacts &facts) {
  return reinterpret_cast<std::uintptr_t>(facts.data) + static_cast<std::uintptr_t>(facts.first);
}

class OverlapCheck {
 public:
  OverlapCheck(const std::vector<Argument> &inputs, const std::vector<Argument> &outputs,
               const std::vector<SharedMemory> &in_place, const ArgumentFacts *facts)
      : inputs_(inputs),
        outputs_(outputs),
        in_place_(in_place),
        facts_(facts),
        spans_(inputs.size() + outputs.size()) {}

  void run() {
    list_spans();
    std::sort(spans_.begin(), spans_.begin() + used_,
              [](const Span &a, const Span &b) { return a.begin < b.begin; });
    std::uintptr_t any = 0, output = 0;  // ends of the spans that reach furthest so far
    for (std::size_t k = 0; k < used_; ++k) {
      const Span &span = spans_[k];
      if (span.begin < (span.is_output ? any : output)) compare_with_earlier(k);
      any = std::max(any, span.end);
      if (span.is_output) output = std::max(output, span.end);
    }
  }

 private:
  /// The output's span stands for both of a declared pair.
  void list_spans() {
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      const ArgumentFacts &facts = facts_[i];
      bool shared = std::any_of(in_place_.begin(), in_place_.end(), [&](const SharedMemory &pair) {
        const ArgumentFacts &output = facts_[inputs_.size() + pair.output];
        return pair.input == i && facts.data == output.data && !facts.kind.strided &&
               !output.kind.strided;
      });
      if (facts.bytes == 0 || shared) continue;
      std::uintptr_t begin = begin_of(facts);
      spans_[used_++] = {begin, begin + static_cast<std::uintptr_t>(facts.bytes), i,
                         i >= inputs_.size()};
    }
  }

  void compare_with_earlier(std::size_t k) {
    const Span &span = spans_[k];
    for (std::size_t m = 0; m < k; ++m) {
      const Span &other = spans_[m];
      bool meet = (span.is_output || other.is_output) && span.begin < other.end;
      if (meet && !are_apart(facts_[other.argument], facts_[span.argument]))
        refuse(std::min(span.argument, other.argument), std::max(span.argument, other.argument));
    }
  }

  bool is_pair(std::size_t input, std::size_t output) const {
    return std::any_of(in_place_.begin(), in_place_.end(), [&](const SharedMemory &pair) {
      return pair.input == input && inputs_.size() + pair.output == output;
    });
  }

  [[noreturn]] void refuse(std::size_t a, std::size_t b) const {
    if (is_pair(a, b))
      fail(ErrorCode::InvalidArgument,
           "{} and {} overlap in memory: pass one address for both, or memory apart", name(a),
           name(b));
    bool interleave = facts_[a].num_axes > 0 || facts_[b].num_axes > 0;
    fail(ErrorCode::InvalidArgument, "{} and {} {}: {}", name(a), name(b),
         interleave ? "interleave in memory and may share elements" : "overlap in memory",
         interleave ? "copy one of them" : "outputs need memory of their own");
  }

  const std::string &name(std::size_t i) const {
    return i < inputs_.size() ? inputs_[i].name : outputs_[i - inputs_.size()].name;
  }

  const std::vector<Argument> &inputs_, &outputs_;
  const std::vector<SharedMemory> &in_place_;
  const ArgumentFacts *facts_;
  Scratch<Span, 64> spans_;
  std::size_t used_ = 0;
};

}  // namespace

bool are_apart(const ArgumentFacts &a, const ArgumentFacts &b) {
  struct Step {
    std::int64_t step, reach;
    std::int64_t *width;  // of the blocks without the steps that are larger
  };
  Step steps[2 * kMaxRank];
  std::size_t count = 0;
  std::int64_t width_a = a.bytes, width_b = b.bytes, period = 0;
  for (std::size_t i = 0; i < a.num_axes; ++i)
    steps[count++] = {a.axes[i].step, (a.axes[i].extent - 1) * a.axes[i].step, &width_a};
  for (std::size_t i = 0; i < b.num_axes; ++i)
    steps[count++] = {b.axes[i].step, (b.axes[i].extent - 1) * b.axes[i].step, &width_b};
  std::sort(steps, steps + count, [](const Step &x, const Step &y) { return x.step > y.step; });
  auto distance = static_cast<std::int64_t>(begin_of(b) - begin_of(a));
  if (distance >= width_a || -distance >= width_b) return true;
  // Blocks of both repeat with the period; between two of one, the other's must fit.
  for (std::size_t i = 0; i < count; ++i) {
    *steps[i].width -= steps[i].reach;
    period = std::gcd(period, steps[i].step);
    std::int64_t place = (distance % period + period) % period;
    if (place >= width_a && width_b <= period - place) return true;
  }
  return false;
}

void check_overlap(const std::vector<Argument> &inputs, const std::vector<Argument> &outputs,
                   const std::vector<SharedMemory> &in_place, const ArgumentFacts *facts) {
  OverlapCheck(inputs, outputs, in_place, facts).run();
}

}  // namespace fuse
