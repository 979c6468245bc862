"""`nsed cluster`: the words of a word list in cognate sets."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from rich.table import Table

from nsed.cli.arguments import Output, load_model, open_output, write_tsv
from nsed.cli.console import ProgressBar, err, out, progress_bar
from nsed.errors import ArgumentError, DataError

if TYPE_CHECKING:
    import numpy as np

    from nsed.datasets.word_list import Word, WordTable
    from nsed.jobs import ClusterScore

METHODS = ("average", "components", "infomap", "labels")
"""Clustering methods: names of `nsed.jobs.CLUSTERERS`."""
CLASSES = "COGID"
"""Cognate class column, that of `nsed.datasets.word_list`."""
PROBABLE = 0.5
"""Default threshold, that of `nsed.jobs.similarity`."""
CONTROL = Path("levenshtein")
COLUMN = "CLUSTER"


class Concepts(StrEnum):
    """Concept split: which concepts of a list."""

    ALL = "all"
    TRAINING = "training"
    VALIDATION = "validation"
    TEST = "test"


Scorer = Annotated[
    Path,
    typer.Argument(
        help=f"Folder of a saved model, the name of a shipped one, or {CONTROL}, the control without a model.",
        show_default=False,
    ),
]
WordListPath = Annotated[
    Path,
    typer.Argument(
        help="LingPy word list: a TSV with DOCULECT, CONCEPT, TOKENS; - is standard input.", show_default=False
    ),
]
ThresholdOption = Annotated[
    float | None,
    typer.Option(
        help="How similar, from 0 to 1, words of one cluster are.",
        show_default=f"tuned, or {PROBABLE} for a matcher",
    ),
]
ConceptsOption = Annotated[
    Concepts,
    typer.Option(help="Which concepts to cluster, by the split of nsed data cognates --protocol concepts."),
]


def cluster(
    model: Scorer,
    word_list: WordListPath,
    method: Annotated[str, typer.Option(help=f"How clusters are made: {', '.join(METHODS)}.")] = "average",
    threshold: ThresholdOption = None,
    tune: Annotated[
        Path | None, typer.Option(help="Another word list, with classes, to tune the threshold on.", show_default=False)
    ] = None,
    concepts: ConceptsOption = Concepts.ALL,
    seed: Annotated[int, typer.Option(help="Of that split.")] = 0,
    classes: Annotated[
        str | None,
        typer.Option(help="Column of the cognate classes to compare with.", show_default=f"{CLASSES}, if there"),
    ] = None,
    same_language: Annotated[bool, typer.Option("--same-language", help="Compare words of one language, too.")] = False,
    figures: Annotated[
        Path | None, typer.Option(help="Write the figures here too, as JSON.", show_default=False)
    ] = None,
    output: Output = None,
) -> None:
    """Put the words of each concept into clusters, cognate sets, and write the list with one more column, CLUSTER.

    Each two words of a concept and of two languages are scored, both ways round. **average**: the most similar clusters
    are joined while their mean similarity is at least the threshold. The others look at pairs above the threshold only:
    **components** has together what chains of them connect, **labels** (label propagation) and **infomap** (extra
    cognates) find what hangs closely together.

    The similarity is the probability that a matcher gives; of other models, that of the pair per token. Where the list
    has cognate classes, B-cubed, pairwise and adjusted Rand figures are shown, too.

    **To test a model** that was trained with `nsed data cognates --protocol concepts`, use `--concepts test`, with the
    same seed: the threshold is tuned on the validation concepts, and all figures are of test concepts.
    """
    from nsed.jobs import CLUSTERERS, LevenshteinControl, cluster_score

    CLUSTERERS[method]  # a wrong name is known before anything is read
    table, scorer = _table(word_list), LevenshteinControl() if model == CONTROL else load_model(model)
    everything = table.words(_class_column(table, classes))
    places = _places(everything, concepts, seed)
    words = [everything[place] for place in places]
    tuning = _tuning(tune, classes, words) if tune else _other_concepts(everything, concepts, seed)
    job = Job(scorer, method, same_language)
    limit = _given(threshold, tune) or job.tuned(tuning) or _even_chance(scorer)
    found = job.clusters(words, limit)
    _write(output, table, places, found)
    if any(word.cognate_class for word in words):
        score = cluster_score(words, found)
        (err if output is None else out).print(_figures(method, limit, score))
        _save_figures(figures, {"model": str(model), "method": method, **limit._asdict()}, score)
    elif figures is not None:
        raise ArgumentError("--figures", got=str(figures), expected="nothing: the list has no classes to compare with")


class Threshold(NamedTuple):
    """Clustering threshold and where it comes from."""

    threshold: float
    origin: str


class Tuning(NamedTuple):
    """Tuning data: words to tune a threshold on, and what to call them."""

    words: list[Word]
    name: str


class Job(NamedTuple):
    """Clustering job: words are compared in the same way to tune the threshold and to use it."""

    scorer: object
    method: str
    same_language: bool

    def tuned(self, tuning: Tuning | None) -> Threshold | None:
        """Tuned threshold for these words, or none without words."""
        from nsed.jobs import tune_threshold

        if tuning is None:
            return None
        with self._bar(f"scoring {tuning.name}", tuning.words) as bar:
            tuned = tune_threshold(
                self.scorer,
                tuning.words,
                method=self.method,
                same_language=self.same_language,
                on_batch=bar.advance,
            )
        return Threshold(tuned.threshold, f"tuned on {tuning.name} (B-cubed F {tuned.b_cubed.f1:.1%})")

    def clusters(self, words: list[Word], limit: Threshold) -> np.ndarray:
        """Cluster of each word."""
        from nsed.jobs import cluster_words

        with self._bar("scoring", words) as bar:
            return cluster_words(
                self.scorer,
                words,
                threshold=limit.threshold,
                method=self.method,
                same_language=self.same_language,
                on_batch=bar.advance,
            )

    def _bar(self, what: str, words: list[Word]) -> AbstractContextManager[ProgressBar]:
        from nsed.jobs.word_clusters import compared_pairs

        return progress_bar(what, 2 * len(compared_pairs(words, same_language=self.same_language)))


def _table(path: Path) -> WordTable:
    """Word list; its clusters will have a column of their own."""
    from nsed.datasets.word_list import read_word_table

    table = read_word_table(path)
    if table.has_column(COLUMN):
        message = f"there is a column {COLUMN} already: remove it, or give it another name"
        raise DataError(path, message, line=table.header.line)
    return table


def _class_column(table: WordTable, classes: str | None) -> str | None:
    """Cognate class column: what the user says, even if it is not there; else the usual one, if it is."""
    return classes or (CLASSES if table.has_column(CLASSES) else None)


def _places(words: list[Word], concepts: Concepts, seed: int) -> list[int]:
    from nsed.datasets import protocols

    if concepts is Concepts.ALL:
        return list(range(len(words)))
    part = getattr(protocols, concepts.name)
    places: list[int] = (protocols.parts_of_concepts(words, seed=seed) == part).nonzero()[0].tolist()
    return places


def _other_concepts(words: list[Word], concepts: Concepts, seed: int) -> Tuning | None:
    """Tuning concepts: validation, or training where it is the former that are clustered; none without classes."""
    if concepts is Concepts.ALL or not any(word.cognate_class for word in words):
        return None
    part = Concepts.TRAINING if concepts is Concepts.VALIDATION else Concepts.VALIDATION
    return Tuning([words[place] for place in _places(words, part, seed)], f"{part} concepts")


def _tuning(path: Path, classes: str | None, clustered: list[Word]) -> Tuning:
    """Tuning list: another one, with none of the concepts' words that are clustered: figures would be too good."""
    from nsed.datasets.word_list import read_word_table

    words = read_word_table(path).words(classes or CLASSES)
    shared = {word[:3] for word in words} & {word[:3] for word in clustered}
    if shared:
        expected = "a list without words that are clustered"
        advice = "To tune on other concepts of one list, use --concepts test."
        raise ArgumentError("--tune", got=f"{path}, with {len(shared):,} of them", expected=expected, advice=advice)
    return Tuning(words, path.name)


