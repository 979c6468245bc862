"""Scores by a table of operations: every implementation against its twin, and the twin against the lattices."""

import pytest
import torch

from nsed.kernels.contracts import TableStrings
from nsed.kernels.dispatch import TABLE_SCORES
from nsed.lattice import EditLattice
from nsed.types import NEG, REACHABLE
from support.kernels import interprets_triton, shapes

SYMBOLS, PAIRS = 6, 150
BACKENDS = [] if interprets_triton() else [name for name in TABLE_SCORES.implementations if name != "torch"]
every_backend = pytest.mark.parametrize("backend", BACKENDS)


def strings(count, longest, kinds=10, *, spread=1.0, dtype=torch.float64):
    """Random strings, the first of them empty, of kinds with random weights."""
    lengths = torch.randint(0, longest + 1, (count,))
    lengths[0] = 0
    starts = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)])
    flat, row = torch.randint(0, kinds, (int(starts[-1]),)), torch.randint(0, SYMBOLS, (kinds,))
    gap, shift = (spread * torch.randn(kinds, dtype=dtype) for _ in range(2))
    return TableStrings(flat.int(), starts, gap, row, torch.rand(kinds, dtype=dtype) + 0.5, shift)


def drawn(source, target, count=PAIRS):
    return [torch.randint(0, len(side.starts) - 1, (count,)) for side in (source, target)]


def scores(backend, source, target, table, pairs):
    code = TABLE_SCORES.implementations[backend].code
    return code.scorer(source, target, table, pairs=len(pairs[0]))(*pairs)


def by_lattices(source, target, table, pairs):
    """Each pair's own lattice, its arcs written down one by one."""
    found = []
    for s, t in zip(*(side.tolist() for side in pairs), strict=True):
        a, b = (side.flat[side.starts[one] : side.starts[one + 1]] for side, one in ((source, s), (target, t)))
        arcs = torch.zeros(3, 1, len(a) + 1, len(b) + 1, dtype=torch.float64)
        for i, kind in enumerate(a.tolist(), start=1):
            arcs[0, 0, i] = source.gap[kind]
            for j, other in enumerate(b.tolist(), start=1):
                arcs[1, 0, :, j] = target.gap[other]
                entry = table[source.row[kind], target.row[other]]
                arcs[2, 0, i, j] = (
                    source.factor[kind] * target.factor[other] * entry + source.shift[kind] + target.shift[other]
                )
        for j, other in enumerate(b.tolist(), start=1):
            arcs[1, 0, :, j] = target.gap[other]
        lengths = torch.tensor([len(a)]), torch.tensor([len(b)])
        found.append(EditLattice(*arcs, *lengths, backend="torch").log_prob)
    return torch.cat(found)


@shapes((4, 6, 3, 5), (1, 0, 1, 0), (5, 0, 4, 8), large=((7, 9, 5, 6), (4, 17, 3, 20)))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("largest", [None, 0], ids=["by gains", "by exponentials"])
@every_backend
def test_scores_are_the_twins(backend, largest, dtype, shape, monkeypatch):
    torch.manual_seed(0)
    source, target = strings(*shape[:2], dtype=dtype), strings(*shape[2:], dtype=dtype)
    table, pairs = 2 * torch.randn(SYMBOLS, SYMBOLS, dtype=dtype), drawn(source, target)
    if largest is not None:
        monkeypatch.setattr(f"nsed.kernels.{backend}.table_scores.LARGEST_TABLE", largest)
    ours, expected = scores(backend, source, target, table, pairs), scores("torch", source, target, table, pairs)
    tolerance = {"rtol": 1e-12, "atol": 1e-10} if dtype == torch.float64 else {"rtol": 1e-5, "atol": 1e-4}
    torch.testing.assert_close(ours.to(dtype), expected, **tolerance)
    order = torch.randperm(PAIRS)
    permuted = scores(backend, source, target, table, [side[order] for side in pairs])
    torch.testing.assert_close(permuted, ours[order], rtol=0, atol=0)


