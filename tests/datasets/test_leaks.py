"""Leaks that were made are found, and their number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsed.datasets.leaks import check_leaks, levenshtein_score, lookup_score
from nsed.datasets.protocols import published_cognates
from nsed.datasets.word_list import read_word_list
from nsed.errors import ArgumentError
from nsed.text import Pairs, read_pairs


def labelled(*rows):
    sources, targets, labels = zip(*rows, strict=True)
    return Pairs(sources, targets, [bool(label) for label in labels])


TRAINING = labelled(("a", "b", 1), ("a", "b", 1), ("b", "a", 0), ("c", "c", 1), ("c", "d", 0))
TEST = labelled(("a", "b", 0), ("d", "c", 0), ("c", "c", 1), ("a", "x", 1))


def test_facts_of_a_part():
    facts, _ = check_leaks({"training": TRAINING, "test": TEST}).parts
    assert (facts.part, facts.pairs, facts.positives, facts.negatives) == ("training", 5, 3, 2)
    assert (facts.duplicates, facts.both_labels, facts.identical) == (1, 1, 1)


def test_what_two_parts_have_in_common():
    report = check_leaks({"training": TRAINING, "test": TEST})
    (overlap,) = report.overlaps
    assert (overlap.same_pairs, overlap.reversed_pairs, overlap.other_label) == (2, 1, 1)
    assert (overlap.strings, overlap.share_of_strings) == (4, 0.8)
    assert overlap.same_source is overlap.source_only is None
    assert report.leaks == 3


def test_each_two_of_three_parts_are_compared():
    overlaps = check_leaks({"training": TRAINING, "validation": TEST, "test": TEST}).overlaps
    found = [(overlap.later, overlap.earlier, overlap.same_pairs) for overlap in overlaps]
    assert found == [("validation", "training", 2), ("test", "training", 2), ("test", "validation", 4)]


def test_sources_of_pairs_without_labels():
    training = Pairs(["read", "read", "lead"], ["R EH D", "R IY D", "L EH D"])
    test = Pairs(["read", "read", "lead", "lead", "new"], ["R EH D", "x", "L IY D", "y", "N UW"])
    report = check_leaks({"training": training, "test": test})
    (overlap,) = report.overlaps
    assert (overlap.same_pairs, overlap.same_source, overlap.source_only) == (1, 1, 1)
    assert report.leaks == 2
    assert report.controls == []
    assert report.parts[0].positives is overlap.other_label is None


def test_new_pairs_of_known_strings_are_no_leak():
    report = check_leaks({"training": labelled(("a", "b", 1), ("c", "d", 0)), "test": labelled(("a", "d", 1))})
    assert (report.overlaps[0].strings, report.leaks) == (2, 0)


texts = st.sampled_from(["a", "b", "ab", "é", ""])
rows = st.lists(st.tuples(texts, texts, st.booleans()), min_size=1, max_size=12)


@pytest.mark.slow
@given(training=rows, test=rows)
def test_figures_are_those_of_plain_sets(training, test):
    training, test = labelled(*training), labelled(*test)
    report = check_leaks({"training": training, "test": test})
    known, (overlap,) = set(training), report.overlaps
    assert overlap.same_pairs == sum(pair in known for pair in test)
    assert overlap.reversed_pairs == sum(pair not in known and pair[::-1] in known for pair in test)
    assert report.parts[0].duplicates == len(training) - len(known)
    labels = {(*sorted(pair), label) for pair, label in zip(training, training.labels, strict=True)}
    assert report.parts[0].both_labels == len(labels) - len({row[:2] for row in labels})
    conflicts = ((*sorted(pair), not label) in labels for pair, label in zip(test, test.labels, strict=True))
    assert overlap.other_label == sum(conflicts)


def test_controls_of_labelled_pairs():
    training = labelled(("a", "b", 1), ("b", "c", 1), ("a", "x", 0))
    test = labelled(("b", "a", 1), ("c", "a", 1), ("x", "a", 0), ("y", "y", 1))
    (controls,) = check_leaks({"training": training, "test": test}).controls
    assert (controls.lookup.precision, controls.lookup.recall) == (1, 1 / 3)
    assert controls.chains.f1 == 1
    assert controls.tuned_on == "training"


def test_chains_know_the_language_of_a_word():
    training = Pairs(["gift", "gift"], ["give", "Gift"], [True, True], ["en", "de"], ["en", "de"])
    test = Pairs(["give", "give"], ["gift", "Gift"], [True, False], ["en", "en"], ["en", "de"])
    assert check_leaks({"training": training, "test": test}).controls[0].chains.f1 == 1


def test_levenshtein_counts_symbols_and_is_tuned_elsewhere():
    tuning = labelled(("aaaa", "aaab", 1), ("aaaa", "abbb", 0))
    score = levenshtein_score(tuning, labelled(("ab", "ac", 1), ("cd", "ef", 0)))
    assert (score.threshold, score.f1) == (0.5, 1)


def test_parts_that_cannot_be_compared():
    with pytest.raises(ArgumentError, match="parts: got 1, expected at least two"):
        check_leaks({"training": TRAINING})
    with pytest.raises(ArgumentError, match="parts: got labels in training only, expected in all or in none"):
        check_leaks({"training": TRAINING, "test": Pairs(["a"], ["b"])})
    with pytest.raises(ArgumentError, match="pairs: got pairs without labels, expected labelled ones"):
        lookup_score(Pairs(["a"], ["b"]), TEST)


@pytest.mark.slow
def test_the_published_split_of_indo_european_is_a_table(data_folder):
    """Remembering words scores 0.995, the pairs alone 0.956; the threshold of Levenshtein is that of validation."""
    splits = published_cognates(read_word_list(data_folder / "cognates" / "indo-european.tsv"))
    report = check_leaks(splits._asdict(), symbols="tokens")
    test = report.controls[-1]
    assert test.part == "test"
    assert test.chains.f1 >= 0.99
    assert test.lookup.f1 >= 0.95
    assert test.lookup.precision >= 0.99
    assert test.levenshtein.f1 == pytest.approx(0.49, abs=0.02)
    assert test.frequency.f1 == pytest.approx(0.81, abs=0.02)
    assert test.tuned_on == "validation"
    positives = splits.test.positives()
    known = set(splits.training.positives())
    assert np.mean([pair in known or pair[::-1] in known for pair in positives]) > 0.9


def test_validation_words_of_cmudict_that_occur_in_training(data_folder):
    parts = {part: read_pairs(data_folder / "g2p-cmudict" / f"{part}.dict") for part in ("train", "valid", "test")}
    valid, test, _ = check_leaks(parts).overlaps
    assert (valid.same_source, valid.source_only) == (26, 695)
    assert (test.same_source, test.source_only) == (0, 0)


@pytest.mark.parametrize("labels", [None, []])
def test_a_part_without_pairs_is_named_and_no_division_by_zero(labels):
    training = Pairs(["a", "c"], ["b", "d"], None if labels is None else [True, False])
    with pytest.raises(ArgumentError, match=r"parts: got no pairs in test, expected at least one pair in each"):
        check_leaks({"train": training, "test": Pairs([], [], labels)})
