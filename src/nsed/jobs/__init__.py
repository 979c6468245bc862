"""Jobs: what trained models are used for, over whole data sets."""

from nsed.jobs.clustering import CLUSTERERS, cluster, similarity_matrix
from nsed.jobs.similarity import CONTROLS, LevenshteinControl
from nsed.jobs.unsupervised import learn_without_gold
from nsed.jobs.word_clusters import ClusterScore, TunedThreshold, cluster_score, cluster_words, tune_threshold

__all__ = [
    "CLUSTERERS",
    "CONTROLS",
    "ClusterScore",
    "LevenshteinControl",
    "TunedThreshold",
    "cluster",
    "cluster_score",
    "cluster_words",
    "learn_without_gold",
    "similarity_matrix",
    "tune_threshold",
]
