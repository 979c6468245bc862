"""Edit script, an alignment: how one string becomes another. Every model that can align answers with one."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Literal, get_args

from rapidfuzz.distance import Levenshtein
from rich.text import Text

from nsed.errors import ArgumentError, abbreviate
from nsed.text.visible import in_columns, visible

EditKind = Literal["delete", "insert", "substitute"]
Opcode = tuple[str, int, int, int, int]
Links = frozenset[tuple[int, int]]
"""Alignment links: places of source and target symbols that belong together, from 0."""

_COLOURS = {"delete": "red", "insert": "green", "replace": "yellow", "equal": ""}


@dataclass(frozen=True)
class Edit:
    """Edit operation.

    `source` is empty for an insertion, `target` for a deletion. `i` and `j` are the symbols of source and target before
    the operation, so that it reads source symbol number i and writes target symbol number j (from 0). `probability` is
    that of this operation at this place, over all ways to derive the target; `log_weight` is what the operation itself
    adds to the log-probability of its script.
    """

    kind: EditKind
    source: str
    target: str
    i: int
    j: int
    probability: float = 1.0
    log_weight: float = 0.0

    @property
    def tag(self) -> str:
        """Opcode tag of `difflib` and `rapidfuzz`: delete, insert, replace, or equal for a symbol that stays."""
        if self.kind != "substitute":
            return self.kind
        return "equal" if self.source == self.target else "replace"

    def __str__(self) -> str:
        source, target = visible(self.source), visible(self.target)
        return {"delete": f"-{source}", "insert": f"+{target}", "replace": f"{source}→{target}", "equal": source}[
            self.tag
        ]


def pharaoh(links: Links) -> str:
    """Pharaoh format: links as text, in order.

    >>> links: Links = frozenset({(1, 2), (0, 0)})
    >>> pharaoh(links)
    '0-0 1-2'
    """
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


@dataclass(frozen=True)
class EditScript:
    """Edit script: the operations that turn a source into a target, in order.

    `log_weight` is the model's log-probability of this script, `share` its probability among all scripts for the pair.

    >>> script = EditScript((Edit("substitute", "k", "c", 0, 0), Edit("substitute", "a", "a", 1, 1),
    ...                      Edit("delete", "t", "", 2, 2, 0.9)))
    >>> print(script)
    k→c a -t
    >>> script.pharaoh()
    '0-0 1-1'
    >>> script.opcodes()
    [('replace', 0, 1, 0, 1), ('equal', 1, 2, 1, 2), ('delete', 2, 3, 2, 2)]
    """

    edits: tuple[Edit, ...]
    log_weight: float = 0.0
    share: float = 1.0

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)

    def __len__(self) -> int:
        return len(self.edits)

    @property
    def source(self) -> tuple[str, ...]:
        """Source symbols."""
        return tuple(edit.source for edit in self.edits if edit.kind != "insert")

    @property
    def target(self) -> tuple[str, ...]:
        """Target symbols."""
        return tuple(edit.target for edit in self.edits if edit.kind != "delete")

    @property
    def links(self) -> Links:
        """Alignment links: the places of source and target symbol of each substitution, from 0."""
        return frozenset((edit.i, edit.j) for edit in self.edits if edit.kind == "substitute")

    def pharaoh(self) -> str:
        """Pharaoh format of the alignment, `i-j` pairs, from 0: which source symbol became which target symbol."""
        return pharaoh(self.links)

    def opcodes(self) -> list[Opcode]:
        """Opcodes, as `difflib.SequenceMatcher.get_opcodes` gives them, neighbours with the same tag joined."""
        groups = [(tag, list(edits)) for tag, edits in groupby(self.edits, key=lambda edit: edit.tag)]
        return [
            (
                tag,
                edits[0].i,
                edits[-1].i + (edits[-1].kind != "insert"),
                edits[0].j,
                edits[-1].j + (edits[-1].kind != "delete"),
            )
            for tag, edits in groups
        ]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready dictionary of plain values."""
        return {
            "source": list(self.source),
            "target": list(self.target),
            "edits": [asdict(edit) for edit in self.edits],
            "log_weight": self.log_weight,
            "share": self.share,
        }

    def to_json(self) -> str:
        """JSON in one line."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "EditScript":
        """Script parsed from what `to_json` wrote. Raises `ArgumentError` for anything else."""
        with parsing("EditScript"):
            return cls.from_dict(json.loads(text))

    @classmethod
    def from_dict(cls, read: Mapping[str, Any]) -> "EditScript":
        """Script from the plain values that `to_dict` gave."""
        edits = tuple(_checked(Edit(**edit)) for edit in read["edits"])
        return cls(edits, float(read["log_weight"]), float(read["share"]))

    def to_text(self) -> str:
        """Text in one line: `a` stays, `a→b` is substituted, `-a` deleted, `+b` inserted."""
        return " ".join(map(str, self.edits))

    def to_table(self) -> str:
        """Alignment table of two lines, source above target, `·` where one has no symbol."""
        rows = [
            [visible(edit.source) or "·" for edit in self.edits],
            [visible(edit.target) or "·" for edit in self.edits],
        ]
        return "\n".join(in_columns(rows))

    def __str__(self) -> str:
        return self.to_text()

    def __rich__(self) -> Text:
        """Rich text: the same line in colour, for terminals: `rich.print(script)`."""
        return Text(" ").join(Text(str(edit), style=_COLOURS[edit.tag]) for edit in self.edits)


@contextmanager
def parsing(kind: str) -> Iterator[None]:
    """Errors of JSON that is not what the class of this name writes, as `ArgumentError`."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        got = f"something else ({type(error).__name__}: {abbreviate(error, 200)})"
        raise ArgumentError("text", got=got, expected=f"what {kind}.to_json wrote") from None


def _checked(edit: Edit) -> Edit:
    """The same operation. Raises `TypeError` where its fields are of other types."""
    texts, places, numbers = (edit.source, edit.target), (edit.i, edit.j), (edit.probability, edit.log_weight)
    if edit.kind not in get_args(EditKind) or not all(isinstance(one, str) for one in texts):
        raise TypeError("an operation that is no delete, insert or substitute of strings")
    if not all(type(one) is int for one in places) or not all(type(one) in (int, float) for one in numbers):
        raise TypeError("an operation whose places or probabilities are no numbers")
    return edit


def plain_script(source: Sequence[str], target: Sequence[str]) -> EditScript:
    """Levenshtein script: how one string of symbols becomes another with as few edits as can be.

    >>> print(plain_script(["K", "AE", "T"], ["K", "AH", "T", "S"]))
    K AE→AH T +S
    """
    edits: list[Edit] = []
    for code in Levenshtein.opcodes(source, target):
        reads, writes = range(code.src_start, code.src_end), range(code.dest_start, code.dest_end)
        if code.tag == "delete":
            edits += [Edit("delete", source[i], "", i, code.dest_start) for i in reads]
        elif code.tag == "insert":
            edits += [Edit("insert", "", target[j], code.src_start, j) for j in writes]
        else:
            edits += [Edit("substitute", source[i], target[j], i, j) for i, j in zip(reads, writes, strict=True)]
    return EditScript(tuple(edits))
