// Instructions of each op on an SM, by pipe: what the emitter's expansions cost per element.
//
// f32 counts follow the expansions that meet ops.def's error bounds: the multi-function unit gives
// exp2, log2, rcp, rsqrt, tanh, sin and cos, the rest are polynomials on the fma pipe. Rounding to
// whole numbers runs at the multi-function unit's rate (CUDA programming guide, "Arithmetic
// instructions"). f64 functions are all polynomials on the f64 pipe.
#include "ir/op.h"
#include "passes/cost.h"

namespace fuse {

namespace {

constexpr double kF64FunctionFactor = 2;  // f64 expansions against f32 ones, in instructions

OpCost fma(double n) { return {.fma = n, .statements = n}; }
OpCost alu(double n) { return {.integer = n, .statements = n}; }
OpCost function(double mufu, double fma) {
  return {.fma = fma, .mufu = mufu, .statements = mufu + fma};
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
    case Op::RandomBits: return alu(14);
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
    case Op::Sqrt: return function(1, 6);
    case Op::Rsqrt: return function(1, 2);
    case Op::Cbrt: return function(2, 6);
    case Op::Exp:
    case Op::Exp2: return function(1, 2);
    case Op::Expm1: return function(0, 22);
    case Op::Log:
    case Op::Log2: return function(0, 12);
    case Op::Log1p: return function(0, 26);
    case Op::Sin:
    case Op::Cos: return function(0, 20);
    case Op::Tan: return function(1, 24);
    case Op::Asin:
    case Op::Acos: return function(1, 14);
    case Op::Atan: return function(1, 14);
    case Op::Atan2: return function(1, 20);
    case Op::Sinh:
    case Op::Cosh: return function(2, 10);
    case Op::Tanh: return function(1, 4);
    case Op::Asinh:
    case Op::Acosh:
    case Op::Atanh: return function(2, 20);
    case Op::Erf: return function(1, 14);
    case Op::Erfc: return function(2, 20);
    case Op::Erfinv: return function(2, 20);
    case Op::Lgamma:
    case Op::Digamma: return function(2, 40);
    case Op::Sigmoid: return function(2, 2);
    case Op::Div: return function(1, 7);
    case Op::Pow: return function(1, 24);
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Rem: return function(1, 14);
  }
  return nothing();
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

}  // namespace

OpCost &OpCost::operator+=(const OpCost &o) {
  fma += o.fma;
  f64 += o.f64;
  integer += o.integer;
  mufu += o.mufu;
  statements += o.statements;
  return *this;
}

OpCost OpCost::operator*(double factor) const {
  return {fma * factor, f64 * factor, integer * factor, mufu * factor, statements * factor};
}

OpCost op_cost(Op op, DType type) {
  if (is_int(type) || is_bool(type)) return int_cost(op);
  OpCost cost = float_cost(op);
  if (type != DType::F64) return cost;
  bool single = cost.mufu == 0 && cost.fma <= 1;
  cost.f64 = single ? cost.fma : kF64FunctionFactor * (cost.fma + 10 * cost.mufu);
  cost.fma = cost.mufu = 0;
  return cost;
}

}  // namespace fuse
