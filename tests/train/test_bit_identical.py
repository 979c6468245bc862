"""With `train.threads: 1` a training gives the same weights, bit for bit, however many threads there are around it."""

import pytest
import torch

import nsed
from nsed.datasets import rule_language
from nsed.kernels.switch import installed

SIZES = {"encoder__dim": 64, "train__batch_pairs": 128, "train__steps": 6, "train__warmup": 2, "train__threads": 1}
"""Large enough for torch to share its sums among threads, if it may: with two of them other weights come out."""


def weights(kind, threads, **settings):
    pairs = rule_language.transduction_pairs if kind is nsed.Transducer else rule_language.matching_pairs
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        model = kind.fit(pairs(300, seed=1), **settings)
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    return model.network.state_dict()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "encoder"), [(nsed.Transducer, "rnn"), (nsed.Matcher, "cnn"), (nsed.OddsMatcher, None)]
)
def test_runs_and_threads_change_no_bit_of_the_weights(kind, encoder):
    sizes = SIZES | {"encoder__kind": encoder} if encoder else {"train__steps": 6, "train__threads": 1}
    first, again = (weights(kind, threads, **sizes) for threads in (1, 2))
    for name, value in first.items():
        assert torch.equal(value, again[name]), name


@pytest.mark.slow
@pytest.mark.skipif(not installed("numba"), reason="compiled kernels are an extra")
def test_threads_of_compiled_kernels_change_no_bit_of_the_weights():
    import numba

    before, found = numba.get_num_threads(), []
    for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
        numba.set_num_threads(threads)
        try:
            found.append(weights(nsed.Matcher, 1, **SIZES, encoder__kind="rnn"))
        finally:
            numba.set_num_threads(before)
    assert all(torch.equal(value, found[1][name]) for name, value in found[0].items())
