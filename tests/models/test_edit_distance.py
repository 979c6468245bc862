"""EM, scores and scripts of the learnable edit distance, against brute force where that is possible."""

import itertools
import math
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import nsed
from nsed.capabilities import Capability, can
from nsed.config import from_mapping, read_yaml
from nsed.datasets import read_word_list
from nsed.datasets.protocols import same_source_cognates
from nsed.datasets.rule_language import matching_pairs, transduction_pairs
from nsed.errors import ArgumentError, ModelFileError, NotExplainableError, UndecidedError, UnknownSymbolWarning
from nsed.evaluate import matching_score
from nsed.lattice import Operation
from nsed.lattice.reference import all_paths
from nsed.models.edit_distance import EditDistanceConfig, LearnableEditDistance
from nsed.networks.operation_table import OperationTable, expect
from nsed.progress import ignore
from nsed.text import EncodedPairs, EncodedStrings, SymbolSplitter, Tokenizers, Vocabulary

CONFIGS = Path(__file__).parents[2] / "configs"
LETTERS = Vocabulary.of("ab"), Vocabulary.of("xyz")


def random_table(seed):
    generator = torch.Generator().manual_seed(seed)
    even = OperationTable.uniform(*LETTERS, unknown=False)
    return OperationTable(
        *(part * torch.rand(part.shape, generator=generator, dtype=part.dtype) for part in vars(even).values())
    ).normalised()


def batches_of(pairs, batch_cells=64):
    encoded = (
        EncodedStrings(vocabulary.encode(SymbolSplitter().split(pair[side])) for pair in pairs)
        for side, vocabulary in enumerate(LETTERS)
    )
    return EncodedPairs(*encoded).batches(batch_cells=batch_cells, max_cells=1000)


def random_pairs(count, seed, longest=3):
    chosen = random.Random(seed)

    def text(alphabet):
        return "".join(chosen.choices(alphabet, k=chosen.randint(0, longest)))

    return [(text("ab"), text("xyz")) for _ in range(count)]


def brute_force(table, source, target):
    """Every derivation of a pair with its probability, straight from the table."""
    s, t = LETTERS[0].encode(source), LETTERS[1].encode(target)
    for path in all_paths(len(s), len(t)):
        used = [entry_of(step, s, t) for step in path]
        yield used, math.prod(float(getattr(table, name)[number]) for name, number in used) * float(table.end)


def entry_of(step, s, t):
    if step.operation is Operation.DELETE:
        return "delete", s[step.i - 1]
    if step.operation is Operation.INSERT:
        return "insert", t[step.j - 1]
    return "substitute", (s[step.i - 1], t[step.j - 1])


def test_expected_counts_and_likelihood_equal_brute_force():
    table, pairs = random_table(1), random_pairs(12, seed=2)
    expectation = expect(table, batches_of(pairs), backend="torch", on_batch=ignore)
    counts, log_likelihood = OperationTable.zeros(*LETTERS), 0.0
    for source, target in pairs:
        derivations = list(brute_force(table, source, target))
        total = sum(probability for _, probability in derivations)
        log_likelihood += math.log(total)
        counts.end.add_(1)
        for used, probability in derivations:
            for name, number in used:
                getattr(counts, name)[number] += probability / total
    assert expectation.log_likelihood == pytest.approx(log_likelihood, rel=1e-12)
    for ours, expected in zip(vars(expectation.counts).values(), vars(counts).values(), strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-12)


def test_the_table_is_a_distribution_over_pairs_of_strings():
    """A derivation of k operations makes strings of at most k symbols: short pairs cover all short derivations."""
    table, longest = random_table(5), 5
    table = OperationTable(table.delete, table.insert, table.substitute, table.total() * 2).normalised()
    pairs = list(itertools.product(all_strings("ab", longest), all_strings("xyz", longest)))
    config = EditDistanceConfig(smoothing=0.0)
    model = LearnableEditDistance(
        table, Tokenizers.of(config, dict(zip(("source", "target"), LETTERS, strict=True))), config
    )
    mass, stop = np.exp(model.score(pairs)).sum(), float(table.end)
    assert 1 - (1 - stop) ** (longest + 1) <= mass <= 1 + 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_em_never_lowers_the_likelihood(seed):
    pairs = random_pairs(60, seed, longest=6)
    model = LearnableEditDistance.fit(pairs, config=EditDistanceConfig(iterations=60, tolerance=0.0))
    assert len(model.history) == 60 or model.converged
    rises = np.diff(model.history)
    assert (rises >= -1e-12).all()
    assert rises[0] > 0


