// The failure of exact arithmetic, out of its fast path.
#include "ir/exact.h"

#include "ir/format.h"

namespace fuse {

void ExactArithmetic::fail(std::int64_t a, char operation, std::int64_t b) const {
  fuse::fail(code, "{} {} {} {} exceeds 63 bits", what, a, operation, b);
}

}  // namespace fuse
