"""`nsed cluster` as users type it."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.baselines.lingpy import quietly
from nsed.cli.console import warn
from nsed.errors import ArgumentError, DataError, NsedError, UnknownNameError
from nsed.jobs import LevenshteinControl, unsupervised, word_clusters

LANGUAGES = ("L1", "L2", "L3", "L4")


def run(*arguments, stdin=None):
    result = CliRunner().invoke(app, ["cluster", *map(str, arguments)], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def lines(*, start="", classes=True):
    """Of each of 20 concepts two classes of two words that are alike; a comment as LingPy writes it."""
    yield "# Wordlist"
    yield "ID\tDOCULECT\tCONCEPT\tTOKENS" + "\tCOGID" * classes
    for concept in range(20):
        for place, language in enumerate(LANGUAGES):
            origin = f"{start}{concept}.{place // 2}"
            cells = [f"{concept}{place}", language, f"{start}c{concept}", f"{origin} {origin} {origin}x {place}"]
            yield "\t".join(cells + [origin] * classes)


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("\n".join(lines()) + "\n")
    return path


def read(path):
    return [line.split("\t") for line in path.read_text().splitlines()]


@pytest.mark.parametrize("method", ["average", "components", "labels", "infomap"])
def test_test_concepts_with_a_threshold_of_validation_concepts(words, tmp_path, method):
    shown = run("levenshtein", words, "--concepts", "test", "--method", method, "-o", tmp_path / "sets.tsv").stdout
    assert re.search(r"tuned on validation concepts \(B-cubed F 100.0%\)", shown)
    assert re.search(r"words +16\s+concepts +4\s+clusters +8\s+classes +8, of 16 words\s", shown)
    for figure in ("B-cubed F +100.00%", "pairwise F +100.00%", "adjusted Rand +1.0", "mean of concepts +1.0"):
        assert re.search(figure, shown)
    header, *rows = read(tmp_path / "sets.tsv")
    assert header == ["ID", "DOCULECT", "CONCEPT", "TOKENS", "COGID", "CLUSTER"]
    assert [int(row[-1]) for row in rows] == [number // 2 + 1 for number in range(16)]


def test_concepts_are_those_of_the_protocol(words, tmp_path):
    folder, parts = tmp_path / "pairs", {}
    CliRunner().invoke(app, ["data", "cognates", str(words), str(folder), "--protocol", "concepts", "--seed", "3"])
    for part in ("training", "validation", "test"):
        run("levenshtein", words, "--concepts", part, "--seed", 3, "-o", tmp_path / f"{part}.tsv")
        parts[part] = {row[3] for row in read(tmp_path / f"{part}.tsv")[1:]}
        assert parts[part] == {text for row in read(folder / f"{part}.tsv")[1:] for text in row[:2]}
    assert sum(map(len, parts.values())) == 80


def test_words_without_classes_go_to_standard_output():
    result = run("levenshtein", "-", "--threshold", 0.5, stdin="\n".join(lines(classes=False)))
    assert result.stdout.splitlines()[:2] == ["ID\tDOCULECT\tCONCEPT\tTOKENS\tCLUSTER", "00\tL1\tc0\t0.0 0.0 0.0x 0\t1"]
    assert len(result.stdout.splitlines()) == 81
    assert "B-cubed" not in result.output


def test_another_list_tunes_the_threshold(words, tmp_path):
    other = tmp_path / "other.tsv"
    other.write_text("\n".join(lines(start="o")))
    shown = run("levenshtein", words, "--tune", other, "-o", tmp_path / "sets.tsv").stdout
    assert "tuned on other.tsv (B-cubed F 100.0%)" in shown
    with pytest.raises(ArgumentError, match=r"--tune: got .*, with 80 of them, .* use --concepts test"):
        run("levenshtein", words, "--tune", words)
    with pytest.raises(ArgumentError, match=r"--threshold: got 0\.5, expected nothing beside --tune"):
        run("levenshtein", words, "--tune", other, "--threshold", 0.5)


@pytest.mark.slow
def test_models_of_all_kinds(words, tmp_path):
    pairs = [("a b", "a b"), ("a c", "a c")]
    config = nsed.EditDistanceConfig(source_symbols="tokens", target_symbols="tokens")
    nsed.LearnableEditDistance.fit(pairs, config=config).save(tmp_path / "table")
    with pytest.warns(nsed.UnknownSymbolWarning):
        shown = run(tmp_path / "table", words, "--concepts", "test", "-o", tmp_path / "sets.tsv").stdout
    assert re.search(r"B-cubed F +\d+\.\d\d%", shown)
    suggested = (
        r"--threshold: got nothing, .* go from 0\.\d+ to 0\.\d+; --threshold (0\.\d+) has 25% of the pairs above it"
    )
    with pytest.warns(nsed.UnknownSymbolWarning), pytest.raises(ArgumentError, match=suggested) as found:
        run(tmp_path / "table", words)
    with pytest.warns(nsed.UnknownSymbolWarning):
        run(tmp_path / "table", words, "--threshold", re.search(suggested, str(found.value))[1])
    small = {"encoder": {"kind": "unigram", "dim": 8}, "train": {"steps": 2, "batch_pairs": 8, "device": "cpu"}}
    labelled = nsed.Pairs(["a b", "c d"] * 4, ["a b", "x y"] * 4, [True, False] * 4)
    config = nsed.config.from_mapping(nsed.MatcherConfig, small)
    nsed.Matcher.fit(labelled, validation=labelled, config=config).save(tmp_path / "matcher")
    with pytest.warns(nsed.UnknownSymbolWarning):
        shown = run(tmp_path / "matcher", words, "-o", tmp_path / "sets.tsv").stdout
    assert re.search(r"threshold +0.5000\s+as probable as not", shown)
    with pytest.raises(
        ArgumentError, match=r"--threshold: got 1\.3, expected a probability from 0 to 1, as this model"
    ):
        run(tmp_path / "matcher", words, "--threshold", 1.3)


def test_what_is_wrong_is_said(words, tmp_path):
    with pytest.raises(UnknownNameError, match=r"method: got 'avrage', .* Did you mean 'average'"):
        run("levenshtein", words, "--method", "avrage")
    with pytest.raises(DataError, match=r"words.tsv:2: no column ORIGIN; there are: ID, DOCULECT"):
        run("levenshtein", words, "--classes", "ORIGIN", "--threshold", 0.5)
    once = "DOCULECT\tCONCEPT\tTOKENS\nL1\thand\ta\nL1\tfoot\tb\n"
    with pytest.raises(
        ArgumentError, match="words: got 2 words of 2 concepts in 1 language, expected at least two words"
    ):
        run("levenshtein", "-", "--threshold", 0.5, stdin=once)
    run("levenshtein", words, "--threshold", 0.5, "-o", tmp_path / "sets.tsv")
    with pytest.raises(DataError, match=r"sets.tsv:1: there is a column CLUSTER already"):
        run("levenshtein", tmp_path / "sets.tsv", "--threshold", 0.5)
    (tmp_path / "short.tsv").write_text("DOCULECT\tCONCEPT\tTOKENS\nL1\n")
    with pytest.raises(DataError, match=r"short.tsv:2: expected 3 columns separated by a tab, found 1: 'L1'"):
        run("levenshtein", tmp_path / "short.tsv", "--threshold", 0.5)


def test_figures_are_written_too(words, tmp_path):
    figures = tmp_path / "figures.json"
    run("levenshtein", words, "--concepts", "test", "--figures", figures, "-o", tmp_path / "sets.tsv")
    read = json.loads(figures.read_text())
    assert (read["method"], read["b_cubed"]["f1"], read["origin"][:8]) == ("average", 1.0, "tuned on")
    unknown = tmp_path / "unknown.tsv"
    unknown.write_text("\n".join(lines(classes=False)) + "\n")
    with pytest.raises(ArgumentError, match=r"--figures: got .*, expected nothing: the list has no classes"):
        run("levenshtein", unknown, "--threshold", "0.5", "--figures", figures, "-o", tmp_path / "sets.tsv")


IPA = """DOCULECT\tCONCEPT\tTOKENS
Dutch\thand\th ɑ n t
German\thand\th a n t
Czech\thand\tr u k a
Russian\thand\tr u k a
"""


@pytest.mark.parametrize("control", ["levenshtein", "sca"])
def test_a_threshold_that_no_similarity_of_a_control_can_reach_is_refused(control, words):
    with pytest.raises(ArgumentError, match=r"--threshold: got 5\.0, expected a similarity from 0 to 1, as this model"):
        run(control, words, "--threshold", 5)


@pytest.mark.parametrize(("control", "threshold"), [("levenshtein", 0.25), ("sca", 0.55), ("lexstat", 0.4)])
def test_controls_need_neither_gold_nor_threshold_nor_pairs(control, threshold):
    if control != "levenshtein":
        pytest.importorskip("lingpy")
    result = run(control, "-", stdin=IPA)
    assert re.search(rf"similarities +from .* to .*\s+threshold +{threshold:.4f}\s+the control's own", result.stderr)
    clusters = [line.split("\t")[-1] for line in result.stdout.splitlines()]
    assert clusters == ["CLUSTER", *(["1", "1", "2", "2"] if control != "lexstat" else ["1", "2", "3", "4"])]


def test_lexstat_learns_from_the_list_that_tunes_as_well(tmp_path):
    pytest.importorskip("lingpy")
    rows = [f"{language}\tarm\t{word}\t{word[0]}" for language, word in (("A", "p a"), ("B", "p a"), ("C", "t u"))]
    (tmp_path / "other.tsv").write_text("\n".join(["DOCULECT\tCONCEPT\tTOKENS\tCOGID", *rows]))
    shown = run("lexstat", "-", "--tune", tmp_path / "other.tsv", "-o", tmp_path / "sets.tsv", stdin=IPA).stdout
    assert "tuned on other.tsv" in shown
    with pytest.raises(ArgumentError, match=r"words: got a list that LexStat cannot learn from .*, expected sounds in"):
        run("lexstat", "-", stdin="DOCULECT\tCONCEPT\tTOKENS\nA\thand\t0.1 0.2\nB\thand\tx#\n")


def test_lingpy_reads_every_cluster_because_none_is_number_0(tmp_path):
    lingpy = pytest.importorskip("lingpy")
    rows = ["\t".join([str(place), *line.split("\t")]) for place, line in enumerate(IPA.splitlines())]
    (tmp_path / "words.tsv").write_text("\n".join(["ID" + rows[0][1:], *rows[1:]]) + "\n")
    run("levenshtein", tmp_path / "words.tsv", "--threshold", 0.5, "-o", tmp_path / "sets.tsv")
    sets = (tmp_path / "sets.tsv").read_text().replace("CLUSTER", "COGID")
    (tmp_path / "sets.tsv").write_text(sets)
    with quietly():
        aligned = lingpy.Alignments(str(tmp_path / "sets.tsv"), ref="cogid", transcription="tokens")
    assert sorted(aligned.msa["cogid"]) == [1, 2]


def test_similarities_that_reach_1_3_have_thresholds_beyond_1(monkeypatch):
    scores = LevenshteinControl.probability
    monkeypatch.setattr(LevenshteinControl, "probability", lambda *given, on_batch: 1.3 * scores(*given))
    monkeypatch.setattr(word_clusters.Control, "bounded", False)  # as of lexstat
    result = run("levenshtein", "-", "--threshold", 1.1, stdin=IPA)
    assert re.search(r"similarities +from 0\.0000 to 1\.3000\s+threshold +1\.1000\s+given", result.stderr)
    assert [line.split("\t")[-1] for line in result.stdout.splitlines()[1:]] == ["1", "2", "3", "3"]
    shown = CliRunner().invoke(app, ["cluster", "--help"], env={"COLUMNS": "200"}).stdout
    assert "lexstat, and edit distances, go beyond 1" in " ".join(shown.replace("│", " ").split())


def test_cluster_reads_a_folder_of_cldf(tmp_path):
    pycldf = pytest.importorskip("pycldf")
    dataset = pycldf.Wordlist.in_dir(tmp_path / "cldf")
    for table in ("CognateTable", "LanguageTable", "ParameterTable"):
        dataset.add_component(table)
    words = [line.split("\t") for line in IPA.splitlines()[1:]]
    forms = [
        {
            "ID": f"f-{place}",
            "Language_ID": language,
            "Parameter_ID": "1277",
            "Form": tokens,
            "Segments": tokens.split(),
        }
        for place, (language, _, tokens) in enumerate(words)
    ]
    dataset.write(
        FormTable=forms,
        LanguageTable=[{"ID": language, "Name": f"{language} (standard)"} for language, *_ in words],
        ParameterTable=[{"ID": "1277", "Name": "HAND"}],
        CognateTable=[{"ID": str(n), "Form_ID": f"f-{n}", "Cognateset_ID": f"hand-{n // 2}"} for n in range(3)],
    )
    shown = run("levenshtein", tmp_path / "cldf", "-o", tmp_path / "sets.tsv").stdout
    assert re.search(r"words +4\s+concepts +1\s+clusters +2\s+classes +2, of 3 words\s+B-cubed", shown)
    header, first, *_, last = read(tmp_path / "sets.tsv")
    named = "ID DOCULECT LANGUAGE_NAME CONCEPT CONCEPT_NAME FORM_ID FORM TOKENS COGID COGNATESET CLUSTER"
    assert header == named.split()
    assert first == ["1", "Dutch", "Dutch (standard)", "1277", "HAND", "f-0", *["h ɑ n t"] * 2, "1", "hand-0", "1"]
    assert last[-4:] == ["r u k a", "", "", "2"]
    assert (
        run("levenshtein", tmp_path / "cldf" / "Wordlist-metadata.json").stdout == (tmp_path / "sets.tsv").read_text()
    )
    (tmp_path / "cldf" / "Wordlist-metadata.json").unlink()
    for name in ("cldf", "cldf/forms.csv"):
        assert run("levenshtein", tmp_path / name).stdout == (tmp_path / "sets.tsv").read_text()
    (tmp_path / "cldf" / "cognates.csv").unlink()
    assert "COGID" not in run("levenshtein", tmp_path / "cldf").stdout


BAD = {
    "an empty file": ("", r"-: the file is empty; expected a header and words"),
    "only a header": (IPA.splitlines()[0], r"-:1: there is a header but no row below it"),
    "no language": (IPA.replace("DOCULECT", "WHO"), r"-:1: no column DOCULECT or LANGUAGE .*; there are: WHO, CONCEPT"),
    "commas": (IPA.replace("\t", ","), r"-:1: no column DOCULECT .*; there are: DOCULECT,CONCEPT,TOKENS"),
    "one language": (
        "DOCULECT\tCONCEPT\tTOKENS\nA\thand\ta\nA\thand\tb\n",
        "got 2 words of 1 concept in 1 language, expected at least two words of one concept in two languages",
    ),
    "one word": ("DOCULECT\tCONCEPT\tTOKENS\nA\thand\ta\n", "got 1 word of 1 concept in 1 language, expected at least"),
}


@pytest.mark.parametrize("control", ["levenshtein", "lexstat"])
@pytest.mark.parametrize("case", BAD)
def test_lists_that_cannot_be_clustered_are_refused_in_words(case, control):
    content, message = BAD[case]
    with pytest.raises(NsedError, match=message):
        run(control, "-", stdin=content)


def test_words_without_a_class_are_clustered_beside_those_with(words, tmp_path):
    lines = words.read_text().splitlines()
    words.write_text("\n".join([*lines[:-1], lines[-1].rsplit("\t", 1)[0] + "\t"]) + "\n")
    shown = run("levenshtein", words, "-o", tmp_path / "sets.tsv").stdout
    assert re.search(r"classes +40, of 79 words", shown)


@pytest.mark.parametrize("command", ["cluster", "train"])
def test_help_says_what_suits_a_new_family(command):
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).stdout
    assert "docs/cognate-sets.md" in shown


@pytest.mark.slow
def test_auto_learns_from_the_list_alone_and_keeps_its_model(tmp_path, monkeypatch):
    monkeypatch.setitem(unsupervised.SETTINGS, "train__steps", 40)
    path = tmp_path / "words.tsv"
    path.write_text("\n".join(_related_words()) + "\n")
    shown = run("auto", path, "--save", tmp_path / "model", "-o", tmp_path / "sets.tsv").stdout
    assert "as probable as not" in shown
    again = run(tmp_path / "model", path, "-o", tmp_path / "again.tsv").stdout
    assert "as probable as not" in again
    assert read(tmp_path / "sets.tsv") == read(tmp_path / "again.tsv")
    together = {(row[1], row[-1]) for row in read(tmp_path / "sets.tsv")[1:] if row[0] != "C"}
    assert len(together) <= 45  # of 40 concepts: A and B, which are related, are together in nearly all


def _related_words():
    """Forty concepts in two languages that differ by a sound change, and in an unrelated third."""
    random = np.random.default_rng(0)
    yield "DOCULECT\tCONCEPT\tTOKENS"
    for concept in range(40):
        root, other = (" ".join(random.choice(list(kind)) for kind in ("ptksmnrl", "aiou") * 3) for _ in range(2))
        for language, form in (("A", root), ("B", root.translate(str.maketrans("ptka", "bdge"))), ("C", other)):
            yield f"{language}\tc{concept}\t{form}"


def test_a_folder_for_a_model_that_nobody_learns(words, tmp_path):
    with pytest.raises(ArgumentError, match=r"--save: got .*, expected nothing: only auto learns a model"):
        run("levenshtein", words, "--save", tmp_path / "model")


@pytest.mark.parametrize(
    ("typed", "meant"), [("sac", "sca"), ("levenstein", "levenshtein"), ("lexstatt", "lexstat"), ("atuo", "auto")]
)
def test_a_control_with_a_typo_is_not_only_a_missing_folder(words, typed, meant):
    with pytest.raises(
        UnknownNameError, match=rf"MODEL: got '{typed}', expected auto, a control .*Did you mean '{meant}'"
    ):
        run(typed, words)


def test_lexstat_on_a_very_short_list_is_warned_of(tmp_path):
    pytest.importorskip("lingpy")
    warn.cache_clear()
    told = run("lexstat", "-", "-o", tmp_path / "sets.tsv", stdin=IPA).stderr
    assert "Dutch has 1, too few" in told
    assert "The control sca" in told


def test_a_threshold_that_no_two_words_reach_is_warned_of(tmp_path):
    warn.cache_clear()
    told = run("levenshtein", "-", "--threshold", 1, stdin=IPA.replace("Czech\thand\tr", "Czech\thand\tl")).stderr
    assert re.search(r"threshold 1\.0000: no two words are that similar.*go from 0\.0000 to 0\.\d+", told)
    assert "warning" not in run("levenshtein", "-", "--threshold", 1, stdin=IPA).stderr


def test_words_of_class_0_are_not_one_set_of_their_own(tmp_path):
    rows = [f"{line}\t{number}" for line, number in zip(IPA.splitlines(), ("COGID", 1, 1, 0, 0), strict=True)]
    told = run("levenshtein", "-", "--threshold", 0.5, stdin="\n".join(rows)).stderr
    assert re.search(r"classes +1, of 2 words", told)


def increment(tmp_path, *, ids):
    """A list of ten sets, and the same in another order with the words of a new concept before all others."""
    header = ["ID"] * ids + ["DOCULECT", "CONCEPT", "TOKENS"]
    rows = [
        [f"{concept}{place}"] * ids + [language, concept, ("m a n", "m a n t", "t i k", "t i k s")[place]]
        for concept in ("1", "2", "3", "4", "5", "9")
        for place, language in enumerate(LANGUAGES)
    ]
    for name, some in (("words.tsv", rows[:20]), ("more.tsv", [*rows[20:], *reversed(rows[:20])])):
        (tmp_path / name).write_text("\n".join("\t".join(row) for row in [header, *some]) + "\n")
    return tmp_path / "words.tsv", tmp_path / "more.tsv"


@pytest.mark.parametrize("form", ["table", "edictor", "cldf"])
def test_an_id_of_two_words_is_refused_before_it_is_written(tmp_path, form):
    rows = ["# a comment", "id\tDOCULECT\tCONCEPT\tTOKENS", "1\tA\thand\th a", "2\tB\thand\th a", "1\tC\thand\th e"]
    path, output = tmp_path / "words.tsv", tmp_path / "sets.tsv"
    path.write_text("\n".join(rows) + "\n")
    with pytest.raises(DataError, match=r"words\.tsv:5: two words have the id '1', that of line 3 too: give"):
        run("levenshtein", path, "--format", form, "-o", output)
    assert not output.exists()
    path.write_text("\n".join(rows).replace("1\tC\thand", "\tC") + "\n")
    with pytest.raises(DataError, match=r"words\.tsv:5: expected 4 columns"):
        run("levenshtein", path, "--format", form, "-o", output)


def test_numbers_that_two_words_have_beside_ids_of_their_own_are_told_where_words_are_numbered(tmp_path):
    pytest.importorskip("lingpy")
    path, output = tmp_path / "words.tsv", tmp_path / "sets.tsv"
    head = "FORM_ID\tID\tDOCULECT\tCONCEPT\tTOKENS"
    for numbers, told in ({"x": "1", "y": "7", "z": "7"}, True), ({"x": "1", "y": "7", "z": "8"}, False):
        rows = [f"{own}\t{number}\tL{own}\thand\th a" for own, number in numbers.items()]
        path.write_text("\n".join([head, *rows]) + "\n")
        shown = run("levenshtein", path, "--threshold", 0.5, "--format", "edictor", "-o", output).stderr
        expected = "tsv:4: ID has 7 again, that of line 3: words are numbered from 1, and what it has is in INPUT_ID"
        assert ("".join(expected.split()) in "".join(shown.split())) == told
        found = read(output)
        assert [row[0] for row in found[1:]] == (["1", "2", "3"] if told else ["1", "7", "8"])
        if told:
            assert [row[found[0].index("INPUT_ID")] for row in found[1:]] == ["1", "7", "7"]


@pytest.mark.parametrize(("form", "file"), [("table", "sets.tsv"), ("edictor", "edictor.tsv"), ("cldf", "cldf")])
@pytest.mark.parametrize("ids", [True, False])
def test_sets_keep_their_numbers_when_words_come(tmp_path, form, file, ids):
    pytest.importorskip("lingpy")
    words, more = increment(tmp_path, ids=ids)
    run("levenshtein", words, "--threshold", 0.5, "--format", form, "-o", tmp_path / file)
    run("levenshtein", words, "--threshold", 0.5, "-o", tmp_path / "before.tsv")
    before = {tuple(row[-4:-1]): row[-1] for row in read(tmp_path / "before.tsv")[1:]}
    assert set(before.values()) == set(map(str, range(1, 11)))
    again = ["--previous", tmp_path / file, "-o", tmp_path / "again.tsv"]
    shown = run("levenshtein", more, "--threshold", 0.5, *again).output
    assert "since --previous: 10 ids kept, 2 new; 0 clusters split, 0 merged" in shown
    found = {tuple(row[-4:-1]): row[-1] for row in read(tmp_path / "again.tsv")[1:]}
    assert {key: found[key] for key in before} == before
    assert {found[key] for key in found.keys() - before.keys()} == {"11", "12"}


def test_partial_sets_keep_their_numbers(tmp_path):
    rows = ["DOCULECT\tCONCEPT\tTOKENS", "A\tglove\th a n t + s u", "B\tglove\th a n d + s u", "C\tglove\tl o l"]
    (tmp_path / "a.tsv").write_text("\n".join(rows) + "\n")
    options = ["--partial", "--threshold", 0.5]
    run("levenshtein", tmp_path / "a.tsv", *options, "-o", tmp_path / "sets.tsv")
    assert [row[-1] for row in read(tmp_path / "sets.tsv")] == ["COGIDS", "1 2", "1 2", "3"]
    (tmp_path / "b.tsv").write_text("\n".join([rows[0], "D\tglove\tx e x", *rows[:0:-1]]) + "\n")
    run("levenshtein", tmp_path / "b.tsv", *options, "--previous", tmp_path / "sets.tsv", "-o", tmp_path / "again.tsv")
    assert [row[-1] for row in read(tmp_path / "again.tsv")] == ["COGIDS", "4", "3", "1 2", "1 2"]


def test_what_is_no_earlier_run_is_said(words, tmp_path):
    head = "ID\tDOCULECT\tCONCEPT\tTOKENS"
    for text, message in {
        head + "\n1\tL1\tc\ta": "no column CLUSTER nor COGID: give a list that nsed cluster wrote",
        head + "\tCLUSTER\n1\tL1\tc\ta\tx": "cluster 'x' is no number from 1",
        head + "\tCLUSTER\n1\tL1\tc\ta\t1\n1\tL1\tc\ta\t1": r"before\.tsv:3: two words have the id '1'",
        head + "\tCLUSTER\nx\tL1\tc\ta\t1": "no word of the list is in it, by id",
    }.items():
        (tmp_path / "before.tsv").write_text(text + "\n")
        with pytest.raises(DataError, match=message):
            run("levenshtein", words, "--previous", tmp_path / "before.tsv")
