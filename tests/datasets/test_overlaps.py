"""Which concepts and classes parts share."""

import json

from typer.testing import CliRunner

from nsed.__main__ import app
from nsed.datasets.protocols import PROTOCOLS, SplitOptions
from nsed.datasets.splits import word_overlaps
from nsed.datasets.word_list import Word

WORDS = [
    Word(f"L{language}", f"C{concept}", f"w {concept} {language}", f"{concept}.{language // 2}")
    for concept in range(30)
    for language in range(4)
]


def test_held_out_concepts_are_not_shared():
    splits = PROTOCOLS["concepts"].split(WORDS, SplitOptions(0))
    for overlap in word_overlaps(splits._asdict(), WORDS):
        assert (overlap.concepts, overlap.classes) == (0, 0)


def test_a_random_split_shares_nearly_all():
    splits = PROTOCOLS["published"].split(WORDS, SplitOptions(0, 40))
    first, second, _ = word_overlaps(splits._asdict(), WORDS)
    assert (first.earlier, second.later) == ("training", "test")
    assert second.share_of_classes > 0.9
    assert second.share_of_concepts > 0.9


def test_two_words_for_different_concepts_share_none():
    splits = PROTOCOLS["languages"].split(WORDS, SplitOptions(0, None, ("L3",)))
    _, training_and_test, _ = word_overlaps(splits._asdict(), WORDS)
    assert training_and_test.concepts > 0
    assert not any(overlap.concepts for overlap in word_overlaps(splits._asdict(), WORDS[:1]))


def test_the_command_shows_them(tmp_path):
    rows = ["DOCULECT\tCONCEPT\tTOKENS\tCOGID", *("\t".join(word[:4]) for word in WORDS)]
    (tmp_path / "words.tsv").write_text("\n".join(rows) + "\n")

    def run(*arguments):
        result = CliRunner().invoke(app, ["data", *map(str, arguments)], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    run("cognates", tmp_path / "words.tsv", tmp_path, "--protocol", "published", "--held-out", 40)
    files = [tmp_path / f"{part}.tsv" for part in ("training", "validation", "test")]
    assert "seen before" in run("check", *files, "--words", tmp_path / "words.tsv")
    assert "seen before" not in run("check", *files)
    shared = json.loads(run("check", *files, "--words", tmp_path / "words.tsv", "--json"))["words"]
    assert [overlap["later"] for overlap in shared] == ["validation.tsv", "test.tsv", "test.tsv"]
