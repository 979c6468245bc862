"""Clean installations: `python -m tools.clean_installs`, wheel and sdist in fresh environments, each extra too.

Builds both, lets `twine check` look at them, installs each in a virtual environment of its own with the versions of
`constraints.txt`, and runs a few commands there that need the extra. What was found is kept in `results/installs.json`
after each environment, so that the same command goes on where it was stopped; what is in order is not done again while
the wheel and the constraints are the same.
"""

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONSTRAINTS = ROOT / "constraints.txt"
RESULTS = ROOT / "results" / "installs.json"
LIMIT = 1800
"""Seconds that a command may take."""
FILES = {
    "pairs.tsv": "colour\tcolor\nhonour\thonor\ngrey\tgray\n" * 4,
    "labelled.tsv": "colour\tcolor\t1\ngrey\tgray\t1\ncolour\tgray\t0\ngrey\tcolor\t0\n" * 4,
    "words.tsv": "DOCULECT\tCONCEPT\tTOKENS\nDutch\tarm\ta r m\nGerman\tarm\ta r m\nDutch\thand\th a n t\n",
    "one.yaml": "train: {steps: 2, validate_every: 1, logger: tensorboard}\nencoder: {kind: cnn, dim: 8}\n",
}
SERVER = """
import json, subprocess, urllib.request
command = ["nsed", "serve", "g2p-en", "--port", "0", "--log-format", "json"]
server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
address = json.loads(server.stderr.readline())["address"]
body = json.dumps({"model": "g2p-en", "sources": ["cat"]}).encode()
asked = urllib.request.Request(address + "api/transduce", body, {"Content-Type": "application/json"})
assert b"K AE T" in urllib.request.urlopen(asked).read()
assert b"nsed_strings_answered_total" in urllib.request.urlopen(address + "metrics").read()
server.terminate()
server.wait()
"""
SKLEARN = """
import nsed
from nsed.sklearn import StringPairClassifier
pairs = nsed.read_pairs("labelled.tsv")
print(StringPairClassifier("levenshtein").fit(list(pairs), pairs.labels).predict(list(pairs)[:4]))
"""
DUCKDB = """
import duckdb, nsed, nsed.duckdb, splink, recordlinkage
con = duckdb.connect()
nsed.duckdb.register(con, "similarity", nsed.LearnableEditDistance.fit([("colour", "color")]))
print(con.sql("select similarity('colour', 'color')").fetchall())
"""
SPARK = """
import nsed.spark
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
table = spark.createDataFrame([("colour", "color")], "a string, b string")
print(nsed.spark.score(table, nsed.LearnableEditDistance.fit([("colour", "color")]), columns=("a", "b")).collect())
"""
ALIGN = """
import nsed
from nsed.evaluate.alignment import statistical_links
split = nsed.LearnableEditDistance.fit([("colour", "color")]).tokenizers
print(len(statistical_links(nsed.read_pairs("pairs.tsv"), source=split.source, target=split.target).forward))
"""
FUZZ = """
import atheris
with atheris.instrument_imports(include=["nsed.text"]):
    import nsed.text
"""
CURVES = """
from pathlib import Path
assert list(Path("net").rglob("events*")), "TensorBoard has no curves"
"""
WORKS = (
    ["nsed", "--version"],
    ["nsed", "doctor"],
    ["nsed", "transduce", "g2p-en", "words.txt"],
    ["nsed", "train", "pairs.tsv", "spelling"],
    ["nsed", "align", "spelling", "pairs.tsv"],
)
SMOKE: dict[str, tuple[list[str], ...]] = {
    "": WORKS,
    "cpu": (
        ["python", "-c", "import numba"],
        ["nsed", "doctor", "g2p-en"],
        ["nsed", "transduce", "g2p-en", "words.txt"],
    ),
    "train": (
        ["nsed", "train", "pairs.tsv", "net", "--model", "transducer", "--config", "one.yaml"],
        ["python", "-c", CURVES],
    ),
    "viz": (["nsed", "explain", "g2p-en", "--pair", "cat", "K AE T", "--figure", "why.png"],),
    "web": (["python", "-c", SERVER],),
    "cognates": (["nsed", "cluster", "sca", "words.tsv", "-o", "sets.tsv"], ["python", "-c", "import infomap, pycldf"]),
    "align": (["python", "-c", ALIGN], ["python", "-c", "import phonetisaurus"]),
    "link": (["python", "-c", DUCKDB],),
    "sklearn": (["python", "-c", SKLEARN],),
    "spark": (["python", "-c", SPARK],),
    "onnx": (["nsed", "export", "g2p-en", "graphs"], ["python", "-c", "import onnxruntime"]),
    "docs": (["mkdocs", "--version"], ["python", "-c", "import material, mkdocstrings"]),
    "fuzz": (["python", "-c", FUZZ],),
}
"""Commands that show that an installation with an extra does what the extra is for; "" is none."""
EXTRAS = [extra for extra in PROJECT["optional-dependencies"] if extra != "test"]
"""Extras that users install; the tests themselves run with that of the tests."""


