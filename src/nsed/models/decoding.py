"""Decoding: beam search and sampling with networks that write symbol by symbol, and their error rates meanwhile."""

import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from nsed.config import bounded
from nsed.errors import ArgumentError, CutOutputWarning, UnknownSymbolWarning, warn
from nsed.evaluate import transduction_score
from nsed.models.base import NetworkModel, checked_scores
from nsed.models.transduction import WIDEST_BEAM, TransducingModel, Transduction, checked_sources
from nsed.networks.search import IncrementalDecoder, SearchResult, beam_search, draw, greedy_search
from nsed.progress import OnBatch, ignore, no_garbage_collection
from nsed.text import EncodedStrings, Pairs, Tokenizer
from nsed.text.batch import EncodedPairs
from nsed.text.columns import Column
from nsed.text.pairs import PairsLike
from nsed.text.visible import shown_symbols
from nsed.train.config import NetworkConfig
from nsed.train.split import transduction_split
from nsed.train.task import PairTask
from nsed.types import REACHABLE

BATCH_WORDS, CPU_PREFIXES, BATCH_PREFIXES, BATCH_SYMBOLS = 2**9, 2**13, 2**15, 2**19
"""What is transduced at once: words on a CPU, so that they fit its cache, and prefixes of all of them together, so that
a wide beam fits the memory; prefixes on a GPU; symbols of the sources of all prefixes."""
VALIDATED_TOGETHER = 2**10
"""Validation batch size: words whose greedy outputs are found at once."""
AnyDecoder = IncrementalDecoder[Any, Any, Any]


@dataclass(frozen=True)
class SearchConfig(NetworkConfig):
    """Search hyperparameters: how targets are found. Abstract: the models' settings add to it."""

    beam: int = bounded(5, low=1, most=WIDEST_BEAM)
    """Beam width: prefixes that are followed at once in decoding."""
    length_penalty: float = bounded(0.0, low=0, most=100)
    """Length penalty: power of the length that log-probabilities are divided by before they are compared."""
    longest_output: int = bounded(64, low=1, most=10_000)
    """Maximum output length: target symbols at most in decoding."""


class DecodingTask(PairTask):
    """Decoding task: sources and targets, trained on and validated by error rates. Abstract: a model has its loss."""

    config: SearchConfig
    metric, higher_is_better = "wer", False

    @property
    @abstractmethod
    def decoder(self) -> AnyDecoder:
        """Incremental decoder: what writes targets."""

    def validate(self) -> Mapping[str, float]:
        """See `error_rates`."""
        return error_rates(self.parts(), self.config)

    def parts(self) -> Iterable[tuple[AnyDecoder, EncodedPairs]]:
        """Validation pairs, each part with the decoder that writes its targets."""
        return [(self.decoder, self.validation)]