@pytest.mark.slow
def test_em_never_lowers_the_likelihood_of_pronunciations(data_folder):
    pairs = list(nsed.read_pairs(data_folder / "g2p-cmudict" / "valid.dict"))
    model = LearnableEditDistance.fit(pairs, config=EditDistanceConfig(target_symbols="tokens", tolerance=0.0))
    assert (np.diff(model.history) >= 0).all()


EXPECTED_OF_ENGLISH = {
    *[
        "B→B",
        "C→K",
        "C→S",
        "D→D",
        "F→F",
        "G→G",
        "H→HH",
        "J→JH",
        "K→K",
        "L→L",
        "M→M",
        "N→N",
        "P→P",
        "R→R",
        "R→ER",
        "S→S",
        "S→Z",
        "T→T",
        "V→V",
        "W→W",
        "Y→IY",
        "Z→Z",
        "G→JH",
    ],
    *[
        "A→AH",
        "A→AE",
        "A→AA",
        "A→EY",
        "E→EH",
        "E→AH",
        "E→IY",
        "I→IH",
        "I→IY",
        "I→AY",
        "O→AA",
        "O→OW",
        "O→AH",
        "O→AO",
        "U→AH",
        "U→UW",
    ],
}


@pytest.mark.slow
def test_the_strongest_substitutions_of_english_are_those_a_linguist_expects(data_folder):
    pairs = list(nsed.read_pairs(data_folder / "g2p-cmudict" / "train.dict"))[::5]
    model = LearnableEditDistance.fit(pairs, config=EditDistanceConfig(target_symbols="tokens"))
    strongest = [one for one in model.operations() if one.kind == "substitute"][:20]
    assert {f"{one.source}→{one.target}" for one in strongest} <= EXPECTED_OF_ENGLISH
    assert str(model.align("FLAGSHIPS", "F L AE G SH IH P S")) == "F L A→AE G S→SH -H I→IH P S"


@pytest.fixture(scope="module")
def model():
    return LearnableEditDistance.fit(transduction_pairs(400, seed=1))


def test_learned_and_smoothed_tables_sum_to_one(model):
    end = float(model.table.end)
    for operations in (model.operations(), model.costs()):
        assert sum(one.probability for one in operations) + end == pytest.approx(1.0, abs=1e-12)
    known = (len(model.tokenizers.source.vocabulary) - 3, len(model.tokenizers.target.vocabulary) - 3)
    assert len(model.costs()) == sum(known) + math.prod(known)


def test_operations_are_sorted_by_probability(model):
    probabilities = [one.probability for one in model.operations()]
    assert probabilities == sorted(probabilities, reverse=True)
    assert [(one.source, one.target) for one in model.operations()[:3]] == [("C", "c"), ("B", "b"), ("A", "a")]


def test_exported_costs_make_a_weighted_levenshtein_distance_equal_to_the_best_script(model):
    costs = {(one.source, one.target): one.cost for one in model.costs()}
    for source, target in transduction_pairs(50, seed=9):
        distance = weighted_levenshtein(source, target, costs)
        assert distance == pytest.approx(-model.align(source, target).log_weight, rel=1e-9)


def weighted_levenshtein(source, target, costs):
    row = [0.0]
    for t in target:
        row.append(row[-1] + costs["", t])
    for s in source:
        above, row = row, [row[0] + costs[s, ""]]
        for j, t in enumerate(target, start=1):
            row.append(min(above[j] + costs[s, ""], row[-1] + costs["", t], above[j - 1] + costs[s, t]))
    return row[-1]


