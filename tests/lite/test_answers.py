"""The runtime without torch answers what the package answers: every kind of model, encoder and setting, to 1e-4."""

import warnings

import numpy as np
import pytest
import torch

import nsed
import nsed_lite
import nsed_lite.symbols
from golden import answers
from nsed.models.matcher_mixture import MatcherMixture
from nsed.models.persistence import shipped_models
from nsed.text import Edit, SymbolSplitter
from nsed.text.symbols import kin_of

TOLERANCE = 1e-4
WORDS = ["gray", "gala", "lay", "ray", "yard", "drag", "a", "", "glad day", "lalalalagary"]
PAIRS = [
    *((word, word.replace("a", "e")) for word in WORDS),
    *((word, word[::-1]) for word in WORDS),
    ("gray", ""), ("", "grey"), ("zürich", "day"), ("lay", "żal"),
]  # fmt: skip
SMALL = {"encoder__dim": 8, "encoder__heads": 2, "encoder__layers": 2, "encoder__max_length": 40}
TRANSDUCERS = {
    "unigram": {"encoder__kind": "unigram"},
    "unigram without positions": {"encoder__kind": "unigram", "encoder__positions": False},
    "cnn": {"encoder__kind": "cnn", "encoder__kernel": 4},
    "rnn": {"encoder__kind": "rnn", "feature_width": 2},
    "rnn, cells look at the source": {"encoder__kind": "rnn", "attention": True},
    "rnn, targets look at the source": {"encoder__kind": "rnn", "target_attention": True},
    "rnn with similarity heads": {"encoder__kind": "rnn", "interaction": 3},
    "rnn from right to left": {"encoder__kind": "rnn", "direction": "backward"},
    "rnn with a length penalty": {"encoder__kind": "rnn", "length_penalty": 0.7},
    "transformer": {"encoder__kind": "transformer"},
    "transformer as in BERT": {"encoder__kind": "transformer", "encoder__norm": "post", "target_attention": True},
    "transformer, targets look": {"encoder__kind": "transformer", "target_attention": True, "attention": True},
    "paper mode": {"encoder__kind": "rnn", "normalisation": "incoming", "attention": True},
    "paper mode, cnn": {"encoder__kind": "cnn", "normalisation": "incoming"},
    "code points": {"encoder__kind": "rnn", "source_symbols": "codepoints", "unicode_form": "NFD"},
    "tokens": {"encoder__kind": "rnn", "source_symbols": "tokens", "target_symbols": "tokens"},
    "letters and phones": {"encoder__kind": "rnn", "source_symbols": "letters", "target_symbols": "phones"},
    "capitals": {"encoder__kind": "rnn", "source_case": "lower"},
}
MATCHERS = {
    "unigram": {"encoder__kind": "unigram"},
    "cnn with similarity heads": {"encoder__kind": "cnn", "interaction": 2},
    "rnn, shared": {"encoder__kind": "rnn", "shared_alphabet": True, "feature_width": 2},
    "transformer": {"encoder__kind": "transformer"},
}
ODDS = {
    "bare": {"place": False, "length": False, "features": False, "shared_alphabet": False},
    "with everything": {"coherence": True, "identity": True, "shared_alphabet": False},
    "symmetric": {"coherence": True, "shared_alphabet": True},
}


def given(pairs, **columns):
    return nsed.Pairs([source for source, _ in pairs], [target for _, target in pairs], **columns)


def untrained(kind, settings, *, pairs=PAIRS[:20], labels=None, **columns):
    """A model with weights at random, which say more than those of a training of seconds."""
    known = nsed.Pairs.of(given(pairs, **columns), labels)
    config = kind._settings(None, SMALL | settings if kind is not nsed.OddsMatcher else settings, None)
    config = kind.plan(config, frozenset({"encoder.kind"}) if kind is nsed.OddsMatcher else None, known, None)
    model = kind._untrained(known, config)
    torch.manual_seed(1)
    for parameter in model.network.parameters():
        parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def both(model, folder):
    model.save(folder)
    return nsed.load(folder), nsed_lite.load(folder)


def close(ours, theirs):
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    return np.allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE)