class Step(NamedTuple):
    """What an environment gets: a built file and an extra, if any."""

    name: str
    file: Path
    extra: str


class InstallationError(Exception):
    """Command that ended badly, with the end of what it said."""


def run(command: Sequence[object], *, folder: Path, environment: Path | None = None) -> None:
    """Run a command in a folder, with the programs of an environment; raises `InstallationError`."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "NSED_"))
    }
    paths = [str(environment / "bin")] if environment else []
    kept["PATH"] = os.pathsep.join([*paths, kept["PATH"]])
    words = list(map(str, command))
    program = shutil.which(words[0], path=kept["PATH"]) or words[0]
    try:
        done = subprocess.run(
            [program, *words[1:]], cwd=folder, env=kept, capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        raise InstallationError(f"{' '.join(words)[:80]}: no end within {LIMIT} seconds") from None
    if done.returncode:
        raise InstallationError(
            f"{' '.join(words)[:80]}: exit code {done.returncode}: {(done.stderr or done.stdout)[-1500:]}"
        )


def build(python: str, folder: Path) -> tuple[Path, Path]:
    """Wheel and sdist in a folder, which `twine check --strict` has nothing against."""
    shutil.rmtree(folder, ignore_errors=True)
    with TemporaryDirectory() as made:
        environment = Path(made)
        run([python, "-m", "venv", environment], folder=ROOT)
        run(["pip", "install", "-q", "build", "twine"], folder=ROOT, environment=environment)
        run(["python", "-m", "build", "-q", "--outdir", folder, ROOT], folder=environment, environment=environment)
        (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
        run(["twine", "check", "--strict", wheel, sdist], folder=folder, environment=environment)
    return wheel, sdist


def steps(wheel: Path, sdist: Path) -> Iterator[Step]:
    """All environments: the wheel alone, the sdist alone, and the wheel with each extra that users install."""
    yield Step("wheel", wheel, "")
    yield Step("sdist", sdist, "")
    for extra in EXTRAS:
        yield Step(f"wheel[{extra}]", wheel, extra)


def install(step: Step, python: str) -> dict[str, Any]:
    """Install in a fresh environment and run the commands there; what was found."""
    begin = time.monotonic()
    with TemporaryDirectory() as made:
        environment, folder = Path(made, "environment"), Path(made, "work")
        folder.mkdir()
        for name, text in {**FILES, "words.txt": "cat\nflagships\n"}.items():
            (folder / name).write_text(text, encoding="utf-8")
        target = f"{step.file}[{step.extra}]" if step.extra else str(step.file)
        found: dict[str, Any] = {"ok": True}
        try:
            run([python, "-m", "venv", environment], folder=folder)
            run(["pip", "install", "-q", "-c", CONSTRAINTS, target], folder=folder, environment=environment)
            run(["pip", "check"], folder=folder, environment=environment)
            for command in SMOKE[step.extra]:
                run(command, folder=folder, environment=environment)
        except InstallationError as failure:
            found = {"ok": False, "failure": str(failure)}
        sizes = [file.lstat().st_size for file in environment.rglob("*") if file.is_file()]
        packages = len(list(environment.glob("lib/python*/site-packages/*.dist-info")))
    return {
        **found,
        "packages": packages,
        "megabytes": round(sum(sizes) / 1e6),
        "seconds": round(time.monotonic() - begin),
    }


def fingerprint(wheel: Path) -> str:
    """Hash of what is installed: the wheel and the constraints."""
    return hashlib.sha256(wheel.read_bytes() + CONSTRAINTS.read_bytes()).hexdigest()


def table(installs: dict[str, dict[str, Any]]) -> str:
    """Table of all environments, for people."""
    rows = [f"{'environment':<18}{'packages':>9}{'MB':>7}{'s':>6}  "]
    for name, one in installs.items():
        told = "ok" if one["ok"] else one["failure"].splitlines()[0][:90]
        rows.append(f"{name:<18}{one['packages']:>9}{one['megabytes']:>7}{one['seconds']:>6}  {told}")
    return "\n".join(rows)


def main() -> None:
    """Build, install what is not known to be in order, and save what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="interpreter of the environments (default: this one)")
    parser.add_argument(
        "--only", nargs="*", metavar="NAME", help="names of environments, wheel[web] say (default: all)"
    )
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="folder for wheel and sdist (default: dist)")
    given = parser.parse_args()
    wheel, sdist = build(given.python, given.dist)
    saved = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    same = saved.get("sha256") == fingerprint(wheel)
    installs = {name: one for name, one in saved.get("installs", {}).items() if same and one["ok"]}
    for step in steps(wheel, sdist):
        if step.name in installs or (given.only and step.name not in given.only):
            continue
        print(f"{step.name} ...", file=sys.stderr, flush=True)
        installs[step.name] = install(step, given.python)
        found = {"python": platform.python_version(), "sha256": fingerprint(wheel), "twine": "ok", "installs": installs}
        RESULTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(table(installs))
    sys.exit(not all(one["ok"] for one in installs.values()))


if __name__ == "__main__":
    main()
