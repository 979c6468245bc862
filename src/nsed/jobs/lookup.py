"""Lookup index on disk: strings with ids, added and removed at any time, and the nearest of them for a query.

A folder holds segments, each a saved `Candidates` that never changes, and `lookup.json`, which says which segments
there are and which of their rows are removed; it is replaced atomically, so that a kill leaves the old or the new.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nsed.errors import ArgumentError, DataError, abbreviate
from nsed.jobs.candidates import (
    GENERATORS,
    Candidates,
    Generator,
    check_storable,
    checked_texts,
    read_texts,
    write_texts,
)
from nsed.jobs.records import EqualStrings
from nsed.models.persistence import load as load_model
from nsed.train.run_folder import take_lock
from nsed.train.saved_model import replace_file, replacing_folder

FORMAT, DESCRIPTION, IDS, MODEL, LOCK = 1, "lookup.json", "ids.arrow", "model", "lookup.lock"
MOST_SEGMENTS = 8
"""Segments from which on they are made one: each costs a search."""


class Hit(NamedTuple):
    """Search result: a string of the index that is near a query, its id, and how near, see `Candidates.query`.

    >>> hits = [Hit("3", "Verona", 0.4), Hit("1", "Vienna", 0.3)]
    >>> {hit.id: hit.text for hit in hits if hit.score > 0.35}
    {'3': 'Verona'}
    """

    id: str
    text: str
    score: float


@dataclass(frozen=True)
class Segment:
    """Saved candidates with ids, of which some rows are removed."""

    path: Path
    candidates: Candidates
    ids: list[str]
    equal: EqualStrings
    removed: frozenset[int] = frozenset()

    @classmethod
    def load(cls, path: Path) -> "Segment":
        """Segment of a folder, nothing of it removed. Raises `DataError` where it is damaged."""
        candidates, ids = Candidates.load(path), read_texts(path / IDS, "id")
        if len(ids) != len(candidates.references):
            raise DataError(path / IDS, f"{len(ids)} ids of {len(candidates.references)} strings: damaged")
        return cls(path, candidates, ids, EqualStrings.of(candidates.references))

    def __len__(self) -> int:
        return len(self.ids) - len(self.removed)

    def rows(self) -> Iterator[tuple[str, str]]:
        """Ids and strings that are not removed."""
        for row, pair in enumerate(zip(self.ids, self.candidates.references, strict=True)):
            if row not in self.removed:
                yield pair

    def without(self, ids: set[str]) -> "Segment":
        """The same segment, rows with these ids removed too."""
        return replace(self, removed=self.removed | {row for row, own in enumerate(self.ids) if own in ids})

    def nearest(self, text: str, k: int, generator: Generator) -> list[Hit]:
        """The k best strings of a generator; more are asked for until as many are left without those removed."""
        asked = k
        while True:
            found = self.candidates.query_by(generator, [text], asked)
            hits = [
                Hit(self.ids[row], self.candidates.references[row], float(score))
                for first, score in zip(found.references, found.scores, strict=True)
                for row in self.equal.members(np.array([first])).tolist()
                if row not in self.removed
            ]
            if len(hits) >= k or len(found.references) < asked:
                return hits[:k]
            asked *= 4


class LookupIndex:
    """Lookup index in a folder: `build` or open it, `add`, `remove`, `query`.

    >>> import tempfile
    >>> index = LookupIndex.build(tempfile.mkdtemp() + "/cities", ["1", "2", "3"], ["Vienna", "Venice", "Verona"])
    >>> index.add(["4"], ["Siena"])
    >>> index.remove(["2"])
    >>> [hit.text for hit in index.query(["venezia"], k=1)[0]], len(index)
    (['Verona'], 3)
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._state = self._described()
        self.model = load_model(self.folder / MODEL) if self._state["model"] else None
        self.segments: list[Segment] = []
        self._refresh()

    @classmethod
    def build(
        cls,
        folder: str | Path,
        ids: Sequence[str],
        texts: Sequence[str],
        *,
        by: Sequence[Generator] | Generator | None = None,
        model: Any = None,
    ) -> "LookupIndex":
        """Make an index of strings with ids: a folder, once all is done. Raises `DataError` where one has something."""
        names, given = _entries(ids, texts)
        path = Path(folder)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise DataError(path, "something is here already: expected a new folder, or an empty one")
        with replacing_folder(path) as beside:
            if model is not None:
                model.save(beside / MODEL)
            chosen = Candidates(by, model=model).chosen_generators()
            state = {"format": FORMAT, "by": chosen, "model": model is not None, "next": 1, "segments": {}}
            replace_file(beside / DESCRIPTION, json.dumps(state).encode())
            cls(beside).add(names, given)
        return cls(path)

    def __len__(self) -> int:
        return sum(map(len, self.segments))

    def add(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Add strings; one whose id is there already takes its place. Where anything fails, nothing is changed."""
        names, given = _entries(ids, texts)
        if not names:
            return
        with self._lock():
            self._refresh()
            left = [one.without(set(names)) for one in self.segments]
            old = left if len(left) + 1 >= MOST_SEGMENTS else []
            kept = [pair for one in old for pair in one.rows()]
            made = self._segment([id_ for id_, _ in kept] + names, [text for _, text in kept] + given)
            try:
                self._keep([*(() if old else left), made], added=1)
            except DataError:
                shutil.rmtree(made.path, ignore_errors=True)  # a full disk should not stay full because of us
                raise
            for one in old:
                shutil.rmtree(one.path, ignore_errors=True)

    def remove(self, ids: Iterable[str]) -> None:
        """Remove strings by their ids. Raises `ArgumentError` for an id that is not there."""
        if isinstance(ids, str):
            raise ArgumentError("ids", got=repr(ids), expected="several ids: a list")
        wanted = {str(one) for one in ids}
        with self._lock():
            self._refresh()
            missing = wanted - {id_ for one in self.segments for id_, _ in one.rows() if id_ in wanted}
            if missing:
                raise ArgumentError("ids", got=", ".join(sorted(missing)[:5]), expected="ids that the index has")
            self._keep([one.without(wanted) for one in self.segments])

    def query(self, texts: Iterable[str], k: int = 10) -> list[list[Hit]]:
        """The k nearest strings of each query, best first; those of an earlier generator before those of the next."""
        if k < 1:
            raise ArgumentError("k", got=k, expected="1 or more")
        return [self._nearest(text, k) for text in checked_texts(texts, "texts")]

    def _nearest(self, text: str, k: int) -> list[Hit]:
        found: dict[str, Hit] = {}
        for generator in self._state["by"]:
            hits = [hit for one in self.segments for hit in one.nearest(text, k, generator)]
            for hit in sorted(hits, key=lambda hit: -hit.score)[:k]:
                found.setdefault(hit.id, hit)
        return list(found.values())[:k]

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Folder lock, for one change at a time. Raises `DataError` with who makes another one."""
        try:
            stream = take_lock(self.folder / LOCK)
        except BlockingIOError as held:
            message = f"somebody else is changing this index, {held.strerror}: try again when it is done"
            raise DataError(self.folder, message) from None
        except OSError as error:
            raise DataError(self.folder, f"cannot be changed: {error.strerror}") from None
        with stream:
            try:
                yield
            finally:
                Path(stream.name).unlink(missing_ok=True)

    def _described(self) -> dict[str, Any]:
        try:
            return _checked(json.loads((self.folder / DESCRIPTION).read_bytes()))
        except (OSError, RecursionError, ValueError) as error:
            reason = abbreviate(error)
            raise DataError(self.folder, f"no lookup index: {reason}. Make one: nsed lookup build") from None

    def _refresh(self) -> None:
        """Read what the folder says now; segments never change, so that those known already are not read again.

        Somebody else may merge segments meanwhile: where one is gone and the folder says so, it is read again.
        """
        self._state = self._described()
        known = {one.path.name: one for one in self.segments}
        try:
            self.segments = [
                replace(known[name] if name in known else Segment.load(self.folder / name), removed=frozenset(gone))
                for name, gone in self._state["segments"].items()
            ]
        except DataError:
            if self._described() == self._state:
                raise
            self._refresh()

    def _segment(self, ids: Sequence[str], texts: Sequence[str]) -> Segment:
        """New segment on disk, which counts once it is kept; an older attempt at it is replaced."""
        path = self.folder / f"segment-{self._state['next']:06d}"
        shutil.rmtree(path, ignore_errors=True)
        with replacing_folder(path) as beside:
            Candidates(self._state["by"], model=self.model).fit(texts).save(beside)
            write_texts(beside / IDS, "id", ids)
        return Segment.load(path)

    def _keep(self, segments: Sequence[Segment], *, added: int = 0) -> None:
        """Make some segments, of which so many are new, those of the index: on disk at once, then here.

        Raises `DataError` where the disk is full, say; the index is as it was then.
        """
        named = {one.path.name: sorted(one.removed) for one in segments}
        state = {**self._state, "next": self._state["next"] + added, "segments": named}
        try:
            replace_file(self.folder / DESCRIPTION, json.dumps(state).encode())
        except OSError as error:
            message = f"cannot be written: {error.strerror or error}; the index is as it was"
            raise DataError(self.folder / DESCRIPTION, message) from error
        self._state, self.segments = state, list(segments)


def _entries(ids: Sequence[str], texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Ids and strings to be added. Raises `ArgumentError` for ids that are not one each, and what no file can hold."""
    if isinstance(ids, str):
        raise ArgumentError("ids", got=repr(ids), expected="several ids: a list")
    given, names = checked_texts(texts, "texts"), [str(one) for one in ids]
    expected = "a different id for each text"
    if len(names) != len(given):
        raise ArgumentError("ids", got=f"{len(names)} of {len(given)} texts", expected=expected)
    seen: dict[str, int] = {}
    for row, name in enumerate(names, start=1):
        if (first := seen.setdefault(name, row)) != row:
            got = f"{abbreviate(repr(name))} in row {first:,} and again in row {row:,}"
            raise ArgumentError("ids", got=got, expected=expected)
    check_storable(names, "ids")
    check_storable(given, "texts")
    return names, given


def _checked(state: Any) -> dict[str, Any]:
    """The same description. Raises `ValueError` where it is not what `LookupIndex` writes."""
    types = {"format": int, "by": list, "model": bool, "next": int, "segments": dict}
    wrong = [name for name, kind in types.items() if not isinstance(state, dict) or type(state.get(name)) is not kind]
    if wrong:
        raise ValueError(f"{DESCRIPTION} is incomplete or altered: {', '.join(wrong)}")
    if state["format"] > FORMAT:
        raise ValueError(f"format {state['format']} is newer than this nsed, which reads up to {FORMAT}: upgrade it")
    if any(one not in GENERATORS for one in state["by"]):
        raise ValueError(f"{DESCRIPTION} is altered: by {abbreviate(state['by'])}")
    for name, gone in state["segments"].items():
        if Path(name).name != name or not isinstance(gone, list) or not all(type(row) is int for row in gone):
            raise ValueError(f"{DESCRIPTION} is altered: the segment {abbreviate(repr(name))}")
    checked: dict[str, Any] = state
    return checked
