"""Candidates: both searches against their readable twins, unions, recall, saved indexes."""

import errno
import os
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

import nsed
from nsed.capabilities import Capability
from nsed.encoders import EncoderConfig
from nsed.errors import ArgumentError, DataError, DoubtfulLinksWarning
from nsed.jobs.candidates import reads_queries
from nsed.jobs.operation_search import OperationSearch
from nsed.jobs.vector_index import NgramIndex, VectorIndex
from nsed.kernels import use_backend
from nsed.kernels.numba.candidates import BLOCK
from nsed.models.matcher import Matcher, MatcherConfig
from nsed.text import Pairs, Tokenizers
from nsed.train import saved_model

LETTERS = str.maketrans("abcdeghiklmnoprstuvz", "абцдегхиклмнопрстувз")


def words(count, seed=0):
    stream = random.Random(seed)
    return ["".join(stream.choices("abcdeghiklmnoprstuvz -", k=stream.randint(0, 12))) for _ in range(count)]


@pytest.fixture(scope="module")
def model():
    pairs = [(word, word.translate(LETTERS)) for word in words(300, 1) if word.strip()]
    wrong = [(a, b) for (a, _), (_, b) in pairwise(pairs) if a != b]
    return nsed.OddsMatcher.fit([*pairs, *wrong], [1] * len(pairs) + [0] * len(wrong), train__steps=2, iterations=4)


def same(one, other):
    assert np.array_equal(one.queries, other.queries)
    assert np.array_equal(one.references, other.references)
    np.testing.assert_allclose(one.scores, other.scores, rtol=1e-12)


@pytest.mark.parametrize(("k", "budget"), [(1, 2**16), (7, 2**16), (1000, 2**16), (1, 20), (7, 100)])
def test_compiled_ngram_search_is_its_twin(k, budget, monkeypatch):
    monkeypatch.setattr("nsed.jobs.vector_index.BUDGET", budget)
    monkeypatch.setattr("nsed.jobs.vector_index.LEAST_POOL", 40)
    index, queries = NgramIndex.of(words(200)), ["", "zzzqq", *words(40, 3)]
    fast = index.query(queries, k)
    with use_backend("torch"):
        same(fast, index.query(queries, k))


@pytest.mark.parametrize("budget", [2000])
def test_compiled_ngram_search_is_its_twin_in_several_blocks(budget, monkeypatch):
    monkeypatch.setattr("nsed.jobs.vector_index.BUDGET", budget)
    texts = [f"{first} {second}" for first in words(180, 1) for second in words(180, 2)]
    index = NgramIndex.of(texts)
    assert len(texts) > 1.9 * BLOCK
    fast = index.query(texts[::4000], 9)
    with use_backend("torch"):
        same(fast, index.query(texts[::4000], 9))


def test_dense_vectors_are_found_by_cosine_and_by_the_graph_nearly_as_well(tmp_path, monkeypatch):
    drawn = np.random.default_rng(0).normal(size=(3000, 16)).astype(np.float32)
    vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    queries = vectors[:40] + 0.01
    best = np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :5]
    exact = VectorIndex.of(vectors)
    found = exact.query(queries, 5)
    assert found.references.reshape(40, 5).tolist() == best.tolist()
    np.testing.assert_allclose(found.scores, (queries @ vectors.T)[found.queries, found.references], rtol=1e-5)
    assert len(exact.query(queries, 5000).references) == 40 * 3000
    assert len(exact.query(queries[:0], 5).references) == 0
    pytest.importorskip("usearch")
    monkeypatch.setattr("nsed.jobs.vector_index.EXACT", 100)
    graph, again = VectorIndex.of(vectors), VectorIndex.of(vectors)
    near = graph.query(queries, 5)
    assert graph.graph is not None
    assert np.mean([row in own for own, row in zip(np.repeat(best, 5, axis=0), near.references, strict=True)]) > 0.9
    same(near, again.query(queries, 5))
    graph.save(tmp_path)
    same(near, VectorIndex.load(tmp_path).query(queries, 5))


