"""`nsed serve`, as users type it, in a process of its own."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.errors import ArgumentError, DataError, MissingExtraError, ModelFileError
from nsed.web import command as serve


def run(*arguments):
    result = CliRunner().invoke(app, ["serve", *map(str, arguments)])
    assert result.exit_code != 0
    raise result.exception


@pytest.fixture
def folder(tmp_path):
    nsed.LearnableEditDistance.fit([("colour", "color"), ("grey", "gray")] * 4).save(tmp_path / "spelling")
    (tmp_path / "pairs.tsv").write_text("colour\tcolor\ngrey\tgray\n")
    return tmp_path


@pytest.mark.slow
def test_it_serves_models_with_rules_and_overrides(folder):
    files = ["--rules-data", f"spelling={folder / 'pairs.tsv'}", "--overrides", folder / "pairs.tsv"]
    command = [sys.executable, "-m", "nsed", "serve", folder / "spelling", "--port", "0", *files]
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True) as process:
        try:
            told = re.fullmatch(r"serving spelling at (http://127\.0\.0\.1:\d+/) .*\n", process.stderr.readline())
            models = httpx.get(f"{told[1]}api/models", timeout=60).json()
        finally:
            process.terminate()
    assert models["models"][0]["examples"][0] == {"source": "colour", "target": "color"}
    assert models["overrides"] == 2


def journey(title):
    """The commands of the documentation below a title, for a shell."""
    page = (Path(__file__).parents[2] / "docs/serve.md").read_text(encoding="utf-8")
    return re.search(rf"# {title}\n.*?```sh\n(.*?)```", page, flags=re.DOTALL)[1]


COLLEAGUES = '"name":"spelling"', '"target":"R EH D"', '"text":"h o n o -u r"', '"status":"ok"', '"code":"foreign_host"'
KEYS = '"code":"no_key"', '"name":"g2p-en"'


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize(("title", "told"), [("A page for colleagues", COLLEAGUES), ("An API key", KEYS)])
def test_journeys_of_the_documentation(tmp_path, title, told):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    commands = journey(title).replace(":8000/", f":{port}/").replace("nsed serve ", f"nsed serve --port {port} ")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    shell = ["bash", "-euc", f"trap 'kill $!' ERR\n{commands}\nwait $! || [ $? = {128 + signal.SIGTERM} ]"]
    shown = subprocess.run(
        shell, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300, check=True
    )
    assert [one for one in told if one not in shown.stdout] == []
    assert "Traceback" not in shown.stderr


def test_without_the_extra_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(serve, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"fastapi is not installed: pip install .*\[web\]"):
        run()


def test_mistakes_are_told_before_anything_is_served(folder):
    with pytest.raises(ModelFileError):
        run(folder / "nowhere")
    with pytest.raises(ArgumentError, match="MODEL=FILE, MODEL one of: spelling"):
        run(folder / "spelling", "--rules-data", folder / "pairs.tsv")
    with pytest.raises(ArgumentError, match="two models named spelling"):
        run(folder / "spelling", folder / "spelling")
    with pytest.raises(ArgumentError, match="--allow-host: got 'http://words/', expected the name of a host"):
        run(folder / "spelling", "--allow-host", "http://words/")
    (folder / "twice.tsv").write_text("a\tb\na\tb\n")
    with pytest.raises(DataError, match="has the target 'b' already"):
        run(folder / "spelling", "--exceptions", folder / "twice.tsv")


def test_a_port_that_is_taken(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ArgumentError, match=f"port {port}: Address already in use"):
            run(folder / "spelling", "--port", port)