def _given(threshold: float | None, tune: Path | None) -> Threshold | None:
    if threshold is None:
        return None
    if tune is not None:
        raise ArgumentError("--threshold", got=threshold, expected="nothing beside --tune")
    return Threshold(threshold, "given")


def _even_chance(scorer: object) -> Threshold:
    """Default threshold, even odds: of calibrated probabilities one can say beforehand which are probable."""
    from nsed.models.pair_model import PairModel

    if isinstance(scorer, PairModel):
        return Threshold(PROBABLE, "as probable as not")
    expected = "a number, or --tune or --concepts test to find it: this model gives no calibrated probability"
    raise ArgumentError("--threshold", got="nothing", expected=expected)


def _write(output: Path | None, table: WordTable, places: list[int], found: np.ndarray) -> None:
    """Write all columns as they were, and the cluster."""
    numbered = ([*table.rows[place].cells, number] for place, number in zip(places, found.tolist(), strict=True))
    with open_output(output) as stream:
        write_tsv(stream, chain([[*table.header.cells, COLUMN]], numbered))


def _save_figures(path: Path | None, facts: dict[str, object], score: ClusterScore) -> None:
    if path is None:
        return
    agreements = {name: getattr(score, name)._asdict() for name in ("b_cubed", "pairwise")}
    with open_output(path) as stream:
        json.dump(facts | score._asdict() | agreements, stream, indent=1)


def _figures(method: str, limit: Threshold, score: ClusterScore) -> Table:
    table = Table("figure", "value", box=None, pad_edge=False)
    table.add_row("method", method)
    table.add_row("threshold", f"{limit.threshold:.4f}")
    table.add_row("", limit.origin)
    for name in ("words", "concepts", "clusters", "classes"):
        table.add_row(name, f"{getattr(score, name):,}")
    for name, agreement in (("B-cubed", score.b_cubed), ("pairwise", score.pairwise)):
        for figure, value in zip(("precision", "recall", "F"), agreement, strict=True):
            table.add_row(f"{name} {figure}", f"{value:.2%}")
    table.add_row("adjusted Rand", f"{score.adjusted_rand:.4f}")
    table.add_row("adjusted Rand, mean of concepts", f"{score.adjusted_rand_within:.4f}")
    return table
