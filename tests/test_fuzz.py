"""Fuzzing, shortly: every target with its seeds and mutations of them; and the loop finds what there is to find."""

import json
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from fuzz.execution import Execution, answer
from fuzz.mutations import inputs, mutated
from fuzz.targets import CORPUS, TARGETS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nsed.errors import DataError

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.filterwarnings("ignore")  # what odd input makes the package warn of is not asked here
SLOW = {"model_folders", "stored_files", "web_api"}
"""Targets that compile at first use."""
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in TARGETS]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Targets, each prepared once."""
    made = {}

    def prepare(name):
        if name not in made:
            made[name] = TARGETS[name].prepared(tmp_path_factory.mktemp(name))
        return made[name]

    return prepare


def inputs_of(target):
    """Bytes of any kind, and mutations of the target's seeds."""
    seeds, words = target.seeds(), [*target.words, b"\0"]
    changed = st.builds(
        lambda seed, number: mutated(seed, Random(number), words, seeds)[: target.longest],
        st.sampled_from(seeds),
        st.integers(0, 2**32),
    )
    return st.binary(max_size=target.longest) | changed


@pytest.mark.parametrize("name", NAMES)
def test_whatever_comes_is_answered_or_refused_with_a_reason(name, prepared):
    target, execute = TARGETS[name], prepared(name)
    for seed in target.seeds():
        answer(execute, seed)

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(content=inputs_of(target))
    def some(content):
        answer(execute, content)

    some()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["columnar", "model_folders"])
def test_a_thousand_damaged_files_neither_crash_nor_raise_anything_else_nor_take_a_gigabyte(name):
    command = [sys.executable, "-m", "fuzz", name, "--runs", "1000", "--engine", "plain", "--limit", "20"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"{name}: 1,000 executions in " in done.stderr
    assert done.stderr.endswith(" 0 faults\n")


def test_every_target_has_small_seeds():
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)
    for target in TARGETS.values():
        assert 0 < max(map(len, target.seeds())) < 4096


def test_mutations_begin_with_the_seeds_and_are_the_same_for_the_same_seed():
    first, again = (inputs([b"one", b"two"], [b"word"], Random(3), longest=8) for _ in range(2))
    some = [next(first) for _ in range(300)]
    assert some == [next(again) for _ in range(300)]
    assert some[:2] == [b"one", b"two"]
    assert len(set(some)) > 200
    assert max(map(len, some)) == 8
    assert any(b"word" in one for one in some)


def faulty(content):
    """A target with faults of all kinds."""
    if content == b"slow":
        time.sleep(5)
    if content == b"caught":
        try:
            time.sleep(5)
        except Exception:
            return
    if content == b"wordy":
        raise DataError("file", "x" * 5000)
    if content.startswith(b"key"):
        raise KeyError(content)
    raise DataError("file", "an answer, and no fault")


def test_each_fault_is_kept_once_with_its_input_and_where_it_was(tmp_path):
    execution = Execution(faulty, tmp_path / "finds", seconds=0.05)
    for content in (b"", b"key 1", b"fine", b"key 2", b"slow", b"caught", b"wordy"):
        execution(content)
    assert execution.count == 7
    kinds = [name.partition(" in ")[0] for name in execution.finds]
    assert kinds == ["KeyError", "TooSlowError", "TooSlowError", "AssertionError"]
    assert [path.read_bytes() for path in execution.finds.values()] == [b"key 1", b"slow", b"caught", b"wordy"]
    assert all("Traceback" in path.with_suffix(".txt").read_text() for path in execution.finds.values())


def test_memory_beyond_the_limit_is_an_error_and_not_swap():
    code = "from fuzz.execution import limit_memory; limit_memory(2**26); bytearray(2**30)"
    path = {"PYTHONPATH": f"{ROOT}/src:{ROOT}/lite/src"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "MemoryError" in done.stderr


def test_results_have_every_target_and_no_fault_that_was_left():
    results = json.loads((ROOT / "results" / "fuzzing.json").read_text(encoding="utf-8"))
    assert set(results) == set(TARGETS)
    for runs in results.values():
        assert all(run["executions"] > 0 and run["seconds"] > 0 and run["date"] for run in runs)
        assert runs[-1]["finds"] == []
