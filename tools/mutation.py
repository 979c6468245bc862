"""Mutation testing: do tests notice when code is changed? `python -m tools.mutation lattice`, with mutmut installed.

The changes are those of mutmut's operators (a number plus one, `<` for `<=`, an argument left out, ...), in bodies and
default values of all functions of a room. Its own runner leaves out decorated functions, hence every property, and
imports afresh what takes seconds to import, so the mutants are run here: pytest collects the room's fast tests once;
each mutant is a fork of that process in which a function's code is exchanged, tested by those tests that call the
function, the quickest first, until one fails.

Left out are what mutmut leaves out (annotations, docstrings, decorators, calls of `len` and `isinstance`, values of
modules and classes) and, by a rule of our own, string literals within a `raise` statement: the words of error messages.

Outcomes are kept in `results/mutation.json`: a run goes on where the last one stopped, and with `--again` tries those
that survived once more. Why survivors cannot be killed stands in `results/mutation-explanations.json`, by their names:
`equivalent: ...` where the program is the same, anything else (say, `only on a GPU: ...`) where the tests cannot tell.
"""

import argparse
import ast
import difflib
import functools
import gc
import hashlib
import importlib
import json
import math
import os
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import compress, islice, zip_longest
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # to be forked

import coverage
import hypothesis
import libcst as cst
import numpy as np
import pytest
from _pytest.doctest import DoctestItem
from _pytest.runner import runtestprotocol
from libcst.metadata import MetadataWrapper
from mutmut.mutation.file_mutation import Mutation, MutationVisitor, deep_replace
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "mutation.json"
EXPLANATIONS = ROOT / "results" / "mutation-explanations.json"
KILLED, SURVIVED, TIMED_OUT = "killed", "survived", "timed out"
OPTIONS = "-n 0 -s -q -p no:cacheprovider -p no:faulthandler -W ignore::pytest.PytestAssertRewriteWarning"
HYPOTHESIS: dict[str, Any] = {
    "derandomize": True,
    "deadline": None,
    "suppress_health_check": list(hypothesis.HealthCheck),
}
PATIENCE = 30.0
"""Seconds of tests that are tried on a mutant, the quickest first; whoever outlives these has survived."""
MEMORY = 16 * 2**30
"""Bytes of addresses that a mutant may take."""


class Room(NamedTuple):
    """Files to be mutated, and the tests that are to notice; those marked slow are left out."""

    sources: str
    tests: tuple[str, ...]


ROOMS = {
    "lattice": Room("src/nsed/lattice/*.py", ("tests/lattice", "tests/kernels/test_lattice.py", "src/nsed/lattice")),
    "evaluate": Room("src/nsed/evaluate/*.py", ("tests/evaluate", "src/nsed/evaluate")),
    "networks": Room("src/nsed/networks/*.py", ("tests/networks", "tests/models", "tests/golden", "src/nsed/networks")),
}


class Mutant(NamedTuple):
    """Changed function: where, what stood there and what stands there now, and the whole file with the change."""

    name: str
    file: str
    function: str
    line: int
    before: str
    after: str
    code: str

    def apply(self) -> None:
        """Exchange the code of the function, wherever it is referred to, and forget what was computed by it."""
        changed = _defined(self, vars(importlib.import_module(_module(self.file))))
        for one in _functions()[str(ROOT / self.file), self.function]:
            one.__code__ = changed.__code__
            one.__defaults__, one.__kwdefaults__ = changed.__defaults__, changed.__kwdefaults__
        _forget()

    def lines(self) -> range:
        """Lines of the statement that is changed; of the whole function where that is a default value."""
        tree = ast.parse((ROOT / self.file).read_text(encoding="utf-8"))
        around = [one for one in ast.walk(tree) if isinstance(one, ast.stmt) and self.line in _span(one)]
        return range(_span(around[-1]).start, _heading(around[-1]).stop)


def _span(statement: ast.stmt) -> range:
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _heading(statement: ast.stmt) -> range:
    """Lines of a statement without those of the statements within; a function's are all its lines."""
    body = getattr(statement, "body", None)
    if body and not isinstance(statement, ast.FunctionDef):
        return range(statement.lineno, body[0].lineno)
    return _span(statement)


def _module(file: str) -> str:
    return ".".join(Path(file).relative_to("src").with_suffix("").parts)


