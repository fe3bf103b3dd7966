// OpInfo from ops.def.
#include "ir/op.h"

#include <array>

namespace fuse {

namespace {

constexpr std::array<OpInfo, kNumOps> kOps = {{
#define FUSE_OP(name, text, kind, types, traits, ulp, doc) \
  {#name, text, OpKind::kind, OpTypes::types, traits, ulp, doc},
#include <fuse/ops.def>
}};

}  // namespace

const OpInfo &info(Op op) { return kOps[static_cast<std::size_t>(op)]; }

std::optional<Op> op_from_string(std::string_view text, bool reduce) {
  for (std::size_t i = 0; i < kOps.size(); ++i) {
    bool is_reduce = kOps[i].kind == OpKind::Reduce;
    if (kOps[i].text == text && (is_reduce == reduce || (text != "max" && text != "min")))
      return static_cast<Op>(i);
  }
  return std::nullopt;
}

bool accepts(OpTypes types, DType t) {
  bool arithmetic_float = is_float(t) && !is_float8(t);
  switch (types) {
    case OpTypes::Float: return arithmetic_float;
    case OpTypes::Int: return is_int(t);
    case OpTypes::U32: return t == DType::U32;
    case OpTypes::Arith: return arithmetic_float || is_int(t);
    case OpTypes::IntBool: return is_int(t) || is_bool(t);
    case OpTypes::Bool: return is_bool(t);
    case OpTypes::Ordered: return true;
    case OpTypes::Any: return true;
  }
  return false;
}

std::string_view describe(OpTypes types) {
  switch (types) {
    case OpTypes::Float: return "f16, bf16, f32 or f64";
    case OpTypes::Int: return "an integer type";
    case OpTypes::U32: return "u32";
    case OpTypes::Arith: return "f16, bf16, f32, f64 or an integer type";
    case OpTypes::IntBool: return "an integer type or bool";
    case OpTypes::Bool: return "bool";
    case OpTypes::Ordered: return "any dtype";
    case OpTypes::Any: return "any dtype";
  }
  return "";
}

DType compute_type(DType dtype) {
  return is_float16(dtype) || is_float8(dtype) ? DType::F32 : dtype;
}

}  // namespace fuse
