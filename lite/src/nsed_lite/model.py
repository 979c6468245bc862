"""Models as users hold them: all `score` and `align`, some decide (`match`), some write targets (`transduce`)."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nsed_lite.lattice import NEG, EditScript, Lattice
from nsed_lite.search import Decoder, Targets, beam_search, greedy_search
from nsed_lite.symbols import SPECIALS, UNKNOWN, Tokenizer

Pair = tuple[str, str]
Strings = Sequence[list[int]]
CELLS, WORDS, PREFIXES = 2**16, 2**10, 2**12
"""What is worked on at once: cells of lattices, words that are transduced, and prefixes of all of them together."""
MOST_CELLS = 2**22
"""Cells of the lattice of one pair at most: two strings of 2,047 symbols."""
WIDEST_BEAM, LONGEST_OUTPUT, MOST_PENALTY = 1000, 10_000, 100
"""Bounds of a model's settings, those that the full package has."""
CERTAIN = -1e-6
"""Highest log-probability that calibration tells apart from certainty."""


class Criterion(NamedTuple):
    """Decision criterion: pairs with at least the threshold as score match; calibration gives probabilities."""

    threshold: float
    slope: float
    intercept: float
    form: str = "score"
    bend: float = 0.0

    @classmethod
    def of(
        cls, threshold: object, slope: object, intercept: object, form: object = "score", bend: object = 0.0
    ) -> "Criterion":
        """Criterion of a saved model. Raises `ValueError` for what is no number, or no form."""
        numbers = [float(one) for one in (threshold, slope, intercept, bend) if type(one) in (int, float)]  # type: ignore[arg-type]
        if len(numbers) < 4 or not np.isfinite(numbers[1:]).all() or np.isnan(numbers[0]):
            got = f"{threshold!r}, {slope!r}, {intercept!r}, {bend!r}"
            raise ValueError(f"threshold and calibration: got {got}, expected numbers")
        if form not in ("score", "log-odds", "beta"):
            raise ValueError(f"calibration: got the form {form!r}, expected score, log-odds or beta")
        return cls(numbers[0], numbers[1], numbers[2], str(form), numbers[3])

    def probability(self, scores: np.ndarray) -> np.ndarray:
        """Calibrated probabilities of a match."""
        return np.asarray(1 / (1 + np.exp(-np.clip(self.log_odds(scores), -700, 700))))

    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        """Calibrated log-odds of a match."""
        evidence = given = np.asarray(scores, dtype=float)
        if not self.slope:  # scores say nothing
            return np.full(given.shape, self.intercept)
        if self.form == "log-odds":  # the score is a log-probability
            below = np.minimum(evidence, CERTAIN)
            evidence = below - np.log(-np.expm1(below))
        elif self.bend:  # beta calibration: another slope above a score of 0 than below
            size = np.where(np.isfinite(evidence), np.abs(evidence), 0.0)
            evidence = evidence + self.bend * (size + 2 * np.log1p(np.exp(-size)) - 2 * np.log(2))
        certain = np.isposinf(given)
        return np.asarray(np.where(certain, -NEG, self.slope * np.clip(evidence, NEG, -NEG) + self.intercept))


