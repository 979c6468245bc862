"""Pairs scored per second by tables of operations, odds and edit distance, from Arrow strings, and their torch twin."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from benchmarks.data import words
from benchmarks.figures import Figure, Report, at_least, figure
from benchmarks.setting import Setting
from benchmarks.timing import OURS_OVER_IT, cpu_rates, rates
from nsed.kernels import use_backend
from nsed.models.edit_distance import LearnableEditDistance
from nsed.models.odds import OddsMatcher

PAIRS, FEW, LEARNED = 1_000_000, 20_000, 2000
Columns = tuple[pa.Array, pa.Array]


def measure(setting: Setting) -> Report:
    """Of words that come many times, and of names of two words, nearly all of which are different."""
    known = sorted({word.lower() for word in words(setting).pairs.sources})
    learned = [*known[:: len(known) // LEARNED + 1], "of two words"]
    edit_distance = LearnableEditDistance.fit(list(zip(learned, learned, strict=True)), relative=True, iterations=5)
    models: dict[str, OddsMatcher | LearnableEditDistance]
    models = {"odds": OddsMatcher.of_edit_distance(edit_distance), "edit distance": edit_distance}
    count, figures = 3000 if setting.quick else PAIRS, dict[str, Figure]()
    for what, columns in (("words", _words(known, count)), ("different names", _names(known, count))):
        for name, model in models.items():
            figures |= _figures(setting, f"{name}, {what}", model, columns)
    return {"pairs": count, "data": words(setting).origin, "figures": figures}


def _figures(
    setting: Setting, name: str, model: OddsMatcher | LearnableEditDistance, columns: Columns
) -> dict[str, Figure]:
    """All threads and one, wall-clock and of the CPU, and the twin, which must agree, on some of the pairs."""
    few, rounds = (columns[0][:FEW], columns[1][:FEW]), 2 if setting.quick else 3
    bar = setting.bar(cpu=at_least(150_000))
    scored = model.score(*few)  # compiles
    with use_backend("torch"):
        np.testing.assert_allclose(model.score(*few), scored, rtol=1e-9, atol=1e-9)
        twin = rates(len(few[0]), partial(model.score, *few), setting, rounds=rounds)
    ours = rates(len(few[0]), partial(model.score, *few), setting, rounds=rounds)
    every = partial(model.score, *columns)
    found = {name: figure(rates(len(columns[0]), every, setting, rounds=rounds), "pairs/s", bar=bar)}
    with one_thread():
        found[f"{name}, one thread"] = figure(rates(len(columns[0]), every, setting, rounds=rounds), "pairs/s")
        found[f"{name}, per CPU second"] = figure(cpu_rates(len(columns[0]), every, rounds=rounds), "pairs/s")
    faster = OURS_OVER_IT, [one / other for one, other in zip(ours, twin, strict=True)]
    found[f"{name}, torch twin"] = figure(twin, "pairs/s", ratio=faster)
    return found


@contextmanager
def one_thread() -> Iterator[None]:
    """As if there were one core."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _drawn(known: list[str], count: int, seed: int) -> pa.Array:
    return pa.array(known).take(pa.array(np.random.default_rng(seed).integers(len(known), size=count)))


def _words(known: list[str], count: int) -> Columns:
    return _drawn(known, count, 0), _drawn(known, count, 1)


def _names(known: list[str], count: int) -> Columns:
    first, second, third, fourth = (_drawn(known, count, seed) for seed in range(2, 6))
    return pc.binary_join_element_wise(first, second, " "), pc.binary_join_element_wise(third, fourth, " ")
