"""A transducer with exceptions: for the sources that a person has settled, the person's targets come first."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np

from nsed.models.transduction import Transduction
from nsed.progress import OnBatch, ignore
from nsed.text import Coders, Pairs
from nsed.text.exceptions import Exceptions
from nsed.text.pairs import PairsLike


@runtime_checkable
class CanTransduce(Protocol):
    """A model that writes targets and can score them."""

    @property
    def coders(self) -> Coders:
        """How sources and targets become symbols."""

    def transduce(
        self, sources: Iterable[str], *, nbest: int = 1, beam: int | None = None, on_batch: OnBatch = ignore
    ) -> list[list[Transduction]]:
        """The most probable targets of each source."""

    def score(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Log p(target | source) of each pair."""


def transduce_with_exceptions(
    model: CanTransduce,
    sources: Iterable[str],
    exceptions: Exceptions,
    *,
    nbest: int = 1,
    beam: int | None = None,
    on_batch: OnBatch = ignore,
) -> list[list[Transduction]]:
    """The `nbest` targets of each source: first those of the exceptions, marked as such, then the model's own.

    An exception has the text of the file and the log-probability that the model itself gives to it: often a low one,
    which is why it is an exception; minus infinity where it has symbols that the model cannot write.
    """
    sources = sources if isinstance(sources, str) else list(sources)  # the model complains of a string
    own = model.transduce(sources, nbest=nbest, beam=beam, on_batch=on_batch)
    settled = exceptions.by_source(model.coders)
    listed = [settled.get(model.coders.source.split(source), []) for source in sources]
    pairs = [(source, target) for source, targets in zip(sources, listed, strict=True) for target in targets]
    marked = iter(_marked(model, pairs))
    first = [list(islice(marked, len(targets))) for targets in listed]
    return [_joined(given, answers)[:nbest] for given, answers in zip(first, own, strict=True)]


def _joined(given: list[Transduction], own: Sequence[Transduction]) -> list[Transduction]:
    known = {one.symbols for one in given}
    return given + [one for one in own if one.symbols not in known]


def _marked(model: CanTransduce, pairs: Sequence[tuple[str, str]]) -> list[Transduction]:
    """The targets of settled pairs, with the model's own scores."""
    symbols = [model.coders.target.split(target) for _, target in pairs]
    known = model.coders.target.vocabulary
    writable = [row for row, one in enumerate(symbols) if all(symbol in known for symbol in one)]
    log_probs: Mapping[int, float] = {}
    if writable:
        scores = model.score(Pairs.of([pairs[row] for row in writable])).tolist()
        log_probs = dict(zip(writable, scores, strict=True))
    return [
        Transduction(target, symbols[row], log_probs.get(row, -np.inf), exception=True)
        for row, (_, target) in enumerate(pairs)
    ]
