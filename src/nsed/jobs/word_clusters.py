"""Word clusters: similarity of words to a model or a control, sets of each concept or across, and their score."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np

from nsed.baselines.lingpy import Entry, LexStat, LexStatConfig, Sca, ScaConfig, lexstat_distances
from nsed.baselines.similarity import Levenshtein, LevenshteinConfig
from nsed.capabilities import Capability, can
from nsed.datasets.protocols import numbers, within_concepts
from nsed.datasets.splits import pairs_of
from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError
from nsed.evaluate import Agreement, adjusted_rand, b_cubed, pairwise
from nsed.evaluate.clustering import numbered
from nsed.jobs.candidates import Candidates
from nsed.jobs.clustering import cluster, keep_ids, similarity_matrix
from nsed.models.edit_distance import LearnableEditDistance
from nsed.models.pair_model import UNCALIBRATED, Criterion
from nsed.progress import OnBatch, ignore
from nsed.registry import Registry
from nsed.text import Pairs, Tokenizer
from nsed.text.tokenizer import CHARACTERS
from nsed.train.split import connected

PROBABLE = 0.5
ROUNDING = 1e-3
"""What a log-probability per token may be above 0, computed in single precision."""


class LevenshteinControl:
    """Levenshtein control, without a model: 1 - edits / tokens of the longer string.

    >>> LevenshteinControl().probability(Pairs(["h a n d"], ["h o n d"]))
    array([0.75])
    """

    def __init__(self) -> None:
        config = LevenshteinConfig(source_symbols="tokens", target_symbols="tokens")
        self._similarity = Levenshtein(config, Criterion(PROBABLE, UNCALIBRATED))

    def probability(self, pairs: Pairs, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Normalised similarity of each pair; no probability, but between the same bounds."""
        return np.asarray(self._similarity.score(pairs, on_batch=on_batch))


