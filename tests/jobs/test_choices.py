"""All queries with all choices, and the best of them: as the model itself scores each pair, whatever the blocks."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

import nsed
from nsed.jobs import choices as module
from nsed.jobs.choices import cdist, extract, extract_one

GOLDEN = Path(__file__).parents[1] / "golden" / "models"
QUERIES, CHOICES = ["ab", "", "cab", "ab"], ["b", "ca", "ab", "", "b"]


@pytest.mark.parametrize("name", ["levenshtein", "edit-distance", "matcher-unigram", "transducer-exact"])
@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_matrix_is_the_score_of_every_pair(name, monkeypatch):
    model = nsed.load(GOLDEN / name)
    expected = [model.score([(query, choice) for choice in CHOICES]) for query in QUERIES]
    matrix = cdist(QUERIES, CHOICES, model)
    assert matrix.shape == (4, 5)
    assert np.allclose(matrix, expected, rtol=1e-5)
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", 4)  # a query at a time
    assert np.allclose(cdist(QUERIES, CHOICES, model), matrix, rtol=1e-5)


def test_different_strings_are_scored_once_and_progress_is_told():
    model, scored = nsed.load(GOLDEN / "levenshtein"), []
    matrix = cdist(pd.Series(QUERIES), pl.Series(CHOICES), model, on_batch=scored.append)
    assert sum(scored) == 3 * 4
    assert np.array_equal(matrix[0], matrix[3])
    assert np.array_equal(matrix[:, 0], matrix[:, 4])


@pytest.mark.parametrize(("queries", "choices"), [([], CHOICES), (QUERIES, []), ([], [])])
def test_nothing_gives_an_empty_matrix(queries, choices):
    assert cdist(queries, choices, nsed.load(GOLDEN / "levenshtein")).shape == (len(queries), len(choices))


def test_probability_is_a_scorer_where_the_model_has_it():
    model = nsed.load(GOLDEN / "levenshtein")
    assert np.array_equal(cdist(["ab"], ["b"], model, scorer="probability"), [model.probability([("ab", "b")])])
    with pytest.raises(nsed.NsedError, match="model: got a Transducer without `probability`"):
        cdist(["ab"], ["b"], nsed.load(GOLDEN / "transducer-exact"), scorer="probability")
    with pytest.raises(nsed.NsedError, match="scorer: got 'ratio', expected 'score' or 'probability'"):
        cdist(["ab"], ["b"], model, scorer="ratio")


@pytest.mark.parametrize(
    ("choices", "keys"),
    [
        (["gray", None, "grey", "green", "grey"], [2, 4, 0]),
        (pl.Series(["gray", None, "grey", "green", "grey"]), [2, 4, 0]),
        (pa.array(["gray", None, "grey", "green", "grey"]), [2, 4, 0]),
        (pd.Series(["gray", np.nan, "grey", "green", "grey"], index=list("abcde")), ["c", "e", "a"]),
        (pd.Series(["gray", pd.NA, "grey", "green", "grey"], dtype="string"), [2, 4, 0]),
        ({1: "gray", 2: None, 3: "grey", 4: "green", 5: "grey"}, [3, 5, 1]),
    ],
    ids=["list", "polars", "arrow", "pandas", "nullable", "dict"],
)
def test_best_choices_come_first_with_their_keys(choices, keys):
    model = nsed.load(GOLDEN / "levenshtein")
    found = extract("grey", choices, model, limit=3)
    assert [one.key for one in found] == keys
    assert found[0] == ("grey", 1.0, keys[0])
    assert len(extract("grey", choices, model)) == len(extract("grey", choices, model, limit=None)) == 4
    assert extract_one("grey", choices, model) == found[0]


def test_cutoff_leaves_out_what_is_below():
    model = nsed.load(GOLDEN / "levenshtein")
    assert [one.choice for one in extract("grey", ["gray", "tin", "grey"], model, score_cutoff=0.75)] == [
        "grey",
        "gray",
    ]
    assert extract_one("grey", ["tin", "can"], model, score_cutoff=0.75) is None
    assert extract_one("grey", [], model) is None


@pytest.mark.parametrize(
    ("query", "choices", "limit", "message"),
    [
        (None, ["a"], 1, "query: got None"),
        ("a", "abc", 1, "choices: got 'abc', expected a list of strings"),
        ("a", ["a", 3], 1, "choices: got 3 at place 1"),
        ("a", ["a"], -1, "limit: got -1"),
        ("a", ["a"], 1.5, "limit: got 1.5, expected a whole number"),
        ("a", ["a"], "1", "limit: got '1'"),
    ],
)
def test_what_is_no_choice_is_said(query, choices, limit, message):
    with pytest.raises(nsed.NsedError, match=message):
        extract(query, choices, nsed.load(GOLDEN / "levenshtein"), limit=limit)


def test_processor_changes_what_is_compared_and_not_what_comes_back():
    model = nsed.load(GOLDEN / "levenshtein")
    upper = [one.upper() for one in QUERIES]
    assert np.array_equal(cdist(upper, CHOICES, model, processor=str.lower), cdist(QUERIES, CHOICES, model))
    choices = {"x": "CAB", "y": None, "z": "ab "}
    assert extract_one("ab", choices, model, processor=str.strip) == ("ab ", 1.0, "z")
    assert [one.choice for one in extract("Cab", choices, model, processor=str.lower, limit=1)] == ["CAB"]
    with pytest.raises(nsed.NsedError, match="processor: got 'lower', expected a function of a string to a string"):
        extract("ab", CHOICES, model, processor="lower")
    with pytest.raises(nsed.NsedError, match="processor: got 2 for 'ab', expected a function that gives a string"):
        cdist(["ab"], ["ab"], model, processor=len)


@pytest.mark.parametrize(("workers", "threads"), [(1, 1), (3, 3), (-1, os.cpu_count()), (None, None)])
def test_workers_are_threads_of_torch_for_the_call(workers, threads, monkeypatch):
    model, seen, before = nsed.load(GOLDEN / "levenshtein"), [], torch.get_num_threads()
    monkeypatch.setattr(
        type(model), "score", lambda self, pairs, **given: seen.append(torch.get_num_threads()) or [0.0]
    )
    assert cdist(["ab"], ["b"], model, workers=workers).tolist() == [[0.0]]
    assert (seen, torch.get_num_threads()) == ([threads or before], before)


@pytest.mark.parametrize("workers", [0, -2, 1.5])
def test_workers_that_are_none_are_refused(workers):
    with pytest.raises(nsed.NsedError, match=rf"workers: got {workers}, expected a number of threads"):
        cdist(["ab"], ["b"], nsed.load(GOLDEN / "levenshtein"), workers=workers)
