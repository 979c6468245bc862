"""The Matcher as users have it: score, match, align, explain, save, load, and what it refuses."""

import numpy as np
import pytest

import nsed
from golden.answers import FOLDERS
from nsed.config import from_mapping
from nsed.datasets.rule_language import matching_pairs
from nsed.errors import ArgumentError, ConfigError, ContradictoryLabelsWarning, TooLongError, UnknownLanguageWarning
from nsed.jobs import TableJob
from nsed.models import matcher, odds
from nsed.models.matcher import Matcher, MatcherConfig, match_log_probs
from nsed.models.matcher_mixture import MatcherMixture
from nsed.models.pair_model import Criterion
from nsed.networks.matcher import MatcherNetwork
from nsed.text import Pairs

TEST = matching_pairs(200, seed=2)


@pytest.fixture(scope="module", params=["matcher-rnn", "matcher-similarity", "matcher-unigram"])
def model(request):
    return nsed.load(FOLDERS / request.param)


def test_no_pairs_are_an_error_without_warnings_of_numpy():
    with pytest.raises(ArgumentError, match="labels: got no labels"):
        Matcher.fit([], [])


@pytest.mark.parametrize(
    ("keyword", "known"), [("stepps", "known: .*place, length, .*coherence"), ("plce", "did you mean 'place'")]
)
def test_an_unknown_keyword_is_told_the_settings_of_odds_where_none_is_of_a_network(keyword, known):
    with pytest.raises(ConfigError, match=f"{keyword}: no such key; {known}"):
        Matcher.fit([("a", "b"), ("c", "d")], [1, 0], **{keyword: 3})
    with pytest.raises(ConfigError, match=r"stepps: no such key; known: .*encoder, interaction"):
        Matcher.fit([("a", "b"), ("c", "d")], [1, 0], stepps=3, encoder__dim=8)


@pytest.mark.parametrize(
    ("keyword", "meant"),
    [("encoder_dim", "encoder__dim"), ("dim", "encoder__dim"), ("train_steps", "train__steps")],
)
def test_a_misspelled_setting_of_a_network_is_told_how_it_makes_one(keyword, meant):
    """`encoder_dim=9` listed the settings of odds, of which none is like it."""
    with pytest.raises(ConfigError, match=f"{keyword}: no such key; did you mean '{meant}'"):
        Matcher.fit([("a", "b"), ("c", "d")], [1, 0], **{keyword: 9})


def test_a_pair_that_is_too_long_is_named_by_its_place_where_it_alone_is_computed_again(model, monkeypatch):
    """A kernel that knows no bounds finds a score below all doubles."""
    monkeypatch.setattr(matcher, "bulk_scores", lambda *_, **__: np.array([-1.0, -2.0, -np.inf]))
    with pytest.raises(TooLongError, match=r"3,000 symbols at place 2, a table"):
        model.score([("A", "a"), ("B", "b"), ("A" * 3000, "a" * 3000)])


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_a_pair_that_is_too_long_is_named_by_its_place_where_symbols_are_too_many_for_one_table(monkeypatch):
    monkeypatch.setattr(odds, "MOST_EXTENDED", 1)
    known = nsed.OddsMatcher.fit([*zip("abcabc", "abcbca", strict=True)], [1, 1, 1, 0, 0, 0], train__steps=1)
    with pytest.raises(TooLongError, match=r"3,000 symbols at place 2, a table"):
        known.score([("x", "y"), ("a", "b"), ("a" * 3000, "a" * 3000)])


def test_decisions_are_those_of_scores_and_threshold(model):
    decisions, scores = model.match(TEST), model.score(TEST)
    assert (decisions == (scores >= model.threshold)).all()
    probability = model.probability(TEST)
    assert (np.diff(probability[np.argsort(scores)]) >= 0).all()
    assert ((probability >= 0) & (probability <= 1)).all()


def test_scores_too_small_for_a_double_are_right_too(model):
    unlike = [("A" * 31, "c"), ("C" * 20, "a" * 31), ("A", "a")]
    long = MatcherNetwork(model.config.encoder, source_symbols=7, target_symbols=7).eval()
    long.projection.linear.bias.data[3] += 60  # everything looks like no match
    strange = Matcher(long, model.tokenizers, model.config)
    scores = strange.score(unlike)
    assert scores[0] < -1000
    assert scores[0] == pytest.approx(strange.explain(*unlike[0]).log_prob)
    assert scores[0] == pytest.approx(match_log_probs(long, strange.encoded(Pairs.of(unlike)), strange.device)[0])


def test_matches_come_with_their_operations(model):
    if model.config.encoder.kind != "unigram":
        assert str(model.align("BCA", "ca")) == "-B C→c A→a"
    explanation = model.explain("BCA", "ca")
    assert explanation.log_prob == pytest.approx(model.score([("BCA", "ca")])[0], rel=1e-5)
    assert explanation.log_prob <= 0


def test_saved_model_is_the_same_model(model, tmp_path):
    model.save(tmp_path)
    for again in (nsed.load(tmp_path), Matcher.load(tmp_path)):
        assert (again.score(TEST) == model.score(TEST)).all()
        assert again.threshold == model.threshold
        assert again.calibration == model.calibration