def same_pairs(full, lite, pairs, **options):
    """Scores, decisions, probabilities and edit scripts."""
    known, columns = given(pairs, **options), [*options.values()]
    languages = list(zip(*columns, strict=True)) if len(columns) == 2 else next(iter(columns), None)
    scores, found = np.asarray(full.score(known)), lite.score(pairs, languages=languages)
    assert close(found, scores)
    if lite.criterion is not None:
        apart = abs(scores - full.threshold) > TOLERANCE
        assert (np.asarray(full.match(known)) == lite.match(pairs, languages=languages))[apart].all()
        assert close(lite.probability(pairs, languages=languages), full.probability(known))
    for script, other in zip(full.align_all(known), lite.align_all(pairs, languages=languages), strict=True):
        assert close([other.log_weight, other.share], [script.log_weight, script.share])
        if script.share > 0.5:  # else another script may be as good
            assert [edit[:5] for edit in other.edits] == [(e.kind, e.source, e.target, e.i, e.j) for e in script]
            assert str(other) == str(script)
            assert close([e.probability for e in other.edits], [e.probability for e in script])


@pytest.mark.parametrize(
    "symbol", ["a", " ", "", "é", "\u0301", "ب", "بَ", "א", "\u200c", "\t", "\x1b[0m", "👩\u200d👧", "\ud800"]
)
def test_symbols_are_shown_as_in_the_package(symbol):
    for kind, source, target in (("substitute", symbol, "x"), ("delete", symbol, ""), ("insert", "", symbol)):
        assert str(nsed_lite.lattice.Edit(kind, source, target, 0, 0, 1.0, 0.0)) == str(
            Edit(kind, source, target, 0, 0)
        )


def same_targets(full, lite, sources):
    for nbest, beam in ((1, 1), (2, 4)):
        theirs, ours = (model.transduce(sources, nbest=nbest, beam=beam) for model in (full, lite))
        for few, found in zip(theirs, ours, strict=True):
            assert [one.text for one in found] == [one.text for one in few]
            assert [one.symbols for one in found] == [one.symbols for one in few]
            assert close([one.log_prob for one in found], [one.log_prob for one in few])


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # unknown symbols and cut outputs are part of it
        yield


@pytest.mark.parametrize("name", TRANSDUCERS)
def test_transducers_answer_as_in_the_package(name, tmp_path):
    full, lite = both(untrained(nsed.Transducer, TRANSDUCERS[name] | {"longest_output": 12}), tmp_path)
    same_pairs(full, lite, PAIRS)
    same_targets(full, lite, WORDS)


@pytest.mark.parametrize(("normalisation", "attention", "scale"), [("outgoing", True, 1), ("incoming", False, 8)])
def test_targets_that_are_cut_off_have_answers_however_improbable_their_end(normalisation, attention, scale, tmp_path):
    settings = {"encoder__kind": "unigram", "attention": attention, "normalisation": normalisation}
    model = untrained(nsed.Transducer, settings | {"longest_output": 10})
    for parameter in model.network.parameters():
        parameter.mul_(scale)
    full, lite = both(model, tmp_path)
    sources = ["r" * 39, "gala" * 9]
    for theirs, ours in zip(full.transduce(sources, beam=1), lite.transduce(sources, beam=1), strict=True):
        assert [one.text for one in ours] == [one.text for one in theirs]
        assert close([one.log_prob for one in ours], [one.log_prob for one in theirs])
    assert all(few and few[0].log_prob > -1e4 for few in lite.transduce(sources, beam=4))


def test_a_word_longer_than_any_target_is_answered_by_the_shipped_model():
    full, lite = nsed.load("g2p-en"), nsed_lite.load(shipped_models()["g2p-en"].path)
    same_targets(full, lite, ["abc" * 40])


@pytest.mark.parametrize("name", MATCHERS)
def test_matchers_answer_as_in_the_package(name, tmp_path):
    labels = [row < 10 for row in range(20)]
    full, lite = both(untrained(nsed.Matcher, MATCHERS[name], labels=labels), tmp_path)
    same_pairs(full, lite, PAIRS)


@pytest.mark.parametrize("name", ODDS)
def test_odds_answer_as_in_the_package_and_of_new_symbols_too(name, tmp_path):
    labels = [row < 10 for row in range(20)]
    full, lite = both(untrained(nsed.OddsMatcher, ODDS[name], labels=labels), tmp_path)
    same_pairs(full, lite, PAIRS)


