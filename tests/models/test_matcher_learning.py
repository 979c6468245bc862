"""What Matchers learn of the rule language, and what they cannot; each of these trains for seconds."""

import random

import numpy as np
import pytest

import nsed
from nsed.config import from_mapping
from nsed.datasets.rule_language import matching_pairs
from nsed.errors import ArgumentError
from nsed.evaluate import matching_score
from nsed.explain import Explanation
from nsed.models.matcher import Matcher, MatcherConfig
from nsed.text import Pairs

pytestmark = pytest.mark.slow
TRAINING, TEST = matching_pairs(8000, seed=1), matching_pairs(1500, seed=2)
SEEN = set(TRAINING.sources)
TEST = TEST.chosen([row for row, source in enumerate(TEST.sources) if source not in SEEN])


def settings(kind="cnn", steps=350, **others):
    train = {
        "steps": steps,
        "batch_pairs": 128,
        "validate_every": 50,
        "warmup": 20,
        "learning_rate": 5e-3,
        "device": "cpu",
    }
    encoder = {"kind": kind, "dim": 32, "layers": 1, "dropout": 0.0, "heads": 2, "max_length": 32}
    others = {"feature_dropout": 0.0, **others}
    return from_mapping(MatcherConfig, {"encoder": encoder, "train": train, **others})


@pytest.fixture(scope="module")
def model():
    return Matcher.fit(TRAINING, config=settings())


def f1(model):
    return matching_score(model.score(TEST), np.asarray(TEST.labels), model.threshold).f1


def test_held_out_pairs_of_the_rule_language_are_told_apart(model):
    assert f1(model) >= 0.99
    decisions = model.match(TEST)
    assert (decisions == (model.score(TEST) >= model.threshold)).all()


def test_an_rnn_tells_them_apart_and_a_unigram_model_does_not():
    assert f1(Matcher.fit(TRAINING, config=settings("rnn", steps=220))) >= 0.99
    assert f1(Matcher.fit(TRAINING, config=settings("unigram"))) < 0.985


@pytest.mark.filterwarnings("ignore::nsed.errors.ContradictoryLabelsWarning")  # without languages they do
def test_languages_decide_where_the_strings_do_not(tmp_path):
    """Pairs of one string with itself, which belong together within a language only."""
    random = np.random.default_rng(0)
    sources = ["".join(random.choice(list("abc"), 4)) for _ in range(1500)]
    languages = [random.choice(["x", "y"], 1500).tolist() for _ in range(2)]
    labels = [one == other for one, other in zip(*languages, strict=True)]
    pairs = Pairs(sources, sources, labels, *languages)
    training, test = pairs.chosen(range(1200)), pairs.chosen(range(1200, 1500))
    blind = Matcher.fit(training, config=settings("unigram", steps=100))
    seeing = Matcher.fit(training, config=settings("unigram", steps=200, languages=True))
    seeing.save(tmp_path)
    assert (nsed.load(tmp_path).match(test) == test.labels).mean() >= 0.99
    assert (blind.match(test) == test.labels).mean() < 0.65
    assert len(seeing.align("abca", "abca")) >= 4
    with pytest.raises(ArgumentError, match="pairs: got no languages, expected pairs with source_languages"):
        Matcher.fit(list(zip(sources, sources, strict=True)), labels, config=settings(languages=True))


def test_probabilities_are_calibrated(model):
    probability, labels = model.probability(TEST), np.asarray(TEST.labels)
    assert probability[labels].mean() > 0.9
    assert probability[~labels].mean() < 0.1
    assert ((probability >= 0) & (probability <= 1)).all()


def test_one_alphabet_for_both_sides(tmp_path):
    same = [(s, s.upper(), True) for s in ("ABC", "CAB", "BBA")] + [("ABC", "CCC", False), ("CAB", "A", False)]
    pairs = Pairs.of([(s, t) for s, t, _ in same * 20], [label for _, _, label in same * 20])
    model = Matcher.fit(pairs, validation=pairs, config=settings(steps=60, shared_alphabet=True, interaction=2))
    assert model.tokenizers.source.vocabulary == model.tokenizers.target.vocabulary
    model.save(tmp_path)
    assert (nsed.load(tmp_path).score(pairs) == model.score(pairs)).all()
    assert model.record["f1"] == 1.0


def test_interrupted_training_goes_on_to_the_same_scores(tmp_path):
    config = settings(steps=100)

    def interrupt(step):
        if step == 70:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Matcher.fit(TRAINING, config=config, folder=tmp_path, on_step=interrupt)
    resumed, whole = Matcher.fit(TRAINING, config=config, folder=tmp_path), Matcher.fit(TRAINING, config=config)
    assert (resumed.score(TEST) == whole.score(TEST)).all()


LETTERS = "abdefgiklmnoprstu"


def respelled(count, seed, *, matches, others):
    """Words of seven letters with copies in which a share of the letters is another: a small one in matches."""
    drawing, pairs = random.Random(seed), []
    for row in range(count):
        word = "".join(drawing.choices(LETTERS, k=7))
        share = drawing.choice(others if row % 3 else matches)
        copy = "".join(drawing.choice(LETTERS) if drawing.random() < share else letter for letter in word)
        pairs.append((word, copy))
    return Pairs.of(pairs, [row % 3 == 0 for row in range(count)])


def test_identical_long_words_are_more_probable_than_95_percent_and_nonsense_is_no_match():
    training = respelled(1200, 1, matches=(0.0, 0.3), others=(1.0,))
    model = Matcher.fit(
        training, validation=respelled(600, 2, matches=(0.0, 0.1, 0.3), others=(0.5, 0.6, 1.0)), shared_alphabet=True,
        interaction=4, encoder__kind="unigram", encoder__dim=32, encoder__positions=False, encoder__dropout=0.0,
        feature_dropout=0.0, train__steps=150, train__batch_pairs=32, train__warmup=5, train__learning_rate=0.02,
        train__validate_every=150,
    )  # fmt: skip
    drawing = random.Random(5)
    words = ["".join(drawing.choices(LETTERS, k=9)) for _ in range(100)]
    assert model.probability(words, words).min() > 0.95
    assert model.calibration.form == "log-odds"
    nonsense = words, words[7:] + words[:7]
    assert not model.match(*nonsense).any()
    assert model.probability(*nonsense).max() < 0.05
    why = model.explain(words[0], words[0])
    assert sum(part.value for part in why.contributions) == pytest.approx(why.decision.log_odds, abs=1e-4)
    assert "certainty" in {part.name for part in why.contributions}
    assert Explanation.from_json(why.to_json()).decision == why.decision
