"""Connected components: whatever a chain of similar pairs connects is one cluster."""

import numpy as np

from nsed.jobs.clustering.similarities import links


def connected_components(similarities: np.ndarray, threshold: float) -> np.ndarray:
    """Items are together where a chain of pairs, all at least as similar as the threshold, leads from one to another.

    Union-find: each item points to one above it, the top of which stands for all of its cluster.
    """
    above = list(range(len(similarities)))
    for one, other in np.argwhere(np.triu(links(similarities, threshold))).tolist():
        above[_top(one, above)] = _top(other, above)
    return np.array([_top(item, above) for item in above], dtype=np.int64)


def _top(item: int, above: list[int]) -> int:
    """The item that stands for all those connected with this one; the way there is halved for the next time."""
    while above[item] != item:
        above[item] = item = above[above[item]]
    return item
