// f32 quotients, rounded once, of slots that share a divisor: one reciprocal for all of them.
//
// div.rn finds a reciprocal for every quotient, tests its operands, and may call a function, before
// which values in registers are spilled. Here the slots of a thread are tested together, and what
// fails the test takes f64 in place.
#include "codegen/control.h"
#include "codegen/math.h"
#include "codegen/math_functions.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

namespace fuse {

namespace {

// Where dividends are 0 or at least 2^-60, divisors within 2^-60 .. 2^60, and quotients finite, no
// step below underflows or overflows.
constexpr std::uint32_t kLeastBits = 0x21800000, kGreatestBits = 0x5d800000;

Num reciprocal_estimate(Num x) {
  if (const auto *constant = llvm::dyn_cast<llvm::ConstantFP>(x.value()))
    return x.number(1 / constant->getValueAPF().convertToFloat());
  return approximate(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, x);
}

/// Rounded to nearest, of what is neither tiny nor huge.
Num reciprocal(Num divisor) {
  Num estimate = reciprocal_estimate(divisor);
  return fma(fma(-divisor, estimate, 1), estimate, estimate);
}

llvm::Value *bits_of(Num x) {
  return x.builder().CreateBitCast(x.value(), x.builder().getInt32Ty());
}

llvm::Value *is_moderate(Num divisor) {
  Builder &b = divisor.builder();
  llvm::Value *above = b.CreateSub(bits_of(divisor), b.getInt32(kLeastBits));
  return b.CreateICmpULE(above, b.getInt32(kGreatestBits - kLeastBits));
}

/// Zero, at least 2^-60, infinite or NaN: less one, zero becomes the greatest number.
llvm::Value *is_zero_or_large(Num dividend) {
  Builder &b = dividend.builder();
  llvm::Value *less_one = b.CreateSub(b.CreateShl(bits_of(dividend), 1), b.getInt32(1));
  return b.CreateICmpUGE(less_one, b.getInt32(2 * kLeastBits - 1));
}

/// Two corrections by exact remainders: the first leaves an error below a unit in the last place,
/// the second rounds (Markstein). Zeros keep their sign.
Num divide_moderate(Num a, Num divisor, Num reciprocal) {
  Num q = a * reciprocal;
  for (int i = 0; i < 2; ++i) q = fma(fma(q, divisor, -a), -reciprocal, q);
  return q;
}

Num to_f64(Num x) { return x.with(x.builder().CreateFPExt(x.value(), x.builder().getDoubleTy())); }

/// 1 / x in f64, within two units in the last place; infinite, zero or NaN as the operand has it.
Num reciprocal_in_f64(Num x) {
  Num scale = select(abs(x) < 0x1p-60, 0x1p100, select(abs(x) > 0x1p60, 0x1p-100, x.number(1)));
  Num estimate = to_f64(reciprocal_estimate(x * scale)) * to_f64(scale);
  Num wide = to_f64(x), y = estimate;
  for (int i = 0; i < 2; ++i) y = fma(fma(-wide, y, 1), y, y);
  return select(y == y, y, estimate);
}

/// The quotient's 24 bits are too far from those between two of f32 for f64 to round them wrong.
Num divide_in_f64(Num a, Num divisor, Num reciprocal) {
  Num wide = to_f64(a), q = wide * reciprocal;
  Num exact = fma(fma(-q, to_f64(divisor), wide), reciprocal, q);
  q = select(exact == exact, select(q == 0, q, exact), q);
  return a.with(a.builder().CreateFPTrunc(q.value(), a.type()));
}

class SharedDivision {
 public:
  SharedDivision(Builder &b, const Values &dividends, llvm::Value *divisor)
      : b_(b), dividends_(dividends), divisor_(b, divisor) {}

  Values emit() {
    Num inverse = reciprocal(divisor_);
    Values quotients = each([&](Num a) { return divide_moderate(a, divisor_, inverse); });
    return emit_branch(
        b_, {are_right(quotients)}, [&] { return quotients; },
        [&] {
          Num wide = reciprocal_in_f64(divisor_);
          if (dividends_.size() > 1) return one_by_one(wide);
          return each([&](Num a) { return divide_in_f64(a, divisor_, wide); });
        });
  }

 private:
  Builder &b_;
  const Values &dividends_;
  Num divisor_;

  template <class Divide>
  Values each(Divide divide) {
    Values quotients;
    for (llvm::Value *a : dividends_) quotients.push_back(divide(Num(b_, a)).value());
    return quotients;
  }

  /// In a loop, for this is rarely run and else most of the code: at each turn a quotient joins
  /// the end of a queue that began with the dividends.
  Values one_by_one(Num inverse) {
    return emit_repeat(b_, static_cast<std::uint32_t>(dividends_.size()), dividends_,
                       [&](Values queue) {
                         Num quotient = divide_in_f64(Num(b_, queue[0]), divisor_, inverse);
                         queue.erase(queue.begin());
                         queue.push_back(quotient.value());
                         return queue;
                       });
  }

  /// A quotient that is not finite makes a sum of products with zero NaN.
  llvm::Value *are_right(const Values &quotients) {
    llvm::Value *right = is_moderate(divisor_);
    Num witness = divisor_.number(0);
    for (llvm::Value *q : quotients) witness = fma(Num(b_, q), 0, witness);
    for (llvm::Value *a : dividends_) right = b_.CreateAnd(right, is_zero_or_large(Num(b_, a)));
    return b_.CreateAnd(right, (witness == witness).value);
  }
};

/// A product with the inverse is as exact.
bool is_power_of_two(llvm::Value *divisor) {
  const auto *constant = llvm::dyn_cast<llvm::ConstantFP>(divisor);
  return constant && constant->getValueAPF().getExactInverse(nullptr);
}

}  // namespace

Values emit_divisions(Builder &b, const Values &dividends, llvm::Value *divisor) {
  if (!is_power_of_two(divisor)) return SharedDivision(b, dividends, divisor).emit();
  Values quotients;
  for (llvm::Value *a : dividends) quotients.push_back(b.CreateFDiv(a, divisor));
  return quotients;
}

}  // namespace fuse
