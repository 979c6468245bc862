"""Rules are the posteriors of all lattices, added up: nothing is lost, and context shows where it matters."""

from collections import Counter

import numpy as np
import pytest

import nsed
from nsed.config import from_mapping
from nsed.datasets import rule_language
from nsed.errors import ArgumentError, NotExplainableError
from nsed.explain.rule_statistics import KeyedSums, g_squared, summed
from nsed.explain.rule_table import compare
from nsed.explain.rules import rules
from nsed.explain.weight_rules import table_rules, weight_rules
from nsed.text import Pairs

UNEVEN = [("BAAC", "ac"), ("", "b"), ("C", ""), ("ABCABCABC", "abcabcabc"), ("BA", "a"), ("BZA", "za"), ("", "")]


def transducer(pairs, **encoder):
    given = {
        "encoder": {"dim": 32, "layers": 1, "dropout": 0.0, **encoder},
        "feature_dropout": 0.0,
        "train": {"steps": 120, "batch_pairs": 32, "warmup": 10, "validate_every": 30, "learning_rate": 1e-2},
    }
    return nsed.Transducer.fit(pairs, config=from_mapping(nsed.TransducerConfig, given))


@pytest.fixture(scope="module")
def pairs():
    return rule_language.transduction_pairs(1000)


@pytest.fixture(scope="module")
def cnn(pairs):
    return transducer(pairs, kind="cnn")


@pytest.fixture(scope="module")
def edit_distance(pairs):
    return nsed.LearnableEditDistance.fit(pairs)


@pytest.fixture(scope="module")
def table(cnn, pairs):
    return rules(cnn, pairs)


@pytest.mark.filterwarnings("ignore::nsed.UnknownSymbolWarning")
@pytest.mark.parametrize("name", ["cnn", "edit_distance"])
def test_every_symbol_is_used_once(name, request):
    table = rules(request.getfixturevalue(name), UNEVEN)
    for side, place in (("source", 0), ("target", 1)):
        expected = Counter("".join(pair[place] for pair in UNEVEN))
        used = Counter()
        for rule in table.rules:
            used[getattr(rule, side)] += rule.count
        del used[""]
        assert used == pytest.approx(expected, abs=1e-3)
    assert table.find("substitute", "Z", "z").count > 0  # a symbol that the model does not know keeps its name
    assert sum(rule.share for rule in table.rules) == pytest.approx(1)


def test_probabilities_are_those_of_a_source_symbol(table):
    for symbol in "ABC":
        total = sum(rule.probability for rule in table.rules if rule.source == symbol)
        assert total == pytest.approx(1, abs=1e-3)


@pytest.mark.filterwarnings("ignore::nsed.UnknownSymbolWarning")
def test_neither_batches_nor_padding_matter(cnn):
    together = rules(cnn, UNEVEN)
    alone = [rules(cnn, [pair]) for pair in UNEVEN if any(pair)]
    for rule in together.rules:
        counts = [one.by_name[rule.name].count for one in alone if rule.name in one.by_name]
        assert sum(counts) == pytest.approx(rule.count, abs=1e-4)
    backwards = rules(cnn, UNEVEN[::-1])
    assert {rule.name: rule.count for rule in backwards.rules} == pytest.approx(
        {rule.name: rule.count for rule in together.rules}, abs=1e-5
    )


def test_counts_and_contexts_are_those_of_a_loop_over_explanations(cnn, pairs):
    some = pairs.chosen(range(12))
    counts, after = Counter(), Counter()
    for source, target in some:
        explanation, framed = cnn.explain(source, target), f"^{source}$"
        for (i, _), probability in np.ndenumerate(explanation.delete):
            counts["delete", framed[i], ""] += probability
            after["delete", framed[i], "", framed[i - 1]] += probability
        for (i, j), probability in np.ndenumerate(explanation.insert):
            counts["insert", "", target[j - 1] if j else "^"] += probability
            after["insert", "", target[j - 1] if j else "^", framed[i]] += probability
        for (i, j), probability in np.ndenumerate(explanation.substitute):
            counts["substitute", framed[i], target[j - 1] if j else "^"] += probability
            after["substitute", framed[i], target[j - 1] if j else "^", framed[i - 1]] += probability
    found = rules(cnn, some)
    for rule in found.rules:
        assert rule.count == pytest.approx(counts[rule.name], abs=1e-4)
        for context in rule.contexts:
            if context.side == "after":
                assert context.count == pytest.approx(after[(*rule.name, context.symbol)], abs=1e-4)
    assert sum(rule.count for rule in found.rules) == pytest.approx(sum(counts.values()), abs=1e-3)


