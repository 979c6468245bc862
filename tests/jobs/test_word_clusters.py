"""Cognate sets of word lists."""

import numpy as np
import pytest

import nsed
from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError
from nsed.jobs import CLUSTERERS, LevenshteinControl, cluster_score, cluster_words, tune_threshold
from nsed.jobs.word_clusters import join_across, similarity
from nsed.text import Pairs

LANGUAGES = ("L1", "L2", "L3", "L4")


def word_list(concepts=6):
    """Of each concept two classes of two words, alike but for one of four sounds."""
    return [
        Word(language, f"c{concept}", f"{concept} {place // 2} {place // 2 + 5} {place}x", f"{concept}.{place // 2}")
        for concept in range(concepts)
        for place, language in enumerate(LANGUAGES)
    ]


class OneWay:
    """Likes a pair only where the source comes first in the alphabet, as a model that reads one way may."""

    def __init__(self):
        self.seen = []

    def probability(self, pairs, *, on_batch):
        self.seen.append(pairs)
        on_batch(len(pairs))
        return np.array([float(source < target) for source, target in pairs])


@pytest.mark.parametrize("method", list(CLUSTERERS))
def test_classes_that_are_alike_are_found(method):
    words, order = word_list(), np.random.default_rng(0).permutation(24)
    tuned = tune_threshold(LevenshteinControl(), words[:8], method=method)
    assert tuned.b_cubed.f1 == pytest.approx(1)
    assert 0.25 <= tuned.threshold <= 0.75
    shuffled = [words[place] for place in order]
    clusters = cluster_words(LevenshteinControl(), shuffled, threshold=tuned.threshold, method=method)
    score = cluster_score(shuffled, clusters)
    assert (score.words, score.concepts, score.clusters, score.classes) == (24, 6, 12, 12)
    assert [score.b_cubed.f1, score.pairwise.f1, score.adjusted_rand, score.adjusted_rand_within] == pytest.approx(
        [1, 1, 1, 1]
    )


def test_words_are_compared_both_ways_in_one_job():
    model, told = OneWay(), []
    words = word_list(2)
    assert len(set(cluster_words(model, words, threshold=0.5, on_batch=told.append).tolist())) == 2
    assert len(set(cluster_words(model, words, threshold=0.51).tolist())) == 8
    pairs = model.seen[0]
    assert told == [2 * 2 * 6] == [len(pairs)]
    columns = pairs.sources, pairs.source_languages, pairs.targets, pairs.target_languages
    one = set(zip(*columns, strict=True))
    other = {(target, there, source, here) for source, here, target, there in one}
    assert one == other
    assert all({(word.tokens, word.language) for word in words} >= {row[:2], row[2:]} for row in one)


def test_words_of_one_language_are_compared_on_demand():
    words = [Word("L1", "hand", "a b", ""), Word("L1", "hand", "a b", ""), Word("L2", "hand", "c d", "")]
    assert cluster_words(LevenshteinControl(), words, threshold=0.5).tolist() == [0, 1, 2]
    assert cluster_words(LevenshteinControl(), words, threshold=0.5, same_language=True).tolist() == [0, 0, 1]


def test_concepts_stay_apart_and_single_words_are_clusters():
    words = [Word(language, concept, "a", "") for concept in ("x", "y") for language in ("L1", "L2")]
    words.insert(1, Word("L1", "z", "a", ""))
    assert cluster_words(LevenshteinControl(), words, threshold=0.5).tolist() == [0, 1, 0, 2, 2]


def test_a_single_pair_of_words_joins_no_sets_of_two_concepts():
    def joined(*words):
        clusters = np.array([int(word.concept == "arm") for word in words])
        return join_across(LevenshteinControl(), [*words], clusters).tolist()

    hand, arm = (Word(language, concept, "p a t a", "") for language, concept in (("L1", "hand"), ("L2", "arm")))
    assert joined(hand, arm) == [0, 1]
    assert joined(hand, hand._replace(language="L2"), arm, arm._replace(language="L1")) == [0, 0, 0, 0]


def test_a_class_of_two_concepts_is_one_in_each_and_words_without_class_do_not_count():
    words = [Word("L1", "x", "a", "1"), Word("L2", "x", "a", "1"), Word("L1", "y", "a", "1"), Word("L2", "y", "a", "")]
    score = cluster_score(words, np.array([0, 0, 1, 0]))
    assert (score.words, score.classes, score.clusters) == (3, 2, 2)
    assert score.b_cubed == pytest.approx((1, 1, 1))


def test_log_probabilities_count_per_token():
    pairs = [("a b", "a b"), ("c", "c"), ("a b c", "a b c")]
    model = nsed.LearnableEditDistance.fit(
        pairs, config=nsed.EditDistanceConfig(source_symbols="tokens", target_symbols="tokens")
    )
    likely = similarity(model, Pairs.of([("a b", "a b"), ("", "")]))
    assert likely[0] == pytest.approx(np.exp(model.score([("a b", "a b")])[0] / 4))
    assert ((likely > 0) & (likely <= 1)).all()


