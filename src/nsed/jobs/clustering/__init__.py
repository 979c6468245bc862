"""From similarities of pairs to groups of items."""

from nsed.jobs.clustering.clusters import cluster
from nsed.jobs.clustering.registry import CLUSTERERS
from nsed.jobs.clustering.similarities import similarity_matrix

__all__ = ["CLUSTERERS", "cluster", "similarity_matrix"]
