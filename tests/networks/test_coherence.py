"""Coherence of neighbouring cells: it begins at nothing, knows no symbols, and padding and order change nothing."""

import torch

from nsed.lattice import Arcs
from nsed.networks.odds import UNIT, Coherence
from nsed.text.batch import EncodedPairs, EncodedStrings


def random_arcs(batch, seed=0):
    generator = torch.Generator().manual_seed(seed)
    size = (len(batch.rows), batch.source.shape[1] + 1, batch.target.shape[1] + 1)
    return Arcs(*(torch.randn(size, generator=generator, dtype=torch.float64) for _ in range(3)))


def a_batch(lengths):
    sides = (EncodedStrings([[4] * length[side] for length in lengths]) for side in (0, 1))
    pairs = EncodedPairs(*sides)
    return pairs.batch(torch.arange(len(lengths)).numpy())


def trained(symmetric=False):
    torch.manual_seed(1)
    made = Coherence(5, symmetric=symmetric)
    torch.nn.init.normal_(made.residual.weight)
    torch.nn.init.normal_(made.residual.bias)
    return made


def test_it_begins_with_the_log_odds_as_they_are():
    batch = a_batch([(3, 4), (0, 2), (1, 0)])
    arcs = random_arcs(batch)
    for symmetric in (False, True):
        found = Coherence(5, symmetric=symmetric)(batch, arcs)
        assert all(torch.equal(one, other) for one, other in zip(found, arcs, strict=True))


def test_padding_changes_no_real_cell():
    lengths = [(3, 4), (2, 1), (0, 2), (5, 0)]
    together = a_batch(lengths)
    arcs = random_arcs(together)
    for symmetric in (False, True):
        network = trained(symmetric)
        found = network(together, arcs)
        for row, (n, m) in enumerate(lengths):
            alone = network(a_batch([(n, m)]), Arcs(*(part[row : row + 1, : n + 1, : m + 1] for part in arcs)))
            for one, other in zip(found, alone, strict=True):
                torch.testing.assert_close(one[row, : n + 1, : m + 1], other[0], rtol=0, atol=1e-12)


def test_symmetric_coherence_of_a_reversed_pair_is_the_reverse():
    batch, reverse = a_batch([(3, 4)]), a_batch([(4, 3)])
    arcs = random_arcs(batch)
    turned = Arcs(*(part.transpose(1, 2) for part in (arcs.insert, arcs.delete, arcs.substitute)))
    network = trained(symmetric=True)
    found, other = network(batch, arcs), network(reverse, turned)
    torch.testing.assert_close(found.substitute, other.substitute.transpose(1, 2))
    torch.testing.assert_close(found.delete, other.insert.transpose(1, 2))


def test_a_cell_depends_on_its_neighbours_and_on_none_further_away():
    batch, network = a_batch([(6, 6)]), trained()
    arcs = random_arcs(batch)
    other = arcs._replace(substitute=arcs.substitute.clone())
    other.substitute[0, 1, 1] += 1
    change = (network(batch, other).substitute - network(batch, arcs).substitute).abs()[0]
    assert change[2, 2] > 0
    assert change[:, 3:].max() == 0
    assert change[3:].max() == 0


def test_log_odds_are_seen_in_their_unit_with_what_cells_are_real():
    batch, network = a_batch([(2, 3)]), trained().double()
    arcs = random_arcs(batch)
    seen = torch.stack([arcs.substitute, arcs.delete, arcs.insert], 1) / UNIT
    seen[:, 0, 0], seen[:, 0, :, 0], seen[:, 1, 0], seen[:, 2, :, 0] = 0, 0, 0, 0  # no such arc on the borders
    channels = torch.cat([seen, torch.ones_like(seen[:, :1])], 1)
    substitute, delete, insert = network.residual(network.window(channels).relu())[0]
    expected = Arcs(arcs.delete + delete, arcs.insert + insert, arcs.substitute + substitute)
    for one, other in zip(network(batch, arcs), expected, strict=True):
        torch.testing.assert_close(one, other)
