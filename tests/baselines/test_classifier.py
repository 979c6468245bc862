"""Baselines of the Matcher as users have them: the same verbs for the cross-encoder and for STANCE."""

import numpy as np
import pytest

import nsed
from nsed.config import from_mapping
from nsed.datasets.rule_language import matching_pairs
from nsed.errors import ArgumentError, ConfigError, ModelFileError, NotExplainableError, UnknownSymbolWarning
from nsed.evaluate import matching_score
from nsed.text import Pairs
from nsed.train.split import split


def unseen(training, test):
    """Both, but of the test pairs those only whose sources are not learned from."""
    seen = set(training.sources)
    return training, test.chosen([row for row, source in enumerate(test.sources) if source not in seen])


TRAINING, TEST = unseen(matching_pairs(4000, seed=1), matching_pairs(1500, seed=2))
ODD = [("", ""), ("AB", ""), ("", "ab"), ("A" * 30, "c"), ("B", "b" * 30), ("BCA", "ca")]


def settings(kind, *, steps, **others):
    model = "cross-encoder" if kind == "cross-encoder" else "stance"
    encoder = {"dropout": 0.0, "heads": 2, "max_length": 32}
    if model == "stance":
        encoder["kind"] = kind
        others = {"channels": 16, "iterations": 3, **others}
    encoder |= {"dim": 48, "layers": 1} if kind == "rnn" else {"dim": 32, "layers": 2}
    warmup = 100 if model == "cross-encoder" else 40
    train = {"steps": steps, "batch_pairs": 128, "validate_every": 100, "warmup": warmup, "learning_rate": 3e-3}
    values = {"encoder": encoder, "train": {**train, "device": "cpu"}, **others}
    return from_mapping(nsed.PairClassifier.configs[model], values)


@pytest.fixture(scope="module", params=["cross-encoder", "rnn", "unigram"])
def model(request):
    """Hardly trained: what it says does not matter, only how."""
    return nsed.PairClassifier.fit(TRAINING, config=settings(request.param, steps=4))


@pytest.mark.parametrize(("kind", "steps"), [("cross-encoder", 600), ("rnn", 400)])
def test_held_out_pairs_of_the_rule_language_are_told_apart(kind, steps):
    """Without context (unigram) STANCE cannot: its CNN sees a few cells at once, and no path through the table.

    Its F1 is 0.81 to 0.85 here.
    """
    training, test = unseen(matching_pairs(4800, seed=1, longest=8), matching_pairs(1500, seed=2, longest=8))
    training, validation = split(training, None, seed=0)
    model = nsed.PairClassifier.fit(training, validation=validation, config=settings(kind, steps=steps))
    labels, probability = np.asarray(test.labels), model.probability(test)
    assert matching_score(model.score(test), labels, model.threshold).f1 >= 0.92
    assert probability[labels].mean() > 0.85
    assert probability[~labels].mean() < 0.15


def test_scores_are_log_probabilities_that_decide(model):
    scores = model.score(TEST)
    assert (scores < 0).all()
    assert (model.match(TEST) == (scores >= model.threshold)).all()
    assert (np.diff(model.probability(TEST)[np.argsort(scores)]) >= 0).all()


def test_batches_and_other_pairs_change_no_score(model):
    pairs = [*TEST.chosen(range(20)), *ODD]
    one_by_one = [model.score([pair])[0] for pair in pairs]
    np.testing.assert_allclose(model.score(pairs), one_by_one, rtol=1e-4, atol=1e-5)
    assert model.score([]).shape == (0,)


def test_unknown_symbols_are_named_and_scored(model):
    with pytest.warns(UnknownSymbolWarning, match="1 source symbol is unknown to the model, which reads <unk>: X"):
        assert np.isfinite(model.score([("AX", "a")])).all()


def test_saved_model_is_the_same_model(model, tmp_path):
    model.save(tmp_path)
    for again in (nsed.load(tmp_path), nsed.PairClassifier.load(tmp_path)):
        assert (again.score(TEST) == model.score(TEST)).all()
        assert again.config == model.config
        assert (again.threshold, again.calibration) == (model.threshold, model.calibration)
    with pytest.raises(ModelFileError, match=r"expected 'matcher'; nsed.load reads any kind"):
        nsed.Matcher.load(tmp_path)


