"""Controls answer the verbs of the models, from Python, from disk and from the command line."""

import json
import math
import time

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.baselines.lookup import Lookup, LookupConfig
from nsed.baselines.majority import Majority, MajorityConfig
from nsed.baselines.similarity import JaroWinkler, Levenshtein, LevenshteinConfig
from nsed.errors import ArgumentError, NotExplainableError
from nsed.text import Pairs

TRAINING = Pairs(["hand", "Hand", "foot"], ["Hand", "hånd", "Hand"], [True, True, False])
TEST = Pairs(["Hand", "hånd", "hand"], ["hand", "hand", "foot"], [True, True, False])
WORDS = Pairs(["read", "read", "read", "lead"], ["R EH D", "R IY D", "R EH D", "L IY D"])
TOKENS = {"target_symbols": "tokens"}


@pytest.mark.parametrize("chains", [False, True])
def test_lookup_knows_pairs_either_way_round_and_chains_if_asked(chains):
    table = Lookup.fit(TRAINING, config=LookupConfig(chains=chains))
    assert table.match(TEST).tolist() == [True, chains, False]
    assert table.score(TEST).tolist() == [1.0, float(chains), 0.0]


def test_lookup_reads_two_ways_to_write_a_string_as_one():
    table = Lookup.fit([("e\u0301A", "b")], config=LookupConfig(source_case="lower"))
    assert table.match([("éa", "b"), ("éa", "B")]).tolist() == [True, False]


def test_probabilities_of_a_lookup_are_those_of_the_validation_pairs():
    validation = Pairs(["hand"] * 4 + ["x"] * 4, ["Hand"] * 4 + ["y"] * 4, [True] * 3 + [False] + [False] * 4)
    seen, new = Lookup.fit(TRAINING, validation=validation).probability([("hand", "Hand"), ("new", "pair")])
    assert seen == pytest.approx(0.7, abs=0.1)
    assert new < 0.2


def test_lookup_gives_the_targets_of_training_most_frequent_first():
    table = Lookup.fit(WORDS, config=LookupConfig(**TOKENS))
    known, new = table.transduce(["read", "reed"], nbest=2)
    assert [one.symbols for one in known] == [("R", "EH", "D"), ("R", "IY", "D")]
    assert [math.exp(one.log_prob) for one in known] == pytest.approx([2 / 3, 1 / 3])
    assert new == []
    near = Lookup.fit(WORDS, config=LookupConfig(nearest=True, **TOKENS))
    assert [best[0].text for best in near.transduce(["bread", "leads", "read"])] == ["R EH D", "L IY D", "R EH D"]


@pytest.mark.slow
def test_a_table_of_many_pairs_is_saved_and_read_quickly(tmp_path):
    count = 200_000
    pairs = Pairs([f"source{row}" for row in range(count)], [f"ziel{row % 977}é" for row in range(count)])
    table = Lookup.fit(pairs)
    start = time.monotonic()
    table.save(tmp_path)
    again = nsed.load(tmp_path)
    assert time.monotonic() - start < 30  # a second, on a machine that does nothing else
    assert len(again.known) == count
    assert again.match([("source7", "ziel7é"), ("source7", "ziel8é")]).tolist() == [True, False]


@pytest.mark.parametrize("languages", [False, True])
def test_a_saved_table_answers_as_before(tmp_path, languages):
    columns = (["en", "de", "en"], ["de", "da", "de"]) if languages else (None, None)
    table = Lookup.fit(Pairs(TRAINING.sources, TRAINING.targets, TRAINING.labels, *columns))
    table.save(tmp_path)
    again = Lookup.load(tmp_path)
    assert list(again.known) == list(table.known)
    assert again.known.target_languages == table.known.target_languages
    assert (again.counts == table.counts).all()
    assert again.criterion == table.criterion


def test_lone_surrogates_are_saved_too(tmp_path):
    Lookup.fit([("a\ud800", "b")]).save(tmp_path)
    assert nsed.load(tmp_path).match([("a\ud800", "b")]).all()


def test_majority_says_what_was_right_most_often(tmp_path):
    model = Majority.fit(TRAINING)
    model.save(tmp_path)
    again = nsed.load(tmp_path)
    assert again.match(TEST).all()
    assert again.probability(TEST) == pytest.approx([2 / 3] * 3)
    rare = [("a", "b"), ("a", "c"), ("a", "d")]
    assert not Majority.fit(rare, [1, 0, 0]).match(rare).any()
    assert Majority.fit(rare, [1, 0, 0], config=MajorityConfig(always_match=True)).match(rare).all()


