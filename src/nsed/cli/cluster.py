"""`nsed cluster`: the words of a word list in cognate sets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer
from rich.table import Table

from nsed.cli.arguments import Output, load_model, open_output, since_before
from nsed.cli.cognate_sets import (
    CLASSES,
    COLUMN,
    FoundSets,
    SetsFormat,
    SetsFormatOption,
    check_sets_output,
    read_table,
    write_sets,
)
from nsed.cli.console import err, out, progress_bar, warn
from nsed.errors import ArgumentError, DataError, UnknownNameError

if TYPE_CHECKING:
    import numpy as np

    from nsed.datasets.word_list import Word, WordTable
    from nsed.jobs import ClusterScore
    from nsed.jobs.clustering import EarlierClusters
    from nsed.jobs.cognate_sets import Morphemes
    from nsed.jobs.word_clusters import ConceptWords

METHODS = ("average", "components", "infomap", "labels")
"""Clustering methods: names of `nsed.jobs.CLUSTERERS`."""
PROBABLE = 0.5
"""Default threshold, that of `nsed.jobs.word_clusters`."""
CONTROLS = ("levenshtein", "sca", "lexstat")
"""Controls: names of `nsed.jobs.CONTROLS`."""
AUTO = "auto"
"""Name for a model that is learned from the word list alone."""
LINKS = "links"
"""First word of `nsed cluster links`, which is no model."""
LIKELY = 0.25
"""Cognate share of pairs within a concept, for a first threshold; measured: `results/cluster-thresholds.json`."""
LEXSTAT_WORDS = 100
"""Words of a language below which LexStat is warned of: too few of each sound to tell correspondences from chance."""


class Concepts(StrEnum):
    """Concept split: which concepts of a list."""

    ALL = "all"
    TRAINING = "training"
    VALIDATION = "validation"
    TEST = "test"


Scorer = Annotated[
    Path,
    typer.Argument(
        help=f"{AUTO}: a model is learned from the list alone, without cognate classes. Or cognates, the model of "
        "three families that comes with nsed, or the folder of a saved model; or a control, which needs no training: "
        f"{', '.join(CONTROLS)} (the last two: extra cognates). Or links: records "
        "instead of words, of a table of links, see nsed cluster links --help; a folder of that name is ./links.",
        show_default=False,
    ),
]
WordListPath = Annotated[
    Path,
    typer.Argument(
        help="LingPy word list: a TSV with DOCULECT, CONCEPT, TOKENS; - is standard input. Or the folder or metadata "
        "file of a CLDF Wordlist (extra cognates).",
        show_default=False,
    ),
]
ThresholdOption = Annotated[
    float | None,
    typer.Option(
        help="How similar words of one cluster are at least: a probability from 0 to 1 for models that match; for "
        "levenshtein and sca also from 0 to 1; lexstat, and edit distances, go beyond 1. The range is shown.",
        show_default=f"tuned; or {PROBABLE} for models that match; of a control its own",
    ),
]
ConceptsOption = Annotated[
    Concepts,
    typer.Option(help="Which concepts to cluster, by the split of nsed data cognates --protocol concepts."),
]


TuneOption = Annotated[
    Path | None, typer.Option(help="Another word list, with classes, to tune the threshold on.", show_default=False)
]
ClassesOption = Annotated[
    str | None,
    typer.Option(help="Column of the cognate classes to compare with.", show_default=f"{CLASSES}, if there"),
]
SaveOption = Annotated[
    Path | None, typer.Option(help=f"Keep the model that {AUTO} learns in this folder.", show_default=False)
]
PartialOption = Annotated[
    bool,
    typer.Option(
        "--partial",
        help="Partial cognates: compare the morphemes of words, which have + or _ between them among their tokens, and "
        "write COGIDS, a set for each.",
    ),
]
AcrossOption = Annotated[
    Literal["concepts"] | None,
    typer.Option(
        "--across",
        help="concepts: look for words of one origin in other concepts too, and write CROSSID: sets that are joined "
        "where their words are alike on average.",
        show_default=False,
    ),
]
AcrossThresholdOption = Annotated[
    float, typer.Option(help="How similar sets of two concepts are at least: most pairs of them are alike by chance.")
]
PreviousOption = Annotated[
    Path | None,
    typer.Option(
        help="What an earlier run wrote, a word list with CLUSTER or COGID, or a CLDF folder: sets keep their numbers, "
        "new ones follow. Words are matched by ID, or by language, concept and form.",
        show_default=False,
    ),
]
FiguresOption = Annotated[Path | None, typer.Option(help="Write the figures here too, as JSON.", show_default=False)]


def cluster(
    model: Scorer,
    word_list: WordListPath,
    method: Annotated[str, typer.Option(help=f"How clusters are made: {', '.join(METHODS)}.")] = "average",
    threshold: ThresholdOption = None,
    tune: TuneOption = None,
    concepts: ConceptsOption = Concepts.ALL,
    seed: Annotated[int, typer.Option(help="Of that split.")] = 0,
    classes: ClassesOption = None,
    same_language: Annotated[bool, typer.Option("--same-language", help="Compare words of one language, too.")] = False,
    partial: PartialOption = False,
    across: AcrossOption = None,
    across_threshold: AcrossThresholdOption = 0.99,
    previous: PreviousOption = None,
    figures: FiguresOption = None,
    save: SaveOption = None,
    format_: SetsFormatOption = SetsFormat.TABLE,
    output: Output = None,
) -> None:
    """Put the words of each concept into clusters, cognate sets, and write the list with one more column, CLUSTER.

    Each two words of a concept and of two languages are scored, both ways round. **average**: the most similar clusters
    are joined while their mean similarity is at least the threshold. The others look at pairs above it only:
    **components** connects them by chains, **labels** (label propagation) and **infomap** find what hangs together.

    The similarity is the probability that a matcher gives; of other models, that of the pair per token. Where the list
    has cognate classes, B-cubed, pairwise and adjusted Rand figures are shown, too. Clusters are numbered from 1.
    `--format edictor` writes COGID and ALIGNMENT, `--format cldf -o FOLDER` CLDF, `--format nexus` sets as characters.

    **Without cognate classes to learn from**, use `auto`: it learns which sounds correspond from words of one concept
    against words of two, in a minute or two for 10,000 words. **With classes** for some hundred words per language,
    train a matcher (`nsed data cognates`, `nsed train`): see docs/cognate-sets.md. A shorter list: `cognates`.

    **To test a model** that was trained with `nsed data cognates --protocol concepts`, use `--concepts test`, with the
    same seed: the threshold is tuned on the validation concepts, and all figures are of test concepts.
    """
    from nsed.jobs import cluster_score
    from nsed.jobs.word_clusters import cluster_compared, known_similarities

    _check_output(method, output, format_, across=across is not None)
    table, scorer_for = _table(word_list, format_, partial=partial, across=across is not None), _scorer_for(model, save)
    everything = table.words(_class_column(table, classes), all_classes=False)
    words, table = _part(table, everything, concepts, seed)
    tuning = _tuning(tune, classes, words) if tune else _other_concepts(everything, concepts, seed)
    known = not partial and any(word.cognate_class for word in words)
    _check_asked(model, everything, figures, known=known)
    parts, scorer = _morphemes(words, partial=partial), scorer_for(_morphemes(everything, partial=partial).words)
    before, job = _earlier(previous, table, parts, partial=partial), Job(scorer, method, same_language)
    given, compared = _given(threshold, tune, job.scorer), job.compared("scoring", parts.words)
    limit = given or job.tuner(scorer_for, tuning if tune else None).tuned(tuning) or _default(job, compared)
    found = cluster_compared(compared, threshold=limit.threshold, method=method)
    crossed = job.across(parts.words, found, across_threshold) if across else None
    numbers, since = _numbered(found, before)
    sets = FoundSets(words, parts, numbers, partial, crossed)
    write_sets(output, format_, table, sets, method=f"nsed cluster {model}, {method}")
    score, similarities = cluster_score(words, found) if known else None, known_similarities(compared)
    summary = _summary(words, found, limit, similarities, morphemes=len(parts.words) if partial else None)
    (err if output is None else out).print(_figures(method, summary | since, score))
    _save_figures(figures, {"model": str(model), "method": method, **limit._asdict()}, score)


def _check_output(method: str, output: Path | None, format_: SetsFormat, *, across: bool) -> None:
    """Check method and output: what is wrong with them is known before anything is read."""
    from nsed.jobs import CLUSTERERS

    CLUSTERERS[method]
    check_sets_output(output, format_, across=across)


def _part(table: WordTable, words: list[Word], concepts: Concepts, seed: int) -> tuple[list[Word], WordTable]:
    """Words of a part's concepts, and the table with their rows alone."""
    places = _places(words, concepts, seed)
    return [words[place] for place in places], table._replace(rows=[table.rows[place] for place in places])