def all_strings(alphabet, longest):
    return ["".join(text) for length in range(longest + 1) for text in itertools.product(alphabet, repeat=length)]


def test_relative_scores_are_above_what_both_strings_have_with_any_partner():
    """Both margins by summing over all partners up to a length beyond which next to nothing is."""
    table = random_table(5)
    table = OperationTable(table.delete, table.insert, table.substitute, table.total() * 20).normalised()
    config = EditDistanceConfig(smoothing=0.0, relative=True)
    tokenizers = Tokenizers.of(config, dict(zip(("source", "target"), LETTERS, strict=True)))
    relative = LearnableEditDistance(table, tokenizers, config)
    joint = LearnableEditDistance(table, tokenizers, EditDistanceConfig(smoothing=0.0))
    pairs = [("", ""), ("a", ""), ("", "x"), ("ab", "zxy"), ("bab", "y")]
    for (source, target), score in zip(pairs, relative.score(pairs), strict=True):
        of_source = np.exp(joint.score([(source, other) for other in all_strings("xyz", 6)])).sum()
        of_target = np.exp(joint.score([(other, target) for other in all_strings("ab", 6)])).sum()
        expected = joint.score([(source, target)])[0] - math.log(of_source) - math.log(of_target)
        assert score == pytest.approx(expected, abs=1e-4)
    assert relative.explain("ab", "zxy").log_prob == pytest.approx(joint.score([("ab", "zxy")])[0])


def test_batches_change_no_score(model):
    pairs = [*transduction_pairs(60, seed=4), ("", ""), ("A", ""), ("", "a")]
    one_by_one = [model.score([pair])[0] for pair in pairs]
    np.testing.assert_allclose(model.score(pairs), one_by_one, rtol=1e-12)
    small = LearnableEditDistance(model.table, model.tokenizers, EditDistanceConfig(batch_cells=50))
    np.testing.assert_allclose(small.score(pairs), one_by_one, rtol=1e-12)
    relative = LearnableEditDistance(model.table, model.tokenizers, EditDistanceConfig(relative=True))
    np.testing.assert_allclose(relative.score(pairs), [relative.score([pair])[0] for pair in pairs], rtol=1e-12)
    assert model.align_all(pairs) == [model.align(*pair) for pair in pairs]


def test_score_is_the_sum_over_scripts_and_the_script_its_largest_part(model):
    explanation = model.explain("BAAC", "ac")
    assert explanation.log_prob == pytest.approx(model.score([("BAAC", "ac")])[0], rel=1e-12)
    assert explanation.script == model.align("BAAC", "ac")
    end = math.log(float(model.table.end))
    assert explanation.script.log_weight + end <= explanation.log_prob + 1e-12
    share = math.exp(explanation.script.log_weight + end - explanation.log_prob)
    assert explanation.script.share == pytest.approx(share, rel=1e-9)
    for edit in explanation.script:
        table = getattr(explanation, edit.kind)
        cell = edit.i + (edit.kind != "insert"), edit.j + (edit.kind != "delete")
        assert table[cell] == pytest.approx(edit.probability, abs=1e-12)


def test_empty_strings_have_scripts_too(model):
    assert model.align("", "").edits == ()
    assert str(model.align("AB", "")) == "-A -B"
    assert str(model.align("", "ab")) == "+a +b"
    assert model.explain("", "").log_prob == pytest.approx(math.log(float(model.table.end)))
    assert model.score([]).shape == (0,)


def test_unknown_symbols_are_listed_in_one_warning_and_score_low(model):
    with pytest.warns(
        UnknownSymbolWarning, match="2 source symbols are unknown to the model, which reads <unk>: X Ž"
    ) as caught:
        scores = model.score([("AX", "a"), ("ŽX", "b"), ("A", "a")])
    assert len(caught) == 1
    assert np.isfinite(scores).all()
    assert scores[2] > scores[0] > scores[1]
    with pytest.warns(UnknownSymbolWarning):
        assert str(model.align("AŽ", "a")) == "A→a -Ž"