class Model(ABC):
    """Model whose answers come from lattices. Abstract: a kind of model has its own lattices."""

    source: Tokenizer
    target: Tokenizer
    languages: tuple[str, ...] = ()
    """Languages that the model knows, if it was trained with any."""
    criterion: Criterion | None = None
    reads_kin: bool = False
    """Whether new symbols of sources are read as known ones that are akin."""

    def check(self) -> None:
        """Score one pair, of the last symbol of each vocabulary. Raises `ValueError`, or so, where parts do not fit."""
        source, target = ([SPECIALS + len(side.vocabulary) - 1] if side.vocabulary else [] for side in self.sides)
        self._scores([source], [target], self._some_language())

    def _some_language(self) -> Any:
        """Languages of one pair, for a model that does not answer without."""
        return None

    @abstractmethod
    def lattices(
        self, sources: Strings, targets: Strings, languages: Any = None, tables: Any = None
    ) -> tuple[Lattice, np.ndarray]:
        """Lattices of encoded pairs, whose sources come longest first, and the scores of the pairs."""

    def score(self, pairs: Iterable[Pair], *, languages: Any = None) -> np.ndarray:
        """Score of each pair, as the same model in `nsed` has it: a log-probability, or log-odds.

        `languages` are those of the pairs, for a model that knows some: one per pair, or two for one that matches.
        """
        sources, targets, tables = self._encoded(_checked(pairs))
        return self._scores(sources, targets, languages, tables)

    def align_all(self, pairs: Iterable[Pair], *, languages: Any = None) -> list[EditScript]:
        """Edit script of each pair: the operations of its most probable derivation."""
        known = _checked(pairs)
        found: dict[int, EditScript] = {}
        sources, targets, tables = self._encoded(known)
        for rows, some in _batches(sources, targets, languages):
            lattice, _ = self.lattices(*some, tables)
            symbols = ([side.split(known[row][k]) for row in rows] for k, side in enumerate(self.sides))
            found.update(zip(rows, lattice.scripts(*symbols), strict=True))
        return [found[row] for row in range(len(known))]

    def align(self, source: str, target: str) -> EditScript:
        """Edit script of one pair."""
        return self.align_all([(source, target)])[0]

    def match(self, pairs: Iterable[Pair], *, languages: Any = None) -> np.ndarray:
        """Whether each pair matches: its score is at least the threshold."""
        return np.asarray(self.score(pairs, languages=languages) >= self._decides().threshold)

    def probability(self, pairs: Iterable[Pair], *, languages: Any = None) -> np.ndarray:
        """Calibrated probability that each pair matches."""
        return self._decides().probability(self.score(pairs, languages=languages))

    @property
    def sides(self) -> tuple[Tokenizer, Tokenizer]:
        """Tokenizers of sources and targets."""
        return self.source, self.target

    def _decides(self) -> Criterion:
        if self.criterion is None:
            advice = "load a matcher, or an edit distance that was trained on labelled pairs"
            raise ValueError(f"this {type(self).__name__} has scores, but no threshold to decide by: {advice}")
        return self.criterion

    def _encoded(self, pairs: Sequence[Pair]) -> tuple[Strings, Strings, Any]:
        """Pairs as numbers of symbols, and what else `lattices` should know of these pairs."""
        sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
        source = self.source.encode(sources, "source", kin=self.reads_kin)
        return source, self.target.encode(targets, "target"), None

    def _scores(self, sources: Strings, targets: Strings, languages: Any = None, tables: Any = None) -> np.ndarray:
        scores = np.empty(len(sources))
        for rows, some in _batches(sources, targets, languages):
            _, scores[rows] = self.lattices(*some, tables)
        if np.isnan(scores).any():
            reason = "its weights are damaged, or too large to compute with"
            raise ValueError(f"a score of the model is not a number (NaN): {reason}; train or copy it again")
        return scores


def _checked(pairs: Iterable[Pair]) -> list[Pair]:
    """Pairs as a list. Raises `TypeError` for what is none."""
    known = list(pairs)
    for pair in known:
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise TypeError(f"pairs: got {pair!r}, expected pairs of strings: [(source, target), ...]")
    return known


def _batches(sources: Strings, targets: Strings, languages: Any) -> Iterator[tuple[list[int], tuple[Any, Any, Any]]]:
    """Rows of pairs of similar length, the longest sources first, and what belongs to them.

    Raises `ValueError` for a pair whose lattice would have too many cells.
    """
    heights, widths = (np.array([len(string) + 1 for string in side]) for side in (sources, targets))
    if len(heights) and (heights * widths).max() > MOST_CELLS:
        row = int((heights * widths).argmax())
        got = f"{heights[row] - 1:,} and {widths[row] - 1:,} symbols in pair {row}"
        raise ValueError(
            f"pairs: got {got}, expected at most {MOST_CELLS:,} cells, (n + 1)(m + 1): shorten the strings"
        )
    order = np.lexsort((-widths, -heights)).tolist() if len(heights) else []
    while order:
        size, width = 0, 0
        while size < len(order) and heights[order[0]] * max(width, widths[order[size]]) * (size + 1) <= CELLS:
            width, size = max(width, widths[order[size]]), size + 1
        rows, order = order[: max(1, size)], order[max(1, size) :]
        own = None if languages is None else [languages[row] for row in rows]
        yield rows, ([sources[row] for row in rows], [targets[row] for row in rows], own)


