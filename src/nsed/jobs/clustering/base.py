"""What a way to make clusters takes and gives, and the registry that holds them by name."""

from collections.abc import Callable

import numpy as np

from nsed.registry import Registry

Clusterer = Callable[[np.ndarray, float], np.ndarray]
"""From a symmetric matrix of similarities, its diagonal not looked at, and a threshold to a number for each item, equal
for items of one cluster. A similarity that is not a number is one that nobody knows."""

CLUSTERERS: Registry[Clusterer] = Registry("method")