def test_the_rules_of_the_rule_language_are_found(table):
    initial, run = table.find("delete", "B"), table.find("delete", "A")
    assert initial.told() == "at the beginning"
    assert initial.telling[0].probability > 0.95
    assert initial.telling[0].ratio > 5
    assert run.told() in ("after A", "before A")
    assert table.find("substitute", "C", "c").telling == ()
    assert {rule.name[:2] for rule in table.ranked("surprise", top=2)} == {("delete", "A"), ("delete", "B")}
    assert str(table.ranked("support", top=1)[0]) == "C→c"


def test_examples_are_different_words_with_their_places(table):
    for rule in table.ranked(top=5):
        assert len({example.source for example in rule.examples}) == len(rule.examples) == 4
        for example in rule.examples:
            assert example.source[example.i] == rule.source
            assert not rule.target or example.target[example.j] == rule.target
            assert example.probability > 0.9


def test_the_same_word_is_no_second_example(cnn):
    (rule,) = [rule for rule in rules(cnn, [("C", "c")] * 5).rules if rule.name == ("substitute", "C", "c")]
    assert len(rule.examples) == 1
    assert rule.count == pytest.approx(5, abs=1e-2)


def test_kept_symbols_have_a_name_of_their_own():
    table = rules(nsed.LearnableEditDistance.fit([("gray", "grey"), ("say", "sey")]), [("gray", "grey")])
    assert table.find("keep", "g", "g").probability == pytest.approx(1, abs=1e-3)
    assert str(table.find("keep", "g", "g")) == "g"


def test_without_contexts_counts_are_the_same(cnn, pairs, table):
    bare = rules(cnn, pairs, contexts=False)
    assert {rule.name: rule.count for rule in bare.rules} == pytest.approx(
        {rule.name: rule.count for rule in table.rules}, abs=1e-6
    )
    assert {rule.name: rule.opportunities for rule in bare.rules} == {
        rule.name: rule.opportunities for rule in table.rules
    }
    with pytest.raises(ArgumentError, match="by: got surprise, expected support"):
        bare.ranked("surprise")


def test_only_pairs_that_match_count(cnn):
    table = rules(cnn, Pairs(["C", "A"], ["c", "c"], [True, False]))
    assert table.pairs == 1
    assert table.find("substitute", "A", "c") is None
    with pytest.raises(ArgumentError, match="pairs: got no pair, or none that matches"):
        rules(cnn, Pairs(["C"], ["c"], [False]))


@pytest.mark.filterwarnings("ignore::nsed.UnknownSymbolWarning")
def test_pairs_that_cannot_be_derived_are_left_out():
    config = nsed.EditDistanceConfig(smoothing=0.0)
    model = nsed.LearnableEditDistance.fit([("ab", "ab"), ("b", "b")], config=config)
    table = rules(model, [("a", "a"), ("a", "z")])
    assert (table.pairs, table.underivable) == (1, 1)
    assert table.find("keep", "a", "a").opportunities == 1


def test_progress_tells_of_every_pair(cnn, pairs):
    done = []
    rules(cnn, pairs, on_batch=done.append)
    assert sum(done) == len(pairs)


def test_the_table_of_an_edit_distance(edit_distance):
    table = table_rules(edit_distance.table, edit_distance.tokenizers)
    for rule in table.rules:
        (operation,) = [
            one for one in edit_distance.operations() if (one.source, one.target) == (rule.source, rule.target)
        ]
        assert rule.share == pytest.approx(operation.probability / (1 - edit_distance.table.end.item()))
    assert sum(rule.probability for rule in table.rules if rule.source == "A") == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nsed.UnknownSymbolWarning")