def _defined(mutant: Mutant, names: dict[str, Any]) -> FunctionType:
    """The changed function alone, without decorators and annotations, in the names of its module."""
    *owner, name = mutant.function.split(".")
    body: list[ast.stmt] = ast.parse(mutant.code).body
    for outer in owner:
        body = next(one for one in body if isinstance(one, ast.ClassDef) and one.name == outer).body
    function = next(one for one in body if isinstance(one, ast.FunctionDef) and one.name == name)
    function.decorator_list, function.returns = [], None
    for argument in ast.walk(function.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    wrapped: ast.stmt = function
    for outer in reversed(owner):
        wrapped = ast.copy_location(ast.ClassDef(outer, [], [], [wrapped], []), function)
    made = dict(names)
    exec(compile(ast.fix_missing_locations(ast.Module([wrapped], [])), str(ROOT / mutant.file), "exec"), made)
    return (
        functools.reduce(lambda owner, part: vars(owner)[part], [*owner[1:], name], made[owner[0]])
        if owner
        else made[name]
    )


@functools.cache
def _functions() -> dict[tuple[str, str], list[FunctionType]]:
    """Functions of the package that are in memory, by file and name.

    Asked for its class instead of its type, an object may run code of its own.
    """
    found = defaultdict(list)
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename.startswith(str(ROOT)):
            found[one.__code__.co_filename, one.__code__.co_qualname].append(one)
    return dict(found)


@functools.cache
def _caches() -> list[Any]:
    """Caches of the package's functions."""
    every = (one for one in gc.get_objects() if type(one) is functools._lru_cache_wrapper)
    return [one for one in every if str(one.__module__).startswith("nsed")]


def _forget() -> None:
    for one in _caches():
        one.cache_clear()


class _Visitor(MutationVisitor):
    """Mutmut's mutations, of decorated functions too."""

    def __init__(self) -> None:
        super().__init__(mutation_operators, IgnoredCode(set(), set(), set()))
        self.names: dict[cst.CSTNode, str] = {}
        self._classes: list[str] = []
        self._raising = 0

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Decorator) or (self._raising and isinstance(node, cst.SimpleString)):
            return False
        if isinstance(node, cst.ClassDef):
            self._classes.append(node.name.value)
        self._raising += isinstance(node, cst.Raise)
        if isinstance(node, cst.FunctionDef):
            self.names[node] = ".".join([*self._classes, node.name.value])
        return bool(super().on_visit(node))

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.ClassDef):
            self._classes.pop()
        self._raising -= isinstance(original_node, cst.Raise)
        super().on_leave(original_node)

    def _skip_node_and_children(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.FunctionDef):
            return False
        return bool(super()._skip_node_and_children(node))


class Change(NamedTuple):
    """Mutation of a function, not yet written out."""

    name: str
    path: Path
    function: str
    module: cst.Module
    mutation: Mutation


def changes_of(path: Path) -> Iterator[Change]:
    """All mutations of a file. Their names depend on what is changed in which function, not on the line."""
    wrapper, visitor = MetadataWrapper(cst.parse_module(path.read_text(encoding="utf-8"))), _Visitor()
    wrapper.visit(visitor)
    seen, module = Counter[tuple[str, ...]](), wrapper.module
    for one in visitor.mutations:
        function = visitor.names.get(one.contained_by_top_level_function)  # type: ignore[call-overload]
        if function:
            nodes = one.original_node, one.mutated_node
            key = (path.relative_to(ROOT).as_posix(), function, *map(module.code_for_node, nodes))
            seen[key] += 1
            yield Change(_hash(*key, seen[key]), path, function, module, one)


def _hash(*parts: object) -> str:
    return hashlib.sha1("\n".join(map(str, parts)).encode()).hexdigest()[:10]


def mutant_of(change: Change) -> Mutant | None:
    """The mutant, unless it is no program, or the same one."""
    text = change.path.read_text(encoding="utf-8")
    changed = deep_replace(change.module, change.mutation.original_node, change.mutation.mutated_node)
    assert isinstance(changed, cst.Module)
    try:
        compile(changed.code, "mutant", "exec")
    except SyntaxError:  # say, a generator that is no longer the only argument
        return None
    if ast.dump(ast.parse(changed.code)) == ast.dump(ast.parse(text)):
        return None
    file = change.path.relative_to(ROOT).as_posix()
    return Mutant(change.name, file, change.function, *_difference(text, changed.code), changed.code)


def _difference(text: str, code: str) -> tuple[int, str, str]:
    """First line that differs, what stands there and what stood there."""
    ours, theirs = text.splitlines(), code.splitlines()
    parts = [one for one in difflib.SequenceMatcher(None, ours, theirs, False).get_opcodes() if one[0] != "equal"]
    (_, a, _, c, _), (_, _, b, _, d) = parts[0], parts[-1]
    return a + 1, *(" ".join(map(str.strip, lines)) for lines in (ours[a:b], theirs[c:d]))


