"""Mixtures of Transducers, Transducers that read from right to left, and students of mixtures."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

import nsed
from nsed.config import from_mapping
from nsed.datasets.rule_language import transduction_pairs
from nsed.models.transducer import Transducer, TransducerConfig
from nsed.text import Pairs

PAIRS = list(transduction_pairs(120, seed=3))


def settings(seed=0, steps=20, **others):
    train = {"steps": steps, "batch_pairs": 32, "validate_every": 10, "warmup": 2, "learning_rate": 5e-3}
    encoder = {"kind": "rnn", "dim": 16, "layers": 1, "dropout": 0.0}
    values = {"encoder": encoder, "train": {**train, "seed": seed, "device": "cpu"}, **others}
    return from_mapping(TransducerConfig, values)


def untrained(seed=0, pairs=PAIRS, **others):
    """Without training: what it says does not matter, only how."""
    return Transducer._untrained(Pairs.of(pairs), settings(seed, **others))


def test_a_backward_transducer_scores_a_pair_as_a_forward_one_scores_the_reversed_strings():
    forward = untrained()
    backward = Transducer(forward.network, forward.tokenizers, replace(forward.config, direction="backward"))
    turned = [(source[::-1], target[::-1]) for source, target in PAIRS]
    np.testing.assert_allclose(backward.score(PAIRS), forward.score(turned), atol=1e-4)
    words = [source for source, _ in PAIRS[:20]]
    found = backward.transduce(words, nbest=2)
    expected = forward.transduce([word[::-1] for word in words], nbest=2)
    assert [[one.text for one in few] for few in found] == [[one.text[::-1] for one in few] for few in expected]


def test_scripts_and_explanations_of_a_backward_transducer_cover_both_strings_in_their_order():
    backward = untrained(direction="backward")
    forward = Transducer(backward.network, backward.tokenizers, replace(backward.config, direction="forward"))
    for (source, target), script in zip(PAIRS, backward.align_all(PAIRS), strict=True):
        assert ("".join(script.source), "".join(script.target)) == (source, target)
        assert [edit.i for edit in script if edit.source] == list(range(len(source)))
        assert [edit.j for edit in script if edit.target] == list(range(len(target)))
    source, target = max(PAIRS, key=lambda pair: len(pair[0]))
    told, turned = backward.explain(source, target), forward.explain(source[::-1], target[::-1])
    assert told.log_prob == pytest.approx(turned.log_prob, rel=1e-5)
    assert told.script.log_weight == pytest.approx(turned.script.log_weight, rel=1e-5)
    np.testing.assert_allclose(told.substitute[1:, 1:], turned.substitute[1:, 1:][::-1, ::-1], atol=1e-5)
    np.testing.assert_allclose(told.delete[1:], turned.delete[1:][::-1, ::-1], atol=1e-5)
    assert sum(part.value for part in told.contributions) == pytest.approx(told.log_prob, rel=1e-5)


def test_a_backward_transducer_learns_and_is_saved_with_its_direction(tmp_path):
    model = Transducer.fit(PAIRS, config=settings(direction="backward"))
    model.save(tmp_path)
    again = nsed.load(tmp_path)
    assert again.config.direction == "backward"
    assert (again.score(PAIRS) == model.score(PAIRS)).all()
