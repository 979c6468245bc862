"""Score, align, transduce, match, operations: what models answer, as users ask for it."""

import csv
import json
import re

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.baselines.lookup import Lookup
from nsed.baselines.similarity import Levenshtein
from nsed.errors import ArgumentError, DataError, NotExplainableError, UnknownSymbolWarning
from support.commands import run


def cells(*arguments, **options):
    """The cells of each line below the header."""
    return [line.split("\t") for line in run(*arguments, **options).splitlines()[1:]]


def test_score_of_a_file_and_of_a_pair(model, pairs):
    lines = cells("score", model, pairs)
    expected = nsed.load(model).score(nsed.read_pairs(pairs))
    assert [float(score) for _, _, score in lines] == pytest.approx(expected, abs=1e-5)
    assert run("score", model, "--pair", "AB", "ab").startswith("source\ttarget\tscore\nAB\tab\t-")
    assert run("score", model, "-", stdin="AB\tab\n") == run("score", model, "--pair", "AB", "ab")
    (first, *_) = run("score", model, pairs, "--format", "json").splitlines()
    assert json.loads(first)["score"] == pytest.approx(expected[0])


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("text", "-B A→a C→c\n"),
        ("table", "B A C\n· a c\n\n"),
        ("pharaoh", "1-0 2-1\n"),
        ("opcodes", '[["delete", 0, 1, 0, 0], ["replace", 1, 3, 0, 2]]\n'),
    ],
)
def test_align(model, form, expected):
    assert run("align", model, "--pair", "BAC", "ac", "--format", form) == expected


def test_align_json_reads_back(model, pairs):
    lines = run("align", model, pairs, "--format", "json").splitlines()
    scripts = [nsed.EditScript.from_json(line) for line in lines]
    assert [("".join(script.source), "".join(script.target)) for script in scripts] == list(nsed.read_pairs(pairs))


def test_operations_and_costs(model, tmp_path):
    assert "C→c" in run("operations", model, "--top", 3)
    assert "C→c" not in run("operations", model, "--kind", "delete")
    run("operations", model, "--costs", "--output", tmp_path / "costs.tsv")
    lines = [line.split("\t") for line in (tmp_path / "costs.tsv").read_text().splitlines()]
    assert len(lines) == 4 + 4 + 16
    costs = {(source, target): float(cost) for _, source, target, cost in lines}
    assert costs["A", "a"] < costs["<unk>", "<unk>"]
    run("operations", model, "--top", 2, "--output", tmp_path / "top.tsv")
    assert (tmp_path / "top.tsv").read_text().startswith("substitute\tC\tc\t0.")


def test_a_word_in_the_place_of_a_file_is_answered_with_the_option_for_words(transducer):
    with pytest.raises(DataError, match=r"BAAC: no such file; .* goes after --text: --text BAAC"):
        run("transduce", transducer, "BAAC")


def test_a_transducer_answers_words_of_a_file_of_a_pipe_and_of_the_command_line(transducer, tmp_path):
    (tmp_path / "sources.txt").write_text("CCB\n\nCB\n")
    lines = cells("transduce", transducer, tmp_path / "sources.txt")
    assert [source for source, _, _ in lines] == ["CCB", "", "CB"]
    assert [target for _, target, _ in lines[::2]] == ["ccb", "cb"]
    assert cells("transduce", transducer, stdin="CCB\n") == lines[:1]


def test_several_answers_come_best_first_with_the_scores_of_their_pairs(transducer):
    found = run("transduce", transducer, "--text", "CCB", "--nbest", 3, "--format", "json").splitlines()
    answers = [json.loads(line) for line in found]
    scores = [answer["log_prob"] for answer in answers]
    assert len({answer["target"] for answer in answers}) == 3
    assert scores == sorted(scores, reverse=True)
    for answer in answers:
        ((_, _, scored),) = cells("score", transducer, "--pair", "CCB", answer["target"])
        assert float(scored) == pytest.approx(answer["log_prob"], abs=1e-3)
    assert run("align", transducer, "--pair", "CCB", "ccb") == "C→c C→c B→b\n"