@every_backend
def test_a_score_depends_on_no_other_pair_and_on_no_table(backend, monkeypatch):
    torch.manual_seed(5)
    source, target = strings(9, 12, kinds=60), strings(9, 12, kinds=60)
    table, pairs = torch.randn(SYMBOLS, SYMBOLS, dtype=torch.float64), drawn(source, target)
    together = scores(backend, source, target, table, pairs)
    alone = [scores(backend, source, target, table, [side[row : row + 1] for side in pairs]) for row in range(PAIRS)]
    assert torch.equal(torch.cat(alone), together)
    torch.set_num_threads(2)
    try:
        assert torch.equal(scores(backend, source, target, table, pairs), together)
    finally:
        torch.set_num_threads(1)
    monkeypatch.setattr(f"nsed.kernels.{backend}.table_scores.LARGEST_TABLE", 0)
    assert torch.equal(scores(backend, source, target, table, pairs), together)


@pytest.mark.parametrize("backend", ["torch", *BACKENDS])
def test_scores_are_those_of_the_lattices(backend):
    torch.manual_seed(1)
    source, target = strings(6, 7), strings(5, 6)
    table, pairs = torch.randn(SYMBOLS, SYMBOLS, dtype=torch.float64), drawn(source, target, 40)
    table[2, 3] = -torch.inf
    expected = by_lattices(source, target, table, pairs)
    torch.testing.assert_close(scores(backend, source, target, table, pairs), expected)


@pytest.mark.parametrize("spread", [30.0, 300.0], ids=["smaller gaps", "logarithms"])
@every_backend
def test_long_strings_and_heavy_weights_neither_overflow_nor_underflow(backend, spread):
    torch.manual_seed(2)
    source, target = strings(4, 40, spread=spread), strings(4, 50, spread=spread)
    table, pairs = spread * torch.randn(SYMBOLS, SYMBOLS, dtype=torch.float64), drawn(source, target)
    expected = scores("torch", source, target, table, pairs)
    assert expected.abs().max() > 10 * spread
    torch.testing.assert_close(scores(backend, source, target, table, pairs), expected, rtol=1e-11, atol=1e-9)


@every_backend
def test_a_prefix_that_only_the_end_makes_worth_while_is_not_lost(backend):
    """The best derivation is by far the worst in the middle: a row scaled by its largest cell would lose it."""
    kinds, count = 3, 200
    flat = torch.tensor([0] * count + [1] * count).int()
    gap = torch.full((kinds,), -5.0, dtype=torch.float64)
    plain = gap, torch.arange(kinds), torch.ones(kinds).double(), torch.zeros(kinds).double()
    source = TableStrings(flat, torch.tensor([0, 2 * count]), *plain)
    target = TableStrings(flat[count:], torch.tensor([0, count]), *plain)
    table = torch.full((kinds, kinds), -3.0, dtype=torch.float64)
    table[1, 1] = 5.0
    pairs = [torch.zeros(1, dtype=torch.long)] * 2
    expected = scores("torch", source, target, table, pairs)
    torch.testing.assert_close(scores(backend, source, target, table, pairs), expected)
    assert 0 < expected.item() < 10  # 200 deletions, 200 substitutions, and some ways more


@every_backend
def test_impossible_operations_leave_the_others_and_what_has_none_left_is_unreachable(backend):
    torch.manual_seed(3)
    source, target = strings(5, 5), strings(5, 5)
    table, pairs = torch.randn(SYMBOLS, SYMBOLS, dtype=torch.float64), drawn(source, target)
    source.gap[:4], target.gap[2:5] = -torch.inf, NEG
    table[1], table[:, 2] = -torch.inf, NEG
    ours, expected = scores(backend, source, target, table, pairs), scores("torch", source, target, table, pairs)
    assert torch.equal(ours > REACHABLE, expected > REACHABLE)
    reached = expected > REACHABLE
    assert 0 < reached.sum() < PAIRS
    torch.testing.assert_close(ours[reached], expected[reached])


def test_the_twin_has_the_same_scores_some_pairs_after_the_others(monkeypatch):
    torch.manual_seed(4)
    source, target = strings(5, 6), strings(5, 6)
    table, pairs = torch.randn(SYMBOLS, SYMBOLS, dtype=torch.float64), drawn(source, target)
    expected = scores("torch", source, target, table, pairs)
    monkeypatch.setattr("nsed.kernels.torch.table_scores.FEWER_CELLS", 50)
    torch.testing.assert_close(scores("torch", source, target, table, pairs), expected)
