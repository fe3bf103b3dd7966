// Loops of a kernel under construction.
#pragma once

#include "ir/kernel.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace fuse {

/// `for name { body }`
inline Stmt for_loop(const char *name, std::vector<Stmt> body) {
  Stmt s;
  s.kind = StmtKind::For;
  s.loop = name;
  s.body = std::move(body);
  return s;
}

inline bool has_loop(const Axis &axis) {
  return std::any_of(axis.digits.begin(), axis.digits.end(),
                     [](const Digit &d) { return d.kind == DigitKind::Loop; });
}

inline bool has_loop(const Layout &layout) {
  return std::any_of(layout.axes.begin(), layout.axes.end(),
                     [](const Axis &axis) { return has_loop(axis); });
}

/// Whether some axis has several iterations, not all of which are within its dims.
inline bool has_edges(const Kernel &kernel, const Layout &layout) {
  return std::any_of(layout.axes.begin(), layout.axes.end(), [&](const Axis &axis) {
    bool iterates = std::any_of(axis.digits.begin(), axis.digits.end(), [](const Digit &d) {
      return d.kind == DigitKind::Loop && !d.extent.is_constant(1);
    });
    return iterates && !is_exact(kernel, axis);
  });
}

}  // namespace fuse