def test_a_wider_beam_is_obeyed(transducer):
    """What greedy search finds is less probable than what a wide beam finds, of one of these sources at least."""
    sources = [part for source in ("CACAB", "BAAACB", "ABBA", "BCAAB", "CABCA") for part in ("--text", source)]
    narrow, wide = (
        [float(score) for _, _, score in cells("transduce", transducer, *sources, "--beam", beam)] for beam in (1, 8)
    )
    assert sum(wide) > sum(narrow)


def test_seq2seq_answers_the_same_commands_but_has_no_operations(copied):
    model = copied("seq2seq")
    best = json.loads(run("transduce", model, "--text", "CCB", "--format", "json"))
    ((_, _, scored),) = cells("score", model, "--pair", "CCB", best["target"])
    assert float(scored) == pytest.approx(best["log_prob"], abs=1e-3)
    assert len(cells("transduce", model, "--text", "CCB", "--sample", 2)) == 2
    links = run("align", model, "--pair", "CCB", "ccb", "--format", "pharaoh").split()
    assert {link.split("-")[1] for link in links} == {"0", "1", "2"}
    for command in ("align", "explain"):
        with pytest.raises(NotExplainableError, match="a sequence-to-sequence model has no edit operations"):
            run(command, model, "--pair", "CCB", "ccb")


@pytest.mark.parametrize("kind", ["matcher-rnn", "cross-encoder", "stance"])
def test_decisions_and_probabilities_are_those_of_the_model(kind, copied, labelled):
    folder, data = copied(kind), nsed.read_pairs(labelled)
    loaded, lines = nsed.load(folder), cells("match", folder, labelled)
    assert [decision == "1" for _, _, decision, *_ in lines] == loaded.match(data).tolist()
    assert [float(shown) for *_, shown, _ in lines] == pytest.approx(loaded.probability(data).tolist(), abs=1e-3)
    assert [(source, target) for source, target, *_ in lines] == list(zip(data.sources, data.targets, strict=True))


def test_a_match_as_json_says_what_the_line_says(matcher):
    for pair in (("CC", "cc"), ("CCCCCC", "a")):
        shown = json.loads(run("match", matcher, "--pair", *pair, "--format", "json"))
        ((_, _, decision, probability),) = cells("match", matcher, "--pair", *pair)
        assert (shown["match"], shown["probability"]) == (decision == "1", pytest.approx(float(probability), abs=1e-3))


def test_a_matcher_aligns_what_it_decides(matcher):
    assert run("align", matcher, "--pair", "CC", "cc", "--format", "pharaoh") == "0-0 1-1\n"


@pytest.mark.parametrize("kind", ["cross-encoder", "stance"])
def test_a_baseline_of_the_matcher_has_no_operations(kind, copied):
    assert float(cells("score", copied(kind), "--pair", "CC", "cc")[0][2]) < 0
    for command in ("align", "explain"):
        with pytest.raises(NotExplainableError, match=f"a model of kind '{kind}' has no edit operations to show"):
            run(command, copied(kind), "--pair", "CC", "cc")


@pytest.mark.parametrize("labels", ["of the pairs", "of --validation"])
def test_match_no_longer_refuses_an_edit_distance_of_labelled_pairs(labels, labelled, tmp_path):
    pairs, more = labelled, []
    if labels == "of --validation":
        pairs, more = tmp_path / "positives.tsv", ["--validation", labelled]
        pairs.write_text("".join(f"{s}\t{t}\n" for s, t in nsed.read_pairs(labelled).positives()))
    run("train", pairs, tmp_path / "model", "--model", "edit-distance", "--set", "iterations=3", *more)
    loaded, lines = (
        nsed.load(tmp_path / "model"),
        run("match", tmp_path / "model", labelled, "--no-header").splitlines(),
    )
    assert [line.split("\t")[2] == "1" for line in lines] == loaded.match(nsed.read_pairs(labelled)).tolist()
    run("train", pairs, tmp_path / "model", "--resume", "--set", "iterations=4", *more)
    assert nsed.load(tmp_path / "model").threshold != loaded.threshold


