"""What a model must be able to do for a report. Whatever answers these verbs can be evaluated, of ours or not."""

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from nsed.evaluate import Calibration
from nsed.progress import OnBatch, ignore
from nsed.text import Coders, EditScript, Links, Pairs


@runtime_checkable
class Scores(Protocol):
    """Gives each pair a number: the higher, the better the two strings belong together."""

    def score(self, pairs: Pairs, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """One number per pair, in the order given."""


@runtime_checkable
class Decides(Protocol):
    """Has a score from which on a pair matches, tuned on other pairs."""

    threshold: float


@runtime_checkable
class Calibrated(Protocol):
    """Makes probabilities out of its scores."""

    calibration: Calibration


@runtime_checkable
class Answer(Protocol):
    """One possible target."""

    @property
    def text(self) -> str:
        """As people read it."""

    @property
    def symbols(self) -> tuple[str, ...]:
        """What it is made of."""


@runtime_checkable
class Reads(Protocol):
    """Knows how it cuts strings into symbols."""

    coders: Coders


@runtime_checkable
class Transduces(Reads, Protocol):
    """Turns sources into targets."""

    def transduce(
        self, sources: Iterable[str], *, nbest: int = 1, beam: int | None = None, on_batch: OnBatch = ignore
    ) -> Sequence[Sequence[Answer]]:
        """Targets of each source, the best first; a source may have none."""


@runtime_checkable
class Searches(Protocol):
    """Follows several prefixes of an answer at once."""

    @property
    def beam(self) -> int:
        """How many, unless the user says otherwise."""


@runtime_checkable
class Aligns(Protocol):
    """Says which operations turn one string into another."""

    def align(self, source: str, target: str) -> EditScript:
        """The operations; raises `NotExplainableError` where there are none."""


@runtime_checkable
class Linked(Protocol):
    """Says which source symbol became which target symbol."""

    def links(self, pairs: Pairs, *, on_batch: OnBatch = ignore) -> list[Links]:
        """Their places, for each pair."""
