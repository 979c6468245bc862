"""The Transducer: learns to turn strings into other strings, and says how."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from nsed.config import from_mapping
from nsed.errors import ArgumentError, CutOutputWarning
from nsed.lattice import EditLattice
from nsed.lattice.arcs import REACHABLE
from nsed.models.aligner import Aligner, PairsLike
from nsed.models.growth import grow_into
from nsed.models.persistence import MODEL_KINDS, SavedModel, read_kind, write_model
from nsed.models.search import Decoder, Found, beam_search, draw, greedy_search
from nsed.models.transducer import EncodedSource, TransducerNetwork
from nsed.models.weights import put_weights, weights_of
from nsed.text import Coders, PairBatch, PairBatches, Pairs
from nsed.text.collection import uncollected
from nsed.text.progress import OnBatch, ignore
from nsed.train.crew import crew_of
from nsed.train.fine_tuning import check_unchanged, fine_tuning_config, hash_of_model
from nsed.train.fitting import finished, trained
from nsed.train.preparation import split, unseen
from nsed.train.progress import OnStep, OnValidation
from nsed.train.transducer_config import TransducerConfig
from nsed.train.transducer_task import NORMALISATIONS, TransducerTask, longest_output
from nsed.types import PerPair

KIND = "transducer"
BATCH_CELLS, MAX_CELLS = 2**17, 2**22
BATCH_WORDS, BATCH_PREFIXES, BATCH_SYMBOLS = 2**8, 2**15, 2**19
"""Words that are transduced at once, so that they fit the cache of a CPU; on a GPU, prefixes of all words together and
symbols of their sources."""


class Transduction(NamedTuple):
    """One possible target: its text, its symbols, and its log-probability given the source."""

    text: str
    symbols: tuple[str, ...]
    log_prob: float
    exception: bool = False
    """Whether a file of exceptions gave it, see `nsed.Exceptions`; its log-probability is still the model's own."""


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
        pairs = _some(Pairs.of(pairs).positives())
        checked = (pairs if start else None) if validation is None else Pairs.of(validation).positives()
        training, held_out = split(pairs, checked, seed=config.train.seed)
        held_out = unseen(held_out, training)
        model = start._extended(training, config) if start else cls._untrained(training, config)
        crew = crew_of(config.train)
        task = TransducerTask(
            model.network.to(crew.device).requires_grad_(True),
            config,
            model.coders.encode(training),
            model.coders.encode(held_out),
            crew.device,
        )
        data = training, held_out
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
        best: dict[str, object] = {"steps": trainer.step, "best_step": trainer.best_step, task.metric: trainer.best}
        done = cls(model.network, model.coders, config, record=best)
        return finished(done, folder, crew)

    def transduce(
        self, sources: Iterable[str], *, nbest: int = 1, beam: int | None = None, on_batch: OnBatch = ignore
    ) -> list[list[Transduction]]:
        """The most probable targets of each source, best first; a wider beam finds better ones, slower; 1 is greedy."""
        if isinstance(sources, str):
            raise ArgumentError("sources", got=repr(sources), expected="a list of strings")
        for name, value in (("nbest", nbest), ("beam", beam)):
            if value is not None and value < 1:
                raise ArgumentError(name, got=value, expected="at least 1")
        sources = list(sources)
        Pairs(sources, sources)  # raises where something is no string
        results: dict[int, list[Transduction]] = {}
        width = max(beam or self.config.beam, nbest)
        for rows, encoded in self._encoded(sources, beam=width):
            found = self._search(encoded, width, nbest)
            with uncollected():
                results.update(zip(rows.tolist(), self._read(found), strict=True))
            on_batch(len(rows))
        self._warn_of_cuts(results.values())
        return [results[row] for row in range(len(sources))]

    def sample(
        self, sources: Iterable[str], *, count: int = 1, seed: int = 0, on_batch: OnBatch = ignore
    ) -> list[list[Transduction]]:
        """Targets of each source, drawn with their probabilities; the same ones for the same sources and seed."""
        if isinstance(sources, str):
            raise ArgumentError("sources", got=repr(sources), expected="a list of strings")
        if count < 1:
            raise ArgumentError("count", got=count, expected="at least 1")
        sources = list(sources)
        Pairs(sources, sources)  # raises where something is no string
        drawn: list[list[Transduction]] = [[] for _ in sources]
        generator, longest = torch.Generator(self.device).manual_seed(seed), longest_output(self.network, self.config)
        for rows, encoded in self._encoded(sources):
            for _ in range(count):
                found = draw(self._decoder, encoded, longest=longest, generator=generator)
                for row, answers in zip(rows.tolist(), self._read(found), strict=True):
                    drawn[row] += answers
            on_batch(len(rows))
        return drawn

    def score(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Log p(target | source) of each pair, in the order given; in paper mode log alpha."""
        pairs = Pairs.of(pairs)
        scores = np.empty(len(pairs))
        for batch, lattice, end in self._weighed(pairs):
            scores[batch.rows.cpu().numpy()] = (lattice.log_prob + end).double().cpu().numpy()
            on_batch(len(batch.rows))
        return np.where(scores > REACHABLE, scores, -np.inf)

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

    def _warn_of_cuts(self, results: Iterable[list[Transduction]]) -> None:
        longest = longest_output(self.network, self.config)
        cut = sum(bool(best) and len(best[0].symbols) >= longest for best in results)
        if cut:
            message = f"{cut} of the targets reach {longest} symbols, the most allowed (longest_output, max_length)"
            warnings.warn(message, CutOutputWarning, stacklevel=3)

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
        coders = Coders.learned(config, pairs)
        torch.manual_seed(config.train.seed)
        return cls(_network(config, coders), coders, config)

    def _extended(self, pairs: Pairs, config: TransducerConfig) -> "Transducer":
        """A copy that knows the symbols of these pairs too, to be trained further."""
        check_unchanged(self.config, config)
        coders = self.coders.extended(pairs)
        network = _network(config, coders)
        grow_into(network, self.network)
        return Transducer(network, coders, config)

    @property
    def _decoder(self) -> Decoder:
        return Decoder(self.network, NORMALISATIONS[self.config.normalisation])

    def _encoded(self, sources: Sequence[str], *, beam: int = 1) -> Iterator[tuple[np.ndarray, EncodedSource]]:
        """Sources of similar length together, with their places; as many as there is room for beams of this width."""
        encoded = self.coders.source.encode(sources)
        room = min(BATCH_PREFIXES, BATCH_SYMBOLS // (encoded.longest + 1))
        words = BATCH_WORDS if self.device.type == "cpu" else max(1, room // beam)
        order = np.argsort(encoded.lengths, kind="stable")
        for rows in np.array_split(order, range(words, len(order), words)) if len(order) else ():
            lengths = torch.from_numpy(encoded.lengths[rows]).to(self.device)
            yield rows, self.network.encode(encoded.padded(rows).to(self.device), lengths)

    def _search(self, encoded: EncodedSource, beam: int, nbest: int) -> Found:
        longest, penalty = longest_output(self.network, self.config), self.config.length_penalty
        if beam == 1:
            return greedy_search(self._decoder, encoded, longest=longest)
        return beam_search(self._decoder, encoded, beam=beam, nbest=nbest, longest=longest, length_penalty=penalty)

    def _read(self, found: Found) -> Iterator[list[Transduction]]:
        longest = int(found.lengths.amax()) if found.lengths.numel() else 0
        columns = (found.symbols[..., :longest].tolist(), found.lengths.tolist(), found.log_prob.tolist())
        name, join = self.coders.target.vocabulary.names.__getitem__, self.coders.target.symboliser.join
        for answers in zip(*columns, strict=True):
            read = [
                (tuple(map(name, numbers[:length])), log_prob)
                for numbers, length, log_prob in zip(*answers, strict=True)
                if log_prob > REACHABLE
            ]
            yield [Transduction(join(symbols), symbols, log_prob) for symbols, log_prob in read]

    def lattices(self, pairs: Pairs) -> Iterator[tuple[PairBatch, EditLattice]]:
        """See `Aligner.lattices`."""
        return ((batch, lattice) for batch, lattice, _ in self._weighed(pairs))

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


def _some(pairs: Pairs) -> Pairs:
    if not len(pairs):
        raise ArgumentError("pairs", got="no positive pair", expected="at least one to learn from")
    return pairs


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


MODEL_KINDS.register(KIND, Transducer.from_saved)
