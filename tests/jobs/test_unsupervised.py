"""Cognates without gold: what chance looks like is seen across concepts, what exceeds it is learned."""

from itertools import product

import numpy as np
import pytest

from nsed.datasets.splits import pairs_of
from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError
from nsed.jobs import cluster_score, cluster_words, learn_without_gold
from nsed.jobs.unsupervised import _labelled, _pairs, across_concepts, isotonic, posterior
from nsed.jobs.word_clusters import compared_pairs

SHIFT = str.maketrans("ptkaio", "bdgeou")
"""Sound change: all that the second language has in common with the first."""


def word_list(concepts=60, seed=0):
    """Two related languages, one with a sound change, a third of unrelated words."""
    random = np.random.default_rng(seed)
    words = []
    for concept in map(str, range(concepts)):
        root, other = ("".join(random.choice(list(kind)) for kind in ("ptksmnrl", "aiou") * 3) for _ in range(2))
        for language, form, label in (("A", root, "r"), ("B", root.translate(SHIFT), "r"), ("C", other, "o")):
            words.append(Word(language, concept, " ".join(form), f"{concept}{label}"))
    return words


def test_posterior_is_what_exceeds_chance():
    random = np.random.default_rng(0)
    chance, real = random.normal(0, 1, 20_000), random.normal(4, 1, 3_000)
    within = np.concatenate([random.normal(0, 1, 7_000), real])
    probable = posterior(within, chance)
    assert probable.mean() == pytest.approx(0.3, abs=0.03)
    assert probable[:7_000].mean() < 0.05
    assert probable[7_000:].mean() > 0.9
    order = np.argsort(within)
    assert (np.diff(probable[order]) >= 0).all()


def test_posterior_counts_what_looks_like_chance_but_is_more_frequent():
    random = np.random.default_rng(3)
    chance, within = random.normal(0, 1, 20_000), np.r_[random.normal(0, 1, 5_000), random.normal(2, 1, 5_000)]
    assert posterior(within, chance).mean() == pytest.approx(0.48, abs=0.05)


def test_without_anything_but_chance_nothing_is_probable():
    random = np.random.default_rng(1)
    assert posterior(random.normal(size=5_000), random.normal(size=5_000)).mean() < 0.1


def test_isotonic_regression_is_the_nearest_rising_sequence():
    random = np.random.default_rng(2)
    values, weights = random.random(30), random.random(30) + 0.1
    fitted = isotonic(values, weights)
    assert (np.diff(fitted) >= 0).all()
    assert (weights * fitted).sum() == pytest.approx((weights * values).sum())


def test_pairs_across_concepts_share_neither_concept_nor_language():
    words = word_list(8)
    rows = across_concepts(words, most=50, random=np.random.default_rng(0))
    assert len(np.unique(rows, axis=0)) == len(rows) == 50
    for one, other in rows.tolist():
        assert words[one].concept != words[other].concept
        assert words[one].language != words[other].language


@pytest.mark.slow
def test_what_is_apart_within_a_concept_is_learned_from_as_chance_is():
    words, random = word_list(10), np.random.default_rng(0)
    within, across = compared_pairs(words), across_concepts(word_list(10), most=30, random=random)
    together = random.random(len(within)) < 0.5
    chosen = _labelled(words, within, across, together, random)
    wanted = [(*pair, label) for pair, label in zip(_pairs(words, within), together.tolist(), strict=True)]
    wanted += [(*pair, False) for pair in _pairs(words, across)]
    found = [(*pair, bool(label)) for pair, label in zip(chosen, chosen.labels, strict=True)]
    assert sorted(found) == sorted(wanted)
    assert found[: len(wanted) // 2] != sorted(found, key=lambda one: -one[2])[: len(wanted) // 2]


def test_correspondences_are_learned_without_classes():
    words = word_list()
    unlabelled = [word._replace(cognate_class="") for word in words]
    model = learn_without_gold(unlabelled, train__steps=100)
    found = cluster_words(model, words, threshold=0.5)
    assert cluster_score(words, found).b_cubed.f1 > 0.9
    shifted = [("p a t a k a", "b e d e g e"), ("p a t a k a", "s i m u n i")]
    related, unrelated = model.probability([one for one, _ in shifted], [other for _, other in shifted])
    assert related > 0.8
    assert unrelated < 0.3


def test_probabilities_without_gold_are_those_of_the_mixture():
    words, random = word_list(40), np.random.default_rng(0)
    model = learn_without_gold(words, rounds=1, train__steps=5)
    rows = compared_pairs(words), across_concepts(words, most=9999, random=random)
    within, across = (pairs_of(words, some) for some in rows)
    expected = posterior(model.score(within), model.score(across)).mean()
    assert model.probability(within).mean() == pytest.approx(expected, abs=0.06)


@pytest.mark.slow
def test_classes_are_never_looked_at():
    words = word_list(20)
    scrambled = [word._replace(cognate_class=str(place)) for place, word in enumerate(words)]
    one, other = (learn_without_gold(some, rounds=1, train__steps=2) for some in (words, scrambled))
    assert one.criterion == other.criterion
    pairs = list(product(["p a t a"], ["b e d e", "m i n u"]))
    assert np.array_equal(one.score(pairs), other.score(pairs))


def test_a_list_of_one_concept_says_that_chance_cannot_be_seen():
    words = [Word(language, "hand", "h a n d", "") for language in "ABCD"]
    with pytest.raises(ArgumentError, match=r"at least 50, to see what chance looks like\. .* nsed cluster cognates"):
        learn_without_gold(words)


def test_a_list_without_related_words_is_told_of_words_and_not_of_labels_that_nobody_gave():
    random = np.random.default_rng(0)
    words = [
        Word(language, str(concept), " ".join(random.choice(list("abcdefghijklmnop"), 5)), "")
        for language in "ABCD"
        for concept in range(20)
    ]
    with pytest.raises(ArgumentError, match=r"words: got 120 pairs .* 0 are more alike .* cluster cognates"):
        learn_without_gold(words)
