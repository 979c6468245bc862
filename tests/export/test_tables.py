"""Exported tables: other programs find the distance that the model's best edit script has."""

import json
import subprocess
import sys

import pytest

import nsed
from lite.test_answers import PAIRS, untrained
from nsed.baselines.similarity import Levenshtein
from nsed.export import export_model
from support.commands import run

duckdb = pytest.importorskip("duckdb")
LABELS = [row < 10 for row in range(20)]


@pytest.fixture(scope="module", params=["edit distance", "tokens", "odds"])
def model(request):
    if request.param == "odds":
        settings = {"place": False, "coherence": False, "shared_alphabet": False}
        return untrained(nsed.OddsMatcher, settings, labels=LABELS)
    symbols = {"source_symbols": "tokens", "source_case": "lower"} if request.param == "tokens" else {}
    return nsed.LearnableEditDistance.fit(PAIRS[:20], iterations=3, **symbols)


def distances(model, pairs):
    return [-script.log_weight for script in model.align_all(pairs)]


def known(model):
    """Pairs, with new symbols where these are all one to the model."""
    odds = isinstance(model, nsed.OddsMatcher)
    pairs = PAIRS[:20] if odds else [*PAIRS, ("GRAY'S GALA", "ẞö")]
    return [pair for pair in pairs if any(pair)]


