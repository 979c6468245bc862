"""What must hold of any lattice, whatever the numbers."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from nsed.kernels.dispatch import LATTICE
from nsed.kernels.semiring import LOG, MAX, incoming
from nsed.lattice import EditLattice, Operation
from nsed.lattice.arcs import final_cell, turned, unstacked
from nsed.lattice.forward_backward import forward_table, ratios_of, sweep
from nsed.lattice.reference import alpha, beta
from nsed.types import NEG
from support.lattices import every_backend, padded, random_case, with_rubbish

sizes = st.integers(0, 9)
shapes = st.fixed_dictionaries({"seed": st.integers(0, 10**6), "batch": st.integers(1, 6), "n": sizes, "m": sizes})


def stacked(arcs):
    return torch.stack([table.movedim(0, -1) for table in arcs])


def answers(lattice):
    """Everything of a lattice that does not depend on how much padding its tables have."""
    best = lattice.best_path()
    return {"log_prob": lattice.log_prob, "entropy": lattice.entropy, "best": best.score}


def tables(lattice):
    return {
        "alpha": lattice.log_alpha,
        "beta": lattice.log_beta,
        **{f"posterior {k}": v for k, v in lattice.posteriors._asdict().items()},
        **{f"expected {k}": v for k, v in lattice.expected_operations()._asdict().items()},
    }


@settings(max_examples=60, deadline=None)
@given(shapes)
def test_torch_equals_reference_tables(shape):
    case = random_case(**shape)
    lattice = case.lattice("torch")
    for pair in range(len(case)):
        rows, columns = case.source_lengths[pair] + 1, case.target_lengths[pair] + 1
        for table, oracle in ((lattice.log_alpha, alpha), (lattice.log_beta, beta)):
            expected = torch.tensor(oracle(case.grids(pair)), dtype=torch.float64)
            torch.testing.assert_close(table[pair, :rows, :columns], expected, rtol=1e-12, atol=1e-12)


@every_backend
@settings(max_examples=30, deadline=None)
@given(shape=shapes)
def test_beta_at_the_start_is_alpha_at_the_end(backend, shape):
    lattice = random_case(**shape).lattice(backend)
    torch.testing.assert_close(lattice.log_beta[:, 0, 0], lattice.log_prob, rtol=1e-12, atol=1e-12)


@every_backend
@settings(max_examples=30, deadline=None)
@given(shape=shapes)
def test_posteriors_are_alpha_arc_beta_over_alpha(backend, shape):
    lattice = random_case(**shape).lattice(backend)
    ends_here = unstacked(incoming(lattice.log_alpha.movedim(0, -1), stacked(lattice.arcs)))
    for entering, posterior in zip(ends_here, lattice.posteriors, strict=True):
        by_product = (entering + lattice.log_beta - lattice.log_prob[:, None, None]).exp()
        torch.testing.assert_close(posterior, by_product, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("semiring", [LOG, MAX])
def test_hand_written_gradient_is_the_gradient_of_the_plain_recursion(semiring):
    """The recursion in ordinary differentiable tensor operations, cell by cell, as the independent witness."""
    case = random_case(5, n=4, m=3)
    lattice = case.lattice()
    arcs = lattice.arcs.map(lambda table: table.clone().requires_grad_())
    injection = torch.randn(arcs.delete.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    ours = forward_table(stacked(arcs), backend=LATTICE.named("torch"), semiring=semiring).movedim(-1, 0)
    plain = cell_by_cell(arcs, semiring)
    real = plain > -1e20
    torch.testing.assert_close(ours[real], plain[real], rtol=1e-12, atol=1e-12)
    gradients = [torch.autograd.grad((t * injection)[real].sum(), arcs) for t in (ours, plain)]
    for by_sweep, by_autograd in zip(*gradients, strict=True):
        torch.testing.assert_close(by_sweep, by_autograd, rtol=1e-10, atol=1e-12)


@every_backend
def test_second_derivatives_are_those_of_the_plain_recursion(backend):
    case, full = random_case(6, batch=4, n=2, m=2), torch.tensor([2] * 4)
    lattice = case.replace(source_lengths=full, target_lengths=full).lattice()  # the witness knows no padding
    arcs = lattice.arcs.map(lambda table: table.clone().requires_grad_())
    generator = torch.Generator().manual_seed(1)
    injection, direction = torch.randn(2, *arcs.delete.shape, dtype=torch.float64, generator=generator)
    ours = forward_table(stacked(arcs), backend=LATTICE.named(backend), semiring=LOG).movedim(-1, 0)
    plain = cell_by_cell(arcs, LOG)
    real, seconds = plain > -1e20, []
    for table in (ours, plain):
        firsts = torch.autograd.grad((table * injection)[real].sum(), arcs, create_graph=True)
        seconds.append(torch.autograd.grad(sum((first * direction).sum() for first in firsts), arcs))
    for by_sweep, by_autograd in zip(*seconds, strict=True):
        torch.testing.assert_close(by_sweep, by_autograd, rtol=1e-10, atol=1e-12)
    assert any(second.any() for second in seconds[0])


def cell_by_cell(arcs, semiring):
    rows, columns = arcs.delete.shape[1:]
    table = {(0, 0): torch.zeros(len(arcs.delete), dtype=arcs.delete.dtype)}
    for i in range(rows):
        for j in range(columns):
            terms = [
                table[start] + weights[:, i, j]
                for start, weights in zip([(i - 1, j), (i, j - 1), (i - 1, j - 1)], arcs, strict=True)
                if start in table
            ]
            for term in terms:
                table[i, j] = semiring.plus(table[i, j], term) if (i, j) in table else term
    return torch.stack([torch.stack([table[i, j] for j in range(columns)], 1) for i in range(rows)], 1)


@every_backend
@settings(max_examples=30, deadline=None)
@given(shape=shapes)
def test_posteriors_equal_the_gradient(backend, shape):
    case = random_case(**shape)
    arcs = case.arcs.map(lambda table: table.clone().requires_grad_())
    lattice = EditLattice(*arcs, case.source_lengths, case.target_lengths, backend=backend)
    gradients = torch.autograd.grad(lattice.log_prob.sum(), arcs)
    for gradient, posterior in zip(gradients, lattice.posteriors, strict=True):
        torch.testing.assert_close(gradient, posterior.detach(), rtol=1e-12, atol=1e-12)


@every_backend
@settings(max_examples=30, deadline=None)
@given(shape=shapes)
def test_arcs_over_any_diagonal_cut_sum_to_one(backend, shape):
    """Between diagonals k-1 and k: deletes and inserts into k, substitutions into k or k+1."""
    case = random_case(**shape)
    delete, insert, substitute = case.lattice(backend).posteriors
    i = torch.arange(delete.shape[1])[:, None]
    j = torch.arange(delete.shape[2])[None, :]
    for cut in range(1, int(delete.shape[1] + delete.shape[2])):
        crossing = (delete + insert) * (i + j == cut) + substitute * ((i + j == cut) | (i + j == cut + 1))
        inside = case.source_lengths + case.target_lengths >= cut
        torch.testing.assert_close(crossing.sum((1, 2)), inside.double(), rtol=1e-12, atol=1e-12)


@every_backend
@pytest.mark.parametrize("fill", [0.0, 1e4, -torch.inf, torch.inf, torch.nan])
@pytest.mark.parametrize("extra", [(1, 0), (0, 3), (7, 5)])
def test_padding_changes_nothing(backend, fill, extra):
    case = random_case(8, n=3, m=4)
    small, large = case.lattice(backend), with_rubbish(padded(case, *extra, fill), fill).lattice(backend)
    for name, value in answers(small).items():
        torch.testing.assert_close(answers(large)[name], value, rtol=1e-12, atol=1e-12)
    for name, table in tables(small).items():
        inside = tables(large)[name][:, : table.shape[1], : table.shape[2]]
        torch.testing.assert_close(inside, table, rtol=1e-12, atol=1e-12)
    longer = large.best_path().operations
    torch.testing.assert_close(longer[:, :7], small.best_path().operations)
    assert not longer[:, 7:].any()


@every_backend
def test_order_of_the_batch_changes_nothing(backend):
    case = random_case(21, batch=9)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(4))
    shuffled = case.replace(
        arcs=case.arcs.map(lambda table: table[order]),
        source_lengths=case.source_lengths[order],
        target_lengths=case.target_lengths[order],
    )
    straight, mixed = case.lattice(backend), shuffled.lattice(backend)
    for name, value in {**answers(straight), **tables(straight)}.items():
        torch.testing.assert_close({**answers(mixed), **tables(mixed)}[name], value[order], rtol=1e-12, atol=1e-12)


@every_backend
def test_no_derivation_reaches_the_padding(backend):
    case = padded(random_case(9, n=3, m=2), 2, 1, fill=0.0)
    lattice = case.lattice(backend)
    rows, columns = torch.arange(6)[:, None], torch.arange(4)
    outside = (rows > case.source_lengths[:, None, None]) | (columns > case.target_lengths[:, None, None])
    for table in (lattice.log_alpha, lattice.log_beta):
        assert (table[outside] == NEG).all()
        assert (table[~outside] > NEG).all()


def test_the_lattice_of_reversed_strings_has_alpha_for_beta():
    case = random_case(12, batch=9, n=4, m=3)
    lengths = case.source_lengths, case.target_lengths
    here, there = case.lattice(), EditLattice(*turned(case.arcs, *lengths), *lengths)
    torch.testing.assert_close(there.log_prob, here.log_prob)
    for pair, (n, m) in enumerate(zip(*(side.tolist() for side in lengths), strict=True)):
        own = there.log_alpha[pair, : n + 1, : m + 1]
        torch.testing.assert_close(own.flip(0, 1), here.log_beta[pair, : n + 1, : m + 1])
    for one, other in zip(there.posteriors, here.posteriors, strict=True):
        torch.testing.assert_close(one.sum((1, 2)), other.sum((1, 2)))


@every_backend
def test_what_is_made_is_made_where_the_weights_are(backend):
    """Elsewhere is, for once, a device whose tensors have no values: none of them fits the weights."""
    case = random_case(4)
    lengths = case.source_lengths, case.target_lengths

    def found():
        lattice = EditLattice(*turned(case.arcs, *lengths), *lengths, backend=backend)
        sampled = lattice.sample_paths(2, generator=torch.Generator().manual_seed(0))
        return {**answers(lattice), **tables(lattice), "occupied": lattice.occupancy, "sampled": sampled.operations}

    expected = found()
    with torch.device("meta"):
        there = found()
    for name, value in expected.items():
        assert torch.equal(there[name], value), name


@every_backend
def test_repeated_runs_agree_bit_for_bit(backend):
    case = random_case(2, batch=33, n=9, m=8)
    first, second = case.lattice(backend), case.lattice(backend)
    for name, value in {**answers(first), **tables(first)}.items():
        assert torch.equal(value, {**answers(second), **tables(second)}[name]), name


@every_backend
@settings(max_examples=30, deadline=None)
@given(shape=shapes)
def test_best_path_is_no_better_than_all_paths_together(backend, shape):
    lattice = random_case(**shape).lattice(backend)
    assert (lattice.best_path().score <= lattice.log_prob + 1e-12).all()


@every_backend
@settings(max_examples=30, deadline=None)
@given(shape=shapes)
def test_expected_operations_of_a_cell_sum_to_one(backend, shape):
    case = random_case(**shape)
    lattice = case.lattice(backend)
    reachable = lattice.log_alpha > -1e20
    reachable[:, 0, 0] = False
    torch.testing.assert_close(lattice.expected_operations().total(), reachable.double(), rtol=1e-12, atol=1e-12)
    weighted = lattice.expected_operations("posterior").total()
    visited = lattice.occupancy.clone()
    visited[:, 0, 0] = 0
    torch.testing.assert_close(weighted, visited, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_unit_costs_in_the_max_semiring_give_levenshtein_on_ten_thousand_pairs():
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(0, 16, (2, 10_000), generator=generator)
    sources, targets = torch.randint(0, 4, (2, 10_000, 15), generator=generator)
    ones = -torch.ones(10_000, 16, 16)
    mismatch = torch.nn.functional.pad((sources[:, :, None] != targets[:, None, :]).float(), (1, 0, 1, 0))
    paths = EditLattice(ones, ones, -mismatch, *lengths).best_path()
    expected = [
        Levenshtein.distance(s[:n].tolist(), t[:m].tolist())
        for s, t, n, m in zip(sources, targets, *lengths, strict=True)
    ]
    assert (-paths.score).int().tolist() == expected


def test_ties_go_to_substitutions():
    zeros = torch.zeros(1, 4, 4)
    paths = EditLattice(zeros, zeros, zeros, torch.tensor([3]), torch.tensor([3])).best_path()
    assert [step.operation for step in paths.steps(0)] == [Operation.SUBSTITUTE] * 3


def test_max_semiring_forward_is_the_best_score():
    case = random_case(13)
    lattice = case.lattice()
    best = forward_table(stacked(lattice.arcs), backend=LATTICE.named("torch"), semiring=MAX)
    ends = final_cell(best, case.source_lengths, case.target_lengths)
    torch.testing.assert_close(ends, lattice.best_path().score, rtol=1e-12, atol=1e-12)


def test_an_empty_batch_gives_empty_answers():
    none = torch.zeros(0, 3, 4)
    lattice = EditLattice(none, none, none, torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.long))
    assert lattice.log_prob.shape == (0,)
    assert lattice.posteriors.delete.shape == (0, 3, 4)
    assert lattice.best_path().operations.shape == (0, 5)


def test_long_strings_stay_exact():
    """3000 symbols into 2 without inserts, in single precision: choose the two that are substituted."""
    n, m = 3000, 2
    blocked = torch.full((1, n + 1, m + 1), -torch.inf)
    lattice = EditLattice(torch.zeros_like(blocked), blocked, torch.zeros_like(blocked), *torch.tensor([[n], [m]]))
    torch.testing.assert_close(lattice.log_prob, torch.tensor([n * (n - 1) / 2]).log(), rtol=1e-5, atol=0)
    torch.testing.assert_close(lattice.posteriors.substitute.sum(), torch.tensor(2.0), rtol=1e-3, atol=0)


def test_the_recursions_never_ask_the_device_for_a_value():
    """Tensors on `meta` have shapes but no values: whoever asks for one, fails."""
    backend, weights = LATTICE.named("torch"), torch.empty(3, 5, 6, 2, device="meta")
    assert forward_table(weights, backend=backend, semiring=LOG).shape == (5, 6, 2)
    assert sweep(weights[0], weights, backend=backend, reverse=True).shape == (5, 6, 2)
    assert ratios_of(weights[0], weights, semiring=MAX).shape == (3, 5, 6, 2)


def test_the_weights_to_look_at_carry_no_gradient():
    zeros = torch.zeros(1, 2, 2, requires_grad=True)
    assert not EditLattice(zeros, zeros, zeros, torch.tensor([1]), torch.tensor([1])).arcs.delete.requires_grad
