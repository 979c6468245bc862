"""Transduction: targets of sources, from any model that writes them, and targets that a person has settled."""

import heapq
import math
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nsed.capabilities import by_language
from nsed.errors import ArgumentError, DataError, abbreviate
from nsed.models.base import Model
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs, Tokenizer, Tokenizers, read_pairs
from nsed.text.columns import AnswerColumn, Column, column_like
from nsed.text.pairs import COLUMNS, PairsLike
from nsed.text.readers.lines import STDIN, open_text
from nsed.text.texts import Texts


class Transduction(NamedTuple):
    """Transduction hypothesis: one possible target, its symbols, and its log-probability given the source."""

    text: str
    symbols: tuple[str, ...]
    log_prob: float
    override: bool = False
    """Override mark: whether overrides gave it, see `nsed.Overrides`; its log-probability is still the model's own."""

    @property
    def exception(self) -> bool:
        """The old name of `override`."""
        message = "Transduction.exception is now Transduction.override; the old name goes with 2.0"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.override


WIDEST_BEAM = 1000
"""Maximum beam width and n-best size of a search: all prefixes of a beam are in memory at once."""
REVIEWED = "reviewed_target"
"""Column of a review that nobody edits: the target as it was before."""
_BINARY = (".parquet", ".arrow", ".feather")


@dataclass(frozen=True)
class Overrides:
    """Overrides: pairs that a person vouches for. A source may have several targets, given in the order of the file.

    >>> overrides = Overrides(Pairs.of([("Leigh", "L IY"), ("read", "R IY D"), ("read", "R EH D")]))
    >>> len(overrides)
    3
    """

    pairs: Pairs
    path: Path | None = None
    """Path of the file they are from, if they are from one."""

    def __post_init__(self) -> None:
        given: object = self.pairs  # whatever the caller has
        if not isinstance(given, Pairs):
            advice = "nsed.Overrides.of takes other pairs, a dict of targets, or the path of a file."
            raise ArgumentError("pairs", got=abbreviate(repr(given)), expected="nsed.Pairs", advice=advice)

    @classmethod
    def read(cls, path: str | Path, *, columns: Sequence[str] | None = None) -> "Overrides":
        """Read overrides from any file of pairs, see `read_pairs`; of labelled pairs, those that match.

        Of a file of `nsed review`, those whose target was edited: others are the model's own answers, or the data's.
        """
        return cls(_edited(read_pairs(path, columns=columns, keep_others=True)), Path(path))

    @classmethod
    def of(cls, given: "OverridesLike") -> "Overrides":
        """Convert to overrides whatever a caller has: the path of a file, pairs as `Pairs.of` takes them, or a dict.

        A dict has a target, or a list of them, for each source. Raises `ArgumentError` for anything else.

        >>> list(Overrides.of({"read": ["R IY D", "R EH D"], "Leigh": "L IY"}).pairs)
        [('read', 'R IY D'), ('read', 'R EH D'), ('Leigh', 'L IY')]
        """
        if isinstance(given, Overrides):
            return given
        if isinstance(given, str | Path):
            return cls.read(given)
        by_source = isinstance(given, Mapping) and not set(COLUMNS[:2]) <= given.keys()
        try:
            return cls(Pairs.of(_rows_of(given) if by_source else given))
        except TypeError:
            expected = "nsed.Overrides, pairs, a dict of targets, or the path of a file"
            raise ArgumentError("overrides", got=abbreviate(repr(given)), expected=expected) from None

    def __len__(self) -> int:
        return len(self.pairs if self.pairs.labels is None else self.pairs.positives())

    def by_source(self, tokenizers: Tokenizers) -> dict[tuple[str, ...], list[str]]:
        """Override targets of each source, whose symbols are as a model reads them: its Unicode form, its case.

        Sources that are one to the model, read and READ, may have the same target. Raises `DataError`, with file and
        line, for a target that a source has twice.
        """
        targets: dict[tuple[str, ...], dict[tuple[str, ...], str]] = {}
        seen: dict[tuple[str, tuple[str, ...]], int] = {}
        for row, (source, target) in enumerate(self.pairs):
            if self.pairs.labels is not None and not self.pairs.labels[row]:
                continue
            written = tokenizers.target.split(target)
            if (source, written) in seen:
                raise self._twice(seen[source, written], row)
            seen[source, written] = row
            targets.setdefault(tokenizers.source.split(source), {}).setdefault(written, target)
        return {source: [*own.values()] for source, own in targets.items()}

    def _twice(self, first: int, again: int) -> DataError:
        line, target = _lines(self.path, len(self.pairs))[first], self.pairs.targets[again]
        return self.fault(again, f"the target {target!r} already, in line {line}: delete one of them")

    def fault(self, row: int, has: str) -> DataError:
        """Error for a row: what its source has, in words."""
        message = f"{self.pairs.sources[row]!r} has {has}"
        return DataError(self.path or "overrides", message, line=_lines(self.path, len(self.pairs))[row])


