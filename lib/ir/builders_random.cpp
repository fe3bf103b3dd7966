// Random numbers: functions of one word of random bits each.
#include "ir/build.h"
#include "ir/composite.h"
#include "ir/float_bits.h"
#include "ir/format.h"

#include <cmath>

FUSE_BEGIN_NAMESPACE

namespace {

constexpr std::int64_t kWordValues = INT64_C(1) << 32;

Value words(Value seed, const Shape &shape, std::int64_t stream) {
  GraphData &g = *seed.graph();
  return g.value(build_random_bits(g, seed.index(), shape, stream_of(g, stream)));
}

/// Calls the body with the seed, which gives the graph.
template <class Body>
Value seeded(std::string_view name, const Operand &seed, Body body) {
  if (seed.kind() != Operand::Kind::Value)
    fail_at(seed.where(), ErrorCode::InvalidArgument,
            "{}: the seed is a literal; g.constant(42, u64) is a value", name);
  return composite(name, seed, body);
}

Value seed_value(GraphData &g, const Operand &seed) {
  if (seed.kind() == Operand::Kind::Value) return seed.value();
  return g.value(build_constant(g, constant_literal(seed, DType::U64, "the seed"), {}));
}

void require_float(DType type) {
  if (!is_float(type) || is_float8(type))
    fail(ErrorCode::DType, "gives f16, bf16, f32 or f64, not {}", to_string(type));
}

int significand_bits(DType type) {
  switch (type) {
    case DType::F16: return 11;
    case DType::BF16: return 8;
    case DType::F32: return 24;
    default: return 53;
  }
}

/// Of the words, so many are below p * 2^32. Throws Error{InvalidArgument} beyond [0, 1].
std::int64_t threshold_of(double p) {
  if (!(p >= 0 && p <= 1)) fail(ErrorCode::InvalidArgument, "p is {}, not in [0, 1]", p);
  return std::llround(p * double(kWordValues));
}

double literal_of(const Operand &p) {
  return p.kind() == Operand::Kind::Real ? p.real() : static_cast<double>(p.integer());
}

bool is_literal(const Operand &p) { return p.kind() != Operand::Kind::Value; }

/// The scalar p in f32 or f64.
Value probability(Value p) {
  if (p.valid() && p.rank() != 0)
    fail(ErrorCode::Shape, "p is {}, not a scalar", type_string(*p.graph(), p.index()));
  return to_compute_type(p);
}

/// Whether each word is below p * 2^32, of which the cast clamps what is out of range.
Value are_below(Value word, Value p) {
  Value threshold = cast(round(p * double(kWordValues)), u64);
  return lt(cast(word, u64), broadcast(threshold, word.shape()));
}

Value are_below(Value word, const Operand &p) {
  if (!is_literal(p)) return are_below(word, probability(p.value()));
  std::int64_t threshold = threshold_of(literal_of(p));
  if (threshold < kWordValues) return lt(word, threshold);
  GraphData &g = *word.graph();
  return g.value(build_constant(g, {DType::Bool, 1}, word.shape()));
}

/// x / (1 - p) in the dtype of x, but for literals' in the compute type.
Value scale_up(Value x, const Operand &p) {
  if (is_literal(p)) {
    double rounded = double(threshold_of(literal_of(p))) / double(kWordValues);
    return x * (1 / (1 - rounded));
  }
  Value scale = 1.0 / (1.0 - probability(p.value()));
  return x * cast(scale, x.dtype());
}

/// What is certain to stay or to go, or no value.
Value drop_certainly(Value x, const Operand &p) {
  std::int64_t threshold = is_literal(p) ? threshold_of(literal_of(p)) : 1;
  if (threshold == 0) return x;
  if (threshold < kWordValues) return {};
  GraphData &g = *x.graph();
  return g.value(build_constant(g, float_literal(x.dtype(), 0), x.shape()));
}

Value drop(Value x, const Operand &p, Value word) {
  if (Value result = drop_certainly(x, p); result.valid()) return result;
  bool computes = is_float8(x.dtype()) || (!is_literal(p) && is_float16(x.dtype()));
  Value v = computes ? to_compute_type(x) : x;
  return cast(select(are_below(word, p), 0.0, scale_up(v, p)), x.dtype());
}

}  // namespace

Value random_bits(Operand seed, const Shape &shape, std::int64_t stream) {
  return seeded("random_bits", seed, [&](Value s) { return words(s, shape, stream); });
}

Value uniform(Operand seed, DType type, const Shape &shape, std::int64_t stream) {
  return seeded("uniform", seed, [&](Value s) {
    require_float(type);
    int bits = std::min(32, significand_bits(type));
    Value word = words(s, shape, stream);
    return cast(bits == 32 ? word : shr(word, 32 - bits), type) * std::ldexp(1.0, -bits);
  });
}

Value normal(Operand seed, DType type, const Shape &shape, std::int64_t stream) {
  return seeded("normal", seed, [&](Value s) {
    require_float(type);
    constexpr double kSqrt2 = 1.4142135623730951;
    Value word = bitcast(words(s, shape, stream), i32);
    // Odd, so that neither 0 nor 1 occurs, and of no more digits than the type has.
    Value t = type == DType::F64 ? fma(cast(word, f64), 0x1p-31, 0x1p-32)
                                 : cast(bit_or(shr(word, 7), 1), f32) * 0x1p-24;
    return cast(erfinv(t) * kSqrt2, type);
  });
}

Value bernoulli(Operand seed, Operand p, const Shape &shape, std::int64_t stream) {
  return seeded("bernoulli", seed, [&](Value s) { return are_below(words(s, shape, stream), p); });
}

Value dropout(Operand x, Operand p, Operand seed, std::int64_t stream) {
  return composite("dropout", x, [&](Value v) {
    if (!is_float(v.dtype())) fail(ErrorCode::DType, "takes floats, not {}", to_string(v.dtype()));
    return drop(v, p, words(seed_value(*v.graph(), seed), v.shape(), stream));
  });
}

FUSE_END_NAMESPACE
