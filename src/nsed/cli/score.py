"""`nsed score`: the log-probability of pairs."""

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


def score(
    model: ModelPath,
    pairs: PairsPath = None,
    pair: OnePair = None,
    columns: Columns = None,
    format_: RowFormatOption = RowFormat.TSV,
    output: Output = None,
) -> None:
    """Give each pair its log-probability: `source`, `target`, `score`.

    Of an edit distance that is log p(source, target), of a transducer or seq2seq log p(target | source), of a matcher
    log alpha, of a cross-encoder and of stance the log-probability that the pair matches.
    """
    scorer, data = load_model(model), pairs_from(pairs, columns, pair)
    with progress_bar("scoring", len(data)) as bar:
        scores = scorer.score(data, on_batch=bar.advance)
    rows = zip(data.sources, data.targets, scores.tolist(), strict=True)
    write_rows(output, format_, ({"source": s, "target": t, "score": value} for s, t, value in rows))
