"""Exponentials, log-sums and random numbers for compiled kernels.

Exponentials and log-sums compile to vector instructions in float32, and to the library's in float64. In float32 an
exponential is a power of two, put together from the bits of a float, times a short Taylor series; the logarithm of a
sum of numbers in [0, 1], one of which is 1, is an atanh series. Both are as exact as the type. Random numbers are
counter-based: the same for the same seed, pair, cell and place; backward passes make them again.
"""

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

F, N = np.float32, np.int32
ONE, TWO, HALF = F(1), F(2), F(0.5)
PER_LN2, LN2 = F(1 / math.log(2)), F(math.log(2))
LN2_HIGH, LN2_LOW = F(0.693359375), F(math.log(2) - 0.693359375)
"""ln 2 in two parts: a multiple of the first has no rounding error."""
C2, C3, C4, C5, C6, C7 = (F(1 / math.factorial(power)) for power in range(2, 8))
A3, A5, A7, A9 = (F(2 / power) for power in (3, 5, 7, 9))
LOWEST, BIAS, MANTISSA = F(-87), N(127), N(23)


def exp_below_zero(x: float) -> float:
    """exp(x) for x <= 0; below -87 that of -87 in float32."""
    return math.exp(x)


def log_sum(a: float, b: float, c: float) -> float:
    """log(exp(a) + exp(b) + exp(c))."""
    top = max(a, b, c)
    return top + math.log(math.exp(a - top) + math.exp(b - top) + math.exp(c - top))


def log_sum_of_four(a: float, b: float, c: float, d: float) -> float:
    """log(exp(a) + exp(b) + exp(c) + exp(d))."""
    top = max(a, b, c, d)
    return top + math.log(math.exp(a - top) + math.exp(b - top) + math.exp(c - top) + math.exp(d - top))


inlined = njit(nogil=True, inline="always", error_model="numpy")


@inlined
def _exp32(x):
    x = max(x, LOWEST)
    power = np.floor(x * PER_LN2 + HALF)
    r = x - power * LN2_HIGH - power * LN2_LOW
    series = ((((C7 * r + C6) * r + C5) * r + C4) * r + C3) * r + C2
    scale = N((N(power) + BIAS) << MANTISSA).view(F)
    return (series * r * r + r + ONE) * scale


@inlined
def _log_near_one(f):
    """log(1 + f) for |f| up to a half."""
    z = f / (TWO + f)
    square = z * z
    series = ((A9 * square + A7) * square + A5) * square + A3
    return z * (TWO + series * square)


@inlined
def _log_sum32(a, b, c):
    top = max(a, b, c)
    total = _exp32(a - top) + _exp32(b - top) + _exp32(c - top)
    large = total > F(1.5)
    f = (total * HALF if large else total) - ONE
    return top + ((LN2 if large else F(0)) + _log_near_one(f))


@inlined
def _log_sum_of_four32(a, b, c, d):
    top = max(a, b, c, d)
    total = _exp32(a - top) + _exp32(b - top) + _exp32(c - top) + _exp32(d - top)
    halves = (ONE if total > F(1.4) else F(0)) + (ONE if total > F(2.8) else F(0))
    scale = ONE - HALF * halves + F(0.125) * halves * (halves - ONE)  # 1, 1/2 or 1/4
    return top + (halves * LN2 + _log_near_one(total * scale - ONE))


@inlined
def _log_sum64(a, b, c):
    top = max(a, b, c)
    return top + math.log(math.exp(a - top) + math.exp(b - top) + math.exp(c - top))


@inlined
def _log_sum_of_four64(a, b, c, d):
    top = max(a, b, c, d)
    return top + math.log(math.exp(a - top) + math.exp(b - top) + math.exp(c - top) + math.exp(d - top))


@overload(exp_below_zero, inline="always")
def _exp_for(x):  # numba compares the names with those of the answer
    single = x == types.float32

    def exp(x):
        return _exp32(x) if single else math.exp(x)

    return exp


@overload(log_sum, inline="always")
def _log_sum_for(a, b, c):
    single = a == types.float32

    def total(a, b, c):
        return _log_sum32(a, b, c) if single else _log_sum64(a, b, c)

    return total


@overload(log_sum_of_four, inline="always")
def _log_sum_of_four_for(a, b, c, d):
    single = a == types.float32

    def total(a, b, c, d):
        return _log_sum_of_four32(a, b, c, d) if single else _log_sum_of_four64(a, b, c, d)

    return total


U = np.uint32
FACTORS = 0x7FEB352D, 0x846CA68B
FIRST, SECOND = U(FACTORS[0]), U(FACTORS[1])


@inlined
def mixed(number):
    """Integer hash: shifts and odd factors spread every bit."""
    number = U((number ^ (number >> U(16))) * FIRST)
    number = U((number ^ (number >> U(15))) * SECOND)
    return U(number ^ (number >> U(16)))


@inlined
def number_of(cell, place):
    """Random number of a place in a cell, both mixed already. Its high bits are good, the low ones less so."""
    number = U((cell ^ place) * FIRST)
    return U((number ^ (number >> U(15))) * SECOND)


@njit(nogil=True, cache=True, error_model="numpy")
def places_of(size):
    """Row of hashes: the mixed numbers of all places."""
    places = np.empty((1, size), np.uint32)
    for k in range(size):
        places[0, k] = mixed(U(k))
    return places