def sample(room: Room, count: int, seed: int) -> list[Mutant]:
    """A seeded sample of a room's mutants in random order, which other changes of the room leave much the same."""
    every = [one for path in sorted(ROOT.glob(room.sources)) for one in changes_of(path)]
    every.sort(key=lambda one: _hash(seed, one.name))
    print(f"{count} of {len(every)} mutants of {room.sources}", file=sys.stderr)
    return list(islice(filter(None, map(mutant_of, every)), count))


class Baseline:
    """CPU time of each test, and which tests run each line; what fixtures run counts for all tests of their file."""

    def __init__(self, items: list[pytest.Item], files: list[Path]) -> None:
        self.items, self.seconds = items, []
        self.lines = coverage.Coverage(data_file=None, include=list(map(str, files)), config_file=False)
        items[0].config.pluginmanager.register(self, "baseline")
        with self.lines.collect():
            for item, then in zip_longest(items, items[1:]):
                self.seconds.append(self._timed(item, then))
        items[0].config.pluginmanager.unregister(self)
        self.longest = defaultdict(float)
        for item, seconds in zip(items, self.seconds, strict=True):
            if seconds < math.inf:
                self.longest[item.path] = max(self.longest[item.path], seconds)

    def _timed(self, item: pytest.Item, then: pytest.Item | None) -> float:
        begun = time.process_time()
        _forget()
        if not passes(item, then):
            print(f"left out, fails without a mutant: {item.nodeid}", file=sys.stderr)
            return math.inf
        return time.process_time() - begun

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Note the lines of fixtures for the file."""
        self.lines.switch_context(str(item.path))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Note the lines of a test for the test."""
        self.lines.switch_context(item.nodeid)

    def tests_of(self, mutant: Mutant) -> list[tuple[pytest.Item, float]]:
        """Tests that run the changed statement, file by file, the quickest first, with a limit of seconds for each."""
        by_line = self.lines.get_data().contexts_by_lineno(str(ROOT / mutant.file))
        contexts = {context for line in mutant.lines() for context in by_line.get(line, [])}
        chosen = [
            (self.longest[item.path], str(item.path), seconds, place)
            for place, (item, seconds) in enumerate(zip(self.items, self.seconds, strict=True))
            if seconds < math.inf and contexts & {item.nodeid, str(item.path)}
        ]
        until = np.cumsum([seconds for *_, seconds, _ in sorted(chosen)]) <= PATIENCE
        return [(self.items[place], 10 + 5 * most) for most, *_, place in compress(sorted(chosen), until)]


def passes(item: pytest.Item, then: pytest.Item | None = None) -> bool:
    """Whether a test passes, or is skipped."""
    names = dict(item.dtest.globs) if isinstance(item, DoctestItem) else {}
    passed = not any(report.failed for report in runtestprotocol(item, log=False, nextitem=then))
    if isinstance(item, DoctestItem):
        item.dtest.globs.update(names)  # which doctest clears: it would fail the next time
    return passed


def outcome_of(mutant: Mutant, tests: list[tuple[pytest.Item, float]]) -> str:
    """Run tests on a mutant in a copy of this process until one fails."""
    child = os.fork()
    if not child:
        status = 2
        try:
            status = 0 if _survives(mutant, tests) else 1
        finally:
            os._exit(status)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return TIMED_OUT if os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM) else KILLED
    return {0: SURVIVED, 1: KILLED}[os.WEXITSTATUS(status)]


def _survives(mutant: Mutant, tests: list[tuple[pytest.Item, float]]) -> bool:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    nothing, shown = os.open(os.devnull, os.O_RDWR), os.dup(2)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    mutant.apply()
    following = [item for item, _ in tests[1:]]
    for (item, limit), then in zip_longest(tests, following):
        signal.setitimer(signal.ITIMER_PROF, limit)  # the signal of either clock ends the process
        signal.setitimer(signal.ITIMER_REAL, 20 * limit)
        if not passes(item, then):
            os.write(shown, f"by {item.nodeid}\n".encode())
            return False
    return True


