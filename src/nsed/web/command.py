"""`nsed serve`: models behind a page and a JSON API."""

from __future__ import annotations

import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nsed.cli.console import err, progress_bar
from nsed.errors import ArgumentError, CutOutputWarning, MissingExtraError, UnknownSymbolWarning
from nsed.web.limits import Limits

if TYPE_CHECKING:
    from nsed.web.served_models import ServedModel


ModelsOption = Annotated[
    list[str] | None,
    typer.Argument(
        help="Folders of saved models, or names of shipped ones; without any, all shipped ones.",
        show_default=False,
    ),
]
AllowHostOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Name by which others reach this server, which refuses requests to other names; repeatable.",
        show_default=False,
    ),
]
OverridesOption = Annotated[
    Path | None,
    typer.Option(
        "--overrides",
        "--exceptions",
        help="File of pairs whose targets come first, whatever the model says.",
        show_default=False,
    ),
]
RulesDataOption = Annotated[
    list[str] | None,
    typer.Option(
        help="MODEL=FILE: pairs in which the rules of a model are counted before it is served; repeatable.",
        show_default=False,
    ),
]
MaxConnectionsOption = Annotated[int, typer.Option(min=1, help="Connections; beyond it, the slowest one makes room.")]
HeadTimeoutOption = Annotated[
    float, typer.Option(min=0.1, help="Seconds in which the head of a request must have come.")
]
BodyTimeoutOption = Annotated[
    float,
    typer.Option(min=0.1, help="Seconds in which the body must have come, and in which an answer must be read."),
]
ThreadsOption = Annotated[int, typer.Option(min=1, help="Threads that compute; on a CPU more than one rarely helps.")]


def serve(
    models: ModelsOption = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 is every one.")] = "127.0.0.1",
    allow_host: AllowHostOption = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    overrides: OverridesOption = None,
    rules_data: RulesDataOption = None,
    max_items: Annotated[int, typer.Option(min=1, help="Strings, or pairs, in a request.")] = Limits.items,
    max_length: Annotated[int, typer.Option(min=1, help="Characters of a string.")] = Limits.length,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that a request may take.")] = Limits.timeout,
    max_connections: MaxConnectionsOption = Limits.connections,
    head_timeout: HeadTimeoutOption = Limits.head_timeout,
    body_timeout: BodyTimeoutOption = Limits.body_timeout,
    threads: ThreadsOption = Limits.threads,
) -> None:
    """Serve models: a page to try them, a JSON API below /api, its description at /openapi.json.

    The page's Match view needs a matcher, and its Rules view pairs: --rules-data, or those that someone pastes.
    """
    _check_installed()
    import torch

    from nsed.models.persistence import shipped_models
    from nsed.models.transduction import Overrides
    from nsed.web.served_models import NO_OVERRIDES, ServedModel
    from nsed.web.server import run_server

    for category in (UnknownSymbolWarning, CutOutputWarning):
        warnings.simplefilter("ignore", category)  # who asks is told
    torch.set_num_threads(1)  # words are short: more threads only wait for each other
    read = [one for path in models or shipped_models() for one in ServedModel.read(path).by_language()]
    served = _with_rules(read, rules_data or [])
    known = NO_OVERRIDES if overrides is None else Overrides.read(overrides)
    limits = Limits(
        items=max_items,
        length=max_length,
        timeout=timeout,
        threads=threads,
        connections=max_connections,
        head_timeout=head_timeout,
        body_timeout=body_timeout,
    )
    for one in served:
        one.warm_up()
    names = ", ".join(one.name for one in served)
    run_server(served, limits, known, hosts=allow_host or [], host=host, port=port, on_start=partial(_say, names))


def _say(names: str, address: str) -> None:
    err.print(f"serving {names} at {address} (Ctrl-C stops)")


def _check_installed() -> None:
    for package in ("fastapi", "uvicorn"):
        if find_spec(package) is None:
            raise MissingExtraError(package, extra="web")


def _with_rules(served: list[ServedModel], given: list[str]) -> list[ServedModel]:
    """Models with rules: those that are named get the rules in their file."""
    files = dict(_named(one, [model.name for model in served]) for one in given)
    return [_counted(one, files[one.name]) if one.name in files else one for one in served]


def _named(given: str, names: list[str]) -> tuple[str, Path]:
    name, _, file = given.partition("=")
    if name not in names or not file:
        raise ArgumentError("--rules-data", got=given, expected=f"MODEL=FILE, MODEL one of: {', '.join(names)}")
    return name, Path(file)


def _counted(served: ServedModel, path: Path) -> ServedModel:
    served.check("rules")
    from nsed.text import read_pairs

    pairs = read_pairs(path)
    with progress_bar(f"reading rules of {served.name}", len(pairs)) as bar:
        return served.with_rules(pairs, on_batch=bar.advance)
