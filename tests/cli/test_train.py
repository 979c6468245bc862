"""`nsed train`: settings from everywhere, what is left in the folder, and what is not lost by accident."""

import json
import re
import time
import warnings
from itertools import product

import pytest
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.errors import ArgumentError, ConfigError, CutOutputWarning, DataError, ModelFileError, TooLongError
from nsed.models.base import NetworkModel
from support.commands import run, with_settings


def test_rules_with_labels_can_be_trained_on(tmp_path):
    run("data", "rules", "--count", 200, "--matching", "-o", tmp_path / "labelled.tsv")
    assert {line.split("\t")[2] for line in (tmp_path / "labelled.tsv").read_text().splitlines()} == {"0", "1"}
    run("train", tmp_path / "labelled.tsv", tmp_path / "model", "--model", "edit-distance")
    assert nsed.load(tmp_path / "model").operations()[0].kind == "substitute"


def test_without_a_word_labelled_pairs_make_a_matcher_and_others_a_table_and_the_reason_is_said(tmp_path):
    run("data", "rules", "--count", 60, "--matching", "-o", tmp_path / "labelled.tsv")
    (tmp_path / "words.tsv").write_text("AB\tab\nCA\tca\n")
    said = (
        CliRunner()
        .invoke(app, ["train", str(tmp_path / "labelled.tsv"), str(tmp_path / "m"), "--set", "train.steps=2"])
        .stderr
    )
    assert "labels of both kinds: a matcher in odds form" in said
    assert nsed.load(tmp_path / "m").kind == "odds"
    said = CliRunner().invoke(app, ["train", str(tmp_path / "words.tsv"), str(tmp_path / "table")]).stderr
    assert "fewer than 50 pairs, not of both labels: a table of edit operations" in said
    assert nsed.load(tmp_path / "table").kind == "edit-distance"


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("encoder_dim=9", "encoder_dim: no such key; it is 'encoder.dim' of --model .*matcher, .*transducer; known"),
        ("length_penalty=1", "length_penalty: no such key; it is one of --model .*transducer; known here: source"),
        ("nonsense=9", "nonsense: no such key; known: source_symbols"),
        ("train.nonsense=9", "train.nonsense: no such key; known: optimiser"),
        ("plce=1", "plce: no such key; did you mean 'place'"),
    ],
)
def test_a_setting_that_other_kinds_have_is_told_with_these_kinds(tmp_path, setting, told):
    (tmp_path / "labelled.tsv").write_text("a\tb\t1\nc\td\t0\n")
    with pytest.raises(ConfigError, match=told):
        run("train", tmp_path / "labelled.tsv", tmp_path / "model", "--set", setting)


@pytest.mark.parametrize(
    ("target", "options", "kind", "why"),
    [
        (str.lower, ["train.steps=1"], "transducer", "two alphabets: a transducer"),
        (lambda word: word[::-1], [], "edit-distance", "one alphabet: a table of edit operations"),
        (str.lower, ["iterations=1"], "edit-distance", "settings of an edit distance"),
    ],
)
def test_unlabelled_pairs_make_a_table_in_one_alphabet_and_a_transducer_across_two(
    tmp_path, target, options, kind, why
):
    words = ["".join(letters) for letters in product("ABCD", repeat=3)]
    (tmp_path / "words.tsv").write_text("".join(f"{word}\t{target(word)}\n" for word in words))
    sets = [part for option in options for part in ("--set", option)]
    done = CliRunner().invoke(app, ["train", str(tmp_path / "words.tsv"), str(tmp_path / "m"), *sets])
    assert why in done.stderr
    assert nsed.load(tmp_path / "m").kind == kind


@pytest.mark.filterwarnings("ignore::nsed.errors.ContradictoryLabelsWarning")  # every pair has both
@pytest.mark.parametrize(
    ("labels", "settings", "kind"),
    [
        ("10", ["encoder.kind=unigram", "train.steps=1"], "matcher"),
        ("10", ["train.steps=1"], "odds"),
        ("1", ["encoder.kind=unigram", "train.steps=1"], "transducer"),
    ],
)
def test_settings_of_a_network_make_it_one_instead_of_being_unknown(tmp_path, labels, settings, kind):
    words = ["".join(letters) for letters in product("ABCD", repeat=3)]
    rows = [f"{word}\t{word[::-1]}\t{label}\n" for word in words for label in labels]
    (tmp_path / "pairs.tsv").write_text("".join(rows))
    run("train", tmp_path / "pairs.tsv", tmp_path / "m", *with_settings(*settings))
    assert nsed.load(tmp_path / "m").kind == kind


