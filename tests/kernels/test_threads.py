"""Compiled kernels in several threads give what one thread gives, every time."""

import threading

import pytest
import torch
from torch.autograd import grad

pytest.importorskip("numba", reason="kernels of the extra cpu")

from nsed.kernels.dispatch import ARCS, PAIR_SCORES
from nsed.kernels.numba import parts_of, run_parts
from nsed.lattice import EditLattice
from support.kernels import numba_only

pytestmark = numba_only


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("count", [0, 1, 63, 64, 127, 128, 500, 5000])
def test_parts_are_all_pairs_in_order(count, three_threads):
    for parts in (parts_of(count), parts_of(count, least=100, per_thread=1)):
        assert [number for number, _, _ in parts] == list(range(len(parts)))
        assert [pair for _, first, last in parts for pair in range(first, last)] == list(range(count))
    assert len(parts_of(5000)) == 12
    assert len(parts_of(5000, per_thread=1)) == 3


def test_a_fault_in_any_thread_is_heard_of(three_threads):
    both_there = threading.Barrier(2, timeout=10)

    def kernel(number, first, last):
        both_there.wait()
        if threading.current_thread() is not threading.main_thread():
            raise ValueError(number)

    with pytest.raises(ValueError, match=r"0|1"):
        run_parts(kernel, (), [(0, 0, 1), (1, 1, 2)])


def quantities():
    """Log-probabilities of 2,000 pairs and all gradients, through every kind of kernel."""
    torch.manual_seed(0)
    source, target = torch.randn(2000, 6, 16), torch.randn(2000, 7, 16)
    weight, constant = torch.randn(4, 16), torch.randn(4)
    inputs = [part.requires_grad_() for part in (source, target, weight - weight.mean(1, keepdim=True), constant)]
    scores = PAIR_SCORES.named("numba").pair_scores(*inputs, eps=1e-5, dropout=0.2)
    arcs = ARCS.named("numba").match_arcs(scores)[:3]
    lengths = torch.randint(0, 6, (2000,)), torch.randint(0, 7, (2000,))
    log_prob = EditLattice(*arcs, *lengths, backend="numba").log_prob
    return log_prob, *grad(log_prob.sum(), inputs)


def test_several_threads_give_what_one_gives():
    alone = quantities()
    torch.set_num_threads(3)
    try:
        together, again = quantities(), quantities()
    finally:
        torch.set_num_threads(1)
    for one, other in zip(alone[:3], together[:3], strict=True):
        assert torch.equal(one, other)
    for one, other in zip(alone[3:], together[3:], strict=True):  # sums of the parts' sums
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-3)
    for one, other in zip(together, again, strict=True):
        assert torch.equal(one, other)