def _morphemes(words: list[Word], *, partial: bool) -> Morphemes:
    from nsed.jobs.cognate_sets import split_morphemes, whole_words

    return split_morphemes(words) if partial else whole_words(words)


def _numbered(found: np.ndarray, before: EarlierClusters | None) -> tuple[list[int], dict[str, str]]:
    """Numbers of clusters, from 0, those of an earlier run where there was one, and what is said of it."""
    from nsed.jobs.clustering import keep_ids

    if before is None:
        return found.tolist(), {}
    kept = keep_ids(found.tolist(), before.numbers, largest=before.largest)
    return (kept.ids - 1).tolist(), {" ": since_before(kept.counts)}


def _check_asked(model: Path, words: list[Word], figures: Path | None, *, known: bool) -> None:
    """Check what is asked of the list: figures need classes, and LexStat needs more words than a few."""
    if figures is not None and not known:
        raise ArgumentError("--figures", got=str(figures), expected="nothing: the list has no classes to compare with")
    if str(model) == "lexstat":
        _warn_of_short_list(words)


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

    def tuner(self, scorer_for: Callable[[list[Word]], object], tuning: Tuning | None) -> Job:
        """The same job with the scorer of another list, if there is one to tune on."""
        return self._replace(scorer=scorer_for(tuning.words)) if tuning else self

    def tuned(self, tuning: Tuning | None) -> Threshold | None:
        """Tuned threshold for these words, or none without words."""
        from nsed.jobs.word_clusters import tune_compared

        if tuning is None:
            return None
        compared = self.compared(f"scoring {tuning.name}", tuning.words)
        tuned = tune_compared(compared, tuning.words, method=self.method)
        return Threshold(tuned.threshold, f"tuned on {tuning.name} (B-cubed F {tuned.b_cubed.f1:.1%})")

    def across(self, words: list[Word], found: np.ndarray, threshold: float) -> list[int]:
        """Sets across concepts, under a progress bar."""
        from nsed.jobs import join_across

        with progress_bar("comparing concepts", None) as bar:
            joined = join_across(self.scorer, words, found, threshold=threshold, on_batch=bar.advance)
        return list(map(int, joined))

    def compared(self, what: str, words: list[Word]) -> list[ConceptWords]:
        """Similarities of the words of each concept, under a progress bar."""
        from nsed.jobs.word_clusters import compared_pairs, compared_words

        pairs = 2 * len(compared_pairs(words, same_language=self.same_language))
        with progress_bar(what, pairs) as bar:
            return compared_words(self.scorer, words, same_language=self.same_language, on_batch=bar.advance)


