"""Settings come as a config, a mapping, a YAML file's path, or keywords; all their faults are told together."""

import numpy as np
import pytest

import nsed
from nsed.errors import ArgumentError, ConfigError
from nsed.models.matcher import matcher_loss
from nsed.models.pair_model import PairModel
from nsed.models.settings import named_settings, resolve_settings
from nsed.models.transducer import transducer_loss
from nsed.networks.losses import em_loss

PAIRS = [("colour", "color"), ("honour", "honor"), ("labour", "labor"), ("rumour", "rumor"), ("harbour", "harbor")] * 2
TINY = {"encoder": {"kind": "cnn", "dim": 8, "layers": 1}, "train": {"steps": 2, "validate_every": 1}}
LABELS = [1] * 10 + [0] * 2
KINDS = nsed.Transducer.configs


def test_a_mapping_a_file_a_config_and_keywords_mean_the_same(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text("encoder: {kind: cnn, dim: 8, layers: 1}\ntrain: {steps: 2, validate_every: 1}\n")
    keywords = {
        "encoder__kind": "cnn", "encoder__dim": 8, "encoder__layers": 1, "train__steps": 2, "train__validate_every": 1,
    }  # fmt: skip
    wanted = resolve_settings(KINDS, TINY, {})
    assert wanted.encoder.dim == 8
    assert wanted == resolve_settings(KINDS, path, {}) == resolve_settings(KINDS, str(path), {})
    assert wanted == resolve_settings(KINDS, wanted, {}) == resolve_settings(KINDS, None, keywords)


def test_keywords_go_over_the_config_and_leave_the_rest():
    config = nsed.TransducerConfig(beam=7, encoder=nsed.EncoderConfig(kind="cnn", dim=8, layers=1))
    found = resolve_settings(KINDS, config, {"encoder__dim": 16, "train__steps": 3})
    assert (found.beam, found.encoder.kind, found.encoder.dim, found.train.steps) == (7, "cnn", 16, 3)


def test_a_whole_part_and_keywords_inside_it_add_up_in_any_order():
    """`encoder__dim` beside `encoder` put the default in the place of all that the latter said, or was lost itself."""
    cnn = nsed.EncoderConfig(kind="cnn", dim=8, layers=1)
    given = {"encoder": cnn, "encoder__dim": 16, "train": nsed.TrainConfig(steps=3), "train__batch_pairs": 5}
    for config, keywords in [
        (None, given),
        (None, dict(reversed(given.items()))),
        ({"encoder": cnn, "train": {"steps": 3}}, {"encoder__dim": 16, "train__batch_pairs": 5}),
    ]:
        found = resolve_settings(KINDS, config, keywords)
        assert found.encoder == nsed.EncoderConfig(kind="cnn", dim=16, layers=1)
        assert found.train == nsed.TrainConfig(steps=3, batch_pairs=5)


def test_a_recipe_leaves_what_a_whole_part_says():
    """`train={"steps": 3}` made 300 steps: the recipe looked for `train.steps` by name."""
    for train in ({"steps": 3}, nsed.TrainConfig(steps=3)):
        keywords = {"encoder": {"dim": 8, "dropout": 0.7}, "train": train}
        config = resolve_settings(KINDS, None, keywords)
        found = nsed.Transducer.plan(config, named_settings(None, keywords), nsed.Pairs.of(PAIRS), None)
        assert (found.encoder.dim, found.encoder.dropout, found.train.steps) == (8, 0.7, 3)


def test_numbers_of_numpy_are_numbers():
    keywords = {"encoder__dim": np.int32(8), "encoder__dropout": np.float32(0.5), "encoder__positions": np.bool_(False)}
    found = resolve_settings(KINDS, {"beam": np.int64(3)}, keywords)
    assert (found.beam, found.encoder.dim, found.encoder.dropout, found.encoder.positions) == (3, 8, 0.5, False)
    assert [type(value) for value in (found.beam, found.encoder.dim, found.encoder.positions)] == [int, int, bool]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            7,
            r"config: got 7, expected the config of a model \(nsed.TransducerConfig\(\), say\), a mapping, or the path",
        ),
        ([1], r"config: got \[1\], expected the config of a model"),
        (nsed.TransducerConfig, r"config: got <class .*>, expected the config of a model"),
        (nsed.TrainConfig(), r"config: got TrainConfig.*A TrainConfig is a part of one: fit\(..., train=...\)"),
    ],
)
def test_what_is_no_config_is_refused_by_name(config, message):
    """Was a `TypeError` of Python: 'int' object is not iterable."""
    for asked in (lambda: resolve_settings(KINDS, config, {}), lambda: named_settings(config, {})):
        with pytest.raises(ArgumentError, match=message):
            asked()


