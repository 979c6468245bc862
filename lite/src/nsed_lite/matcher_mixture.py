"""The MatcherMixture: several Matchers that decide as one, whose log-odds are a weighted sum of theirs."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from nsed_lite.folder import Folder, OtherKindError
from nsed_lite.lattice import EditScript, Lattice
from nsed_lite.matcher import Matcher
from nsed_lite.model import Criterion, Model, Pair, Strings
from nsed_lite.tables import EditDistance, OddsMatcher

CERTAIN = 30.0
"""Log-odds above which a member is as sure as it can be."""
KINDS: dict[str, type[Model]] = {"edit-distance": EditDistance, "matcher": Matcher, "odds": OddsMatcher}


class MatcherMixture(Model):
    """Mixture of Matchers; alignments are those of the first member."""

    def __init__(self, folder: Folder) -> None:
        told = folder.record["members"]
        if other := sorted({one["kind"] for one in told} - KINDS.keys()):
            raise OtherKindError(f"a mixture with a member of kind {other[0]!r}", KINDS)
        self.members = [KINDS[one["kind"]](folder.member(number)) for number, one in enumerate(told)]  # type: ignore[call-arg]  # each takes a folder
        folder.weights.left.clear()  # those of the members have been checked by each
        self.weights = np.array(folder.record["weights"], dtype=float)
        self.criterion = Criterion.of(folder.record["threshold"], *folder.record["calibration"])
        if self.weights.shape != (len(self.members),) or not np.isfinite(self.weights).all():
            raise ValueError(f"weights: got {folder.record['weights']!r}, expected a number for each member")
        self.source, self.target = self.members[0].sides

    def check(self) -> None:
        """See `Model.check`: each member for itself."""
        for one in self.members:
            one.check()

    def score(self, pairs: Iterable[Pair], *, languages: Any = None) -> np.ndarray:
        """See `Model.score`."""
        known = list(pairs)
        odds = []
        for one in self.members:
            found = one._decides().log_odds(one.score(known, languages=languages if one.languages else None))
            odds.append(np.clip(found, -CERTAIN, CERTAIN))
        return np.asarray(self.weights @ np.stack(odds))

    def align_all(self, pairs: Iterable[Pair], *, languages: Any = None) -> list[EditScript]:
        """See `Model.align_all`."""
        lead = self.members[0]
        return lead.align_all(pairs, languages=languages if lead.languages else None)

    def lattices(
        self, sources: Strings, targets: Strings, languages: Any = None, tables: Any = None
    ) -> tuple[Lattice, np.ndarray]:
        """See `Model.lattices`: those of the first member."""
        return self.members[0].lattices(sources, targets, languages, tables)