def test_a_dictionary_has_tokens_for_targets(tmp_path):
    (tmp_path / "words.dict").write_text("CAT  K AE T\nACT  AE K T\n")
    run("train", tmp_path / "words.dict", tmp_path / "model")
    assert nsed.load(tmp_path / "model").tokenizers.target.vocabulary.symbols == ("AE", "K", "T")
    run("train", tmp_path / "words.dict", tmp_path / "letters", "--target-symbols", "graphemes")
    assert " " in nsed.load(tmp_path / "letters").tokenizers.target.vocabulary.symbols


def test_settings_from_everywhere(tmp_path, pairs):
    assert "# EM iterations at most.\niterations: 30\n" in run("train", "--print-config")
    (tmp_path / "c.yaml").write_text("iterations: 2\nsmoothing: 0.5\n")
    run(
        "train", pairs, tmp_path / "m", "--config", tmp_path / "c.yaml", "--set", "iterations=3", "--set", "tolerance=0"
    )
    config = nsed.load(tmp_path / "m").config
    assert (config.iterations, config.smoothing, config.tolerance) == (3, 0.5, 0.0)


def test_settings_of_the_file_go_over_those_of_a_dictionary(tmp_path):
    (tmp_path / "words.dict").write_text("CAT  K AE T\n")
    (tmp_path / "c.yaml").write_text("iterations: 2\n")
    run("train", tmp_path / "words.dict", tmp_path / "m", "--config", tmp_path / "c.yaml")
    assert nsed.load(tmp_path / "m").config.target_symbols == "tokens"


def test_resumed_training_keeps_its_settings(tmp_path, pairs):
    run("train", pairs, tmp_path / "m", "--set", "smoothing=0.25", "--set", "iterations=2", "--set", "tolerance=0")
    run("train", pairs, tmp_path / "m", "--resume", "--set", "iterations=3")
    model = nsed.load(tmp_path / "m")
    assert (model.config.smoothing, len(model.history)) == (0.25, 3)


def test_markup_in_names_is_not_obeyed(tmp_path, pairs):
    run("train", pairs, tmp_path / "m[/x]", *with_settings("iterations=1"))
    assert len(nsed.load(tmp_path / "m[/x]").history) == 1


@pytest.mark.parametrize("kind", ["edit-distance", "transducer"])
def test_a_pair_with_too_large_a_table_is_an_error_that_names_its_row(kind, tmp_path):
    """5,000 x 5,000 symbols took 7.4 GB."""
    rows = [f"{'AB' * n}\t{'ab' * n}\t{n % 2}\n" for n in range(1, 40)]
    rows[16] = f"{'A' * 5000}\t{'a' * 5000}\t1\n"
    (tmp_path / "long.tsv").write_text("".join(rows))
    limit = "max_cells" if kind == "edit-distance" else "train.max_cells"
    message = r"pairs: got 5,000 x 5,000 symbols in row 17 \('A{20}…'\), a table of 25,010,001 cells, expected at most "
    with pytest.raises(TooLongError, match=rf"{message}[\d,]+ cells\. Shorten.* or raise {limit}: a cell takes"):
        run("train", tmp_path / "long.tsv", tmp_path / "m", "--model", kind, *(TINY if kind != "edit-distance" else []))
    (tmp_path / "short.tsv").write_text("".join(rows[:16]))
    table = ["--model", "edit-distance", *with_settings("iterations=1")]
    run("train", tmp_path / "short.tsv", tmp_path / "m", "--overwrite", *table)


def test_a_validation_pair_with_too_large_a_table_is_found_before_the_training(pairs, tmp_path):
    (tmp_path / "long.tsv").write_text("A\ta\n" + f"{'A' * 600}\t{'a' * 600}\n")
    with pytest.raises(TooLongError, match=r"validation: got 600 x 600 symbols in row 2"):
        run("train", pairs, tmp_path / "m", "--model", "transducer", "--validation", tmp_path / "long.tsv", *TINY)
    more = with_settings("train.max_cells=400000")
    run("train", pairs, tmp_path / "m", "--overwrite", "--model", "transducer", *TINY, *more)


