"""Log-odds of many pairs: by the kernel of tables or, where operations depend on their context, by lattices."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch

from nsed.lattice import EditLattice
from nsed.networks.bulk_scores import table_log_probs
from nsed.networks.odds import Odds, OddsNetwork
from nsed.progress import OnBatch, ignore
from nsed.text import PairBatch
from nsed.text.batch import DistinctPairs, EncodedPairs, at_place
from nsed.types import PerPair


class PairOdds(NamedTuple):
    """Log-odds of pairs in parts: log-probabilities of their lattices, and what makes log-odds of them."""

    log_probs: np.ndarray
    scale: float
    biases: np.ndarray

    @property
    def scores(self) -> np.ndarray:
        """Log-odds."""
        scores: np.ndarray = self.scale * self.log_probs + self.biases
        return scores


def odds_lattices(
    network: OddsNetwork,
    pairs: EncodedPairs,
    device: torch.device,
    odds: Odds | None = None,
    *,
    in_context: bool = True,
    place: Callable[[int], str] = at_place,
) -> Iterator[tuple[PairBatch, EditLattice, PerPair]]:
    """Lattices of all pairs, in batches, with the bias of each pair; not in context, without coherence."""
    if odds is None:
        with torch.no_grad():
            odds = network.odds()
    for batch in pairs.batches(place=place):
        here = batch.to(device)
        with torch.no_grad():
            lattice, bias = network(here, odds, in_context=in_context)
        yield here, lattice, bias


def pair_odds(
    network: OddsNetwork,
    pairs: DistinctPairs,
    device: torch.device,
    odds: Odds | None = None,
    *,
    in_context: bool = True,
    on_batch: OnBatch = ignore,
    place: Callable[[int], str] = at_place,
) -> PairOdds:
    """Log-odds of each pair, in order: by the kernel of tables, or by lattices where the network is no table.

    Not in context, without coherence, it always is one.
    """
    if in_context and network.no_table():
        log_probs, biases = np.empty(len(pairs)), np.empty(len(pairs))
        for batch, lattice, bias in odds_lattices(network, pairs.expanded(), device, odds, place=place):
            rows = batch.rows.cpu().numpy()
            log_probs[rows], biases[rows] = lattice.log_prob.cpu().numpy(), bias.cpu().numpy()
            on_batch(len(rows))
        return PairOdds(log_probs, _scale(network), biases)
    with torch.no_grad():
        odds = network.odds() if odds is None else odds
    biases = np.full(len(pairs), float(odds.bias))
    for part in bias_parts(network, pairs, device, odds).values():
        biases = biases + part
    compiled = network.compiled(pairs.source, pairs.target, odds)
    return PairOdds(table_log_probs(compiled, pairs, on_batch=on_batch, place=place), _scale(network), biases)


def bias_parts(network: OddsNetwork, pairs: DistinctPairs, device: torch.device, odds: Odds) -> dict[str, np.ndarray]:
    """Parts of the bias of each pair that differ from pair to pair, by name: see `OddsNetwork.bias_parts`."""
    n, m = (torch.from_numpy(part).to(device) for part in pairs.lengths)
    languages = None if pairs.languages is None else torch.from_numpy(pairs.languages).to(device)
    identical = torch.from_numpy(pairs.identical).to(device)
    with torch.no_grad():
        parts = network.bias_parts(odds, (n, m), languages, identical)
    return {name: part.cpu().numpy() for name, part in parts.items()}


def _scale(network: OddsNetwork) -> float:
    return float(network.scale.detach().double().exp())
