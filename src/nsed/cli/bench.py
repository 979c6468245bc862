"""`nsed bench`: speed and memory on this machine, in a checkout of the repository."""

import os
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import nsed
from nsed.cli.console import complain, err, out
from nsed.errors import NsedError

SOURCE = Path(nsed.__file__).parents[2]
"""The checkout, if nsed runs from one."""


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(help="What to measure; by default everything.", show_default=False)
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Say what can be measured, and stop.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, few rounds: to try it out.")] = False,
    device: Annotated[str, typer.Option(help="auto (a GPU if there is one), cpu or cuda.")] = "auto",
    data: Annotated[
        Path | None,
        typer.Option(
            envvar="NSED_DATA",
            exists=True,
            file_okay=False,
            help="Folder of the paper's data; without, random strings of such lengths.",
        ),
    ] = None,
    out_: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for the results; by default benchmarks/results.", show_default=False),
    ] = None,
) -> None:
    """Measure speed and memory here, against a loop over cells and a sequence-to-sequence twin.

    Every benchmark saves its figures as soon as it has them. The benchmarks are in the repository, not in the package.
    """
    from nsed.train.config import TrainConfig
    from nsed.train.strategy import chosen_device

    benchmarks = _package("registry").BENCHMARKS
    if list_:
        _show_list(benchmarks)
        return
    setting = _package("setting").Setting(chosen_device(TrainConfig(device=device)), quick, data)
    chosen = {name: benchmarks[name] for name in names or benchmarks}
    if not names:
        chosen = {name: one for name, one in chosen.items() if one.on_gpu or not setting.on_gpu}
    folder = out_ or (Path(tempfile.mkdtemp(prefix="nsed-bench-")) if quick else _package("results").FOLDER)
    reports = {name: _measured(name, one, setting, folder) for name, one in chosen.items()}
    out.print(_package("table").table({name: report for name, report in reports.items() if report}))
    _draw(folder, list(benchmarks), setting)
    if not all(reports.values()):
        raise typer.Exit(1)


def _package(module: str) -> Any:
    """Benchmark module, of those that are beside the source or in the current folder."""
    for folder in (SOURCE, Path.cwd()):
        if (folder / "benchmarks" / "registry.py").is_file():
            if str(folder) not in sys.path:
                sys.path.insert(0, str(folder))
            return import_module(f"benchmarks.{module}")
    where = os.fspath(Path.cwd())
    raise NsedError(f"no benchmarks in {where}: they are not in the package, run `nsed bench` in a checkout of nsed")


def _show_list(benchmarks: Any) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    for name in benchmarks:
        table.add_row(name, benchmarks[name].what)
    out.print(table)


def _measured(name: str, benchmark: Any, setting: Any, folder: Path) -> dict[str, Any]:
    """Benchmark report, saved; nothing if the benchmark failed, which must not cost the others their figures."""
    start = time.perf_counter()
    try:
        with err.status(f"measuring {name} on {setting.device}"):
            report: dict[str, Any] = benchmark.measure(setting)
    except Exception as error:
        complain(f"{name}: {type(error).__name__}: {error}")
        return {}
    path = _package("results").save(folder, name, setting, report)
    err.print(f"{name}: {time.perf_counter() - start:.0f} s, saved to {path}", markup=False)
    return report


def _draw(folder: Path, names: list[str], setting: Any) -> None:
    from nsed.train.run_folder import can_draw

    if not can_draw():
        err.print("no picture: matplotlib is not installed (pip install with the extra viz)", markup=False)
        return
    results = _package("results")
    path = folder / f"figures{results.suffix(setting)}.svg"
    _package("plot").draw(results.saved(folder, names, setting), path)
    err.print(f"drawn to {path}", markup=False)
