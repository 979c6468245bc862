"""What a protocol holds out is not in the training data."""

from itertools import combinations

import pytest

from nsed.datasets.leaks import check_leaks
from nsed.datasets.protocols import (
    PROTOCOLS,
    SplitOptions,
    count_positives,
    hold_out_concepts,
    hold_out_family,
    hold_out_languages,
    published_cognates,
    same_source_cognates,
)
from nsed.datasets.word_list import Word, read_word_list
from nsed.errors import ArgumentError, UnknownNameError

LANGUAGES = ("L1", "L2", "L3", "L4")


def word_list(*, concepts=20, start=""):
    """Of each concept a word per language: two of one class, two of another; the sounds name language and concept."""
    return [
        Word(language, f"{start}c{concept}", f"{start}{concept} {language}", f"{start}{concept}.{place // 2}")
        for concept in range(concepts)
        for place, language in enumerate(LANGUAGES)
    ]


def concept_of(string):
    return string.split()[0]


def as_rows(pairs):
    return list(zip(*pairs.columns.values(), strict=True))


def unordered(pairs):
    return {frozenset(pair) for pair in pairs}


def test_concepts_stand_in_one_part_each():
    splits = hold_out_concepts(word_list())
    concepts = [{concept_of(source) for source in pairs.sources} for pairs in splits]
    assert [len(each) for each in concepts] == [14, 2, 4]
    assert len(set.union(*concepts)) == 20
    for pairs in splits:
        assert len(unordered(pairs)) == len(pairs) == 6 * len({concept_of(source) for source in pairs.sources})
        assert sum(pairs.labels) * 3 == len(pairs)
        assert all(concept_of(source) == concept_of(target) for source, target in pairs)
        assert all(one != other for one, other in zip(pairs.source_languages, pairs.target_languages, strict=True))


def test_labels_say_whether_the_class_is_the_same():
    labels = {
        (one, other): label for _, _, label, one, other in as_rows(hold_out_concepts(word_list(concepts=3)).training)
    }
    assert labels == {pair: pair in (("L1", "L2"), ("L3", "L4")) for pair in combinations(LANGUAGES, 2)}


@pytest.mark.parametrize("name", list(PROTOCOLS))
def test_protocols_are_reproducible(name):
    given = {
        "published": SplitOptions(held_out=50),
        "published-fixed": SplitOptions(held_out=50),
        "published-same-sources": SplitOptions(held_out=50),
        "languages": SplitOptions(languages=("L2",)),
        "families": SplitOptions(test_words=word_list(start="o")),
    }
    options = given.get(name, SplitOptions())
    split = PROTOCOLS[name].split
    assert split(word_list(), options) == split(word_list(), options)
    assert split(word_list(), options) != split(word_list(), SplitOptions(**{**vars(options), "seed": 1}))


def test_a_held_out_language_is_in_every_test_pair_and_nowhere_else():
    splits = hold_out_languages(word_list(), ["L2", "L4"])
    for pairs in (splits.training, splits.validation):
        assert {*pairs.source_languages, *pairs.target_languages} == {"L1", "L3"}
    languages = zip(splits.test.source_languages, splits.test.target_languages, strict=True)
    assert all({"L2", "L4"} & set(both) for both in languages)
    assert [len(pairs) for pairs in splits] == [18, 2, 20 * 5]
    assert {concept_of(source) for source in splits.training.sources}.isdisjoint(
        map(concept_of, splits.validation.sources)
    )


def test_another_family_is_tested_with():
    words, others = word_list(), word_list(start="o", concepts=5)
    splits = hold_out_family(words, others)
    assert {concept_of(source) for source in splits.test.sources} == {f"o{number}" for number in range(5)}
    assert [len(pairs) for pairs in splits] == [18 * 6, 2 * 6, 5 * 6]


def test_a_family_with_the_same_names_of_classes_and_concepts():
    others = [word._replace(tokens=f"x{word.tokens}") for word in word_list()]
    assert [len(pairs) for pairs in hold_out_family(word_list(), others)] == [18 * 6, 2 * 6, 20 * 6]


def test_one_word_for_two_concepts_does_not_leak():
    arms = [word._replace(concept=f"arm {word.concept}") for word in word_list()]
    splits = hold_out_concepts(word_list() + arms)
    assert not any(unordered(one) & unordered(other) for one, other in combinations(splits, 2))
    assert len(splits.test) == 8 * 6


def test_a_word_written_twice_counts_once():
    assert hold_out_concepts(word_list() * 2) == hold_out_concepts(word_list())