def _scorer_for(model: Path, save: Path | None) -> Callable[[list[Word]], object]:
    """Scorer of a word list: learned from its words, of a control, or a saved model, the same for any list."""
    from nsed import jobs
    from nsed.models.persistence import shipped_models
    from nsed.registry import similar_name
    from nsed.train.saved_model import DESCRIPTION

    if str(model) == AUTO and not (model / DESCRIPTION).exists():
        return partial(_learned, save=save)
    if save is not None:
        raise ArgumentError("--save", got=str(save), expected=f"nothing: only {AUTO} learns a model")
    if str(model) in CONTROLS and not (model / DESCRIPTION).exists():
        return jobs.CONTROLS[str(model)]
    meant = None if model.exists() else similar_name(model, [AUTO, *CONTROLS, *shipped_models()])
    if meant in (AUTO, *CONTROLS):
        expected = f"{AUTO}, a control ({', '.join(CONTROLS)}) or the folder of a model"
        raise UnknownNameError("MODEL", got=f"'{model}'", expected=expected, advice=f"Did you mean '{meant}'?")
    if str(model) == LINKS and not model.exists():
        expected = "a model; or links first of all: nsed cluster links TABLE -o FILE, options after it"
        raise ArgumentError("MODEL", got=LINKS, expected=expected)
    loaded = load_model(model)
    return lambda words: loaded