class SearchModel(TransducingModel):
    """A model that finds targets by searching, symbol by symbol. Abstract: it has its own decoder and its scores."""

    config: SearchConfig | Any
    """Settings, those of `SearchConfig` among them."""

    @property
    @abstractmethod
    def decoder(self) -> AnyDecoder:
        """Incremental decoder: the network, as search needs it."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """Device where targets are found."""

    @property
    def backward(self) -> bool:
        """Direction of reading and writing: whether from right to left."""
        return False

    @property
    def beam(self) -> int:
        """Beam width: prefixes that `transduce` follows at once unless told otherwise."""
        return self.config.beam

    @torch.no_grad()
    def sample(
        self, sources: Column, *, count: int = 1, seed: int = 0, on_batch: OnBatch = ignore
    ) -> list[list[Transduction]]:
        """Sampled targets of each source, drawn by probability; the same ones for the same sources and seed."""
        texts, decoder = checked_sources(sources, count=count), self.decoder
        drawn: list[list[Transduction]] = [[] for _ in texts]
        generator, longest = torch.Generator(self.device).manual_seed(seed), longest_output(decoder, self.config)
        for rows, encoded in self._encoded_sources(decoder, texts):
            for _ in range(count):
                found = draw(decoder, encoded, longest=longest, generator=generator)
                for row, answers in zip(rows.tolist(), self._read(found), strict=True):
                    drawn[row] += answers
            on_batch(len(rows))
        return drawn

    @torch.no_grad()
    def _transduce(
        self, sources: list[str], *, nbest: int, beam: int | None, on_batch: OnBatch
    ) -> list[list[Transduction]]:
        decoder, width = self.decoder, max(beam or self.beam, nbest)
        longest, penalty = longest_output(decoder, self.config), self.config.length_penalty
        results: dict[int, list[Transduction]] = {}
        for rows, encoded in self._encoded_sources(decoder, sources, beam=width):
            if width == 1:
                found = greedy_search(decoder, encoded, longest=longest)
            else:
                found = beam_search(decoder, encoded, beam=width, nbest=nbest, longest=longest, length_penalty=penalty)
            with no_garbage_collection():
                results.update(zip(rows.tolist(), self._read(found), strict=True))
            on_batch(len(rows))
        _warn_of_cuts(results.values(), longest)
        return [results[row] for row in range(len(sources))]

    def _encoded_sources(
        self, decoder: AnyDecoder, sources: Sequence[str], *, beam: int = 1
    ) -> Iterator[tuple[np.ndarray, Any]]:
        """Source batches of similar length, with their places; as many as there is room for beams of this width."""
        encoded, device = self.tokenizers.source.encode(sources, kin=True), self.device
        encoded = encoded.turned() if self.backward else encoded
        prefixes = CPU_PREFIXES if device.type == "cpu" else BATCH_PREFIXES
        room = max(1, min(prefixes, BATCH_SYMBOLS // (encoded.longest + 1)) // beam)
        words = min(BATCH_WORDS, room) if device.type == "cpu" else room
        order = np.argsort(encoded.lengths, kind="stable")
        for rows in np.array_split(order, range(words, len(order), words)) if len(order) else ():
            lengths = torch.from_numpy(encoded.lengths[rows]).to(device)
            yield rows, decoder.encode(encoded.padded(rows).to(device), lengths)

    def _read(self, found: SearchResult) -> Iterator[list[Transduction]]:
        checked_scores(found.log_prob.flatten().double().cpu().numpy())
        longest = int(found.lengths.amax()) if found.lengths.numel() else 0
        columns = (found.symbols[..., :longest].tolist(), found.lengths.tolist(), found.log_prob.tolist())
        name, join = self.tokenizers.target.vocabulary.names.__getitem__, self.tokenizers.target.splitter.join
        order = reversed if self.backward else iter
        for answers in zip(*columns, strict=True):
            read = [
                (tuple(map(name, order(numbers[:length]))), log_prob)
                for numbers, length, log_prob in zip(*answers, strict=True)
                if log_prob > REACHABLE
            ]
            yield [Transduction(join(symbols), symbols, log_prob) for symbols, log_prob in read]


class DecodingModel(NetworkModel, SearchModel):
    """A network that writes targets symbol by symbol. Abstract: a model adds its network, its task and its scores."""

    config: SearchConfig
    validation_metric = "wer"
    usable_early = True

    @classmethod
    def _split(cls, pairs: Pairs, validation: PairsLike | None, *, seed: int) -> tuple[Pairs, Pairs]:
        return transduction_split(pairs, None if validation is None else Pairs.of(validation), seed=seed)

    def encoded(self, pairs: Pairs, *, kin: bool = False) -> EncodedPairs:
        """See `NetworkModel.encoded`: in the model's direction, with the weights and languages of the pairs.

        With `kin`, as answers want it and learning does not, new symbols of sources are read as known ones.
        """
        weights = None if pairs.weights is None else _checked_weights(pairs.weights)
        languages = self.language_numbers(pairs.languages, len(pairs)) if self.languages else None
        encoded = EncodedPairs(*self.tokenizers.encode(pairs, kin=kin), languages=languages, weights=weights)
        return encoded.turned() if self.backward else encoded

    def language_numbers(self, languages: Sequence[str] | None, count: int) -> np.ndarray | None:
        """Language ids of so many pairs, one column; None where the model knows none."""
        return None

    def _validated(self, pairs: Pairs, given: Pairs, name: str) -> EncodedPairs:
        """See `NetworkModel._validated`; one warning names the target symbols that the model cannot write."""
        _warn_of_unwritable(self.tokenizers.target, pairs.targets)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"\d+ target symbols? ", UnknownSymbolWarning)  # just said, with more
            return super()._validated(pairs, given, name)


def _checked_weights(weights: Sequence[float]) -> np.ndarray:
    """Loss weights of pairs. Raises `ArgumentError` where they cannot weigh anything."""
    checked = np.asarray(weights, dtype=float)
    if not (np.isfinite(checked).all() and (checked >= 0).all() and checked.any()):
        raise ArgumentError("weights", got=f"numbers from {checked.min()} on", expected="numbers from 0 on, some above")
    return checked


def _warn_of_unwritable(tokenizer: Tokenizer, targets: Sequence[str]) -> None:
    """Warn of the symbols of validation targets that no training pair has: whatever has one counts as an error."""
    new = [set(tokenizer.split(target)).difference(tokenizer.vocabulary.symbols) for target in targets]
    symbols, wrong = sorted(set().union(*new)), sum(map(bool, new))
    if not symbols:
        return
    message = (
        f"{len(symbols)} target symbol{'s'[: len(symbols) - 1]} of the validation pairs cannot be written, as no "
        f"training pair (or fewer than min_count) has it: {shown_symbols(symbols)}. {wrong:,} of {len(targets):,} "
        "validation pairs count as errors for it, however long the training. Add pairs with each of these symbols to "
        "the training pairs, or correct the pairs where it is a slip"
    )
    warn(UnknownSymbolWarning(message))


def _warn_of_cuts(results: Iterable[list[Transduction]], longest: int) -> None:
    cut = sum(bool(best) and len(best[0].symbols) >= longest for best in results)
    if cut:
        message = f"{cut} of the targets reach {longest} symbols, the most allowed"
        warn(CutOutputWarning(f"{message} (longest_output, max_length)"))


def longest_output(decoder: AnyDecoder, config: SearchConfig | Any) -> int:
    """Maximum output length: what the settings say, and what the target's encoder has positions for."""
    return min(config.longest_output, decoder.longest or config.longest_output)


