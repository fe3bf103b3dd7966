// The inexact functions in f64.
#include "codegen/math_functions.h"

#include "ir/format.h"
#include "ir/op.h"

namespace fuse {

Num math_f64(Op op, const std::vector<Num> &x) {
  (void)x;
  fail(ErrorCode::Unsupported, "{} of f64 cannot be emitted yet", info(op).text);
}

}  // namespace fuse