def test_match_says_from_which_probability_on_pairs_match(matcher, labelled):
    """A 1 at probability 0.31 is no riddle: the model's threshold, that of the best F1, is told as a probability."""
    shown = CliRunner().invoke(app, ["match", str(matcher), str(labelled)])
    (border,) = re.findall(r"match: probability of at least (0\.\d+), the model's threshold", shown.stderr)
    assert 0 < float(border) < 0.5
    for line in shown.stdout.splitlines()[1:]:
        _, _, decision, probability, _ = line.split("\t")
        assert (decision == "1") == (float(probability) >= float(border)), line


def test_what_a_model_cannot_do_is_said(model, transducer):
    advised = "An edit distance has a threshold if trained on labelled pairs, or with --validation LABELLED"
    with pytest.raises(ArgumentError, match=rf"MODEL: got .*, which makes no decisions, expected a matcher.*{advised}"):
        run("match", model, "--pair", "A", "a")
    with pytest.raises(ArgumentError, match=r"MODEL: got .*, which scores pairs only, expected a transducer"):
        run("transduce", model, "--text", "A")
    with pytest.raises(
        NotExplainableError, match=r"kind transducer has no table of operations; .* nsed rules .* PAIRS"
    ):
        run("operations", transducer)


def test_operations_of_a_matcher_in_odds_form_are_its_log_odds_and_levenshtein_is_not_called_neural(tmp_path):
    model = nsed.OddsMatcher.untrained([("grey", "gray"), ("colour", "color")])
    model.save(tmp_path / "odds")
    best = model.operations()[0]
    assert run("operations", tmp_path / "odds", "-o", tmp_path / "all.tsv") == ""
    first = (tmp_path / "all.tsv").read_text().splitlines()[0].split("\t")
    assert first == [best.kind, best.source, best.target, f"{best.log_odds:.6f}"]
    shown = run("operations", tmp_path / "odds", "--top", 3)
    assert "log-odds" in shown
    assert "probability" not in shown
    with pytest.raises(
        ArgumentError, match=r"--costs: got .*, whose operations have log-odds, expected an edit distance"
    ):
        run("operations", tmp_path / "odds", "--costs")
    Levenshtein.fit([("a", "b"), ("b", "a")], [1, 0]).save(tmp_path / "levenshtein")
    with pytest.raises(
        NotExplainableError, match="of kind levenshtein has no table of operations: it has learned none"
    ):
        run("operations", tmp_path / "levenshtein")


@pytest.mark.slow
def test_drawn_targets_are_the_same_for_the_same_seed(transducer):
    drawn = [run("transduce", transducer, "--text", "CACAB", "--sample", 20, "--seed", seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0].splitlines())) > 3


def test_overrides_are_marked_in_the_output(transducer, tmp_path):
    (tmp_path / "fixes.tsv").write_text("CCB\tbbb\n")
    words = ["--text", "CCB", "--text", "CB", "--overrides", tmp_path / "fixes.tsv"]
    lines = cells("transduce", transducer, *words)
    assert [(source, target, mark) for source, target, _, mark in lines] == [("CCB", "bbb", "1"), ("CB", "cb", "0")]
    shown = [
        json.loads(line) for line in run("transduce", transducer, *words, "--nbest", 2, "--format", "json").splitlines()
    ]
    assert [(one["target"], one["override"]) for one in shown[:2]] == [("bbb", True), ("ccb", False)]
    assert shown[0]["log_prob"] == pytest.approx(nsed.load(transducer).score([("CCB", "bbb")])[0])
    with pytest.raises(ArgumentError, match=r"--overrides: got .*, expected none beside --sample"):
        run("transduce", transducer, *words, "--sample", 2)


def test_a_target_that_cannot_be_written_has_no_probability_in_json(transducer, tmp_path):
    (tmp_path / "fixes.tsv").write_text("CCB\t?\n")
    shown = run("transduce", transducer, "--text", "CCB", "--exceptions", tmp_path / "fixes.tsv", "--format", "json")
    assert json.loads(shown) == {"source": "CCB", "target": "?", "log_prob": None, "override": True}


def test_columns_are_found_by_the_names_given(model, tmp_path):
    (tmp_path / "words.tsv").write_text("id\tto\tfrom\n1\tab\tAB\n")
    ((*scored, number),) = cells("score", model, tmp_path / "words.tsv", "--columns", "from,to")
    assert (scored, number) == (*cells("score", model, "--pair", "AB", "ab"), "1")


