// The special function unit in f64: libm's error there vanishes in the one rounding to f32.
#include "codegen/host_emulate.h"

#include <cmath>
#include <iterator>

namespace fuse {

namespace {

float round_once(double value) { return static_cast<float>(value); }

float emulate_ex2(float x) { return round_once(std::exp2(static_cast<double>(x))); }
float emulate_lg2(float x) { return round_once(std::log2(static_cast<double>(x))); }
float emulate_sin(float x) { return round_once(std::sin(static_cast<double>(x))); }
float emulate_cos(float x) { return round_once(std::cos(static_cast<double>(x))); }
/// Eleven bits, all that the hardware's approximation promises.
float emulate_tanh(float x) {
  int exponent = 0;
  double digits = std::frexp(std::tanh(static_cast<double>(x)), &exponent);
  return round_once(std::ldexp(std::nearbyint(std::ldexp(digits, 11)), exponent - 11));
}

const HostFunction kFunctions[] = {
    {"fuse.host.ex2", reinterpret_cast<void *>(emulate_ex2)},
    {"fuse.host.lg2", reinterpret_cast<void *>(emulate_lg2)},
    {"fuse.host.sin", reinterpret_cast<void *>(emulate_sin)},
    {"fuse.host.cos", reinterpret_cast<void *>(emulate_cos)},
    {"fuse.host.tanh", reinterpret_cast<void *>(emulate_tanh)},
};

}  // namespace

HostFunctions host_functions() { return {std::begin(kFunctions), std::end(kFunctions)}; }

}  // namespace fuse
