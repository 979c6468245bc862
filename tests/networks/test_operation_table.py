"""The table of operations: what it holds, what it refuses, and how it is mixed and learned."""

import numpy as np
import pytest
import torch

from nsed.errors import ArgumentError, UnknownNameError
from nsed.networks.operation_table import (
    LearnedOperation,
    OperationTable,
    add_counts,
    by_chance,
    expect,
    iterate,
)
from nsed.progress import ignore
from nsed.text import Vocabulary
from nsed.text.batch import DistinctPairs, EncodedPairs, EncodedStrings
from nsed.types import UNKNOWN

SOURCE, TARGET = Vocabulary(("a", "b")), Vocabulary(("x", "y", "z"))
PARTS = ("delete", "insert", "substitute", "end")


def random_table(seed=0, *, unknown=False):
    generator = torch.Generator().manual_seed(seed)
    table = OperationTable.uniform(SOURCE, TARGET, unknown=unknown)
    for part in vars(table).values():
        part.mul_(torch.rand(part.shape, generator=generator, dtype=part.dtype))
    return table.normalised()


def one_batch(words):
    sides = (EncodedStrings([pair[side] for pair in words]) for side in (0, 1))
    return EncodedPairs(*sides).batch(np.arange(len(words)))


@pytest.mark.parametrize("unknown", [False, True])
def test_a_uniform_table_gives_every_operation_and_the_end_the_same(unknown):
    table = OperationTable.uniform(SOURCE, TARGET, unknown=unknown)
    rows, columns = [*[UNKNOWN] * unknown, 4, 5], [*[UNKNOWN] * unknown, 4, 5, 6]
    share = 1 / (len(rows) + len(columns) + len(rows) * len(columns) + 1)
    expected = OperationTable.zeros(SOURCE, TARGET)
    expected.delete[rows], expected.insert[columns] = share, share
    expected.substitute[np.ix_(rows, columns)] = share
    expected.end.fill_(share)
    for name in PARTS:
        torch.testing.assert_close(getattr(table, name), getattr(expected, name))
    table.check(SOURCE, TARGET)
    table.check_probabilities()


def test_operations_are_those_with_a_probability_and_cost_its_negative_logarithm():
    table = OperationTable.zeros(SOURCE, TARGET)
    table.delete[5] = table.insert[4] = table.substitute[4, 6] = 0.25
    table.end.fill_(0.25)
    found = list(table.operations(SOURCE, TARGET))
    assert found == [("delete", "b", "", 0.25), ("insert", "", "x", 0.25), ("substitute", "a", "z", 0.25)]
    assert [one.cost for one in found] == pytest.approx([np.log(4)] * 3)
    assert [str(one) for one in found] == ["-b", "+x", "a→z"]
    assert str(LearnedOperation("substitute", "a", "a", 0.5)) == "a"


@pytest.mark.parametrize("name", PARTS)
def test_a_table_of_another_size_or_precision_is_refused_by_the_name_of_its_part(name):
    table, size = random_table(), {"delete": "6,", "insert": "7,", "substitute": "6, 7", "end": ""}[name]
    wrong = torch.zeros(2, 2, dtype=torch.float64)
    with pytest.raises(
        ArgumentError, match=rf"{name}: got \(2, 2\), expected \({size}\), the size of the vocabularies"
    ):
        unchecked(table, name, wrong).check(SOURCE, TARGET)
    with pytest.raises(ArgumentError, match=rf"{name}: got torch.float32, expected torch.float64"):
        unchecked(table, name, getattr(table, name).float()).check(SOURCE, TARGET)


def unchecked(table, name, part):
    """The table with another part, whatever its shape: under pytest the constructor would refuse it."""
    made = OperationTable(*vars(table).values())
    object.__setattr__(made, name, part)
    return made


def test_what_is_no_distribution_is_refused():
    table = random_table()
    table.check_probabilities()
    doubled = OperationTable(*(2 * part for part in vars(table).values()))
    with pytest.raises(ArgumentError, match=r"table: got numbers from 0 on with a sum of 2, expected probabilities"):
        doubled.check_probabilities()
    below = OperationTable(table.delete.clone(), table.insert.clone(), table.substitute, table.end)
    below.delete[4] -= 1
    below.insert[4] += 1
    with pytest.raises(ArgumentError, match=r"table: got numbers from -0\.\d+ on with a sum of 1, expected"):
        below.check_probabilities()


def test_tables_are_mixed_with_their_own_end():
    one, other = random_table(1), random_table(2)
    mixed = one.mixed(other, 0.3)
    scale = (1 - one.end) / (1 - other.end)
    for name in PARTS[:3]:
        expected = 0.7 * getattr(one, name) + 0.3 * scale * getattr(other, name)
        torch.testing.assert_close(getattr(mixed, name), expected)
    assert mixed.end == one.end
    assert float(mixed.total()) == pytest.approx(1)


def test_an_iteration_counts_and_adds_the_prior():
    table, prior = random_table(3), random_table(4)
    batches = [one_batch([([4, 5], [4]), ([5], [6, 5])])]
    counts = expect(table, batches, backend="torch", on_batch=ignore).counts
    for given, expected in ((None, counts), (prior, counts.plus(prior))):
        (step,) = iterate(table, batches, pairs=2, first=3, last=3, backend="torch", on_batch=ignore, prior=given)
        assert step.number == 3
        for name in PARTS:
            torch.testing.assert_close(getattr(step.table, name), getattr(expected.normalised(), name))
            torch.testing.assert_close(getattr(counts.plus(prior), name), getattr(counts, name) + getattr(prior, name))


def test_counts_of_two_batches_are_those_of_both_together():
    table, words = random_table(5), [([4, 5], [4]), ([5], [6, 5]), ([], [4])]
    apart, together = (OperationTable.zeros(SOURCE, TARGET) for _ in range(2))
    for word in words:
        batch = one_batch([word])
        add_counts(apart, batch, table.lattice(batch, backend="torch").posteriors)
    batch = one_batch(words)
    add_counts(together, batch, table.lattice(batch, backend="torch").posteriors)
    for name in PARTS:
        torch.testing.assert_close(getattr(apart, name), getattr(together, name))
    assert float(together.end) == 3


def test_lattices_are_those_of_the_backend_asked_for():
    table, batch = random_table(6), one_batch([([4, 5], [4]), ([], [6, 5])])
    by_torch, by_reference = (table.lattice(batch, backend=name).log_prob for name in ("torch", "reference"))
    torch.testing.assert_close(by_torch, by_reference)
    with pytest.raises(UnknownNameError, match="backend: got 'abacus'"):
        table.lattice(batch, backend="abacus")


def test_by_chance_each_string_is_written_by_itself():
    table, sources, targets = random_table(7), [[4, 5], []], [[4, 5], [4], []]
    rows = np.array([0, 0, 1, 1, 0]), np.array([0, 2, 1, 2, 1])
    found = by_chance(table, DistinctPairs(EncodedStrings(sources), EncodedStrings(targets), rows))

    def alone(numbers, margins, others):
        parts = [*(margins[number] for number in numbers), table.end]
        return sum(float((part / (1 - others)).log()) for part in parts)

    for s, t, value in zip(*(side.tolist() for side in rows), found.tolist(), strict=True):
        of_source = alone(sources[s], table.delete + table.substitute.sum(1), table.insert.sum())
        of_target = alone(targets[t], table.insert + table.substitute.sum(0), table.delete.sum())
        assert value == pytest.approx(of_source + of_target)
