"""Every file in `configs` names the table cell it is about, and trains."""

from pathlib import Path

import pytest

import nsed
from nsed.config import from_mapping, merged, read_yaml
from nsed.datasets.rule_language import matching_pairs, transduction_pairs

ROOT = Path(__file__).parent.parent
CONFIGS = sorted((ROOT / "configs").rglob("*.yaml"))
SMALL = {
    "encoder.dim": 8,
    "train.steps": 2,
    "train.batch_pairs": 8,
    "train.validate_every": 1,
    "source_symbols": "graphemes",
    "target_symbols": "graphemes",
}
KINDS = {
    "matcher": (nsed.Matcher, nsed.MatcherConfig, matching_pairs(60)),
    "transducer": (nsed.Transducer, nsed.TransducerConfig, transduction_pairs(60)),
    "seq2seq": (nsed.Seq2Seq, nsed.Seq2SeqConfig, transduction_pairs(60)),
}


def test_there_is_one_per_task_and_encoder():
    names = {str(path.relative_to(ROOT / "configs")) for path in CONFIGS}
    for task in ("g2p-cmudict", "translit-ar2en", "cognates-ie", "cognates-aa"):
        assert {f"{task}/{encoder}.yaml" for encoder in ("unigram", "cnn", "rnn", "transformer")} <= names


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_config_trains(path):
    text = path.read_text()
    assert f"configs/{path.parent.name}/{path.name}" in text
    assert "\n# Paper: " in text
    values = merged(read_yaml(path), SMALL)
    kind, config, pairs = KINDS[values["model"]]
    model = kind.fit(pairs, config=from_mapping(config, values))
    assert model.record["steps"] == 2
