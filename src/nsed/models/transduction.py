"""Targets of sources, as every model gives them that writes: what comes back, the search for it, its error rates."""

import heapq
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from nsed.config import bounded
from nsed.errors import ArgumentError, CutOutputWarning
from nsed.evaluate import transduction_score
from nsed.networks.search import Found, Writer, beam_search, draw, greedy_search
from nsed.progress import OnBatch, ignore, no_garbage_collection
from nsed.text import Coders, EncodedStrings, Pairs, StringCoder
from nsed.train.config import NetworkConfig
from nsed.types import REACHABLE


class Transduction(NamedTuple):
    """One possible target: its text, its symbols, and its log-probability given the source."""

    text: str
    symbols: tuple[str, ...]
    log_prob: float
    exception: bool = False
    """Whether a file of exceptions gave it, see `nsed.Exceptions`; its log-probability is still the model's own."""


def checked_sources(sources: Iterable[str], *, nbest: int = 1, beam: int | None = None, count: int = 1) -> list[str]:
    """The sources as a list. Raises `ArgumentError` where something is no string, or where nothing is asked for."""
    if isinstance(sources, str):
        raise ArgumentError("sources", got=repr(sources), expected="a list of strings")
    for name, value in (("nbest", nbest), ("beam", beam), ("count", count)):
        if value is not None and value < 1:
            raise ArgumentError(name, got=value, expected="at least 1")
    strings = list(sources)
    Pairs(strings, strings)  # raises where something is no string
    return strings


@dataclass(frozen=True)
class SearchConfig(NetworkConfig):
    """How targets are found. Abstract: the models' settings add to it."""

    beam: int = bounded(5, low=1)
    """Prefixes that are followed at once in decoding."""
    length_penalty: float = bounded(0.0, low=0)
    """Power of the length that log-probabilities are divided by before they are compared."""
    longest_output: int = bounded(64, low=1)
    """Target symbols at most in decoding."""


BATCH_WORDS, BATCH_PREFIXES, BATCH_SYMBOLS = 2**9, 2**15, 2**19
"""Words that are transduced at once, so that they fit the cache of a CPU; on a GPU, prefixes of all words together and
symbols of their sources."""

AnyWriter = Writer[Any, Any, Any]


def longest_output(writer: AnyWriter, config: SearchConfig) -> int:
    """Target symbols at most: what the settings say, and what the target's encoder has positions for."""
    return min(config.longest_output, writer.longest or config.longest_output)


