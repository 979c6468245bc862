"""Which training a checkpoint is of: what may change when it is resumed, and what may not."""

from dataclasses import replace

import pytest

from nsed.models.transducer import TransducerConfig
from nsed.text import Pairs
from nsed.train.checkpoint import differences, identity_of

CONFIG, PAIRS, OTHERS = TransducerConfig(), Pairs(["a"], ["b"]), Pairs(["a"], ["c"])


def changed(**train):
    return replace(CONFIG, train=replace(CONFIG.train, **train))


@pytest.mark.parametrize(
    "train",
    [{"learning_rate": 0.5}, {"batch_pairs": 3}, {"seed": 9}, {"accumulate": 2}, {"average": 0.5}, {"clip": 2.0}],
    ids=lambda train: next(iter(train)),
)
def test_a_setting_that_changes_the_weights_makes_another_training(train):
    before, now = identity_of(CONFIG, PAIRS, OTHERS), identity_of(changed(**train), PAIRS, OTHERS)
    ((name, value),) = train.items()
    assert differences(before, now) == [f"train.{name}: was {getattr(CONFIG.train, name)!r}, is {value!r}"]


def test_how_long_and_where_it_runs_may_change():
    elsewhere = changed(steps=7, patience=3, device="cpu", logger="tensorboard", precision="fp32", cuda_graph=False)
    now = replace(elsewhere, beam=2, length_penalty=0.5, longest_output=9)
    assert identity_of(CONFIG, PAIRS, OTHERS) == identity_of(now, PAIRS, OTHERS)


def test_other_pairs_make_another_training():
    before = identity_of(CONFIG, PAIRS, OTHERS)
    assert [line.split(":")[0] for line in differences(before, identity_of(CONFIG, PAIRS, PAIRS))] == [
        "validation pairs"
    ]
    assert len(differences(before, identity_of(CONFIG, OTHERS, PAIRS))) == 2
    assert differences(before, identity_of(CONFIG, PAIRS, OTHERS, start="x")) == ["model to start from: was None, is x"]
