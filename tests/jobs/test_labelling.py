"""Labelling: answers are kept at once, taken back and gone on with; questions are open ones; few of them teach much."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.errors import ArgumentError
from nsed.evaluate import matching_score
from nsed.jobs import LabelSession, labelling, unsupervised
from nsed.jobs.labelling import AnswerFile, candidate_pairs
from nsed.jobs.unsupervised import Pool, calibrated, competing, pseudo_labels, untrained
from nsed.text import Pairs
from support.commands import run

LETTERS = dict(zip("abdefgiklmnoprstuvz", "абдефгиклмнопрстувз", strict=True))


def words(count, seed=0):
    random = np.random.default_rng(seed)
    return sorted({"".join(random.choice([*LETTERS], random.integers(4, 9))) for _ in range(count)})


def cyrillic(word):
    return "".join(LETTERS[letter] for letter in word)


def pool_and_gold(count=120):
    """Each word with its transcription and those of three others."""
    names, random = words(count), np.random.default_rng(1)
    pairs = [(name, cyrillic(other)) for name in names for other in [name, *random.choice(names, 3)]]
    return list(dict.fromkeys(pairs)), lambda pair: cyrillic(pair[0]) == pair[1]


def answered(session, truth, count):
    for _ in range(count):
        asked = session.question()
        session.answer(truth((asked.source, asked.target)))


def test_answers_are_in_the_file_at_once_and_the_next_session_goes_on(tmp_path):
    pairs, truth = pool_and_gold()
    first = LabelSession(pairs, tmp_path / "answers.tsv", every=1000)
    answered(first, truth, 3)
    known = nsed.read_pairs(tmp_path / "answers.tsv")
    assert [*known] == [one[:2] for one in first.answers]
    assert [*known.labels] == [truth(pair) for pair in known]
    second = LabelSession(pairs, tmp_path / "answers.tsv", every=1000)
    assert [one[:3] for one in second.answers] == [one[:3] for one in first.answers]
    answered(second, truth, 20)
    assert len({one[:2] for one in second.answers}) == 23


def test_unfinished_line_of_a_killed_session_is_dropped(tmp_path):
    pairs, truth = pool_and_gold()
    path = tmp_path / "answers.tsv"
    answered(LabelSession(pairs, path, every=1000), truth, 2)
    whole = path.read_bytes()
    path.write_bytes(whole + "ab\tаб\t".encode())
    assert len(LabelSession(pairs, path, every=1000).answers) == 2
    assert path.read_bytes() == whole


def test_undo_takes_the_last_line_back_and_asks_again(tmp_path):
    pairs, truth = pool_and_gold()
    session = LabelSession(pairs, tmp_path / "answers.tsv", every=1000)
    answered(session, truth, 1)
    before, asked = (tmp_path / "answers.tsv").read_bytes(), session.question()
    session.answer(True)
    assert session.undo().source == asked.source
    assert (tmp_path / "answers.tsv").read_bytes() == before
    assert session.question() == asked
    session.undo()
    assert session.undo() is None
    assert AnswerFile(tmp_path / "answers.tsv").answers == []


def test_what_is_skipped_is_never_asked_again(tmp_path):
    pairs = [("ab", "аб"), ("ab", "ба"), ("ba", "ба")]
    session = LabelSession(pairs, tmp_path / "answers.tsv", every=1000)
    skipped = session.question()
    session.skip()
    again = LabelSession(pairs, tmp_path / "answers.tsv", every=1000)
    asked = []
    while question := again.question():
        asked.append((question.source, question.target))
        again.answer(True)
    assert sorted([*asked, (skipped.source, skipped.target)]) == sorted(pairs)
    with pytest.raises(nsed.NsedError, match="one to no question"):
        again.answer(True)


@pytest.mark.parametrize(
    "content", ["source\ttarget\nab\tаб\n", "source\ttarget\nab\tаб", "a letter", "\n\n", "\0" * 9000]
)
def test_file_of_something_else_is_refused_and_kept_to_its_last_byte(content, tmp_path):
    (tmp_path / "pairs.tsv").write_text(content, encoding="utf-8")
    with pytest.raises(nsed.NsedError, match="no file of answers: got the header") as raised:
        LabelSession(pool_and_gold()[0], tmp_path / "pairs.tsv")
    assert (tmp_path / "pairs.tsv").read_text(encoding="utf-8") == content
    assert len(str(raised.value)) < 1000


def test_an_answer_whose_probability_is_no_number_is_named(tmp_path):
    (tmp_path / "answers.tsv").write_text("source\ttarget\tlabel\tpredicted\tchance\na\tb\t1\tnan\t0.5\n")
    with pytest.raises(nsed.NsedError, match=r"answers\.tsv: got \['a', 'b', '1', 'nan', '0\.5'\], expected an answer"):
        AnswerFile(tmp_path / "answers.tsv")


def test_rivals_of_a_match_are_none_and_the_expected_number_stays():
    pool = Pool(Pairs.of([("a", "x"), ("a", "y"), ("b", "x"), ("b", "z")]), "best")
    before = np.array([0.6, 0.5, 0.2, 0.4])
    after = competing(before, pool, {})
    assert after.sum() == pytest.approx(before.sum())
    assert after[0] > after[1]
    assert all(np.bincount(pool.strings[0], after) <= 1)
    sure = competing(before, pool, {1: True})
    assert sure[1] > 0.99
    assert sure[0] < 0.01
    assert np.allclose(competing(before, Pool(pool.pairs, "all"), {}), before)


def test_labels_of_a_few_pairs_label_the_others():
    pairs, truth = pool_and_gold()
    pool = Pool(Pairs.of(pairs), "best")
    scores = untrained(pool).score(pool.pairs)
    labels = {row: truth(pair) for row, pair in list(enumerate(pool.pairs))[:12]}
    assert set(calibrated(scores, {})) != {0.5}
    found = pseudo_labels(scores, pool, labels)
    assert np.mean(found == [truth(pair) for pair in pool.pairs]) > 0.97


@pytest.mark.slow
def test_few_answers_teach_nearly_all_and_growth_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(unsupervised, "FINAL", {"train__steps": 20})
    monkeypatch.setattr(unsupervised, "QUICK", {"train__steps": 20})
    pairs, truth = pool_and_gold(40)
    held_out = Pairs(*zip(*pairs, strict=True), [truth(pair) for pair in pairs])
    session = LabelSession(pairs, tmp_path / "answers.tsv", held_out=held_out, every=20, background=True)
    answered(session, truth, 20)
    model = session.finish()
    assert [one.held_out for one in session.learning_curve] == [True] * len(session.learning_curve)
    assert session.learning_curve[-1].f1 > 0.97
    assert "20 answers: F1" in str(session.learning_curve[-1])
    assert session._expected_f1(model) == pytest.approx(session.learning_curve[-1].f1, abs=0.1)
    new = words(60, seed=5)
    assert np.mean(model.match([(word, cyrillic(word)) for word in new])) > 0.95
    assert np.mean(model.match([(word, cyrillic(word[::-1])) for word in new if word != word[::-1]])) < 0.05


def test_questions_are_drawn_in_proportion_to_how_open_their_answers_are(tmp_path):
    pairs, _ = pool_and_gold()
    asked = [LabelSession(pairs, tmp_path / f"{seed}.tsv", seed=seed).question() for seed in range(6)]
    openness = [max(one.predicted * (1 - one.predicted), labelling.LEAST_OPEN) for one in asked]
    assert max(openness) > 1.05 * min(openness)
    assert [one.chance / open_ for one, open_ in zip(asked, openness, strict=True)] == pytest.approx(
        [asked[0].chance / openness[0]] * 6
    )


def test_estimated_f1_is_the_true_one_where_all_pairs_are_answered(tmp_path):
    pairs, truth = pool_and_gold(20)
    session = LabelSession(pairs, tmp_path / "answers.tsv", every=1000, assign="all")
    answered(session, truth, len(pairs))
    model, scores, labels = untrained(Pool(Pairs.of(pairs))), session._scores, np.array([truth(pair) for pair in pairs])
    for share in (0.0, 0.5, 0.9):
        model.criterion = model.criterion._replace(threshold=float(np.quantile(scores, share)))
        true = matching_score(scores, labels, model.threshold).f1
        assert session._expected_f1(model) == pytest.approx(true, abs=1e-6)


def test_a_single_match_is_too_few_to_train_and_no_error(tmp_path):
    pairs = [("ab", "аб"), ("ba", "зз"), ("ak", "зз"), ("ka", "зз")]
    session = LabelSession(pairs, tmp_path / "answers.tsv", every=2)
    answered(session, lambda pair: pair == pairs[0], 4)
    assert (session.model, session.learning_curve, session.question()) == (None, [], None)


@pytest.mark.parametrize("broken", ["a\tb", "a\nb", "a\rb"])
def test_a_pair_with_a_tab_or_a_line_break_is_named_before_it_blocks_a_session(broken, tmp_path):
    pairs = [*pool_and_gold()[0][:9], ("ab", broken)]
    with pytest.raises(nsed.NsedError, match=r"pairs: got \('ab', .* in row 10, one of 1 pairs with a tab or a line"):
        LabelSession(pairs, tmp_path / "answers.tsv")
    assert not (tmp_path / "answers.tsv").exists()


def test_a_pair_too_long_to_learn_from_is_named_before_any_question(tmp_path):
    pairs = [*pool_and_gold()[0][:9], ("ab" * 300, "аб" * 300)]
    with pytest.raises(nsed.NsedError, match=r"600 x 600 symbols in row 10 \('abab.*Shorten or leave out pairs"):
        LabelSession(pairs, tmp_path / "answers.tsv", every=4)


def test_training_that_fails_says_so(tmp_path, monkeypatch):
    def failing(*given, **settings):
        raise ArgumentError("pairs", got="something else", expected="what can be learned from")

    monkeypatch.setattr(labelling, "learn_quickly", failing)
    pairs, truth = pool_and_gold()
    session = LabelSession(pairs, tmp_path / "answers.tsv", every=1000)
    answered(session, truth, 2)
    with pytest.raises(ArgumentError, match="pairs: got something else"):
        session.refit()


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_too_few_pairs_to_learn_from_are_not_advised_an_option_that_labelling_lacks(tmp_path):
    session = LabelSession([("colour", "color"), ("colour", "gray")], tmp_path / "answers.tsv")
    answered(session, lambda pair: pair[1] == "color", 2)
    with pytest.raises(nsed.NsedError, match="answers: got 2 answers to 2 pairs, expected two pairs of each kind at"):
        session.finish()


def test_an_error_of_the_last_training_is_not_called_one_of_too_few_answers(tmp_path, monkeypatch):
    def failing(*given):
        raise ArgumentError("train.steps", got="none", expected="some")

    pairs = [("gray", "grey"), ("lay", "ley"), ("drag", "dreg"), ("gray", "zzz"), ("lay", "qqq"), ("drag", "ppp")]
    session = LabelSession(pairs, tmp_path / "answers.tsv", every=1000)
    while (question := session.question()) is not None:
        session.answer("e" in question.target)
    monkeypatch.setattr("nsed.jobs.labelling.learn_from_few", failing)
    with pytest.raises(ArgumentError, match=r"train\.steps: got none"):
        session.finish()


def test_one_kind_of_answers_teaches_nothing(tmp_path):
    session = LabelSession(pool_and_gold()[0], tmp_path / "answers.tsv", every=1000)
    session.answer(True)
    with pytest.raises(nsed.NsedError, match="1 answers, all the same"):
        session.finish()


@pytest.mark.slow
def test_two_lists_are_asked_for_by_their_candidates_and_one_answer_is_no_matcher(tmp_path):
    names = words(30)
    (tmp_path / "a.txt").write_text("\n".join(names) + "\n")
    (tmp_path / "b.txt").write_text("\n".join(map(cyrillic, names)) + "\n", encoding="utf-8")
    arguments = ["label", *(str(tmp_path / one) for one in ("a.txt", "model")), "--against", str(tmp_path / "b.txt")]
    result = CliRunner().invoke(app, [*arguments, "--k", "3"], input="maybe\ny\nu\nn\nq\n")
    assert "y, n, s, u or q is expected" in result.output
    assert "no Matcher yet: it needs answers of both kinds" in str(result.exception)
    (answer,) = AnswerFile(tmp_path / "model.answers.tsv").answers
    assert not answer.label
    pairs = candidate_pairs(names, [*map(cyrillic, names)], k=3)
    assert len(pairs) == 90
    assert np.mean([(name, cyrillic(name)) in set(pairs) for name in names]) == 1


def test_a_label_command_that_has_finished_goes_on_with_a_larger_budget(tmp_path, monkeypatch):
    for name in ("FINAL", "QUICK"):
        monkeypatch.setattr(unsupervised, name, {"train__steps": 5})
    pairs, truth = pool_and_gold(20)
    (tmp_path / "pool.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
    gold = "".join(f"{a}\t{b}\t{truth((a, b)):d}\n" for a, b in pairs)
    (tmp_path / "gold.tsv").write_text(gold, encoding="utf-8")
    command = ["label", tmp_path / "pool.tsv", tmp_path / "m", "--simulate", tmp_path / "gold.tsv", "--every", 1000]
    run(*command, "--budget", 30)
    run(*command, "--budget", 40)
    answers = tmp_path / "m.answers.tsv"
    assert len(AnswerFile(answers).answers) == 40
    assert len(list((tmp_path / "m").glob("weights-*"))) == 1
    assert nsed.load(tmp_path / "m").record["answers"] == "m.answers.tsv"
    before = (tmp_path / "m" / "model.json").read_bytes()
    with pytest.raises(ArgumentError, match=r"which is there, expected a new folder .* answers in .*other\.tsv have"):
        run(*command, "--answers", tmp_path / "other.tsv")
    nsed.OddsMatcher.untrained(pairs).save(tmp_path / "another")
    with pytest.raises(ArgumentError, match=r"FOLDER: got .*another, which is there"):
        run("label", tmp_path / "pool.tsv", tmp_path / "another", "--answers", answers)
    assert (tmp_path / "m" / "model.json").read_bytes() == before


@pytest.mark.slow
def test_killed_command_loses_no_answer(tmp_path):
    pairs, _ = pool_and_gold()
    pool = tmp_path / "pool.tsv"
    pool.write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
    command = [sys.executable, "-m", "nsed", "label", str(pool), str(tmp_path / "model"), "--every", "1000"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    ) as started:
        started.stdin.write(b"y\nn\ny\n")
        started.stdin.flush()
        shown = b""
        while shown.count(b"[y]es") < 4:
            shown += started.stdout.read1(4096)
        started.kill()
    assert [one.label for one in AnswerFile(Path(f"{tmp_path}/model.answers.tsv")).answers] == [True, False, True]
