"""Counter-based random numbers: the same for the same seed, pair, cell and place; backward passes make them again."""

import numpy as np
from numba import njit

U = np.uint32
FACTORS = 0x7FEB352D, 0x846CA68B
FIRST, SECOND = U(FACTORS[0]), U(FACTORS[1])
inlined = njit(nogil=True, inline="always", error_model="numpy")


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
