// Graphs that the planner's tests share.
#pragma once

#include <fuse/graph.h>

#include <vector>

namespace fuse_test {

using namespace fuse;

/// x repeated along one axis of extent 1.
inline Value like(Value x, Value other) { return broadcast(x, other.shape()); }

inline Value mean(Value x, const std::vector<int> &axes, double count) {
  return sum(x, axes, true) / count;
}

inline Value softmax(Value x, int axis) {
  Value f = cast(x, f32);
  Value e = exp(f - like(reduce_max(f, {axis}, true), f));
  return cast(e / like(sum(e, {axis}, true), e), x.dtype());
}

/// Over the last axes; `count` is the product of their extents.
inline Value normalize(Value f, const std::vector<int> &axes, double count) {
  Value centred = f - like(mean(f, axes, count), f);
  Value variance = mean(centred * centred, axes, count);
  return centred * like(rsqrt(variance + 1e-5), centred);
}

inline Value gelu(Value x) {
  Value u = 0.7978845608 * (x + 0.044715 * x * x * x);
  return x * sigmoid(2.0 * u);
}

}  // namespace fuse_test
