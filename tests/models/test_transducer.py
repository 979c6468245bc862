"""The Transducer as users have it: transduce, score, align, explain, save, load, and what it refuses."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

import nsed
from golden.answers import FOLDERS
from nsed.config import from_mapping
from nsed.datasets.rule_language import transduction_pairs
from nsed.errors import ArgumentError, ConfigError, CutOutputWarning, TooLongError, UnknownSymbolWarning
from nsed.explain.rules import rules
from nsed.models.transducer import Transducer, TransducerConfig
from nsed.text import Pairs
from nsed.types import UNKNOWN

PAIRS = list(transduction_pairs(2600, seed=1))
TRAINING, TEST = PAIRS[:2300], PAIRS[2300:]


def settings(kind="cnn", steps=150, **others):
    train = {
        "steps": steps,
        "batch_pairs": 64,
        "validate_every": 50,
        "warmup": 20,
        "learning_rate": 5e-3,
        "device": "cpu",
    }
    encoder = {"kind": kind, "dim": 32, "layers": 1, "dropout": 0.0, "heads": 2, "max_length": 32}
    return from_mapping(TransducerConfig, {"encoder": encoder, "train": train, **others})


@pytest.fixture(scope="module")
def model():
    return nsed.load(FOLDERS / "transducer-exact")


@pytest.fixture(scope="module")
def attending():
    """Without training: what it says does not matter, only how."""
    torch.manual_seed(0)
    return Transducer._untrained(Pairs.of(TRAINING), settings("rnn", target_attention=True, languages=False))


@pytest.mark.parametrize("which", ["model", "attending"])
def test_scores_are_those_of_the_search_and_best_first(which, request):
    model = request.getfixturevalue(which)
    sources = [source for source, _ in TEST[:20]]
    found = model.transduce(sources, nbest=3)
    for source, best in zip(sources, found, strict=True):
        scores = model.score([(source, "".join(one.symbols)) for one in best])
        np.testing.assert_allclose(scores, [one.log_prob for one in best], rtol=1e-3, atol=1e-4)
        assert sorted(scores, reverse=True) == list(scores)


def test_scripts_explain_the_answers(model):
    assert str(model.align("BAAC", "ac")) in ("-B A→a -A C→c", "-B -A A→a C→c")
    explanation = model.explain("BCC", "cc")
    assert explanation.log_prob == pytest.approx(model.score([("BCC", "cc")])[0], rel=1e-6)
    assert explanation.script == model.align("BCC", "cc")


def test_empty_strings_and_unknown_symbols(model):
    assert model.transduce([]) == []
    assert np.isfinite(model.score([("", ""), ("A", ""), ("", "a")])).all()
    with pytest.warns(UnknownSymbolWarning, match="1 source symbol is unknown to the model, which reads <unk>: X"):
        assert len(model.transduce(["AX"])[0]) == 1


@pytest.mark.parametrize("which", ["model", "attending"])
def test_saved_model_is_the_same_model(which, request, tmp_path):
    model = request.getfixturevalue(which)
    model.save(tmp_path)
    for again in (nsed.load(tmp_path), Transducer.load(tmp_path)):
        assert (again.score(TEST[:50]) == model.score(TEST[:50])).all()
        assert again.config == model.config
        assert again.record == model.record


def test_what_is_wrong_is_named(model):
    with pytest.raises(ArgumentError, match="pairs: got no positive pair"):
        Transducer.fit([], config=settings())
    paper = nsed.load(FOLDERS / "transducer-paper")
    with pytest.raises(TooLongError, match=r"length: got 129 symbols, expected at most 128\. Train with a larger"):
        paper.transduce(["A" * 129])
    with pytest.raises(ConfigError, match=r"encoder\.dm: no such key; did you mean 'dim'"):
        settings(encoder={"dm": 3})
    with pytest.raises(ArgumentError, match="nbest: got 0, expected at least 1"):
        model.transduce(["A"], nbest=0)
    for wrong in ({"nbest": 1.5}, {"beam": "3"}):  # were TypeErrors of torch and Python
        with pytest.raises(ArgumentError, match=rf"{next(iter(wrong))}: got .*, expected a whole number"):
            model.transduce(["A"], **wrong)


def test_a_beam_is_at_least_as_wide_as_the_answers_that_are_wanted():
    g2p = nsed.load("g2p-en")
    narrow, wide = (g2p.transduce(["read"], nbest=4, beam=beam)[0] for beam in (2, 4))
    assert [one.text for one in narrow] == [one.text for one in wide]
    assert len(narrow) == 4


@pytest.mark.parametrize("width", ["beam", "nbest"])
def test_a_beam_of_a_million_is_refused_with_the_limit(model, width, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(Transducer, "_transduce", lambda *_, **__: pytest.fail("searched, which takes minutes"))
        with pytest.raises(ArgumentError, match=f"{width}: got 1000000, expected at most 1,000: all prefixes of a"):
            model.transduce(["A"], **{width: 10**6})
    assert len(model.transduce(["A"] * 50, beam=1000)) == 50


def test_settings_that_cannot_work_are_named(model):
    with pytest.raises(ArgumentError, match=r"train\.device: got 'gpu', expected auto, cpu"):
        Transducer.fit(TRAINING, config=settings(train={"device": "gpu"}))
    with pytest.raises(ConfigError, match=r"heads: got 3, expected a divisor of dim \(16\)"):
        settings(encoder={"kind": "transformer", "dim": 16, "heads": 3})
    with pytest.raises(ConfigError, match="likelihood, em, next_symbol: got 0"):
        settings(likelihood=0.0)
    with pytest.raises(ConfigError) as several:
        settings("cnn", target_attention=True, likelihood=0.0)
    assert several.value.faults == (
        "target_attention: got True, expected False with encoder.kind cnn; rnn, transformer can",
        "likelihood, em, next_symbol: got 0, expected one above 0",
    )
    with pytest.raises(ArgumentError, match="beam: got 0, expected at least 1"):
        model.transduce(["A"], beam=0)
    with pytest.raises(ArgumentError, match="validation: got no pairs, expected at least one"):
        Transducer.fit(TRAINING, validation=[], config=settings())


@pytest.mark.parametrize("kind", ["attention", "target_attention"])
def test_heads_of_any_attention_divide_the_vectors(kind):
    with pytest.raises(ConfigError, match=r"encoder\.heads: got 3, expected a divisor of encoder\.dim \(16\)"):
        settings(**{kind: True}, encoder={"kind": "rnn", "dim": 16, "heads": 3})


def test_outputs_stop_where_positions_end():
    short = [(source, target) for source, target in TRAINING if len(source) <= 6]
    encoder = {"kind": "cnn", "dim": 16, "layers": 1, "max_length": 6}
    train = {"steps": 4, "batch_pairs": 32, "validate_every": 2, "warmup": 0, "device": "cpu"}
    model = Transducer.fit(short, config=settings(encoder=encoder, train=train))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutOutputWarning)  # after four steps anything may happen
        assert len(model.transduce(["CCC"])[0][0].symbols) <= 6


def test_targets_that_were_cut_are_counted(model):
    short = Transducer(model.network, model.tokenizers, replace(model.config, longest_output=4))
    with pytest.warns(CutOutputWarning, match="1 of the targets reach 4 symbols, the most allowed"):
        assert short.transduce(["CCCCCC", "C"])[1][0].text == "c"


def test_greedy_outputs_that_are_cut_are_answers_too(model):
    short = Transducer(model.network, model.tokenizers, replace(model.config, longest_output=2))
    with pytest.warns(CutOutputWarning):
        (best,) = short.transduce(["CCCC"], beam=1)
    assert best[0].text == "cc"
    assert best[0].log_prob == pytest.approx(short.score([("CCCC", "cc")])[0], rel=1e-4)


def test_another_seed_gives_other_first_weights():
    made = [Transducer._untrained(Pairs.of(TRAINING), settings(train={"seed": seed})) for seed in (0, 0, 1)]
    scores = [model.score(TEST[:5]).tolist() for model in made]
    assert scores[0] == scores[1] != scores[2]


def test_drawn_targets_are_the_same_for_the_same_seed(model):
    drawn = [model.sample(["CACAB", "BAAC"], count=5, seed=seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert [len(found) for found in drawn[0]] == [5, 5]


def test_more_answers_than_the_beam_is_wide_widen_it(model):
    (found,) = model.transduce(["CACAB"], nbest=8, beam=2)
    assert len({one.text for one in found}) == 8


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_new_source_symbols_are_read_as_their_kin_by_every_verb(model, direction):
    model = Transducer(model.network, model.tokenizers, replace(model.config, direction=direction))
    assert model.transduce(["ÁBc"], nbest=3) == model.transduce(["ABC"], nbest=3)
    assert model.sample(["ÁBc"], count=3) == model.sample(["ABC"], count=3)
    assert (model.score([("ÁBc", "ab"), ("ABC", "ab")]) == model.score([("ABC", "ab")] * 2)).all()
    script, plain = model.align("ÁBc", "ab"), model.align("ABC", "ab")
    assert script.source == ("Á", "B", "c")
    assert (script.links, script.log_weight) == (plain.links, plain.log_weight)
    told = model.explain("ÁBc", "ab")
    assert (told.source, told.log_prob) == (("Á", "B", "c"), model.explain("ABC", "ab").log_prob)
    assert {rule.source for rule in rules(model, [("ÁBc", "ab")]).rules} >= {"Á", "c"}


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_new_symbols_are_unknown_in_training_and_in_targets(model):
    assert model.encoded(Pairs.of([("ÁB", "áb")])).source[0] == [UNKNOWN, 5]
    assert model.encoded(Pairs.of([("ÁB", "áb")]), kin=True).source[0] == [4, 5]
    assert model.encoded(Pairs.of([("ÁB", "áb")]), kin=True).target[0][0] == UNKNOWN
    rare = [*TRAINING[:200], ("ÁB", "ab")]
    train = {"steps": 2, "batch_pairs": 8, "validate_every": 1, "warmup": 0, "device": "cpu"}
    learned = Transducer.fit(rare, validation=rare[-9:], config=settings(min_count=5, train=train))
    assert "Á" not in learned.tokenizers.source.vocabulary
    assert learned.transduce(["ÁB"]) == learned.transduce(["AB"])


def test_a_warning_tells_what_a_new_symbol_is_read_as(model):
    with pytest.warns(UnknownSymbolWarning, match=r"^1 source symbol is unknown to the model, which reads Á as A$"):
        model.transduce(["ÁB"])
    with pytest.warns(UnknownSymbolWarning, match=r"which reads Á as A, and reads <unk>: X$"):
        model.score([("ÁX", "ab")])
