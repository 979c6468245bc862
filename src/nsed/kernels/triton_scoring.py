"""Match scores of many pairs on a GPU: a row of the lattice per step, of several pairs at once, from a table of scores.

The table has the scores of all pairs of vectors, so there must be few different ones, as in a network without context.
"""

import triton
import triton.language as tl

from nsed.kernels.triton_kernels import LOWEST, log_add, then_log


@triton.jit(do_not_specialize=["pairs", "kinds"])
def by_table(
    rows, columns, table, flat_s, starts_s, flat_t, starts_t, result, pairs, kinds,
    WIDTH: tl.constexpr, PAIRS: tl.constexpr,
):  # fmt: skip  # an argument a line would be a page
    """Log alpha[n, m] of pairs (row, column) of strings; `table` has four scores for each pair of kinds of symbols."""
    pair = tl.program_id(0) * PAIRS + tl.arange(0, PAIRS)[None, :]
    is_pair, column = pair < pairs, tl.arange(0, WIDTH)[:, None]
    s, t = tl.load(rows + pair, mask=is_pair, other=0), tl.load(columns + pair, mask=is_pair, other=0)
    first_s, first_t = tl.load(starts_s + s), tl.load(starts_t + t)
    n, m = tl.load(starts_s + s + 1) - first_s - 1, tl.load(starts_t + t + 1) - first_t - 1
    inside, left = is_pair & (column <= m), tl.maximum(column - 1, 0)
    of_here = tl.load(flat_t + first_t + column, mask=inside, other=0)
    of_left = tl.load(flat_t + first_t + left, mask=inside, other=0)
    lowest = tl.full((WIDTH, PAIRS), LOWEST, tl.float32)
    alpha, found, delete, substitute, non_match = lowest, lowest, lowest, lowest, lowest
    shift, most, i = tl.broadcast_to(left, (WIDTH, PAIRS)), tl.max(tl.where(is_pair, n, 0)), 0
    while i <= most:
        known = inside & (i <= n)
        kind = tl.load(flat_s + first_s + i, mask=is_pair & (i <= n), other=0) * kinds
        here, beside = table + 4 * (kind + of_here), table + 4 * (kind + of_left)
        next_non_match = tl.load(beside + 3, mask=known, other=0.0)
        insert = tl.where(column > 0, tl.load(beside + 1, mask=known, other=0.0), LOWEST)
        other = tl.where(i > 0, non_match, next_non_match)
        highest = tl.maximum(tl.maximum(delete, insert), tl.maximum(substitute, other))
        total = tl.exp(delete - highest) + tl.exp(insert - highest) + tl.exp(substitute - highest)
        total = highest + tl.log(total + tl.exp(other - highest))
        corner = tl.where(column > 0, tl.gather(alpha, shift, 0), LOWEST)
        reached = log_add(alpha + delete - total, corner + substitute - total)
        reached = tl.where((column == 0) & (i == 0), 0.0, tl.maximum(reached, LOWEST))
        _, value = tl.associative_scan((tl.maximum(insert - total, LOWEST), reached), 0, then_log)
        alpha = tl.maximum(value, LOWEST)
        found = tl.where((column == m) & (i == n), alpha, found)
        delete = tl.load(here, mask=known, other=0.0)
        substitute = tl.where(column > 0, tl.load(beside + 2, mask=known, other=0.0), LOWEST)
        non_match = next_non_match
        i += 1
    tl.store(result + pair, tl.max(found, 0)[None, :], mask=is_pair)