def test_majority_writes_the_most_frequent_target():
    (first, second), other = Majority.fit(WORDS, config=MajorityConfig(**TOKENS)).transduce(["x", "y"], nbest=2)
    assert (first.symbols, math.exp(first.log_prob)) == (("R", "EH", "D"), pytest.approx(0.5))
    assert (math.exp(second.log_prob), other[0]) == (pytest.approx(0.25), first)


def test_levenshtein_counts_symbols():
    tokens = LevenshteinConfig(source_symbols="tokens", target_symbols="tokens")
    model = Levenshtein.fit(Pairs(["a b", "a b"], ["a b", "c d"], [True, False]), config=tokens)
    assert model.score([("ʔ a j", "ʔ e j"), ("", ""), ("a", "")]) == pytest.approx([2 / 3, 1, 0])
    model = Levenshtein.fit(Pairs(["a", "a"], ["a", "b"], [True, False]))
    assert model.score([("e\u0301a", "éb")]) == pytest.approx([0.5])


@pytest.mark.parametrize("kind", [Levenshtein, JaroWinkler])
def test_similarities_are_tuned_on_validation_pairs_and_saved(kind, tmp_path):
    validation = Pairs(["abcd", "abcd"], ["abcx", "wxyz"], [True, False])
    model = kind.fit(TRAINING, validation=validation)
    assert model.match(validation).tolist() == [True, False]
    strict = Pairs(["abcd", "abcd"], ["abcd", "abcx"], [True, False])
    assert kind.fit(validation, validation=strict).match(strict).tolist() == [True, False]
    assert kind.fit(validation).match(strict).tolist() == [True, True]
    model.save(tmp_path)
    again = nsed.load(tmp_path)
    assert type(again) is kind
    assert again.criterion == model.criterion
    assert again.probability(validation) == pytest.approx(model.probability(validation))
    assert np.diff(again.probability([("abcd", "wxyz"), ("abcd", "abyz"), ("abcd", "abcd")])).min() > 0


@pytest.mark.parametrize("kind", [Levenshtein, JaroWinkler, Lookup, Majority])
def test_validation_pairs_come_in_every_form(kind):
    """A frame or a list of dicts, which all other models take, was an `AttributeError`: no attribute 'sources'."""
    columns = {"source": TEST.sources, "target": TEST.targets, "label": TEST.labels}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    wanted = kind.fit(TRAINING, validation=TEST).probability(TEST).tolist()
    for form in (columns, rows, pa.table(columns)):
        assert kind.fit(TRAINING, validation=form).probability(TEST).tolist() == wanted


def test_what_controls_refuse():
    with pytest.raises(NotExplainableError, match="lookup: this baseline gives pairs a number"):
        Lookup.fit(TRAINING).align("a", "b")
    with pytest.raises(ArgumentError, match="pairs: got pairs without labels, expected labelled ones"):
        Levenshtein.fit([("a", "b")])
    with pytest.raises(ArgumentError, match="pairs: got no positive pair, expected at least one to remember"):
        Lookup.fit([("a", "b")], [0])
    with pytest.raises(ArgumentError, match="sources: got 'read', expected a list of strings"):
        Lookup.fit(WORDS).transduce("read")


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("model", ["lookup", "majority", "levenshtein", "jaro-winkler"])
def test_a_control_is_one_word_away_from_a_model(model, tmp_path):
    labelled = tmp_path / "labelled.tsv"
    run("data", "rules", "--matching", "--count", 200, "-o", labelled)
    run("train", labelled, tmp_path / "model", "--model", model)
    run("evaluate", tmp_path / "model", labelled, "-o", tmp_path / "figures.json")
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["pairs_scored"] == 200
    assert figures["f1"] == 1 if model == "lookup" else 0.3 < figures["f1"] < 1
    assert run("match", tmp_path / "model", labelled, "--no-header").count("\n") == 200


@pytest.mark.parametrize(("model", "wer"), [("lookup", 0.0), ("majority", 0.5)])
def test_controls_of_transduction_from_the_command_line(model, wer, tmp_path):
    words = tmp_path / "words.dict"
    words.write_text("READ  R EH D\nREAD(2)  R IY D\nREAD(3)  R EH D\nLEAD  L IY D\n")
    run("train", words, tmp_path / "model", "--model", model)
    run("evaluate", tmp_path / "model", words, "-o", tmp_path / "figures.json")
    assert json.loads((tmp_path / "figures.json").read_text())["wer"] == wer
    assert run("transduce", tmp_path / "model", "--text", "READ", "--no-header").startswith("READ\tR EH D\t")