def test_only_positive_pairs_are_learned_from():
    pairs = [("a", "x"), ("b", "y"), ("a", "q")]
    labelled = LearnableEditDistance.fit(pairs, [True, True, False])
    assert labelled.operations() == LearnableEditDistance.fit(pairs[:2]).operations()
    with pytest.raises(ArgumentError, match="pairs: got no positive pair, expected at least one"):
        LearnableEditDistance.fit(pairs, [False] * 3)


def test_saved_model_is_the_same_model(model, tmp_path):
    model.save(tmp_path)
    for again in (nsed.load(tmp_path), LearnableEditDistance.load(tmp_path)):
        pairs = transduction_pairs(30, seed=7)
        assert (again.score(pairs) == model.score(pairs)).all()
        assert again.operations() == model.operations()
        assert again.config == model.config
        assert again.history == model.history


def test_another_kind_of_model_is_refused(tmp_path, model):
    model.save(tmp_path)
    path = tmp_path / "model.json"
    path.write_text(path.read_text().replace('"edit-distance"', '"matcher"'))
    with pytest.raises(ModelFileError, match="kind 'matcher', expected 'edit-distance'"):
        LearnableEditDistance.load(tmp_path)


def test_continued_training_equals_uninterrupted_training_bit_for_bit():
    pairs = transduction_pairs(300, seed=2)
    settings = EditDistanceConfig(iterations=9, tolerance=0.0)
    whole = LearnableEditDistance.fit(pairs, config=settings)
    half = LearnableEditDistance.fit(pairs, config=EditDistanceConfig(iterations=4, tolerance=0.0))
    continued = LearnableEditDistance.fit(pairs, config=settings, start=half)
    assert continued.history == whole.history
    assert torch.equal(continued.table.substitute, whole.table.substitute)
    finished = LearnableEditDistance.fit(pairs, config=settings, start=whole)
    assert finished.history == whole.history


def test_continuing_keeps_the_settings():
    pairs = [("A B", "a b"), ("B", "b")]
    settings = EditDistanceConfig("tokens", "graphemes", unicode_form="NFC", iterations=1, smoothing=0.3)
    begun = LearnableEditDistance.fit(pairs, config=settings)
    assert LearnableEditDistance.fit(pairs, start=begun).config == begun.config == replace(settings, relative=False)


def test_continuing_with_other_symbols_or_pairs_is_refused(model):
    pairs = transduction_pairs(400, seed=1)
    with pytest.raises(
        ArgumentError, match="source_symbols: got 'tokens', expected 'graphemes', as the training began"
    ):
        LearnableEditDistance.fit(pairs, config=EditDistanceConfig(source_symbols="tokens"), start=model)
    with pytest.raises(ArgumentError, match="pairs: got other pairs, expected the pairs with which the training began"):
        LearnableEditDistance.fit([("A", "a")], start=model)


RARE = [("ab", "xy")] * 5 + [("qa", "wx")]
FREQUENT = EditDistanceConfig(min_count=2, smoothing=0.0)


@pytest.fixture
def of_frequent_symbols():
    with pytest.warns(UnknownSymbolWarning, match=r"1 (source|target) symbol is unknown .*: [qw]$"):
        return LearnableEditDistance.fit(RARE, config=FREQUENT)


def test_rare_symbols_are_learned_as_one(of_frequent_symbols):
    model = of_frequent_symbols
    assert [vocabulary.symbols for vocabulary in model.tokenizers.vocabularies.values()] == [("a", "b"), ("x", "y")]
    assert "<unk>" in {operation.source for operation in model.operations()}
    with pytest.warns(UnknownSymbolWarning, match="unknown to the model"):
        known, never_seen, elsewhere = model.score([("qa", "wx"), ("Qa", "Wx"), ("aQ", "xy")])
    assert known == never_seen > -math.inf
    assert elsewhere < known - 100  # <unk> for y, which no pair has


