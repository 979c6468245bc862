"""Reference pages of the site, made of the code: commands, settings, public names, errors, benchmarks.

`mkdocs build` asks for them; nothing of them is kept in the repository, so nothing of them can be old.
"""

import ast
import inspect
import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import nsed
from nsed import errors
from nsed.__main__ import SERVE
from nsed.cli.commands import COMMANDS, DATA_COMMANDS, EXAMPLES, WITHIN, real_command
from nsed.config import Config, field_help

ROOT = Path(__file__).parents[1]
ROOMS = (
    "nsed.jobs",
    "nsed.text",
    "nsed.datasets",
    "nsed.evaluate",
    "nsed.evaluate.report",
    "nsed.explain",
    "nsed.baselines",
    "nsed.encoders",
    "nsed.lattice",
    "nsed.sklearn",
    "nsed.duckdb",
    "nsed.spark",
)
"""Modules with public names of their own, beside those of `nsed`."""
ELSEWHERE = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "src/nsed/lattice/README.md": "reference/lattice-tables.md",
}
"""Documents that stand where they are needed, and which page of the site each one is."""


class Page(NamedTuple):
    """Generated page: its title in the navigation, its Markdown, and where it stands there."""

    title: str
    text: str
    group: str = ""
    section: str = "Reference"


@cache
def generated_pages() -> dict[str, Page]:
    """All pages by their paths, in the order of the navigation."""
    return {
        "reference/nsed.md": Page("nsed", _names_page("nsed", _public_names("nsed")), "Python"),
        **{f"reference/{room}.md": Page(room, _names_page(room, _public_names(room)), "Python") for room in ROOMS},
        "reference/errors.md": Page("nsed.errors", _errors_page(), "Python"),
        "reference/settings.md": Page("Settings", _settings_page()),
        **{f"reference/commands/{slug}.md": page for slug, page in _command_pages()},
        "reference/benchmarks.md": Page("Benchmarks", _benchmarks_page(), section="Research"),
    }


# --- Python -----------------------------------------------------------------------------------------------------------


def _public_names(module: str) -> list[str]:
    """What `__all__` lists, read without an import: an extra may be missing."""
    path = ROOT / "src" / module.replace(".", "/")
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [name for name in ast.literal_eval(node.value) if not name.startswith("__")]
    raise AssertionError(f"{module} has no __all__")


def _names_page(module: str, names: Iterable[str]) -> str:
    """Page of a module, each public name with its docstring; settings have a page of their own."""
    shown = [name for name in names if not name.endswith("Config")]
    parts = [f"# {module}", inspect.cleandoc(_docstring(module))]
    if module == "nsed":
        placed = {name for members in THEMES.values() for name in members}
        themes = {**THEMES, "More": [name for name in shown if name not in placed]}
        for theme, members in themes.items():
            parts += [f"## {theme}", *(f"::: {module}.{name}" for name in members)] if members else []
    else:
        parts += [f"::: {module}.{name}" for name in shown]
    if len(shown) < len(list(names)):
        parts.append("Classes of settings are on the page of [settings](settings.md).")
    return "\n\n".join(parts) + "\n"


THEMES = {
    "Models": ["load", "Transducer", "Matcher", "OddsMatcher", "LearnableEditDistance", "Mixture", "Overrides"],
    "To compare with": ["Seq2Seq", "PairClassifier"],
    "Pairs and answers": ["Pairs", "read_pairs", "Edit", "EditScript", "Explanation"],
    "Many strings": ["Candidates", "cdist", "extract", "extract_one"],
    "The lattice": ["EditLattice", "use_backend"],
    "Errors": ["NsedError", "UnknownSymbolWarning"],
}
"""Public names of `nsed` by what they are for; a new one that is not here stands under More."""


def _docstring(module: str) -> str:
    path = ROOT / "src" / module.replace(".", "/")
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""


def _errors_page() -> str:
    tree = inspect.getdoc(errors) or ""
    classes = [name for name, one in vars(errors).items() if isinstance(one, type) and one.__module__ == "nsed.errors"]
    first, _, drawn = tree.partition("\n\n")
    parts = ["# nsed.errors", first, f"```text\n{drawn}\n```", *(f"::: nsed.errors.{name}" for name in classes)]
    return "\n\n".join(parts) + "\n"


# --- Settings ---------------------------------------------------------------------------------------------------------


def _settings_page() -> str:
    """Page of all settings: for each class a table of names, kinds, defaults and meanings."""
    configs = [getattr(nsed, name) for name in nsed.__all__ if name.endswith("Config")]
    parts = [
        "# Settings",
        "Every setting is a keyword of `fit` (`encoder__dim=64`), a key of a YAML file (`encoder: {dim: 64}`) and an "
        "option of `nsed train` (`--set encoder.dim=64`). [Training](../train.md) says how they go together; "
        "`nsed train --model KIND --print-config` prints them with these words.",
    ]
    return "\n\n".join([*parts, *(_settings_of(one) for one in configs)]) + "\n"