def test_vectors_of_an_encoder_find_strings_with_typing_errors_and_are_saved(tmp_path):
    torch.manual_seed(0)
    config = MatcherConfig(shared_alphabet=True, encoder=EncoderConfig(kind="unigram", dim=32, layers=1))
    names = [word for word in dict.fromkeys(words(200, 5)) if len(word.strip()) > 4]
    tokenizers = Tokenizers.learned(config, Pairs(names, names)).shared()
    matcher = nsed.Matcher(Matcher._network(config, tokenizers, None).eval(), tokenizers, config)
    candidates = nsed.Candidates("vectors", k=5, model=matcher).fit(names)
    queries = [f"{name[:2]}{name[3:]}" for name in names]
    found = candidates.query(queries)
    assert (found.queries == found.references).sum() > 0.8 * len(names)
    turned = candidates.query(queries[::-1])
    assert np.array_equal(turned.references.reshape(-1, 5)[::-1], found.references.reshape(-1, 5))
    assert candidates.query([""]).references.shape == (5,)
    candidates.save(tmp_path / "index")
    same(found, nsed.Candidates.load(tmp_path / "index").query(queries))


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 7, 1000])
def test_compiled_operation_search_is_its_twin(model, k):
    search = OperationSearch.of(model, words(120))
    queries = ["", "я", "лима, перу", "(лима", ", ", *(word.translate(LETTERS) for word in words(20, 3))]
    fast = search.query(queries, k)
    assert search.side == "source"
    with use_backend("torch"):
        same(fast, search.query(queries, k))


def test_log_odds_are_the_models_without_place_length_and_skipped_words():
    pairs = [("gray", "grey"), ("gala", "gele"), ("lay", "ley"), ("ray", "rey")]
    distance = nsed.LearnableEditDistance.fit(pairs, relative=True)
    search = OperationSearch.of(distance, ["ley", "gele"], side="target")
    bias = float(search.model.network.odds().bias)
    expected = distance.score([("lay", "ley"), ("lay", "gele")])
    found = search.query(["lay"], 2)
    assert found.references.tolist() == [0, 1]
    np.testing.assert_allclose(found.scores + bias, expected)


def test_order_of_queries_and_references_changes_nothing(model):
    names, queries = sorted(set(words(80))), [word.translate(LETTERS) for word in words(10, 3)]
    one = nsed.Candidates("operations", k=3, model=model).fit(names).query(queries)
    other = nsed.Candidates("operations", k=3, model=model).fit(names[::-1]).query(queries[::-1])
    scores = lambda found, row: sorted(found.scores[found.queries == row].tolist())  # noqa: E731
    for row in range(len(queries)):
        np.testing.assert_allclose(scores(one, row), scores(other, len(queries) - 1 - row))


def test_words_at_the_ends_may_be_missing(model):
    names = ["lisabon", "vinana", "torino"]
    found = nsed.Candidates(k=1, model=model).fit(names).query(["винана вирхиниа", "ду лисабон"])
    assert [names[row] for row in found.references] == ["vinana", "lisabon"]


def test_what_follows_a_comma_costs_nothing(model):
    search = OperationSearch.of(model, ["lisabon", "vinana"])
    alone, added, word = (
        search.query([text], 1).scores[0] for text in ("винана", "винана, вирхиниа", "винана вирхиниа")
    )
    assert added == pytest.approx(alone, abs=0.1)
    assert word < alone - 2


def test_across_scripts_candidates_go_by_operations_and_recall_says_what_is_lost(model):
    names = [word for word in dict.fromkeys(words(150, 9)) if word.strip()]
    matches = nsed.Pairs.of([(name, name.translate(LETTERS)) for name in [*names[:50], "nowhere"]])
    index = nsed.Candidates(k=10, model=model).fit(names)
    recall = index.recall(matches)
    assert index.generators_ == ["operations"]
    assert (recall.matches, recall.missing) == (50, 1)
    assert list(recall.at) == [1, 5, 10]
    assert recall.at[10] > 0.95
    assert nsed.Candidates("ngrams", k=10).fit(names).recall(matches).at[10] < 0.5


def test_union_has_what_each_generator_finds_once():
    index = nsed.Candidates(["exact", "ngrams"], k=3).fit(["São Paulo", "Sao Paolo", "Lima", "sao paulo"])
    found = index.query(["SAO PAULO", "lima!"])
    assert found.references[found.queries == 0].tolist() == [0, 3, 1]
    assert found.references[found.queries == 1][0] == 2


def test_saved_index_answers_alike(tmp_path, model):
    queries = [word.translate(LETTERS) for word in words(5, 3)]
    index = nsed.Candidates(["operations", "ngrams"], k=3, model=model).fit(words(50))
    index.save(tmp_path)
    same(index.query(queries), nsed.Candidates.load(tmp_path).query(queries))
    with pytest.raises(DataError, match="no index of candidates"):
        nsed.Candidates.load(tmp_path / "nothing")


