"""Words transduced by the shipped `g2p-en`, greedily and with a beam, and by a small network, in batches."""

from functools import partial

import numpy as np

from benchmarks.data import words
from benchmarks.figures import Bar, Figure, Report, at_least, at_most, figure
from benchmarks.setting import Setting
from benchmarks.timing import rates
from nsed.datasets.rule_language import transduction_pairs
from nsed.models.persistence import load
from nsed.models.transducer import Transducer, TransducerConfig
from nsed.train.config import TrainConfig

GREEDY, BEAM, SMALL = "g2p-en, greedy", "g2p-en, beam 5", "small, greedy"


def measure(setting: Setting) -> Report:
    """Milliseconds per word on a CPU, words per second on a GPU."""
    shipped = load("g2p-en")
    assert isinstance(shipped, Transducer)
    shipped.to(setting.device)
    some = _words(setting)
    figures = {
        GREEDY: _figure(setting, shipped, some, beam=1, bar=setting.bar(cpu=at_most(0.5), cuda=at_least(60_000))),
        BEAM: _figure(setting, shipped, some, beam=5, bar=setting.bar(cuda=at_least(20_000))),
        SMALL: _figure(setting, small(setting), _rule_words(setting), beam=1, bar=setting.bar(cpu=at_most(0.2))),
    }
    return {"words": len(some), "data": words(setting, "test").origin, "figures": figures}


def small(setting: Setting) -> Transducer:
    """An RNN of 64 numbers and one layer that has learned the rule language, so that its words end when they should."""
    train = TrainConfig(
        steps=setting.pick(cpu=300, cuda=300, quick=60),
        batch_pairs=64,
        warmup=20,
        learning_rate=0.005,
        validate_every=10_000,
        device=str(setting.device),
    )
    config = TransducerConfig(encoder=setting.encoder("rnn", dim=64, layers=1), feature_dropout=0.0, train=train)
    return Transducer.fit(transduction_pairs(2000, seed=1), config=config)


def _figure(setting: Setting, model: Transducer, some: list[str], *, beam: int, bar: Bar | None) -> Figure:
    run = partial(model.transduce, some, beam=beam)
    model.transduce(some[:1000], beam=beam)
    found = rates(len(some), run, setting, rounds=setting.pick(cpu=5, cuda=5, quick=2))
    if setting.on_gpu:
        return figure(found, "words/s", bar=bar)
    return figure([1e3 / rate for rate in found], "ms per word", bar=bar)


def _words(setting: Setting) -> list[str]:
    known = sorted(set(words(setting, "test").pairs.sources))
    count = setting.pick(cpu=3000, cuda=len(known), quick=50)
    return [known[place] for place in np.random.default_rng(3).permutation(len(known))[:count]]


def _rule_words(setting: Setting) -> list[str]:
    count = setting.pick(cpu=3000, cuda=30_000, quick=50)
    return list(transduction_pairs(count, seed=2).sources)
