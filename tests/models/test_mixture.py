"""Mixtures of Transducers, Transducers that read from right to left, and students of mixtures."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

import nsed
from nsed.config import from_mapping
from nsed.datasets.rule_language import transduction_pairs
from nsed.errors import ArgumentError
from nsed.evaluate.report import NamedModel, evaluate
from nsed.models.matcher_mixture import MatcherMixture
from nsed.models.mixture import Mixture
from nsed.models.transducer import Transducer, TransducerConfig
from nsed.models.transduction import Transduction
from nsed.text import Pairs
from nsed.train.distillation import check_teacher, kept_taught_pairs
from nsed.train.run_folder import RunFolder
from nsed.types import END, PAD, START, UNKNOWN
from nsed.web import served_models as service
from nsed.web.served_models import NO_OVERRIDES, ServedModel

PAIRS = list(transduction_pairs(120, seed=3))
WAYS = ("forward", "backward")
ENCODER = {"kind": "rnn", "dim": 32, "layers": 1, "dropout": 0.0}


def settings(seed=0, steps=20, **others):
    train = {"steps": steps, "batch_pairs": 32, "validate_every": 10, "warmup": 2, "learning_rate": 5e-3}
    values = {"encoder": {**ENCODER, "dim": 16}, "train": {**train, "seed": seed, "device": "cpu"}, **others}
    return from_mapping(TransducerConfig, values)


def untrained(seed=0, pairs=PAIRS, **others):
    """Without training: what it says does not matter, only how; short targets are probable, so that little is done."""
    model = Transducer._untrained(Pairs.of(pairs), settings(seed, **others))
    model.network.projection.linear.bias.data[1 + END] += 4.0
    return model


def test_a_backward_transducer_scores_a_pair_as_a_forward_one_scores_the_reversed_strings():
    forward = untrained()
    backward = Transducer(forward.network, forward.tokenizers, replace(forward.config, direction="backward"))
    turned = [(source[::-1], target[::-1]) for source, target in PAIRS]
    np.testing.assert_allclose(backward.score(PAIRS), forward.score(turned), atol=1e-4)
    words = [source for source, _ in PAIRS[:20]]
    found = backward.transduce(words, nbest=2)
    expected = forward.transduce([word[::-1] for word in words], nbest=2)
    assert [[one.text for one in few] for few in found] == [[one.text[::-1] for one in few] for few in expected]


def test_scripts_and_explanations_of_a_backward_transducer_cover_both_strings_in_their_order():
    backward = untrained(direction="backward")
    forward = Transducer(backward.network, backward.tokenizers, replace(backward.config, direction="forward"))
    for (source, target), script in zip(PAIRS, backward.align_all(PAIRS), strict=True):
        assert ("".join(script.source), "".join(script.target)) == (source, target)
        assert [edit.i for edit in script if edit.source] == list(range(len(source)))
        assert [edit.j for edit in script if edit.target] == list(range(len(target)))
    source, target = max(PAIRS, key=lambda pair: len(pair[0]))
    told, turned = backward.explain(source, target), forward.explain(source[::-1], target[::-1])
    assert told.log_prob == pytest.approx(turned.log_prob, rel=1e-5)
    assert told.script.log_weight == pytest.approx(turned.script.log_weight, rel=1e-5)
    np.testing.assert_allclose(told.substitute[1:, 1:], turned.substitute[1:, 1:][::-1, ::-1], atol=1e-5)
    np.testing.assert_allclose(told.delete[1:], turned.delete[1:][::-1, ::-1], atol=1e-5)
    assert sum(part.value for part in told.contributions) == pytest.approx(told.log_prob, rel=1e-5)


@pytest.mark.slow
def test_a_backward_transducer_learns_and_is_saved_with_its_direction(tmp_path):
    model = Transducer.fit(PAIRS, config=settings(direction="backward"))
    model.save(tmp_path)
    again = nsed.load(tmp_path)
    assert again.config.direction == "backward"
    assert (again.score(PAIRS) == model.score(PAIRS)).all()


def members(*directions, pairs=PAIRS):
    return [untrained(seed, direction=one, pairs=pairs) for seed, one in enumerate(directions)]


@pytest.fixture(scope="module")
def forward():
    return Mixture(members("forward", "forward", "forward"))


@pytest.fixture(scope="module")
def both():
    return Mixture(members("forward", "backward"))


@pytest.mark.parametrize("which", ["forward", "both"])
def test_the_score_of_a_mixture_is_the_log_of_the_mean_of_the_members_probabilities(which, request):
    mixture = request.getfixturevalue(which)
    mean = np.mean([np.exp(one.score(PAIRS)) for one in mixture.members], axis=0)
    np.testing.assert_allclose(mixture.score(PAIRS), np.log(mean), rtol=1e-5, atol=1e-5)


def test_probabilities_of_a_mixture_over_all_targets_sum_to_one_also_with_unlike_vocabularies_and_directions():
    ab, bc = [("A", "a"), ("AB", "ab"), ("B", "b")], [("B", "b"), ("BC", "bc"), ("C", "c")]
    one, other = untrained(0, pairs=ab), untrained(1, pairs=bc, direction="backward")
    for member in (one, other):  # short targets, so that few of them are nearly all, and no special symbols in them
        bias, count = member.network.projection.linear.bias.data, len(member.tokenizers.target.vocabulary)
        bias[[0, 1 + END]] += 3.0
        for special in (PAD, UNKNOWN, START):
            bias[[1 + special, 1 + count + special]] -= 50.0
    mixture = Mixture([one, other])
    assert mixture.tokenizers.target.vocabulary.symbols == ("a", "b", "c")
    targets = ["".join(symbols) for length in range(7) for symbols in product("abc", repeat=length)]
    assert 0.999 < np.exp(mixture.score(["B"] * len(targets), targets)).sum() < 1.00001


def test_the_beam_of_a_mixture_gives_exact_scores_best_first(forward):
    words = [source for source, _ in PAIRS[:20]]
    for word, best in zip(words, forward.transduce(words, nbest=3), strict=True):
        scores = forward.score([(word, one.text) for one in best])
        np.testing.assert_allclose(scores, [one.log_prob for one in best], rtol=1e-4, atol=1e-4)
        assert sorted(scores, reverse=True) == list(scores)


def test_a_mixture_of_one_model_is_that_model():
    (alone,) = members("forward")
    mixture, words = Mixture([alone]), [source for source, _ in PAIRS[:10]]
    np.testing.assert_allclose(mixture.score(PAIRS), alone.score(PAIRS), rtol=1e-6)
    assert [few[0].text for few in mixture.transduce(words)] == [few[0].text for few in alone.transduce(words)]
    for ours, theirs in zip(mixture.align_all(PAIRS), alone.align_all(PAIRS), strict=True):
        assert str(ours) == str(theirs)
        assert ours.log_weight == pytest.approx(theirs.log_weight, rel=1e-4)


def test_a_wide_beam_finds_the_targets_that_are_best_among_all():
    mixture = Mixture(members("forward", "forward", pairs=[("A", "a"), ("AB", "ab"), ("B", "b")]))
    targets = ["".join(symbols) for length in range(5) for symbols in product("ab", repeat=length)]
    scores = mixture.score(["AB"] * len(targets), targets)
    best = [targets[place] for place in np.argsort(-scores)[:3]]
    found = mixture.transduce(["AB"], nbest=3, beam=200)[0]
    assert [one.text for one in found] == best


@pytest.mark.parametrize("which", ["forward", "both"])
def test_explanations_of_a_mixture_have_the_members_posteriors_weighted_by_the_pairs_probability(which, request):
    mixture = request.getfixturevalue(which)
    source, target = max(PAIRS, key=lambda pair: len(pair[0]))
    told, parts = mixture.explain(source, target), [one.explain(source, target) for one in mixture.members]
    shares = np.exp([one.log_prob for one in parts])
    shares /= shares.sum()
    for table in ("delete", "insert", "substitute"):
        expected = sum(share * getattr(one, table) for share, one in zip(shares, parts, strict=True))
        np.testing.assert_allclose(getattr(told, table), expected, atol=1e-4)
    assert told.log_prob == pytest.approx(mixture.score([(source, target)])[0], rel=1e-6)
    assert sum(part.value for part in told.contributions) == pytest.approx(told.log_prob, rel=1e-5)
    assert ("".join(told.script.source), "".join(told.script.target)) == (source, target)
    assert mixture.links([(source, target)]) == [told.script.links]


def test_both_directions_are_ranked_by_exact_scores_over_the_union_of_their_lists(both):
    words = [source for source, _ in PAIRS[:10]]
    lists = [one.transduce(words, nbest=5) for one in both.members]
    for word, best, *own in zip(words, both.transduce(words, nbest=5), *lists, strict=True):
        union = list({one.text for few in own for one in few})
        scores = dict(zip(union, both.score([(word, text) for text in union]), strict=True))
        assert [one.text for one in best] == sorted(union, key=lambda text: -scores[text])[:5]


def test_ranking_by_the_product_orders_by_the_sum_of_logs_and_still_says_the_mean(both):
    product_ = both.ranked_by("product")
    for source, _ in PAIRS[:5]:
        (best,) = product_.transduce([source], nbest=4)
        pairs = [(source, one.text) for one in best]
        sums = sum(one.score(pairs) for one in both.members)
        assert sorted(sums, reverse=True) == pytest.approx(list(sums), rel=1e-5)
        np.testing.assert_allclose([one.log_prob for one in best], both.score(pairs), rtol=1e-4, atol=1e-4)


def test_a_mixture_is_saved_and_loaded_whole_and_made_of_folders(both, tmp_path):
    for number, one in enumerate(both.members):
        one.save(tmp_path / str(number))
    both.save(tmp_path / "all")
    for again in (nsed.load(tmp_path / "all"), nsed.load([tmp_path / "0", tmp_path / "1"])):
        assert (again.score(PAIRS) == both.score(PAIRS)).all()
        assert again.config == both.config
    drawn = [both.sample(["CACAB", "BAAC"], count=3, seed=seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_models_of_which_there_is_no_mixture_are_named():
    (one,) = members("forward")
    with pytest.raises(ArgumentError, match="members: got no model, expected at least one"):
        nsed.load([])
    with pytest.raises(ArgumentError, match="a model of kind 'mixture' at place 1, expected transducers"):
        Mixture([one, Mixture([one])])
    with pytest.raises(ArgumentError, match="normalisation incoming at place 1, expected outgoing: only exact"):
        Mixture([one, untrained(normalisation="incoming")])
    with pytest.raises(ArgumentError, match="members: got target_symbols tokens at place 1, expected auto, as"):
        Mixture([one, untrained(target_symbols="tokens")])
    for wrong, message in (
        ({"models": 0}, "models: got 0"),
        ({"train__devices": 2}, "train.devices: got 2, expected 1"),
    ):
        with pytest.raises(ArgumentError, match=message):
            Mixture.fit(PAIRS, **wrong)


@pytest.mark.slow
def test_a_student_with_a_teachers_answers_for_words_without_any_beats_one_without():
    pairs = list(dict.fromkeys(transduction_pairs(1500, seed=1)))
    test, rest = pairs[:300], [pair for pair in pairs[300:] if pair not in pairs[:300]]
    train = {"steps": 100, "batch_pairs": 16, "validate_every": 33, "warmup": 10, "seed": 7}
    small = settings(train={**train, "learning_rate": 5e-3, "device": "cpu"}, encoder={**ENCODER, "kind": "cnn"})
    teacher = Mixture([Transducer.fit(rest[:600], validation=test[:40], config=small)])
    few, words = rest[600:608], [source for source, _ in rest[608:808]]
    alone = Transducer.fit(few, validation=test[:40], config=small)
    student = Transducer.distill(few, teacher=teacher, words=words, validation=test[:40], config=small)
    right = [
        np.mean([best[0].text == target for best, (_, target) in zip(found, test, strict=True)])
        for found in (model.transduce([source for source, _ in test]) for model in (alone, student))
    ]
    assert right[1] > right[0] + 0.1


@pytest.mark.slow  # types are not checked, as of users
@pytest.mark.parametrize(
    ("members", "got"),
    [("g2p-en", "'g2p-en', expected a list of models"), (["g2p-en"], "'g2p-en' at place 0, expected")],
)
def test_names_of_models_are_no_members_and_what_makes_a_mixture_of_them_is_said(members, got):
    for kind in (Mixture, MatcherMixture):
        with pytest.raises(ArgumentError, match=rf"members: got {got}.* nsed.load\(\['a', 'b'\]\)"):
            kind(members)


@pytest.mark.slow  # types are not checked, as of users
@pytest.mark.parametrize("models", ["x", 1.5, 0])
def test_what_is_no_number_of_members_is_refused(models):
    with pytest.raises(ArgumentError, match=f"models: got {models!r}, expected a whole number, at least 1 and at most"):
        Mixture.fit(PAIRS, models=models)


def test_a_student_of_several_languages_and_a_teacher_of_several_or_of_none_are_refused_before_it_answers():
    plain = Pairs.of(PAIRS)
    both = replace(plain, source_languages=["de", "fr"] * 60)
    teacher, several = untrained(), untrained(pairs=both, languages=True)
    for pairs, settings_given in ((both, {}), (both, {"languages": True})):
        expected = r"languages: got pairs of 2 \(de, fr\), expected one: .* languages=False, --set languages=false"
        with pytest.raises(ArgumentError, match=expected):
            Transducer.distill(pairs, teacher=teacher, **settings_given)
    with pytest.raises(ArgumentError, match="languages: got true, expected one"):
        Transducer.distill(plain, teacher=teacher, languages=True)
    for wrong in (several, Mixture([several, several])):
        with pytest.raises(
            ArgumentError, match=r"several languages \(de, fr\).* nsed.load\(...\).for_language\('de'\)"
        ):
            Transducer.distill(plain, teacher=wrong)
    with pytest.raises(ArgumentError, match="teacher: got OddsMatcher, which does not transduce"):
        check_teacher(nsed.load("names"))


@pytest.mark.slow
def test_a_student_learns_from_a_teacher_for_one_language_of_several():
    both = replace(Pairs.of(PAIRS), source_languages=["de", "fr"] * 60)
    several = untrained(pairs=both, languages=True)
    mixture = Mixture([several, several]).for_language("de")
    assert mixture.language == "de"
    short = {"config": settings(steps=1), "validation": PAIRS[10:15], "nbest": 1}
    for pairs, more in ((PAIRS[:10], {}), (both.chosen(range(0, 20, 2)), {}), (both, {"languages": False})):
        student = Transducer.distill(pairs, teacher=mixture, **short, **more)
        assert student.languages is None


@pytest.mark.slow
def test_pairs_with_equal_weights_are_learned_as_without_and_a_weight_is_as_good_as_copies():
    plain = Pairs.of(PAIRS[:30])
    alike = replace(plain, weights=[3.0] * 30)
    trained = [Transducer.fit(pairs, validation=PAIRS[30:40], config=settings(steps=4)) for pairs in (plain, alike)]
    np.testing.assert_allclose(*(model.score(PAIRS) for model in trained), rtol=1e-4)
    copies = plain.chosen([*range(30), 0, 0])
    weighted = replace(plain, weights=[3.0, *[1.0] * 29])
    losses = []
    for pairs in (copies, weighted):
        model = untrained()
        task = model._task(model.encoded(pairs), model.encoded(pairs), model.device)
        rows = np.arange(len(pairs))
        losses.append(float(task.loss(task.batch(torch.from_numpy(rows), task.widths(rows)))))
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    for wrong in ([-1.0, *[1.0] * 29], [0.0] * 30, [float("nan")] * 30):
        with pytest.raises(ArgumentError, match="weights: got numbers from"):
            Transducer.fit(replace(plain, weights=wrong), config=settings())


def test_a_student_whose_training_was_interrupted_hears_the_teachers_answers_of_then(tmp_path):
    class Teacher:
        def transduce(self, sources, *, nbest=1, on_batch=None):
            asked.append(len(sources))
            return [[Transduction(source.lower(), tuple(source.lower()), -0.1)] for source in sources]

    asked = []
    training = Pairs.of(PAIRS[:10])
    taught = [kept_taught_pairs(tmp_path, Teacher(), training, ["CAB", *more]) for more in ((), (), ("BAC",))]
    assert taught[0] == taught[1] != taught[2]
    assert asked == [len({*training.sources, "CAB"}), len({*training.sources, "CAB", "BAC"})]
    assert sum(taught[0].weights) == pytest.approx(asked[0])


@pytest.mark.slow
def test_a_mixture_is_trained_member_by_member_and_one_that_is_done_is_not_trained_again(tmp_path, monkeypatch):
    config = settings(steps=4)
    mixture = Mixture.fit(PAIRS, models=2, both_directions=True, config=config, folder=tmp_path)
    assert [one.config.train.seed for one in mixture.members] == [0, 1]
    assert [one.config.direction for one in mixture.members] == ["forward", "backward"]
    assert not RunFolder(tmp_path).is_unfinished
    (tmp_path / "model.json").unlink()
    (tmp_path / "members" / "1" / "model.json").unlink()
    trained, fit = [], Transducer.fit
    monkeypatch.setattr(Transducer, "fit", lambda *pairs, **options: trained.append(1) or fit(*pairs, **options))
    again = Mixture.fit(PAIRS, models=2, both_directions=True, config=config, folder=tmp_path)
    assert len(trained) == 1
    assert (again.score(PAIRS) == mixture.score(PAIRS)).all()
    assert (nsed.load(tmp_path).score(PAIRS) == mixture.score(PAIRS)).all()
    Mixture.fit(spoken(), models=1, config=replace(config, languages=True), folder=tmp_path)
    assert len(trained) == 2  # of other pairs nothing is done


def spoken():
    """The same words in two languages."""
    pairs = list(dict.fromkeys(transduction_pairs(40, seed=3)))
    return in_languages({"x": pairs, "y": [(source, target * 2) for source, target in pairs]})


def test_a_transducer_of_two_languages_answers_by_language_and_says_which_it_knows():
    pairs = spoken()
    model = Transducer._untrained(pairs, settings(languages=True))
    model.network.source_encoder.embedding.categories.weight.data.mul_(20.0)  # as after training
    x, y = model.for_language("x"), model.for_language("y")
    np.testing.assert_allclose(
        model.score(pairs)[: len(pairs) // 2], x.score(list(pairs)[: len(pairs) // 2]), rtol=1e-5
    )
    assert not np.allclose(x.score(list(pairs)), y.score(list(pairs)), atol=1e-3)
    assert len(list(model.explain_all(pairs.chosen([0, 60])))) == 2
    for ask in (lambda: model.transduce(["AB"]), lambda: model.score([("AB", "ab")])):
        with pytest.raises(
            ArgumentError, match=r"got none, expected one for each, a column source_language .* known: x, y"
        ):
            ask()
    mixed = model.transduce(["AB", "C", "AB"], languages=["x", "y", "y"], nbest=2, overrides={"C": "cc"})
    alone = [one.transduce([word], nbest=2)[0] for one, word in ((x, "AB"), (y, "AB"))]
    assert [mixed[0], mixed[2]] == alone
    assert mixed[1][0].override
    for wrong in ("xy", ["x"]):
        with pytest.raises(ArgumentError, match=r"languages: got .* expected a list of 2, one for each source"):
            model.transduce(["AB", "C"], languages=wrong)
    with pytest.raises(ArgumentError, match="language: got 'z', expected one of x, y"):
        model.for_language("z")
    with pytest.raises(ArgumentError, match="language: got 'x', expected none: this model was trained without"):
        untrained().for_language("x")
    with pytest.raises(ArgumentError, match="pairs: got no languages, expected pairs with source_languages"):
        Transducer.fit(PAIRS, config=settings(languages=True))


def test_languages_count_by_default_where_pairs_have_two_of_them(tmp_path):
    pairs = spoken()
    small = {"encoder__kind": "cnn", "encoder__dim": 8, "encoder__layers": 1, "train__steps": 2}
    model = Transducer.fit(pairs, **small)
    assert model.config.languages is True
    assert "a vector for each of 2 languages" in model.config.train.recipe
    assert Transducer.fit(pairs, languages=False, **small).config.languages is False
    one = replace(pairs, source_languages=["x"] * len(pairs), target_languages=["x"] * len(pairs))
    assert Transducer.fit(one, **small).languages is None
    gaps = replace(pairs, source_languages=["x"] + [""] * (len(pairs) - 1), target_languages=None)
    assert Transducer.fit(gaps, **small).languages is None  # an empty cell names no language
    assert Transducer.fit(pairs, validation=list(pairs), **small).config.languages is False  # they do not say theirs
    model.save(tmp_path)
    assert Transducer.fit(pairs, start=nsed.load(tmp_path), train__steps=1).config.languages is True
    old = Transducer._untrained(pairs, settings(languages="auto"))
    old.save(tmp_path / "old")
    assert nsed.load(tmp_path / "old").fine_tuning_settings.languages is False


def test_a_mixture_of_transducers_of_two_languages_has_both(tmp_path):
    pairs = spoken()
    parts = [
        Transducer._untrained(pairs, settings(seed, languages=True, direction=one)) for seed, one in enumerate(WAYS)
    ]
    mixture = Mixture(parts)
    mixture.save(tmp_path)
    again = nsed.load(tmp_path)
    mean = np.mean([np.exp(one.score(pairs)) for one in parts], axis=0)
    np.testing.assert_allclose(again.score(pairs), np.log(mean), rtol=1e-5, atol=1e-5)
    one = again.for_language("y")
    one.save(tmp_path / "y")
    for spoken_y in (one, nsed.load(tmp_path / "y")):
        np.testing.assert_allclose(spoken_y.score(list(pairs))[-9:], again.score(pairs)[-9:], rtol=1e-5)
    with pytest.raises(ArgumentError, match="members: got other languages at place 1, expected those of the first"):
        Mixture([parts[0], untrained()])


@pytest.mark.slow
def test_a_language_with_ten_words_is_learned_better_together_with_one_of_five_hundred():
    words = list(dict.fromkeys(transduction_pairs(1500, seed=1)))
    like_x = [(source, target.replace("c", "k")) for source, target in words]
    test, few, many = like_x[:200], like_x[200:210], words[210:710]
    train = {"steps": 120, "batch_pairs": 32, "validate_every": 40, "warmup": 10, "learning_rate": 5e-3}
    small = settings(train={**train, "device": "cpu"}, encoder={**ENCODER, "kind": "cnn"})
    alone = Transducer.fit(few, validation=test[:40], config=small)
    both = in_languages({"y": few * 4, "x": many})
    joint = Transducer.fit(both, validation=in_languages({"y": test[:40]}), config=replace(small, languages=True))
    rates = [
        evaluate(NamedModel("one", model), pairs, name="y").to_dict()["wer"]
        for model, pairs in ((alone, Pairs.of(test)), (joint, in_languages({"y": test})))
    ]
    assert rates[1] < rates[0] - 0.1
    served = ServedModel("both", joint).by_language()
    assert [one.name for one in served] == ["both-x", "both-y"]
    texts = [service.transduce(one, ["CAC"], NO_OVERRIDES, scripts=True)[0].answers[0].target for one in served]
    assert texts == ["cac", "kak"]


def in_languages(parts):
    rows = [(*pair, language) for language, pairs in parts.items() for pair in pairs]
    sources, targets, languages = zip(*rows, strict=True)
    return Pairs(sources, targets, None, languages, languages)


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
@pytest.mark.parametrize("ranking", ["mean", "product"])
@pytest.mark.parametrize("directions", [("forward", "forward"), ("forward", "backward")])
def test_members_read_new_symbols_as_their_kin_also_those_that_another_member_knows(directions, ranking):
    pairs = [("AB", "ab"), ("ÁB", "ab"), ("C", "c")], [("AB", "ab"), ("AC", "ac")]
    parts = [
        untrained(seed, some, direction=way) for seed, (some, way) in enumerate(zip(pairs, directions, strict=True))
    ]
    mixture = Mixture(parts).ranked_by(ranking)
    for word in ("ÁB", "ÂB", "bÁ"):  # the second member knows no Á, nobody Â and b
        mean = np.mean([np.exp(one.score([(word, "ab")])) for one in parts], axis=0)
        np.testing.assert_allclose(mixture.score([(word, "ab")]), np.log(mean), rtol=1e-5)
        (best,) = mixture.transduce([word], nbest=3)
        scores = mixture.score([(word, one.text) for one in best])
        np.testing.assert_allclose(scores, [one.log_prob for one in best], rtol=1e-4, atol=1e-4)
    assert mixture.transduce(["ÂB"]) == mixture.transduce(["AB"])
    assert mixture.align("ÂB", "ab").source == ("Â", "B")