def test_as_many_operations_as_wanted_and_of_the_kind_wanted(model, tmp_path):
    run("operations", model, "--top", 2, "--kind", "delete", "--output", tmp_path / "top.tsv")
    lines = [line.split("\t") for line in (tmp_path / "top.tsv").read_text().splitlines()]
    assert [kind for kind, *_ in lines] == ["delete", "delete"]


@pytest.fixture
def table(tmp_path):
    """Pairs with an id, a gloss, and a column whose name is that of an answer."""
    path = tmp_path / "table.tsv"
    path.write_text("source\ttarget\tid\tgloss\tscore\nAB\tab\t7\thand\t0.5\nC\tc\t8\tfoot\t\n")
    return path


def test_answers_about_pairs_do_not_lose_the_other_columns_and_have_a_header(model, matcher, table):
    header, first, second = (line.split("\t") for line in run("score", model, table).splitlines())
    assert header == ["source", "target", "score", "id", "gloss", "input_score"]
    assert first[:2] + first[3:] == ["AB", "ab", "7", "hand", "0.5"]
    assert second[3:] == ["8", "foot", ""]
    header, first, _ = (line.split("\t") for line in run("match", matcher, table).splitlines())
    assert header == ["source", "target", "match", "probability", "id", "gloss", "score"]
    assert first[4:] == ["7", "hand", "0.5"]


def test_answers_about_sources_do_not_lose_the_other_columns_and_have_a_header(transducer, table):
    header, *rows = (line.split("\t") for line in run("transduce", transducer, table, "--nbest", 2).splitlines())
    assert header == ["source", "target", "log_prob", "input_target", "id", "gloss", "score"]
    assert [(row[0], *row[3:6]) for row in rows] == [("AB", "ab", "7", "hand")] * 2 + [("C", "c", "8", "foot")] * 2
    named = cells("transduce", transducer, "--column", "word", "-", stdin="id\tword\n7\tAB\n")
    assert [(row[0], row[3]) for row in named] == [("AB", "7")]
    assert [row[0] for row in cells("transduce", transducer, "-", stdin="AB\tx\nC\ty\n")] == ["AB", "C"]


def test_scripts_that_know_the_places_of_columns_find_them_without_a_header(model, transducer, table):
    assert [line.split("\t")[:2] for line in run("score", model, table, "--no-header").splitlines()] == [
        ["AB", "ab"],
        ["C", "c"],
    ]
    assert run("transduce", transducer, "--text", "CCB", "--no-header").startswith("CCB\tccb\t-")


READ = {
    "out.parquet": pyarrow.parquet.read_table,
    "out.feather": pyarrow.feather.read_table,
    "out.ARROW": pyarrow.feather.read_table,
    "out.csv": lambda path: pa.Table.from_pylist(list(csv.DictReader(path.read_text().splitlines()))),
    "out.tsv": lambda path: pa.Table.from_pylist(list(csv.DictReader(path.read_text().splitlines(), delimiter="\t"))),
    "out.json": lambda path: pa.Table.from_pylist([json.loads(line) for line in path.read_text().splitlines()]),
}


@pytest.mark.parametrize("name", READ)
def test_an_output_is_what_its_ending_says_not_tsv_under_that_name(name, model, table, tmp_path):
    run("score", model, table, "-o", tmp_path / name)
    found = READ[name](tmp_path / name)
    assert found.column_names == ["source", "target", "score", "id", "gloss", "input_score"]
    scores = nsed.load(model).score(nsed.read_pairs(table))
    assert [float(score) for score in found["score"].to_pylist()] == pytest.approx(scores, abs=1e-5)
    assert found["gloss"].to_pylist() == ["hand", "foot"]


def test_an_ending_that_nobody_knows_is_refused_before_the_work(model, table, tmp_path):
    with pytest.raises(ArgumentError, match=r"--output: got .*out\.xlsx, expected a name .*\.parquet.*Or say --format"):
        run("score", "no-such-model", table, "-o", tmp_path / "out.xlsx")
    run("score", model, table, "-o", tmp_path / "out.xlsx", "--format", "csv")
    assert (tmp_path / "out.xlsx").read_text().startswith("source,target,score")
    for command in (["align", model, table], ["operations", model]):
        with pytest.raises(ArgumentError, match=r"--output: got .*out\.parquet, expected the name of a text file"):
            run(*command, "-o", tmp_path / "out.parquet")
    with pytest.raises(ArgumentError, match="--format: got parquet, expected tsv, csv or json without --output FILE"):
        run("score", model, table, "--format", "parquet")