def test_a_trained_model_is_not_lost_by_accident(pairs, tmp_path):
    begun = with_settings("iterations=2", "tolerance=0")
    run("train", pairs, tmp_path / "m", *begun)
    expected = "there is a model here already: continue it with --resume, or --overwrite"
    with pytest.raises(ModelFileError, match=expected):
        run("train", pairs, tmp_path / "m")
    before = nsed.load(tmp_path / "m").history
    run("train", pairs, tmp_path / "m", "--resume", *with_settings("iterations=4", "tolerance=0"))
    resumed = nsed.load(tmp_path / "m").history
    assert (resumed[:2], len(resumed)) == (before, 4)


@pytest.mark.parametrize("kind", [["odds"], ["transducer"], ["edit-distance"], ["transducer", "--models", "2"]])
def test_a_training_that_its_labels_stop_does_not_block_the_corrected_one(kind, tmp_path):
    (tmp_path / "wrong.tsv").write_text("gray\tgrey\t0\n" * 60)
    with pytest.raises(ArgumentError, match=r"got only labels 0|got no positive pair"):
        run("train", tmp_path / "wrong.tsv", tmp_path / "m", "--model", *kind)
    assert not (tmp_path / "m").exists()
    (tmp_path / "right.tsv").write_text("gray\tgrey\t1\nlay\tley\t0\n" * 30)
    run("train", tmp_path / "right.tsv", tmp_path / "m", *with_settings("train.steps=2"))
    before = {path: path.read_bytes() for path in (tmp_path / "m").iterdir()}
    with pytest.raises(ArgumentError, match=r"got only labels 0|got no positive pair"):
        run("train", tmp_path / "wrong.tsv", tmp_path / "m", "--overwrite", "--model", *kind)
    assert {path: path.read_bytes() for path in (tmp_path / "m").iterdir()} == before


def test_a_mixture_that_its_data_stop_leaves_no_folder(pairs, tmp_path):
    options = ["--models", 2, "--model", "transducer", *TINY]
    with pytest.raises(TooLongError):
        run("train", pairs, tmp_path / "m", *options, "--set", "train.max_cells=1")
    assert not (tmp_path / "m").exists()
    run("train", pairs, tmp_path / "m", *options)


def test_curves_of_a_model_that_is_overwritten_do_not_stay(tmp_path):
    (tmp_path / "labelled.tsv").write_text("gray\tgrey\t1\nlay\tley\t0\n" * 30)
    run("train", tmp_path / "labelled.tsv", tmp_path / "m", "--set", "train.steps=2")
    assert (tmp_path / "m" / "curves.csv").exists()
    run("train", tmp_path / "labelled.tsv", tmp_path / "m", "--overwrite", "--model", "edit-distance")
    assert not list((tmp_path / "m").glob("curves.*"))


def test_overwriting_forgets_what_was_learned(pairs, tmp_path):
    (tmp_path / "other.tsv").write_text("X\ty\n" * 4)
    run("train", tmp_path / "other.tsv", tmp_path / "m")
    run("train", pairs, tmp_path / "m", "--overwrite", "--model", "edit-distance")
    assert nsed.load(tmp_path / "m").tokenizers.source.vocabulary.symbols == ("A", "B", "C")
    assert len(list((tmp_path / "m").glob("weights-*"))) == 1


TINY = with_settings(
    *("encoder.kind=cnn", "encoder.dim=8", "encoder.layers=1", "encoder.dropout=0", "train.steps=4"),
    *("train.batch_pairs=32", "train.validate_every=2", "train.warmup=0", "train.device=cpu"),
)


@pytest.mark.parametrize(("kind", "data"), [("transducer", "pairs"), ("matcher", "labelled")])
def test_a_network_leaves_settings_facts_and_curves_beside_its_weights(kind, data, request, tmp_path):
    run("train", request.getfixturevalue(data), tmp_path / "m", "--model", kind, *TINY)
    names = {path.name.split("-")[0] for path in (tmp_path / "m").iterdir()}
    assert names == {"curves.csv", "curves.svg", "model.json", "run.json", "settings.yaml", "weights"}
    assert "kind: cnn" in (tmp_path / "m" / "settings.yaml").read_text()
    assert nsed.load(tmp_path / "m").record["steps"] == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "kind"), [("seq2seq", "transformer"), ("cross-encoder", "transformer"), ("stance", "rnn")]
)
def test_baselines_are_trained_by_a_word(model, kind, pairs, labelled, tmp_path):
    data = pairs if model == "seq2seq" else labelled
    run("train", data, tmp_path / "m", "--model", model, *TINY, *with_settings(f"encoder.kind={kind}"))
    loaded = nsed.load(tmp_path / "m")
    assert (loaded.config.model, loaded.config.encoder.dim) == (model, 8)
    assert (loaded.score([("CC", "cc")]) < 0).all()


