"""Score, align, transduce, match, operations: what models answer, as users ask for it."""

import json

import pytest

import nsed
from nsed.errors import ArgumentError, DataError, NotExplainableError
from support.commands import run


def test_score_of_a_file_and_of_a_pair(model, pairs):
    lines = [line.split("\t") for line in run("score", model, pairs).splitlines()]
    expected = nsed.load(model).score(nsed.read_pairs(pairs))
    assert [float(score) for _, _, score in lines] == pytest.approx(expected, abs=1e-5)
    assert run("score", model, "--pair", "AB", "ab").startswith("AB\tab\t-")
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
    lines = [line.split("\t") for line in run("transduce", transducer, tmp_path / "sources.txt").splitlines()]
    assert [source for source, _, _ in lines] == ["CCB", "", "CB"]
    assert [target for _, target, _ in lines[::2]] == ["ccb", "cb"]
    assert run("transduce", transducer, stdin="CCB\n").split("\t") == [*lines[0][:2], lines[0][2] + "\n"]


def test_several_answers_come_best_first_with_the_scores_of_their_pairs(transducer):
    found = run("transduce", transducer, "--text", "CCB", "--nbest", 3, "--format", "json").splitlines()
    answers = [json.loads(line) for line in found]
    scores = [answer["log_prob"] for answer in answers]
    assert len({answer["target"] for answer in answers}) == 3
    assert scores == sorted(scores, reverse=True)
    for answer in answers:
        scored = run("score", transducer, "--pair", "CCB", answer["target"]).split("\t")[2]
        assert float(scored) == pytest.approx(answer["log_prob"], abs=1e-3)
    assert run("align", transducer, "--pair", "CCB", "ccb") == "C→c C→c B→b\n"


def test_a_wider_beam_is_obeyed(transducer):
    """What greedy search finds is less probable than what a wide beam finds, of one of these sources at least."""
    sources = [part for source in ("CACAB", "BAAACB", "ABBA", "BCAAB", "CABCA") for part in ("--text", source)]
    narrow, wide = (
        [float(line.split("\t")[2]) for line in run("transduce", transducer, *sources, "--beam", beam).splitlines()]
        for beam in (1, 8)
    )
    assert sum(wide) > sum(narrow)


def test_seq2seq_answers_the_same_commands_but_has_no_operations(copied):
    model = copied("seq2seq")
    best = json.loads(run("transduce", model, "--text", "CCB", "--format", "json"))
    scored = run("score", model, "--pair", "CCB", best["target"]).split("\t")[2]
    assert float(scored) == pytest.approx(best["log_prob"], abs=1e-3)
    assert len(run("transduce", model, "--text", "CCB", "--sample", 2).splitlines()) == 2
    links = run("align", model, "--pair", "CCB", "ccb", "--format", "pharaoh").split()
    assert {link.split("-")[1] for link in links} == {"0", "1", "2"}
    for command in ("align", "explain"):
        with pytest.raises(NotExplainableError, match="a sequence-to-sequence model has no edit operations"):
            run(command, model, "--pair", "CCB", "ccb")


@pytest.mark.parametrize("kind", ["matcher-rnn", "cross-encoder", "stance"])
def test_decisions_and_probabilities_are_those_of_the_model(kind, copied, labelled):
    folder, data = copied(kind), nsed.read_pairs(labelled)
    loaded, lines = nsed.load(folder), [line.split("\t") for line in run("match", folder, labelled).splitlines()]
    assert [decision == "1" for _, _, decision, _ in lines] == loaded.match(data).tolist()
    assert [float(shown) for *_, shown in lines] == pytest.approx(loaded.probability(data).tolist(), abs=1e-3)
    assert [(source, target) for source, target, *_ in lines] == list(zip(data.sources, data.targets, strict=True))


def test_a_match_as_json_says_what_the_line_says(matcher):
    for pair in (("CC", "cc"), ("CCCCCC", "a")):
        shown = json.loads(run("match", matcher, "--pair", *pair, "--format", "json"))
        _, _, decision, probability = run("match", matcher, "--pair", *pair).split("\t")
        assert (shown["match"], shown["probability"]) == (decision == "1", pytest.approx(float(probability), abs=1e-3))


def test_a_matcher_aligns_what_it_decides(matcher):
    assert run("align", matcher, "--pair", "CC", "cc", "--format", "pharaoh") == "0-0 1-1\n"


@pytest.mark.parametrize("kind", ["cross-encoder", "stance"])
def test_a_baseline_of_the_matcher_has_no_operations(kind, copied):
    assert float(run("score", copied(kind), "--pair", "CC", "cc").split("\t")[2]) < 0
    for command in ("align", "explain"):
        with pytest.raises(NotExplainableError, match=f"a model of kind '{kind}' has no edit operations to show"):
            run(command, copied(kind), "--pair", "CC", "cc")


def test_what_a_model_cannot_do_is_said(model, transducer):
    with pytest.raises(ArgumentError, match=r"MODEL: got .*, which makes no decisions, expected a matcher"):
        run("match", model, "--pair", "A", "a")
    with pytest.raises(ArgumentError, match=r"MODEL: got .*, which scores pairs only, expected a transducer"):
        run("transduce", model, "--text", "A")
    with pytest.raises(NotExplainableError, match="a neural model has no table of operations"):
        run("operations", transducer)


def test_drawn_targets_are_the_same_for_the_same_seed(transducer):
    drawn = [run("transduce", transducer, "--text", "CACAB", "--sample", 20, "--seed", seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0].splitlines())) > 3


def test_exceptions_are_marked_in_the_output(transducer, tmp_path):
    (tmp_path / "fixes.tsv").write_text("CCB\tbbb\n")
    words = ["--text", "CCB", "--text", "CB", "--overrides", tmp_path / "fixes.tsv"]
    lines = [line.split("\t") for line in run("transduce", transducer, *words).splitlines()]
    assert [(source, target, mark) for source, target, _, mark in lines] == [("CCB", "bbb", "1"), ("CB", "cb", "0")]
    shown = [
        json.loads(line) for line in run("transduce", transducer, *words, "--nbest", 2, "--format", "json").splitlines()
    ]
    assert [(one["target"], one["exception"]) for one in shown[:2]] == [("bbb", True), ("ccb", False)]
    assert shown[0]["log_prob"] == pytest.approx(nsed.load(transducer).score([("CCB", "bbb")])[0])
    with pytest.raises(ArgumentError, match=r"--overrides: got .*, expected none beside --sample"):
        run("transduce", transducer, *words, "--sample", 2)


def test_a_target_that_cannot_be_written_has_no_probability_in_json(transducer, tmp_path):
    (tmp_path / "fixes.tsv").write_text("CCB\t?\n")
    shown = run("transduce", transducer, "--text", "CCB", "--exceptions", tmp_path / "fixes.tsv", "--format", "json")
    assert json.loads(shown) == {"source": "CCB", "target": "?", "log_prob": None, "exception": True}


def test_columns_are_found_by_the_names_given(model, tmp_path):
    (tmp_path / "words.tsv").write_text("id\tto\tfrom\n1\tab\tAB\n")
    shown = run("score", model, tmp_path / "words.tsv", "--columns", "from,to")
    assert shown == run("score", model, "--pair", "AB", "ab")


def test_as_many_operations_as_wanted_and_of_the_kind_wanted(model, tmp_path):
    run("operations", model, "--top", 2, "--kind", "delete", "--output", tmp_path / "top.tsv")
    lines = [line.split("\t") for line in (tmp_path / "top.tsv").read_text().splitlines()]
    assert [kind for kind, *_ in lines] == ["delete", "delete"]