def test_similarity_to_scores_relative_to_chance_stays_below_one():
    words = ["a b", "c d", "e f", "g h"]
    symbols = {"source_symbols": "tokens", "target_symbols": "tokens"}
    model = nsed.LearnableEditDistance.fit([(word, word) for word in words], relative=True, **symbols)
    pairs = Pairs.of([("a b", "a b"), ("a b", "c d"), ("a b", "a d")])
    assert model.score(pairs)[0] > 0
    same, other, half = similarity(model, pairs)
    assert 0 <= other < half < same <= 1


def test_scores_that_are_no_log_probabilities_are_refused():
    class Scorer:
        def score(self, pairs, *, on_batch):
            return np.full(len(pairs), 3.5)

    with pytest.raises(ArgumentError, match="model: got a Scorer whose scores are above 0, hence no log-probabilities"):
        similarity(Scorer(), Pairs.of([("a", "b")]))


def test_a_matcher_compares_by_its_calibrated_probability():
    words = word_list(4)
    config = nsed.config.from_mapping(
        nsed.MatcherConfig,
        {
            "source_symbols": "tokens",
            "target_symbols": "tokens",
            "encoder": {"kind": "unigram", "dim": 8},
            "train": {"steps": 2, "batch_pairs": 16, "validate_every": 1, "device": "cpu"},
        },
    )
    pairs = Pairs([one.tokens for one in words], [other.tokens for other in words[1:] + words[:1]], [True, False] * 8)
    matcher = nsed.Matcher.fit(pairs, validation=pairs, config=config)
    assert similarity(matcher, pairs) == pytest.approx(matcher.calibration.probability(matcher.score(pairs)))
    assert len(cluster_words(matcher, words, threshold=0.5)) == 16


def test_what_cannot_be_clustered_is_refused():
    with pytest.raises(ArgumentError, match="model: got a str, which scores no pairs, expected one with a method"):
        cluster_words("a model", word_list(), threshold=0.5)
    with pytest.raises(
        ArgumentError, match="got 2 words of 2 concepts in 2 languages, expected at least two words of one concept in"
    ):
        cluster_words(LevenshteinControl(), [word_list()[0], word_list()[-1]], threshold=0.5)
    with pytest.raises(ArgumentError, match="words: got none, expected a list of words"):
        cluster_words(LevenshteinControl(), [], threshold=0.5)
    unknown = [word._replace(cognate_class="") for word in word_list()]
    with pytest.raises(ArgumentError, match="words: got none with a cognate class, expected classes to tune"):
        tune_threshold(LevenshteinControl(), unknown)
    with pytest.raises(ArgumentError, match="words: got none with a cognate class, expected classes to compare with"):
        cluster_score(unknown, np.zeros(24, dtype=int))


@pytest.mark.slow
def test_real_cognates_are_found_better_than_by_chance(data_folder):
    from nsed.datasets.protocols import TEST, VALIDATION, parts_of_concepts
    from nsed.datasets.word_list import read_word_list

    words = read_word_list(data_folder / "cognates" / "indo-european.tsv")
    parts = parts_of_concepts(words)
    tuning, test = ([word for word, part in zip(words, parts, strict=True) if part == p] for p in (VALIDATION, TEST))
    tuned = tune_threshold(LevenshteinControl(), tuning)
    score = cluster_score(test, cluster_words(LevenshteinControl(), test, threshold=tuned.threshold))
    assert 0.69 < score.b_cubed.f1 < 0.72
    alone = cluster_score(test, np.arange(len(test))).b_cubed.f1
    together = cluster_score(test, cluster_words(LevenshteinControl(), test, threshold=-1.0)).b_cubed.f1
    assert score.b_cubed.f1 > max(alone, together) + 0.1


def test_a_model_of_words_without_blanks_is_not_asked_about_blanks():
    joined, cut = Pairs.of([("handa", "hanta"), ("la", "lu")]), Pairs.of([("h a n d a", "h a n t a"), ("l a", "l u")])
    settings = {"source_symbols": "graphemes", "target_symbols": "graphemes"}
    model = nsed.LearnableEditDistance.fit(joined, **settings)
    per_token = model.score(joined) / np.array([10, 4])
    assert similarity(model, cut) == pytest.approx(np.exp(np.minimum(per_token, 0)))
    spaced = nsed.LearnableEditDistance.fit(cut, **settings)
    assert similarity(spaced, cut) == pytest.approx(np.exp(spaced.score(cut) / np.array([10, 4])))


def test_labels_of_an_earlier_run_are_kept():
    words = [Word("A", "hand", "h a n t", ""), Word("B", "hand", "h a n d", ""), Word("C", "hand", "k e s i", "")]
    first = cluster_words(LevenshteinControl(), words, threshold=0.5)
    found = cluster_words(LevenshteinControl(), words[::-1], threshold=0.5, previous=first[::-1])
    assert found.tolist() == first[::-1].tolist() == [1, 0, 0]
    more = cluster_words(LevenshteinControl(), words[::-1], threshold=0.5, previous=np.array([-1, 0, 0]))
    assert more.tolist() == [1, 0, 0]
