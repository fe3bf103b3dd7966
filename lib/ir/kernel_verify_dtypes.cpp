// Invariant 15 of kernels: dtypes of operations and folds are those of ops.def and monoids.def.
//
// Before: numbers of operands and results are right and in range.
#include "ir/kernel_verify.h"
#include "ir/op.h"

#include <algorithm>

namespace fuse {

namespace {

/// Dtype of the operands that are not literals; among literals, of one that is of no compute type.
DType common_dtype(const Kernel &k, const Stmt &s, const std::vector<bool> &is_literal,
                   std::size_t first) {
  auto dtype_of = [&](std::size_t i) { return k.values[s.operands[i]].dtype; };
  for (std::size_t i = first; i < s.operands.size(); ++i)
    if (!is_literal[s.operands[i]]) return dtype_of(i);
  for (std::size_t i = first; i < s.operands.size(); ++i)
    if (compute_type(dtype_of(i)) != dtype_of(i)) return dtype_of(i);
  return k.values[s.operands[first]].dtype;
}

void verify_convert(const Kernel &k, const Stmt &s, const std::string &place) {
  DType from = k.values[s.operands[0]].dtype, to = k.values[s.results[0]].dtype;
  require(s.op != Op::Bitcast || size_of(to) == size_of(from), k, place,
          "bitcast of {} to {}: sizes differ", to_string(from), to_string(to));
}

}  // namespace

void verify_compute_dtypes(const Kernel &k, const Stmt &s, const std::vector<bool> &is_literal,
                           const std::string &place) {
  const OpInfo &op = info(s.op);
  if (op.kind == OpKind::Convert) return verify_convert(k, s, place);
  std::size_t first = s.op == Op::Select ? 1 : 0;
  require(first == 0 || is_bool(k.values[s.operands[0]].dtype), k, place,
          "the condition of select is no bool");
  DType common = common_dtype(k, s, is_literal, first);
  bool literals_only = true;
  for (std::size_t i = first; i < s.operands.size(); ++i) {
    ValueId v = s.operands[i];
    DType dtype = k.values[v].dtype;
    require(dtype == common || (is_literal[v] && dtype == compute_type(common)), k, place,
            "operands of {} are {} and {}", op.text, to_string(common), to_string(dtype));
    literals_only = literals_only && is_literal[v];
  }
  require(accepts(op.types, common), k, place, "{} takes {}, not {}", op.text, describe(op.types),
          to_string(common));
  DType natural = natural_dtype(k, is_literal, s), result = k.values[s.results[0]].dtype;
  bool rounds_literals = literals_only && !is_bool(natural) && compute_type(result) == natural;
  require(result == natural || rounds_literals, k, place, "{} gives {}, not {}", op.text,
          to_string(natural), to_string(result));
}

void verify_fold_dtypes(const Kernel &k, const Stmt &s, const std::string &place) {
  auto dtype_of = [&](ValueId v) { return k.values[v].dtype; };
  DType t = dtype_of(s.operands[0]);
  bool is_wide = t == DType::F32 || t == DType::F64;
  for (std::size_t i = 0; i < s.results.size(); ++i) {
    DType expected = i < s.operands.size() ? dtype_of(s.operands[i]) : t;
    require(dtype_of(s.results[i]) == expected, k, place, "result {} of {} is {}, not {}", i,
            to_string(s.monoid), to_string(expected), to_string(dtype_of(s.results[i])));
  }
  switch (s.monoid) {
    case Monoid::Sum:
    case Monoid::Prod:
      require(is_int(t) || is_wide, k, place, "{} folds integers, f32 or f64, not {}",
              to_string(s.monoid), to_string(t));
      break;
    case Monoid::Max:
    case Monoid::Min: break;
    case Monoid::Any:
    case Monoid::All:
      require(is_bool(t), k, place, "{} folds bool, not {}", to_string(s.monoid), to_string(t));
      break;
    case Monoid::ArgMax:
    case Monoid::ArgMin:
      require(dtype_of(s.operands[1]) == DType::I64, k, place, "the position is not i64");
      break;
    case Monoid::Welford:
    case Monoid::Online:
      require(is_wide, k, place, "{} folds f32 or f64, not {}", to_string(s.monoid), to_string(t));
      require(s.operands.size() == 1 || dtype_of(s.operands[1]) == t, k, place,
              "operands differ in dtype");
      break;
  }
}

}  // namespace fuse
