// The inexact functions in f64, by name.
#pragma once

#include "codegen/num_pair.h"

namespace fuse::math64 {

Num cbrt(Num x);

// math_exp.cpp
Num exp(Num x);
Num exp(NumPair x);
Num exp2(Num x);
Num expm1(Num x);
Num sinh(Num x);
Num cosh(Num x);
Num tanh(Num x);
Num sigmoid(Num x);

// math_log.cpp
Num log(Num x);
Num log2(Num x);
Num log1p(Num x);
Num asinh(Num x);
Num acosh(Num x);
Num atanh(Num x);
Num pow(Num x, Num y);
/// log of a positive, finite x within 2^-63.
NumPair log_pair(Num x);

// math_trig.cpp
Num sin(Num x);
Num cos(Num x);
Num tan(Num x);
/// sin(pi x), and cot(pi x) within 2^-57.
Num sin_pi(Num x);
NumPair cot_pi(Num x);

// math_arc.cpp
Num asin(Num x);
Num acos(Num x);
Num atan(Num x);
Num atan2(Num y, Num x);

// math_special.cpp
Num erf(Num x);
Num erfc(Num x);
Num erfinv(Num x);
Num lgamma(Num x);
Num digamma(Num x);

}  // namespace fuse::math64
