"""Kinship of symbols, and what is expected of them before any pair, against plain definitions."""

import math

import pytest
import torch

from nsed.networks.kinship import (
    BACK_OFF,
    IDENTICAL,
    KIN,
    OTHER,
    SHARES,
    STEEPNESS,
    UNLIKE,
    SymbolFeatures,
    backed_off,
    kinship_of,
    letter_features,
    letter_groups,
    letters_of,
    likeness_of,
    prior_table,
    pseudo_counts,
    shares_of,
    symbol_groups,
)
from nsed.networks.operation_table import OperationTable
from nsed.text import Pairs, Tokenizers, Vocabulary
from nsed.text.batch import EncodedPairs
from nsed.text.symbols import StringConfig
from nsed.types import UNKNOWN

PAIRS = Pairs(["aáb", "bax1", "aab", ""], ["aбe", "бay", "eaaá", "y"])
TOKENIZERS = Tokenizers.learned(StringConfig(), PAIRS)
ENCODED = EncodedPairs(*TOKENIZERS.encode(PAIRS))
SOURCE, TARGET = (vocabulary.names for vocabulary in TOKENIZERS.vocabularies.values())
CELLS = [(s, t) for s in range(len(SOURCE)) for t in range(len(TARGET))]


def random_table(seed=0):
    """A distribution over the operations on symbols and `<unk>`."""
    generator = torch.Generator().manual_seed(seed)
    sizes = (len(SOURCE),), (len(TARGET),), (len(SOURCE), len(TARGET)), ()
    parts = [torch.rand(size, generator=generator, dtype=torch.float64) for size in sizes]
    special = [number for number in range(4) if number != UNKNOWN]
    for part in (parts[0], parts[1], parts[2], parts[2].T):
        part[special] = 0
    return OperationTable(*parts).normalised()


@pytest.mark.parametrize(
    ("symbol", "letters"),
    [
        ("b", "B"),
        ("B", "B"),
        ("б", "B"),  # be
        ("м", "M"),  # em
        ("й", "I"),  # short i
        ("é", "E"),
        ("م", "M"),  # meem
        ("ی", "Y"),  # Farsi yeh
        ("ς", "S"),  # final sigma
        ("ɔ", "O"),  # open o
        ("ø", "O"),  # o with stroke
        ("ə", "E"),  # schwa
        ("ŋ", "N"),
        ("th", "HT"),
        ("1", ""),
        ("-", ""),
        ("", ""),
        ("漢", ""),
        ("ξ", "X"),  # xi: of two letters, as em, but no vowel comes first
        ("\x00", ""),  # has no name
    ],
)
def test_a_symbol_has_the_latin_letters_that_its_characters_are_named_after(symbol, letters):
    assert "".join(sorted(letters_of(symbol))) == letters


def test_symbols_are_identical_or_akin_by_their_letters_or_neither():
    found = kinship_of(TOKENIZERS)
    for s, t in CELLS:
        one, other = SOURCE[s], TARGET[t]
        special = min(s, t) < 4
        akin = (
            OTHER if special else IDENTICAL if one == other else KIN if letters_of(one) & letters_of(other) else OTHER
        )
        assert found[s, t] == akin, (one, other)
    assert {OTHER, KIN, IDENTICAL} == set(found.flatten().tolist())


def test_strangers_have_nothing_identical():
    strangers = Tokenizers.learned(StringConfig(), Pairs(["ab"], ["cд"]))
    assert not kinship_of(strangers).any()


def test_vowels_and_consonants_are_unlike():
    found = likeness_of(TOKENIZERS)
    vowels, consonants = set("aáey"), set("bбx")
    for s, t in CELLS:
        kinds = [(symbol in vowels) - (symbol in consonants) for symbol in (SOURCE[s], TARGET[t])]
        assert float(found[s, t]) == pytest.approx(UNLIKE if kinds[0] * kinds[1] < 0 else 1.0)


def test_the_prior_table_is_a_distribution_with_the_shares_asked_for():
    kinship = kinship_of(TOKENIZERS)
    for shares in (SHARES, (0.4, 0.3, 0.1, 0.2)):
        prior = prior_table(ENCODED, TOKENIZERS, kinship, shares)
        prior.check_probabilities()
        assert shares_of(prior, kinship) == pytest.approx(shares)
        assert float(prior.delete.sum()) == pytest.approx(float(prior.insert.sum()))
        ends = float(prior.end) / (1 - float(prior.end))  # an end for as many operations as half the symbols of a pair
        assert ends == pytest.approx(1 / (21 / 4 / 2))
        special = [0, 2, 3]
        assert not prior.delete[special].any()
        assert not prior.insert[special].any()
        assert not prior.substitute[special].any()
        assert not prior.substitute[:, special].any()
        assert float(prior.delete[UNKNOWN]) > 0


