"""Scores in batches of fixed shapes are the same, bit for bit, whatever they are scored with."""

from pathlib import Path

import numpy as np
import pytest
import torch

import nsed
from nsed.jobs import choices as module
from nsed.jobs import fixed_scores

pytestmark = pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
GOLDEN = Path(__file__).parents[1] / "golden" / "models"
MODELS = ["edit-distance", "matcher-rnn", "matcher-similarity", "matcher-unigram", "transducer-exact", "levenshtein"]


def random_pairs(count):
    random = np.random.default_rng(0)
    letters = [random.choice(list("abcé"), size=random.integers(0, 5)) for _ in range(2 * count)]
    return [("".join(one).upper(), "".join(other)) for one, other in zip(letters[:count], letters[count:], strict=True)]


@pytest.mark.parametrize("name", MODELS)
def test_batches_order_and_threads_change_no_bit(name):
    model, pairs = nsed.load(GOLDEN / name), random_pairs(60)
    expected = fixed_scores(model, pairs)
    assert np.allclose(expected, model.score(pairs), rtol=1e-4, atol=1e-5)
    parts = [fixed_scores(model, pairs[start : start + 7]) for start in range(0, 28, 7)]
    assert np.array_equal(np.concatenate(parts), expected[:28])
    assert [fixed_scores(model, [pair])[0] for pair in pairs[:3]] == expected[:3].tolist()
    shuffled = np.random.default_rng(1).permutation(len(pairs))
    torch.set_num_threads(2)
    try:
        again = fixed_scores(model, [pairs[row] for row in shuffled])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    assert np.array_equal(again, expected[shuffled])


def test_new_symbols_of_other_pairs_change_no_odds():
    words = ["gray", "lay", "ray", "drag"]
    odds = nsed.OddsMatcher.of_edit_distance(nsed.LearnableEditDistance.fit([(one, one) for one in words]))
    pairs = [("gray", "gréy"), ("lay", "ley"), ("ĝray", "gray"), ("gray", "gréy")]
    expected = fixed_scores(odds, pairs)
    assert [fixed_scores(odds, [pair])[0] for pair in pairs] == expected.tolist()
    assert np.allclose(expected, odds.score(pairs))


def test_more_pairs_than_a_batch_has_are_all_scored(monkeypatch):
    monkeypatch.setattr(module, "PAIRS_TOGETHER", 3)
    model, pairs = nsed.load(GOLDEN / "levenshtein"), random_pairs(50)
    assert np.array_equal(fixed_scores(model, pairs), model.score(pairs))
    assert np.array_equal(fixed_scores(model, pairs, scorer="probability"), model.probability(pairs))
    assert fixed_scores(model, []).shape == (0,)


def test_models_that_are_not_ours_are_refused():
    class Longer:
        def score(self, pairs): ...

    with pytest.raises(nsed.NsedError, match="model: got a Longer, expected a model of nsed"):
        fixed_scores(Longer(), [("a", "b")])
