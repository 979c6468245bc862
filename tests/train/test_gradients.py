"""The gradient of a batch in slices is that of the batch, and its loss, too."""

import numpy as np
import pytest
import torch

from nsed.baselines.seq2seq import Seq2Seq, Seq2SeqConfig, Seq2SeqTask
from nsed.datasets.rule_language import matching_pairs, transduction_pairs
from nsed.encoders import EncoderConfig
from nsed.models.matcher import Matcher, MatcherConfig, MatcherTask
from nsed.models.transducer import Transducer, TransducerConfig, TransducerTask
from nsed.train.strategy import Eager, slices_of

CPU, ENCODER = torch.device("cpu"), EncoderConfig(kind="cnn", dim=16, layers=1, dropout=0.0)


def matcher_task():
    config, pairs = MatcherConfig(encoder=ENCODER, feature_dropout=0.0), matching_pairs(60, seed=1)
    model = Matcher._untrained(pairs, config)
    return MatcherTask(model.network.requires_grad_(True), config, *[model.encoded(pairs)] * 2, CPU)


def transducer_task():
    config, pairs = TransducerConfig(encoder=ENCODER, feature_dropout=0.0), transduction_pairs(60, seed=1)
    model = Transducer._untrained(pairs, config)
    return TransducerTask(model.network.requires_grad_(True), config, *[model.encoded(pairs)] * 2, CPU)


def seq2seq_task():
    config, pairs = Seq2SeqConfig(encoder=EncoderConfig(kind="rnn", dim=16, layers=1)), transduction_pairs(60, seed=1)
    model = Seq2Seq._untrained(pairs, config)
    return Seq2SeqTask(model.network.requires_grad_(True), config, *[model.encoded(pairs)] * 2, CPU)


@pytest.mark.slow
@pytest.mark.parametrize("make", [matcher_task, transducer_task])
def test_slices_add_up_to_the_batch(make):
    rows, found = np.arange(50), []
    for most in (None, 500):
        task = make()
        task.most_cells = most
        loss = Eager(task, CPU).add(rows, 0.5)
        found.append((loss, [parameter.grad for parameter in task.network.parameters()]))
    assert len(slices_of(task, rows)) > 3
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-6)


def test_a_batch_of_long_pairs_is_cut_whatever_the_model():
    """512 pairs of 500 symbols have 128 million cells, of which some 2 million are computed at once."""
    for task in (matcher_task(), seq2seq_task()):
        task.widths = lambda rows, *, multiple=1: (500, 500)
        most = max(len(some) for some in slices_of(task, np.arange(512)))
        assert most * 501 * 501 <= 1.5 * 2**21


def test_a_small_batch_is_not_cut():
    task = matcher_task()
    assert [len(some) for some in slices_of(task, np.arange(60))] == [60]
    task.most_cells = 1
    assert [len(some) for some in slices_of(task, np.arange(3))] == [1, 1, 1]
    assert [len(some) for some in slices_of(task, np.arange(0))] == [0]
