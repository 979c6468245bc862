"""Models whose answers come from lattices: `align`, `links` and `explain`, for one pair and for all."""

import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
import torch

from nsed.capabilities import Capability
from nsed.errors import ArgumentError, NotExplainableError
from nsed.explain.decision import Decision, Output
from nsed.explain.explanation import Explanation, ExplanationSummary, read_explanation, read_scripts
from nsed.explain.rule_table import RuleTable
from nsed.kernels.dispatch import LATTICE, Choice
from nsed.lattice import EditLattice
from nsed.models.base import Model, checked_scores
from nsed.models.transduction import TransducingModel
from nsed.progress import OnBatch, ignore
from nsed.text import EditScript, Links, PairBatch, Pairs
from nsed.text.columns import AnswerColumn, Column, column_like
from nsed.text.pairs import PairsLike

LATTICE_VERBS = frozenset({Capability.SCORE, Capability.ALIGN, Capability.LINKS, Capability.EXPLAIN, Capability.RULES})
"""Capabilities: what every such model answers."""
ScoredLattices: TypeAlias = tuple[PairBatch, EditLattice, np.ndarray]
"""Scored lattices: a batch of pairs, their lattices, and their log-probabilities."""
EXPLAINED_OUTPUTS = 5
"""N-best size of an explanation: how many of its most probable targets it names."""


class LatticeModel(Model):
    """Lattice model: its scores, alignments and explanations come from lattices."""

    @abstractmethod
    def lattices(self, pairs: Pairs) -> Iterator[tuple[PairBatch, EditLattice]]:
        """Lattices of pairs, in batches of similar lengths."""

    @abstractmethod
    def own_rules(self) -> RuleTable:
        """Learned rules that need no data. Raises `NotExplainableError` where the model sees context."""

    @abstractmethod
    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Log-probability of each pair, in the order given."""

    def scoring_kernel(self) -> Choice:
        """Which kernel scores many pairs, by which backend, and why: `nsed doctor MODEL` says it."""
        return LATTICE.explain(torch.device("cpu"))

    def align_all(
        self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore
    ) -> list[EditScript]:
        """See `Model.align_all`."""
        pairs = Pairs.given(pairs, targets)
        scripts: dict[int, EditScript] = {}
        for batch, lattice in self.lattices(pairs):
            scripts.update(self._scripts(pairs, batch, lattice))
            on_batch(len(batch.rows))
        return [scripts[row] for row in range(len(pairs))]

    def summarize_all(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> list[ExplanationSummary]:
        """Explanation summaries of each pair, in the order given; in batches, for thousands of pairs."""
        pairs = Pairs.of(pairs)
        made: dict[int, ExplanationSummary] = {}
        for batch, lattice, scores in self._scored(pairs):
            facts = zip(scores.tolist(), lattice.entropy.clamp(min=0).tolist(), strict=True)
            for (row, script), (score, entropy) in zip(self._scripts(pairs, batch, lattice), facts, strict=True):
                said = script, score, entropy, self._decision(score)
                made[row] = ExplanationSummary(pairs.sources[row], pairs.targets[row], *said)
            on_batch(len(batch.rows))
        return [made[row] for row in range(len(pairs))]

    def outline_all(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> list[ExplanationSummary]:
        """The old name of `summarize_all`."""
        message = "outline_all is now summarize_all; the old name goes with 2.0"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.summarize_all(pairs, on_batch=on_batch)

    def _scripts(self, pairs: Pairs, batch: PairBatch, lattice: EditLattice) -> Iterator[tuple[int, EditScript]]:
        """Viterbi scripts: the places of a batch's pairs, each with its best script."""
        rows = batch.rows.tolist()
        sources = [self.tokenizers.source.split(pairs.sources[row]) for row in rows]
        targets = [self.tokenizers.target.split(pairs.targets[row]) for row in rows]
        return zip(rows, read_scripts(lattice, sources, targets), strict=True)

    def _scored(self, pairs: Pairs) -> Iterator[ScoredLattices]:
        """Lattices of pairs with their log-probabilities; models that make both at once say so here."""
        scores = self._log_probs(pairs)
        return ((batch, lattice, scores[batch.rows.cpu().numpy()]) for batch, lattice in self.lattices(pairs))

    def _log_probs(self, pairs: Pairs) -> np.ndarray:
        """Log-probabilities that explanations explain: the scores, unless a model's say something else."""
        return np.asarray(self.score(pairs))

    def links(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> list[Links]:
        """See `Model.links`: the substitutions of each pair's edit script."""
        return [script.links for script in self.align_all(pairs, targets, on_batch=on_batch)]

    def explain_all(self, pairs: PairsLike, *, scripts: int = 3) -> Iterator[Explanation]:
        """Explanations of each pair, with up to so many scripts, one after the other."""
        if scripts < 1:
            raise ArgumentError("scripts", got=scripts, expected="at least 1")
        pairs = Pairs.of(pairs)
        return (self._explained(pairs.chosen([row]), scripts) for row in range(len(pairs)))

    def _explained(self, pair: Pairs, scripts: int) -> Explanation:
        ((_, lattice),) = self.lattices(pair)
        ((source, target),), score = pair, float(self._log_probs(pair)[0])
        return read_explanation(
            lattice,
            self.tokenizers.source.split(source),
            self.tokenizers.target.split(target),
            log_prob=score,
            scripts=scripts,
            decision=self._decision(score),
            outputs=self._outputs(source),
        )

    def _decision(self, score: float) -> Decision | None:
        """Decision of the model about a pair with this score, if it decides."""
        return None

    def _outputs(self, source: str) -> Iterable[Output]:
        """N-best outputs that the model would write for a source, best first, if it writes."""
        return ()


class LatticeTransducer(TransducingModel, LatticeModel):
    """A model that writes targets and has lattices of them. Abstract: it has its own scored lattices and its search."""

    @abstractmethod
    def _scored(self, pairs: Pairs) -> Iterator[ScoredLattices]:
        """Scored lattices of pairs, in batches of similar lengths."""

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Log p(target | source) of each pair, in the order given; in paper mode log alpha."""
        known = Pairs.given(pairs, targets)
        scores = np.empty(len(known))
        for batch, _, found in self._scored(known):
            scores[batch.rows.cpu().numpy()] = found
            on_batch(len(batch.rows))
        return column_like(pairs, checked_scores(scores), "score")

    def explain(self, source: str, target: str | None = None, *, scripts: int = 3) -> Explanation:
        """See `Model.explain`; without a target, why the model writes what it writes."""
        return super().explain(source, self.best_target(source) if target is None else target, scripts=scripts)

    def best_target(self, source: str) -> str:
        """Best target: what the model writes for one source.

        Raises `NotExplainableError` where nothing has a probability above zero.
        """
        (found,) = self.transduce([source])
        if not found:
            raise NotExplainableError(f"no target has a probability above zero for {source!r}")
        return found[0].text

    def lattices(self, pairs: Pairs) -> Iterator[tuple[PairBatch, EditLattice]]:
        """See `LatticeModel.lattices`."""
        return ((batch, lattice) for batch, lattice, _ in self._scored(pairs))

    def _outputs(self, source: str) -> list[Output]:
        (found,) = self.transduce([source], nbest=EXPLAINED_OUTPUTS)
        return [Output(one.symbols, one.log_prob) for one in found]