@pytest.mark.filterwarnings("ignore::nsed.errors.ContradictoryLabelsWarning")  # of empty strings
def test_odds_that_were_trained_and_so_calibrated_by_a_bent_line_are_read(tmp_path):
    full, lite = both(nsed.OddsMatcher.fit(PAIRS[:20], [row < 10 for row in range(20)], train__steps=2), tmp_path)
    assert full.calibration.form == "beta"
    same_pairs(full, lite, PAIRS)


@pytest.mark.parametrize("shared", [False, True])
def test_odds_with_features_of_symbols_answer_as_in_the_package(shared, tmp_path):
    rows = [f"{symbol},{number % 3},{number % 5 / 4}" for number, symbol in enumerate([*"aedglryuz", "ü", "ż"])]
    (tmp_path / "table.csv").write_text("\n".join(rows), encoding="utf-8")
    settings = {"symbol_features": str(tmp_path / "table.csv"), "shared_alphabet": shared}
    full, lite = both(untrained(nsed.OddsMatcher, settings, labels=[row < 10 for row in range(20)]), tmp_path / "model")
    same_pairs(full, lite, PAIRS)
    plain = untrained(nsed.OddsMatcher, {"shared_alphabet": shared}, labels=[row < 10 for row in range(20)])
    assert not close(full.score(PAIRS[-2:]), plain.score(PAIRS[-2:]))
    path = tmp_path / "model" / "model.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"symbol_features": [', '"symbol_features": ["?",'))
    with pytest.raises(nsed_lite.ModelFolderError, match="expected a row per symbol"):
        nsed_lite.load(tmp_path / "model")


def test_languages_count(tmp_path):
    named = {"source_languages": ["de", "cs"] * 10, "target_languages": ["cs", "cs"] * 10}
    settings = {"encoder__kind": "rnn", "languages": True}
    writing = settings | {"longest_output": 12}
    full, lite = both(untrained(nsed.Transducer, writing, source_languages=named["source_languages"]), tmp_path / "t")
    same_pairs(full, lite, PAIRS[:20], source_languages=named["source_languages"])
    same_targets(full.for_language("cs"), lite.for_language("cs"), WORDS)
    with pytest.raises(ValueError, match=r"got none, expected model.for_language\(...\), --language, .*of cs, de"):
        lite.transduce(["gray"])
    for kind, extra in ((nsed.Matcher, settings), (nsed.OddsMatcher, {"languages": True})):
        labels = [row < 10 for row in range(20)]
        full, lite = both(untrained(kind, extra, labels=labels, **named), tmp_path / kind.__name__)
        same_pairs(full, lite, PAIRS[:20], **named)


@pytest.mark.parametrize("relative", [False, True])
def test_edit_distances_answer_as_in_the_package(relative, tmp_path):
    model = nsed.LearnableEditDistance.fit(PAIRS[:20], [row < 10 for row in range(20)], relative=relative, iterations=3)
    full, lite = both(model, tmp_path)
    same_pairs(full, lite, PAIRS)


@pytest.mark.parametrize(
    ("directions", "ranking"),
    [(("forward",) * 2, "mean"), (("forward", "backward"), "mean"), (("forward",) * 2, "product")],
)
def test_mixtures_answer_as_in_the_package(directions, ranking, tmp_path):
    settings = {"encoder__kind": "rnn", "longest_output": 12}
    some = PAIRS[:20], [pair for pair in PAIRS[:20] if "d" not in pair[0]]  # one member does not know all symbols
    members = [
        untrained(nsed.Transducer, settings | {"direction": direction}, pairs=pairs)
        for direction, pairs in zip(directions, some, strict=True)
    ]
    full, lite = both(nsed.Mixture(members).ranked_by(ranking), tmp_path)
    same_pairs(full, lite, PAIRS)
    same_targets(full, lite, WORDS)


@pytest.mark.parametrize("name", sorted(path.name for path in answers.FOLDERS.iterdir()))
def test_folders_of_version_0_1_answer_as_in_the_package_or_say_why_not(name):
    full = nsed.load(answers.FOLDERS / name)
    if full.kind not in nsed_lite.KINDS:
        with pytest.raises(nsed_lite.ModelFolderError, match="pip install neural-string-edit-distance"):
            nsed_lite.load(answers.FOLDERS / name)
        return
    lite = nsed_lite.load(answers.FOLDERS / name)
    same_pairs(full, lite, answers.PAIRS)
    if full.kind == "transducer":
        same_targets(full, lite, [source for source, _ in answers.PAIRS])


