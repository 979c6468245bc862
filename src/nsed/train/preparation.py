"""What every training starts with: a device and held-out pairs."""

from collections.abc import Iterable
from random import Random

import pyarrow as pa
import torch

from nsed.errors import ArgumentError
from nsed.text import Pairs
from nsed.train.classifier_config import ClassifierConfig
from nsed.train.config import TrainConfig
from nsed.train.matcher_config import MatcherConfig
from nsed.train.seq2seq_config import Seq2SeqConfig
from nsed.train.transducer_config import TransducerConfig

HELD_OUT_SHARE, MOST_HELD_OUT = 20, 2000
LabelledModelConfig = MatcherConfig | ClassifierConfig
ModelConfig = LabelledModelConfig | Seq2SeqConfig | TransducerConfig


def chosen_device(config: TrainConfig) -> torch.device:
    """The device that the settings name; auto is a GPU if there is one."""
    if config.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.zeros(0, device=config.device).device
    except (RuntimeError, AssertionError):
        expected = "auto, cpu, or a device that torch has here"
        raise ArgumentError("train.device", got=repr(config.device), expected=expected) from None


def split(pairs: Pairs, validation: Pairs | Iterable[Iterable[str]] | None, *, seed: int) -> tuple[Pairs, Pairs]:
    """Training and validation pairs; without the latter a twentieth of the sources, at most 2,000, is held out.

    A source never stands on both sides of a split made here.
    """
    if validation is not None:
        checked = Pairs.of(validation)
        if not len(checked):
            raise ArgumentError("validation", got="no pairs", expected="at least one")
        return pairs, checked
    sources = sorted(set(pairs.sources))
    Random(seed).shuffle(sources)
    held_out = set(sources[: max(1, min(MOST_HELD_OUT, len(sources) // HELD_OUT_SHARE))])
    kept, apart = (
        pairs.chosen([row for row, source in enumerate(pairs.sources) if (source in held_out) == wanted])
        for wanted in (False, True)
    )
    return (kept if len(kept) else pairs), apart


def transduction_data(
    pairs: Pairs | pa.Table | Iterable[Iterable[str]],
    validation: Pairs | Iterable[Iterable[str]] | None,
    *,
    seed: int,
) -> tuple[Pairs, Pairs]:
    """Positive pairs to learn from and to validate with; validation sources that are also learned from do not count."""
    positives = Pairs.of(pairs).positives()
    if not len(positives):
        raise ArgumentError("pairs", got="no positive pair", expected="at least one to learn from")
    checked = None if validation is None else Pairs.of(validation).positives()
    training, held_out = split(positives, checked, seed=seed)
    return training, unseen(held_out, training)


def labelled_split(pairs: Pairs, validation: Pairs | None, *, seed: int) -> tuple[Pairs, Pairs]:
    """The same with labels of both kinds on both sides: to learn, to set a threshold, and to calibrate."""
    training, held_out = split(_labelled(pairs, "labels"), validation, seed=seed)
    return training, _labelled(held_out, "labels of the validation pairs")


def unseen(validation: Pairs, training: Pairs) -> Pairs:
    """Validation pairs whose source is not learned from; all of them, where every source is.

    A dictionary gives words with several pronunciations to both sides of a split, and says so nowhere.
    """
    seen = set(training.sources)
    new = [row for row, source in enumerate(validation.sources) if source not in seen]
    return validation.chosen(new) if new else validation


def _labelled(pairs: Pairs, name: str) -> Pairs:
    kinds = set(pairs.labels or ())
    if len(kinds) < 2:
        got = "no labels" if not kinds else f"only labels {int(kinds.pop())}"
        raise ArgumentError(name, got=got, expected="pairs that match and pairs that do not, with labels 1 and 0")
    return pairs