class Runner:
    """Pytest plugin that runs the tests of mutants instead of the tests."""

    def __init__(self, room: str, mutants: list[Mutant], record: "Record") -> None:
        self.room, self.mutants, self.record = ROOMS[room], mutants, record

    def pytest_configure(self) -> None:
        """Let hypothesis find what it finds, the same each time, without simplifying and remembering it."""
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutation", database=None, phases=phases, **HYPOTHESIS)
        hypothesis.settings.load_profile("mutation")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try each mutant in a fork."""
        files = list(ROOT.glob(self.room.sources))
        for path in files:
            importlib.import_module(_module(path.relative_to(ROOT).as_posix()))
        baseline = Baseline(session.items, files)
        print(f"{len(session.items)} tests, {sum(filter(math.isfinite, baseline.seconds)):.0f} s", file=sys.stderr)
        _functions()
        gc.freeze()
        self.control(baseline)
        for number, mutant in enumerate(self.mutants, 1):
            begun, tests = time.monotonic(), baseline.tests_of(mutant)
            outcome = outcome_of(mutant, tests)
            self.record.add(mutant, outcome)
            taken = f"{len(tests)} tests, {time.monotonic() - begun:.1f} s"
            print(f"{number}/{len(self.mutants)} {outcome} {mutant.file}:{mutant.line} ({taken})", file=sys.stderr)
        return True

    def control(self, baseline: Baseline) -> None:
        """Try no change at all, of the function that most tests run: if it dies, it is not of a mutation."""
        tests, mutant = max(((baseline.tests_of(one), one) for one in self.mutants), key=lambda pair: len(pair[0]))
        unchanged = mutant._replace(code=(ROOT / mutant.file).read_text(encoding="utf-8"))
        if outcome_of(unchanged, tests) != SURVIVED:
            raise SystemExit(f"{mutant.file}: {mutant.function} does not survive unchanged")


class Record:
    """Outcomes of the sample of a room, in the file of results."""

    def __init__(self, room: str, mutants: list[Mutant], seed: int) -> None:
        self.room, self.seed = room if not seed else f"{room}, seed {seed}", seed
        self.mutants = {one.name: one for one in mutants}
        known = _read(RESULTS).get(self.room, {})
        every = {name: outcome for outcome, names in known.get("outcomes", {}).items() for name in names.split()}
        self.outcomes = {name: outcome for name, outcome in every.items() if name in self.mutants}

    def left(self, again: bool) -> list[Mutant]:
        """Mutants to try: those without an outcome, or those that survived."""
        explained = _read(EXPLANATIONS)
        tried = [name for name, how in self.outcomes.items() if not again or how != SURVIVED or name in explained]
        return [one for name, one in self.mutants.items() if name not in tried]

    def add(self, mutant: Mutant, outcome: str) -> None:
        """Note an outcome, and write all of them."""
        self.outcomes[mutant.name] = outcome
        self.write()

    def write(self) -> None:
        """Write the summary of the room beside those of the others."""
        text = json.dumps({**_read(RESULTS), self.room: self.summary()}, indent=1, ensure_ascii=False)
        unfinished = RESULTS.with_suffix(".tmp")
        unfinished.write_text(text + "\n", encoding="utf-8")
        unfinished.replace(RESULTS)

    def summary(self) -> dict[str, Any]:
        """Counts, scores, survivors, and the names of all mutants by outcome."""
        explained, counts = _read(EXPLANATIONS), Counter(self.outcomes.values())
        names = {how: [name for name in self.mutants if self.outcomes.get(name) == how] for how in counts}
        same = [name for name in names.get(SURVIVED, []) if explained.get(name, "").startswith("equivalent")]
        killed, tried = counts[KILLED] + counts[TIMED_OUT], len(self.outcomes)
        return {
            "seed": self.seed,
            "sampled": tried,
            KILLED: counts[KILLED],
            "timed_out": counts[TIMED_OUT],
            SURVIVED: counts[SURVIVED],
            "equivalent": len(same),
            "score": round(killed / max(tried, 1), 4),
            "score_without_equivalent": round(killed / max(tried - len(same), 1), 4),
            "survivors": sorted((self.survivor(name, explained) for name in names.get(SURVIVED, [])), key=_place),
            "outcomes": {how: " ".join(some) for how, some in names.items()},
        }

    def survivor(self, name: str, explained: dict[str, str]) -> dict[str, Any]:
        """A survivor, as one reads it."""
        one = self.mutants[name]
        told = {"name": name, "file": one.file, "line": one.line, "before": one.before, "after": one.after}
        return told | ({"explanation": explained[name]} if name in explained else {})


def _place(survivor: dict[str, Any]) -> tuple[str, int, str]:
    return survivor["file"], survivor["line"], survivor["after"]


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def main() -> None:
    """Sample, try what is left to try, and show the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("room", choices=ROOMS)
    parser.add_argument("--mutants", type=int, default=300, help="size of the sample (300)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample (0)")
    parser.add_argument("--tests", nargs="+", help="tests to try, files or folders, instead of the room's")
    parser.add_argument("--again", action="store_true", help="try survivors again, after tests were written")
    given = parser.parse_args()
    record = Record(given.room, sample(ROOMS[given.room], given.mutants, given.seed), given.seed)
    left = record.left(given.again)
    if left:
        paths = (str(ROOT / path) for path in given.tests or ROOMS[given.room].tests)
        pytest.main([*OPTIONS.split(), "-m", "not slow", *paths], [Runner(given.room, left, record)])
    record.write()
    print(json.dumps({key: value for key, value in record.summary().items() if key != "outcomes"}, indent=1))


if __name__ == "__main__":
    main()