def _learned(words: list[Word], *, save: Path | None) -> object:
    """Model that is learned from these words alone, under a progress bar; kept where the user says."""
    from nsed.jobs.unsupervised import ROUNDS, learn_without_gold

    with progress_bar("learning without classes", ROUNDS) as bar:
        model = learn_without_gold(words, on_round=lambda *_: bar.advance(1))
    if save is not None:
        model.save(save)
    return model


def _table(path: Path, form: SetsFormat, *, partial: bool, across: bool) -> WordTable:
    """Word list; raises for a column that will be written beside those of the list, and for an id of two words."""
    from nsed.jobs.cognate_sets import check_ids

    table = read_table(path)
    check_ids(table)
    written = FoundSets.names(COLUMN, partial=partial, across=across) if form is SetsFormat.TABLE else []
    for name in filter(table.has_column, written):
        message = f"there is a column {name} already: remove it, or give it another name"
        raise DataError(path, message, line=table.header.line)
    return table


def _earlier(path: Path | None, table: WordTable, parts: Morphemes, *, partial: bool) -> EarlierClusters | None:
    """Numbers of an earlier run, if one is given."""
    from nsed.datasets.cldf import is_cldf
    from nsed.jobs.cognate_sets import EARLIER, EARLIER_CLDF, PARTIAL, earlier_sets

    if path is None:
        return None
    names = EARLIER_CLDF if is_cldf(path) else (PARTIAL,) if partial else EARLIER
    return earlier_sets(read_table(path), table, parts, names)


def _class_column(table: WordTable, classes: str | None) -> str | None:
    """Cognate class column: what the user says, even if it is not there; else the usual one, if it is."""
    return classes or (CLASSES if table.has_column(CLASSES) else None)


def _places(words: list[Word], concepts: Concepts, seed: int) -> list[int]:
    """Places of the words of a part's concepts; those without any class are in none, as in nsed data cognates."""
    from nsed.datasets import protocols

    if concepts is Concepts.ALL:
        return list(range(len(words)))
    split = [word for word in words if word.cognate_class] or words
    parts = protocols.parts_of_concepts(split, seed=seed) == getattr(protocols, concepts.name)
    chosen = {word.concept for word, here in zip(split, parts.tolist(), strict=True) if here}
    return [place for place, word in enumerate(words) if word.concept in chosen]


def _other_concepts(words: list[Word], concepts: Concepts, seed: int) -> Tuning | None:
    """Tuning concepts: validation, or training where it is the former that are clustered; none without classes."""
    if concepts is Concepts.ALL or not any(word.cognate_class for word in words):
        return None
    part = Concepts.TRAINING if concepts is Concepts.VALIDATION else Concepts.VALIDATION
    return Tuning([words[place] for place in _places(words, part, seed)], f"{part} concepts")


def _tuning(path: Path, classes: str | None, clustered: list[Word]) -> Tuning:
    """Tuning list: another one, with none of the concepts' words that are clustered: figures would be too good."""
    words = read_table(path).words(classes or CLASSES, all_classes=False)
    if not any(word.cognate_class for word in words):
        raise DataError(path, f"no word has a class in {classes or CLASSES}, to tune the threshold on")
    shared = {word[:3] for word in words} & {word[:3] for word in clustered}
    if shared:
        expected = "a list without words that are clustered"
        advice = "To tune on other concepts of one list, use --concepts test."
        raise ArgumentError("--tune", got=f"{path}, with {len(shared):,} of them", expected=expected, advice=advice)
    return Tuning(words, path.name)


def _given(threshold: float | None, tune: Path | None, scorer: object) -> Threshold | None:
    if threshold is None:
        return None
    if tune is not None:
        raise ArgumentError("--threshold", got=threshold, expected="nothing beside --tune")
    calibrated = _calibrated(scorer)
    if (calibrated or getattr(scorer, "bounded", False)) and not 0 <= threshold <= 1:
        expected = f"a {'probability' if calibrated else 'similarity'} from 0 to 1, as this model gives"
        raise ArgumentError("--threshold", got=threshold, expected=expected)
    return Threshold(threshold, "given")


