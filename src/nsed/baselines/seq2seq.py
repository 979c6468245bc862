"""Sequence to sequence: the black box to compare the Transducer with, behind the same verbs."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from nsed.baselines.seq2seq_config import Seq2SeqConfig
from nsed.baselines.seq2seq_network import AttendedSource, Seq2SeqNetwork, target_log_prob
from nsed.baselines.seq2seq_task import Seq2SeqTask
from nsed.config import from_mapping
from nsed.encoders.base import inside
from nsed.errors import NotExplainableError
from nsed.models.persistence import read_kind
from nsed.models.transduction import Answers, Transduction
from nsed.networks.weights import put_weights, weights_of
from nsed.progress import OnBatch, OnStep, OnValidation, ignore
from nsed.text import Coders, Links, PairBatch, PairBatches, Pairs
from nsed.text.pairs import PairsLike
from nsed.train.fitting import finished, trained
from nsed.train.saved_model import SavedModel, write_model
from nsed.train.split import transduction_data
from nsed.train.strategy import crew_of

KIND = "seq2seq"
BATCH_CELLS, MAX_CELLS = 2**17, 2**22


class Seq2Seq:
    """A trained network with its vocabularies. Scores are exact; there are no edit operations, only `links`."""

    def __init__(
        self,
        network: Seq2SeqNetwork,
        coders: Coders,
        config: Seq2SeqConfig,
        *,
        record: dict[str, object] | None = None,
    ) -> None:
        self.network = network.eval().requires_grad_(False)
        self.coders, self.config = coders, config
        self.record = record or {}
        """What training has to tell: steps, scores."""

    @classmethod
    def fit(
        cls,
        pairs: PairsLike,
        *,
        validation: Pairs | Iterable[Iterable[str]] | None = None,
        config: Seq2SeqConfig | None = None,
        folder: str | Path | None = None,
        on_step: OnStep = ignore,
        on_validation: OnValidation = ignore,
    ) -> "Seq2Seq":
        """Learn from pairs; validation, folder and resumption are those of `Transducer.fit`."""
        config = config or Seq2SeqConfig()
        data = transduction_data(pairs, validation, seed=config.train.seed)
        model, crew = cls._untrained(data[0], config), crew_of(config.train)
        network = model.network.to(crew.device).requires_grad_(True)
        sides = model.coders.encode(data[0]), model.coders.encode(data[1])
        task = Seq2SeqTask(network, config, *sides, crew.device)
        trainer = trained(task, config, data, crew, folder=folder, on_step=on_step, on_validation=on_validation)
        return finished(cls(network, model.coders, config, record=trainer.record), folder, crew)

    def transduce(
        self, sources: Iterable[str], *, nbest: int = 1, beam: int | None = None, on_batch: OnBatch = ignore
    ) -> list[list[Transduction]]:
        """The most probable targets of each source, best first; a wider beam finds better ones, slower; 1 is greedy."""
        return self._answers.transduce(sources, nbest=nbest, beam=beam, on_batch=on_batch)

    def sample(
        self, sources: Iterable[str], *, count: int = 1, seed: int = 0, on_batch: OnBatch = ignore
    ) -> list[list[Transduction]]:
        """Targets of each source, drawn with their probabilities; the same ones for the same sources and seed."""
        return self._answers.sample(sources, count=count, seed=seed, on_batch=on_batch)

    def score(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Log p(target | source) of each pair, in the order given."""
        pairs = Pairs.of(pairs)
        scores = np.empty(len(pairs))
        for batch, source in self._encoded(pairs):
            following = self.network(source, batch.target, batch.target_lengths)
            log_prob = target_log_prob(following, batch.target, batch.target_lengths)
            scores[batch.rows.cpu().numpy()] = log_prob.double().cpu().numpy()
            on_batch(len(batch.rows))
        return scores

    @property
    def beam(self) -> int:
        """Prefixes that `transduce` follows at once unless told otherwise."""
        return self.config.beam

    def links(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> list[Links]:
        """For each symbol of each target, the source symbol that was looked at most when it was written.

        Attention of the last layer, on average over its heads; its share of `</s>` does not count.
        """
        pairs = Pairs.of(pairs)
        found: dict[int, Links] = {}
        for batch, source in self._encoded(pairs):
            shares = self.network.attention(source, batch.target, batch.target_lengths)
            found.update(zip(batch.rows.tolist(), _most_attended(shares, batch), strict=True))
            on_batch(len(batch.rows))
        return [found[row] for row in range(len(pairs))]

    def align(self, source: str, target: str) -> NoReturn:
        """Raises `NotExplainableError`: there are no edit operations."""
        self.align_all([(source, target)])

    def align_all(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> NoReturn:
        """Raises `NotExplainableError`: there are no edit operations."""
        advice = "what its attention looked at is in `links` (nsed align --format pharaoh)"
        raise NotExplainableError(f"a sequence-to-sequence model has no edit operations; {advice}")

    def explain(self, source: str, target: str) -> NoReturn:
        """Raises `NotExplainableError`: there are no edit operations."""
        self.align_all([(source, target)])

    def save(self, path: str | Path, *, half: bool = False) -> None:
        """Write the model to a folder; `half` precision takes half the space and changes scores a little."""
        weights, vocabularies = weights_of(self.network, half=half), self.coders.vocabularies
        write_model(path, SavedModel(KIND, asdict(self.config), vocabularies, weights, self.record))

    @classmethod
    def load(cls, path: str | Path) -> "Seq2Seq":
        """Read a model from the folder that `save` wrote."""
        return cls.from_saved(read_kind(path, KIND))

    @classmethod
    def from_saved(cls, saved: SavedModel) -> "Seq2Seq":
        """The model again, from what is on disk; weights of any float type become float32."""
        config = from_mapping(Seq2SeqConfig, saved.config, where="saved config")
        coders = Coders.of(config, saved.vocabularies)
        network = _network(config, coders)
        put_weights(network, saved.tensors)
        return cls(network, coders, config, record=dict(saved.record))

    @property
    def device(self) -> torch.device:
        """Where the network lives."""
        return self.network.device

    def to(self, device: str | torch.device) -> "Seq2Seq":
        """The model itself, its network now on that device: cpu, cuda, cuda:1, ..."""
        self.network.to(device)
        return self

    @classmethod
    def _untrained(cls, pairs: Pairs, config: Seq2SeqConfig) -> "Seq2Seq":
        coders = Coders.learned(config, pairs, min_count=config.min_count)
        torch.manual_seed(config.train.seed)
        return cls(_network(config, coders), coders, config)

    @property
    def _answers(self) -> Answers:
        return Answers(self.network, self.coders, self.config)

    def _encoded(self, pairs: Pairs) -> Iterator[tuple[PairBatch, AttendedSource]]:
        """Pairs of similar lengths together, with their sources in context."""
        sides = self.coders.encode(pairs)
        for batch in PairBatches(*sides, batch_cells=BATCH_CELLS, max_cells=MAX_CELLS):
            here = batch.to(self.device)
            yield here, self.network.encode(here.source, here.source_lengths)


def _most_attended(shares: Float[Tensor, "batch tgt src"], batch: PairBatch) -> Iterator[Links]:
    """The source symbol with the largest share of each target symbol; an empty source has none."""
    own = inside(batch.source_lengths, shares.shape[2])
    places = shares.masked_fill(~own[:, None], -1.0).argmax(2).tolist()
    lengths = zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)
    for looked_at, (n, m) in zip(places, lengths, strict=True):
        yield frozenset((i, j) for j, i in enumerate(looked_at[:m])) if n else frozenset()


def _network(config: Seq2SeqConfig, coders: Coders) -> Seq2SeqNetwork:
    sizes = len(coders.source.vocabulary), len(coders.target.vocabulary)
    return Seq2SeqNetwork(config.encoder, source_symbols=sizes[0], target_symbols=sizes[1])