SHIPPED = {
    "g2p-en": [("flagships", "F L AE G SH IH P S"), ("neural", "N UH R AH L"), ("x", "EH K S")],
    "g2p-en-best": [("flagships", "F L AE G SH IH P S"), ("phlegm", "F L EH M")],
    "g2p-en-stress": [("flagships", "F L AE1 G SH IH2 P S"), ("a", "AH0")],
    "cognates": [("h a n t", "h æ n d"), ("t͡s oː n ⁵⁵", "t a ŋ"), ("ʙ a", "p a"), ("", "a")],
    "cognates-austronesian": [("l i m a", "r i m a"), ("ʙ a", "p a"), ("", "a")],
    "names": [("Moscow", "Москва"), ("München", "Munich"), ("Kairo", "القاهرة"), ("Wien", "Ω"), ("", "x")],
    "translit-ar-en": [("محمد", "mohammed"), ("دمشق", "damascus")],
    "translit-ar-en-best": [("محمد", "mohammed")],
}


SLOW = {"g2p-en-best", "translit-ar-en-best"}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in SHIPPED])
def test_shipped_models_answer_as_in_the_package(name):
    assert SHIPPED.keys() == shipped_models().keys()
    full, lite = nsed.load(name), nsed_lite.load(shipped_models()[name].path)
    same_pairs(full, lite, SHIPPED[name])
    if not name.startswith(("names", "cognates")):
        same_targets(full, lite, [source for source, _ in SHIPPED[name]])


def test_mixtures_of_matchers_answer_as_in_the_package(tmp_path):
    members = [nsed.load(answers.FOLDERS / f"matcher-{name}") for name in ("rnn", "unigram")]
    MatcherMixture(members, [0.7, 0.3]).save(tmp_path)
    same_pairs(nsed.load(tmp_path), nsed_lite.load(tmp_path), [("AB", "ab"), ("", "c"), ("CAB", "ab")])


def test_sound_classes_are_those_of_the_package():
    for name in ("sound-classes", "dolgopolsky"):
        for text in ("ˈt͡sʰ oːi ⁵⁵ ʃ !", "", "m a t a ˥˩ ж"):
            assert nsed_lite.symbols.SPLIT[name](text) == list(SymbolSplitter(name, "none").split(text))


@pytest.mark.parametrize("name", ["letters and phones", "rnn from right to left", "capitals", "code points", "tokens"])
def test_new_source_symbols_are_read_as_in_the_package(name, tmp_path):
    full, lite = both(untrained(nsed.Transducer, TRANSDUCERS[name] | {"longest_output": 12}), tmp_path)
    words = ["gráy", "GALA", "läÿ", "ḷay中", "ｇａ", "d áˈ"]
    same_pairs(full, lite, [(word, "gale") for word in words])
    same_targets(full, lite, words)


@pytest.mark.parametrize(("directions", "ranking"), [(("forward",) * 2, "mean"), (("forward", "backward"), "product")])
def test_mixtures_read_new_source_symbols_as_in_the_package(directions, ranking, tmp_path):
    some = PAIRS[:20], [*PAIRS[:18], ("läy", "ley")]  # one member does not know all symbols
    settings = {"encoder__kind": "rnn", "longest_output": 12}
    members = [
        untrained(nsed.Transducer, settings | {"direction": direction}, pairs=pairs)
        for direction, pairs in zip(directions, some, strict=True)
    ]
    full, lite = both(nsed.Mixture(members).ranked_by(ranking), tmp_path)
    same_pairs(full, lite, [("läy", "ley"), ("LÅY", "ley"), ("中", "ley")])
    same_targets(full, lite, ["läy", "LÅY", "gräy中"])


def test_kin_are_those_of_the_package():
    texts = ["É", "ấ", "أَ", "ł", "ﬁ", "ς", "´", "Ｅ", "tʰ", "कि", "e" + "\u0301" * 100, "\ud800", "", "\u00a0"]
    assert [[*nsed_lite.symbols.kin_of(text)] for text in texts] == [[*kin_of(text)] for text in texts]
