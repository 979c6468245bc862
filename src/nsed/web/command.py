"""`nsed serve`, models behind a page and a JSON API, and `nsed label`, which asks for answers to learn from."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nsed.cli.arguments import Columns, load_model, split_columns
from nsed.cli.console import err, out, progress_bar
from nsed.errors import ArgumentError, CutOutputWarning, DataError, MissingExtraError, UnknownSymbolWarning
from nsed.web.limits import ApiKeys, Limits, is_address

if TYPE_CHECKING:
    from fastapi import FastAPI

    from nsed.jobs import LabelSession
    from nsed.text import Pairs
    from nsed.web.served_models import ServedModel
    from nsed.web.telemetry import Metrics


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
        help="File of pairs whose targets come first, whatever the model says.",
        show_default=False,
    ),
]
FormerOverridesOption = Annotated[Path | None, typer.Option("--exceptions", hidden=True)]
"""The old name of `--overrides`, until 2.0."""
RulesDataOption = Annotated[
    list[str] | None,
    typer.Option(
        help="MODEL=FILE: pairs in which the rules of a model are counted before it is served; repeatable.",
        show_default=False,
    ),
]
MaxConnectionsOption = Annotated[
    int, typer.Option(min=1, help="Most connections at once; beyond it, the slowest one is closed.")
]
HeadTimeoutOption = Annotated[float, typer.Option(min=0.1, help="Seconds until the head of a request must have come.")]
BodyTimeoutOption = Annotated[
    float,
    typer.Option(min=0.1, help="Seconds in which the body must have come, and in which an answer must be read."),
]
StopTimeoutOption = Annotated[float, typer.Option(min=0, help="Seconds for requests in flight after SIGTERM, Ctrl-C.")]
ThreadsOption = Annotated[int, typer.Option(min=1, help="Threads that compute; on a CPU more than one rarely helps.")]
WorkersOption = Annotated[int, typer.Option(min=1, help="Processes; models are loaded and limits hold for each.")]
ApiKeyFileOption = Annotated[
    Path | None,
    typer.Option(
        help="File of API keys, one per line; without it the one in NSED_API_KEY, or none.", show_default=False
    ),
]
LogFormatOption = Annotated[
    Literal["text", "json"] | None,
    typer.Option(help="Log every request, without strings of users; by default what goes wrong.", show_default=False),
]


def serve(
    models: ModelsOption = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 is every one.")] = "127.0.0.1",
    allow_host: AllowHostOption = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    overrides: OverridesOption = None,
    exceptions: FormerOverridesOption = None,
    rules_data: RulesDataOption = None,
    max_items: Annotated[int, typer.Option(min=1, help="Strings, or pairs, in a request.")] = Limits.items,
    max_length: Annotated[int, typer.Option(min=1, help="Characters of a string.")] = Limits.length,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that a request may take.")] = Limits.timeout,
    max_connections: MaxConnectionsOption = Limits.connections,
    head_timeout: HeadTimeoutOption = Limits.head_timeout,
    body_timeout: BodyTimeoutOption = Limits.body_timeout,
    stop_timeout: StopTimeoutOption = Limits.stop,
    threads: ThreadsOption = Limits.threads,
    workers: WorkersOption = 1,
    api_key_file: ApiKeyFileOption = None,
    log_format: LogFormatOption = None,
) -> None:
    """Serve models: a page to try them, a JSON API below /api, its description at /openapi.json.

    The page's Match view needs a matcher, and its Rules view pairs: --rules-data, or those that someone pastes.
    /healthz and /readyz are probes of liveness and readiness, /metrics has figures for Prometheus.
    """
    check_installed()
    from nsed.web.server import run_server

    limits = Limits(
        items=max_items,
        length=max_length,
        timeout=timeout,
        threads=threads,
        connections=max_connections,
        head_timeout=head_timeout,
        body_timeout=body_timeout,
        stop=stop_timeout,
    )
    own_name = [] if host in ("", "localhost") or is_address(host) else [host]
    make = partial(
        _application,
        models=models,
        limits=limits,
        overrides=overrides or exceptions,
        rules_data=rules_data or [],
        hosts=[*own_name, *(allow_host or [])],
        keys=ApiKeys.given(api_key_file),
    )
    say = partial(_say, models, log_format)
    run_server(make, limits, host=host, port=port, workers=workers, log_format=log_format, on_start=say)


def _application(
    metrics: Metrics,
    *,
    models: list[str] | None,
    limits: Limits,
    overrides: Path | None,
    rules_data: list[str],
    hosts: list[str],
    keys: ApiKeys | None,
) -> FastAPI:
    """Application of a process, its models loaded and warm."""
    import torch

    from nsed.models.persistence import shipped_models
    from nsed.models.transduction import Overrides
    from nsed.web.app import make_app
    from nsed.web.served_models import NO_OVERRIDES, ServedModel

    for category in (UnknownSymbolWarning, CutOutputWarning):
        warnings.simplefilter("ignore", category)  # who asks is told
    torch.set_num_threads(1)  # words are short: more threads only wait for each other
    read = [one for path in models or shipped_models() for one in ServedModel.read(path).by_language()]
    served = _with_rules(read, rules_data)
    known = NO_OVERRIDES if overrides is None else Overrides.read(overrides)
    app = make_app(served, limits, known, hosts=hosts, keys=keys, metrics=metrics)
    for one in served:
        one.warm_up()
    return app


def _say(models: list[str] | None, log_format: str | None, address: str) -> None:
    from nsed.models.persistence import shipped_models
    from nsed.web.telemetry import log

    names = [Path(one).resolve().name for one in models or shipped_models()]
    if log_format == "json":
        log("start", address=address, models=names)
    else:
        err.print(f"serving {', '.join(names)} at {address} (Ctrl-C stops)")


def check_installed() -> None:
    """Raise `MissingExtraError` where what a server needs is not installed."""
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


PairsFile = Annotated[
    Path,
    typer.Argument(
        help="File of pairs without labels, those to choose questions from; with --against, of strings.",
        show_default=False,
    ),
]
Folder = Annotated[Path, typer.Argument(help="Folder for the Matcher.", show_default=False)]
AnswersOption = Annotated[
    Path | None,
    typer.Option(
        "--answers",
        help="File of answers, labelled pairs, to go on with and to append to; by default FOLDER.answers.tsv.",
        show_default=False,
    ),
]
Against = Annotated[
    Path | None,
    typer.Option(help="Second list: pairs are the best candidates of each string of the first.", show_default=False),
]
OnColumn = Annotated[str | None, typer.Option("--on", "--column", help="Column of the strings, with --against.")]
K = Annotated[int, typer.Option("--k", min=1, help="Candidates of each string, with --against.")]
HeldOut = Annotated[
    Path | None,
    typer.Option(help="Labelled pairs to show F1 on; without, it is estimated from the answers.", show_default=False),
]
Simulate = Annotated[
    Path | None,
    typer.Option(help="Answer from these labelled pairs; a pair that is not there is none.", show_default=False),
]
Budget = Annotated[int | None, typer.Option(min=1, help="Answers, with earlier ones, after which to stop.")]
AssignOption = Annotated[
    Literal["one-to-one", "best", "all"],
    typer.Option(
        "--assign",
        help="Matches of a string: one on either side; best: one target of each source; or any number. What is learned "
        "of pairs without an answer depends on it.",
    ),
]
Start = Annotated[
    Path | None,
    typer.Option("--from", help="Model to choose the first questions by, say names; by default an untrained one."),
]
Every = Annotated[int, typer.Option(min=2, help="Answers between two trainings.")]
Web = Annotated[bool, typer.Option("--web", help="Ask on a page of this machine, 127.0.0.1; extra web.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 takes a free one.")]
KEYS = "[y]es [n]o [s]kip [u]ndo [q]uit: "


def label(
    pairs: PairsFile,
    folder: Folder,
    answers: AnswersOption = None,
    columns: Columns = None,
    against: Against = None,
    on: OnColumn = None,
    k: K = 5,
    held_out: HeldOut = None,
    simulate: Simulate = None,
    budget: Budget = None,
    assign: AssignOption = "best",
    start: Start = None,
    every: Every = 20,
    seed: Annotated[int, typer.Option(help="Another number asks other questions.")] = 0,
    web: Web = False,
    port: Port = 8000,
) -> None:
    """Ask for the most informative pairs, keep every answer at once, and write the Matcher that they teach.

    `nsed label candidates.tsv matcher` asks in the terminal, `--web` on a page. Each answer is a line of
    `matcher.answers.tsv` before the next question is asked; the same command goes on with them, after a kill too. Every
    20 answers a Matcher is trained, on them and on what they make of all other pairs, and its F1 is shown.
    """
    from nsed.jobs import LabelSession
    from nsed.text import read_pairs

    kept = answers or folder.with_name(folder.name + ".answers.tsv")
    _check(folder, kept, web=web, simulate=simulate)
    asked = _pool(pairs, against, columns=columns, on=on, k=k)
    session = LabelSession(
        asked,
        kept,
        held_out=None if held_out is None else read_pairs(held_out),
        start=None if start is None else load_model(start),
        assign=assign,
        every=every,
        background=simulate is None,
        seed=seed,
    )
    if session.answers:
        err.print(f"going on with {len(session.answers):,} answers", markup=False)
    if web:
        _on_a_page(session, folder, port, budget)
        return
    ask = _terminal if simulate is None else _gold(read_pairs(simulate))
    for _ in _asked(session, ask, budget):
        pass
    write_model(session, folder)


def _check(folder: Path, answers: Path, *, web: bool, simulate: Path | None) -> None:
    from nsed.jobs.labelling import is_of_answers

    if folder.exists() and not is_of_answers(folder, answers):
        expected = f"a new folder for the Matcher, or that of the one that the answers in {answers} have taught"
        raise ArgumentError("FOLDER", got=f"{folder}, which is there", expected=expected)
    if web and simulate is not None:
        raise ArgumentError("--web", got="--simulate beside it", expected="one of them")
    if web:
        check_installed()


def _pool(path: Path, against: Path | None, *, columns: str | None, on: str | None, k: int) -> Pairs:
    """Pairs to choose from: those of a file, or candidates of two lists."""
    from nsed.text import read_pairs

    if against is None:
        if on is not None:
            raise ArgumentError("--on", got=on, expected="--against FILE beside it; of pairs, --columns")
        return read_pairs(path, columns=split_columns(columns))
    from nsed.jobs.labelling import candidate_pairs
    from nsed.text.readers import read_sources

    texts, references = (read_sources(one, column=on).texts for one in (path, against))
    with progress_bar("looking for candidates", len(texts), unit="strings") as bar:
        return candidate_pairs(texts, references, k=k, on_batch=bar.advance)


Ask = Callable[["LabelSession"], bool | str | None]
"""From a session to the answer to its question: true or false, `skip` or `undo`; None ends it."""


def _asked(session: LabelSession, ask: Ask, budget: int | None) -> Iterator[None]:
    """Ask until someone has enough; F1 is told after each training."""
    told = 0
    while session.question() is not None and (budget is None or len(session.answers) < budget):
        given = ask(session)
        if given is None:
            return
        if isinstance(given, bool):
            session.answer(given)
        else:
            session.skip() if given == "skip" else session.undo()
        for one in session.learning_curve[told:]:
            err.print(str(one), markup=False)
        told = len(session.learning_curve)
        yield


def _terminal(session: LabelSession) -> bool | str | None:
    """Answer of a person: a line on standard input."""
    asked = session.question()
    assert asked is not None
    out.print(f"\n{len(session.answers) + 1}.  {asked.source}\n    {asked.target}", markup=False)
    known = {"y": True, "n": False, "s": "skip", "u": "undo", "q": None}
    while True:
        out.print(KEYS, markup=False, end="")
        line = sys.stdin.readline()
        if not line:
            return None
        if line.strip().lower()[:1] in known:
            return known[line.strip().lower()[:1]]  # type: ignore[return-value]  # mypy sees objects
        out.print("y, n, s, u or q is expected", markup=False)


def _gold(labelled: Pairs) -> Ask:
    """Answers from labelled pairs."""
    if labelled.labels is None:
        raise ArgumentError("--simulate", got="pairs without labels", expected="labelled ones")
    matches = {pair for pair, match in zip(labelled, labelled.labels, strict=True) if match}

    def ask(session: LabelSession) -> bool:
        asked = session.question()
        assert asked is not None
        return (asked.source, asked.target) in matches

    return ask


def write_model(session: LabelSession, folder: Path) -> None:
    """Train on all answers and all pairs, and write the Matcher; without answers of both kinds, say so."""
    if len({one.label for one in session.answers}) < 2:
        message = "no Matcher yet: it needs answers of both kinds; the same command goes on with those that are there"
        raise DataError(folder, message)
    err.print(f"learning from {len(session.answers):,} answers and all pairs ...", markup=False)
    session.write(folder)
    err.print(str(session.learning_curve[-1]), markup=False)
    out.print(f"{folder}: a Matcher; nsed match {shlex.quote(str(folder))} PAIRS", markup=False)


def _on_a_page(session: LabelSession, folder: Path, port: int, budget: int | None) -> None:
    from nsed.web.label_page import label_app
    from nsed.web.server import serve_app

    limits = Limits()

    def say(address: str) -> None:
        err.print(f"questions at {address} (Ctrl-C stops; answers are kept)", markup=False)

    serve_app(label_app(session, folder, limits, budget=budget), limits, host="127.0.0.1", port=port, on_start=say)