def test_the_prior_goes_by_frequency_and_by_likeness():
    kinship = kinship_of(TOKENIZERS)
    prior, numbers = prior_table(ENCODED, TOKENIZERS, kinship), {symbol: n for n, symbol in enumerate(SOURCE)}
    others = {symbol: n for n, symbol in enumerate(TARGET)}
    a, b, x = (numbers[symbol] for symbol in "abx")
    assert float(prior.delete[a] / prior.delete[x]) == pytest.approx((4 + 1) / (1 + 1))
    cells = prior.substitute
    assert float(cells[a, others["y"]] / cells[x, others["y"]]) == pytest.approx(5 / 2 / UNLIKE)
    assert float(cells[b, others["б"]] / cells[a, others["á"]]) == pytest.approx((3 + 1) * (2 + 1) / (5 * 2))
    assert float(cells[a, others["a"]] / cells[numbers["á"], others["á"]]) == pytest.approx(
        math.sqrt(5 * (4 + 1) / (2 * 2))
    )


def test_shares_are_those_of_the_classes_of_operations():
    table, kinship = random_table(), kinship_of(TOKENIZERS)
    found = [sum(float(table.substitute[cell]) for cell in CELLS if kinship[cell] == kind) for kind in range(3)]
    expected = [*found, float(table.delete.sum() + table.insert.sum())]
    assert shares_of(table, kinship) == pytest.approx([share / sum(expected) for share in expected])


def test_symbols_with_one_first_letter_are_a_group_on_both_sides():
    source, target = letter_groups(TOKENIZERS)
    together = (source @ target.T).bool()
    for s, t in CELLS:
        same = SOURCE[s].translate(str.maketrans("á", "a")) == TARGET[t].translate(str.maketrans("á", "a"))
        assert bool(together[s, t]) == (same and min(s, t) >= 4)
    for groups in (source, target):
        assert groups.sum(1).tolist() == [0] * 4 + [1] * (len(groups) - 4)


def test_features_of_symbols_are_their_characters():
    source, target = letter_features(TOKENIZERS)
    same, marked = source @ target.T, SOURCE.index("á")
    assert float(same[SOURCE.index("a"), TARGET.index("a")]) == pytest.approx(1)
    assert float(same[marked, TARGET.index("á")]) == pytest.approx(1)
    assert float(same[marked, TARGET.index("a")]) == pytest.approx(math.sqrt(0.5))
    assert float(same[SOURCE.index("b"), TARGET.index("б")]) == 0
    for features in (source, target):
        assert features.norm(dim=1).tolist() == pytest.approx([0] * 4 + [1] * (len(features) - 4))


def test_a_backed_off_prior_has_of_letters_what_the_table_has_and_of_their_symbols_what_the_prior_has():
    prior, table = prior_table(ENCODED, TOKENIZERS, kinship_of(TOKENIZERS)), random_table()
    found = backed_off(prior, table, TOKENIZERS)
    source, target = (groups.double() for groups in letter_groups(TOKENIZERS))
    scale = float((1 - prior.end) / (1 - table.end))

    def mixed(own, known):
        return (1 - BACK_OFF) * own + BACK_OFF * scale * known

    torch.testing.assert_close(found.end, prior.end)
    torch.testing.assert_close(found.delete @ source, mixed(prior.delete @ source, table.delete @ source))
    torch.testing.assert_close(found.insert @ target, mixed(prior.insert @ target, table.insert @ target))
    letters = [source.T @ part @ target for part in (found.substitute, prior.substitute, table.substitute)]
    torch.testing.assert_close(letters[0], mixed(letters[1], letters[2]))
    margins = prior.delete + prior.substitute.sum(1)
    short, long = SOURCE.index("a"), SOURCE.index("á")
    added = found.delete - (1 - BACK_OFF) * prior.delete
    assert float(added[short] / added[long]) == pytest.approx(float(margins[short] / margins[long]))
    assert float(found.delete[UNKNOWN]) == pytest.approx(
        float(prior.delete[UNKNOWN]) * (1 - BACK_OFF + BACK_OFF * scale)
    )
    row = found.substitute[UNKNOWN] / prior.substitute[UNKNOWN].clamp(min=1e-300)
    assert row[prior.substitute[UNKNOWN] > 0].tolist() == pytest.approx([1 - BACK_OFF + BACK_OFF * scale] * 6)


TABLE = SymbolFeatures.of({"a": [0, 3], "e": [0, 1], "b": [-5, 1], "б": [-5, 1], "y": [-2.5, 3]})


