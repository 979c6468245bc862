"""Lattice columns: what may happen in the newest column of each hypothesis, with which probability.

Two normalisations, as in `nsed`. `Outgoing` is exact: each cell has one distribution over delete, insert y, substitute
y; where the source is consumed only inserts remain, and the end is an insert that is possible only there. `Incoming` is
the paper's: the arcs that enter a cell compete. Tables are rows (source symbols consumed) by hypotheses.
"""

from typing import NamedTuple

import numpy as np

from nsed_lite.lattice import NEG, entered
from nsed_lite.symbols import END, PAD, START

Memory = tuple[np.ndarray, ...]
"""What a column hands on to the next: tables, and perhaps one number per hypothesis."""


class Column(NamedTuple):
    """One lattice column of each hypothesis: class scores of its cells, and where each cell stands.

    Cells are packed as strings are: row 0 of all hypotheses, then row 1 of those that have it.
    """

    scores: np.ndarray
    starts: np.ndarray
    places: np.ndarray
    """Cell of each row and hypothesis; 0 where a source has no such row."""
    real: np.ndarray
    """Whether there is such a row."""

    def table(self, values: np.ndarray) -> np.ndarray:
        """Values of cells as a table, rows by hypotheses; NEG where there is no cell."""
        return np.where(self.real, values[self.places], NEG)

    def chosen(self, classes: np.ndarray, rows: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """Scores, less an offset per cell, of one class per chosen hypothesis: rows by hypotheses."""
        places = self.places[:, rows]
        return np.where(self.real[:, rows], self.scores[places, classes] - offset[places], NEG)

    def mixed(self, log_alpha: np.ndarray, *parts: np.ndarray) -> np.ndarray:
        """Log of the sum over rows of exp(log_alpha) times the sum of parts, cells by symbols: for each hypothesis."""
        top = log_alpha.max(0)
        share, total = np.exp(log_alpha - top).astype(np.float32), np.zeros((len(top), parts[0].shape[1]), np.float32)
        for row, (start, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            for part in parts:
                total[: end - start] += share[row, : end - start, None] * part[start:end]
        with np.errstate(divide="ignore"):
            return np.asarray(np.maximum(np.log(total) + top[:, None], NEG))


class Opened(NamedTuple):
    """Column whose prefix is known and whose next symbol is not."""

    column: Column
    log_alpha: np.ndarray
    offset: np.ndarray
    """Log of the sum of each cell's classes, in exact mode; else 0."""
    written: np.ndarray
    """Log-probability of each prefix with each next symbol."""


class Outgoing:
    """Exact mode: in each cell one distribution over delete, insert y, substitute y; the end is an insert at i = n."""

    def __init__(self, symbols: int) -> None:
        self.symbols = symbols
        after, before = np.full(1 + 2 * symbols, np.float32(NEG)), np.zeros(1 + 2 * symbols, dtype=np.float32)
        after[1 : 1 + symbols] = 0
        for mask, never in ((before, (PAD, START, END)), (after, (PAD, START))):
            mask[[1 + symbol + side * symbols for symbol in never for side in (0, 1)]] = NEG
        self.before, self.after = before, after

    def begin(self, shape: tuple[int, int]) -> Memory:
        """What the first column starts from: all probability in row 0."""
        return (_first(shape),)

    def open(self, column: Column, memory: Memory) -> Opened:
        """Open a column, from its scores and what the one before handed on."""
        offset, shares = self._normalised(column)
        log_alpha = with_deletes(memory[0], column.table(column.scores[:, 0] - offset))
        symbols = self.symbols
        written = column.mixed(log_alpha, shares[:, 1 : 1 + symbols], shares[:, 1 + symbols :])
        last, rows = column.real.sum(0) - 1, np.arange(column.real.shape[1])
        cells = column.places[last, rows]
        end = log_alpha[last, rows] + column.scores[cells, 1 + END] - offset[cells]
        written[:, END] = np.maximum(end, NEG)  # exactly: a target that is cut off ends however improbable that is
        return Opened(column, log_alpha, offset, written)

    def close(self, opened: Opened, rows: np.ndarray, symbols: np.ndarray) -> Memory:
        """What to hand on when chosen hypotheses go on with a symbol each."""
        column, log_alpha = opened.column, opened.log_alpha[:, rows]
        inserted = log_alpha + column.chosen(1 + symbols, rows, opened.offset)
        substituted = log_alpha + column.chosen(1 + self.symbols + symbols, rows, opened.offset)
        return (np.logaddexp(inserted, from_above(substituted)),)

    def leaving(self, column: Column, symbols: np.ndarray) -> list[np.ndarray]:
        """Log-probabilities of delete, insert and substitute of given next symbols, and of the end."""
        offset, _ = self._normalised(column)
        rows, ends = np.arange(len(symbols)), np.full_like(symbols, 1 + END)
        classes = (np.zeros_like(symbols), 1 + symbols, 1 + self.symbols + symbols, ends)
        return [column.chosen(one, rows, offset) for one in classes]

    def arcs(self, tables: np.ndarray, n: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Arcs of given targets, and log-probabilities of their ends, of what `leaving` said of all columns."""
        return entered(*tables[:3]), tables[3][n, m, np.arange(len(n))]

    def _normalised(self, column: Column) -> tuple[np.ndarray, np.ndarray]:
        """Log of the sum of each cell's classes, and their shares of it; what cannot happen is masked in the scores."""
        scores, last = column.scores, column.places[column.real.sum(0) - 1, np.arange(column.real.shape[1])]
        ended = scores[last] + self.after
        scores += self.before
        scores[last] = ended
        top = scores.max(1)
        shares = scores - top[:, None]
        np.exp(shares, out=shares)
        total = shares.sum(1)
        shares /= total[:, None]
        return top + np.log(total), shares


class Incoming:
    """Paper mode: the arcs that enter a cell compete, and the next-symbol distribution leaves out the delete arc."""

    def __init__(self, symbols: int) -> None:
        self.symbols = symbols

    def begin(self, shape: tuple[int, int]) -> Memory:
        """Alpha, scores of the chosen insert and substitute and of all symbols', and the log-probability so far."""
        nothing = np.full(shape, NEG)
        return _first(shape), nothing, nothing, nothing, nothing, np.zeros(shape[1])

    def open(self, column: Column, memory: Memory) -> Opened:
        """See `Outgoing.open`."""
        before, insert, substitute, any_insert, any_substitute, history = memory
        delete, substitute, any_substitute = (
            from_above(part) for part in (column.table(column.scores[:, 0]), substitute, any_substitute)
        )
        total = np.logaddexp(np.logaddexp(delete, any_insert), any_substitute)
        entering = np.logaddexp(before + insert - total, from_above(before) + substitute - total)
        entering = np.maximum(np.where((any_insert <= NEG).all(0), before, entering), NEG)
        # `with_deletes` takes the arc that leaves a row; these enter one
        leaving = np.concatenate([(delete - total)[1:], np.full((1, delete.shape[1]), NEG)])
        log_alpha = np.where(column.real, with_deletes(entering, np.maximum(leaving, NEG)), NEG)
        written = self._next_symbol(column, log_alpha)
        return Opened(column, log_alpha, np.zeros(len(column.scores)), history[:, None] + written)

    def close(self, opened: Opened, rows: np.ndarray, symbols: np.ndarray) -> Memory:
        """See `Outgoing.close`."""
        column, offset = opened.column, opened.offset
        insert = column.chosen(1 + symbols, rows, offset)
        substitute = column.chosen(1 + self.symbols + symbols, rows, offset)
        totals = (column.table(part)[:, rows] for part in self._any(column.scores))
        return opened.log_alpha[:, rows], insert, substitute, *totals, opened.written[rows, symbols]

    def leaving(self, column: Column, symbols: np.ndarray) -> list[np.ndarray]:
        """Scores of delete, insert and substitute of given next symbols, and of any insert and any substitute."""
        rows, nothing = np.arange(len(symbols)), np.zeros(len(column.scores))
        classes = (np.zeros_like(symbols), 1 + symbols, 1 + self.symbols + symbols)
        return [column.chosen(one, rows, nothing) for one in classes] + [
            column.table(part) for part in self._any(column.scores)
        ]

    def arcs(self, tables: np.ndarray, n: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Outgoing.arcs`: no target has an end of its own."""
        delete, insert, substitute, any_insert, any_substitute = tables
        rivals = entered(delete, any_insert, any_substitute)
        total = np.logaddexp(np.logaddexp(rivals[0], rivals[1]), rivals[2])
        return np.maximum(entered(delete, insert, substitute) - total, NEG), np.zeros(len(n))

    def _any(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log-sums of the scores of all inserts, and of all substitutes, of each cell."""
        return _log_sum(scores[:, 1 : 1 + self.symbols]), _log_sum(scores[:, 1 + self.symbols :])

    def _next_symbol(self, column: Column, log_alpha: np.ndarray) -> np.ndarray:
        """Log-probabilities of the next symbol: inserts of each row, and the substitutes into it from the row above."""
        any_insert, any_substitute = (column.table(part) for part in self._any(column.scores))
        total = np.logaddexp(any_insert, from_above(any_substitute))
        below = np.concatenate([total[1:], np.full((1, total.shape[1]), -NEG)])  # no substitute leaves the last row
        below = np.where(column.real[np.r_[1 : len(total), -1]], below, -NEG)
        below[-1] = -NEG
        of_insert, of_substitute = (_cells(column, part) for part in (total, below))
        insert = np.exp(column.scores[:, 1 : 1 + self.symbols] - of_insert[:, None])
        substitute = np.exp(column.scores[:, 1 + self.symbols :] - of_substitute[:, None])
        written = column.mixed(log_alpha, insert.astype(np.float32), substitute.astype(np.float32))
        rows, nothing = np.arange(len(written)), np.zeros(len(column.scores))
        classes = (np.full_like(rows, 1 + END), np.full_like(rows, 1 + self.symbols + END))
        inserted, substituted = (column.chosen(one, rows, nothing) for one in classes)
        end = np.logaddexp.reduce(log_alpha + np.logaddexp(inserted - total, substituted - below))
        written[:, END] = np.maximum(end, NEG)  # exactly, see `Outgoing.open`
        return written - _log_sum(written)[:, None]


def _first(shape: tuple[int, int]) -> np.ndarray:
    """Forward column before anything is written: all probability in row 0."""
    column = np.full(shape, NEG)
    column[0] = 0.0
    return column


def from_above(table: np.ndarray) -> np.ndarray:
    """Each row's values moved one row down."""
    return np.concatenate([np.full((1, table.shape[1]), NEG), table[:-1]])


def with_deletes(entering: np.ndarray, delete: np.ndarray) -> np.ndarray:
    """Forward column of what enters its rows from the left, and of deletions, each from its row to the next."""
    log_alpha = entering.copy()
    for row in range(1, len(log_alpha)):
        log_alpha[row] = np.logaddexp(log_alpha[row], log_alpha[row - 1] + delete[row - 1])
    return np.maximum(log_alpha, NEG)


def _cells(column: Column, table: np.ndarray) -> np.ndarray:
    """Values of a table, rows by hypotheses, of the cells that there are."""
    return table[column.real]


def _log_sum(x: np.ndarray) -> np.ndarray:
    top = x.max(-1)
    return np.asarray(top + np.log(np.exp(x - top[..., None]).sum(-1)))
