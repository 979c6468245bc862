"""Reports of models that are no more than what the protocols ask for."""

import json
from typing import NamedTuple

import numpy as np
import pytest

from nsed.errors import ArgumentError, NotExplainableError
from nsed.evaluate import Calibration
from nsed.evaluate.report import NamedModel, ReportOptions, evaluate
from nsed.evaluate.significance import wilson_interval
from nsed.progress import ignore
from nsed.text import Edit, EditScript, Pairs, StringConfig, Tokenizers


class Said(NamedTuple):
    text: str
    symbols: tuple[str, ...]


class Lookup:
    """A table of answers: it transduces, and can do nothing else."""

    def __init__(self, answers):
        self.answers = answers
        self.tokenizers = Tokenizers.learned(StringConfig(), Pairs.of([("abc", "abc")]))

    def transduce(self, sources, *, nbest=1, beam=None, on_batch=ignore):
        return [[Said(text, tuple(text)) for text in self.answers.get(source, [])[:nbest]] for source in sources]


class Overlap:
    """Scores by shared letters; no threshold, no probabilities, no operations."""

    def score(self, pairs, *, on_batch=ignore):
        return np.array([float(len(set(source) & set(target))) for source, target in pairs])


class Sure(Overlap):
    """The same with a threshold, probabilities, and operations."""

    threshold = 1.5
    calibration = Calibration(1.0, -1.5)

    def align(self, source, target):
        if not source or not target:
            raise NotExplainableError("nothing to align")
        return EditScript((Edit("substitute", source[0], target[0], 0, 0),))


WORDS = Pairs(["ab", "ab", "abc", "b", "cab"], ["ab", "ba", "abc", "c", "bac"])
TABLE = Lookup({"ab": ["ba"], "abc": ["abb", "abc"], "b": ["a", "bb"]})

LABELLED = Pairs(
    ["ab", "abc", "ab", "xy", "", "abd"],
    ["ab", "abd", "xb", "ab", "a", "xyz"],
    [True, True, True, False, True, False],
    ["cs", "cs", "de", "de", "cs", "cs"],
    ["de", "cs", "de", "cs", "cs", "cs"],
)


def figures_of(report):
    return {figure.name: figure.value for figure in report.figures}


def test_a_lookup_table_is_evaluated():
    report = evaluate(NamedModel("table", TABLE), WORDS, name="words", options=ReportOptions(nbest=2))
    figures = figures_of(report)
    assert (report.task, report.settings) == ("transduction", {"nbest": 2})
    assert figures["words"] == 4
    assert figures["wer"] == pytest.approx(3 / 4)  # "ab" may be answered either way, "cab" has no answer
    assert figures["cer"] == pytest.approx((0 + 1 / 3 + 1 + 1) / 4)
    assert figures["corpus_cer"] == pytest.approx(5 / 9)
    assert figures["nbest_accuracy"] == pytest.approx(2 / 4)
    assert figures["oracle_cer"] == pytest.approx((0 + 0 + 1 + 1) / 4)
    assert [mistake.given for mistake in report.mistakes] == [("cab",), ("abc",), ("b",)]  # most edits first
    assert [mistake.kind for mistake in report.mistakes] == ["no answer", "wrong", "wrong"]
    assert [str(named.script) for named in report.mistakes[1].scripts] == ["a b c→b"]


def test_breakdowns_and_curves_of_answers():
    report = evaluate(NamedModel("table", TABLE), WORDS)
    (by_length,) = report.breakdowns
    assert [(group.name, group.items, group.values[2]) for group in by_length.groups] == [
        ("1", 1, 1.0),
        ("2", 1, 0.0),
        ("3", 2, 1.0),
    ]
    (errors,) = report.curves
    assert [line.name for line in errors.lines] == ["WER", "CER"]
    assert [point.y for point in errors.lines[0].points] == [1.0, 0.0, 1.0]