def test_impossible_wishes_are_refused():
    with pytest.raises(ArgumentError, match="words: got 2 concepts, expected more than the 2 to be held out"):
        hold_out_concepts(word_list(concepts=2))
    with pytest.raises(ArgumentError, match="languages: got 'L9', expected one of: L1, L2, L3, L4"):
        hold_out_languages(word_list(), ["L9"])
    with pytest.raises(ArgumentError, match="languages: got none, expected at least one of: L1"):
        hold_out_languages(word_list(), [])
    with pytest.raises(ArgumentError, match="words: got no pair for training, expected at least one"):
        hold_out_languages(word_list(), LANGUAGES)
    with pytest.raises(ArgumentError, match="words: got none, expected a list of words"):
        PROTOCOLS["families"].split(word_list(), SplitOptions())
    with pytest.raises(UnknownNameError, match="Did you mean 'languages'"):
        PROTOCOLS["language"]


def test_positives_are_counted_as_they_are_made():
    splits = published_cognates(word_list(), held_out=50)
    assert count_positives(word_list()) == sum(sum(pairs.labels) for pairs in splits) == 20 * 2 * 4


def class_of(tokens, words):
    return next(word.cognate_class for word in words if word.tokens == tokens)


def test_published_negatives_are_of_two_classes_drawn_uniformly():
    large = [Word("L1", "hand", f"h {number}", "large") for number in range(40)]
    words = [*large, Word("L2", "foot", "f", "small"), Word("L2", "head", "g", "tiny")]
    splits = published_cognates(words, held_out=5000)
    negatives = [row[:2] for part in splits for row in as_rows(part) if not row[2]]
    assert sum(len(part) for part in splits) == 11 * (40**2 + 2)
    assert all(class_of(source, words) != class_of(target, words) for source, target in negatives[:500])
    assert sum(source in "fg" for source, _ in negatives) / len(negatives) == pytest.approx(2 / 3, abs=0.02)
    kept = same_source_cognates(words, held_out=5000)
    sources = [row[0] for part in kept for row in as_rows(part) if not row[2]]
    assert sum(source in "fg" for source in sources) / len(sources) < 0.01


def test_published_pairs_hold_every_positive_once():
    splits = published_cognates(word_list(), held_out=50)
    positives = [row[:2] for part in splits for row in as_rows(part) if row[2]]
    same = {(one.tokens, two.tokens) for one in word_list() for two in word_list() if one[3] == two[3]}
    assert sorted(positives) == sorted(same)


def test_very_many_published_pairs_are_sampled(data_folder):
    words = read_word_list(data_folder / "cognates" / "austro-asiatic.tsv", class_column="COGNATE_CLASS")
    splits = published_cognates(words, held_out=1000, most_training=5000)
    assert [len(part) for part in splits] == [5000, 1000, 1000]
    assert sum(splits.training.labels) / 5000 == pytest.approx(1 / 11, abs=0.02)


@pytest.mark.parametrize(("column", "positives"), [("COGNATE_CLASS", 7_283_295), ("COGID", 159_117)])
def test_most_published_cognates_of_austro_asiatic_are_none(data_folder, column, positives):
    words = read_word_list(data_folder / "cognates" / "austro-asiatic.tsv", class_column=column)
    assert count_positives(words) == positives


@pytest.mark.slow
@pytest.mark.parametrize("name", ["indo-european", "austro-asiatic"])
def test_held_out_concepts_of_real_lists_do_not_leak(data_folder, name):
    words = read_word_list(data_folder / "cognates" / f"{name}.tsv")
    splits = hold_out_concepts(words)
    report = check_leaks(splits._asdict(), symbols="tokens")
    assert report.leaks == 0
    assert report.controls[-1].lookup.f1 == 0
    assert 0.5 < report.controls[-1].levenshtein.f1 < 0.7
    concepts = {(word.language, word.tokens): set() for word in words}
    for word in words:
        concepts[word.language, word.tokens].add(word.concept)
    for source, target, _, one, other in as_rows(splits.test):
        assert one != other
        assert concepts[one, source] & concepts[other, target]


@pytest.mark.slow
def test_a_held_out_language_of_a_real_list(data_folder):
    splits = hold_out_languages(read_word_list(data_folder / "cognates" / "indo-european.tsv"), ["GREEK"])
    for pairs in (splits.training, splits.validation):
        assert "GREEK" not in {*pairs.source_languages, *pairs.target_languages}
    assert check_leaks(splits._asdict()).leaks == 0