@pytest.mark.parametrize("what", ["arrays", "model"])
def test_a_save_that_fails_leaves_the_older_index_or_no_folder(tmp_path, model, monkeypatch, what):
    older, newer = (nsed.Candidates("ngrams", k=2, model=model).fit(words(50, seed)) for seed in (1, 2))
    older.save(tmp_path / "index")
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with monkeypatch.context() as patched:
        if what == "model":
            patched.setattr(saved_model, "replace_file", lambda *given: (_ for _ in ()).throw(full))
        else:
            patched.setattr(NgramIndex, "save", lambda *given: (_ for _ in ()).throw(full))
        for name in ("index", "new"):
            with pytest.raises(DataError, match=rf"/{name}: cannot be written: No space left on device"):
                newer.save(tmp_path / name)
    assert [path.name for path in tmp_path.rglob("*") if path.name.startswith(".") or path.name == "new"] == []
    again = nsed.Candidates.load(tmp_path / "index")
    assert again.references == older.references
    same(again.query(words(5)), older.query(words(5)))
    newer.save(tmp_path / "index")
    assert nsed.Candidates.load(tmp_path / "index").references == newer.references


def test_settings_of_an_older_index_never_stand_beside_newer_references(tmp_path, monkeypatch):
    older, newer = (nsed.Candidates("ngrams").fit(words(50, seed)) for seed in (1, 2))
    older.save(tmp_path)
    moves, there = Path.replace, []

    def replace(one, to):
        there.append((tmp_path / "candidates.json").exists())
        return moves(one, to) if to.parent != tmp_path or not there[-1] else None

    monkeypatch.setattr(Path, "replace", replace)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine.txt").write_text("not of the index")
    newer.save(tmp_path)
    assert there == [True] + [False] * (len(there) - 1)  # the first is beside, in the folder that is being written
    assert nsed.Candidates.load(tmp_path).references == newer.references
    assert (tmp_path / "model" / "mine.txt").exists()


def test_nbest_of_a_transducer():
    from nsed.baselines import Lookup

    index = nsed.Candidates(k=1, model=Lookup.fit([("рим", "rome"), ("рим", "rim")])).fit(["Lima", "Rome"])
    assert index.generators_ == ["nbest"]
    assert index.query(["рим"]).references.tolist() == [1]


def test_ranker_chooses_among_more_candidates_whichever_way_it_reads(model):
    references = ["agab", "agad", "abad", "lina", "gora", "bela"]
    queries = [text.translate(LETTERS) for text in ("agad", "gora")]

    class Stubborn:
        capabilities, tokenizers = frozenset({Capability.SCORE}), model.tokenizers

        def score(self, pairs):
            assert "".join(pairs.sources).isascii(), "Latin is the side of its sources"
            return np.array([1000.0 * (text == "lina") for text in pairs.sources])

    search = nsed.Candidates("operations", model=model, k=2).fit(references)
    assert [references[row] for row in search.query(queries, 1).references] == ["agad", "gora"]
    ranked = nsed.Candidates("operations", model=model, k=2, ranker=Stubborn()).fit(references).query(queries)
    assert ranked.queries.tolist() == [0, 0, 1, 1]
    assert [references[row] for row in ranked.references] == ["lina", "agad", "lina", "gora"]
    turned = nsed.Candidates("operations", model=model, k=1, ranker=Stubborn()).fit(queries)
    assert turned.query(references).queries.tolist() == [0, 1, 2, 3, 4, 5]


def test_with_one_alphabet_transducers_read_references_and_others_queries():
    class Matching:
        capabilities = frozenset({Capability.SCORE})

    class Transducing:
        capabilities = frozenset({Capability.SCORE, Capability.TRANSDUCE})

    assert reads_queries(Matching(), ["abc"])
    assert not reads_queries(Transducing(), ["abc"])


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_what_a_ranker_says_of_a_query_does_not_depend_on_those_around_it(model):
    references, foreign = words(40, 5), [text.translate(LETTERS) for text in words(8, 6)]
    ranked = nsed.Candidates("operations", model=model, k=3, ranker=model).fit(references)
    alone, among = ranked.query(["agab"]), ranked.query(["agab", *foreign])
    assert alone.references.tolist() == among.references[among.queries == 0].tolist()
    assert alone.scores == pytest.approx(among.scores[among.queries == 0])


def test_recall_at_k_is_that_of_k_candidates_with_a_ranker_too(model, monkeypatch):
    references = words(200, 5)
    pairs = nsed.Pairs(references, [text.translate(LETTERS) for text in references])

    class Length:
        capabilities, tokenizers = frozenset({Capability.SCORE}), model.tokenizers

        def score(self, pairs):
            return np.array([float(len(text)) for text in pairs.sources])

    ranked = nsed.Candidates("operations", model=model, k=20, ranker=Length()).fit(references)
    recall = ranked.recall(pairs, ks=(1, 5)).at
    for k, share in recall.items():
        fewer = nsed.Candidates("operations", model=model, k=k, ranker=Length()).fit(references)
        assert fewer.recall(pairs).at[k] == share
    assert recall[1] < recall[20] < 1
    monkeypatch.setattr("nsed.jobs.candidates.LEAST_POOL", 0)
    assert list(ranked.recall(pairs).at) == [20]