def test_some_symbols_must_remain():
    with pytest.raises(ArgumentError, match="min_count: got 7, expected less: no source symbol is that frequent"):
        LearnableEditDistance.fit(RARE, config=EditDistanceConfig(min_count=7))
    assert len(LearnableEditDistance.fit([("", "a"), ("", "a")], config=FREQUENT).tokenizers.source.vocabulary) == 4


def test_a_model_that_knows_unknown_symbols_starts_with_any_pairs(of_frequent_symbols):
    with pytest.warns(UnknownSymbolWarning, match="unknown to the model"):
        more = LearnableEditDistance.fit([("zb", "yy")], start=of_frequent_symbols.restarted([("zb", "yy")]))
    assert math.isfinite(more.history[-1])
    plain = LearnableEditDistance.fit(RARE)
    with pytest.raises(ArgumentError, match="source symbols of the pairs: got z, expected those of the model to start"):
        plain.restarted([("zb", "yy")])


@pytest.mark.slow
def test_the_table_of_the_paper_has_as_many_cells(data_folder):
    """Paper: Table 1, 0.2 M parameters."""
    config = from_mapping(EditDistanceConfig, read_yaml(CONFIGS / "cognates-ie" / "edit-distance.yaml"))
    pairs = same_source_cognates(read_word_list(data_folder / "cognates" / "indo-european.tsv")).training.positives()
    table = LearnableEditDistance._untrained(pairs, config).table
    assert sum(part.numel() for part in vars(table).values()) == pytest.approx(0.2e6, rel=0.15)


@pytest.mark.parametrize("pairs", [[("", "")], [("", "a"), ("", "b")], [("a", "")]])
def test_sides_that_are_all_empty_can_be_learned(pairs):
    model = LearnableEditDistance.fit(pairs)
    assert np.isfinite(model.score(pairs)).all()
    assert [len(script) for script in model.align_all(pairs)] == [len(s) + len(t) for s, t in pairs]


def test_vocabularies_that_no_table_can_hold_are_refused():
    words = [(f"s{n}", f"t{n}") for n in range(12_000)]
    tokens = EditDistanceConfig(source_symbols="tokens", target_symbols="tokens")
    with pytest.raises(
        ArgumentError, match=r"pairs: got 12,004 source and 12,004 target symbols, .* Did you mean graphemes"
    ):
        LearnableEditDistance.fit(words, config=tokens)


@pytest.mark.slow
def test_wrong_strings_are_named_by_every_verb():
    """In a process of its own: under pytest the signatures' types are checked before anything else."""
    code = """
import nsed
model = nsed.LearnableEditDistance.fit([("a", "a")])
for verb in (model.align, model.explain, lambda *pair: model.score([pair])):
    try:
        verb(None, "a")
    except nsed.NsedError as error:
        print(error)
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120).stdout
    assert shown == "pairs: got (None, 'a') at place 0, expected (source, target), two strings\n" * 3


@pytest.mark.parametrize("settings", [{}, {"relative": True}, {"smoothing": 0.0}, {"min_count": 2}], ids=str)
@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_scores_by_the_kernel_of_tables_are_those_of_the_lattices(settings):
    chosen = random.Random(0)
    pairs = [
        tuple("".join(chosen.choices(side, k=chosen.randint(0, 7))) for side in ("abcd", "xyzé")) for _ in range(99)
    ]
    pairs += [("", ""), ("q", "x"), ("a" * 90, "x" * 80)]
    fast = LearnableEditDistance.fit(pairs[:70], iterations=4, **settings)
    plain = LearnableEditDistance(fast.table, fast.tokenizers, replace(fast.config, backend="torch"))
    np.testing.assert_allclose(fast.score(pairs), plain.score(pairs), rtol=1e-10)
    assert fast.scoring_kernel().kernel == "table_scores"
    assert plain.scoring_kernel()[:2] == ("lattice", "torch")


def test_reference_backend_learns_the_same():
    pairs = transduction_pairs(20, seed=3, longest=4)
    learned = [LearnableEditDistance.fit(pairs, config=EditDistanceConfig(backend=b)) for b in ("torch", "reference")]
    np.testing.assert_allclose(learned[0].history, learned[1].history, rtol=1e-10)


def test_rules_that_need_context_are_beyond_a_table(model):
    """The paper's argument: an initial B must go and others stay, but one table gives all deletions of B one price."""
    right, wrong = model.score([("BC", "c"), ("CB", "c")])
    assert right == pytest.approx(wrong, rel=1e-9)


