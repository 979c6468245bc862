"""Jobs: what trained models are used for, over whole data sets."""

from nsed.jobs.cluster_score import ClusterScore, cluster_score
from nsed.jobs.clustering import CLUSTERERS, cluster, similarity_matrix
from nsed.jobs.likeness import Levenshtein
from nsed.jobs.word_clusters import TunedThreshold, cluster_words, tune_threshold

__all__ = [
    "CLUSTERERS",
    "ClusterScore",
    "Levenshtein",
    "TunedThreshold",
    "cluster",
    "cluster_score",
    "cluster_words",
    "similarity_matrix",
    "tune_threshold",
]
