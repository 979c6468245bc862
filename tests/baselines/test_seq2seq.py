"""The sequence-to-sequence baselines as users have them: the verbs of the Transducer, by a word in the settings."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

import nsed
from nsed.config import from_mapping, merged, read_yaml
from nsed.datasets.rule_language import transduction_pairs
from nsed.errors import ArgumentError, ConfigError, CutOutputWarning, NotExplainableError, UnknownSymbolWarning
from nsed.evaluate import alignment_score, transduction_score
from nsed.text import Tokenizers

pytestmark = pytest.mark.slow
CONFIGS = Path(__file__).parents[2] / "configs"
PAIRS = list(transduction_pairs(3300, seed=1))
TRAINING, TEST = PAIRS[:3000], PAIRS[3000:]
KINDS = ["rnn", "transformer"]
TRAIN = {
    "batch_pairs": 64,
    "validate_every": 100,
    "warmup": 50,
    "learning_rate": 1e-2,
    "average": 0.98,
    "device": "cpu",
}
ENCODER = {"dim": 32, "layers": 1, "dropout": 0.0, "heads": 4, "feed_forward": 2, "max_length": 16}


def settings(kind="rnn", steps=300, **others):
    values = {"encoder": ENCODER | {"kind": kind}, "train": TRAIN | {"steps": steps}}
    return from_mapping(nsed.Seq2SeqConfig, merged(values, others))


@pytest.fixture(scope="module")
def models():
    return {
        "rnn": nsed.Seq2Seq.fit(TRAINING, config=settings("rnn", 300)),
        "transformer": nsed.Seq2Seq.fit(TRAINING, config=settings("transformer", 500)),
    }


@pytest.fixture(params=KINDS)
def model(request, models):
    return models[request.param]


def test_held_out_strings_of_the_rule_language_are_right(model):
    outputs = model.transduce([source for source, _ in TEST])
    assert np.mean([best[0].text == target for best, (_, target) in zip(outputs, TEST, strict=True)]) >= 0.95


def test_attention_mostly_looks_at_the_symbol_that_is_written(model):
    """Strings without B at the beginning and without A: every symbol becomes one, at the same place."""
    plain = [(s, t) for s, t in TEST if len(s) == len(t) and "A" not in s]
    assert len(plain) >= 5
    expected = [frozenset((place, place) for place in range(len(source))) for source, _ in plain]
    assert alignment_score(model.links(plain), expected).f1 >= 0.8
    everything = [target for _, target in TEST]
    assert [len(links) for links in model.links(TEST)] == list(map(len, everything))


def test_links_of_a_lattice_are_its_substitutions():
    table = nsed.LearnableEditDistance.fit(TRAINING[:200])
    assert table.links([("CCB", "ccb"), ("", "")]) == [{(0, 0), (1, 1), (2, 2)}, frozenset()]


def test_there_are_no_operations_to_show(model):
    for verb in (model.align, model.explain):
        with pytest.raises(
            NotExplainableError, match=r"has no edit operations; .* `links` \(nsed align --format pharaoh"
        ):
            verb("C", "c")


def test_scores_are_those_of_the_search_and_best_first(model):
    sources = [source for source, _ in TEST[:20]]
    for source, best in zip(sources, model.transduce(sources, nbest=3), strict=True):
        scores = model.score([(source, one.text) for one in best])
        np.testing.assert_allclose(scores, [one.log_prob for one in best], rtol=1e-3, atol=1e-4)
        assert sorted(scores, reverse=True) == list(scores)


def test_batches_change_no_answer(model):
    sources = [source for source, _ in TEST[:64]]
    whole = [best[0].text for best in model.transduce(sources)]
    for size in (1, 7):
        parts = [sources[start : start + size] for start in range(0, 64, size)]
        assert [best[0].text for part in parts for best in model.transduce(part)] == whole


def test_empty_strings_and_unknown_symbols(model):
    assert model.transduce([]) == []
    assert model.links([("", ""), ("", "a"), ("A", "")]) == [frozenset()] * 3
    assert len(model.transduce([""])[0]) == 1
    assert np.isfinite(model.score([("", ""), ("A", ""), ("", "a")])).all()
    with pytest.warns(UnknownSymbolWarning, match="1 source symbol is unknown to the model, which reads <unk>: X"):
        assert len(model.transduce(["AX"])[0]) == 1
    with pytest.warns(UnknownSymbolWarning, match="1 target symbol"):
        assert np.isfinite(model.score([("A", "x")])).all()


def test_drawn_targets_are_the_same_for_the_same_seed(model):
    drawn = model.sample(["BAAC", ""], count=3, seed=1)
    assert [len(found) for found in drawn] == [3, 3]
    assert model.sample(["BAAC", ""], count=3, seed=1) == drawn


def test_saved_model_is_the_same_model(model, tmp_path):
    model.save(tmp_path)
    for again in (nsed.load(tmp_path), nsed.Seq2Seq.load(tmp_path)):
        assert (again.score(TEST[:50]) == model.score(TEST[:50])).all()
        assert again.links(TEST[:50]) == model.links(TEST[:50])
        assert again.config == model.config
        assert again.record == model.record


@pytest.mark.parametrize("kind", KINDS)
def test_interrupted_training_goes_on_to_the_same_weights(kind, tmp_path):
    config = settings(kind, 12, label_smoothing=0.1, **{"train.validate_every": 5, "encoder.dropout": 0.1})

    def interrupt(step):
        if step == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nsed.Seq2Seq.fit(TRAINING, config=config, folder=tmp_path, on_step=interrupt)
    resumed = nsed.Seq2Seq.fit(TRAINING, config=config, folder=tmp_path)
    whole = nsed.Seq2Seq.fit(TRAINING, config=config)
    for one, other in zip(resumed.network.state_dict().values(), whole.network.state_dict().values(), strict=True):
        assert torch.equal(one, other)


def test_what_is_wrong_is_named(models):
    with pytest.raises(ArgumentError, match="pairs: got no positive pair"):
        nsed.Seq2Seq.fit([], config=settings())
    with pytest.raises(ConfigError) as several:
        settings("cnn", **{"encoder.heads": 3})
    assert several.value.faults == (
        "encoder.kind: got 'cnn', expected one that can look at the source: rnn or transformer",
        "encoder.heads: got 3, expected a divisor of encoder.dim (32)",
    )
    with pytest.raises(ArgumentError, match="nbest: got 0, expected at least 1"):
        models["rnn"].transduce(["A"], nbest=0)


def test_targets_that_were_cut_are_counted(models):
    model = models["rnn"]
    short = nsed.Seq2Seq(model.network, model.tokenizers, settings(longest_output=4))
    with pytest.warns(CutOutputWarning, match="1 of the targets reach 4 symbols, the most allowed"):
        assert short.transduce(["CCCCCC", "C"], beam=1)[1][0].text == "c"


@pytest.mark.parametrize("kind", KINDS)
def test_transliteration_is_better_than_the_target_of_the_nearest_source(kind, data_folder):
    """A control on real data; 200 steps of a small network, far from its best."""
    learned, test = (nsed.read_pairs(data_folder / "translit-ar2en" / f"{part}.tsv") for part in ("train", "test"))
    sources, expected = test.sources[:150], [[tuple(target)] for target in test.targets[:150]]
    distance = Levenshtein.normalized_distance
    near = [process.extractOne(source, learned.sources, scorer=distance)[2] for source in sources]
    control = transduction_score([tuple(learned.targets[row]) for row in near], expected)
    config = settings(kind, 200, **{"encoder.dim": 64, "encoder.max_length": 64, "train.learning_rate": 5e-3})
    model = nsed.Seq2Seq.fit(learned, validation=learned.chosen(range(50)), config=config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownSymbolWarning)
        outputs = [best[0].symbols for best in model.transduce(sources)]
    assert transduction_score(outputs, expected).cer < 0.8 * control.cer


@pytest.mark.parametrize(("kind", "millions"), [("rnn", 3.3), ("transformer", 3.1)])
@pytest.mark.parametrize(("task", "file"), [("g2p-cmudict", "train.dict"), ("translit-ar2en", "train.tsv")])
def test_networks_are_of_the_papers_size(data_folder, task, file, kind, millions):
    config = from_mapping(nsed.Seq2SeqConfig, read_yaml(CONFIGS / task / f"seq2seq-{kind}.yaml"))
    pairs = nsed.read_pairs(data_folder / task / file)
    alphabets = Tokenizers.learned(config, pairs.chosen(range(0, len(pairs), 20)))
    network = nsed.Seq2Seq._network(config, alphabets, None)
    size = sum(parameter.numel() for parameter in network.parameters())
    assert size == pytest.approx(millions * 1e6, rel=0.15)


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_new_source_symbols_are_read_as_their_kin(model):
    assert model.transduce(["ÁBc"], nbest=2) == model.transduce(["ABC"], nbest=2)
    assert model.score([("ÁBc", "ab")]) == model.score([("ABC", "ab")])
    assert model.links([("ÁBc", "ab")]) == model.links([("ABC", "ab")])