def _settings_of(config: type[Config]) -> str:
    hints, helps = get_type_hints(config), field_help(config)
    rows = [
        f"| `{field.name}` | {_kind(hints[field.name])} | {_default(field)} | {_cell(helps.get(field.name, ''))} |"
        for field in fields(config)
    ]
    head = ["| setting | kind | default | |", "|---|---|---|---|"]
    about = inspect.getdoc(config) or ""
    return "\n\n".join([f"## {config.__name__}", about, "\n".join([*head, *rows])])


def _kind(hint: Any) -> str:
    if isinstance(hint, type) and issubclass(hint, Config):
        return f"[{hint.__name__}](#{hint.__name__.lower()})" if hint.__name__ in nsed.__all__ else hint.__name__
    if get_origin(hint) is not None and get_args(hint) and all(isinstance(one, str) for one in get_args(hint)):
        return ", ".join(f"`{one}`" for one in get_args(hint))
    return f"`{getattr(hint, '__name__', str(hint))}`" if isinstance(hint, type) else _cell(f"`{hint}`")


def _default(field: Any) -> str:
    value = field.default if isinstance(field.default, (int, float, str, bool, type(None))) else None
    return "" if value is None else f"`{value}`" if value != "" else "empty"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


# --- Commands ---------------------------------------------------------------------------------------------------------


def _command_pages() -> Iterator[tuple[str, Page]]:
    """A page for each command, as its `--help` has it."""
    everything = {**COMMANDS, **WITHIN, "serve": ("nsed.web.command:serve", SERVE)}
    everything |= {f"data {name}": entry for name, entry in DATA_COMMANDS.items()}
    for words, (target, _) in everything.items():
        yield words.replace(" ", "-"), Page(f"nsed {words}", command_page(words, target), "Commands")


def command_page(words: str, target: str) -> str:
    """Markdown of one command: what it does, how it is called, arguments, options, examples."""
    command = real_command(words.rpartition(" ")[2], target, words)
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    usage = " ".join([f"nsed {words}", "[OPTIONS]", *(_placed(one) for one in arguments)])
    parts = [f"# nsed {words}", inspect.cleandoc(command.help or ""), f"```text\n{usage}\n```"]
    if EXAMPLES.get(words):
        parts += ["## Examples", "\n".join(["```sh", *EXAMPLES[words], "```"])]
    if arguments:
        rows = [f"| `{one.name.upper().strip('_')}` | {_cell(one.help or '')} |" for one in arguments]
        parts += ["## Arguments", "\n".join(["| argument | |", "|---|---|", *rows])]
    rows = [f"| {_flags(one)} | {_cell(one.help or '')}{_shown_default(one)} |" for one in options]
    parts += ["## Options", "\n".join(["| option | |", "|---|---|", *rows])] if rows else []
    return "\n\n".join(parts) + "\n"


def _placed(argument: Any) -> str:
    name = argument.name.upper().strip("_") + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _flags(option: Any) -> str:
    names = [*option.opts, *option.secondary_opts]
    return ", ".join(f"`{name}`" for name in sorted(names, key=len, reverse=True))


def _shown_default(option: Any) -> str:
    value = option.default
    if value is None or value is False or value == [] or callable(value) or not option.show_default:
        return ""
    return f" *Default:* `{value}`."


# --- Benchmarks -------------------------------------------------------------------------------------------------------


def _benchmarks_page() -> str:
    """Page of all figures in `benchmarks/results`, with the machine that each was measured on."""
    parts = [
        "# Benchmarks",
        "Every figure that `nsed bench` has saved in `benchmarks/results`, made into tables when this site is built. "
        "[Speed](../speed.md) has the most important ones in context.",
    ]
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(found.get("figures"), dict):
            parts.append(_benchmark(path.stem, found))
    return "\n\n".join(parts) + "\n"


def _benchmark(name: str, found: dict[str, Any]) -> str:
    machine = found.get("machine", {})
    where = f"{machine.get('device', '?')}, {machine.get('threads', '?')} threads, torch {machine.get('torch', '?')}"
    rows = [_figure_row(title, one) for title, one in found["figures"].items() if isinstance(one, dict)]
    head = ["| | p20 | median | p80 | unit | ratio |", "|---|---|---|---|---|---|"]
    return "\n\n".join([f"## {name}", f"Measured on {where}.", "\n".join([*head, *rows])])


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _figure_row(title: str, one: dict[str, Any]) -> str:
    p20, p50, p80 = (_number(one[key]) if key in one else "" for key in ("p20", "p50", "p80"))
    ratio = f"{one['ratio']:,.3g} ({one.get('ratio is', 'ratio')})" if "ratio" in one else ""
    return f"| {_cell(title)} | {p20} | {p50} | {p80} | {one.get('unit', '')} | {ratio} |"