@pytest.mark.slow
def test_a_matcher_learns_from_the_command_line(tmp_path):
    run("data", "rules", "--count", 3000, "--matching", "-o", tmp_path / "labelled.tsv")
    small = ["encoder.kind=cnn", "encoder.dim=16", "encoder.layers=1", "encoder.dropout=0", "train.steps=200"]
    fast = ["train.batch_pairs=32", "train.validate_every=40", "train.warmup=10", "train.learning_rate=0.01"]
    run("train", tmp_path / "labelled.tsv", tmp_path / "m", "--model", "matcher", *with_settings(*small, *fast))
    run("evaluate", tmp_path / "m", tmp_path / "labelled.tsv", "--output", tmp_path / "figures.json")
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["f1_interval"][0] < figures["f1"] < figures["f1_interval"][1]
    assert figures["f1"] > 0.7
    assert 0.7 < figures["average_precision"] <= 1
    assert 0.7 < figures["roc_auc"] <= 1
    assert 0 <= figures["brier_score"] < 0.25
    assert 0 <= figures["expected_calibration_error"] < 0.2


def test_a_finished_network_is_not_trained_again_by_resume(transducer, pairs):
    with pytest.raises(ModelFileError, match=r"there is no unfinished training here to resume.* --from this folder"):
        run("train", pairs, transducer, "--model", "transducer", "--resume")


def test_a_finished_network_is_not_to_be_resumed(transducer, pairs):
    advice = r"there is a model here already: choose another folder, or --overwrite it; with --from .* and another"
    with pytest.raises(ModelFileError, match=advice):
        run("train", pairs, transducer, "--model", "transducer", *TINY)


def test_an_edit_distance_is_tuned_from_the_command_line(model, tmp_path):
    (tmp_path / "more.tsv").write_text("AB\tab\n")
    run("train", tmp_path / "more.tsv", tmp_path / "out", "--from", model)
    pair = nsed.read_pairs(tmp_path / "more.tsv")
    assert nsed.load(tmp_path / "out").score(pair) > nsed.load(model).score(pair)


def test_a_mixture_of_matchers_learns_more_from_the_command_line(tmp_path):
    run("data", "rules", "--count", 60, "--matching", "-o", tmp_path / "labelled.tsv")
    start = nsed.OddsMatcher.fit(nsed.read_pairs(tmp_path / "labelled.tsv"), train__steps=2, train__validate_every=2)
    for name in "ab":
        start.save(tmp_path / name)
    nsed.load([tmp_path / "a", tmp_path / "b"]).save(tmp_path / "mixed")
    command = ["train", tmp_path / "labelled.tsv", tmp_path / "more", "--from", tmp_path / "mixed"]
    said = CliRunner().invoke(app, [str(part) for part in command]).stderr
    assert "trained 2 members with weights 0.50, 0.50; matches from probability" in said
    assert nsed.load(tmp_path / "more").kind == "matcher-mixture"
    (tmp_path / "more" / "checkpoint").mkdir()  # as after a kill
    said = CliRunner().invoke(app, [*map(str, command), "--resume"]).stderr
    assert "it begins again" in said
    assert "trained 2 members" in said
    with pytest.raises(ConfigError, match="source_symbols"):
        run(*command[:2], tmp_path / "other", *command[3:], "--source-symbols", "letters")


def test_mixtures_that_cannot_learn_more_are_refused(pairs, tmp_path):
    with pytest.raises(ArgumentError, match=r"--from: got g2p-en-best, a Mixture, expected .*matcher-mixture of such"):
        run("train", pairs, tmp_path / "more", "--from", "g2p-en-best")


