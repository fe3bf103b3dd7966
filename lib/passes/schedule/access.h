// What a body reads and writes: contiguity, alignment, and dims that can be walked as one.
#pragma once

#include "ir/kernel.h"
#include "passes/schedule/size_assumptions.h"

#include <map>
#include <set>
#include <vector>

namespace fuse {

/// Conditions `index >= 0` that make up a guard, by the guard's value.
using GuardConditions = std::map<ValueId, std::vector<Index>>;

/// What computes values that follow from positions alone: the same in any layout.
using PositionValues = std::map<ValueId, Stmt>;
PositionValues position_values(const std::vector<Stmt> &body);

struct Access {
  const Stmt *stmt = nullptr;  // a Load or Store
  DType dtype = DType::F32;
  std::vector<DimId> dims;       // its offset depends on these
  bool guarded_by_data = false;  // its guard does not follow from positions alone
};

/// What is known of where buffers stand relative to 16-byte boundaries.
struct BufferAlignments {
  std::set<BufferId> shifted;   // by the same number of elements, which the launch fixes
  std::set<BufferId> streamed;  // read along all dims: no element is read again

  /// Elements of `buffer` that a vector may have which starts where vectors of `frame` do; without
  /// a frame where element 0 of all buffers is. A power of two.
  int common_width(const Kernel &kernel, BufferId buffer, BufferId frame) const;
  /// Likewise of numbers, whose element 0 is where vectors start.
  static int numbers_width(const Kernel &kernel, BufferId frame);
};

/// Whether neighbours along the dim are neighbours in memory.
bool advances_by_one(const Index &index, DimId dim);

/// Loads and stores of flat statements.
std::vector<Access> collect_accesses(const Kernel &kernel, const std::vector<Stmt> &body);

/// The dim along which most bytes are contiguous (offsets advance by one element); the last dim
/// where nothing is. Of two, where stores decide, the one along which more is stored; else the
/// last.
DimId contiguous_dim(const Kernel &kernel, const std::vector<Access> &accesses,
                     const Bindings &sizes, bool stores_decide = false);

/// Joins neighbouring dims of one role that every offset and position walks as one:
/// the outer one's coefficient is the inner one's times its extent. The body is then built again
/// over the joined dims.
Domain merge_dims(const Domain &domain, const std::vector<Stmt> &body);

/// Sets the vector width of every load and store that stands in the layout: the widest access of at
/// most 16 bytes that the vec digit, the offset's divisors and the buffer's alignment allow. Of
/// random words, neighbours that the layout is known to hold share a call of the generator.
void set_vector_widths(Kernel &kernel, std::vector<Stmt> &body, const Layout &layout,
                       const GuardConditions &guards, SizeAssumptions &sizes,
                       const BufferAlignments &alignments);

}  // namespace fuse
