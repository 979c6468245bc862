"""The models that come with the package are small, and what their cards say was measured."""

import json
from pathlib import Path

import pytest

import nsed
from nsed.models.persistence import shipped_models

RESULTS = Path(__file__).parents[2] / "results"
FILES = {"g2p-en": "g2p-cmudict", "translit-ar-en": "translit-ar2en"}


def test_they_are_small():
    assert sum(model.size for model in shipped_models().values()) < 25e6


@pytest.mark.parametrize("name", FILES)
def test_cards_say_what_was_measured(name):
    best = json.loads((RESULTS / f"{FILES[name]}.json").read_text())["runs"][0]
    card = shipped_models()[name].card
    assert f"CER {best['test']['cer']:.2%}".replace("%", " %") in card
    assert f"WER {best['test']['wer']:.2%}".replace("%", " %") in card
    assert nsed.load(name).record["test"]["wer"] == best["test"]["wer"]


def test_a_folder_of_that_name_goes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nsed.LearnableEditDistance.fit([("a", "b")]).save("g2p-en")
    assert isinstance(nsed.load("g2p-en"), nsed.LearnableEditDistance)


def test_scores_are_probabilities_of_pronunciations():
    g2p = nsed.load("g2p-en")
    best = g2p.transduce(["read"], nbest=2)[0]
    assert {one.text for one in best} == {"R EH D", "R IY D"}
    assert g2p.score([("read", best[0].text)])[0] == pytest.approx(best[0].log_prob, abs=1e-4)