def test_given_validation_pairs_are_validated_with_and_nothing_is_held_out(pairs, tmp_path):
    (tmp_path / "validation.tsv").write_text("BBBBBBBBBBBB\tb\n" * 3)
    run("train", pairs, tmp_path / "m", "--model", "transducer", "--validation", tmp_path / "validation.tsv", *TINY)
    facts = json.loads((tmp_path / "m" / "run.json").read_text())
    assert facts["pairs"] == {"training": 300, "validation": 3}
    with pytest.raises(ArgumentError, match="labels of the validation pairs: got no labels, expected pairs that match"):
        run("train", pairs, tmp_path / "t", "--model", "edit-distance", "--validation", tmp_path / "validation.tsv")


def test_the_model_is_in_its_folder_after_every_iteration(pairs, tmp_path, monkeypatch):
    saved, save = [], nsed.LearnableEditDistance.save

    def spy(self, path):
        saved.append(len(self.history))
        save(self, path)

    monkeypatch.setattr(nsed.LearnableEditDistance, "save", spy)
    run("train", pairs, tmp_path / "m", *with_settings("iterations=3", "tolerance=0"))
    assert saved[:3] == [1, 2, 3]


@pytest.mark.parametrize(
    ("kind", "settings", "line"),
    [
        (
            "transducer",
            ["train.steps=4", "train.validate_every=2", "encoder.dim=8"],
            r"^training, 2 of 4 steps: loss \d.*, validation wer \d.*%$",
        ),
        ("edit-distance", ["iterations=2"], r"^training, 1 of 2 iterations: log-likelihood -\d"),
    ],
)
def test_the_log_of_a_training_whose_output_is_no_terminal_is_not_empty(kind, settings, line, pairs, tmp_path):
    command = ["train", pairs, tmp_path / "out", "--model", kind, *with_settings(*settings)]
    told = CliRunner().invoke(app, [str(part) for part in command]).stderr
    assert len(re.findall(line, told, re.MULTILINE)) == 1
    assert "\r" not in told


def test_a_transducer_without_settings_says_what_follows_from_its_pairs(tmp_path, pairs):
    shown = run("train", pairs, "--model", "transducer", "--print-config", "--set", "train.device=cpu")
    assert "dim: 128\n" in shown
    assert "on a CPU: 128 dimensions" in " ".join(shown.split())
    small = ["--set", "encoder.dim=8", "--set", "train.steps=2", "--set", "train.device=cpu"]
    trained = CliRunner().invoke(app, ["train", str(pairs), str(tmp_path / "m"), "--model", "transducer", *small])
    said = " ".join(trained.stderr.split())
    assert "sources as graphemes (every character is one code point)" in said
    assert "on a CPU: 32 pairs at a time, learning rate 0.0" in said
    kept = nsed.load(tmp_path / "m").config
    assert (kept.encoder.dim, kept.train.steps, kept.train.batch_pairs) == (8, 2, 32)
    assert kept.train.recipe in " ".join((tmp_path / "m" / "settings.yaml").read_text().split())


def test_a_file_of_settings_is_taken_as_it_is_without_a_recipe(tmp_path, pairs):
    (tmp_path / "c.yaml").write_text("model: transducer\nencoder: {dim: 8}\n")
    shown = run("train", pairs, "--print-config", "--config", tmp_path / "c.yaml")
    assert "recipe: ''\n" in shown
    assert "steps: 10000\n" in shown


@pytest.mark.parametrize("kind", ["transducer", "odds", "matcher"])
def test_minutes_count_from_the_start_of_the_command(tmp_path, monkeypatch, kind):
    """Loading torch and reading the pairs took seconds more than the minutes that were given."""
    run("data", "rules", "--count", 60, "--matching", "-o", tmp_path / "pairs.tsv")
    read, spent, fit = nsed.text.read_pairs, [], NetworkModel.fit.__func__

    def slowly(*given, **options):
        time.sleep(0.3)
        return read(*given, **options)

    def counted(cls, *given, **options):
        spent.append(options["spent"])
        return fit(cls, *given, **options)

    monkeypatch.setattr("nsed.text.read_pairs", slowly)
    monkeypatch.setattr(NetworkModel, "fit", classmethod(counted))
    settings = with_settings("train.steps=1", *["encoder.dim=8"] * (kind != "odds"))
    run("train", tmp_path / "pairs.tsv", tmp_path / "model", "--model", kind, "--minutes", 1, *settings)
    assert 0.3 < spent[0] < 20


