"""Griffe extension: doctests of docstrings are blocks of code on the pages of the reference."""

import re
from typing import Any

from griffe import Extension, Object

DOCTEST = re.compile(r"^(?:>>>|\.\.\.)")


class Doctests(Extension):
    """Puts fences around what a docstring shows of a Python session."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Fences in the docstring of each class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    r"""The same text, its doctests as blocks of code; one ends at an empty line.

    >>> fenced("Sum.\n\n>>> 1 + 1\n2\n\nNo more.").splitlines()
    ['Sum.', '', '```pycon', '>>> 1 + 1', '2', '```', '', 'No more.']
    """
    return "\n\n".join(
        f"```pycon\n{part}\n```" if DOCTEST.match(part) else part for part in re.split(r"\n\s*\n", text.strip("\n"))
    )
