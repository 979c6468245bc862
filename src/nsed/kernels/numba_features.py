"""Tables of features from the symbols' projections, compiled, for attention and for many classes.

Written for the compiler: slices are taken once per pair (each costs an atomic count of references), and sums may be
taken in any order (`reassoc`), so that they become vector instructions.
"""

from numba import njit

from nsed.kernels.numba_random import U, mixed, number_of, places_of

compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@compiled
def _table_pair(source, target, x, total, squares, places, seed, dropped, scale):
    zero = source.dtype.type(0)
    for i in range(source.shape[0]):
        for j in range(target.shape[0]):
            if dropped:
                cell = mixed(U(seed + U(i * target.shape[0] + j)))
                for k in range(source.shape[1]):
                    kept = number_of(cell, places[0, k]) >= dropped
                    x[i, j, k] = max(source[i, k] + target[j, k], zero) * (scale if kept else zero)
            else:
                for k in range(source.shape[1]):
                    x[i, j, k] = max(source[i, k] + target[j, k], zero)
            first, second = zero, zero
            for k in range(source.shape[1]):
                first += x[i, j, k]
                second += x[i, j, k] * x[i, j, k]
            total[i, j], squares[i, j] = first, second


@compiled
def table(source, target, seed, dropped, scale, x, total, squares, part, first, last):
    """The table of features with its sums and sums of squares, where many classes are scored."""
    places = places_of(source.shape[2])
    for pair in range(first, last):
        own = mixed(U(seed + U(pair)))
        _table_pair(source[pair], target[pair], x[pair], total[pair], squares[pair], places, own, dropped, scale)


@compiled
def _untable_pair(x, by_x, by_total, by_squares, scale, to_source, to_target):
    zero = x.dtype.type(0)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            linear, square = by_total[i, j], by_squares[i, j] + by_squares[i, j]
            for k in range(x.shape[2]):
                value = (by_x[i, j, k] + linear + square * x[i, j, k]) * scale
                value = value if x[i, j, k] > zero else zero
                to_source[i, k] += value
                to_target[j, k] += value


@compiled
def untable(x, by_x, by_total, by_squares, scale, to_source, to_target, part, first, last):
    """Adds the gradients by source and target of `table`."""
    for pair in range(first, last):
        _untable_pair(x[pair], by_x[pair], by_total[pair], by_squares[pair], scale, to_source[pair], to_target[pair])