@pytest.mark.slow
def test_fit_takes_every_form_in_every_kind_of_model():
    assert nsed.Transducer.fit(PAIRS, validation=PAIRS, config=TINY, beam=2).beam == 2
    labelled = [*PAIRS, ("colour", "rumor"), ("labour", "rumor")]
    matcher = nsed.Matcher.fit(labelled, LABELS, validation=nsed.Pairs.of(labelled, LABELS),
                               config=TINY, interaction=2)  # fmt: skip
    assert matcher.config.interaction == 2
    assert (
        nsed.Seq2Seq.fit(
            PAIRS, validation=PAIRS, config=TINY, encoder__kind="rnn", encoder__heads=2
        ).config.encoder.kind
        == "rnn"
    )
    assert len(nsed.LearnableEditDistance.fit(PAIRS, iterations=2, tolerance=0).history) == 2
    stance = nsed.PairClassifier.fit(labelled, LABELS, validation=nsed.Pairs.of(labelled, LABELS),
                                     config={**TINY, "model": "stance"})  # fmt: skip
    assert stance.kind == "stance"


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, "odds"),
        ({"iterations": 3}, "odds"),
        ({"model": "odds"}, "odds"),
        ({"config": {"model": "odds"}}, "odds"),
        ({"config": {"iterations": 3}}, "odds"),
        ({"config": nsed.OddsConfig()}, "odds"),
        ({"config": {}, "model": "matcher"}, "matcher"),
        ({"config": {"encoder": {"dim": 8}}}, "matcher"),
        ({"config": nsed.MatcherConfig()}, "matcher"),
        ({"em": 0.5}, "matcher"),
        ({"train__steps": 2}, "odds"),
        ({"train__minutes": 1, "place": False}, "odds"),
        ({"config": {"train": {"steps": 2}}}, "odds"),
        ({"train__steps": 2, "encoder__dim": 8}, "matcher"),
    ],
)
def test_the_form_of_a_matcher_follows_from_its_settings_wherever_they_stand(settings, kind, monkeypatch):
    monkeypatch.setattr(PairModel, "fit", classmethod(lambda cls, *_, **__: cls.__name__))
    assert nsed.Matcher.fit(PAIRS, LABELS[:10], **settings) == {"odds": "OddsMatcher", "matcher": "Matcher"}[kind]


def test_a_keyword_names_the_kind_of_a_model_too():
    kinds = nsed.PairClassifier.configs
    assert resolve_settings(kinds, None, {"model": "stance"}).model == "stance"
    with pytest.raises(ArgumentError, match=r"config.model: got 'stanze', expected one of odds, matcher"):
        nsed.Matcher.fit(PAIRS, LABELS[:10], model="stanze")