def test_rules_from_weights_are_those_of_every_string(pairs):
    """A unigram without positions deletes or substitutes by the next source and the last written symbol alone."""
    model = transducer(pairs, kind="unigram", positions=False)
    table = weight_rules(model.network, model.tokenizers)
    expected = np.mean([becomes(model, "A", last) for last in ("", *"abc")], axis=0)
    found = [table.find("delete", "A"), *(table.find("substitute", "A", written) for written in "abc")]
    assert [rule.probability for rule in found] == pytest.approx(expected[:4], abs=1e-5)


def becomes(model, source, last):
    """How probable it is that a symbol is deleted, or becomes a, b, c or something unknown, from lattices."""
    probabilities = []
    for written in "abc?":
        ((_, lattice),) = model.lattices(Pairs.of([(source, last + written)]))
        if not probabilities:
            probabilities.append(lattice.arcs.delete[0, 1, len(last)].exp().item())
        probabilities.append(lattice.arcs.substitute[0, 1, len(last) + 1].exp().item())
    return np.array(probabilities) / sum(probabilities)


def test_rules_from_a_matchers_weights(pairs):
    labelled = rule_language.matching_pairs(400)
    small = {"encoder": {"kind": "unigram", "dim": 16}, "train": {"steps": 30, "batch_pairs": 32, "warmup": 5}}
    model = nsed.Matcher.fit(labelled, labelled.labels, config=from_mapping(nsed.MatcherConfig, small))
    table = weight_rules(model.network, model.tokenizers)
    assert all(0 < rule.probability < 1 for rule in table.rules)
    assert sum(rule.share for rule in table.rules) == pytest.approx(1)
    counted = rules(model, labelled)
    assert counted.pairs == sum(labelled.labels)
    assert counted.find("substitute", "C", "c").count > 0


def test_rules_from_weights_need_an_encoder_without_context(cnn):
    with pytest.raises(NotExplainableError, match="a network that sees context has no rules of its own"):
        weight_rules(cnn.network, cnn.tokenizers)


def test_comparison_finds_what_differs(cnn, pairs, table):
    without_runs = Pairs.of([(s, t) for s, t in pairs if "AA" not in s])
    (first, *others) = compare(table, rules(cnn, without_runs), min_count=1.0)
    assert first.rule.name == ("delete", "A", "")
    assert first.probabilities[0] > 0.1 > first.probabilities[1]
    assert first.p_value < 1e-6
    assert first.difference == first.probabilities[1] - first.probabilities[0]
    assert all(one.g2 <= first.g2 for one in others)
    assert max(one.g2 for one in compare(table, table)) == pytest.approx(0, abs=1e-6)


def test_comparison_with_symbols_that_only_one_side_has(edit_distance):
    ours, other = (
        rules(edit_distance, [("AB", "ab")]),
        rules(nsed.LearnableEditDistance.fit([("x", "y")]), [("x", "y")]),
    )
    by_name = {one.rule.name: one for one in compare(ours, other)}
    assert by_name["substitute", "x", "y"].opportunities == (0, 1)
    assert by_name["substitute", "x", "y"].g2 == 0


def test_g_squared_is_that_of_the_textbook():
    """Twice the sum of observed * log(observed / expected) over the four cells."""
    observed = np.array([[30.0, 70.0], [10.0, 190.0]])
    expected = observed.sum(1, keepdims=True) * observed.sum(0) / observed.sum()
    textbook = 2 * (observed * np.log(observed / expected)).sum()
    found = g_squared(*(np.array([number]) for number in (30.0, 100.0, 10.0, 200.0)))
    assert found == pytest.approx([textbook])


def test_sums_are_merged_when_many_wait(monkeypatch):
    monkeypatch.setattr("nsed.explain.rule_statistics.MOST_PENDING", 5)
    random, sums = np.random.default_rng(0), KeyedSums()
    keys, weights = random.integers(20, size=(30, 7)), random.random((30, 7))
    for some in zip(keys, weights, strict=True):
        sums.add(*some)
    for ours, expected in zip(sums.total(), summed(keys.ravel(), weights.ravel()), strict=True):
        assert ours == pytest.approx(expected)
    assert sums.total().of(np.array([99])).tolist() == [0.0]