@pytest.mark.slow
def test_minutes_are_for_models_with_a_network(tmp_path, pairs):
    run("train", pairs, tmp_path / "m", "--model", "transducer", "--minutes", 0.02, "--set", "encoder.dim=8")
    assert nsed.load(tmp_path / "m").config.train.minutes == 0.02
    with pytest.raises(ArgumentError, match=r"--minutes: got 3\.0, expected none with edit-distance, which has no"):
        run("train", pairs, tmp_path / "n", "--model", "edit-distance", "--minutes", 3)


@pytest.mark.slow
def test_several_models_make_a_mixture_and_teach_one(pairs, tmp_path):
    small = ["--model", "transducer", *TINY]
    run("train", pairs, tmp_path / "mixture", "--models", 2, "--both-directions", *small)
    mixture = nsed.load(tmp_path / "mixture")
    assert [one.config.direction for one in mixture.members] == ["forward", "backward"]
    again = nsed.load([tmp_path / "mixture" / "members" / number for number in "01"])
    assert (again.score([("AB", "ab")]) == mixture.score([("AB", "ab")])).all()
    (tmp_path / "words.txt").write_text("CAB\nBACA\n")
    learned = ["--teacher", tmp_path / "mixture", "--words", tmp_path / "words.txt"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutOutputWarning)  # after four steps anything may happen
        run("train", pairs, tmp_path / "student", *learned, *small)
    assert nsed.load(tmp_path / "student").kind == "transducer"
    facts = json.loads((tmp_path / "student" / "run.json").read_text())
    assert facts["pairs"]["training"] > 300


def test_a_mixture_is_made_of_folders_and_refuses_to_overwrite(transducer, matcher, tmp_path):
    run("mix", tmp_path / "m", transducer, transducer, "--ranking", "product")
    assert nsed.load(tmp_path / "m").config.ranking == "product"
    assert run("score", tmp_path / "m", "--pair", "AB", "b") == run("score", transducer, "--pair", "AB", "b")
    with pytest.raises(ModelFileError, match="there is a model here already"):
        run("mix", tmp_path / "m", transducer, transducer)
    with pytest.raises(ArgumentError, match="a model of kind 'matcher' at place 1, expected transducers"):
        run("mix", tmp_path / "n", transducer, matcher)
    with pytest.raises(ArgumentError, match="--validation"):
        run("mix", tmp_path / "n", transducer, transducer, "--validation", tmp_path / "labelled.tsv")


def test_matchers_are_mixed_by_weights_that_suit_labelled_pairs(matcher, labelled, tmp_path):
    run("mix", tmp_path / "alike", matcher, matcher)
    run("mix", tmp_path / "fitted", matcher, matcher, "--validation", labelled)
    alike, fitted = nsed.load(tmp_path / "alike"), nsed.load(tmp_path / "fitted")
    assert alike.weights.tolist() == [0.5, 0.5]
    assert fitted.criterion != alike.criterion
    assert run("match", tmp_path / "fitted", "--pair", "AB", "ab")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--models", 2, "--model", "edit-distance"],
            "--model: got edit-distance, expected transducer, with --models 5",
        ),
        (["--model", "mixture"], "--model: got mixture, expected transducer, with --models 5"),
        (["--both-directions"], "--both-directions: got a single model, expected --models 2 or more"),
        (["--words", "w.txt"], "--words: got w.txt, expected nothing without --teacher"),
        (
            ["--teacher", "TRANSDUCER", "--model", "edit-distance"],
            "--teacher: got a student of kind edit-distance, expected --model transducer",
        ),
        (["--teacher", "MATCHER"], "which scores pairs only, expected a model that transduces"),
        (
            ["--model", "transducer", "--models", 2, "--teacher", "TRANSDUCER"],
            "--teacher: got it beside --models, expected one of them at a time",
        ),
    ],
)
def test_mixtures_and_students_that_cannot_be_are_refused_before_a_folder_is_made(
    options, message, pairs, transducer, matcher, tmp_path
):
    named = {"TRANSDUCER": transducer, "MATCHER": matcher}
    with pytest.raises(ArgumentError, match=message):
        run("train", pairs, tmp_path / "m", *(named.get(option, option) for option in options))
    assert not (tmp_path / "m").exists()