def module_of(path):
    space = {"__name__": "exported"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    return space


def close(found, expected):
    return found == pytest.approx(expected, abs=1e-4)


@pytest.mark.filterwarnings("ignore::nsed.UnknownSymbolWarning")
def test_the_python_module_finds_the_distance_of_the_best_script(model, tmp_path):
    (path,) = export_model(model, tmp_path, format="rapidfuzz")
    space, pairs = module_of(path), known(model)
    assert close([space["distance"](*pair) for pair in pairs], distances(model, pairs))
    assert all(0 <= space["similarity"](*pair) <= 1 for pair in pairs)
    assert space["distance"]("gray", "grey", score_cutoff=-1e9) == float("inf")
    assert space["similarity"]("gray", "grey", score_cutoff=2.0) == 0
    assert space["distance"]("gray", "grey", processor=str.upper) == space["distance"]("GRAY", "GREY")


def test_rapidfuzz_takes_the_module_as_scorer(model, tmp_path):
    from rapidfuzz import process

    (path,) = export_model(model, tmp_path, format="rapidfuzz")
    space, choices = module_of(path), ["grey", "drag", "lay"]
    found = process.extract("gray", choices, scorer=space["similarity"], limit=3)
    assert sorted(choice for choice, *_ in found) == sorted(choices)
    assert [score for _, score, _ in found] == sorted(
        (space["similarity"]("gray", one) for one in choices), reverse=True
    )


@pytest.mark.filterwarnings("ignore::nsed.UnknownSymbolWarning")
def test_sql_finds_the_distance_of_the_best_script(model, tmp_path):
    (path,) = export_model(model, tmp_path, format="duckdb")
    connection, pairs = duckdb.connect(), known(model)
    connection.execute(path.read_text(encoding="utf-8"))
    connection.execute("CREATE TABLE pairs (place INTEGER, a VARCHAR, b VARCHAR)")
    connection.executemany("INSERT INTO pairs VALUES (?, ?, ?)", [(row, *pair) for row, pair in enumerate(pairs)])
    found = connection.execute("SELECT nsed_distance(a, b) FROM pairs ORDER BY place").fetchall()
    assert close([distance for (distance,) in found], distances(model, pairs))


def test_json_has_the_costs_of_operations_by_symbol(tmp_path):
    model = nsed.LearnableEditDistance.fit(PAIRS[:20], iterations=3)
    (path,) = export_model(model, tmp_path, format="json")
    table = json.loads(path.read_text(encoding="utf-8"))
    for operation in model.costs():
        source, target = ("" if name == "<unk>" else name for name in (operation.source, operation.target))
        row = table[operation.kind]
        cost = row[source][target] if operation.kind == "substitute" else row[source or target]
        assert cost == pytest.approx(operation.cost, abs=1e-6)
    assert table["source"] == {"symbols": "graphemes", "unicode_form": "NFC", "case": "keep"}


@pytest.mark.filterwarnings("ignore::nsed.UnknownSymbolWarning")
def test_symbols_that_sql_cannot_cut_are_refused_with_what_can(tmp_path):
    for settings in ({"source_symbols": "phones"}, {"source_symbols": "codepoints", "unicode_form": "NFD"}):
        model = nsed.LearnableEditDistance.fit(PAIRS[:20], iterations=1, **settings)
        with pytest.raises(
            nsed.NsedError, match=r"of the source, expected graphemes.*--format rapidfuzz cuts as the model"
        ):
            export_model(model, tmp_path, format="duckdb")
        space = module_of(export_model(model, tmp_path, format="rapidfuzz")[0])
        assert space["distance"]("ˈtʰéː", "tée") == pytest.approx(-model.align("ˈtʰéː", "tée").log_weight, abs=1e-4)


@pytest.mark.parametrize("kind", ["sound-classes", "dolgopolsky"])
def test_a_module_of_sound_classes_cuts_strings_and_raises_no_key_error(kind, tmp_path):
    pairs = [("t͡sʰ aː n", "z a n"), ("p a t ⁵⁵", "b oi d"), ("ˈŋ a ø", "n ə")]
    model = nsed.LearnableEditDistance.fit(pairs, source_symbols=kind, target_symbols="phones")
    space = module_of(export_model(model, tmp_path, format="rapidfuzz")[0])
    assert close([space["distance"](*pair) for pair in pairs], distances(model, pairs))


@pytest.fixture(scope="module")
def unsmoothed():
    return nsed.LearnableEditDistance.fit([("gray", "grey"), ("gala", "gele"), ("say", "sey")], smoothing=0)


def test_impossible_operations_are_null_in_json_as_strict_parsers_refuse_infinity(unsmoothed, tmp_path):
    text = export_model(unsmoothed, tmp_path, format="json")[0].read_text(encoding="utf-8")
    table = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert table["delete"][""] is None
    assert table["substitute"]["a"]["e"] > 0


def test_impossible_pairs_have_a_similarity_of_zero_and_not_nan(unsmoothed, tmp_path):
    space = module_of(export_model(unsmoothed, tmp_path, format="rapidfuzz")[0])
    assert (space["distance"]("xyz", "q"), space["similarity"]("xyz", "q")) == (float("inf"), 0.0)
    assert 0 < space["similarity"]("gray", "grey") < 1


def sql_distances(model, pairs, folder):
    connection = duckdb.connect()
    connection.execute(export_model(model, folder, format="duckdb")[0].read_text(encoding="utf-8"))
    asked = [connection.execute("SELECT nsed_distance(?, ?)", list(pair)).fetchone() for pair in pairs]
    return [distance for (distance,) in asked]


def test_impossible_operations_do_not_stop_sql_from_reading_its_table(unsmoothed, tmp_path):
    possible, not_possible = sql_distances(unsmoothed, [("gray", "grey"), ("xyz", "q")], tmp_path)
    assert close([possible], distances(unsmoothed, [("gray", "grey")]))
    assert not_possible == float("inf")


def test_sql_cuts_tokens_at_no_break_spaces_and_all_others_that_python_knows(tmp_path):
    model = nsed.LearnableEditDistance.fit([("a b", "a c"), ("b c", "c a")], source_symbols="tokens")
    spaces = [character for character in map(chr, range(sys.maxunicode + 1)) if character.isspace()]
    found = sql_distances(model, [(f"a{space}b", "a c") for space in [" ", *spaces, "\u200b", "\u180e"]], tmp_path)
    assert close(found[:-2], found[:1] * (len(spaces) + 1))
    assert min(found[-2:]) > found[0] + 1


def test_sql_makes_capitals_small_as_python_does_final_sigmas_too(tmp_path):
    texts = ["ΓΙΩΡΓΟΣ ΠΑΠΑΣ", "ΣΑΣ.", "Α.Σ'Α Σ 'Σ", "ΑΣ\u0301Σ", "İZMİR", "ΑΣ-ΑΣ"]
    settings = {"source_symbols": "codepoints", "target_symbols": "codepoints", "source_case": "lower"}
    model = nsed.LearnableEditDistance.fit([(text, text.lower()) for text in texts], **settings)
    pairs = [(text, text.lower()) for text in texts]
    assert close(sql_distances(model, pairs, tmp_path), distances(model, pairs))


def test_a_network_has_no_table_and_formats_have_names(tmp_path):
    model = untrained(nsed.Matcher, {"encoder__kind": "unigram"}, labels=LABELS)
    with pytest.raises(
        nsed.NsedError, match=r"got a model of kind 'matcher', expected an edit distance.*--format onnx"
    ):
        export_model(model, tmp_path, format="json")
    with pytest.raises(nsed.NsedError, match="format: got 'csv', expected one of onnx, json, rapidfuzz, duckdb"):
        export_model(model, tmp_path, format="csv")


def test_the_module_runs_alone(tmp_path):
    model = nsed.LearnableEditDistance.fit(PAIRS[:20], iterations=1)
    export_model(model, tmp_path, format="rapidfuzz")
    code = "import weighted_levenshtein as w, sys; print(w.distance('gray', 'grey'), 'nsed' in sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    distance, loaded = done.stdout.split()
    assert (float(distance), loaded) == (pytest.approx(distances(model, [("gray", "grey")])[0], abs=1e-4), "False")


def test_the_command_writes_the_files(tmp_path):
    nsed.LearnableEditDistance.fit(PAIRS[:20], iterations=1).save(tmp_path / "model")
    run("export", tmp_path / "model", tmp_path / "out", "--format", "json")
    assert (tmp_path / "out" / "weighted_levenshtein.json").exists()


def test_levenshtein_is_not_called_a_network_that_has_graphs(tmp_path):
    with pytest.raises(nsed.NsedError, match=r"kind 'levenshtein', expected .*: no other model has a table of costs$"):
        export_model(Levenshtein.fit([("a", "b"), ("b", "a")], [1, 0]), tmp_path, format="json")
