"""Edit lattices: sums over all derivations of a pair, the best derivation, and edit scripts to read.

Cell (i, j): i source symbols are consumed, j target symbols produced. An arc belongs to the cell that it enters:

    delete     s_i        (i-1, j)   -> (i, j)
    insert     t_j        (i, j-1)   -> (i, j)
    substitute s_i -> t_j (i-1, j-1) -> (i, j)

Tables of log-weights are `[3, rows, columns, pairs]`, the arcs in this order, in double precision.
"""

from collections.abc import Sequence
from functools import cached_property
from math import exp
from typing import NamedTuple
from unicodedata import bidirectional, category

import numpy as np

NEG = -1e30
"""Log-weight of what cannot be. Finite, so that no recursion meets inf - inf."""
REACHABLE = NEG / 2
KINDS = ("delete", "insert", "substitute")
STEPS = ((1, 0), (0, 1), (1, 1))
"""Source and target symbols that each operation consumes."""


class Edit(NamedTuple):
    """Edit operation: it reads source symbol i and writes target symbol j, both from 0.

    `probability` is that of this operation at this place over all derivations, `log_weight` its own.
    """

    kind: str
    source: str
    target: str
    i: int
    j: int
    probability: float
    log_weight: float

    def __str__(self) -> str:
        source, target = visible(self.source), visible(self.target)
        if self.kind == "substitute":
            return source if self.source == self.target else f"{source}→{target}"
        return f"-{source}" if self.kind == "delete" else f"+{target}"


def visible(symbol: str) -> str:
    r"""Symbol as a terminal shows it: spaces, lone marks and controls can be seen, right-to-left letters are isolated.

    >>> visible(" "), visible("\u0301"), visible("\u200c"), visible("a")
    ('␣', '◌́', '\\u200c', 'a')
    """
    is_emoji = symbol[:1] > "\u00ff" and category(symbol[0]) == "So"
    shown = "".join(char if is_emoji and _is_of_emoji(char) else _shown(char) for char in symbol)
    if symbol and category(symbol[0]).startswith("M"):
        shown = "◌" + shown
    return f"\u2068{shown}\u2069" if any(bidirectional(char) in ("R", "AL") for char in symbol) else shown


def _is_of_emoji(char: str) -> bool:
    """Emoji joiners: the joiner of families, and the tags of flags."""
    return char == "\u200d" or "\U000e0020" <= char <= "\U000e007f"


def _shown(char: str) -> str:
    if char == " ":
        return "␣"
    return ascii(char)[1:-1] if category(char)[0] in "CZ" else char


class EditScript(NamedTuple):
    """Edit script: the operations of the best derivation, its log-weight, and its share among all derivations."""

    edits: tuple[Edit, ...]
    log_weight: float
    share: float

    @property
    def links(self) -> frozenset[tuple[int, int]]:
        """Alignment links: places of the source and target symbol of each substitution."""
        return frozenset((edit.i, edit.j) for edit in self.edits if edit.kind == "substitute")

    def __str__(self) -> str:
        return " ".join(map(str, self.edits))