OverridesLike = Overrides | str | Path | Mapping[str, str | Sequence[str]] | PairsLike
"""Whatever `Overrides.of` takes."""


def _rows_of(given: Any) -> list[tuple[str, str]]:
    """Pairs of a dict that has a target, or a list of them, for each source."""
    return [(source, target) for source, own in given.items() for target in ([own] if isinstance(own, str) else own)]


def _edited(pairs: Pairs) -> Pairs:
    """Pairs labelled by whether somebody edited their target, where they are from a review; others as they are."""
    if pairs.others is None or REVIEWED not in pairs.others.column_names:
        return replace(pairs, others=None)
    before, labels = pairs.others.column(REVIEWED).to_pylist(), pairs.labels or repeat(True)
    rows = zip(labels, pairs.targets, before, strict=False)
    return replace(pairs, others=None, labels=[label and target != one for label, target, one in rows])


def _lines(path: Path | None, count: int) -> Sequence[int]:
    """Line numbers of pairs in a text file; elsewhere, or where pairs are no lines, their numbers."""
    if path is None or path == STDIN or path.suffix.lower() in _BINARY:
        return range(1, count + 1)
    with open_text(path) as stream:
        lines = [number for number, line in enumerate(stream, 1) if line.strip() and not line.startswith(";;;")]
    return lines[-count:] if len(lines) - count in (0, 1) else range(1, count + 1)  # with or without a header


class TransducingModel(Model):
    """Transduction model, sources to targets. Abstract: a model has its own way to find them."""

    widest_beam: ClassVar[int] = WIDEST_BEAM

    @abstractmethod
    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Log-probability of each pair, in the order given."""

    @abstractmethod
    def _transduce(
        self, sources: list[str], *, nbest: int, beam: int | None, on_batch: OnBatch
    ) -> list[list[Transduction]]:
        """N-best targets of each source, the model's own, best first."""

    def transduce(
        self,
        sources: Column,
        *,
        nbest: int = 1,
        beam: int | None = None,
        overrides: OverridesLike | None = None,
        languages: Sequence[str] | None = None,
        on_batch: OnBatch = ignore,
    ) -> list[list[Transduction]]:
        """N-best targets of each source, best first; a wider beam, up to 1,000, finds better ones, slower; 1 is greedy.

        A Transducer of several languages answers each source in its own of the `languages`, named as in
        `Pairs.languages`; other models do without them.

        With overrides (or what `Overrides.of` takes: a file, pairs, a dict), their targets come first for the sources
        that they settle, marked as such, then the model's own. They have the text of the file and the log-probability
        that the model itself gives to them: often a low one, which is why they are there; minus infinity where it
        cannot write their symbols.
        """
        texts = checked_sources(sources, nbest=nbest, beam=beam, widest=self.widest_beam)
        given, found = None if overrides is None else Overrides.of(overrides), dict[int, list[Transduction]]()
        for speaker, rows in by_language(self, _checked_languages(languages, len(texts)), len(texts)):
            some = [texts[row] for row in rows]
            own = speaker._transduce(some, nbest=nbest, beam=beam, on_batch=on_batch)
            if given is not None:
                settled = _settled(speaker, some, given)
                own = [_joined(first, answers)[:nbest] for first, answers in zip(settled, own, strict=True)]
            found.update(zip(rows, own, strict=True))
        return [found[row] for row in range(len(texts))]

    def transduce_best(
        self,
        sources: Column,
        *,
        beam: int | None = None,
        overrides: OverridesLike | None = None,
        languages: Sequence[str] | None = None,
        on_batch: OnBatch = ignore,
    ) -> Any:
        """Most probable target of each source: a column of the kind of the sources, null where there is no target.

        That is a pandas or polars Series or an Arrow array of strings, and of all else a list: see `column_like`. The
        other arguments are those of `transduce`.
        """
        found = self.transduce(sources, beam=beam, overrides=overrides, languages=languages, on_batch=on_batch)
        return column_like(sources, [best[0].text if best else None for best in found], "target")


