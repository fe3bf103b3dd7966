// Registers of a thread, from what it holds: for the blocks that an SM is to hold.
#include "passes/schedule/mapping_queries.h"

namespace fuse {

namespace {

// Of a thread that holds a part of a row: addresses, edges, states.
constexpr int kResidentRegisters = 24;
constexpr int kUnpackRegisters = 8;     // more where it holds packed elements
constexpr int kRegistersPerByte = 1;    // of a vector of an operand along the row, weights for one;
constexpr int kElementsPerVector = 12;  // of more than one where many elements are to come
constexpr int kLoopRegisters = 36;      // of a thread in a loop: the values in work too
constexpr int kFoldRegisters = 26;      // likewise, where the loop only folds
constexpr int kFlatRegisters = 16;      // of a thread in no loop, holding nothing
constexpr int kRegistersPerSlot = 2;    // of a position that needs divisions
constexpr int kRegistersPerHeldSlot = 1;  // likewise, in a thread that holds its elements
constexpr int kVectorInWork = 8;          // elements of one access; what goes beyond is held too
constexpr int kRandomRegisters = 16;      // of rounds under way
constexpr int kLeastWithEdges = 48;
constexpr int kLoopWithEdges = 64;  // where the length is not known

class Registers : MappingQueries {
 public:
  Registers(const MappingProblem &problem, const Mapping &mapping, DimId inner)
      : MappingQueries(problem), m_(mapping), folded_(p_.domain.with_role(DimRole::Row)) {
    inner_ = inner;
  }

  /// A resident thread holds its elements across barriers; a loop holds them as they came, packed,
  /// and the states of its reductions.
  std::int64_t wanted() const {
    std::int64_t elements = 1, states = 1, addresses = 0, bytes = 0, shared = 0, vec = 1;
    for (const Axis &a : m_.layout.axes)
      for (const Digit &d : a.digits) {
        if (d.kind != DigitKind::Reg && d.kind != DigitKind::Vec) continue;
        std::int64_t extent = *d.extent.constant();
        elements *= extent;
        if (d.kind == DigitKind::Vec) vec = extent;
        if (!p_.domain.is_folded(a.dims[0])) states *= extent;
        // Dims that are not walked as one have positions of their own in each slot. A thread that
        // holds its elements keeps less of them, and has vectors of two accesses in work.
        if (a.dims.size() == 1) continue;
        bool holds = m_.form == Form::Resident;
        int per_slot = holds ? kRegistersPerHeldSlot : kRegistersPerSlot;
        if (d.kind == DigitKind::Reg) addresses += per_slot * extent;
        if (d.kind == DigitKind::Vec && holds)
          addresses += std::max<std::int64_t>(0, extent - kVectorInWork);
      }
    for (const Access &a : p_.accesses) {
      if (a.stmt->kind != StmtKind::Load) continue;
      bool is_full = spans_slots(a);
      bytes += is_full ? static_cast<std::int64_t>(size_of(a.dtype)) : 0;
      if (is_full || std::find(a.dims.begin(), a.dims.end(), inner_) == a.dims.end()) continue;
      shared += static_cast<std::int64_t>(size_of(a.dtype));
    }
    // Vectors at edges are loaded whole, and mended behind all loads.
    bool has_edges = std::any_of(m_.layout.axes.begin(), m_.layout.axes.end(),
                                 [](const Axis &a) { return a.align.buffer != kNone; });
    std::int64_t held =
        m_.form == Form::Resident
            ? ceil_div(elements * bytes_held(has_edges), 4) + kResidentRegisters +
                  (p_.reductions.held_bytes % 4 == 0 ? 0 : kUnpackRegisters) +
                  kRegistersPerByte * shared * std::max(vec, elements / states / kElementsPerVector)
            : ceil_div(elements * bytes + elements / states * shared +
                           states * p_.reductions.state_bytes,
                       4) +
                  work_registers();
    if (!p_.words.empty()) held += kRandomRegisters;
    held += p_.function_registers;
    return std::max<std::int64_t>(held + addresses, has_edges ? least_with_edges() : 0);
  }

  /// Of a thread that holds nothing across barriers.
  int work_registers() const {
    if (m_.form == Form::Flat) return kFlatRegisters;
    bool only_folds = m_.form == Form::Streaming && !p_.reductions.reexpands && !stores_rows();
    return only_folds && has_known_rows() ? kFoldRegisters : kLoopRegisters;
  }

  /// Whether what a loop reads is stored beside its reductions.
  bool stores_rows() const {
    return std::any_of(p_.accesses.begin(), p_.accesses.end(), [&](const Access &a) {
      return a.stmt->kind == StmtKind::Store &&
             std::any_of(a.dims.begin(), a.dims.end(),
                         [&](DimId d) { return p_.domain.is_folded(d); });
    });
  }

  bool has_known_rows() const { return extent(folded_).constant().has_value(); }

  int least_with_edges() const {
    if (m_.form == Form::Resident || m_.form == Form::Flat) return kLeastWithEdges;
    return has_known_rows() ? 0 : kLoopWithEdges;
  }

  /// Edges are mended behind all loads of a row, which are in flight together.
  std::int64_t bytes_held(bool has_edges) const {
    const ReductionUse &use = p_.reductions;
    return has_edges ? std::max(use.held_bytes, use.arriving_bytes) : use.held_bytes;
  }

  /// Whether a thread holds several elements of the access along every axis that it has slots on.
  bool spans_slots(const Access &access) const {
    if (access.dims.size() == p_.domain.dims.size()) return true;
    auto has = [&](DimId d) {
      return std::find(access.dims.begin(), access.dims.end(), d) != access.dims.end();
    };
    return !p_.domain.is_folded(inner_) && has(inner_) &&
           std::any_of(folded_.begin(), folded_.end(), has);
  }

 private:
  const Mapping &m_;
  std::vector<DimId> folded_;
};

}  // namespace

std::int64_t registers_wanted(const MappingProblem &problem, const Mapping &mapping, DimId inner) {
  return Registers(problem, mapping, inner).wanted();
}

}  // namespace fuse