class Lattice:
    """Lattices of a batch of pairs, of their own lengths n and m; what lies beyond is never used."""

    def __init__(self, arcs: np.ndarray, n: np.ndarray, m: np.ndarray) -> None:
        self.n, self.m, self.pairs = n, m, np.arange(len(n))
        rows, columns = np.arange(arcs.shape[1])[:, None, None], np.arange(arcs.shape[2])[:, None]
        self.arcs = np.where((rows > n) | (columns > m), NEG, np.maximum(arcs, NEG))
        self.arcs[::2, 0] = NEG  # no delete or substitute enters row 0
        self.arcs[1:, :, 0] = NEG  # no insert or substitute enters column 0

    @cached_property
    def log_alpha(self) -> np.ndarray:
        """Log-sum over all derivations of each prefix pair."""
        return _forward(self.arcs, _log_sum)

    @property
    def log_prob(self) -> np.ndarray:
        """Log-sum over all derivations of each pair."""
        return np.asarray(self.log_alpha[self.n, self.m, self.pairs])

    @cached_property
    def log_beta(self) -> np.ndarray:
        """Log-sum over all derivations of each suffix pair: the forward table of the reversed strings, turned round."""
        turned = Lattice(turned_arcs(self.arcs, self.n, self.m), self.n, self.m)
        return np.where(turned.log_alpha <= REACHABLE, NEG, _turned(turned.log_alpha, self.n, self.m, 0, 0))

    @cached_property
    def posteriors(self) -> np.ndarray:
        """Probability of each arc, over all derivations of its pair."""
        joint = _entering(self.log_alpha) + self.arcs + self.log_beta - self.log_prob
        return np.exp(np.minimum(joint, 0))

    def scripts(self, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> list[EditScript]:
        """Edit script of each pair, of its symbols. Raises `ValueError` where no derivation makes a pair."""
        best = _entering(_forward(self.arcs, _maximum)) + self.arcs
        choice = 2 - best[::-1].argmax(0)  # ties go to substitute, then insert
        return [self._script(choice[..., b], b, *pair) for b, pair in enumerate(zip(sources, targets, strict=True))]

    def _script(self, choice: np.ndarray, pair: int, source: Sequence[str], target: Sequence[str]) -> EditScript:
        if self.log_prob[pair] <= REACHABLE:
            raise ValueError(f"no operations of probability above zero turn {' '.join(source)} into {' '.join(target)}")
        i, j, edits = len(source), len(target), []
        while i or j:
            arc = int(choice[i, j])
            place, (reads, writes) = (arc, i, j, pair), STEPS[arc]
            symbols = (source[i - 1] if reads else "", target[j - 1] if writes else "")
            numbers = min(1.0, float(self.posteriors[place])), float(self.arcs[place])
            i, j = i - reads, j - writes
            edits.append(Edit(KINDS[arc], *symbols, i, j, *numbers))
        weight = sum(edit.log_weight for edit in edits)
        return EditScript(tuple(reversed(edits)), weight, min(1.0, exp(weight - self.log_prob[pair])))


def entered(delete: np.ndarray, insert: np.ndarray, substitute: np.ndarray) -> np.ndarray:
    """Arcs by the cells that they enter, of log-weights by the cells that they leave."""
    arcs = np.full((3, *delete.shape), NEG)
    arcs[0, 1:], arcs[1, :, 1:], arcs[2, 1:, 1:] = delete[:-1], insert[:, :-1], substitute[:-1, :-1]
    return arcs


def turned_arcs(arcs: np.ndarray, n: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Arcs of the reversed strings: cell (i, j) becomes (n - i, m - j), every arc the one that goes the other way."""
    return np.stack([_turned(table, n, m, *step) for table, step in zip(arcs, STEPS, strict=True)])


def _turned(table: np.ndarray, n: np.ndarray, m: np.ndarray, reads: int, writes: int) -> np.ndarray:
    rows, columns = np.arange(table.shape[0])[:, None, None], np.arange(table.shape[1])[:, None]
    i, j = np.clip(n + reads - rows, 0, len(table) - 1), np.clip(m + writes - columns, 0, table.shape[1] - 1)
    return np.asarray(table[i, j, np.arange(len(n))])


def _entering(cells: np.ndarray) -> np.ndarray:
    """Values of the cells that arcs come from, at the cells that they enter."""
    bordered = np.pad(cells, ((1, 0), (1, 0), (0, 0)), constant_values=NEG)
    return np.stack([bordered[:-1, 1:], bordered[1:, :-1], bordered[:-1, :-1]])


def _forward(arcs: np.ndarray, plus: object) -> np.ndarray:
    """Forward table, one anti-diagonal of cells after the other: these do not depend on each other."""
    _, rows, columns, pairs = arcs.shape
    alpha = np.full((rows + 1, columns + 1, pairs), NEG)  # with a border, so that every arc starts somewhere
    alpha[1, 1] = 0.0
    for number in range(1, rows + columns - 1):
        i = np.arange(max(0, number - columns + 1), min(number, rows - 1) + 1)
        j = number - i
        before = np.stack([alpha[i, j + 1], alpha[i + 1, j], alpha[i, j]])
        alpha[i + 1, j + 1] = plus(before + arcs[:, i, j])  # type: ignore[operator]  # a function
    return np.maximum(alpha[1:, 1:], NEG)


def _log_sum(incoming: np.ndarray) -> np.ndarray:
    top = incoming.max(0)
    return np.asarray(top + np.log(np.exp(incoming - top).sum(0)))


def _maximum(incoming: np.ndarray) -> np.ndarray:
    return np.asarray(incoming.max(0))