@pytest.mark.slow
def test_a_transducer_of_several_languages_is_trained_and_asked_by_language(tmp_path):
    rows = [f"{'AB' * n}\t{'ab' * n if one == 'x' else 'k' * n}\t{one}\n" for n in range(1, 9) for one in "xy"]
    (tmp_path / "both.tsv").write_text("word\tipa\tlanguage\n" + "".join(rows))
    columns = ["--columns", "word,ipa,language,language"]
    run(
        "train",
        tmp_path / "both.tsv",
        tmp_path / "m",
        "--model",
        "transducer",
        *TINY,
        *columns,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutOutputWarning)  # after four steps anything may happen
        assert run("transduce", tmp_path / "m", "--text", "AB", "--language", "x").startswith("source\ttarget")
        assert "words       16" in run("evaluate", tmp_path / "m", tmp_path / "both.tsv", *columns)
    with pytest.raises(ArgumentError, match="language: got none, expected one for each, a column source_language"):
        run("transduce", tmp_path / "m", "--text", "AB")
    with pytest.raises(ArgumentError, match="language: got 'z', expected one of x, y"):
        run("transduce", tmp_path / "m", "--text", "AB", "--language", "z")


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    """An untrained Transducer of two languages, and a file of pairs with theirs."""
    folder = tmp_path_factory.mktemp("spoken")
    rows = [f"{'AB' * n}\t{'ab' * n if one == 'x' else 'k' * n}\t{one}\t{one}\n" for n in range(1, 5) for one in "xy"]
    (folder / "both.tsv").write_text("source\ttarget\tsource_language\ttarget_language\n" + "".join(rows))
    config = nsed.TransducerConfig(languages=True, encoder=nsed.EncoderConfig(dim=8))
    model = nsed.Transducer._untrained(nsed.read_pairs(folder / "both.tsv"), config)
    model.network.source_encoder.embedding.categories.weight.data.mul_(20.0)  # as after training
    model.save(folder / "m")
    return folder / "m", folder / "both.tsv"


def test_a_student_of_pairs_of_several_languages_is_refused_before_a_folder_is_made(
    spoken, pairs, transducer, tmp_path
):
    several, both = spoken
    for given, teacher, message in (
        (both, transducer, r"languages: got pairs of 2 \(x, y\), expected one: .* --set languages=false"),
        (pairs, several, r"teacher: got a model of several languages \(x, y\).* it stays so for --teacher"),
    ):
        with pytest.raises(ArgumentError, match=message):
            run("train", given, tmp_path / "m", "--teacher", teacher, *TINY)
        assert not (tmp_path / "m").exists()


def test_every_command_that_asks_a_transducer_of_several_languages_has_the_option_that_its_error_names(
    spoken, tmp_path
):
    model, both = spoken
    plain = tmp_path / "plain.tsv"
    plain.write_text("AB\tab\nABAB\tkk\n")
    asked = [
        ("score", model, "--pair", "AB", "ab"),
        ("align", model, "--pair", "AB", "ab"),
        ("explain", model, "--pair", "AB", "ab"),
        ("explain", model, "--source", "AB"),
        ("review", model, plain),
        ("evaluate", model, plain),
        ("rules", model, plain),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutOutputWarning)
        for command in asked:
            with pytest.raises(ArgumentError, match=r"language: got none, expected .*--language; known: x, y"):
                run(*command)
            assert run(*command, "--language", "x"), command
        one, other = (run("score", model, "--pair", "AB", "ab", "--language", language) for language in "xy")
        assert one != other
        assert run("rules", model, both)  # pairs with languages need no other


def test_transduce_answers_each_row_of_a_table_in_its_language(spoken, tmp_path):
    model, both = spoken
    named = tmp_path / "named.tsv"
    named.write_text(both.read_text().replace("source_language\ttarget_language", "lang\tother"))
    loaded, pairs = nsed.load(model), nsed.read_pairs(both)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutOutputWarning)
        best = [
            loaded.for_language(language).transduce([source])[0][0].text
            for source, language in zip(pairs.sources, pairs.source_languages, strict=True)
        ]
        for command in ((both,), (named, "--column", "source,lang")):
            rows = [json.loads(line) for line in run("transduce", model, *command, "--format", "json").splitlines()]
            assert [row["target"] for row in rows] == best
        rows = run("transduce", model, both, "--language", "x").splitlines()[1:]
        assert [row.split("\t")[1] for row in rows][1::2] == best[::2]
        assert len(run("transduce", model, both, "--sample", 2).splitlines()) == 17
        with pytest.raises(DataError, match="no column 'speech' for their languages; beside the sources: "):
            run("transduce", model, named, "--column", "source,speech")
        with pytest.raises(ArgumentError, match="--column: got a,b,c, expected the column of the sources"):
            run("transduce", model, named, "--column", "a,b,c")


