"""What the README of nsed-lite shows runs as it stands, in Python and on the command line."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from nsed.models.persistence import shipped_models
from nsed_lite.__main__ import main

README = (Path(__file__).parents[2] / "lite" / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^    nsed-lite (.*)$", README, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the models that the README names, copied, which it says is as good as saved."""
    made = tmp_path_factory.mktemp("readme")
    for name in sorted(set(re.findall(r"models/([\w-]+)", README))):
        shutil.copytree(shipped_models()[name].path, made / "models" / name)
    return made


def test_snippets_run_and_print_what_their_comments_say(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    (snippet,) = SNIPPETS
    values = {}
    exec(compile(snippet, "lite/README.md", "exec"), values)
    (shown,) = re.findall(r"^print\(.*\)  # (.*)$", snippet, flags=re.MULTILINE)
    assert capsys.readouterr().out == shown + "\n"
    assert values["g2p"].transduce(["flagships"])[0][0].text == "F L AE G SH IH P S"
    assert values["names"].match([("moscow", "москва")]).tolist() == [True]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    words = shlex.split(command)
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == sum("=" in word for word in words) or words[0] == "transduce"
    assert all("\t" in line for line in lines)
    assert lines


def test_there_are_as_many_snippets_as_ever():
    assert len(SNIPPETS) == 1
    assert [command.split()[0] for command in COMMANDS] == ["transduce", "score", "match", "align"]


def test_every_file_of_the_code_is_in_the_table():
    named = set(re.findall(r"`(\w+\.py)`", README.partition("## The code")[2]))
    there = {path.name for path in (Path(__file__).parents[2] / "lite/src/nsed_lite").glob("*.py")}
    assert there - named <= {"__init__.py", "__main__.py"}
    assert named <= there