@pytest.fixture
def with_nulls(tmp_path):
    path = tmp_path / "nulls.parquet"
    columns = {"source": ["AB", None, "C"], "target": ["ab", "b", None], "id": [1, 2, 3], "weight": [0.1, 0.2, None]}
    pyarrow.parquet.write_table(pa.table(columns), path)
    return path


def test_a_null_in_one_row_does_not_stop_the_job_where_rows_may_be_skipped(model, transducer, with_nulls, tmp_path):
    with pytest.raises(DataError, match=r"nulls\.parquet:2: column 'source': expected text, found None"):
        run("score", model, with_nulls)
    assert [row[0::3] for row in cells("score", model, with_nulls, "--on-error", "skip")] == [["AB", "1"]]
    found = cells("transduce", transducer, with_nulls, "--rejects", tmp_path / "rejects.tsv")
    assert [(row[0], row[-2:]) for row in found] == [("AB", ["1", "0.1"]), ("C", ["3", ""])]
    header, *rejected = (tmp_path / "rejects.tsv").read_text().splitlines()
    assert header == "file\trow\treason\tcells"
    assert rejected == [f"{with_nulls}\t2\tcolumn 'source': expected text, found None\t" + '[null, "b", "2", "0.2"]']


def test_a_null_among_rejected_rows_is_no_word_none(model, tmp_path):
    table = pa.table({"source": ["None", None], "target": [None, "b"]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match="no row can be used"):
        run("score", model, tmp_path / "a.parquet", "--rejects", tmp_path / "rejects.parquet")
    rejected = pyarrow.parquet.read_table(tmp_path / "rejects.parquet").column("cells").to_pylist()
    assert rejected == ['["None", null]', '[null, "b"]']


@pytest.mark.parametrize("ending", ["tsv", "csv", "parquet"])
def test_pairs_of_which_some_have_no_label_are_scored_and_the_column_is_kept_as_it_is(ending, matcher, tmp_path):
    pairs, labels = tmp_path / f"pairs.{ending}", ["yes", "" if ending != "parquet" else None, "?"]
    table = pa.table({"source": ["AB", "B", "C"], "target": ["ab", "b", "a"], "label": labels, "id": ["1", "2", "3"]})
    if ending == "parquet":
        pyarrow.parquet.write_table(table, pairs)
    else:
        rows = [table.column_names, *(row.values() for row in table.to_pylist())]
        pairs.write_text("".join(("\t" if ending == "tsv" else ",").join(row) + "\n" for row in rows))
    for verb, answers in (("match", ["match", "probability"]), ("score", ["score"])):
        run(verb, matcher, pairs, "-o", tmp_path / "out.parquet")
        found = pyarrow.parquet.read_table(tmp_path / "out.parquet")
        assert found.column_names == ["source", "target", *answers, "label", "id"]
        assert found.column("label").to_pylist() == labels
    with pytest.raises(DataError, match="is none of 1, true"):
        run("threshold", matcher, pairs)
    lines = "".join(f"{row['source']}\t{row['target']}\t{row['id']}\n" for row in table.to_pylist())
    (tmp_path / "bare.tsv").write_text(lines)  # without names, the third column has labels, or the file is another one
    with pytest.raises(DataError, match=r"bare\.tsv:2: label '2' is none of"):
        run("match", matcher, tmp_path / "bare.tsv")


def test_rows_of_text_that_cannot_be_used_are_skipped_and_told_by_their_numbers(model, tmp_path):
    (tmp_path / "pairs.tsv").write_text("AB\tab\t1\nAB\nC\tc\tmaybe\nC\tc\t0\n")
    assert len(cells("score", model, tmp_path / "pairs.tsv", "--on-error", "skip")) == 2
    rejects = tmp_path / "rejects.parquet"
    assert len(cells("score", model, tmp_path / "pairs.tsv", "--rejects", rejects)) == 2
    assert pyarrow.parquet.read_table(rejects)["row"].to_pylist() == [2, 3]
    (tmp_path / "pairs.tsv").write_text("AB\tab\tx\n")
    with pytest.raises(DataError, match="no row can be used: every one was rejected"):
        run("score", model, tmp_path / "pairs.tsv", "--rejects", rejects)
    assert pyarrow.parquet.read_table(rejects)["cells"].to_pylist() == ['["AB", "ab", "x"]']


@pytest.mark.parametrize("name", ["empty.txt", "empty.tsv", "empty.csv", "-"])
@pytest.mark.parametrize("content", ["", "\n\n"])
def test_transduce_of_a_file_of_0_bytes_is_an_error_that_says_so(name, content, transducer, tmp_path):
    given = "-" if name == "-" else tmp_path / name
    if name != "-":
        given.write_text(content)
    with pytest.raises(DataError, match=rf"{name}: the file is empty; expected lines with sources"):
        run("transduce", transducer, given, stdin=content)


def test_a_folder_of_shards_several_files_and_a_job_that_is_resumed(model, table, tmp_path):
    again = [model, table, table, "-o", f"{tmp_path}/scored/", "--id", "id", "--shard-rows", 2]
    run("score", *again)
    assert sorted(path.name for path in (tmp_path / "scored").glob("part-*")) == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]
    found = pyarrow.parquet.read_table(tmp_path / "scored" / "part-00001.parquet")
    assert found.column_names[:4] == ["id", "source", "target", "score"]
    assert found["id"].to_pylist() == ["7", "8"]
    with pytest.raises(DataError, match="scored: a finished job is here; --overwrite puts another in its place"):
        run("score", *again)
    run("score", *again, "--overwrite")
    run("score", model, tmp_path / "scored", "-o", tmp_path / "again.tsv", "--resume")
    assert len((tmp_path / "again.tsv").read_text().splitlines()) == 5


