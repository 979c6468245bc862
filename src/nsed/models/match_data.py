"""Labelled pairs as numbers, and the batches in which models go through them."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from nsed.encoders.string_encoder import Side
from nsed.errors import ArgumentError
from nsed.progress import OnBatch
from nsed.text import Coders, EncodedStrings, PairBatch, PairBatches, Pairs, Vocabulary
from nsed.types import PerPair

BATCH_CELLS, MAX_CELLS = 2**17, 2**22


class MatchData(NamedTuple):
    """Pairs as numbers, with what is known of them."""

    source: EncodedStrings
    target: EncodedStrings
    labels: np.ndarray
    """Whether they match."""
    languages: np.ndarray
    """The languages' numbers, a column for sources and one for targets; no column where the model knows none."""


def match_data(pairs: Pairs, coders: Coders, languages: Vocabulary | None) -> MatchData:
    """Pairs as numbers; without labels, all count as positive, without languages these are unknown."""
    labels = np.ones(len(pairs), dtype=bool) if pairs.labels is None else np.asarray(pairs.labels, dtype=bool)
    return MatchData(*coders.encode(pairs), labels, _language_numbers(pairs, languages))


def languages_of(pairs: Pairs) -> Vocabulary:
    """All languages of pairs. Raises `ArgumentError` if nothing is known of them."""
    if pairs.source_languages is None or pairs.target_languages is None:
        expected = "pairs with source_languages and target_languages, for `languages: true`"
        raise ArgumentError("pairs", got="no languages", expected=expected)
    return Vocabulary.of([*pairs.source_languages, *pairs.target_languages])


def sides_of(batch: PairBatch, languages: Int[Tensor, "batch sides"]) -> tuple[Side, Side]:
    """Both strings of each pair."""
    of_source, of_target = languages.unbind(1) if languages.shape[1] else (None, None)
    return Side(batch.source, batch.source_lengths, of_source), Side(batch.target, batch.target_lengths, of_target)


def batches_of(data: MatchData, device: torch.device) -> Iterator[tuple[PairBatch, tuple[Side, Side]]]:
    """All pairs in batches of similar lengths, each with the sides that a network reads."""
    for batch in PairBatches(data.source, data.target, batch_cells=BATCH_CELLS, max_cells=MAX_CELLS):
        here, languages = batch.to(device), torch.from_numpy(data.languages[batch.rows.numpy()]).to(device)
        yield here, sides_of(here, languages)


def in_order(found: Iterable[tuple[PairBatch, PerPair]], count: int, *, on_batch: OnBatch) -> np.ndarray:
    """The numbers of all pairs, each at its pair's place."""
    numbers = np.empty(count)
    for batch, some in found:
        numbers[batch.rows.cpu().numpy()] = some.double().cpu().numpy()
        on_batch(len(batch.rows))
    return numbers


def _language_numbers(pairs: Pairs, languages: Vocabulary | None) -> np.ndarray:
    if languages is None:
        return np.zeros((len(pairs), 0), dtype=np.int64)
    columns = (pairs.source_languages, pairs.target_languages)
    given = (column if column is not None else [""] * len(pairs) for column in columns)
    return np.array([languages.encode(column) for column in given], dtype=np.int64).T
