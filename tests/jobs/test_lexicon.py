"""Pronouncing dictionaries: what is in them, in which order, and that readers of the formats read them."""

import math
import re

import pytest

import nsed
from nsed.baselines import Lookup
from nsed.errors import ArgumentError, DataError
from nsed.jobs import LexiconFormat, Pronunciation, lexicon_lines, pronounce
from support.commands import run

PAIRS = [("read", "R IY D")] * 6 + [("read", "R EH D")] * 3 + [("read", "R AA D")] + [("red", "R EH D")]


@pytest.fixture
def model():
    return Lookup.fit(PAIRS, target_symbols="tokens")


def spoken(found):
    return [(one.word, " ".join(one.phones)) for one in found]


def test_words_are_sorted_once_with_what_is_probable_enough_best_first(model):
    found = pronounce(model, ["red", "read", " red", "", "read"])
    assert spoken(found) == [("read", "R IY D"), ("read", "R EH D"), ("read", "R AA D"), ("red", "R EH D")]
    assert [one.probability for one in found] == pytest.approx([1, 0.5, 1 / 6, 1])
    assert spoken(pronounce(model, ["read"], min_probability=0.2)) == [("read", "R IY D"), ("read", "R EH D")]
    assert spoken(pronounce(model, ["read"], min_probability=0.9)) == [("read", "R IY D")]  # one at least
    assert len(pronounce(model, ["read"], nbest=2)) == 2
    assert pronounce(model, []) == []


def test_overrides_come_first_and_are_not_said_twice(model, tmp_path):
    (tmp_path / "fixes.dict").write_text("READ  R EH D\nRED  R EY D\n")
    model = Lookup.fit(PAIRS, target_symbols="tokens", source_case="lower")
    found = pronounce(model, ["read", "red"], overrides=tmp_path / "fixes.dict")
    assert [(*one, mine) for one, mine in zip(spoken(found), [one.override for one in found], strict=True)] == [
        ("read", "R EH D", True),
        ("read", "R IY D", False),
        ("read", "R AA D", False),
        ("red", "R EY D", True),
        ("red", "R EH D", False),
    ]
    assert found[1].probability == pytest.approx(0.6)
    alone = pronounce(model, ["read", "red"], overrides=tmp_path / "fixes.dict", only_overrides=True)
    assert spoken(alone) == [("read", "R EH D"), ("red", "R EY D")]


def test_probabilities_are_those_of_the_transducer():
    model = nsed.load("g2p-en")
    found = pronounce(model, ["lead"], nbest=2, min_probability=0)
    best, second = model.transduce(["lead"], nbest=2)[0]
    assert [one.phones for one in found] == [best.symbols, second.symbols]
    assert found[1].probability == pytest.approx(math.exp(second.log_prob - best.log_prob))


def test_what_no_format_can_hold_is_refused(model):
    with pytest.raises(DataError, match="'New York' has a space"):
        pronounce(model, ["New York"])
    with pytest.raises(ArgumentError, match="min_probability: got 2"):
        pronounce(model, ["read"], min_probability=2)
    with pytest.raises(ArgumentError, match="which scores pairs only, expected a transducer"):
        pronounce(nsed.LearnableEditDistance.fit([("a", "b")], iterations=1), ["read"])
    (line,) = lexicon_lines([Pronunciation("a", ("b",), 0.0)], LexiconFormat.KALDI)
    assert line == "a 0.0001 b"  # Kaldi refuses 0


def test_the_command_writes_each_format_and_its_own_reader_reads_it(tmp_path):
    words, output = tmp_path / "words.txt", tmp_path / "lexicon.dict"
    words.write_text("read\nlead\nread\n")
    run("lexicon", "g2p-en", words, "-o", output)
    assert output.read_text().splitlines()[:2] == ["lead  L IY D", "lead(2)  L EH D"]
    assert set(nsed.read_pairs(output).sources) == {"lead", "read"}
    kaldi = run("lexicon", "g2p-en", words, "--format", "kaldi").splitlines()
    mfa = run("lexicon", "g2p-en", words, "--format", "mfa").splitlines()
    assert kaldi[0] == "lead 1.0000 L IY D"
    assert [line.replace("\t", " ") for line in mfa] == kaldi == sorted(kaldi, key=lambda line: line.split()[0])
    assert all(0 < float(line.split()[1]) <= 1 for line in kaldi)


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
@pytest.mark.parametrize("word", ["read(2)", ";;;x"])
def test_words_that_readers_of_cmudict_do_not_take_for_words_are_refused(word, tmp_path):
    (tmp_path / "words.txt").write_text(f"read\n\n{word}\n")
    with pytest.raises(DataError, match=rf"words\.txt:3: '{re.escape(word)}' is no word to readers of CMUdict"):
        run("lexicon", "g2p-en", tmp_path / "words.txt")
    assert f"{word} 1.0000 " in run("lexicon", "g2p-en", tmp_path / "words.txt", "--format", "kaldi")
    with pytest.raises(DataError, match="is no word to readers of CMUdict"):
        list(lexicon_lines([Pronunciation(word, ("a",), 1.0)], LexiconFormat.CMUDICT))


def test_errors_about_words_have_a_file_and_a_line(tmp_path):
    (tmp_path / "words.csv").write_text("source,rank\nred,1\nNew York,2\n")
    with pytest.raises(DataError, match=r"words\.csv:3: 'New York' has a space"):
        run("lexicon", "g2p-en", tmp_path / "words.csv")


def test_an_override_without_sounds_is_refused(model, tmp_path):
    (tmp_path / "fixes.tsv").write_text("red\tR EH D\nread\t \n")
    with pytest.raises(DataError, match=r"fixes\.tsv:2: 'read' has no sounds: give it a pronunciation"):
        pronounce(model, ["read"], overrides=tmp_path / "fixes.tsv")


def test_a_lexicon_with_words_in_two_cases_serves_as_overrides(tmp_path):
    (tmp_path / "words.txt").write_text("Lead\nlead\n")
    run("lexicon", "g2p-en", tmp_path / "words.txt", "--nbest", 1, "-o", tmp_path / "made.dict")
    again = run("lexicon", "g2p-en", tmp_path / "words.txt", "--overrides", tmp_path / "made.dict", "--only-overrides")
    assert again == (tmp_path / "made.dict").read_text()
