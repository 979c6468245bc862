"""What is trained while updates are measured: models of the paper's size, on pairs or on strings of fixed length."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from benchmarks.data import POSITIVES, random_strings
from benchmarks.setting import Setting
from benchmarks.twin import TwinNetwork, TwinTask
from nsed.models.matcher import MatcherConfig, MatcherTask
from nsed.models.transducer import TransducerConfig, TransducerTask
from nsed.networks.matcher import MatcherNetwork
from nsed.networks.transducer import TransducerNetwork
from nsed.text import EncodedStrings, Pairs, Tokenizers
from nsed.text.batch import EncodedPairs
from nsed.train.task import Batch, Task

Symbols = Literal["graphemes", "tokens"]


class Numbers(NamedTuple):
    """Pairs as numbers, how many symbols there are on either side, and labels."""

    sides: tuple[EncodedStrings, EncodedStrings]
    symbols: tuple[int, int]
    labels: np.ndarray


def numbers_of(pairs: Pairs, config: TransducerConfig | MatcherConfig) -> Numbers:
    """Pairs with all their symbols in the vocabularies."""
    tokenizers = Tokenizers.learned(config, pairs)
    tokenizers = tokenizers.shared() if isinstance(config, MatcherConfig) and config.shared_alphabet else tokenizers
    labels = np.ones(len(pairs), bool) if pairs.labels is None else np.asarray(pairs.labels, bool)
    return Numbers(
        tokenizers.encode(pairs), (len(tokenizers.source.vocabulary), len(tokenizers.target.vocabulary)), labels
    )


def fixed_numbers(count: int, length: int, *, symbols: tuple[int, int]) -> Numbers:
    """Random pairs, all of `length` x `length` symbols, with the usual share of positives."""
    source, target = (random_strings(count, length, size, seed=side) for side, size in enumerate(symbols))
    return Numbers((source, target), symbols, np.arange(count) < max(1, round(count * POSITIVES)))


def transducer_config(setting: Setting, kind: str) -> TransducerConfig:
    """Exact mode without attention, as by default."""
    return TransducerConfig(target_symbols="tokens", encoder=setting.encoder(kind))


def paper_config(setting: Setting, kind: str) -> TransducerConfig:
    """The paper's mode and losses, but without attention."""
    exact = transducer_config(setting, kind)
    return replace(exact, normalisation="incoming", likelihood=0.0, em=1.0, next_symbol=1.0)


def matcher_config(setting: Setting, kind: str, *, symbols: Symbols = "tokens") -> MatcherConfig:
    """One alphabet for both sides, the paper's loss."""
    return MatcherConfig(
        source_symbols=symbols, target_symbols=symbols, shared_alphabet=True, encoder=setting.encoder(kind)
    )


def transducer_task(setting: Setting, config: TransducerConfig, data: Numbers) -> TransducerTask:
    """A Transducer that has learned nothing yet."""
    torch.manual_seed(0)
    source, target = data.symbols
    network = TransducerNetwork(
        config.encoder, source_symbols=source, target_symbols=target, feature_dropout=config.feature_dropout
    )
    known = EncodedPairs(*data.sides)
    return TransducerTask(network.to(setting.device), config, known, known, setting.device)


def matcher_task(setting: Setting, config: MatcherConfig, data: Numbers) -> MatcherTask:
    """A Matcher that has learned nothing yet."""
    torch.manual_seed(0)
    source, target = data.symbols
    network = MatcherNetwork(
        config.encoder,
        source_symbols=source,
        target_symbols=target,
        shared=config.shared_alphabet,
        interaction=config.interaction,
        feature_dropout=config.feature_dropout,
    )
    known = EncodedPairs(*data.sides, labels=data.labels)
    return MatcherTask(network.to(setting.device), config, known, known, setting.device)


def twin_task(setting: Setting, config: TransducerConfig, data: Numbers) -> TwinTask:
    """The sequence-to-sequence twin of the same Transducer."""
    torch.manual_seed(0)
    source, target = data.symbols
    network = TwinNetwork(config.encoder, source_symbols=source, target_symbols=target)
    known = EncodedPairs(*data.sides)
    return TwinTask(network.to(setting.device), known, known, setting.device)


class OtherLoss(Task):
    """A task of which the loss is computed in another way; its batches may be of any lengths, as they come."""

    def __init__(self, task: Task, loss: Callable[[Batch], Tensor], *, any_length: bool = False) -> None:
        self._task, self._loss, self._any_length, self.network = task, loss, any_length, task.network
        self.metric, self.higher_is_better = task.metric, task.higher_is_better

    @property
    def sizes(self) -> np.ndarray:
        """See `Task.sizes`."""
        return np.zeros_like(self._task.sizes) if self._any_length else self._task.sizes

    def widths(self, rows: np.ndarray, *, multiple: int = 1) -> tuple[int, ...]:
        """See `Task.widths`."""
        return self._task.widths(rows, multiple=multiple)

    def batch(self, rows: Int[Tensor, " batch"], widths: tuple[int, ...]) -> Batch:
        """See `Task.batch`."""
        return self._task.batch(rows, widths)

    def loss(self, batch: Batch) -> Tensor:
        """See `Task.loss`."""
        return self._loss(batch)

    def validate(self) -> Mapping[str, float]:
        """See `Task.validate`."""
        return self._task.validate()