def test_features_are_scaled_to_their_ranges_and_their_differences_add_up():
    assert TABLE.values.tolist() == [[1, 1], [1, 0], [0, 0], [0, 0], [0.5, 1]]
    found = TABLE.distances(["a", "b", "x"], ["a", "e", "б", "y", "1"])
    assert found.tolist() == [[0, 1, 2, 0.5, math.inf], [2, 1, 0, 1.5, math.inf], [math.inf] * 5]


def test_the_largest_numbers_have_a_range_too_and_what_is_the_same_for_all_is_left_out():
    assert SymbolFeatures.of({"a": [1e308, 7], "b": [-1e308, 7]}).values.tolist() == [[1], [0]]


def test_what_is_not_in_the_table_is_looked_up_without_stress_and_without_its_last_marks():
    table = SymbolFeatures.of({"t": [0], "t\u02b0": [1], "c\u0327": [2]})
    symbols = "t", "\u02c8t", "t\u02b0\u02b7", "\u02c8t\u02b7", "\u00e7", "\u00e7\u02d0", "c", "\u02b0t", "\u02d0", ""
    assert [table.row_of(symbol) for symbol in symbols] == [0, 0, 1, 0, 2, 2, None, None, None, None]


def test_a_new_symbol_is_the_known_one_with_its_features_or_its_neighbours_and_without_features_unknown():
    known = Vocabulary.of(["a", "b", "x"])
    found = TABLE.shares(known, known.extended(["y", "б", "?"]))
    assert torch.equal(found[:7], torch.eye(7).double())
    weights = [math.exp(-STEEPNESS * 0.5), math.exp(-STEEPNESS * 1.5)]
    assert found[7].tolist() == [0, 1, 0, 0, 0, 0, 0]  # ?, the first in order
    assert found[8].tolist() == pytest.approx([0, 0, 0, 0, *(weight / sum(weights) for weight in weights), 0])
    assert found[9].tolist() == [0, 0, 0, 0, 0, 1, 0]
    assert TABLE.shares(Vocabulary.of(["x"]), Vocabulary(("x", "a")))[5].tolist() == [0, 1, 0, 0, 0]
    both = TABLE.shares(Vocabulary.of(["b", "б"]), Vocabulary(("b", "б", "b\u0301")))
    assert both[6].tolist() == [0, 0, 0, 0, 0.5, 0.5]


def test_groups_are_those_of_letters_and_with_features_those_of_neighbours():
    letters, groups = letter_groups(TOKENIZERS), symbol_groups(TOKENIZERS, TABLE)
    assert all(torch.equal(*both) for both in zip(letters, symbol_groups(TOKENIZERS, None), strict=True))
    middles = list(dict.fromkeys([*SOURCE[4:], *TARGET[4:]]))
    for names, one, side in zip((SOURCE, TARGET), letters, groups, strict=True):
        assert not side[:4].any()
        near = torch.exp(-STEEPNESS * TABLE.distances(names, middles))
        for number, name in enumerate(names[4:], 4):
            plain, soft = side[number].split([one.shape[1], len(middles)])
            known = TABLE.row_of(name) is not None
            assert plain.tolist() == ([0] * len(plain) if known else one[number].tolist())
            assert soft.tolist() == pytest.approx((near[number] / near[number].sum()).nan_to_num(0).tolist())


def test_a_prior_backed_off_to_neighbours_loses_nothing_and_is_symmetric_where_all_else_is():
    shared = TOKENIZERS.shared()
    pairs = EncodedPairs(*shared.encode(PAIRS))
    pairs = pairs.joined(pairs.reversed())
    prior = prior_table(pairs, shared, kinship_of(shared))
    table = prior.mixed(OperationTable.uniform(*shared.vocabularies.values(), unknown=True), 0.5)
    found = backed_off(prior, table, shared, TABLE)
    torch.testing.assert_close(found.substitute, found.substitute.T)
    letters = backed_off(prior, table, shared)
    for part, other in zip(
        (found.delete, found.insert, found.substitute),
        (letters.delete, letters.insert, letters.substitute),
        strict=True,
    ):
        assert float(part.sum()) == pytest.approx(float(other.sum()))


def test_pseudo_counts_are_as_many_for_a_rare_symbol_as_for_a_frequent_one():
    prior = random_table(1)
    found = pseudo_counts(prior, 6.0)
    rows, columns = prior.delete + prior.substitute.sum(1), prior.insert + prior.substitute.sum(0)
    for s, t in CELLS:
        if prior.substitute[s, t]:
            expected = prior.substitute[s, t] * (6 / rows[s] + 6 / columns[t]) / 2
            assert float(found.substitute[s, t]) == pytest.approx(float(expected))
        else:
            assert found.substitute[s, t] == 0
    assert found.delete[4:].tolist() == pytest.approx((6 * prior.delete / rows)[4:].tolist())
    assert found.insert[4:].tolist() == pytest.approx((6 * prior.insert / columns)[4:].tolist())
    assert found.end == 0