def test_a_row_of_a_table_without_a_language_is_named_by_its_line_or_skipped(spoken, transducer, tmp_path):
    model, table = spoken[0], tmp_path / "words.tsv"
    table.write_text("source\tsource_language\nAB\tx\nAB\t\nAB\ty\nAB\tz\n")
    with pytest.raises(DataError, match=r"words\.tsv:3: language '': expected one of x, y"):
        run("transduce", model, table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutOutputWarning)
        run("transduce", model, table, "--on-error", "skip", "-o", tmp_path / "out.tsv")
    assert [line.split("\t")[-1] for line in (tmp_path / "out.tsv").read_text().splitlines()[1:]] == ["x", "y"]
    rejects = (tmp_path / "out.tsv.rejects.tsv").read_text().splitlines()[1:]
    assert [line.split("\t")[1:3] for line in rejects] == [
        ["3", "language '': expected one of x, y"],
        ["5", "language 'z': expected one of x, y"],
    ]
    with pytest.raises(DataError, match="no column 'lnag' for their languages; beside the sources: source_language"):
        run("transduce", transducer, table, "--column", "source,lnag")


def test_a_pair_without_a_language_is_not_scored_as_one_of_an_untrained_language(spoken, tmp_path):
    model, table = spoken[0], tmp_path / "pairs.tsv"
    rows = ["AB\tab\tx\tx", "AB\tab\t\t", "AB\tab\ty\ty", "AB\tab\tx\ty"]
    table.write_text("\n".join(["source\ttarget\tsource_language\ttarget_language", *rows]) + "\n")
    with pytest.raises(DataError, match=r"pairs\.tsv:3: language '': expected one of x, y"):
        run("score", model, table)
    run("score", model, table, "--on-error", "skip", "-o", tmp_path / "out.tsv")
    assert [line.split("\t")[-1] for line in (tmp_path / "out.tsv").read_text().splitlines()[1:]] == ["x", "y"]
    rejects = (tmp_path / "out.tsv.rejects.tsv").read_text().splitlines()[1:]
    assert [line.split("\t")[1:3] for line in rejects] == [
        ["3", "language '': expected one of x, y"],
        ["5", "language 'x-y': expected one of x, y"],
    ]
    table.write_text(table.read_text().rpartition(rows[-1])[0])
    one, none, other = run("score", model, table, "--language", "x").splitlines()[1:]
    assert one.split("\t")[2] == none.split("\t")[2] != other.split("\t")[2]


def test_review_does_not_forget_the_languages_of_pairs(spoken):
    model, both = spoken
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutOutputWarning)
        rows = [json.loads(line) for line in run("review", model, both, "--format", "json").splitlines()]
        loaded = nsed.load(model)
        for row in rows:
            best = loaded.for_language(row["source_language"]).transduce([row["source"]])[0][0]
            assert row["answers"].split(" | ")[0] == best.text
    assert sorted(row["source_language"] for row in rows) == ["x"] * 4 + ["y"] * 4


def test_a_review_of_pairs_of_two_languages_has_the_columns_of_the_data(transducer, tmp_path):
    table = tmp_path / "pairs.tsv"
    table.write_text("source\ttarget\tsource_language\ttarget_language\nAB\tab\tar\ten\nAA\tbb\tar\tar\n")
    rows = [json.loads(line) for line in run("review", transducer, table, "--format", "json").splitlines()]
    assert {row["source"]: (row["source_language"], row["target_language"]) for row in rows} == {
        "AB": ("ar", "en"),
        "AA": ("ar", "ar"),
    }


def test_a_language_is_refused_by_a_model_without_languages(transducer):
    with pytest.raises(ArgumentError, match="--language: got x, expected nothing: this model knows no languages"):
        run("transduce", transducer, "--text", "AB", "--language", "x")