def test_without_smoothing_unseen_operations_are_impossible():
    model = LearnableEditDistance.fit([("a", "x"), ("b", "y")], config=EditDistanceConfig(smoothing=0.0))
    with pytest.warns(UnknownSymbolWarning):
        assert model.score([("c", "y")])[0] == -math.inf
    with pytest.warns(UnknownSymbolWarning), pytest.raises(NotExplainableError, match="turn 'c' into 'y'"):
        model.align("c", "y")


LABELLED, TEST = matching_pairs(600, seed=1), matching_pairs(200, seed=2)


@pytest.mark.parametrize("given", ["held out", "validation"])
def test_an_edit_distance_trained_on_labelled_pairs_matches(given, tmp_path):
    """In Python and from its folder; with validation pairs it learns from all pairs, which need no labels then."""
    if given == "held out":
        model = LearnableEditDistance.fit(LABELLED, iterations=5)
    else:
        model = LearnableEditDistance.fit(LABELLED.positives(), validation=LABELLED, iterations=5)
    assert can(model, Capability.MATCH)
    assert model.config.relative is True
    labels, probability = np.asarray(TEST.labels), model.probability(TEST)
    assert matching_score(model.score(TEST), labels, model.threshold).f1 > 0.75
    assert probability[labels].mean() > probability[~labels].mean() + 0.1
    assert (model.match(TEST) == (probability >= model.threshold_probability)).mean() > 0.99
    model.save(tmp_path)
    again = nsed.load(tmp_path)
    assert again.criterion == model.criterion
    assert (again.match(TEST) == model.match(TEST)).all()


@pytest.mark.filterwarnings("ignore::nsed.UnknownSymbolWarning")
def test_impossible_validation_pairs_alone_do_not_stop_a_training_without_smoothing():
    validation = nsed.Pairs.of([("xx", "q"), ("zz", "q")], [True, False])
    model = nsed.LearnableEditDistance.fit([("gray", "grey"), ("say", "sey")], validation=validation, smoothing=0)
    assert np.asarray(model.probability([("gray", "grey"), ("zz", "q")])) == pytest.approx([0.5, 0.5])


def test_an_edit_distance_that_learned_from_no_labels_says_how_to_get_a_threshold():
    model = nsed.load(Path(__file__).parents[1] / "golden" / "models" / "edit-distance")
    assert not can(model, Capability.MATCH)
    assert not hasattr(model, "threshold")
    with pytest.raises(UndecidedError, match=r"no threshold .* train it on labelled pairs, or with labelled"):
        model.match([("A", "a")])
    with pytest.raises(ArgumentError, match="labels of the validation pairs: got no labels, expected pairs that match"):
        LearnableEditDistance.fit([("A", "a")], validation=[("A", "a")])


def test_a_training_on_labelled_pairs_continues_and_restarts_with_what_was_held_out():
    settings = EditDistanceConfig(iterations=4, tolerance=0.0)
    half = LearnableEditDistance.fit(LABELLED, config=replace(settings, iterations=2))
    whole, continued = (LearnableEditDistance.fit(LABELLED, config=settings, start=one) for one in (None, half))
    assert continued.criterion == whole.criterion != half.criterion
    restarted = LearnableEditDistance.fit(LABELLED, start=whole.restarted(LABELLED), iterations=1)
    assert can(restarted, Capability.MATCH)
    unlabelled = LABELLED.positives()
    assert LearnableEditDistance.fit(unlabelled, start=whole.restarted(unlabelled)).criterion == whole.criterion