def test_labels_are_needed():
    with pytest.raises(ArgumentError, match="labels: got no labels, expected pairs that match and pairs"):
        Matcher.fit([("a", "b")])
    with pytest.raises(
        ArgumentError, match=r"labels: got only labels 1, expected pairs that match and pairs .* edit distance"
    ):
        Matcher.fit([("a", "b")], [1])
    one_kind = Pairs.of([("A", "a")], [0])
    with pytest.raises(ArgumentError, match="labels of the validation pairs: got only labels 0"):
        Matcher.fit(TEST, validation=one_kind)


@pytest.mark.parametrize(("model", "config"), [(Matcher, MatcherConfig), (nsed.Transducer, nsed.TransducerConfig)])
def test_a_model_moves_to_another_device_as_itself(model, config):
    small = from_mapping(config, {"encoder": {"dim": 8, "layers": 1}})
    untrained = model._untrained(matching_pairs(20, seed=1), small)
    assert untrained.to("meta") is untrained
    assert untrained.device.type == "meta"


def test_another_seed_gives_other_first_weights():
    configs = [
        from_mapping(MatcherConfig, {"encoder": {"dim": 8, "layers": 1}, "train": {"seed": n}}) for n in (0, 0, 1)
    ]
    scores = [Matcher._untrained(TEST, config).score(TEST).tolist() for config in configs]
    assert scores[0] == scores[1] != scores[2]


def test_a_pair_at_the_threshold_matches(model):
    scores = model.score(TEST)
    at = Matcher(model.network, model.tokenizers, model.config, criterion=Criterion.at(float(scores[7])))
    assert at.match(TEST).tolist() == (scores >= scores[7]).tolist()
    assert at.match(TEST)[7]


@pytest.fixture(scope="module", params=["matcher", "odds"])
def of_languages(request):
    """A matcher that knows the languages de and en, trained for a moment."""
    given = Pairs(
        [*"abcabc"] * 5, [*"abcbca"] * 5, [True, True, True, False, False, False] * 5, ["de"] * 30, ["en"] * 30
    )
    if request.param == "odds":
        return nsed.OddsMatcher.fit(given, languages=True, train__steps=1)
    return Matcher.fit(given, validation=given, languages=True, encoder__kind="unigram", encoder__dim=8, train__steps=1)


def test_languages_that_a_matcher_never_saw_are_told_once_and_scored_as_none(of_languages):
    words = ["a", "b", "c"]
    with pytest.warns(UnknownLanguageWarning) as heard:
        scores = of_languages.score(Pairs(words, words, None, ["de", "fr", ""], ["nl", "en", "en"]))
    told = "2 languages are unknown to the model, which scores their strings as if none were given: fr, nl; "
    assert [str(one.message) for one in heard] == [f"{told}it knows de, en"]
    as_if = of_languages.score(Pairs(words, words, None, ["de", "", ""], ["", "en", "en"]))
    assert scores.tolist() == as_if.tolist()
    of_languages.score(list(zip(words, words, strict=True)))


def test_languages_that_a_matcher_never_saw_are_told_once_by_a_job_of_many_batches(of_languages, tmp_path):
    rows = "".join(f"a\tb\t{'de' if row < 10 else 'fr'}\ten\n" for row in range(40))
    (tmp_path / "pairs.tsv").write_text(f"source\ttarget\tsource_language\ttarget_language\n{rows}")
    with pytest.warns(UnknownLanguageWarning) as heard:
        TableJob(tmp_path / "pairs.tsv", tmp_path / "scores.tsv", batch_rows=4).score(of_languages)
    assert len(heard) == 1


TWICE = [("ab", "ab", 1), ("bb", "bb", 1), ("ab", "ba", 0), ("ab", "ab", 0), ("bb", "ba", 0), ("ab", "ab", 1)] * 4
"""Pairs of which `ab - ab` has both labels."""
CONTRADICTION = r"^1 pair has both labels, of 4 different ones, say 'ab' - 'ab': a matcher cannot be right about all"


@pytest.mark.parametrize("settings", [{}, {"encoder__kind": "unigram", "encoder__dim": 8}])
def test_a_pair_with_both_labels_is_told_once_and_training_goes_on(settings):
    sources, targets, labels = zip(*TWICE, strict=True)
    with pytest.warns(ContradictoryLabelsWarning, match=CONTRADICTION) as heard:
        made = Matcher.fit(zip(sources, targets, strict=True), labels, train__steps=1, **settings)
    assert len(heard) == 1
    assert np.isfinite(made.score([("ab", "ba")])).all()
    languages = [("x" if label else "y") for label in labels], ["z"] * len(labels)  # which tell them apart
    Matcher.fit(Pairs(sources, targets, [bool(label) for label in labels], *languages), train__steps=1, **settings)


def test_a_pair_with_both_labels_is_told_once_by_a_mixture_that_learns_more():
    fitted = [nsed.OddsMatcher.fit(matching_pairs(200, seed=seed), train__steps=1) for seed in (1, 2)]
    pairs = [("AB", "ab"), ("AB", "ba"), ("BB", "bb"), ("BA", "ab")] * 3 + [("AB", "ab")]
    with pytest.warns(ContradictoryLabelsWarning, match="1 pair has both labels, of 4 different ones") as heard:
        Matcher.fit(
            pairs, [1, 0, 1, 0] * 3 + [0], start=MatcherMixture.of(fitted, matching_pairs(400, seed=3)), train__steps=1
        )
    assert len(heard) == 1
