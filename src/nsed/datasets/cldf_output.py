"""CLDF output: a word list and its cognate sets as a CLDF Wordlist, by `pycldf` (extra `cognates`)."""

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError, DataError, MissingExtraError


class CldfForm(NamedTuple):
    """Form of a CLDF Wordlist, with its cognate set."""

    word: Word
    form: str
    """The word as it is written; its tokens together where nobody wrote it otherwise."""
    cognate_set: int
    alignment: Sequence[str]
    language_name: str = ""
    """The language in words, where the list calls it by something else."""


def write_cldf(folder: Path, forms: Sequence[CldfForm], *, method: str) -> None:
    """Write a CLDF Wordlist, which `cldf validate` accepts: forms, languages, parameters (concepts) and cognates.

    `method` says how the cognates were found; their alignments are with them. Identifiers of languages, concepts and
    forms are kept where they are such as CLDF allows, else made of them. Raises `MissingExtraError` without `pycldf`,
    `ArgumentError` for a folder in which there is something.
    """
    if find_spec("pycldf") is None:
        raise MissingExtraError("pycldf", extra="cognates")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArgumentError("--output", got=folder, expected="the name of a new folder, or an empty one")
    beside = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        beside.mkdir()
        _write(beside, forms, method)
        if folder.exists():
            folder.rmdir()
        beside.rename(folder)
    except OSError as error:
        raise DataError(folder, f"cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _write(folder: Path, forms: Sequence[CldfForm], method: str) -> None:
    dataset = import_module("pycldf").Wordlist.in_dir(folder)
    for component in ("LanguageTable", "ParameterTable", "CognateTable"):
        dataset.add_component(component)
    dataset.add_columns("CognateTable", *METHODS)
    languages = identifiers(form.word.language for form in forms)
    concepts = identifiers(form.word.concept for form in forms)
    glosses = {form.word.concept: form.word.gloss for form in forms if form.word.gloss}
    names = {form.word.language: form.language_name for form in forms if form.language_name}
    ids = _form_ids(forms)
    dataset.write(
        FormTable=[_form(form, own, languages, concepts) for form, own in zip(forms, ids, strict=True)],
        LanguageTable=[{"ID": own, "Name": names.get(name, name)} for name, own in languages.items()],
        ParameterTable=[{"ID": own, "Name": glosses.get(name, name)} for name, own in concepts.items()],
        CognateTable=[_cognate(form, own, method) for form, own in zip(forms, ids, strict=True)],
    )


def _form(form: CldfForm, own: str, languages: Mapping[str, str], concepts: Mapping[str, str]) -> dict[str, Any]:
    word = form.word
    return {
        "ID": own,
        "Language_ID": languages[word.language],
        "Parameter_ID": concepts[word.concept],
        "Form": form.form or "".join(word.tokens.split()),
        "Segments": word.tokens.split(),
    }


def _cognate(form: CldfForm, own: str, method: str) -> dict[str, Any]:
    return {
        "ID": own,
        "Form_ID": own,
        "Cognateset_ID": str(form.cognate_set),
        "Alignment": list(form.alignment),
        **dict(zip(METHODS, (method, "SCA"), strict=True)),
    }


METHODS = ("Cognate_Detection_Method", "Alignment_Method")
ALLOWED = re.compile(r"[a-zA-Z0-9_\-]+")


def _form_ids(forms: Sequence[CldfForm]) -> list[str]:
    """Identifiers that the words have, if these are all different and such as CLDF allows; else numbers."""
    given = [form.word.id for form in forms]
    if len(set(given)) == len(given) and all(map(ALLOWED.fullmatch, given)):
        return given
    return [str(number) for number in range(1, len(forms) + 1)]


def identifiers(names: Iterable[str], *, other: str = r"[^a-zA-Z0-9_\-]+") -> dict[str, str]:
    """Identifiers that CLDF allows, all different, for different names; `other` is what becomes an underscore.

    >>> identifiers(["Old Norse", "Old (Norse)", "Old Norse", "ə"])
    {'Old Norse': 'Old_Norse', 'Old (Norse)': 'Old_Norse_2', 'ə': 'x'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        plain = re.sub(other, "_", name).strip("_") or "x"
        label = next(one for one in chain([plain], (f"{plain}_{n}" for n in count(2))) if one not in taken)
        taken.add(label)
        found[name] = label
    return found
