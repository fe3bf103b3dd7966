// Shared by the files of the kernel verifier: how a broken invariant is reported.
#pragma once

#include "ir/format.h"
#include "ir/kernel.h"

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

/// Invariants of the signature, dims and layouts: 1 to 12 of the list in kernel_verify.cpp.
void verify_layouts(const Kernel &kernel);

/// Invariants of the table of instances: 28 and 29.
void verify_instances(const Kernel &kernel);

/// Invariant 15 of a Compute, and of a Reduce or Scan, whose operands and results are counted.
void verify_compute_dtypes(const Kernel &kernel, const Stmt &stmt,
                           const std::vector<bool> &is_literal, const std::string &place);
void verify_fold_dtypes(const Kernel &kernel, const Stmt &stmt, const std::string &place);

/// Invariant 21 of a scan.
void verify_scan_axis(const Kernel &kernel, const Layout &layout, const Stmt &stmt,
                      const std::string &place);

/// Invariant 26 of a load that stands in a pipe.
void verify_bulk_load(const Kernel &kernel, const Layout &layout, const Stmt &stmt,
                      const std::string &place);

/// Index as an error message shows it.
std::string to_string(const Kernel &kernel, const Index &index);

}  // namespace fuse