def test_matching_of_labelled_pairs():
    report = evaluate(NamedModel("sure", Sure()), LABELLED)
    figures = figures_of(report)
    assert report.task == "matching"
    assert (figures["precision"], figures["recall"]) == (1.0, 0.5)
    assert figures["best_f1"] == pytest.approx(6 / 7)  # one letter is enough: 3 of 4 matches, no false alarm
    assert figures["average_precision"] == pytest.approx(3 / 4 + 1 / 4 * 4 / 6)
    assert figures["roc_auc"] == pytest.approx(7 / 8)
    assert [curve.title for curve in report.curves] == ["Precision and recall", "ROC", "Reliability"]
    assert sum(point.items for point in report.curves[2].lines[0].points) == 6
    assert [breakdown.by for breakdown in report.breakdowns] == ["source length", "language"]
    languages = {group.name: group.items for group in report.breakdowns[1].groups}
    assert languages == {"cs": 5, "de": 3}
    assert [(one.kind, one.given, one.said, one.right) for one in report.mistakes] == [
        ("false negative", ("", "a"), "no match", "match"),
        ("false negative", ("ab", "xb"), "no match", "match"),
    ]
    assert [len(one.scripts) for one in report.mistakes] == [0, 1]  # what cannot be explained has no script
    assert report.mistakes[0].languages == "cs → cs"


def test_mistakes_are_of_both_kinds():
    pairs = Pairs(["ab"] * 9 + ["abc"] * 9, ["xy"] * 9 + ["abc"] * 9, [True] * 9 + [False] * 9)
    report = evaluate(NamedModel("sure", Sure()), pairs, options=ReportOptions(mistakes=6))
    assert [one.kind for one in report.mistakes] == ["false positive"] * 3 + ["false negative"] * 3
    few = evaluate(NamedModel("sure", Sure()), pairs.chosen([0, *range(9, 18)]), options=ReportOptions(mistakes=6))
    assert [one.kind for one in few.mistakes] == ["false positive"] * 5 + ["false negative"]


def test_a_model_without_threshold_needs_validation_pairs():
    with pytest.raises(ArgumentError, match="validation: got nothing, expected labelled pairs"):
        evaluate(NamedModel("overlap", Overlap()), LABELLED)
    report = evaluate(NamedModel("overlap", Overlap()), LABELLED, options=ReportOptions(validation=LABELLED))
    assert figures_of(report)["f1"] == pytest.approx(6 / 7)
    assert "brier_score" not in figures_of(report)
    assert [(one.given, one.scripts) for one in report.mistakes] == [(("", "a"), ())]


def test_two_models_side_by_side():
    worse = NamedModel("worse", Lookup({}))
    many = Pairs([f"a{'b' * n}" for n in range(12)], ["ab"] * 12)
    better = NamedModel("better", Lookup({source: ["ab"] for source in many.sources}))
    comparison = evaluate(better, many, options=ReportOptions(against=worse)).comparison
    assert comparison.model == "worse"
    assert {figure.name: figure.value for figure in comparison.figures}["wer"] == 1.0
    cer, wer = comparison.differences
    assert (wer.name, wer.value, wer.interval) == ("wer", -1.0, (-1.0, -1.0))
    assert cer.p_value < 0.01
    same = evaluate(NamedModel("sure", Sure()), LABELLED, options=ReportOptions(against=NamedModel("again", Sure())))
    assert (same.comparison.differences[0].value, same.comparison.differences[0].p_value) == (0.0, 1.0)
    with pytest.raises(ArgumentError, match="model: got sure, expected one that turns sources into targets"):
        evaluate(better, many, options=ReportOptions(against=NamedModel("sure", Sure())))


def test_alignments_are_those_of_matches():
    links = [frozenset({(0, 0), (1, 1)})] * 3 + [frozenset({(7, 7)}), frozenset(), frozenset({(7, 7)})]
    only = LABELLED.chosen([0, 1, 2, 3, 5])
    report = evaluate(NamedModel("sure", Sure()), only, options=ReportOptions(alignments=[*links[:4], links[5]]))
    figures = figures_of(report)
    assert (figures["alignment_precision"], figures["alignment_recall"]) == (1.0, 0.5)
    with pytest.raises(NotExplainableError, match="this model cannot align"):
        evaluate(NamedModel("table", TABLE), WORDS, options=ReportOptions(alignments=links[:5]))


