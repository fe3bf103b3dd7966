#!/usr/bin/env python3
"""Computes the polynomials of lib/codegen/math_*.cpp: python3 tools/fit_polynomials.py [name...]

Interpolation at Chebyshev nodes in 60 digits, which stays within a small factor of the minimax
error; highest coefficient first, as Num's polynomial() takes them. The error printed is the
largest one relative to the function, of the polynomial with its coefficients rounded to f64 (f32).
Needs mpmath.
"""
import argparse
import struct

try:
    import mpmath as mp
except ImportError:
    raise SystemExit("fit_polynomials: error: it needs mpmath: apt-get install python3-mpmath, and "
                     "run it by /usr/bin/python3") from None

mp.mp.dps = 60


def interpolate(function, low, high, degree):
    """Coefficients in x, the lowest first."""
    middle, half = (mp.mpf(low) + high) / 2, (mp.mpf(high) - low) / 2
    n = degree + 1
    nodes = [mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    values = [function(middle + half * t) for t in nodes]
    chebyshev = [2 * sum(v * mp.cos(mp.pi * k * (2 * i + 1) / (2 * n)) for i, v in enumerate(values)) / n
                 for k in range(n)]
    chebyshev[0] /= 2
    before, now, total = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)], [mp.mpf(0)] * n
    for k, c in enumerate(chebyshev):
        for i, a in enumerate(before):
            total[i] += c * a
        doubled = [mp.mpf(0)] + [2 * a for a in now]
        before, now = now, [d - (before[i] if i < len(before) else 0) for i, d in enumerate(doubled)]
    return substitute(total, -middle / half, 1 / half)


def substitute(coefficients, offset, slope):
    """p(offset + slope x) as a polynomial in x."""
    result = [mp.mpf(0)]
    for c in reversed(coefficients):
        longer = [mp.mpf(0)] * (len(result) + 1)
        for i, a in enumerate(result):
            longer[i] += a * offset
            longer[i + 1] += a * slope
        longer[0] += c
        result = longer
    return result[:len(coefficients)]


def rounded(x, bits):
    return float(x) if bits == 53 else struct.unpack("f", struct.pack("f", float(x)))[0]


def worst_error(coefficients, function, low, high):
    worst = 0
    for i in range(401):
        x = low + (mp.mpf(high) - low) * i / 400
        value = function(x)
        if value != 0:
            worst = max(worst, abs(mp.polyval(coefficients, x) / value - 1))
    return worst


EULER = mp.euler
PSI_ZERO = mp.findroot(lambda x: mp.digamma(x), 1.46)


def erf_rest(z):
    """(erf(x) / x - 2 / sqrt(pi)) / z for z = x^2."""
    z = max(mp.mpf(z), mp.mpf(10) ** -20)
    x = mp.sqrt(z)
    return (mp.erf(x) / x - 2 / mp.sqrt(mp.pi)) / z


def erfcx_scaled(x):
    return mp.erfc(x) * mp.exp(x * x) * x


def erfinv_center(w):
    """erfinv(x) / x for w = -log(1 - x^2)."""
    w = max(mp.mpf(w), mp.mpf(10) ** -20)
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x


def erfinv_tail(s):
    """The same over x for s = sqrt(w)."""
    w = mp.mpf(s) ** 2
    rest = mp.exp(-w) / (1 + mp.sqrt(-mp.expm1(-w)))  # 1 - x
    y = mp.sqrt(w)
    for _ in range(60):
        step = (mp.erfc(y) - rest) / (2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
        y += step
        if abs(step) < mp.mpf(10) ** -45:
            break
    return y


def log1p_tail(f):
    f = mp.mpf(f) or mp.mpf(10) ** -20
    return (mp.log1p(f) - f) / f ** 2


def expm1_tail(r):
    r = mp.mpf(r) or mp.mpf(10) ** -20
    return (mp.expm1(r) - r) / r ** 2


# name: function, interval, degree, bits of the coefficients
FITS = {
    # erfc(x) e^(x^2) in x - 1.5
    "erfc_near": (lambda t: mp.erfc(t + 1.5) * mp.exp((t + mp.mpf(1.5)) ** 2), -1, 1, 22, 53),
    # the same, times x, in 1 / x - 0.3 and in 1 / x^2
    "erfc_middle": (lambda t: erfcx_scaled(1 / (t + mp.mpf("0.3"))), mp.mpf("-0.1"), mp.mpf("0.1"), 14, 53),
    "erfc_far": (lambda u: erfcx_scaled(1 / mp.sqrt(u)) if u else 1 / mp.sqrt(mp.pi), 0, mp.mpf("0.04"), 12, 53),
    "erf_rest": (erf_rest, 0, 1, 12, 53),
    # lgamma(1 + t) / t
    "lgamma_near_one": (lambda t: mp.loggamma(1 + t) / t if t else -EULER, mp.mpf(-0.3), 0.5, 23, 53),
    # digamma(x) / (x - its zero) in x - 1.5
    "digamma_unit": (lambda s: mp.digamma(s + 1.5) / (s + 1.5 - PSI_ZERO), -0.5, 0.5, 21, 53),
    "erfinv_center": (erfinv_center, 0, 5, 8, 53),
    # erfinv in sqrt(w) - 4
    "erfinv_tail": (lambda s: erfinv_tail(s + 4), mp.sqrt(5) - 4, mp.mpf(6.01) - 4, 9, 53),
    # (log(1 + f) - f) / f^2
    "log1p_f32": (log1p_tail, -0.25, 0.5, 9, 24),
    # (e^r - 1 - r) / r^2
    "expm1_f32": (expm1_tail, mp.mpf(-0.347), 0.347, 5, 24),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="name", help="of: " + ", ".join(FITS))
    names = parser.parse_args().names
    if unknown := [name for name in names if name not in FITS]:
        parser.error(f"'{unknown[0]}' is none of {', '.join(FITS)}")
    for name in names or FITS:
        function, low, high, degree, bits = FITS[name]
        exact = interpolate(function, low, high, degree)[::-1]
        coefficients = [rounded(c, bits) for c in exact]
        error = worst_error(coefficients, function, low, high)
        print(f"{name}: error 2^{float(mp.log(error, 2)):.1f}")
        print(", ".join(repr(c) for c in coefficients))
        print("  lowest coefficient exactly:", mp.nstr(exact[-1], 35))


main()
