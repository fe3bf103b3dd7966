#include "random_tensor.h"

#include "ir/float_bits.h"

namespace fuse::bench {

Tensor random_tensor(DType type, const std::vector<std::int64_t> &shape, std::int64_t limit,
                     std::mt19937_64 &random) {
  Tensor tensor(type, shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    Literal literal =
        is_float(type)
            ? float_literal(type, 4 * unit - 2)
            : int_literal(type, static_cast<std::int64_t>(unit * static_cast<double>(limit)));
    tensor.set_bits(i, literal.bits);
  }
  return tensor;
}

}  // namespace fuse::bench