def test_it_has_no_edit_operations_and_says_so(model):
    kind = model.config.model
    for verb in (model.align, model.explain):
        with pytest.raises(NotExplainableError, match=f"a model of kind '{kind}' has no edit operations to show"):
            verb("A", "a")


def test_links_are_those_of_the_transport_plan(model):
    if model.config.model == "cross-encoder":
        with pytest.raises(NotExplainableError, match="has no alignments to show; a matcher"):
            model.links(ODD)
        return
    links = model.links(ODD)
    assert links[:3] == [frozenset()] * 3
    for (source, target), found in zip(ODD[3:], links[3:], strict=True):
        assert sorted(j for _, j in found) == list(range(len(target)))
        assert all(0 <= i < len(source) for i, _ in found)
    assert model.links(ODD[::-1]) == links[::-1]


@pytest.mark.filterwarnings("ignore::nsed.errors.ContradictoryLabelsWarning")  # some words are drawn twice
def test_similar_symbols_are_linked():
    """Of strings that belong together when they have the same symbols, in whatever order, equal symbols are linked."""
    random = np.random.default_rng(0)
    words = ["".join(random.permutation(list("abcdef"))[:4]) for _ in range(1500)]
    mixed = ["".join(random.permutation(list(word))) for word in words]
    others = [*mixed[750:], *mixed[:750]]
    labels = random.random(1500) < 0.5
    pairs = Pairs.of(zip(words, np.where(labels, mixed, others).tolist(), strict=True), labels)
    model = nsed.PairClassifier.fit(pairs, config=settings("unigram", steps=150, shared_alphabet=True, temperature=0.5))
    matching = list(zip(words, mixed, strict=True))[:50]
    linked = zip(matching, model.links(matching), strict=True)
    found = [word[i] == other[j] for (word, other), links in linked for i, j in links]
    assert np.mean(found) > 0.9


def test_languages_decide_where_the_strings_do_not(tmp_path):
    random = np.random.default_rng(0)
    sources = ["".join(random.choice(list("abc"), 4)) for _ in range(1000)]
    languages = [random.choice(["x", "y"], 1000).tolist() for _ in range(2)]
    pairs = Pairs(sources, sources, [a == b for a, b in zip(*languages, strict=True)], *languages)
    training, test = pairs.chosen(range(800)), pairs.chosen(range(800, 1000))
    model = nsed.PairClassifier.fit(training, config=settings("cross-encoder", steps=150, languages=True))
    model.save(tmp_path)
    assert (nsed.load(tmp_path).match(test) == test.labels).mean() >= 0.99


def test_interrupted_training_goes_on_to_the_same_scores(tmp_path):
    config = from_mapping(
        nsed.StanceConfig, {"encoder": {"dim": 8}, "train": {"steps": 6, "validate_every": 2, "batch_pairs": 32}}
    )

    def interrupt(step):
        if step == 5:
            raise KeyboardInterrupt

    fit = nsed.PairClassifier.fit
    with pytest.raises(KeyboardInterrupt):
        fit(TRAINING, config=config, folder=tmp_path, on_step=interrupt)
    resumed, whole = fit(TRAINING, config=config, folder=tmp_path), fit(TRAINING, config=config)
    assert (resumed.score(TEST) == whole.score(TEST)).all()
    assert resumed.threshold == whole.threshold


def test_what_cannot_be_is_refused():
    with pytest.raises(ConfigError, match=r"encoder\.kind: got 'cnn', expected one of transformer"):
        from_mapping(nsed.CrossEncoderConfig, {"encoder": {"kind": "cnn"}})
    with pytest.raises(ArgumentError, match=r"config\.model: got 'stance', expected one of odds, matcher"):
        nsed.Matcher.fit(TRAINING, config=nsed.StanceConfig())
    with pytest.raises(ArgumentError, match="labels: got no labels, expected pairs that match and pairs"):
        nsed.PairClassifier.fit([("a", "b")])
    with pytest.raises(ArgumentError, match="start: got a model of kind 'stance', expected none"):
        nsed.PairClassifier.fit(TRAINING, start=nsed.PairClassifier.fit(TRAINING, config=settings("unigram", steps=2)))