class Control(NamedTuple):
    """Control for clustering: a similarity that needs no training pairs, and the thresholds that suit it.

    >>> sorted(CONTROLS), CONTROLS["levenshtein"]([]).threshold("average")
    (['levenshtein', 'lexstat', 'sca'], 0.25)
    """

    scores: Callable[..., np.ndarray]
    """Similarity of each pair; of LexStat it may exceed 1."""
    average: float
    """Default threshold of a mean similarity, for average linkage; of SCA and LexStat 1 - LingPy's usual distance."""
    links: float
    """Default threshold of links between single words, for all other methods."""
    bounded: bool = True
    """Whether similarities are from 0 to 1."""

    def probability(self, pairs: Pairs, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Similarity of each pair; no probability."""
        return self.scores(pairs, on_batch=on_batch)

    def threshold(self, method: str) -> float:
        """Default threshold of a clustering method. Measured: `results/cluster-thresholds.json`."""
        return self.average if method == "average" else self.links


def _levenshtein(words: Sequence[Word]) -> Control:
    return Control(LevenshteinControl().probability, average=0.25, links=0.45)


def _sca(words: Sequence[Word]) -> Control:
    config = ScaConfig(source_symbols="tokens", target_symbols="tokens")
    return Control(Sca(config, Criterion(PROBABLE, UNCALIBRATED)).score, average=0.55, links=0.7)


def _lexstat(words: Sequence[Word]) -> Control:
    try:
        distances = lexstat_distances(Entry(word.language, word.concept, word.tokens) for word in words)
    except ValueError as error:  # LingPy's, for sounds of which it knows no class
        got = f"a list that LexStat cannot learn from ({error})"
        raise ArgumentError("words", got=got, expected="sounds in IPA, with spaces between them") from None
    model = LexStat(distances, LexStatConfig(), Criterion(PROBABLE, UNCALIBRATED))
    return Control(model.score, average=0.4, links=0.8, bounded=False)


CONTROLS: Registry[Callable[[Sequence[Word]], Control]] = Registry("control")
"""Controls by name, made of the words that are clustered; LexStat alone learns from them, and never from classes."""
CONTROLS.register("levenshtein", _levenshtein)
CONTROLS.register("lexstat", _lexstat)
CONTROLS.register("sca", _sca)


def similarity(model: Any, pairs: Pairs, *, on_batch: OnBatch = ignore) -> np.ndarray:
    """Similarity from 0 to 1 of each pair of strings of tokens.

    The probability of a match where the model gives one. Else the probability of the pair, but per token of both
    strings (its geometric mean), since long pairs are all improbable; where scores are relative to chance, the odds
    per token against chance, as a probability. Raises `ArgumentError` for scores that are neither.
    """
    if can(model, Capability.MATCH):
        return np.asarray(model.probability(as_learned(model, pairs), on_batch=on_batch), dtype=float)
    if not can(model, Capability.SCORE):
        got = f"a {type(model).__name__}, which scores no pairs"
        raise ArgumentError("model", got=got, expected="one with a method `probability` or `score`, say a Matcher")
    tokens = np.array([len(source.split()) + len(target.split()) for source, target in pairs])
    pairs = as_learned(model, pairs)
    per_token = np.asarray(model.score(pairs, on_batch=on_batch), dtype=float) / np.maximum(tokens, 1)
    if isinstance(model, LearnableEditDistance) and model.config.relative is True:
        return np.asarray(1 / (1 + np.exp(-np.clip(per_token, -700, 700))))
    if (per_token > ROUNDING).any():
        got = f"a {type(model).__name__} whose scores are above 0, hence no log-probabilities"
        raise ArgumentError("model", got=got, expected="one that decides, or scores by log-probabilities")
    return np.asarray(np.exp(np.minimum(per_token, 0.0)))


def as_learned(model: Any, pairs: Pairs) -> Pairs:
    """Pairs of strings of tokens as a model reads them: joined where its symbols are characters, and no blanks."""
    tokenizers = getattr(model, "tokenizers", None)
    if tokenizers is None:
        return pairs
    return replace(
        pairs,
        sources=_as_learned(tokenizers.source, pairs.sources),
        targets=_as_learned(tokenizers.target, pairs.targets),
    )


def _as_learned(tokenizer: Tokenizer, texts: Sequence[str]) -> Sequence[str]:
    if tokenizer.splitter.kind not in CHARACTERS or any(map(str.isspace, tokenizer.vocabulary.symbols)):
        return texts
    return ["".join(text.split()) for text in texts]


def both_ways(model: Any, pairs: Pairs, *, on_batch: OnBatch = ignore) -> np.ndarray:
    """Symmetrised similarity: the mean of a pair and its reverse, which a model from source to target tells apart."""
    languages = pairs.source_languages, pairs.target_languages
    one, other = ([*column] if column is not None else None for column in languages)
    both = Pairs(
        [*pairs.sources, *pairs.targets],
        [*pairs.targets, *pairs.sources],
        source_languages=one + other if one and other else None,
        target_languages=other + one if one and other else None,
    )
    there, back = similarity(model, both, on_batch=on_batch).reshape(2, -1)
    return np.asarray((there + back) / 2)


class ConceptWords(NamedTuple):
    """Concept's words by their places in a list, and the similarities of each two that were compared."""

    places: np.ndarray
    similarities: np.ndarray


def compared_words(
    model: object, words: list[Word], *, same_language: bool = False, on_batch: OnBatch = ignore
) -> list[ConceptWords]:
    """Similarities of the words of each concept, all their pairs scored in one go, both ways round.

    Two words of one language are compared only if `same_language` says so: models seldom learn from such pairs.
    """
    rows = compared_pairs(words, same_language=same_language)
    return by_concept(words, rows, both_ways(model, pairs_of(words, rows), on_batch=on_batch))


def by_concept(words: list[Word], rows: np.ndarray, scores: np.ndarray) -> list[ConceptWords]:
    """Similarities of the words of each concept, from those of pairs of places."""
    concepts = numbers([word.concept for word in words])
    of_pairs, compared = concepts[rows[:, 0]], []
    for concept in range(int(concepts.max()) + 1):
        places, chosen = np.flatnonzero(concepts == concept), of_pairs == concept
        within = np.searchsorted(places, rows[chosen])
        compared.append(ConceptWords(places, similarity_matrix(len(places), within, scores[chosen])))
    return compared


def compared_pairs(words: list[Word], *, same_language: bool = False) -> np.ndarray:
    """Compared pairs: the places of each two words that are compared; at least one row."""
    rows = within_concepts(words, same_language=same_language)
    if not len(rows):
        concepts, languages = {word.concept for word in words}, {word.language for word in words}
        got = f"{_many(words, 'word')} of {_many(concepts, 'concept')} in {_many(languages, 'language')}"
        expected = "two words of one concept" if same_language else "two words of one concept in two languages"
        raise ArgumentError("words", got=got, expected=f"at least {expected}, to compare")
    return rows


def _many(things: Collection[object], name: str) -> str:
    return f"{len(things)} {name}" + ("" if len(things) == 1 else "s")


def known_similarities(compared: Sequence[ConceptWords]) -> np.ndarray:
    """Similarities of all pairs of words that were compared, in one column."""
    return np.concatenate([each.similarities[np.isfinite(each.similarities)] for each in compared])


class ClusterScore(NamedTuple):
    """Clustering metrics against classes, over all words that have one; a class is one per concept that it spans.

    >>> words = [Word("A", "hand", "a", "1"), Word("B", "hand", "b", "1"), Word("C", "hand", "c", "2")]
    >>> cluster_score(words, np.array([0, 1, 2]))
    ClusterScore(words=3, concepts=1, clusters=3, classes=2, b_cubed=Agreement(precision=1.0, recall=0.66..., ...)...)
    """

    words: int
    concepts: int
    clusters: int
    classes: int
    b_cubed: Agreement
    pairwise: Agreement
    """Pairwise precision and recall, of pairs of words that are in one cluster, or in one class."""
    adjusted_rand: float
    """Adjusted Rand index over all words. Words of two concepts are apart in both, which is no chance: see the next."""
    adjusted_rand_within: float
    """Adjusted Rand index within each concept, the mean over concepts of at least two words."""


def cluster_score(words: Sequence[Word], clusters: np.ndarray) -> ClusterScore:
    """Clustering metrics of clusters that `cluster_words` found.

    >>> words = [Word("A", "hand", "a", "1"), Word("B", "hand", "b", "1"), Word("A", "foot", "c", "2")]
    >>> cluster_score(words, np.array([0, 0, 1])).b_cubed.f1
    1.0
    """
    places = [place for place, word in enumerate(words) if word.cognate_class]
    if not places:
        raise ArgumentError("words", got="none with a cognate class", expected="classes to compare with")
    found = [int(clusters[place]) for place in places]
    expected = [(words[place].concept, words[place].cognate_class) for place in places]
    within = _within(found, expected)
    return ClusterScore(
        len(places),
        len({concept for concept, _ in expected}),
        len(set(found)),
        len(set(expected)),
        b_cubed(found, expected),
        pairwise(found, expected),
        adjusted_rand(found, expected),
        float(np.mean(within)) if within else 1.0,
    )


def _within(found: list[int], expected: list[tuple[str, str]]) -> list[float]:
    """Adjusted Rand index of each concept that has at least two words."""
    concepts: dict[str, list[int]] = {}
    for place, (concept, _) in enumerate(expected):
        concepts.setdefault(concept, []).append(place)
    return [
        adjusted_rand([found[place] for place in places], [expected[place] for place in places])
        for places in concepts.values()
        if len(places) > 1
    ]


THRESHOLDS = 99


class TunedThreshold(NamedTuple):
    """Tuned threshold, best for the words it was tuned on, and how good it was there.

    >>> TunedThreshold(0.4, Agreement.of(0.8, 0.5)).b_cubed.f1
    0.61...
    """

    threshold: float
    b_cubed: Agreement


def cluster_words(
    model: object,
    words: list[Word],
    *,
    threshold: float,
    method: str = "average",
    same_language: bool = False,
    previous: np.ndarray | None = None,
    on_batch: OnBatch = ignore,
) -> np.ndarray:
    """Cluster labels of each word, numbered as they first occur; words of two concepts are never together.

    With `previous`, the labels of an earlier run, -1 of a word that it had not, clusters keep theirs: see `keep_ids`.

    The model is whatever scores pairs: a `Matcher`, whose calibrated probabilities the threshold then is for, another
    model (see `similarity`) or `LevenshteinControl()`. Pairs are scored both ways, as `on_batch` is told.

    >>> from nsed.jobs import LevenshteinControl
    >>> words = [Word("Dutch", "hand", "h ɑ n t", ""), Word("German", "hand", "h a n t", ""),
    ...          Word("Finnish", "hand", "k æ s i", ""), Word("Dutch", "foot", "v u t", "")]
    >>> cluster_words(LevenshteinControl(), words, threshold=0.5)
    array([0, 0, 1, 2])
    """
    compared = compared_words(model, words, same_language=same_language, on_batch=on_batch)
    found = cluster_compared(compared, threshold=threshold, method=method)
    return found if previous is None else keep_ids(found.tolist(), np.asarray(previous) + 1).ids - 1


def cluster_compared(compared: Sequence[ConceptWords], *, threshold: float, method: str) -> np.ndarray:
    """Cluster labels of each word of all concepts; words and numbers in the order of the word list."""
    clusters, count = np.empty(sum(len(each.places) for each in compared), dtype=np.int64), 0
    for concept in compared:
        found = cluster(concept.similarities, threshold=threshold, method=method)
        clusters[concept.places] = found + count
        count += int(found.max()) + 1
    return numbered(clusters.tolist())


def tune_threshold(
    model: object,
    words: list[Word],
    *,
    method: str = "average",
    same_language: bool = False,
    on_batch: OnBatch = ignore,
) -> TunedThreshold:
    """Tune the threshold: the highest B-cubed F on words of known classes.

    Give it words of concepts that are not tested with, and better not learned from: a model is too sure of those.

    >>> words = [Word("Dutch", "hand", "h ɑ n t", "1"), Word("German", "hand", "h a n t", "1"),
    ...          Word("Finnish", "hand", "k æ s i", "2")]
    >>> tuned = tune_threshold(LevenshteinControl(), words)
    >>> tuned.b_cubed.f1, 0 < tuned.threshold <= 0.75
    (1.0, True)
    """
    if not any(word.cognate_class for word in words):
        raise ArgumentError("words", got="none with a cognate class", expected="classes to tune the threshold on")
    compared = compared_words(model, words, same_language=same_language, on_batch=on_batch)
    return tune_compared(compared, words, method=method)


def tune_compared(compared: Sequence[ConceptWords], words: list[Word], *, method: str) -> TunedThreshold:
    """Threshold grid search: the best of those that cut the similarities into shares of equal size (quantiles)."""
    cuts = np.unique(np.quantile(known_similarities(compared), np.linspace(0, 1, THRESHOLDS + 2)))
    tried = []
    for threshold in cuts.tolist():
        clusters = cluster_compared(compared, threshold=threshold, method=method)
        tried.append(TunedThreshold(threshold, cluster_score(words, clusters).b_cubed))
    return max(tried, key=lambda one: one.b_cubed.f1)


ACROSS = 0.99
"""Default threshold of sets of different concepts: there are many more pairs of them, nearly all by chance."""
CANDIDATES, COMPARED = 20, 50
"""Candidates of a word among those of other concepts, and pairs of words of two sets that are compared, at most."""


def join_across(
    model: object, words: list[Word], clusters: np.ndarray, *, threshold: float = ACROSS, on_batch: OnBatch = ignore
) -> np.ndarray:
    """Cluster labels across concepts: clusters of two concepts are joined where their words are alike on average.

    Words are compared that have character n-grams in common, and of their clusters up to fifty pairs of two languages.
    A single pair joins nothing: among so many, some are alike by chance.

    >>> words = [Word(language, concept, "r u k a", "") for concept in ("arm", "hand") for language in ("ru", "uk")]
    >>> join_across(LevenshteinControl(), [*words, Word("ru", "eye", "g l a z", "")], np.array([0, 0, 1, 1, 2]))
    array([0, 0, 0, 0, 1])
    """
    likely = _likely_across(model, words, clusters, threshold)
    rows, of_pair = _rows_across(words, clusters, likely)
    if not len(rows):
        return numbered(clusters.tolist())
    similarities = both_ways(model, pairs_of(words, rows), on_batch=on_batch)
    counts = np.bincount(of_pair, minlength=len(likely))
    means = np.bincount(of_pair, similarities, minlength=len(likely)) / np.maximum(counts, 1)
    joined = likely[(means >= threshold) & (counts > 1)]
    own = np.unique(clusters)
    one, other = np.concatenate([joined, np.stack([own, own], axis=1)]).T
    group = dict(zip(one.tolist(), connected(one, other).tolist(), strict=True))
    return numbered([group[label] for label in clusters.tolist()])


def _likely_across(model: object, words: list[Word], clusters: np.ndarray, threshold: float) -> np.ndarray:
    """Pairs of clusters of two concepts that have a pair of words as similar as the threshold."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        places.setdefault("".join(word.tokens.split()), []).append(place)
    texts = list(places)
    found = Candidates("ngrams", k=CANDIDATES).fit(texts).query(texts)
    pairs = zip(found.queries.tolist(), found.references.tolist(), strict=True)
    rows = {
        (min(one, other), max(one, other))
        for query, reference in pairs
        for one, other in product(places[texts[query]], places[texts[reference]])
        if words[one].concept != words[other].concept and words[one].language != words[other].language
    }
    if not rows:
        return np.zeros((0, 2), np.int64)
    listed = np.array(sorted(rows))
    alike = both_ways(model, pairs_of(words, listed)) >= threshold
    return np.unique(np.sort(clusters[listed[alike]], axis=1), axis=0).reshape(-1, 2)


def _rows_across(words: list[Word], clusters: np.ndarray, likely: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of two words of each pair of clusters and of two languages, and which pair of clusters that is."""
    members: dict[int, list[int]] = {}
    for place, label in enumerate(clusters.tolist()):
        members.setdefault(label, []).append(place)
    rows, of_pair = [], []
    for number, (one, other) in enumerate(likely.tolist()):
        apart = ((a, b) for a, b in product(members[one], members[other]) if words[a].language != words[b].language)
        some = list(islice(apart, COMPARED))
        rows += some
        of_pair += [number] * len(some)
    return np.array(rows, np.int64).reshape(-1, 2), np.array(of_pair, np.int64)
