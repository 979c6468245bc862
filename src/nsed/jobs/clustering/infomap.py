"""Infomap: clusters in which a random walker over similar pairs stays long (Rosvall and Bergstrom 2008).

The package `infomap`, of the method's own authors, is an extra: `pip install 'neural-string-edit-distance[cognates]'`.
"""

from importlib import import_module
from importlib.util import find_spec

import numpy as np

from nsed.errors import ArgumentError
from nsed.jobs.clustering.components import connected_components
from nsed.jobs.clustering.similarities import links

SEED, TRIALS = 1, 3


def has_infomap() -> bool:
    """Whether the `infomap` package is installed."""
    return find_spec("infomap") is not None


def infomap_modules(similarities: np.ndarray, threshold: float) -> np.ndarray:
    """The modules of a network that links what is at least as similar as the threshold, with the similarity as weight.

    A walker needs positive weights: similarities are probabilities, or at least not negative. Raises `ArgumentError`
    where one of them is, or where the package is not installed.
    """
    if not has_infomap():
        expected = "another method, or the package infomap: pip install 'neural-string-edit-distance[cognates]'"
        raise ArgumentError("method", got="infomap", expected=expected)
    pairs = np.argwhere(np.triu(links(similarities, threshold)))
    weights = similarities[tuple(pairs.T)]
    if not len(pairs):
        return np.arange(len(similarities))  # Infomap wants a network that is not empty
    if (weights < 0).any():
        raise ArgumentError("similarities", got=weights.min(), expected="no negative ones with the method infomap")
    modules = _modules(len(similarities), pairs, weights)
    # Infomap puts items without a link into modules of others, with which they have nothing in common
    apart: np.ndarray = modules * len(similarities) + connected_components(similarities, threshold)
    return apart


def _modules(count: int, pairs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    network = import_module("infomap").Network()
    network.add_nodes(range(count))
    network.add_links(list(zip(*pairs.T.tolist(), weights.tolist(), strict=True)))
    modules = network.run(two_level=True, seed=SEED, num_trials=TRIALS).modules()
    return np.array([modules[item] for item in range(count)], dtype=np.int64)