def _calibrated(scorer: object) -> bool:
    return getattr(scorer, "calibration", None) is not None


def _default(job: Job, compared: list[ConceptWords]) -> Threshold:
    """Default threshold: even odds of calibrated probabilities, or a control's own. Raises with a value to try."""
    import numpy as np

    from nsed.jobs.word_clusters import Control, known_similarities

    if isinstance(job.scorer, Control):
        return Threshold(job.scorer.threshold(job.method), "the control's own; --tune finds one for your words")
    if _calibrated(job.scorer):
        return Threshold(PROBABLE, "as probable as not")
    similarities = known_similarities(compared)
    expected = "a number, or --tune or --concepts test to find it: this model gives no calibrated probability"
    advice = (
        f"Its similarities here go {_span(similarities)}; --threshold {np.quantile(similarities, 1 - LIKELY):.4f} has "
        f"{LIKELY:.0%} of the pairs above it, about as many as were cognate in three families"
    )
    raise ArgumentError("--threshold", got="nothing", expected=expected, advice=advice)


def _warn_of_short_list(words: list[Word]) -> None:
    """Warn where LexStat has too few words to learn sound correspondences from."""
    counts = Counter(word.language for word in words)
    language, fewest = min(counts.items(), key=lambda item: item[1])
    if fewest < LEXSTAT_WORDS:
        warn(
            f"lexstat learns sound correspondences from the list itself, of some {LEXSTAT_WORDS} words per language at "
            f"least; {language} has {fewest:,}, too few to tell them from chance. The control sca, which learns "
            "nothing, suits short lists"
        )


def _warn_of_threshold(threshold: float, similarities: np.ndarray) -> None:
    """Warn of a threshold that no two words reach, or all do."""
    low, high = similarities.min(), similarities.max()
    if low <= threshold <= high:
        return
    outcome = (
        "no two words are that similar, and each is a cluster of its own"
        if threshold > high
        else ("all words of a concept are that similar, and one cluster")
    )
    warn(f"threshold {threshold:.4f}: {outcome}; similarities of this list go {_span(similarities)}")


def _span(similarities: np.ndarray) -> str:
    return f"from {similarities.min():.4f} to {similarities.max():.4f}"


def _save_figures(path: Path | None, facts: dict[str, object], score: ClusterScore | None) -> None:
    if path is None or score is None:
        return
    agreements = {name: getattr(score, name)._asdict() for name in ("b_cubed", "pairwise")}
    with open_output(path) as stream:
        json.dump(facts | score._asdict() | agreements, stream, indent=1)


def _summary(
    words: list[Word], found: np.ndarray, limit: Threshold, similarities: np.ndarray, *, morphemes: int | None
) -> dict[str, str]:
    """Summary of a clustering, with classes or without; a threshold beyond all similarities is warned of."""
    _warn_of_threshold(limit.threshold, similarities)
    return {
        "similarities": _span(similarities),
        "threshold": f"{limit.threshold:.4f}",
        "": limit.origin,
        "words": f"{len(words):,}",
        **({} if morphemes is None else {"morphemes": f"{morphemes:,}"}),
        "concepts": f"{len({word.concept for word in words}):,}",
        "clusters": f"{len(set(found.tolist())):,}",
    }


def _figures(method: str, summary: dict[str, str], score: ClusterScore | None) -> Table:
    table = Table("figure", "value", box=None, pad_edge=False)
    for name, value in {"method": method, **summary}.items():
        table.add_row(name, value)
    if score is None:
        return table
    table.add_row("classes", f"{score.classes:,}, of {score.words:,} words")
    for name, agreement in (("B-cubed", score.b_cubed), ("pairwise", score.pairwise)):
        for figure, share in zip(("precision", "recall", "F"), agreement, strict=True):
            table.add_row(f"{name} {figure}", f"{share:.2%}")
    table.add_row("adjusted Rand", f"{score.adjusted_rand:.4f}")
    table.add_row("adjusted Rand, mean of concepts", f"{score.adjusted_rand_within:.4f}")
    return table