def _checked_languages(languages: Sequence[str] | None, count: int) -> list[str] | None:
    """Languages of so many sources. Raises `ArgumentError` where they are not as many."""
    if languages is None:
        return None
    if isinstance(languages, str) or len(languages) != count:
        got = repr(languages) if isinstance(languages, str) else f"{len(languages)} languages"
        raise ArgumentError("languages", got=got, expected=f"a list of {count}, one for each source")
    return list(languages)


def _settled(model: TransducingModel, sources: list[str], overrides: Overrides) -> list[list[Transduction]]:
    """Override targets of each source, marked, with the model's own scores."""
    by_source = overrides.by_source(model.tokenizers)
    listed = [by_source.get(model.tokenizers.source.split(source), []) for source in sources]
    pairs = [(source, target) for source, targets in zip(sources, listed, strict=True) for target in targets]
    marked = iter(_marked(model, pairs))
    return [list(islice(marked, len(targets))) for targets in listed]


def _joined(given: list[Transduction], own: Sequence[Transduction]) -> list[Transduction]:
    known = {one.symbols for one in given}
    return given + [one for one in own if one.symbols not in known]


def _marked(model: TransducingModel, pairs: Sequence[tuple[str, str]]) -> list[Transduction]:
    symbols = [model.tokenizers.target.split(target) for _, target in pairs]
    known = model.tokenizers.target.vocabulary
    writable = [row for row, one in enumerate(symbols) if all(symbol in known for symbol in one)]
    log_probs: Mapping[int, float] = {}
    if writable:
        scores = model.score(Pairs.of([pairs[row] for row in writable])).tolist()
        log_probs = dict(zip(writable, scores, strict=True))
    return [
        Transduction(target, symbols[row], log_probs.get(row, -np.inf), override=True)
        for row, (_, target) in enumerate(pairs)
    ]


def transduce_with_exceptions(
    model: TransducingModel,
    sources: Iterable[str],
    exceptions: Overrides,
    *,
    nbest: int = 1,
    beam: int | None = None,
    on_batch: OnBatch = ignore,
) -> list[list[Transduction]]:
    """The old name of `model.transduce(sources, overrides=...)`; it goes with 2.0."""
    message = "transduce_with_exceptions is now model.transduce(sources, overrides=...); the old name goes with 2.0"
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return model.transduce(sources, nbest=nbest, beam=beam, overrides=exceptions, on_batch=on_batch)


def checked_sources(
    sources: Column, *, nbest: int = 1, beam: int | None = None, count: int = 1, widest: int = WIDEST_BEAM
) -> list[str]:
    """Sources as a list. Raises `ArgumentError` where something is no string, or where nothing or too much is asked."""
    if isinstance(sources, str):
        raise ArgumentError("sources", got=repr(sources), expected="a list of strings")
    numbers: dict[str, Any] = {"nbest": nbest, "beam": beam, "count": count}
    for name, value in numbers.items():
        if value is not None and not isinstance(value, Integral):
            raise ArgumentError(name, got=repr(value), expected="a whole number")
        if value is not None and value < 1:
            raise ArgumentError(name, got=value, expected="at least 1")
    for name, value in (("nbest", nbest), ("beam", beam)):
        if value is not None and value > widest:
            raise ArgumentError(name, got=value, expected=f"at most {widest:,}: all prefixes of a beam are in memory")
    return list(Texts.of_column(sources, name="sources"))


def ranked(counts: Mapping[str, int], tokenizer: Tokenizer, nbest: int) -> list[Transduction]:
    """Frequency ranking: the most frequent targets, best first, each with its log share; of equal ones the first seen.

    >>> from nsed.text import SymbolSplitter, Vocabulary
    >>> ranked({"a": 1, "b": 3}, Tokenizer("target", SymbolSplitter(), Vocabulary(())), 1)
    [Transduction(text='b', symbols=('b',), log_prob=-0.28...)]
    """
    total = sum(counts.values())
    best = heapq.nsmallest(nbest, counts.items(), key=lambda item: -item[1])
    return [Transduction(text, tokenizer.split(text), math.log(count / total)) for text, count in best]
