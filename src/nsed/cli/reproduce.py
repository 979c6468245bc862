"""`nsed reproduce`: the paper's tables and figures again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nsed.errors import ArgumentError, NsedError

if TYPE_CHECKING:
    from nsed.reproduce.grid import TableCell
    from nsed.reproduce.runner import FinishedRun, Options, SeededRun

RECORDS = Path("results", "records")
"""That of `nsed.reproduce.records`."""
CONFIGS = Path("configs", "paper")
"""That of `nsed.reproduce.grid`."""


WhatOption = Annotated[
    list[str] | None,
    typer.Argument(
        help="table1 to table7, figure1 to figure5, honest, exact (beside tables 1 and 3), or all.", show_default=False
    ),
]
ProtocolOption = Annotated[
    str | None, typer.Option(help="Another split of word lists than the paper's, see nsed data cognates.")
]
ReadingOption = Annotated[
    str | None, typer.Option(help="Another reading of the paper's terms, a file of configs/paper/readings.")
]
PageOption = Annotated[
    Path | None, typer.Option(help="Write the page of all tables and figures here, pictures beside it.")
]
RedoCutOption = Annotated[bool, typer.Option("--redo-cut", help="Run again what was cut by --minutes or --until.")]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="A rehearsal: tiny models and toy pairs; no table shows such records.")
]
LinksOption = Annotated[
    Path | None, typer.Option(help="Folder that keeps the links which models find in g2p-cmudict; for Table 3.")
]
AlignmentsOption = Annotated[
    Path | None,
    typer.Option(help="Reference of these, see nsed data align: alignments of the kept links are scored by it."),
]


def reproduce(
    what: WhatOption = None,
    list_cells: Annotated[bool, typer.Option("--list", help="Name the cells, and do nothing.")] = False,
    only: Annotated[str, typer.Option(help="Only cells with this text in their names, see --list.")] = "",
    protocol: ProtocolOption = None,
    reading: ReadingOption = None,
    seeds: Annotated[str, typer.Option(help="Seeds of the training, between commas.")] = "0",
    jobs: Annotated[int, typer.Option(min=1, help="Runs side by side, each with one thread.")] = 1,
    minutes: Annotated[float | None, typer.Option(min=0.1, help="Time limit of each run, in minutes.")] = None,
    until: Annotated[float | None, typer.Option(min=1, help="Time limit of all runs together, in seconds.")] = None,
    render: Annotated[bool, typer.Option("--render", help="Only make tables, of the records that there are.")] = False,
    page: PageOption = None,
    redo_cut: RedoCutOption = False,
    quick: QuickOption = False,
    links: LinksOption = None,
    alignments: AlignmentsOption = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the records.")] = RECORDS,
    configs: Annotated[Path, typer.Option(help="Folder of the paper's settings.")] = CONFIGS,
) -> None:
    """Measure the paper's tables and figures again: train the models, keep a record of each run, show the records.

    Every run writes one small JSON: settings, seed, hashes of the data, versions, machine, seconds, parameters, figures
    of validation and test, and what was chosen by what. What has a record is not run again. The settings are those of
    the paper's appendix; the data sets must be here (`nsed data fetch`).
    """
    from nsed.reproduce.grid import chosen_cells
    from nsed.reproduce.measure import score_links
    from nsed.reproduce.runner import Options, jobs_of

    if not what and not list_cells and not render:
        raise ArgumentError("WHAT", got="nothing", expected="tables and figures to run, say table1; see --list")
    cells = _read_as(_on_protocol(chosen_cells(what or ["all"], only=only), protocol), reading)
    if not cells:
        raise ArgumentError("--only", got=repr(only), expected="a text that the names of some cells have, see --list")
    if list_cells:
        for cell in cells:
            typer.echo(cell.name)
        return
    if not render:
        options = Options(str(output), str(configs), quick, str(links) if links else None, redo_cut)
        todo = jobs_of([cell.run for cell in cells], _numbers(seeds), options)
        _run(todo, options, at_once=jobs, minutes=minutes, until=until)
    if links is not None and alignments is not None:
        score_links(output, links, alignments)
    if not quick:
        _render(cells, output, page)


def _on_protocol(cells: list[TableCell], protocol: str | None) -> list[TableCell]:
    if protocol is None:
        return cells
    return [cell._replace(run=replace(cell.run, protocol=protocol)) for cell in cells if cell.run.protocol is not None]


def _read_as(cells: list[TableCell], reading: str | None) -> list[TableCell]:
    """Cells in another reading of the paper's terms; without one, each in its own."""
    return [cell._replace(run=cell.run.read_as(reading)) for cell in cells] if reading else cells


def _run(todo: list[SeededRun], options: Options, *, at_once: int, minutes: float | None, until: float | None) -> None:
    from nsed.reproduce.runner import run_here, run_jobs

    failed: list[str] = []

    def tell(finished: FinishedRun) -> None:
        ended = finished.error.splitlines()[-1] if finished.error else "done"
        typer.echo(f"{finished.job.run.name} seed {finished.job.seed}: {ended} ({finished.seconds:.0f} s)")
        failed.extend([finished.job.run.name] if finished.error else [])

    if at_once > 1 or until is not None:
        run_jobs(todo, options, at_once=at_once, minutes=minutes, until=until, on_finished=tell)
    else:
        for finished in run_here(todo, options, minutes=minutes):
            tell(finished)
    if failed:
        raise NsedError(f"{len(failed)} of {len(todo)} runs have no record: {', '.join(failed)}")


def _numbers(seeds: str) -> list[int]:
    try:
        return [int(seed) for seed in seeds.split(",")]
    except ValueError:
        raise ArgumentError("--seeds", got=repr(seeds), expected="whole numbers between commas") from None


def _render(cells: list[TableCell], output: Path, page: Path | None) -> None:
    from nsed.reproduce.records import read_records
    from nsed.reproduce.render import render_tables, write_page

    records = read_records(output)
    typer.echo(render_tables(cells, records))
    if page is not None:
        write_page(page, records)
        typer.echo(f"{page}: all tables and figures")
