"""Sound correspondences: expected counts of operations between languages, in cognate words alone."""

import numpy as np
import pytest
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.baselines.similarity import Levenshtein
from nsed.datasets.word_list import Word
from nsed.explain.rules import Numbered
from nsed.jobs import sound_correspondences
from nsed.jobs.cognate_sets import cognate_sets
from nsed.jobs.correspondences import _Counts, cognate_pairs
from nsed.models.matcher_mixture import MatcherMixture

STEMS = ["p a t", "p i l", "k a p", "t i p", "l a k", "p a l a", "k i t", "t a p i"]


def shifted(stem):
    return stem.replace("p", "f")


@pytest.fixture(scope="module")
def words():
    found = []
    for number, stem in enumerate(STEMS):
        found += [Word("Old", f"c{number}", stem, str(number)), Word("New", f"c{number}", shifted(stem), str(number))]
    return [*found, Word("Other", "c0", "z z z", "alone")]


@pytest.fixture(scope="module")
def sets():
    return cognate_sets([number // 2 for number in range(2 * len(STEMS))] + [len(STEMS)])


@pytest.fixture(scope="module")
def model():
    pairs = [(stem, shifted(stem)) for stem in STEMS] * 3
    return nsed.LearnableEditDistance.fit(pairs, source_symbols="tokens", target_symbols="tokens")


def test_shift_is_found_with_its_count_and_its_share(model, words, sets):
    found = sound_correspondences(model, words, sets)
    assert {one[:2] for one in found} == {("Old", "New")}
    shift = next(one for one in found if one.sound_a == "p")
    times = " ".join(STEMS).count("p")
    assert (shift.sound_b, shift.words) == ("f", times)
    assert shift.expected == pytest.approx(times, abs=0.2)
    assert shift.share > 0.95
    assert set(shift.concepts) <= {word.concept for word in words}


@pytest.mark.parametrize("sound", ["a", "p"])
def test_words_are_counted_once_however_often_the_sound_is_in_them(model, words, sets, sound):
    """`p a l a` counted as two words in which a corresponds to a."""
    found = next(one for one in sound_correspondences(model, words, sets) if one.sound_a == sound)
    assert found.words == sum(sound in stem for stem in STEMS)


def test_words_in_which_a_correspondence_is_less_probable_than_not_do_not_count(model, words, sets):
    known, cut = cognate_pairs(words, sets), model.tokenizers
    sides = Numbered.of(cut.source, list(known.pairs.sources)), Numbered.of(cut.target, list(known.pairs.targets))
    counts = _Counts(known, *sides)
    counts.add(np.array([1, 1, 1]), np.array([1, 1, 1]), np.array([0, 1, 2]), np.array([0.4, 0.6, 0.9]))
    (one,) = counts.listed()
    assert (one.expected, one.words) == (pytest.approx(1.9), 2)


def test_counts_are_posteriors_of_the_lattices(model, words, sets):
    pairs = [(stem, shifted(stem)) for stem in STEMS]
    expected = sum(
        float(table.sum()) for _, lattice in model.lattices(nsed.Pairs.of(pairs)) for table in lattice.posteriors
    )
    total = sum(one.expected for one in sound_correspondences(model, words, sets, least=0.0))
    assert total == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("kind", ["graphemes", "codepoints"])
@pytest.mark.parametrize("blank", [" ", ""])
def test_blanks_between_tokens_are_no_sounds_of_a_model_of_characters(words, sets, kind, blank):
    pairs = [(stem.replace(" ", blank), shifted(stem).replace(" ", blank)) for stem in STEMS] * 3
    model = nsed.LearnableEditDistance.fit(pairs, source_symbols=kind, target_symbols=kind)
    found = sound_correspondences(model, words, sets)
    assert {one.sound_a for one in found} == {"p", "a", "t", "i", "l", "k"}
    assert not any(one.sound_b.isspace() for one in found)
    assert next(one for one in found if one.sound_a == "p").sound_b == "f"


def test_order_of_words_changes_nothing(model, words, sets):
    order = np.random.default_rng(0).permutation(2 * len(STEMS)).tolist()
    order.sort(key=lambda place: place % 2)  # the languages stay in their order
    classes = [place // 2 for place in order]
    mixed = sound_correspondences(model, [words[place] for place in order], cognate_sets(classes), least=0.5)
    plain = sound_correspondences(model, words, sets, least=0.5)
    assert [one[:4] for one in mixed] == [one[:4] for one in plain]
    assert np.allclose([one.expected for one in mixed], [one.expected for one in plain])


def test_sets_of_one_word_and_models_without_lattices_are_refused(model, words):
    with pytest.raises(nsed.NsedError, match="got no two words of one set"):
        sound_correspondences(model, words, cognate_sets(range(len(words))))
    with pytest.raises(nsed.NsedError, match="got a dict, which aligns nothing"):
        sound_correspondences({}, words, [])


def test_mixture_aligns_by_its_first_member_with_lattices_and_the_command_says_so(words, sets, tmp_path):
    pairs = nsed.Pairs.of([(s, t) for s in STEMS for t in map(shifted, STEMS)])
    labels = [shifted(source) == target for source, target in pairs]
    cut = {"source_symbols": "tokens", "target_symbols": "tokens"}
    table = nsed.LearnableEditDistance.fit(
        pairs, labels, validation=nsed.Pairs(pairs.sources, pairs.targets, labels), **cut
    )
    mixed = MatcherMixture([Levenshtein.fit(pairs, labels, **cut), table])
    assert sound_correspondences(mixed, words, sets) == sound_correspondences(table, words, sets)
    with pytest.raises(nsed.NsedError, match="got a MatcherMixture, which aligns nothing"):
        sound_correspondences(MatcherMixture(mixed.members[:1]), words, sets)
    mixed.save(tmp_path / "mixed")
    lines = ["DOCULECT\tCONCEPT\tTOKENS\tCOGID", *("\t".join(word[:4]) for word in words)]
    (tmp_path / "words.tsv").write_text("\n".join(lines) + "\n")
    told = CliRunner().invoke(app, ["correspondences", str(tmp_path / "mixed"), str(tmp_path / "words.tsv")])
    assert "operations are those of member 2 of 2, of kind edit-distance" in told.stderr


def test_command_writes_tables_and_text(model, words, tmp_path):
    model.save(tmp_path / "model")
    lines = ["DOCULECT\tCONCEPT\tTOKENS\tCOGID", *("\t".join(word[:4]) for word in words)]
    (tmp_path / "words.tsv").write_text("\n".join(lines) + "\n")

    def run(*options):
        arguments = ["correspondences", str(tmp_path / "model"), str(tmp_path / "words.tsv"), *options]
        return CliRunner().invoke(app, arguments)

    header, *rows = run().stdout.splitlines()
    assert header.split("\t")[:6] == ["LANGUAGE_A", "LANGUAGE_B", "SOUND_A", "SOUND_B", "COUNT", "SHARE"]
    assert rows[0].split("\t")[:4] in (["Old", "New", "a", "a"], ["Old", "New", "p", "f"])
    assert run("--format", "text").stdout.startswith("Old : New\n")
    assert "--language: got Klingon" in str(run("--language", "Klingon").exception)
