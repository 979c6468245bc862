"""Lookup index on disk: strings with ids, added and removed at any time, and the nearest of them for a query.

A folder holds segments, each a saved `Candidates` that never changes, and `lookup.json`, which says which segments
there are and which of their rows are removed; it is replaced atomically, so that a kill leaves the old or the new.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from nsed.errors import ArgumentError, DataError, abbreviate
from nsed.jobs.candidates import Candidates, Generator, checked_texts, read_texts
from nsed.jobs.records import EqualStrings
from nsed.models.persistence import load as load_model
from nsed.train.saved_model import replace_file

FORMAT, DESCRIPTION, IDS, MODEL = 1, "lookup.json", "ids.arrow", "model"
MOST_SEGMENTS = 8
"""Segments from which on they are made one: each costs a search."""


class Hit(NamedTuple):
    """String of the index that is near a query, its id, and how near, see `Candidates.query`."""

    id: str
    text: str
    score: float


class Segment:
    """Saved candidates with ids, of which some rows are removed."""

    def __init__(self, path: Path, removed: Iterable[int]) -> None:
        self.path, self.removed = path, set(removed)
        self.candidates = Candidates.load(path)
        self.ids = read_texts(path / IDS, "id")
        if len(self.ids) != len(self.candidates.references):
            raise DataError(path / IDS, f"{len(self.ids)} ids of {len(self.candidates.references)} strings: damaged")
        self.equal = EqualStrings.of(self.candidates.references)

    def rows(self) -> Iterator[tuple[str, str]]:
        """Ids and strings that are not removed."""
        for row, pair in enumerate(zip(self.ids, self.candidates.references, strict=True)):
            if row not in self.removed:
                yield pair

    def nearest(self, text: str, k: int) -> list[Hit]:
        """The k best strings; more are asked for until as many are left without those that are removed."""
        asked = k
        while True:
            found = self.candidates.query([text], asked)
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
        try:
            self._state = _checked(json.loads((self.folder / DESCRIPTION).read_bytes()))
        except (OSError, RecursionError, ValueError) as error:
            reason = abbreviate(error)
            raise DataError(self.folder, f"no lookup index: {reason}. Make one: nsed lookup build") from None
        self.model = load_model(self.folder / MODEL) if self._state["model"] else None
        self.segments = [Segment(self.folder / name, gone) for name, gone in self._state["segments"].items()]

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
        """Make an index of strings with ids. Raises `DataError` where a folder is that is not empty."""
        path = Path(folder)
        if path.exists() and any(path.iterdir()):
            raise DataError(path, "something is here already: expected a new folder, or an empty one")
        path.mkdir(parents=True, exist_ok=True)
        if model is not None:
            model.save(path / MODEL)
        chosen = Candidates(by, model=model).chosen_generators()
        state = {"format": FORMAT, "by": chosen, "model": model is not None, "next": 1, "segments": {}}
        replace_file(path / DESCRIPTION, json.dumps(state).encode())
        index = cls(path)
        index.add(ids, texts)
        return index

    def __len__(self) -> int:
        return sum(len(one.ids) - len(one.removed) for one in self.segments)

    def add(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Add strings; one whose id is there already takes its place."""
        given, names = checked_texts(texts, "texts"), [str(one) for one in ids]
        if len(names) != len(given) or len(set(names)) != len(names):
            got = f"{len(names)} ids, {len(set(names))} different ones, of {len(given)} texts"
            raise ArgumentError("ids", got=got, expected="a different id for each text")
        if not names:
            return
        self._mark(set(names))
        if len(self.segments) + 1 >= MOST_SEGMENTS:
            kept = [pair for one in self.segments for pair in one.rows()]
            names, given = [id_ for id_, _ in kept] + names, [text for _, text in kept] + given
            old, self.segments = self.segments, []
        else:
            old = []
        self.segments.append(self._segment(names, given))
        self._save()
        for one in old:
            shutil.rmtree(one.path, ignore_errors=True)

    def remove(self, ids: Iterable[str]) -> None:
        """Remove strings by their ids. Raises `ArgumentError` for an id that is not there."""
        wanted = {str(one) for one in ids}
        missing = wanted - self._mark(wanted)
        if missing:
            self.__init__(self.folder)  # type: ignore[misc]  # nothing is removed
            raise ArgumentError("ids", got=", ".join(sorted(missing)[:5]), expected="ids that the index has")
        self._save()

    def query(self, texts: Iterable[str], k: int = 10) -> list[list[Hit]]:
        """The k nearest strings of each query, best first."""
        if k < 1:
            raise ArgumentError("k", got=k, expected="1 or more")
        return [self._nearest(text, k) for text in checked_texts(texts, "texts")]

    def _nearest(self, text: str, k: int) -> list[Hit]:
        hits = [hit for one in self.segments for hit in one.nearest(text, k)]
        return sorted(hits, key=lambda hit: -hit.score)[:k]

    def _mark(self, ids: set[str]) -> set[str]:
        """Mark rows with these ids as removed; returns the ids that were there."""
        found = set()
        for segment in self.segments:
            rows = {row for row, own in enumerate(segment.ids) if own in ids and row not in segment.removed}
            found |= {segment.ids[row] for row in rows}
            segment.removed |= rows
        return found

    def _segment(self, ids: Sequence[str], texts: Sequence[str]) -> Segment:
        path = self.folder / f"segment-{self._state['next']:06d}"
        self._state["next"] += 1
        Candidates(self._state["by"], model=self.model).fit(texts).save(path)
        table = pa.table({"id": pa.array(ids, pa.string())})
        with pa.OSFile(str(path / IDS), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        return Segment(path, ())

    def _save(self) -> None:
        self._state["segments"] = {one.path.name: sorted(one.removed) for one in self.segments}
        replace_file(self.folder / DESCRIPTION, json.dumps(self._state).encode())


def _checked(state: Any) -> dict[str, Any]:
    """The same description. Raises `ValueError` where it is not what `LookupIndex` writes."""
    types = {"format": int, "by": list, "model": bool, "next": int, "segments": dict}
    wrong = [name for name, kind in types.items() if not isinstance(state, dict) or type(state.get(name)) is not kind]
    if wrong:
        raise ValueError(f"{DESCRIPTION} is incomplete or altered: {', '.join(wrong)}")
    if state["format"] > FORMAT:
        raise ValueError(f"format {state['format']} is newer than this nsed, which reads up to {FORMAT}: upgrade it")
    for name, gone in state["segments"].items():
        if Path(name).name != name or not isinstance(gone, list) or not all(type(row) is int for row in gone):
            raise ValueError(f"{DESCRIPTION} is altered: the segment {abbreviate(repr(name))}")
    checked: dict[str, Any] = state
    return checked
