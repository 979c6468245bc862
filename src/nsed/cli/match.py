"""`nsed match`: decisions on pairs."""

from nsed.baselines.pair_scorer import PairScorer
from nsed.cli.arguments import (
    Columns,
    ModelPath,
    OnePair,
    Output,
    PairsPath,
    RowFormat,
    RowFormatOption,
    load_model,
    pairs_from,
    write_rows,
)
from nsed.cli.console import progress_bar
from nsed.errors import ArgumentError
from nsed.models.pair_model import PairModel


def match(
    model: ModelPath,
    pairs: PairsPath = None,
    pair: OnePair = None,
    columns: Columns = None,
    format_: RowFormatOption = RowFormat.TSV,
    output: Output = None,
) -> None:
    """Decide whether each pair matches: `source`, `target`, `match` (1 or 0), calibrated `probability`."""
    matcher = load_model(model)
    if not isinstance(matcher, PairModel | PairScorer):
        expected = "a matcher, or another model of labelled pairs"
        raise ArgumentError("MODEL", got=f"{model}, which makes no decisions", expected=expected)
    data = pairs_from(pairs, columns, pair)
    with progress_bar("matching", len(data)) as bar:
        scores = matcher.score(data, on_batch=bar.advance)
    answers = zip((scores >= matcher.threshold).tolist(), matcher.calibration.probability(scores).tolist(), strict=True)
    rows = zip(data, answers, strict=True)
    write_rows(
        output,
        format_,
        ({"source": s, "target": t, "match": decision, "probability": p} for (s, t), (decision, p) in rows),
    )
