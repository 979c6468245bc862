"""Peers behind extras: other people's programs, asked with our verbs; what is missing is said."""

import logging
import re

import pytest
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.baselines import lingpy as lingpy_tools
from nsed.baselines import phonetisaurus as programs
from nsed.baselines.lingpy import Entry, LexStat, LexStatConfig, Sca, ScaConfig, lexstat_distances, lingpy_module
from nsed.baselines.phonetisaurus import Phonetisaurus, PhonetisaurusConfig
from nsed.errors import ArgumentError, MissingExtraError, NotExplainableError, NsedError
from nsed.text import Pairs

SOUNDS = {"source_symbols": "tokens", "target_symbols": "tokens"}
CONCEPTS = {
    "hand": ("h a n t", "h a n d", "m a n o"),
    "house": ("h aʊ s", "h uː s", "k a z a"),
    "mouse": ("m aʊ s", "m uː s", "t o p o"),
    "louse": ("l aʊ s", "l uː s", "p i d o k j o"),
    "night": ("n a x t", "n a x t", "n o t e"),
    "land": ("l a n t", "l a n d", "t e r a"),
}
WORDS = [
    Entry(language, concept, tokens)
    for concept, row in CONCEPTS.items()
    for language, tokens in zip(("de", "nl", "it"), row, strict=True)
]


def concept_pairs():
    rows = [row for de, nl, it in CONCEPTS.values() for row in ((de, nl, True), (de, it, False))]
    sources, targets, labels = map(list, zip(*rows, strict=True))
    return Pairs(sources, targets, labels, ["de"] * len(rows), ["nl", "it"] * len(CONCEPTS))


@pytest.mark.parametrize("mark", ["NULL", "Ø", "?"])
def test_a_mark_of_a_missing_form_is_named_and_no_traceback(mark):
    pytest.importorskip("lingpy")
    model = Sca.fit(concept_pairs(), config=ScaConfig(**SOUNDS))
    with pytest.raises(ArgumentError, match=rf"words: got 'h a n t' and '{re.escape(mark)}', .* has an empty cell"):
        model.score([("h a n t", "h a n d"), ("h a n t", mark)])


def test_sca_compares_classes_of_sounds(tmp_path):
    pytest.importorskip("lingpy")
    model = Sca.fit(concept_pairs(), config=ScaConfig(**SOUNDS))
    model.save(tmp_path)
    again = nsed.load(tmp_path)
    asked = [("h a n d", "h o n t"), ("h a n d", "m u s"), ("a", "a"), ("", ""), ("", "a")]
    near, far, same, empty, half = again.score(asked)
    assert 1 >= same > near > far
    assert (empty, half) == (1, 0)
    assert again.match([("b a n t", "b a n d")]).all()


def test_lingpy_leaves_the_logs_alone():
    pytest.importorskip("lingpy")
    before = logging.getLogger().handlers[:], logging.getLogger().level
    lingpy_module("align.pairwise")
    assert (logging.getLogger().handlers, logging.getLogger().level) == before


def test_lexstat_learns_from_a_word_list_and_answers_for_its_pairs(tmp_path):
    pytest.importorskip("lingpy")
    pairs = concept_pairs()
    model = LexStat.fit(pairs, words=WORDS, config=LexStatConfig(runs=20, **SOUNDS))
    assert lexstat_distances(WORDS, runs=20) == model.distances
    cognate, other = model.score(pairs).reshape(-1, 2).mean(axis=0)
    assert cognate > other + 0.2
    model.save(tmp_path)
    again = nsed.load(tmp_path)
    assert again.score(pairs).tolist() == model.score(pairs).tolist()
    turned = Pairs(pairs.targets, pairs.sources, None, pairs.target_languages, pairs.source_languages)
    assert again.score(turned).tolist() == model.score(pairs).tolist()
    with pytest.raises(ArgumentError, match="two words of one concept of the word list"):
        again.score([("h a n t", "l a n d")])


def test_lexstat_wants_a_word_list(tmp_path):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a\tb\t1\na\tc\t0\n")
    with pytest.raises(ArgumentError, match="word_list: got nothing, expected a word list to learn from"):
        CliRunner().invoke(
            app, ["train", str(pairs), str(tmp_path / "model"), "--model", "lexstat"], catch_exceptions=False
        )


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr(lingpy_tools, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"lingpy is not installed: pip install .*\[cognates\]"):
        Sca.fit(concept_pairs())
    monkeypatch.setattr(programs, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"phonetisaurus is not installed: pip install .*\[align\]"):
        Phonetisaurus.fit([("a", "b")])


SPELLINGS = {"cab": "K AE B", "back": "B AE K", "bat": "B AE T", "tack": "T AE K", "act": "AE K T", "a|b": "B"}


@pytest.fixture(scope="module")
def phonetisaurus():
    pytest.importorskip("phonetisaurus")
    return Phonetisaurus.fit(
        [*SPELLINGS.items(), ("read", "R EH D"), ("read", "R IY D")] * 5,
        config=PhonetisaurusConfig(target_symbols="tokens", order=3),
    )


def test_phonetisaurus_writes_targets(phonetisaurus, tmp_path):
    phonetisaurus.save(tmp_path)
    model = nsed.load(tmp_path)
    bat, empty, again = model.transduce(["bat", "", "bat"])
    assert [one.symbols for one in bat] == [("B", "AE", "T")]
    assert (empty, again) == ([], bat)
    assert model.transduce([]) == []
    first, second, *_ = model.transduce(["read"], nbest=3)[0]
    assert {first.text, second.text} == {"R EH D", "R IY D"}
    assert first.log_prob >= second.log_prob


def test_phonetisaurus_leaves_unknown_symbols_out(phonetisaurus):
    with pytest.warns(nsed.UnknownSymbolWarning, match="1 source symbol is unknown to the model"):
        (best,), _ = phonetisaurus.transduce(["bÿat", "bat"])
    assert best.text == "B AE T"


def test_phonetisaurus_says_what_it_cannot(phonetisaurus, monkeypatch):
    with pytest.raises(NotExplainableError, match="phonetisaurus: this baseline writes targets"):
        phonetisaurus.score([("a", "b")])
    monkeypatch.setattr(programs.platform, "machine", lambda: "abacus")
    with pytest.raises(NsedError, match=r"phonetisaurus-g2pfst of the package .* cannot be run on .* abacus"):
        phonetisaurus.transduce(["tab"])
