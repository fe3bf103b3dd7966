// Shared by the files of the kernel verifier: how a broken invariant is reported.
#pragma once

#include "ir/format.h"
#include "ir/kernel.h"
#include "ir/machine_map.h"

namespace fuse {

/// Throws Error{Internal} "kernel name: place: message" unless the condition holds.
template <class... Args>
void require(bool condition, const Kernel &kernel, std::string_view place,
             fmt::format_string<Args...> format, Args &&...args) {
  if (condition) return;
  std::string message;
  append(message, format, std::forward<Args>(args)...);
  fail(ErrorCode::Internal, "kernel {}: {}: {}", kernel.name, place, message);
}

/// Invariants of the signature, dims and layouts: 1 to 12 of the list in kernel_verify.cpp, and the
/// names of 31.
void verify_layouts(const Kernel &kernel);

/// Invariants of the table of instances: 31, but for its names among one another, and 32.
void verify_instances(const Kernel &kernel);

/// Invariant 15 of a Compute, and of a Reduce or Scan, whose operands and results are counted.
void verify_compute_dtypes(const Kernel &kernel, const Stmt &stmt,
                           const std::vector<bool> &is_literal, const std::string &place);
void verify_fold_dtypes(const Kernel &kernel, const Stmt &stmt, const std::string &place);

/// Invariants 24 and 27 of a reduction that is complete at once, or behind a loop.
void verify_reduce(const Kernel &kernel, const Layout &layout, const Stmt &stmt, bool at_once,
                   bool in_last_block, const std::string &place);

/// Invariant 21 of a scan, whose operands and results are counted; of the loops around it,
/// outermost first.
void verify_scan(const Kernel &kernel, const Layout &layout, const Stmt &stmt,
                 const std::vector<std::string> &loops, const std::vector<bool> &is_reverse,
                 const std::string &place);

/// Invariants 18, 19, 26 and 29 of a load or store, whose operands and results are counted.
void verify_access(const Kernel &kernel, const MachineMap &map, LayoutId in, const Stmt &stmt,
                   bool in_pipe, const std::string &place);

/// Invariant 33.
void verify_random(const Kernel &kernel, const MachineMap &map, LayoutId in, const Stmt &stmt,
                   const std::string &place);

/// Invariants 30 and 34.
void verify_size(const Kernel &kernel);

/// Where a load, store or one side of a move touches memory.
struct VectorAccess {
  const Index &index;
  const std::vector<DimId> &dims;  // that its slots run over
  LayoutId layout;
  int width;
  DType dtype;
};

/// Invariant 18.
void verify_vector(const Kernel &kernel, const MachineMap &map, const VectorAccess &access,
                   const std::string &place);

/// Invariants 18 and 22 of one side of a move.
void verify_shared_offset(const Kernel &kernel, const MachineMap &map, const VectorAccess &access,
                          const std::string &place);

/// Whether the blocks that one grid digit spans fit in between those that another tells apart.
bool nests(const Digit &inner, const Digit &outer);

/// Two grid digits of the layout of which none is a part of the other, nor nests in its stride.
std::optional<std::pair<const Digit *, const Digit *>> overlapping_grid_digits(
    const Layout &layout);

/// Grid digits at 0 of which alone the store runs.
std::vector<const Digit *> grid_digits_at_0(const Kernel &kernel, const Layout &layout,
                                            const Stmt &store);

/// Invariants 24 and 28 of a last_block; `only_at_0`: by buffer, grid_digits_at_0 of the stores
/// before.
void verify_last_block(const Kernel &kernel, const MachineMap &map, LayoutId in, const Stmt &last,
                       const std::vector<std::vector<const Digit *>> &only_at_0,
                       const std::string &place);

/// Index as an error message shows it.
std::string to_string(const Kernel &kernel, const Index &index);

}  // namespace fuse
