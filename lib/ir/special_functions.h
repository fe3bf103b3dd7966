// Functions that libm lacks, for double and long double: within a few units in the last place of
// the argument type, except digamma near its negative zeros (absolute there).
#pragma once

namespace fuse {

double digamma(double x);
long double digamma(long double x);

double erfinv(double x);
long double erfinv(long double x);

/// log |gamma(x)|, without libm's global sign.
double log_gamma(double x);
long double log_gamma(long double x);

}  // namespace fuse
