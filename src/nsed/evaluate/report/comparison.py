"""Whether one model is better than another on the same pairs, or only luckier."""

import numpy as np

from nsed.evaluate import difference_interval, paired_statistic_test, paired_test
from nsed.evaluate.matching import f1_of_totals
from nsed.evaluate.report.answers import Answers
from nsed.evaluate.report.decisions import Decisions
from nsed.evaluate.report.records import Difference


def compare_answers(ours: Answers, theirs: Answers) -> tuple[Difference, ...]:
    """Of error rates: below zero, ours are fewer."""
    values = {
        "cer": (ours.errors.rates, theirs.errors.rates),
        "wer": (ours.errors.wrong.astype(float), theirs.errors.wrong.astype(float)),
    }
    return tuple(
        Difference(name, test.difference, difference_interval(*both, statistic=_mean), test.p_value)
        for name, both in values.items()
        for test in [paired_test(*both)]
    )


def compare_decisions(ours: Decisions, theirs: Decisions) -> tuple[Difference, ...]:
    """Of F1, each at its own threshold: above zero, ours is higher."""
    both = ours.rows, theirs.rows
    test = paired_statistic_test(*both, statistic=_f1)
    return (Difference("f1", test.difference, difference_interval(*both, statistic=_f1), test.p_value),)


def _mean(values: np.ndarray) -> float:
    return float(values.mean())


def _f1(rows: np.ndarray) -> float:
    return f1_of_totals(rows.sum(axis=0))