def test_a_model_that_only_aligns_is_measured_by_that():
    pairs, links = Pairs(["ab", "cd"], ["xy", "zw"]), [frozenset({(0, 0), (1, 1)})] * 2
    options = ReportOptions(alignments=links, against=NamedModel("again", Sure()))
    report = evaluate(NamedModel("sure", Sure()), pairs, options=options)
    assert report.task == "alignment"
    assert figures_of(report)["alignment_f1"] == pytest.approx(2 / 3)
    assert report.comparison.differences == ()
    with pytest.raises(ArgumentError, match="pairs: got pairs without labels, expected a third column"):
        evaluate(NamedModel("sure", Sure()), pairs)


def test_reports_are_json():
    scores = Sure()
    scores.score = lambda pairs, on_batch=ignore: np.where(Overlap().score(pairs) > 0, 0.0, -np.inf)
    report = evaluate(NamedModel("sure", scores), LABELLED)
    read = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert read["recall_interval"] == list(next(one.interval for one in report.figures if one.name == "recall"))
    assert read["curves"][0]["lines"][0]["points"][0]["x"] == report.curves[0].lines[0].points[0].x


def test_no_pairs_no_report():
    with pytest.raises(ArgumentError, match="pairs: got none, expected at least one"):
        evaluate(NamedModel("table", TABLE), Pairs([], []))


@pytest.mark.parametrize(("said", "wer"), [("ab", 0.0), ("ba", 0.0), ("bb", 0.0), ("aa", 1.0)])
def test_of_several_right_targets_any_will_do(said, wer):
    words = Pairs(["ab", "ab", "ab"], ["ab", "ba", "bb"])
    report = evaluate(NamedModel("table", Lookup({"ab": [said]})), words, name="words", options=ReportOptions())
    assert report.to_dict()["wer"] == wer


def test_as_wide_a_beam_and_as_many_answers_as_wished_for():
    asked = {}

    class Attentive(Lookup):
        def transduce(self, sources, **options):
            asked.update(options)
            return super().transduce(sources, **options)

    evaluate(
        NamedModel("table", Attentive({"ab": ["ab"]})), WORDS, name="words", options=ReportOptions(nbest=2, beam=7)
    )
    assert (asked["nbest"], asked["beam"]) == (2, 7)


def words_of(count, *, wrong):
    pairs = Pairs.of([(f"w{number}", "x" if number < wrong else "y") for number in range(count)])
    return NamedModel("table", Lookup({source: ["y"] for source in pairs.sources})), pairs


@pytest.mark.parametrize(("wrong", "low", "high"), [(0, 0.0, 0.0876216), (40, 0.9123784, 1.0)])
def test_no_error_or_nothing_else_does_not_have_an_interval_without_width(wrong, low, high):
    report = evaluate(*words_of(40, wrong=wrong))
    figures = {figure.name: figure for figure in report.figures}
    assert figures["wer"].interval == pytest.approx((low, high), abs=1e-6)
    assert (figures["cer"].interval, figures["cer"].note) == (None, "no interval: all 40 are alike")
    assert "cer_interval" not in report.to_dict()


def test_a_handful_of_words_is_not_resampled():
    figures = {figure.name: figure for figure in evaluate(*words_of(5, wrong=2)).figures}
    assert figures["cer"].note == "no interval: 5 to resample, at least 10 are needed"
    assert figures["wer"].interval == wilson_interval(0.4, 5)


def test_perfect_decisions_do_not_have_an_interval_without_width():
    pairs = Pairs(["ab"] * 30, ["ab"] * 15 + ["c"] * 15, [True] * 15 + [False] * 15)
    figures = {figure.name: figure for figure in evaluate(NamedModel("sure", Sure()), pairs).figures}
    assert figures["recall"].interval == wilson_interval(1.0, 15)
    assert (figures["f1"].value, figures["f1"].interval) == (1.0, None)
