"""The Transducer: learns to turn strings into other strings, and says how."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from nsed.config import from_mapping
from nsed.errors import NotExplainableError
from nsed.explain.decision import Output
from nsed.explain.explanation import Explanation
from nsed.lattice import EditLattice
from nsed.models.aligner import Aligner
from nsed.models.persistence import read_kind
from nsed.models.transducer_config import TransducerConfig
from nsed.models.transducer_task import NORMALISATIONS, TransducerTask
from nsed.models.transduction import Answers, Transduction
from nsed.networks.transducer import Decoder, TransducerNetwork
from nsed.networks.weights import grow_into, put_weights, weights_of
from nsed.progress import OnBatch, OnStep, OnValidation, ignore
from nsed.text import Coders, PairBatch, PairBatches, Pairs
from nsed.text.pairs import PairsLike
from nsed.train.fine_tuning import check_unchanged, fine_tuning_config, hash_of_model
from nsed.train.fitting import finished, trained
from nsed.train.saved_model import SavedModel, write_model
from nsed.train.split import transduction_data
from nsed.train.strategy import crew_of
from nsed.types import REACHABLE, PerPair

KIND = "transducer"
EXPLAINED_OUTPUTS = 5
"""How many of its most probable targets an explanation names."""
BATCH_CELLS, MAX_CELLS = 2**17, 2**22


class Transducer(Aligner):
    """A trained network with its vocabularies.

    In exact mode scores are exact: over all targets of a source, their probabilities sum to one.
    """

    def __init__(
        self,
        network: TransducerNetwork,
        coders: Coders,
        config: TransducerConfig,
        *,
        record: dict[str, object] | None = None,
    ) -> None:
        self.network = network.eval().requires_grad_(False)
        self.coders, self.config = coders, config
        self.record = record or {}
        """What training has to tell: steps, scores, sizes."""

    @classmethod
    def fit(
        cls,
        pairs: PairsLike,
        *,
        validation: Pairs | Iterable[Iterable[str]] | None = None,
        config: TransducerConfig | None = None,
        start: "Transducer | None" = None,
        folder: str | Path | None = None,
        on_step: OnStep = lambda _: None,
        on_validation: OnValidation = lambda _: None,
    ) -> "Transducer":
        """Learn from pairs; without validation pairs, a twentieth of them (at most 2,000) is held out for it.

        Validation sources that are also learned from do not count.

        With a folder, the training saves itself there at every validation, goes on from there if interrupted, and
        leaves settings, curves and the model there in the end.

        With `start`, a trained model learns more: it gains the symbols that are new to it, and by default (see
        `fine_tuning_config`) learns slowly and until all is right. Without validation pairs, nothing is held out then.
        """
        config = config or (fine_tuning_config(start.config) if start else TransducerConfig())
        held_out = pairs if start and validation is None else validation
        data = transduction_data(pairs, held_out, seed=config.train.seed)
        model, crew = (
            start._extended(data[0], config) if start else cls._untrained(data[0], config),
            crew_of(config.train),
        )
        network = model.network.to(crew.device).requires_grad_(True)
        sides = model.coders.encode(data[0]), model.coders.encode(data[1])
        task = TransducerTask(network, config, *sides, crew.device)
        trainer = trained(
            task,
            config,
            data,
            crew,
            folder=folder,
            on_step=on_step,
            on_validation=on_validation,
            start=hash_of_model(start) if start else "",
        )
        return finished(cls(network, model.coders, config, record=trainer.record), folder, crew)

    @property
    def beam(self) -> int:
        """Prefixes that `transduce` follows at once unless told otherwise."""
        return self.config.beam

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
        """Log p(target | source) of each pair, in the order given; in paper mode log alpha."""
        pairs = Pairs.of(pairs)
        scores = np.empty(len(pairs))
        for batch, _, found in self._scored(pairs):
            scores[batch.rows.cpu().numpy()] = found
            on_batch(len(batch.rows))
        return scores

    def explain(self, source: str, target: str | None = None, *, scripts: int = 3) -> Explanation:
        """See `Aligner.explain`; without a target, why the model writes what it writes."""
        return super().explain(source, self.best_target(source) if target is None else target, scripts=scripts)

    def best_target(self, source: str) -> str:
        """What the model writes for one source.

        Raises `NotExplainableError` where nothing has a probability above zero.
        """
        (found,) = self.transduce([source])
        if not found:
            raise NotExplainableError(f"no target has a probability above zero for {source!r}")
        return found[0].text

    def save(self, path: str | Path, *, half: bool = False) -> None:
        """Write the model to a folder; `half` precision takes half the space and changes scores a little."""
        weights, vocabularies = weights_of(self.network, half=half), self.coders.vocabularies
        write_model(path, SavedModel(KIND, asdict(self.config), vocabularies, weights, self.record))

    @classmethod
    def load(cls, path: str | Path) -> "Transducer":
        """Read a model from the folder that `save` wrote."""
        return cls.from_saved(read_kind(path, KIND))

    @classmethod
    def from_saved(cls, saved: SavedModel) -> "Transducer":
        """The model again, from what is on disk; weights of any float type become float32."""
        config = from_mapping(TransducerConfig, saved.config, where="saved config")
        coders = Coders.of(config, saved.vocabularies)
        network = _network(config, coders)
        put_weights(network, saved.tensors)
        return cls(network, coders, config, record=dict(saved.record))

    def _outputs(self, source: str) -> list[Output]:
        (found,) = self.transduce([source], nbest=EXPLAINED_OUTPUTS)
        return [Output(one.symbols, one.log_prob) for one in found]

    @property
    def device(self) -> torch.device:
        """Where the network lives."""
        return next(self.network.parameters()).device

    def to(self, device: str | torch.device) -> "Transducer":
        """The model itself, its network now on that device: cpu, cuda, cuda:1, ..."""
        self.network.to(device)
        return self

    @classmethod
    def _untrained(cls, pairs: Pairs, config: TransducerConfig) -> "Transducer":
        coders = Coders.learned(config, pairs, min_count=config.min_count)
        torch.manual_seed(config.train.seed)
        return cls(_network(config, coders), coders, config)

    def _extended(self, pairs: Pairs, config: TransducerConfig) -> "Transducer":
        """A copy that knows the symbols of these pairs too, to be trained further."""
        check_unchanged(self.config, config)
        coders = self.coders.extended(pairs, min_count=config.min_count)
        network = _network(config, coders)
        grow_into(network, self.network)
        return Transducer(network, coders, config)

    @property
    def _answers(self) -> Answers:
        decoder = Decoder(self.network, NORMALISATIONS[self.config.normalisation])
        return Answers(decoder, self.coders, self.config)

    def lattices(self, pairs: Pairs) -> Iterator[tuple[PairBatch, EditLattice]]:
        """See `Aligner.lattices`."""
        return ((batch, lattice) for batch, lattice, _ in self._weighed(pairs))

    def _scored(self, pairs: Pairs) -> Iterator[tuple[PairBatch, EditLattice, np.ndarray]]:
        for batch, lattice, end in self._weighed(pairs):
            scores = (lattice.log_prob + end).double().cpu().numpy()
            yield batch, lattice, np.where(scores > REACHABLE, scores, -np.inf)

    def _weighed(self, pairs: Pairs) -> Iterator[tuple[PairBatch, EditLattice, PerPair]]:
        sides = self.coders.encode(pairs)
        normalisation = NORMALISATIONS[self.config.normalisation]
        for batch in PairBatches(*sides, batch_cells=BATCH_CELLS, max_cells=MAX_CELLS):
            here = batch.to(self.device)
            encoded = self.network.encode(here.source, here.source_lengths)
            scores = self.network(encoded, here.target, here.target_lengths)
            lengths = (here.source_lengths, here.target_lengths)
            arcs, end = normalisation.weigh(scores, here.target, lengths)
            yield here, EditLattice(*arcs, *lengths), end


def _network(config: TransducerConfig, coders: Coders) -> TransducerNetwork:
    return TransducerNetwork(
        config.encoder,
        source_symbols=len(coders.source.vocabulary),
        target_symbols=len(coders.target.vocabulary),
        attention=config.attention,
        target_attention=config.target_attention,
        interaction=config.interaction,
        feature_dropout=config.feature_dropout,
    )
