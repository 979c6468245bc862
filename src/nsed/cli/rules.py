"""`nsed rules` and `operations`: what a model does to symbols, in a data set or by its weights, and how two differ."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.markup import escape
from rich.table import Table

from nsed.capabilities import Capability, can
from nsed.cli.arguments import (
    Columns,
    Language,
    Model,
    ModelPath,
    Output,
    PairsPath,
    load_model,
    load_other,
    open_output,
    split_columns,
    tell_whose_operations,
    write_tsv,
)
from nsed.cli.console import out, progress_bar
from nsed.errors import ArgumentError, NotExplainableError
from nsed.jobs.table_files import replacing

if TYPE_CHECKING:
    from nsed.explain.rule_table import Rule, RuleDifference, RuleTable
    from nsed.text import Pairs


class By(StrEnum):
    """Sort order: what comes first."""

    SUPPORT = "support"
    SURPRISE = "surprise"


class RulesFormat(StrEnum):
    """Output format of rules."""

    TABLE = "table"
    TSV = "tsv"
    JSON = "json"
    HTML = "html"


class _Wanted(NamedTuple):
    """Output options: how the answer is to be written."""

    form: RulesFormat
    output: Path | None
    title: str


Top = Annotated[int, typer.Option(min=0, help="How many rules; 0 for all.")]
ByOption = Annotated[
    By,
    typer.Option(
        help="What comes first: support, the expected count; surprise, how far the operation is from being equally "
        "probable everywhere, the log-likelihood ratio (G²) of the neighbour that says most about it."
    ),
]
MinCount = Annotated[float, typer.Option(min=0, help="Only rules that are expected so often.")]
Contexts = Annotated[
    bool, typer.Option(help="Whether to find out next to which source symbols, or word edges, rules apply.")
]
Against = Annotated[
    Path | None, typer.Option(help="Another model: which rules differ on the same pairs.", show_default=False)
]
AgainstData = Annotated[
    Path | None, typer.Option(help="Other pairs: which rules differ of the same model.", show_default=False)
]
FormatOption = Annotated[
    RulesFormat,
    typer.Option(
        "--format", help="table: for terminals; tsv: with a header; json: lines, with all contexts; html: a page."
    ),
]
Picture = Annotated[
    Path | None,
    typer.Option(
        help="Draw what each symbol becomes, as a table over symbols, into this file too: .svg, or with the extra "
        "viz .png, .pdf, ...",
        show_default=False,
    ),
]


def rules(
    model: ModelPath,
    pairs: PairsPath = None,
    columns: Columns = None,
    language: Language = None,
    top: Top = 50,
    by: ByOption = By.SUPPORT,
    min_count: MinCount = 0.0,
    contexts: Contexts = True,
    against: Against = None,
    against_data: AgainstData = None,
    format_: FormatOption = RulesFormat.TABLE,
    picture: Picture = None,
    output: Output = None,
) -> None:
    """List the rules that a model learned: what it deletes, inserts, substitutes and keeps, how often and where.

    PAIRS are aligned in all ways at once, and the posteriors of the operations added up; of labelled pairs only those
    that match count. Without PAIRS, rules come from the weights: of an edit distance, or of a network with the unigram
    encoder. A probability is that of the operation given its source symbol; of an insertion, per place between symbols.

    With --against or --against-data, rules are sorted by G², the log-likelihood ratio of two probabilities against one.
    """
    from nsed.explain.rule_table import compare

    _check(pairs, against, against_data, by)
    title = f"Rules of {model}" + (f" in {pairs.name}" if pairs else "")
    data = _data(pairs, columns)
    table = _rules(model, load_model(model, language), data, contexts=contexts)
    if picture is not None:
        _draw(table, picture)
    if against is None and against_data is None:
        chosen = table.ranked(by.value, top=top or None, min_count=min_count)
        _write_rules(table, chosen, _Wanted(format_, output, title))
        return
    other_data = _data(against_data, columns) if against_data else data
    other = _rules(against or model, load_other(against or model, language), other_data, contexts=contexts)
    names = (str(model), str(against)) if against else (str(pairs), str(against_data))
    differences = compare(table, other, min_count=min_count)[: top or None]
    _write_differences(differences, names, _Wanted(format_, output, f"{title}, against {against or against_data}"))


def _check(pairs: Path | None, against: Path | None, against_data: Path | None, by: By) -> None:
    """Option check: raise for options that do not go together."""
    if against is not None and against_data is not None:
        raise ArgumentError("--against, --against-data", got="both", expected="one of them")
    if against_data is not None and pairs is None:
        raise ArgumentError("--against-data", got="no PAIRS", expected="two data sets to compare: PAIRS too")
    if by is By.SURPRISE and (against or against_data):
        raise ArgumentError("--by", got="surprise", expected="nothing: what is compared is sorted by difference")


def _data(path: Path | None, columns: str | None) -> Pairs | None:
    """Positive pairs of a file; None without a file."""
    from nsed.text import read_pairs

    if path is None:
        if columns is not None:
            raise ArgumentError("--columns", got=columns, expected="nothing without PAIRS")
        return None
    data = read_pairs(path, columns=split_columns(columns)).positives()
    if not len(data):
        raise ArgumentError("PAIRS", got=f"{path}, with no pair that matches", expected="at least one")
    return data


def _rules(path: Path, model: Model, data: Pairs | None, *, contexts: bool) -> RuleTable:
    from nsed.explain.rules import rules as rules_in

    if not can(model, Capability.RULES):
        raise NotExplainableError(f"{path}: this model has no lattice, so there are no operations to count")
    tell_whose_operations(model)
    if data is None:
        return _rules_of_weights(path, model)
    with progress_bar("reading rules", len(data)) as bar:
        return rules_in(model, data, contexts=contexts, on_batch=bar.advance)


def _rules_of_weights(path: Path, model: Model) -> RuleTable:
    try:
        return model.own_rules()  # type: ignore[no-any-return]  # of any model
    except NotExplainableError as error:
        raise NotExplainableError(f"{path}: {error}: nsed rules {shlex.quote(str(path))} PAIRS") from None


def _draw(table: RuleTable, path: Path) -> None:
    from nsed.explain.render.heat_maps import grid_svg
    from nsed.explain.render.pictures import draw_grid
    from nsed.explain.render.rules import rule_grid

    grid = rule_grid(table)
    if path.suffix != ".svg":
        with replacing(path) as beside:
            draw_grid(grid, beside, ending=path.suffix)
        return
    with open_output(path) as stream:
        stream.write(grid_svg(grid))


def _write_rules(table: RuleTable, chosen: Sequence[Rule], wanted: _Wanted) -> None:
    from nsed.explain.render.rules import COLUMNS, console_table, rule_rows, rules_page
    from nsed.explain.rule_table import plain

    if wanted.form is RulesFormat.TABLE and wanted.output is None:
        out.print(console_table(table, chosen))
        return
    with open_output(wanted.output) as stream:
        if wanted.form is RulesFormat.HTML:
            stream.write(rules_page(table, chosen, title=wanted.title))
        elif wanted.form is RulesFormat.JSON:
            stream.writelines(json.dumps(plain(rule), ensure_ascii=False) + "\n" for rule in chosen)
        else:
            write_tsv(stream, (COLUMNS, *rule_rows(table, chosen)), otherwise="Use --format json.")


def _write_differences(chosen: Sequence[RuleDifference], names: tuple[str, str], wanted: _Wanted) -> None:
    from nsed.explain.render.rules import DIFFERENCE_COLUMNS, console_differences, difference_rows, differences_page

    if wanted.form is RulesFormat.TABLE and wanted.output is None:
        out.print(console_differences(chosen, names))
        return
    with open_output(wanted.output) as stream:
        if wanted.form is RulesFormat.HTML:
            stream.write(differences_page(chosen, names, title=wanted.title))
        elif wanted.form is RulesFormat.JSON:
            stream.writelines(json.dumps(one.to_dict(), ensure_ascii=False) + "\n" for one in chosen)
        else:
            write_tsv(stream, (DIFFERENCE_COLUMNS, *difference_rows(chosen)), otherwise="Use --format json.")


_COLOURS = {"delete": "red", "insert": "green", "substitute": "yellow"}


def operation_table(chosen: Sequence[Any]) -> Table:
    """Operation table in the order given, with what the model knows of each: probability and cost, or log-odds."""
    names = list(chosen[0].numbers) if chosen else []
    table = Table("operation", *names, title="strongest operations")
    for one in chosen:
        numbers = (
            f"{number:.4f}" if name == "probability" else f"{number:.2f}" for name, number in one.numbers.items()
        )
        table.add_row(f"[{_COLOURS[one.kind]}]{escape(str(one))}[/]", *numbers)
    return table


class Kind(StrEnum):
    """Operation kind filter."""

    DELETE = "delete"
    INSERT = "insert"
    SUBSTITUTE = "substitute"


def operations(
    model: ModelPath,
    top: Annotated[
        int | None, typer.Option(min=1, help="How many, most probable first; by default 20, of --costs all.")
    ] = None,
    kind: Annotated[Kind | None, typer.Option(help="Only operations of this kind.", show_default=False)] = None,
    costs: Annotated[
        bool,
        typer.Option(
            "--costs",
            help="Write all operations as TSV (operation, source, target, cost): the costs of a plain weighted "
            "Levenshtein distance, minus log-probabilities, smoothed, with `<unk>` for other symbols.",
        ),
    ] = False,
    output: Output = None,
) -> None:
    """List the learned operations, or export them as costs.

    Of an edit distance they have probabilities and costs; of odds log-odds, evidence for a match above 0, against it
    below. As TSV: operation, source, target and the probability, the cost or the log-odds.
    """
    chosen = [one for one in _learned(model, costs=costs) if kind in (None, one.kind)]
    chosen = chosen[: top or (None if costs else 20)]
    if not costs and output is None:
        out.print(operation_table(chosen))
        return
    with open_output(output) as stream:
        numbers = (f"{one.cost:.6f}" if costs else _first_number(one) for one in chosen)
        write_tsv(stream, ((one.kind, one.source, one.target, n) for one, n in zip(chosen, numbers, strict=True)))


def _first_number(one: Any) -> str:
    name, number = next(iter(one.numbers.items()))
    return f"{number:.8f}" if name == "probability" else f"{number:.6f}"


def _learned(path: Path, *, costs: bool) -> Sequence[Any]:
    """Operations that a model has learned. Raises `NotExplainableError` for one without a table of them."""
    learned: Any = load_model(path)
    if not can(learned, Capability.OPERATIONS):
        raise NotExplainableError(
            f"{path}: a model of kind {learned.kind} has no table of operations{_instead(path, learned)}"
        )
    if costs and not can(learned, Capability.COSTS):
        raise ArgumentError("--costs", got=f"{path}, whose operations have log-odds", expected="an edit distance")
    return learned.costs() if costs else learned.operations()  # type: ignore[no-any-return]


def _instead(path: Path, model: Model) -> str:
    """What shows the operations of a model that has no table of them."""
    folder = shlex.quote(str(path))
    if can(model, Capability.RULES):
        return f"; those that it uses are counted by: nsed rules {folder} PAIRS"
    return f"; those of a pair: nsed align {folder} PAIRS" if can(model, Capability.ALIGN) else ": it has learned none"
