"""Recipes: settings that follow from the pairs and the device, give way to those that are named, and say why."""

import json
import time
from dataclasses import asdict, replace

import pytest

import nsed
from nsed.config import flat
from nsed.datasets.rule_language import transduction_pairs
from nsed.models.settings import fine_tuning_config, named_settings, with_recipe
from nsed.text import choose_symbols
from nsed.train import trainer
from nsed.train.config import ON_CPU, ON_GPU, recipe_for

PAIRS = list(transduction_pairs(120))
CONFIG = nsed.TransducerConfig(train=nsed.TrainConfig(device="cpu"))
TINY = {"encoder__dim": 8, "encoder__layers": 1, "train__batch_pairs": 4, "train__device": "cpu"}


def recipe(pairs, lengths=(8, 7), *, validated=100, gpu=False, named=()):
    return recipe_for(pairs, lengths, validated=validated, gpu=gpu, named=named)


@pytest.mark.parametrize("rows", [ON_CPU, ON_GPU])
def test_more_pairs_never_get_a_smaller_network_fewer_steps_or_more_dropout(rows):
    assert [row.pairs for row in rows] == sorted(row.pairs for row in rows)
    found = [recipe(count, gpu=rows is ON_GPU).settings for count in (1, 100, 300, 800, 2500, 8000, 10**5, 10**7)]
    for name, rising in (("encoder.dim", 1), ("train.steps", 1), ("train.batch_pairs", 1), ("encoder.dropout", -1)):
        values = [rising * settings[name] for settings in found]
        assert values == sorted(values)


def test_every_setting_of_a_recipe_is_one_of_the_transducer():
    pairs = nsed.Pairs.of(PAIRS)
    planned = with_recipe(choose_symbols(CONFIG, pairs), frozenset(), pairs, None)
    settings = recipe_for(120, (5, 4), validated=6, gpu=False).settings
    assert set(settings) <= {name for name, _ in flat(asdict(planned))}
    assert planned.train.recipe.startswith("120 pairs of ")
    assert planned.train.keep == "last"


def test_named_settings_win_one_by_one():
    named = named_settings(None, {"encoder__dim": 64, "beam": 3})
    assert named == {"encoder.dim", "beam"}
    settings = recipe(800, named=named).settings
    assert "encoder.dim" not in settings
    assert settings["train.steps"] == recipe(800).settings["train.steps"]
    given = recipe_for(2500, (8, 7), validated=100, gpu=False, named={"train.steps"}, steps=40).settings
    assert "train.minutes" not in given  # all steps that are asked for are done
    assert (given["train.validate_every"], given["train.warmup"]) == (2, 4)