def languages_of(known: Sequence[str], names: Iterable[str]) -> np.ndarray:
    """Numbers of languages, as those of symbols: unknown ones have that of `<unk>`."""
    numbers = {name: number for number, name in enumerate(known, SPECIALS)}
    return np.array([numbers.get(name, UNKNOWN) for name in names], dtype=np.int64)


class Transduction(NamedTuple):
    """Possible target of a source: its text, its symbols, and its log-probability."""

    text: str
    symbols: tuple[str, ...]
    log_prob: float


class SearchingModel(Model):
    """Model that writes targets, symbol by symbol. Abstract: a kind of model has its own decoder."""

    beam: int
    longest: int
    penalty: float
    reads_kin = True
    backward: bool = False
    """Whether strings are read and written from right to left."""

    def _set_search(self, config: Mapping[str, Any], longest: int | None = None) -> None:
        """Take over how targets are searched for, from settings. Raises `ValueError` for numbers out of bounds."""
        for name, most in (("beam", WIDEST_BEAM), ("longest_output", LONGEST_OUTPUT)):
            if type(config[name]) is not int or not 1 <= config[name] <= most:
                raise ValueError(f"{name}: got {config[name]!r}, expected a number from 1 to {most:,}")
        penalty = config["length_penalty"]
        if type(penalty) not in (int, float) or not 0 <= penalty <= MOST_PENALTY:
            raise ValueError(f"length_penalty: got {penalty!r}, expected a number from 0 to {MOST_PENALTY}")
        self.beam, self.penalty = config["beam"], float(penalty)
        self.longest = min(config["longest_output"], longest or config["longest_output"])

    def _some_language(self) -> Any:
        """See `Model._some_language`."""
        return [self.languages[-1]] if self.languages else None

    @property
    @abstractmethod
    def decoder(self) -> Decoder:
        """What a search needs."""

    @abstractmethod
    def encode(self, sources: Strings) -> Any:
        """Encoded sources, as the decoder begins with; the longest come first, in the model's direction."""

    def transduce(self, sources: Iterable[str], *, nbest: int = 1, beam: int | None = None) -> list[list[Transduction]]:
        """N-best targets of each source, best first; a beam of 1 is greedy and fastest."""
        if isinstance(sources, str):
            raise TypeError(f"sources: got {sources!r}, expected a list of strings")
        if nbest < 1 or (beam is not None and beam < 1):
            raise ValueError(f"nbest, beam: got {nbest}, {beam}, expected at least 1")
        strings = self.source.encode(list(sources), "source", kin=True)
        found = self.found(strings, nbest=nbest, beam=max(beam or self.beam, nbest))
        return [[self._read(numbers, log_prob) for numbers, log_prob in few] for few in found]

    def found(self, strings: Strings, *, nbest: int, beam: int) -> list[Targets]:
        """N-best targets of encoded sources."""
        found: dict[int, Targets] = {}
        size = max(1, min(WORDS, PREFIXES // beam))
        rows = sorted(range(len(strings)), key=strings.__getitem__)  # neighbours share beginnings, which are read once
        for start in range(0, len(rows), size):
            some = sorted(rows[start : start + size], key=lambda row: -len(strings[row]))
            lists = self._searched([self._turned(strings[row]) for row in some], nbest=nbest, beam=beam)
            found.update(zip(some, lists, strict=True))
        return [[(self._turned(target), log_prob) for target, log_prob in found[row]] for row in range(len(strings))]

    def _searched(self, strings: Strings, *, nbest: int, beam: int) -> list[Targets]:
        source, count = self.encode(strings), len(strings)
        if beam == 1:
            return greedy_search(self.decoder, source, count, longest=self.longest)
        widths = {"beam": beam, "nbest": nbest, "longest": self.longest}
        return beam_search(self.decoder, source, count, **widths, penalty=self.penalty)

    def _turned(self, numbers: list[int]) -> list[int]:
        return numbers[::-1] if self.backward else numbers

    def _read(self, numbers: list[int], log_prob: float) -> Transduction:
        symbols = tuple(map(self.target.vocabulary.__getitem__, [number - SPECIALS for number in numbers]))
        return Transduction(self.target.join(symbols), symbols, log_prob)
