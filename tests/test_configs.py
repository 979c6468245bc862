"""Every file in `configs` names the table cell it is about, and trains."""

import re
from pathlib import Path

import pytest

import nsed
from nsed.cli.recipes import TrainingRequest, config_of, train_model
from nsed.config import from_mapping, merged, read_yaml
from nsed.datasets.rule_language import matching_pairs, transduction_pairs

ROOT = Path(__file__).parent.parent
CONFIGS = sorted(path for path in (ROOT / "configs").rglob("*.yaml") if "paper" not in path.parts)
"""Those of `nsed reproduce`, which are no whole settings each, are tested in `reproduce`."""
SMALL = {
    "encoder.dim": 8,
    "train.steps": 2,
    "train.batch_pairs": 8,
    "train.validate_every": 1,
}
GRAPHEMES = {"source_symbols": "graphemes", "target_symbols": "graphemes"}
NO_LANGUAGES = {"languages": False}
"""The pairs to train with here have none."""


def test_there_is_one_per_task_and_encoder():
    names = {str(path.relative_to(ROOT / "configs")) for path in CONFIGS}
    for task in ("g2p-cmudict", "translit-ar2en", "cognates-ie", "cognates-aa"):
        assert {f"{task}/{encoder}.yaml" for encoder in ("unigram", "cnn", "rnn", "transformer")} <= names
    for task in ("cognates-ie", "cognates-aa"):
        assert {f"{task}/stance-{encoder}.yaml" for encoder in ("unigram", "rnn", "transformer")} <= names
        assert f"{task}/cross-encoder.yaml" in names


def name_of(path):
    return f"{path.parent.name}-{path.stem}"


@pytest.mark.parametrize("path", CONFIGS, ids=name_of)
def test_config_says_what_it_is_for(path):
    text = path.read_text()
    assert f"configs/{path.parent.name}/{path.name}" in text
    assert "\n# Paper: " in text


def test_recorded_commands_name_their_protocol_and_do_not_rely_on_the_default():
    files = [path for folder in ("configs", "results") for path in (ROOT / folder).rglob("*") if path.is_file()]
    commands = [line for path in files for line in re.findall("nsed data cognates [^&`\n]*", path.read_text())]
    assert len(commands) > 20
    assert [command for command in commands if "--protocol" not in command] == []


NETWORKS = [path for path in CONFIGS if "encoder" in read_yaml(path)]
TABLES = [path for path in CONFIGS if path not in NETWORKS]


def slow_unless_small(path):
    """The rule language's own settings are tried in every run, those of the paper's tables by whole ones."""
    return pytest.param(path, marks=() if path.parent.name == "rules" else pytest.mark.slow)


@pytest.mark.parametrize("path", [*map(slow_unless_small, NETWORKS)], ids=name_of)
def test_config_trains(path, tmp_path):
    values = read_yaml(path)
    values = merged(values, SMALL | GRAPHEMES | (NO_LANGUAGES if "languages" in values else {}))
    pairs = transduction_pairs(60) if values["model"] in ("transducer", "seq2seq") else matching_pairs(60)
    summary = train_model(
        TrainingRequest(pairs, None, from_mapping(config_of(values["model"]), values), tmp_path, resume=False)
    )
    assert summary.startswith("trained 2 steps")
    assert nsed.load(tmp_path).record["steps"] == 2


@pytest.mark.parametrize("path", TABLES, ids=name_of)
def test_config_of_a_table_trains(path, tmp_path):
    values = merged(read_yaml(path), GRAPHEMES | {"iterations": 2})
    request = TrainingRequest(
        matching_pairs(100), None, from_mapping(config_of(values["model"]), values), tmp_path, resume=False
    )
    assert train_model(request).startswith("stopped after 2 iterations")
    assert nsed.load(tmp_path).config.min_count == values["min_count"]


@pytest.mark.parametrize("model", ["matcher", "stance", "cross-encoder"])
def test_one_word_makes_another_model_of_the_same_settings(model, tmp_path):
    values = merged({"encoder": {"kind": "transformer"}, "shared_alphabet": True, "model": model}, SMALL | GRAPHEMES)
    train_model(
        TrainingRequest(
            matching_pairs(60), None, from_mapping(config_of(values["model"]), values), tmp_path, resume=False
        )
    )
    assert (nsed.load(tmp_path).score([("AB", "ab")]) <= 0).all()
