// Samples depend on nothing but the dtype.
#include "run/samples.h"

#include "ir/float_bits.h"

#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace fuse {

namespace {

Tensor tensor_of(DType type, const std::vector<std::uint64_t> &bits) {
  Tensor tensor(type, {std::int64_t(bits.size())});
  for (std::size_t i = 0; i < bits.size(); ++i) tensor.set_bits(std::int64_t(i), bits[i]);
  return tensor;
}

std::vector<std::uint64_t> all_patterns(DType type) {
  std::vector<std::uint64_t> bits;
  std::uint64_t count = is_bool(type) ? 2 : std::uint64_t{1} << (8 * size_of(type));
  for (std::uint64_t n = 0; n < count; ++n) bits.push_back(is_int(type) ? wrap_int(type, n) : n);
  return bits;
}

/// Numbers in which the random mantissas of every exponent are too thin.
void append_ranges(DType type, std::vector<std::uint64_t> &bits) {
  constexpr double kHalfPi = 1.5707963267948966;
  constexpr int kCount = 10000;
  std::mt19937_64 random(4);
  auto append = [&](double value) { bits.push_back(encode_float(type, value)); };
  for (auto [low, high] : {std::pair(-1.0, 1.0),
                           {-3.0, 3.0},
                           {-10.0, 10.0},
                           {-40.0, 40.0},
                           {-120.0, 120.0},
                           {-760.0, 760.0},
                           {0.99, 1.01},
                           {-2e5, 2e5}})
    for (int i = 0; i < kCount; ++i) append(low + (high - low) * double(random() >> 11) * 0x1p-53);
  for (int i = 0; i < kCount; ++i) {
    append(kHalfPi * double(random() >> (random() % 63 + 1)));
    append(double(random() % 60) - 50 + std::ldexp(1.0, -int(random() % 54)));
  }
}

std::vector<std::uint64_t> floats(DType type) {
  std::mt19937_64 random(1);
  bool is_f32 = type == DType::F32;
  int mantissa_bits = is_f32 ? 23 : 52, exponent_bits = is_f32 ? 8 : 11, count = is_f32 ? 60 : 8;
  std::uint64_t mask = (std::uint64_t{1} << mantissa_bits) - 1;
  std::vector<std::uint64_t> bits;
  for (std::uint64_t top = 0; top < std::uint64_t{2} << exponent_bits; ++top) {
    std::uint64_t start = top << mantissa_bits;
    for (std::uint64_t edge : {std::uint64_t{0}, std::uint64_t{1}, mask, mask / 2 + 1})
      bits.push_back(start | edge);
    for (int i = 0; i < count; ++i) bits.push_back(start | (random() & mask));
  }
  append_ranges(type, bits);
  return bits;
}

std::vector<std::uint64_t> integers(DType type) {
  std::mt19937_64 random(2);
  std::vector<std::uint64_t> bits;
  for (std::size_t shift = 0; shift < 8 * size_of(type); ++shift)
    for (std::int64_t offset = -2; offset <= 2; ++offset)
      for (std::int64_t sign : {1, -1}) {
        auto near = (std::uint64_t{1} << shift) + std::uint64_t(offset);
        bits.push_back(wrap_int(type, near * std::uint64_t(sign)));
      }
  for (int i = 0; i < 4000; ++i) bits.push_back(wrap_int(type, random() >> random() % 64));
  return bits;
}

}  // namespace

Tensor dense_sample(DType type) {
  if (size_of(type) <= 2) return tensor_of(type, all_patterns(type));
  return tensor_of(type, is_float(type) ? floats(type) : integers(type));
}

std::vector<std::uint64_t> special_bits(DType type) {
  std::set<std::uint64_t> bits;
  if (is_bool(type)) return {0, 1};
  if (is_float(type)) {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    double greatest = largest_finite(type);
    for (double v :
         {0.0, 1e-310, 1e-42, 6e-8, 1e-5,   0.1,     0.5,  1.0,  1.5,      2.0,          2.5,
          3.0, 7.0,    10.0,  63.0, 1000.0, 60000.0, 1e10, 1e30, greatest, greatest / 2, kInf})
      bits.insert({encode_float(type, v), encode_float(type, -v)});
    bits.insert(encode_float(type, std::numeric_limits<double>::quiet_NaN()));
  } else {
    for (std::int64_t v : {0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64, 100, 127, 128, 255, 1000, 65535})
      bits.insert({wrap_int(type, std::uint64_t(v)), wrap_int(type, std::uint64_t(-v))});
    std::uint64_t top = std::uint64_t{1} << (8 * size_of(type) - 1);
    for (std::uint64_t v : {top, top - 1, top + 1, ~std::uint64_t{0}, top / 3})
      bits.insert(wrap_int(type, v));
  }
  return {bits.begin(), bits.end()};
}

std::vector<Tensor> special_products(DType type, std::size_t operands) {
  std::vector<std::uint64_t> special = special_bits(type);
  std::size_t step = operands > 2 ? 3 : 1, count = 1;
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < special.size(); i += step) values.push_back(special[i]);
  for (std::size_t i = 0; i < operands; ++i) count *= values.size();
  Tensor dense = dense_sample(type);
  std::mt19937_64 random(3);
  std::vector<Tensor> tensors;
  for (std::size_t k = 0, block = 1; k < operands; ++k, block *= values.size()) {
    std::vector<std::uint64_t> bits;
    for (std::size_t i = 0; i < count; ++i) bits.push_back(values[i / block % values.size()]);
    for (int i = 0; i < 4000; ++i)
      bits.push_back(dense.bits(std::int64_t(random() % std::uint64_t(dense.size()))));
    tensors.push_back(tensor_of(type, bits));
  }
  return tensors;
}

}  // namespace fuse