def test_rejected_rows_have_a_file_beside_the_output(model, with_nulls, tmp_path):
    shown = CliRunner().invoke(
        app, ["score", str(model), str(with_nulls), "-o", f"{tmp_path}/out.csv", "--on-error", "skip"]
    )
    assert "2 rows skipped: row 2: column 'source': expected text, found None" in shown.stderr
    assert f"all are in {tmp_path}/out.csv.rejects.tsv" in shown.stderr.replace("\n", "")
    assert len((tmp_path / "out.csv.rejects.tsv").read_text().splitlines()) == 3


def test_sources_that_a_table_of_words_does_not_know_are_told_and_not_dropped_without_a_word(tmp_path):
    Lookup.fit([("colour", "color")]).save(tmp_path / "table")
    (tmp_path / "words.txt").write_text("colour\nzzz\n")
    given = ["transduce", tmp_path / "table", tmp_path / "words.txt", "-o", tmp_path / "out.tsv"]
    told = CliRunner().invoke(app, list(map(str, given))).stderr.replace("\n", "")
    assert f"1 row skipped: row 2: the model has no answer to it; all are in {tmp_path}/out.tsv.rejects.tsv" in told
    assert (tmp_path / "out.tsv").read_text().splitlines()[1:] == ["colour\tcolor\t0.000000"]
    assert (tmp_path / "out.tsv.rejects.tsv").read_text().splitlines()[1].endswith('\t["zzz"]')
    message = r"^input: no row can be used: every one was rejected, the first as the model has no answer to it$"
    with pytest.raises(DataError, match=message):  # not the repr of what was asked
        run("transduce", tmp_path / "table", "--text", "zzz")


def test_a_model_of_another_script_is_not_called_sure_of_itself_without_a_word(tmp_path):
    """Cairo matches Nairobi with 0.99: a warning of each side, and what it means where most symbols are unknown."""
    (tmp_path / "pairs.tsv").write_text("Cairo 7\tNairobi\n")
    with pytest.warns(UnknownSymbolWarning) as heard:
        run("match", "names", tmp_path / "pairs.tsv")
    source, target = (str(one.message) for one in heard)
    assert source == "1 source symbol is unknown to the model, which reads <unk>: 7"
    assert target.startswith("6 of 6 target symbols are unknown to the model, which knows α")
    assert target.endswith("...: its answers about these strings say little")
