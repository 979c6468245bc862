"""Jobs: what trained models are used for, over whole data sets. Each is imported when it is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nsed.jobs.candidates import Candidates, Recall
    from nsed.jobs.choices import ScoredChoice, cdist, extract, extract_one
    from nsed.jobs.clustering import CLUSTERERS, cluster, similarity_matrix
    from nsed.jobs.fixed_batches import fixed_scores
    from nsed.jobs.lexicon import LexiconFormat, Pronunciation, lexicon_lines, pronounce
    from nsed.jobs.linking import LinkJob, LinkSummary
    from nsed.jobs.lookup import Hit, LookupIndex
    from nsed.jobs.records import NumericColumn, TextColumn
    from nsed.jobs.similarity import CONTROLS, LevenshteinControl
    from nsed.jobs.table_job import JobSummary, TableJob
    from nsed.jobs.unsupervised import learn_without_gold
    from nsed.jobs.word_clusters import ClusterScore, TunedThreshold, cluster_score, cluster_words, tune_threshold

__all__ = [
    "CLUSTERERS",
    "CONTROLS",
    "Candidates",
    "ClusterScore",
    "Hit",
    "JobSummary",
    "LevenshteinControl",
    "LexiconFormat",
    "LinkJob",
    "LinkSummary",
    "LookupIndex",
    "NumericColumn",
    "Pronunciation",
    "Recall",
    "ScoredChoice",
    "TableJob",
    "TextColumn",
    "TunedThreshold",
    "cdist",
    "cluster",
    "cluster_score",
    "cluster_words",
    "extract",
    "extract_one",
    "fixed_scores",
    "learn_without_gold",
    "lexicon_lines",
    "pronounce",
    "similarity_matrix",
    "tune_threshold",
]

_HOMES = {
    "candidates": ("Candidates", "Recall"),
    "choices": ("ScoredChoice", "cdist", "extract", "extract_one"),
    "clustering": ("CLUSTERERS", "cluster", "similarity_matrix"),
    "fixed_batches": ("fixed_scores",),
    "lexicon": ("LexiconFormat", "Pronunciation", "lexicon_lines", "pronounce"),
    "linking": ("LinkJob", "LinkSummary"),
    "lookup": ("Hit", "LookupIndex"),
    "records": ("NumericColumn", "TextColumn"),
    "similarity": ("CONTROLS", "LevenshteinControl"),
    "table_job": ("JobSummary", "TableJob"),
    "unsupervised": ("learn_without_gold",),
    "word_clusters": ("ClusterScore", "TunedThreshold", "cluster_score", "cluster_words", "tune_threshold"),
}
"""Public names of each module: the command line has its formats from here, and its help is there at once."""


def __getattr__(name: str) -> Any:
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'nsed.jobs' has no attribute {name!r}")
    return getattr(import_module(f"nsed.jobs.{home}"), name)
