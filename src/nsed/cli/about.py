"""`nsed demo`, `models`, `mix`, `export` and `doctor`: what nsed is, the models at hand, for others too, what runs."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from nsed import __version__
from nsed.capabilities import Capability, can
from nsed.cli.arguments import ModelPath, load_model
from nsed.cli.console import out
from nsed.errors import ArgumentError, ModelFileError

Ranking = Literal["mean", "product"]
ExportFormat = Literal["onnx", "json", "rapidfuzz", "duckdb"]


def demo(
    seed: Annotated[int, typer.Option(min=0, help="Another number gives other pairs and other weights.")] = 0,
) -> None:
    """Train two small Matchers and a small Transducer, in under a minute on two cores; see what they learned."""
    from nsed.cli.demo import show_demo

    show_demo(seed)


def models(
    name: Annotated[str | None, typer.Argument(help="Show the card of this model.", show_default=False)] = None,
) -> None:
    """List the models that come with nsed; every command takes their names instead of a folder."""
    from nsed.models.persistence import shipped_models
    from nsed.registry import did_you_mean

    known = shipped_models()
    if name is None:
        table = Table("name", "what it does", "size", box=None, pad_edge=False)
        for model in known.values():
            table.add_row(model.name, model.title, f"{model.size / 1e6:.1f} MB")
        out.print(table)
        return
    if name not in known:
        expected = f"one of {', '.join(known)}"
        raise ArgumentError("NAME", got=name, expected=expected, advice=did_you_mean(name, known))
    out.print(known[name].card, markup=False, end="")


def mix(
    output: Annotated[Path, typer.Argument(help="Folder for the mixture.", show_default=False)],
    models: Annotated[
        list[Path],
        typer.Argument(help="Folders or names of transducers, or of matchers, two or more.", show_default=False),
    ],
    ranking: Annotated[
        Ranking,
        typer.Option(
            help="Of transducers; mean: by the mixture's own probability; product: by the product of the members', "
            "which is no model's probability. Scores are the mixture's in either case."
        ),
    ] = "mean",
    validation: Annotated[
        Path | None,
        typer.Option(
            help="Of matchers: labelled pairs that no member learned from, for their weights, the threshold and "
            "calibrated probabilities; without them, all members count alike.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make one model of several, a mixture, that answers as they do.

    The probability of transducers is the mean of theirs; the log-odds of matchers (a table and a network, say) are a
    weighted sum of theirs. Members may read in different directions, see `direction` in
    `nsed train --model transducer --print-config`. `nsed train --models 5` trains and mixes at once.
    """
    from nsed.models.persistence import load
    from nsed.train.run_folder import RunFolder

    if RunFolder(output).has_model or RunFolder(output).is_unfinished:
        raise ModelFileError(output, "there is a model here already: choose another folder")
    mixture = load(models)
    _mixed(mixture, ranking, validation).save(output)
    out.print(f"saved to {output}", markup=False)


def export(
    model: ModelPath,
    output: Annotated[Path, typer.Argument(help="Folder for the files; it is made if need be.", show_default=False)],
    format_: Annotated[
        ExportFormat,
        typer.Option(
            "--format",
            help="onnx: graphs of a transducer, mixture or matcher; json, rapidfuzz (a Python module), duckdb (SQL): "
            "costs of a weighted Levenshtein distance, of an edit distance or a matcher in odds form.",
        ),
    ] = "onnx",
) -> None:
    """Write a model for other programs: ONNX graphs, or tables of a weighted Levenshtein distance.

    Graphs take any batch and any length; `export.json` says how strings become their inputs. ONNX needs the extra
    `onnx`. A model folder itself runs without torch: see nsed-lite.
    """
    from nsed.export import export_model

    for path in export_model(load_model(model), output, format=format_):
        out.print(f"{path}  {path.stat().st_size / 1e6:.2f} MB", markup=False, highlight=False)


def _mixed(mixture: Any, ranking: Ranking, validation: Path | None) -> Any:
    """Mixture as it is wanted: ranked, or with weights by labelled pairs."""
    from nsed.text import read_pairs

    if can(mixture, Capability.MATCH):
        return mixture if validation is None else type(mixture).of(mixture.members, read_pairs(validation))
    if validation is not None:
        expected = "nothing beside transducers, whose probabilities are averaged"
        raise ArgumentError("--validation", got=validation, expected=expected)
    return mixture.ranked_by(ranking)


EXTRAS = {
    "cpu": ("numba", "compiled lattices, pair features, recurrent layers and bulk scores on a CPU"),
    "train": ("lightning", "several devices, TensorBoard"),
    "cognates": ("infomap", "clusters by Infomap"),
    "align": ("eflomal", "reference alignments, nsed data align; Phonetisaurus, a peer for pronunciations"),
    "sklearn": ("sklearn", "estimators for scikit-learn"),
    "link": ("duckdb", "models as functions of SQL, comparisons for Splink"),
    "spark": ("pyspark", "scores of a cluster's tables"),
    "onnx": ("onnx", "nsed export: graphs for onnxruntime"),
    "web": ("fastapi", "nsed serve: a page and a JSON API"),
    "viz": ("matplotlib", "pictures of learning curves and of explanations as files"),
}


def doctor(
    model: Annotated[
        str | None, typer.Argument(help="A model, to say which kernel scores its pairs.", show_default=False)
    ] = None,
) -> None:
    """Say which versions and devices are here, which implementation of each kernel runs, why, and what extras add."""
    import torch

    import nsed.lattice  # noqa: F401  # its scalar backend is one of those that can be forced
    from nsed.kernels.dispatch import report
    from nsed.kernels.switch import BACKENDS, VARIABLE, wanted

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_row("nsed", f"{__version__}, Python {platform.python_version()}, torch {torch.__version__}")
    table.add_row("processor", f"{os.cpu_count()} cores, torch uses {torch.get_num_threads()} threads")
    table.add_row("GPU", _gpu())
    table.add_row("kernels", f"{wanted()} ({VARIABLE} or nsed.use_backend force one of {', '.join(BACKENDS)})")
    for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
        for choice in report(torch.device(device)):
            table.add_row(f"{choice.kernel} on {device}", f"{choice.backend}: {choice.reason}")
    if model is not None:
        table.add_row(f"scores of {Path(model).name}", _scoring(model))
    for extra, (package, what) in EXTRAS.items():
        table.add_row(f"extra {extra}", f"{_installed(package)}: {what}")
    out.print(table)


def _scoring(model: str) -> str:
    """Which kernel scores the pairs of a model, by which backend, and why."""
    from nsed.models.persistence import load

    loaded = load(model)
    members = getattr(loaded, "members", (loaded,))
    return "; ".join(dict.fromkeys(map(_kernel_of, members)))


def _kernel_of(model: Any) -> str:
    if not can(model, Capability.RULES):
        return f"no kernel: {model.kind} has no lattices"
    choice = model.scoring_kernel()
    return f"{choice.kernel} by {choice.backend}: {choice.reason}"


def _gpu() -> str:
    import torch

    if not torch.cuda.is_available():
        return "none that torch can use"
    return f"{torch.cuda.get_device_name()}, steps of training are recorded as CUDA graphs"


def _installed(package: str) -> str:
    if find_spec(package) is None:
        return f"{package} is not installed"
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package