@pytest.mark.parametrize(
    ("loss", "model", "others"),
    [
        (matcher_loss, nsed.Matcher, {"match": 0.0, "non_match": 0.0}),
        (transducer_loss, nsed.Transducer, {"likelihood": 0.0}),
    ],
)
def test_the_posterior_weighting_of_the_em_loss_is_reached_by_a_setting(loss, model, others, monkeypatch):
    asked = []

    def spy(*given, **options):
        asked.append(options["weighting"])
        return em_loss(*given, **options)

    monkeypatch.setattr(f"{loss.__module__}.em_loss", spy)
    pairs, kinds = nsed.Pairs.of(PAIRS), model.configs
    for weighting in ("cell", "posterior"):
        config = resolve_settings(kinds, TINY, {"em": 1.0, "em_weighting": weighting, **others})
        untrained = model._untrained(pairs, config)
        (batch,) = untrained.encoded(pairs).batches()
        assert (loss(untrained.network, config, batch) > 0).all()
    assert asked == ["cell", "posterior"]
    with pytest.raises(ConfigError, match="em_weighting: got 'cells', expected one of cell, posterior"):
        resolve_settings(kinds, TINY, {"em_weighting": "cells"})


def test_all_faults_are_told_together_with_what_was_meant():
    with pytest.raises(ConfigError) as told:
        nsed.Transducer.fit(
            PAIRS, config={"encoder": {"dim": 0}}, lenght_penalty=3, train__steps="many", encoder__knid="rnn"
        )
    for part in (
        "encoder.dim: got 0",
        "lenght_penalty: no such key; did you mean 'length_penalty'?",
        "train.steps: got 'many'",
        "encoder.knid: no such key; did you mean 'encoder__kind'?",
    ):
        assert part in str(told.value)


def test_what_was_meant_is_spelled_as_what_was_given_a_keyword_or_a_key_of_a_file():
    for name in ("steps", "train_steps"):
        for given, meant in (((None, {name: 3}), "train__steps"), (({name: 3}, {}), "train.steps")):
            with pytest.raises(ConfigError, match=rf"{name}: no such key; did you mean '{meant}'\?"):
                resolve_settings(KINDS, *given)


def test_a_kind_that_the_class_does_not_make_is_refused():
    with pytest.raises(ArgumentError, match=r"config\.model: got 'matcher', expected one of transducer"):
        nsed.Transducer.fit(PAIRS, config={"model": "matcher"})


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"(?s)missing\.yaml.*cannot be read"):
        nsed.Transducer.fit(PAIRS, config=tmp_path / "missing.yaml")


def test_what_learns_more_begins_with_settings_for_that_unless_told_otherwise():
    start = nsed.Transducer.fit(PAIRS, validation=PAIRS, config=TINY)
    more = nsed.Transducer.fit(PAIRS, start=start, train__steps=3, train__patience=1)
    assert (more.config.train.steps, more.config.train.schedule, more.config.encoder.dropout) == (3, "constant", 0.0)
    with pytest.raises(ArgumentError, match="start: got a model of kind 'seq2seq', expected none"):
        nsed.Seq2Seq.fit(
            PAIRS, start=nsed.Seq2Seq.fit(PAIRS, validation=PAIRS, config=TINY, encoder__kind="rnn", encoder__heads=2)
        )


def test_the_name_of_a_model_is_no_model_to_start_from():
    """Was an `AttributeError`: 'str' object has no attribute 'fine_tuning_settings'."""
    for kind in (nsed.LearnableEditDistance, nsed.PairClassifier):
        with pytest.raises(
            ArgumentError, match=r"start: got 'g2p-en', expected a trained model, as nsed.load reads it"
        ):
            kind.fit(PAIRS, start="g2p-en")


def test_a_model_of_another_kind_is_no_model_to_start_from():
    """Was told as a fault of `config.model`, which nobody gave."""
    table = nsed.LearnableEditDistance.fit(PAIRS)
    with pytest.raises(ArgumentError, match="start: got a model of kind 'edit-distance', expected one of kind odds"):
        nsed.OddsMatcher.fit(PAIRS, LABELS[:10], start=table)


def test_what_is_no_path_of_a_folder_is_no_place_for_a_model():
    with pytest.raises(ArgumentError, match="path: got None, expected the folder to write the model to"):
        nsed.LearnableEditDistance.fit(PAIRS).save(None)
