"""Training on a GPU: recorded steps give what single operations give."""

import pytest
import torch

from nsed.datasets.rule_language import matching_pairs, transduction_pairs
from nsed.encoders import ENCODERS, EncoderConfig
from nsed.train import Matcher, MatcherConfig, Transducer, TransducerConfig
from nsed.train.config import TrainConfig

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def _config(kind, **others):
    train = TrainConfig(steps=40, batch_pairs=64, validate_every=20, warmup=5, precision="fp32", **others)
    return {"encoder": EncoderConfig(kind=kind, dim=32, layers=1, dropout=0.0), "train": train}


@pytest.mark.parametrize("kind", list(ENCODERS))
def test_recorded_transducer_training_is_that_of_single_operations(kind):
    pairs = transduction_pairs(600, seed=1)
    losses = []
    for graph in (True, False):
        seen = []
        config = TransducerConfig(**_config(kind, cuda_graph=graph))
        Transducer.fit(pairs, config=config, on_validation=lambda v, seen=seen: seen.append(v.loss))
        losses.append(seen)
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


@pytest.mark.parametrize("kind", list(ENCODERS))
def test_recorded_matcher_training_is_that_of_single_operations(kind):
    pairs = matching_pairs(600, seed=1)
    losses = []
    for graph in (True, False):
        seen = []
        config = MatcherConfig(**_config(kind, cuda_graph=graph))
        Matcher.fit(pairs, config=config, on_validation=lambda v, seen=seen: seen.append(v.loss))
        losses.append(seen)
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
