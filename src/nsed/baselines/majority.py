"""Majority-class baseline: the same answer for everything, the one that was right most often in training."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from nsed.capabilities import Capability
from nsed.errors import ArgumentError
from nsed.evaluate.calibration import Calibration
from nsed.models.base import Contents
from nsed.models.pair_model import Criterion, PairScorer
from nsed.models.settings import ConfigLike, resolve_settings
from nsed.models.transduction import TransducingModel, Transduction, ranked
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs, StringConfig, Tokenizers
from nsed.text.columns import AnswerColumn, Column, column_like
from nsed.text.pairs import PairsLike
from nsed.train.saved_model import SavedModel

KEPT = 1000
"""Most targets that are saved; more are hardly asked for."""


@dataclass(frozen=True)
class MajorityConfig(StringConfig):
    """Majority settings: what there is to say of a constant.

    >>> model = Majority.fit([("a", "x"), ("b", "y"), ("c", "z")], [1, 0, 0], config=MajorityConfig(always_match=True))
    >>> model.match([("d", "w")])
    array([ True])
    """

    model: Literal["majority"] = "majority"
    """The kind of model that these settings are for."""
    always_match: bool = False
    """Constant match, the floor of F1: call every pair a match, even where most pairs are none."""


class Majority(PairScorer, TransducingModel):
    """Majority baseline: the share of positives among the training pairs, and their most frequent targets.

    The score of every pair is that share, which is its probability too; it matches if most training pairs did.

    >>> model = Majority.fit([("a", "x"), ("b", "x"), ("c", "y")], [1, 1, 0])
    >>> model.match([("new", "pair")]), model.transduce(["d"])[0][0].text
    (array([ True]), 'x')
    """

    configs: ClassVar[Mapping[str, type[MajorityConfig]]] = {"majority": MajorityConfig}
    config: MajorityConfig
    capabilities = PairScorer.capabilities | {Capability.TRANSDUCE}

    def __init__(self, share: float, targets: dict[str, int], config: MajorityConfig, *, total: int) -> None:
        self.share, self.targets, self.config, self.total = share, targets, config, total
        self.tokenizers = Tokenizers.plain(config)
        self.criterion = Criterion(0.0 if config.always_match else 0.5, Calibration(0.0, _logit(share)))

    @classmethod
    def fit(
        cls,
        pairs: PairsLike,
        labels: Iterable[object] | None = None,
        *,
        validation: PairsLike | None = None,
        config: ConfigLike | None = None,
        **settings: Any,
    ) -> "Majority":
        """Count labels and targets; there is nothing to validate."""
        given = Pairs.of(pairs, labels)
        resolved = resolve_settings(cls.configs, config, settings, pairs=given)
        assert isinstance(resolved, MajorityConfig)
        if not len(given):
            raise ArgumentError("pairs", got="none", expected="at least one to count")
        positives = given.positives()
        normal = Tokenizers.plain(resolved).target.splitter.normal
        targets = Counter(map(normal, positives.targets))
        share = len(positives) / len(given)
        return cls(share, dict(targets.most_common(KEPT)), resolved, total=len(positives))

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Class prior: the share of positives in training, for each pair."""
        count = len(Pairs.given(pairs, targets))
        on_batch(count)
        return column_like(pairs, np.full(count, self.share), "score")

    def _transduce(
        self, sources: list[str], *, nbest: int, beam: int | None, on_batch: OnBatch
    ) -> list[list[Transduction]]:
        """Constant outputs: the most frequent targets of training, for each source; `beam` changes nothing."""
        count = len(sources)
        rest = math.log(sum(self.targets.values()) / max(self.total, 1)) if self.targets else 0.0
        best = [
            one._replace(log_prob=one.log_prob + rest) for one in ranked(self.targets, self.tokenizers.target, nbest)
        ]
        on_batch(count)
        return [list(best) for _ in range(count)]

    def contents(self, *, half: bool = False) -> Contents:
        """See `Model.contents`: the counts."""
        return Contents(record={"share": self.share, "targets": self.targets, "total": self.total})

    @classmethod
    def from_saved(cls, saved: SavedModel) -> "Majority":
        """See `Model.from_saved`."""
        config = cls.saved_config(saved)
        assert isinstance(config, MajorityConfig)
        share, targets, total = (saved.record[name] for name in ("share", "targets", "total"))
        counted = isinstance(total, int) and all(isinstance(n, int) and 0 < n <= total for n in targets.values())
        if not 0 <= share <= 1 or not counted:
            raise ArgumentError("record", got="other numbers", expected="a share from 0 to 1, and counts of targets")
        return cls(float(share), dict(targets), config, total=total)


def _logit(share: float) -> float:
    share = min(max(share, 1e-9), 1 - 1e-9)
    return math.log(share / (1 - share))