def test_scores_of_search_and_ranker_add_up_also_when_saved(tmp_path, model):
    references, queries = words(40, 5), [text.translate(LETTERS) for text in words(4, 6)]
    both = nsed.Candidates("operations", model=model, k=8, ranker=model).fit(references)
    both.save(tmp_path)
    found = nsed.Candidates.load(tmp_path).query(queries)
    same(both.query(queries), found)
    alone = nsed.Candidates("operations", model=model, k=40).fit(references).query(queries)
    sums = alone.scores + model.score([(references[b], queries[a]) for a, b in zip(*alone[:2], strict=True)])
    for query in range(len(queries)):
        best = np.sort(sums[alone.queries == query])[::-1][:8]
        np.testing.assert_allclose(found.scores[found.queries == query], best, rtol=1e-6)


def test_ranker_that_scores_nothing_is_refused():
    with pytest.raises(ArgumentError, match="ranker"):
        nsed.Candidates(ranker=object()).fit(["a"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"by": "sounds"}, "by: got sounds, expected some of ngrams, operations, nbest, vectors, exact"),
        ({"by": "operations"}, "model: got none"),
        ({"by": "operations", "model": object()}, "expected an edit distance or a matcher in odds form"),
        ({"by": "nbest", "model": object()}, "expected a transducer"),
        ({"by": "vectors", "model": object()}, "expected a Matcher of one alphabet"),
    ],
)
def test_settings_that_do_not_suit_are_refused(settings, message):
    with pytest.raises(ArgumentError, match=message):
        nsed.Candidates(**settings).fit(["a"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"by": "ngram"}, "by: got ngram, expected some of ngrams"),
        ({"by": []}, "by: got none"),
        ({"by": 3}, "by: got 3"),
        ({"k": 0}, "k: got 0, expected a whole number, 1 or more"),
        ({"k": 1.5}, "k: got 1.5"),
        ({"k": "3"}, "k: got '3'"),
    ],
)
def test_settings_that_none_can_be_are_refused_where_they_are_given(settings, message):
    """`k=0` was said by the first query, `k=1.5` by nobody."""
    with pytest.raises(ArgumentError, match=message):
        nsed.Candidates(**settings)
    fitted = nsed.Candidates(k=np.int64(2)).fit(["a"])
    with pytest.raises(ArgumentError, match=message):
        fitted.set_params(**settings)
    if "k" in settings:
        with pytest.raises(ArgumentError, match=message):
            fitted.query(["a"], settings["k"])


def test_clone_of_scikit_learn():
    from sklearn.base import clone

    assert clone(nsed.Candidates("exact", k=3)).get_params() == {"by": "exact", "k": 3, "model": None, "ranker": None}


def test_mined_negatives_are_wrong_candidates_on_the_sides_of_the_pairs():
    index = nsed.Candidates(k=5).fit(["Vienna", "VIENNA", "Siena", "Vienne", "Lima"])
    mined = index.mine(nsed.Pairs(["Vienna", "Lima"], ["wien", "lime"], [True, True]), negatives=2)
    assert list(zip(mined.sources, mined.targets, mined.labels, strict=True))[:2] == [
        ("Vienna", "wien", True),
        ("Lima", "lime", True),
    ]
    wrong = {source for source, label in zip(mined.sources, mined.labels, strict=True) if not label}
    assert wrong
    assert not wrong & {"Vienna", "VIENNA", "Lima"}


@pytest.mark.parametrize("pairs", [Pairs(["a"], ["Vienna"], [False]), Pairs([], [])])
def test_nothing_is_mined_where_nothing_matches(pairs):
    """Was a `ValueError`: max() arg is an empty sequence."""
    with pytest.raises(ArgumentError, match=r"pairs: got \d pairs, none that matches, expected pairs of a query and a"):
        nsed.Candidates().fit(["Vienna", "Venice"]).mine(pairs)


def test_a_string_too_long_for_a_ranker_is_no_candidate_and_told_instead_of_the_end():
    pairs = [("lay", "ley"), ("ley", "lay"), ("lay ley", "ley lay")]
    ranker, long = nsed.LearnableEditDistance.fit(pairs), "lay " * 800
    index = nsed.Candidates("ngrams", k=2, ranker=ranker).fit(["ley", "lay", long])
    with pytest.warns(DoubtfulLinksWarning, match="too long for the ranker, and left out: 1"):
        found = index.query(["lay", long])
    others = nsed.Candidates("ngrams", k=2, ranker=ranker).fit(["ley", "lay", long]).query(["lay"])
    assert found.references[found.queries == 0].tolist() == others.references.tolist()
    assert 2 not in found.references[found.queries == 1]
