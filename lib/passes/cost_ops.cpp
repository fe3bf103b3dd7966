// Instructions of each op on an SM, by pipe: what the emitter's expansions cost per element.
//
// f32 counts are those of the machine code of sm_90a, per element of a kernel that does nothing
// else (loads and stores taken off), branches that large arguments take left out. Rounding to whole
// numbers and conversions of width run at the multi-function unit's rate (CUDA programming guide,
// "Arithmetic instructions"). What is f64 within f32 functions runs on the f64 pipe.
#include "ir/op.h"
#include "passes/cost.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace fuse {

namespace {

constexpr double kF64FunctionFactor = 2;  // f64 expansions against f32 ones, in instructions

OpCost fma(double n) { return {.fma = n, .statements = n}; }
OpCost alu(double n) { return {.integer = n, .statements = n}; }
OpCost function(double mufu, double fma, double integer = 0, double f64 = 0) {
  // Half as many statements as instructions: compilers see them before they are taken apart.
  return {fma, f64, integer, mufu, (mufu + fma + integer + f64) / 2};
}
OpCost nothing() { return {.statements = 0}; }

OpCost float_cost(Op op) {
  switch (op) {
    case Op::Input:
    case Op::Constant:
    case Op::Broadcast:
    case Op::Reshape:
    case Op::Transpose:
    case Op::Extern:
    case Op::ExternResult:
    case Op::StopGradient:
    case Op::CustomGradient: return nothing();
    case Op::Iota:
    case Op::Slice:
    case Op::Flip:
    case Op::Bitcast: return alu(1);
    // A quarter of a call: 20 multiplications, as many joins of three words, keys and picks.
    // A fourth of ten rounds: products are multiply-adds. dropout of bf16 keeps up with a copy.
    case Op::RandomBits: return function(0, 5, 9);
    case Op::Pad:
    case Op::Concat: return alu(3);
    case Op::Gather: return alu(4);
    case Op::Neg:
    case Op::Abs:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Fma:
    case Op::Sum:
    case Op::Prod: return fma(1);
    case Op::Min:
    case Op::Max:
    case Op::ReduceMax:
    case Op::ReduceMin:
    case Op::Any:
    case Op::All:
    case Op::Not:
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::Shl:
    case Op::Shr:
    case Op::Eq:
    case Op::Ne:
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
    case Op::Select:
    case Op::Cast:
    case Op::IsNan:
    case Op::IsInf:
    case Op::IsFinite: return alu(1);
    case Op::CastSat:
    case Op::Sign: return alu(3);
    case Op::ArgMax:
    case Op::ArgMin: return alu(4);
    // One combination within the thread, one with what precedes it, and the steps between threads.
    case Op::CumSum:
    case Op::CumProd: return fma(4);
    case Op::CumMax:
    case Op::CumMin: return alu(4);
    case Op::LogCumSumExp: return function(3, 30);
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc: return function(1, 0);
    case Op::Sqrt: return function(1, 8, 2);
    case Op::Rsqrt: return function(1, 1, 1);
    case Op::Cbrt: return function(2, 14, 16, 17);
    case Op::Exp: return function(1, 6, 1);
    case Op::Exp2: return function(1, 1, 1);
    case Op::Expm1: return function(0, 22, 4);
    case Op::Log: return function(1, 15, 11);
    case Op::Log2: return function(1, 19, 11);
    case Op::Log1p: return function(1, 20, 12);
    case Op::Sin:
    case Op::Cos: return function(0, 25, 8);
    case Op::Tan: return function(1, 15, 25, 23);
    case Op::Asin:
    case Op::Acos: return function(1, 7, 4, 14);
    case Op::Atan: return function(1, 6, 9, 17);
    case Op::Atan2: return function(1, 8, 11, 22);
    case Op::Sinh:
    case Op::Cosh: return function(2, 11, 12, 17);
    case Op::Tanh: return function(2, 12, 3);
    case Op::Asinh:
    case Op::Acosh: return function(2, 18, 26, 32);
    case Op::Atanh: return function(2, 14, 18, 19);
    case Op::Erf: return function(1, 19, 6);
    case Op::Erfc: return function(2, 17, 22, 42);
    case Op::Erfinv: return function(3, 30, 34, 78);
    case Op::Lgamma: return function(4, 38, 56, 119);
    case Op::Digamma: return function(6, 27, 55, 113);
    case Op::Sigmoid: return function(2, 8, 3);
    case Op::Div: return function(1, 9, 3);
    case Op::Pow: return function(3, 8, 17, 34);
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Rem: return function(1, 8, 13);
  }
  return nothing();
}

/// Forms within the errors of docs/kernel.md; a divisor that a row shares is inverted once.
OpCost approximate_cost(Op op) {
  switch (op) {
    case Op::Exp:
    case Op::Exp2: return function(1, 2, 1);
    case Op::Sigmoid: return function(2, 3, 1);
    case Op::Tanh: return function(1, 0);
    case Op::Erf: return function(1, 9, 2);
    case Op::Div: return function(0, 2);
    default: return float_cost(op);
  }
}

/// Integer ops that have no instruction of their own.
OpCost int_cost(Op op) {
  if (op == Op::Div || op == Op::FloorDiv || op == Op::Mod || op == Op::Rem) return alu(20);
  if (op == Op::Pow) return alu(40);
  OpCost cost = float_cost(op);
  cost.integer += cost.fma;
  cost.fma = 0;
  return cost;
}

/// Those that keep polynomials and cases in registers.
constexpr Op kLongFunctions[] = {
    Op::Cbrt,  Op::Expm1, Op::Log,  Op::Log2,  Op::Log1p,  Op::Sin,    Op::Cos,     Op::Tan,
    Op::Asin,  Op::Acos,  Op::Atan, Op::Atan2, Op::Sinh,   Op::Cosh,   Op::Tanh,    Op::Asinh,
    Op::Acosh, Op::Atanh, Op::Erf,  Op::Erfc,  Op::Erfinv, Op::Lgamma, Op::Digamma, Op::Pow};

// By the toolkit's assembler: atan and tanh take 71 registers where 40 do without, atan and cos 80,
// tanh, cos and sigmoid 88, sin, atan and erf 106.
constexpr int kRegistersPerFunction = 20;

}  // namespace

OpCost op_cost(Op op, DType type, bool approximate) {
  if (is_int(type) || is_bool(type)) return int_cost(op);
  if (type != DType::F64) return approximate ? approximate_cost(op) : float_cost(op);
  OpCost cost = float_cost(op);
  bool single = cost.mufu == 0 && cost.fma <= 1 && cost.f64 == 0;
  cost.f64 = single ? cost.fma : kF64FunctionFactor * (cost.fma + cost.f64 + 10 * cost.mufu);
  cost.fma = cost.mufu = 0;
  return cost;
}

std::uint32_t long_function(Op op, DType type, bool approximate) {
  if (approximate || is_int(type) || is_bool(type)) return 0;
  auto at = std::find(std::begin(kLongFunctions), std::end(kLongFunctions), op);
  return at == std::end(kLongFunctions) ? 0 : 1u << (at - std::begin(kLongFunctions));
}

int function_registers(std::uint32_t functions) {
  return kRegistersPerFunction * std::popcount(functions);
}

}  // namespace fuse
