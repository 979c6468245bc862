"""Jobs: what trained models are used for, over whole data sets. Each is imported when it is asked for."""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nsed.jobs.candidates import Candidates, Recall
    from nsed.jobs.choices import ScoredChoice, cdist, extract, extract_one, fixed_scores
    from nsed.jobs.clustering import CLUSTERERS, KeptIds, cluster, keep_ids, similarity_matrix
    from nsed.jobs.correspondences import Correspondence, sound_correspondences
    from nsed.jobs.labelling import LabelQuestion, LabelSession, LearningCurvePoint
    from nsed.jobs.lexicon import LexiconFormat, Pronunciation, lexicon_lines, pronounce
    from nsed.jobs.link_report import LinkSummary
    from nsed.jobs.linking import LinkJob
    from nsed.jobs.lookup import Hit, LookupIndex
    from nsed.jobs.records import NumericColumn, TextColumn
    from nsed.jobs.table_job import JobSummary, TableJob
    from nsed.jobs.unsupervised import learn_without_gold
    from nsed.jobs.word_clusters import (
        CONTROLS,
        ClusterScore,
        LevenshteinControl,
        TunedThreshold,
        cluster_score,
        cluster_words,
        join_across,
        tune_threshold,
    )

__all__ = [
    "CLUSTERERS",
    "CONTROLS",
    "Candidates",
    "ClusterScore",
    "Correspondence",
    "Hit",
    "JobSummary",
    "KeptIds",
    "LabelQuestion",
    "LabelSession",
    "LearningCurvePoint",
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
    "join_across",
    "keep_ids",
    "learn_without_gold",
    "lexicon_lines",
    "pronounce",
    "similarity_matrix",
    "sound_correspondences",
    "tune_threshold",
]

_HOMES = {
    "candidates": ("Candidates", "Recall"),
    "choices": ("ScoredChoice", "cdist", "extract", "extract_one", "fixed_scores"),
    "clustering": ("CLUSTERERS", "KeptIds", "cluster", "keep_ids", "similarity_matrix"),
    "correspondences": ("Correspondence", "sound_correspondences"),
    "labelling": ("LabelQuestion", "LabelSession", "LearningCurvePoint"),
    "lexicon": ("LexiconFormat", "Pronunciation", "lexicon_lines", "pronounce"),
    "link_report": ("LinkSummary",),
    "linking": ("LinkJob",),
    "lookup": ("Hit", "LookupIndex"),
    "records": ("NumericColumn", "TextColumn"),
    "table_job": ("JobSummary", "TableJob"),
    "unsupervised": ("learn_without_gold",),
    "word_clusters": (
        "CONTROLS",
        "ClusterScore",
        "LevenshteinControl",
        "TunedThreshold",
        "cluster_score",
        "cluster_words",
        "join_across",
        "tune_threshold",
    ),
}
"""Public names of each module: the command line has its formats from here, and its help is there at once."""


_RENAMED = {"Growth": "LearningCurvePoint"}
"""Old public names and what they are called now."""


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        message = f"nsed.jobs.{name} is now nsed.jobs.{_RENAMED[name]}; the old name goes with 2.0"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return __getattr__(_RENAMED[name])
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'nsed.jobs' has no attribute {name!r}")
    return getattr(import_module(f"nsed.jobs.{home}"), name)