def test_settings_that_are_whole_are_taken_as_they_are(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text("encoder: {kind: cnn}\n")
    for whole in (CONFIG, {"train": {"steps": 5}}, path):
        assert named_settings(whole, {"beam": 2}) is None
    assert named_settings({"beam": 3}, {}) == {"beam"}
    assert with_recipe(CONFIG, None, nsed.Pairs.of(PAIRS), None) is CONFIG


def test_long_strings_come_in_smaller_batches():
    batches = [recipe(800, lengths).settings["train.batch_pairs"] for lengths in ((8, 7), (20, 20), (200, 200))]
    assert batches == sorted(batches, reverse=True)
    assert batches[-1] >= 1


def test_few_validation_words_choose_nothing_and_many_do():
    assert recipe(800, validated=40).settings["train.keep"] == "last"
    assert recipe(10**5, validated=2000).settings["train.keep"] == "best"


def test_minutes_that_are_given_are_filled_with_more_steps():
    filled = recipe_for(800, (8, 7), validated=40, gpu=False, named={"train.minutes"}, minutes=3)
    assert filled.settings["train.steps"] > recipe(800).settings["train.steps"]
    assert filled.reason.endswith("fewer where 3 minutes are over")
    unlimited = recipe_for(800, (8, 7), validated=40, gpu=False, named={"train.minutes"}, minutes=0)
    assert unlimited.settings["train.steps"] == recipe(800).settings["train.steps"]


@pytest.mark.slow
def test_fit_without_a_setting_says_what_it_chose_and_the_folder_too(tmp_path, caplog):
    with caplog.at_level("INFO", logger="nsed"):
        model = nsed.Transducer.fit(PAIRS, folder=tmp_path / "run", train__steps=2, **TINY)
    assert model.config.train.recipe.startswith("120 pairs of ")
    assert model.config.symbols_note.startswith("sources as graphemes (every character is one code point)")
    assert [record.message for record in caplog.records] == [model.config.symbols_note, model.config.train.recipe]
    said = (tmp_path / "run" / "settings.yaml").read_text()
    assert "every character is one code point" in said
    assert nsed.load(tmp_path / "run").config == model.config


@pytest.mark.slow
def test_a_budget_of_minutes_is_kept_to_a_tenth():
    times = []
    model = nsed.Transducer.fit(PAIRS, train__minutes=0.05, on_step=lambda _: times.append(time.monotonic()), **TINY)
    assert len(times) == model.record["steps"] > 10
    assert model.record["steps"] < model.config.train.steps
    assert times[-1] - times[0] < 3.3


def test_seconds_that_are_spent_already_count_among_the_minutes():
    free = nsed.Transducer.fit(PAIRS, train__minutes=1, train__steps=3, **TINY)
    late = nsed.Transducer.fit(PAIRS, train__minutes=1, train__steps=3, spent=60.0, **TINY)
    assert (free.record["steps"], late.record["steps"]) == (3, 1)


def test_what_draws_is_loaded_within_the_minutes_and_not_after_them(tmp_path, monkeypatch):
    loaded = []
    monkeypatch.setattr(trainer, "load_drawing", lambda: loaded.append("drawing"))
    told = {"on_step": loaded.append, "train__steps": 1, **TINY}
    nsed.Transducer.fit(PAIRS, folder=tmp_path / "run", train__minutes=1, **told)
    assert loaded == ["drawing", 1]


def test_a_model_can_be_used_seconds_after_training_began(tmp_path, monkeypatch):
    monkeypatch.setattr(trainer, "FIRST_SECONDS", 0.0)
    seen = []

    def look(step):
        if step == 2:
            early = nsed.load(tmp_path / "run")
            seen.append((early.record["unfinished"], len(early.transduce(["AB"]))))

    settings = {**TINY, "train__steps": 3, "train__validate_every": 3}
    model = nsed.Transducer.fit(PAIRS, folder=tmp_path / "run", on_step=look, **settings)
    assert seen == [(True, 1)]
    assert "unfinished" not in model.record
    assert "unfinished" not in json.loads((tmp_path / "run" / "model.json").read_text())["record"]


@pytest.mark.slow
def test_a_model_that_was_in_the_folder_stays_until_the_training_is_done(tmp_path):
    folder, seen = tmp_path / "run", []

    def fit(**others):
        def look(_):
            seen.append((folder / "model.json").read_text() if (folder / "model.json").exists() else "")

        nsed.Transducer.fit(PAIRS, folder=folder, on_step=look, **TINY, **others)

    fit(train__steps=1)
    before = (folder / "model.json").read_text()
    fit(train__steps=3, train__validate_every=1, train__seed=1)
    assert seen == ["", before, before, before]
    assert (folder / "model.json").read_text() != before


def test_what_learns_more_does_not_keep_the_recipe_of_its_first_training():
    pairs = nsed.Pairs.of(PAIRS * 20)
    planned = with_recipe(choose_symbols(CONFIG, pairs), frozenset(), pairs, None)
    assert planned.train.minutes > 0
    train = fine_tuning_config(planned).train
    assert (train.minutes, train.keep, train.perfect, train.recipe) == (0, "best", 0, "")


def test_a_config_without_a_recipe_is_what_it_was():
    assert replace(CONFIG).train.recipe == ""
    assert (CONFIG.train.steps, CONFIG.train.keep, CONFIG.train.perfect) == (10_000, "best", 0)