class Answers:
    """What a writer has to say to texts."""

    def __init__(self, writer: AnyWriter, coders: Coders, config: SearchConfig) -> None:
        self.writer, self.coders, self.config = writer, coders, config
        self.longest = longest_output(writer, config)

    def transduce(
        self, sources: Iterable[str], *, nbest: int = 1, beam: int | None = None, on_batch: OnBatch = ignore
    ) -> list[list[Transduction]]:
        """The most probable targets of each source, best first."""
        texts, width = checked_sources(sources, nbest=nbest, beam=beam), max(beam or self.config.beam, nbest)
        results: dict[int, list[Transduction]] = {}
        for rows, encoded in self._encoded(texts, beam=width):
            found = self._search(encoded, width, nbest)
            with no_garbage_collection():
                results.update(zip(rows.tolist(), self._read(found), strict=True))
            on_batch(len(rows))
        self._warn_of_cuts(results.values())
        return [results[row] for row in range(len(texts))]

    def sample(
        self, sources: Iterable[str], *, count: int = 1, seed: int = 0, on_batch: OnBatch = ignore
    ) -> list[list[Transduction]]:
        """Targets of each source, drawn with their probabilities; the same ones for the same sources and seed."""
        texts = checked_sources(sources, count=count)
        drawn: list[list[Transduction]] = [[] for _ in texts]
        generator = torch.Generator(self.writer.device).manual_seed(seed)
        for rows, encoded in self._encoded(texts):
            for _ in range(count):
                found = draw(self.writer, encoded, longest=self.longest, generator=generator)
                for row, answers in zip(rows.tolist(), self._read(found), strict=True):
                    drawn[row] += answers
            on_batch(len(rows))
        return drawn

    def _encoded(self, sources: Sequence[str], *, beam: int = 1) -> Iterator[tuple[np.ndarray, Any]]:
        """Sources of similar length together, with their places; as many as there is room for beams of this width."""
        encoded, device = self.coders.source.encode(sources), self.writer.device
        room = min(BATCH_PREFIXES, BATCH_SYMBOLS // (encoded.longest + 1))
        words = BATCH_WORDS if device.type == "cpu" else max(1, room // beam)
        order = np.argsort(encoded.lengths, kind="stable")
        for rows in np.array_split(order, range(words, len(order), words)) if len(order) else ():
            lengths = torch.from_numpy(encoded.lengths[rows]).to(device)
            yield rows, self.writer.encode(encoded.padded(rows).to(device), lengths)

    def _search(self, encoded: Any, beam: int, nbest: int) -> Found:
        if beam == 1:
            return greedy_search(self.writer, encoded, longest=self.longest)
        penalty = self.config.length_penalty
        return beam_search(self.writer, encoded, beam=beam, nbest=nbest, longest=self.longest, length_penalty=penalty)

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

    def _warn_of_cuts(self, results: Iterable[list[Transduction]]) -> None:
        cut = sum(bool(best) and len(best[0].symbols) >= self.longest for best in results)
        if cut:
            message = f"{cut} of the targets reach {self.longest} symbols, the most allowed"
            warnings.warn(f"{message} (longest_output, max_length)", CutOutputWarning, stacklevel=4)


Sides = tuple[EncodedStrings, EncodedStrings]
"""Sources and targets as numbers."""
VALIDATED_TOGETHER = 2**10


def error_rates(writer: AnyWriter, config: SearchConfig, sides: Sides) -> dict[str, float]:
    """WER and CER of greedy outputs; a word that occurs several times may be right in any of its ways."""
    sources, targets = sides
    references: dict[tuple[int, ...], list[list[int]]] = {}
    for row in range(len(sources)):
        references.setdefault(tuple(sources[row]), []).append(targets[row])
    words = sorted(references, key=len)
    outputs = greedy_outputs(writer, words, longest=longest_output(writer, config))
    score = transduction_score(outputs, [references[word] for word in words])
    return {"wer": score.wer, "cer": score.cer}


def greedy_outputs(writer: AnyWriter, words: list[tuple[int, ...]], *, longest: int) -> list[list[int]]:
    """Each word's greedy output, as numbers."""
    outputs: list[list[int]] = []
    for start in range(0, len(words), VALIDATED_TOGETHER):
        some = EncodedStrings(words[start : start + VALIDATED_TOGETHER])
        padded = some.padded(np.arange(len(some))).to(writer.device)
        encoded = writer.encode(padded, torch.from_numpy(some.lengths).to(writer.device))
        found = greedy_search(writer, encoded, longest=longest)
        for symbols, length in zip(found.symbols[:, 0].tolist(), found.lengths[:, 0].tolist(), strict=True):
            outputs.append(symbols[:length])
    return outputs


def ranked(counts: Mapping[str, int], coder: StringCoder, nbest: int) -> list[Transduction]:
    """The most frequent targets, best first, each with the logarithm of its share; the first seen of equal ones first.

    >>> from nsed.text import Symboliser, Vocabulary
    >>> ranked({"a": 1, "b": 3}, StringCoder("target", Symboliser(), Vocabulary(())), 1)
    [Transduction(text='b', symbols=('b',), log_prob=-0.28...)]
    """
    total = sum(counts.values())
    best = heapq.nsmallest(nbest, counts.items(), key=lambda item: -item[1])
    return [Transduction(text, coder.split(text), math.log(count / total)) for text, count in best]
