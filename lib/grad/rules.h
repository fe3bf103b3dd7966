// The rule of each operation: the cotangents of its operands from that of its result.
#pragma once

#include "grad/adjoint.h"

namespace fuse {

/// Adds the cotangents of the operands to the node's Adjoint.
using Rule = void (*)(Adjoint &a);

/// Null: no gradient passes.
Rule rule_of(Op op);

// Those that are more than a line; the table is in rules.cpp.
void div_rule(Adjoint &a);
void mod_rule(Adjoint &a);
void rem_rule(Adjoint &a);
void pow_rule(Adjoint &a);
void min_rule(Adjoint &a);
void max_rule(Adjoint &a);
void atan2_rule(Adjoint &a);
void select_rule(Adjoint &a);
void cast_sat_rule(Adjoint &a);
/// The derivative of digamma.
Value trigamma(Value x);

void broadcast_rule(Adjoint &a);
void transpose_rule(Adjoint &a);
void slice_rule(Adjoint &a);
void pad_rule(Adjoint &a);
void concat_rule(Adjoint &a);
void gather_rule(Adjoint &a);

void sum_rule(Adjoint &a);
void prod_rule(Adjoint &a);
void reduce_max_rule(Adjoint &a);
void reduce_min_rule(Adjoint &a);

void cumsum_rule(Adjoint &a);
void cumprod_rule(Adjoint &a);
void cummax_rule(Adjoint &a);
void cummin_rule(Adjoint &a);
void logcumsumexp_rule(Adjoint &a);

void extern_rule(Adjoint &a);
void custom_gradient_rule(Adjoint &a);

}  // namespace fuse