def error_rates(parts: Iterable[tuple[AnyDecoder, EncodedPairs]], config: SearchConfig | Any) -> dict[str, float]:
    """WER and CER of greedy outputs; a word with several references in a part may be right in any of them."""
    outputs: list[list[int]] = []
    accepted: list[list[list[int]]] = []
    for decoder, pairs in parts:
        references: dict[tuple[int, ...], list[list[int]]] = {}
        for row in range(len(pairs)):
            references.setdefault(tuple(pairs.source[row]), []).append(pairs.target[row])
        words = sorted(references, key=len)
        outputs += greedy_outputs(decoder, words, longest=longest_output(decoder, config))
        accepted += [references[word] for word in words]
    score = transduction_score(outputs, accepted)
    return {"wer": score.wer, "cer": score.cer}


def greedy_outputs(decoder: AnyDecoder, words: list[tuple[int, ...]], *, longest: int) -> list[list[int]]:
    """Greedy decoding: each word's output, as numbers."""
    outputs: list[list[int]] = []
    for start in range(0, len(words), VALIDATED_TOGETHER):
        some = EncodedStrings(words[start : start + VALIDATED_TOGETHER])
        padded = some.padded(np.arange(len(some))).to(decoder.device)
        encoded = decoder.encode(padded, torch.from_numpy(some.lengths).to(decoder.device))
        found = greedy_search(decoder, encoded, longest=longest)
        for symbols, length in zip(found.symbols[:, 0].tolist(), found.lengths[:, 0].tolist(), strict=True):
            outputs.append(symbols[:length])
    return outputs
