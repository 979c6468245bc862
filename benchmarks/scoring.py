"""Pairs scored per second by untrained Matchers, from Arrow strings to scores: random pairs of 20,000 words."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import torch

from benchmarks.data import words
from benchmarks.figures import Bar, Figure, Report, at_least, figure
from benchmarks.setting import Setting
from benchmarks.tasks import matcher_config, matcher_task, numbers_of
from benchmarks.timing import rates, seconds
from nsed.kernels.dispatch import MATCH_SCORES
from nsed.models.matcher import Matcher, match_log_probs
from nsed.networks.bulk_scores import bulk_scores, vectors_of
from nsed.text import Pairs, Tokenizers
from nsed.text.texts import Texts

WORDS, FEW, LONGEST_RUN = 20_000, 10_000, 15.0
CPU_PAIRS = {"unigram": 2_000_000, "cnn": 500_000, "rnn": 500_000}
CUDA_PAIRS = 10_000_000
CASES = (("unigram", 0), ("unigram", 4), ("cnn", 0), ("rnn", 0), ("rnn", 4))
"""Encoders, and numbers of similarity heads."""


def measure(setting: Setting) -> Report:
    """Pairs per second with each encoder, without and with similarity heads."""
    figures: dict[str, Figure] = {}
    counts: dict[str, int] = {}
    for kind, heads in CASES:
        name = f"{kind}, {heads} similarity heads" if heads else kind
        matcher = untrained(setting, kind, heads)
        counts[name] = setting.pick(cpu=CPU_PAIRS[kind], cuda=CUDA_PAIRS, quick=2000)
        if setting.on_gpu:
            counts[name] = affordable(setting, matcher, counts[name])
        figures |= _figures(setting, name, matcher, arrow_pairs(setting, counts[name]))
    return {"pairs": counts, "unique strings": len(_words(setting)), "data": words(setting).origin, "figures": figures}


def untrained(setting: Setting, kind: str, heads: int = 0) -> Matcher:
    """Of the paper's size."""
    config = replace(matcher_config(setting, kind, symbols="graphemes"), interaction=heads)
    pairs = Pairs(_words(setting), _words(setting))
    network = matcher_task(setting, config, numbers_of(pairs, config)).network
    return Matcher(network.eval(), Tokenizers.learned(config, pairs).shared(), config)


def arrow_pairs(setting: Setting, count: int, *, seed: int = 0) -> pa.Table:
    """Random pairs as a table of Arrow strings."""
    random, known = np.random.default_rng(seed), pa.array(_words(setting))
    return pa.table({name: known.take(random.integers(len(known), size=count)) for name in ("source", "target")})


def in_kernel(matcher: Matcher, table: pa.Table) -> Callable[[], object]:
    """What is done per pair alone: strings are encoded; on a GPU, which strings are paired is known there, too."""
    strings, rows = [], []
    for tokenizer, name in ((matcher.tokenizers.source, "source"), (matcher.tokenizers.target, "target")):
        texts = Texts.of_arrow(table[name])
        strings.append(tokenizer.encode(texts.different))
        rows.append(texts.rows)
    source, target = strings
    if matcher.device.type == "cpu":
        return partial(bulk_scores, matcher.network, source, target, (rows[0], rows[1]))
    (of_source,) = vectors_of(matcher.network, source, sides=(True,))
    (of_target,) = vectors_of(matcher.network, target, sides=(False,))
    kernel, (weight, constant) = MATCH_SCORES.choose(of_source.vectors).code, matcher.network.projection.folded()
    eps, there = matcher.network.projection.norm.eps, (torch.from_numpy(part).to(matcher.device) for part in rows)
    scorer = kernel.scorer(of_source, of_target, weight, constant, eps=eps, pairs=len(table))
    return partial(scorer, *there)


def affordable(setting: Setting, matcher: Matcher, count: int) -> int:
    """So many pairs, or as many as take a quarter of a minute."""
    few = arrow_pairs(setting, min(count, 100_000), seed=1)
    matcher.score(few.slice(0, 1000))
    taken = seconds(partial(matcher.score, few), setting)
    return min(count, max(len(few), int(len(few) * LONGEST_RUN / taken)))


def _figures(setting: Setting, kind: str, matcher: Matcher, table: pa.Table) -> dict[str, Figure]:
    """From strings, in the kernel where there is one, and batch by batch; all must agree."""
    few = table.slice(0, FEW)
    data = matcher.encoded(Pairs.of(few))
    plainly = partial(match_log_probs, matcher.network, data, matcher.device)
    tolerance = 2e-2 if setting.on_gpu else 1e-3  # a GPU's recurrent networks round to tf32
    np.testing.assert_allclose(matcher.score(few), plainly(), rtol=tolerance, atol=tolerance)
    rounds, bars = setting.pick(cpu=3, cuda=5, quick=2), _bars(setting)
    plain = rates(len(few), plainly, setting, rounds=rounds)
    scored = rates(len(table), partial(matcher.score, table), setting, rounds=rounds)
    faster = "ours / its", [one / other for one, other in zip(scored, plain, strict=True)]
    name = f"{kind}, from Arrow strings"
    found = {name: figure(scored, "pairs/s", bar=bars.get(name))}
    if kind == "unigram":
        name = f"{kind}, in the kernel"
        done = rates(len(table), in_kernel(matcher, table), setting, rounds=rounds)
        found[name] = figure(done, "pairs/s", bar=bars.get(name))
    found[f"{kind}, batch by batch"] = figure(plain, "pairs/s", ratio=faster)
    return found


def _bars(setting: Setting) -> dict[str, Bar | None]:
    return {
        "unigram, from Arrow strings": setting.bar(cpu=at_least(400_000), cuda=at_least(2_000_000)),
        "unigram, in the kernel": setting.bar(cuda=at_least(50_000_000)),
        "unigram, 4 similarity heads, from Arrow strings": setting.bar(cpu=at_least(150_000)),
        "rnn, from Arrow strings": setting.bar(cuda=at_least(1_000_000)),
        "rnn, 4 similarity heads, from Arrow strings": setting.bar(cpu=at_least(30_000)),
    }


def _words(setting: Setting) -> list[str]:
    """Different words, in lower case."""
    known = sorted({word.lower() for word in words(setting).pairs.sources})
    random = np.random.default_rng(2)
    return [known[place] for place in random.permutation(len(known))[:WORDS]]
