"""Tables of a weighted Levenshtein distance for other programs: JSON, a Python module, SQL for DuckDB.

The distance is the cost of the cheapest edit script, each operation at the model's own cost: for an edit distance minus
its log-probability, for a Matcher in odds form minus its log-odds, which may be below 0. It is minus the log-weight of
`model.align`, but for what no table has: places, coherence, and what odds know of new symbols' kin.
"""

import inspect
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from nsed.errors import ArgumentError
from nsed.models.base import Model, NetworkModel
from nsed.models.edit_distance import LearnableEditDistance
from nsed.models.odds import OddsMatcher
from nsed.text import SymbolSplitter, Vocabulary, grapheme_data, graphemes, symbols
from nsed.text.symbols import SymbolKind
from nsed.text.tokenizer import SPECIALS
from nsed.types import UNKNOWN

OTHER = ""
"""Name of all symbols that the model does not know; no symbol is empty."""


@dataclass(frozen=True)
class CostTable:
    """Costs of operations on symbols, with `OTHER` first; what is not possible costs infinity."""

    kind: str
    splitters: tuple[SymbolSplitter, SymbolSplitter]
    sources: list[str]
    targets: list[str]
    delete: list[float]
    insert: list[float]
    substitute: list[list[float]]
    has_odds: bool

    def to_dict(self, *, impossible: float | None = None) -> dict[str, Any]:
        """JSON-ready dictionary: costs by symbol; `impossible` stands for infinity, which JSON has no word for."""

        def named(names: list[str], costs: Sequence[float]) -> dict[str, float | None]:
            known = (impossible if math.isinf(cost) else cost for cost in costs)
            return dict(zip(names, known, strict=True))

        return {
            "format": "nsed weighted Levenshtein distance",
            "version": 1,
            "model": self.kind,
            "cost": "minus log-odds: below 0 speaks for a match" if self.has_odds else "minus log-probability, in nats",
            "unknown": OTHER,
            "source": described(self.splitters[0]),
            "target": described(self.splitters[1]),
            "delete": named(self.sources, self.delete),
            "insert": named(self.targets, self.insert),
            "substitute": {
                source: named(self.targets, row) for source, row in zip(self.sources, self.substitute, strict=True)
            },
        }


def described(splitter: SymbolSplitter) -> dict[str, str]:
    """How strings of one side become symbols, in plain values."""
    return {"symbols": splitter.kind, "unicode_form": splitter.form, "case": splitter.case}


def cost_table(model: Model) -> CostTable:
    """Costs of a model that is a table. Raises `ArgumentError` for another one."""
    if isinstance(model, LearnableEditDistance):
        logs = [torch.log(part) for part in (model.smoothed.delete, model.smoothed.insert, model.smoothed.substitute)]
    elif isinstance(model, OddsMatcher):
        with torch.no_grad():
            logs = list(model.network.odds()[:3])
    else:
        expected = "an edit distance or a matcher in odds form: no other model has a table of costs"
        advice = "Export its graphs: --format onnx." if isinstance(model, NetworkModel) else ""
        raise ArgumentError("model", got=f"a model of kind {model.kind!r}", expected=expected, advice=advice)
    source, target = model.tokenizers.source, model.tokenizers.target
    rows, columns = (_rows(side.vocabulary) for side in (source, target))
    delete, insert, substitute = (-part.cpu().double().numpy() for part in logs)
    return CostTable(
        model.kind,
        (source.splitter, target.splitter),
        [OTHER, *source.vocabulary.symbols],
        [OTHER, *target.vocabulary.symbols],
        _rounded(delete[rows]),
        _rounded(insert[columns]),
        [_rounded(row) for row in substitute[rows][:, columns]],
        isinstance(model, OddsMatcher),
    )


def _rows(vocabulary: Vocabulary) -> list[int]:
    """Numbers of `<unk>` and of a vocabulary's symbols."""
    return [UNKNOWN, *range(len(SPECIALS), len(vocabulary))]


def _rounded(costs: np.ndarray) -> list[float]:
    return [round(cost, 6) for cost in costs.tolist()]


def as_json(table: CostTable) -> str:
    """JSON document of a table, as strict readers want it: the cost of what is not possible is null."""
    return json.dumps(table.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


_MODULE = '''"""Weighted Levenshtein distance, learned by nsed (kind of model: {kind}). It needs Python alone.

    >>> distance("...", "...")                # cost of the cheapest edit script
    >>> from rapidfuzz import process
    >>> process.extract("...", choices, scorer=similarity)

`distance` has a cost for every operation on every symbol; rapidfuzz's own has three numbers, so it is a scorer here.
"""

import json
import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, pairwise

COSTS = json.loads({costs})
"""Costs of operations: {meaning}. The symbol "" is any that is not named."""


def distance(source, target, *, processor=None, score_cutoff=None):
    """Cost of the cheapest edit script that turns source into target; above the cutoff, infinity."""
    if processor is not None:
        source, target = processor(source), processor(target)
    delete, insert, substitute = COSTS["delete"], COSTS["insert"], COSTS["substitute"]
    targets = split(target, COSTS["target"])
    inserts = [insert.get(symbol, insert[""]) for symbol in targets]
    row = [0.0]
    for cost in inserts:
        row.append(row[-1] + cost)
    for symbol in split(source, COSTS["source"]):
        gap, costs = delete.get(symbol, delete[""]), substitute.get(symbol, substitute[""])
        after = [row[0] + gap]
        for j, other in enumerate(targets):
            change = costs.get(other, costs[""])
            after.append(min(row[j] + change, row[j + 1] + gap, after[j] + inserts[j]))
        row = after
    return row[-1] if score_cutoff is None or row[-1] <= score_cutoff else math.inf


def similarity(source, target, *, processor=None, score_cutoff=None):
    """Similarity from 0 to 1: {similarity}. Below the cutoff, 0."""
    if processor is not None:
        source, target = processor(source), processor(target)
    cost = distance(source, target)
    found = {formula}
    return found if score_cutoff is None or found >= score_cutoff else 0.0


def _apart(source, target):
    """Cost to delete all of one and insert all of the other."""
    delete, insert = COSTS["delete"], COSTS["insert"]
    gone = sum(delete.get(symbol, delete[""]) for symbol in split(source, COSTS["source"]))
    return gone + sum(insert.get(symbol, insert[""]) for symbol in split(target, COSTS["target"]))


def split(text, side):
    """Symbols of a string, as the model cuts strings of this side."""
    if side["unicode_form"] != "none":
        text = unicodedata.normalize(side["unicode_form"], text)
    return SPLIT[side["symbols"]](text.lower() if side["case"] == "lower" else text)


'''
_PLAIN = 'SPLIT = {"codepoints": list, "tokens": str.split}\n'
_CLUSTERED = """SPLIT = {
    "codepoints": list,
    "tokens": str.split,
    "graphemes": split_graphemes,
    "letters": lambda text: list(chain.from_iterable(map(split_graphemes, text.split()))),
    "phones": lambda text: list(chain.from_iterable(map(split_phones, text.split()))),
}
"""
_CLASSED = """SPLIT["sound-classes"] = lambda text: list(chain.from_iterable(map(sound_classes, text.split())))
SPLIT["dolgopolsky"] = lambda text: list(chain.from_iterable(map(dolgopolsky, text.split())))
"""


def as_python(table: CostTable) -> str:
    """Python module that needs nothing else: `distance`, and `similarity`, which rapidfuzz takes as a scorer."""
    ratio = "0.0 if cost == math.inf else 1 - cost / (_apart(source, target) or 1.0)"
    logistic = "1 / (1 + math.exp(min(700.0, max(-700.0, cost))))"
    kept = ("source", "target", "delete", "insert", "substitute")
    table_of_costs = table.to_dict(impossible=math.inf)
    costs = json.dumps({name: table_of_costs[name] for name in kept})
    module = _MODULE.format(
        kind=table.kind,
        costs=repr(costs),
        meaning=table.to_dict()["cost"],
        similarity="of the log-odds"
        if table.has_odds
        else "one minus the share of the cost of having nothing in common",
        formula=logistic if table.has_odds else ratio,
    )
    return module + _splitting({side.kind for side in table.splitters})


def _splitting(kinds: set[SymbolKind]) -> str:
    """Code that cuts strings into symbols of these kinds."""
    if kinds <= {"codepoints", "tokens"}:
        return _PLAIN
    classes = _class_code() + _CLASSED if kinds & {"sound-classes", "dolgopolsky"} else ""
    return _grapheme_code() + _CLUSTERED + classes


def _grapheme_code() -> str:
    """Code of grapheme clusters and phones, as the package has it, without its imports."""
    data, code = (inspect.getsource(module) for module in (grapheme_data, graphemes))
    parts = [data[data.index("RANGES =") :], code[code.index("_PLAIN =") :]]
    marks = "".join(f"{name} = {getattr(symbols, name)!r}\n" for name in ("STRESS", "TIES", "MODIFIERS"))
    return "\n\n".join([*parts, marks, inspect.getsource(symbols.split_phones)]) + "\n\n"


def _class_code() -> str:
    """Code of the classes of sounds, as the package has it."""
    code = inspect.getsource(symbols)
    return "\n\n" + code[code.index("CLASSES =") : code.index("SymbolKind =")]


_SQL = """-- Weighted Levenshtein distance, learned by nsed (kind of model: {kind}), for DuckDB 1.3 or newer.
-- Costs: {meaning}. The symbol '' is any that is not named.
--     .read weighted_levenshtein.sql
--     SELECT nsed_distance(a.name, b.name) AS distance FROM a, b ORDER BY distance;
CREATE OR REPLACE TABLE nsed_costs AS SELECT
    {sources} AS sources,
    {targets} AS targets,
    {delete}::DOUBLE[] AS deletes,
    {insert}::DOUBLE[] AS inserts,
    {substitute}::DOUBLE[][] AS substitutes;
CREATE OR REPLACE MACRO nsed_source_symbols(text) AS {split_source};
CREATE OR REPLACE MACRO nsed_target_symbols(text) AS {split_target};
CREATE OR REPLACE MACRO nsed_numbers(symbols, known) AS
    list_transform(symbols, lambda symbol: coalesce(list_position(known, symbol), 1));
CREATE OR REPLACE MACRO nsed_row(before, step, inserted) AS list_reduce(
    list_transform(
        range(1, len(inserted) + 1),
        lambda j: [before[j + 1] + step[1], before[j] + step[j + 1], inserted[j]]),
    lambda done, arcs: list_append(done, least(arcs[1], arcs[2], done[-1] + arcs[3])),
    [before[1] + step[1]]);
CREATE OR REPLACE MACRO nsed_first_row(inserted) AS list_reduce(
    list_transform(inserted, lambda cost: [cost]),
    lambda done, cost: list_append(done, done[-1] + cost[1]),
    [0.0::DOUBLE]);
CREATE OR REPLACE MACRO nsed_cheapest(steps, inserted) AS
    list_reduce(steps, lambda before, step: nsed_row(before, step, inserted), nsed_first_row(inserted))[-1];
CREATE OR REPLACE MACRO nsed_distance(source, target) AS (
    SELECT nsed_cheapest(
        list_transform(
            nsed_numbers(nsed_source_symbols(source), sources),
            lambda s: list_concat(
                [deletes[s]],
                list_transform(nsed_numbers(nsed_target_symbols(target), targets), lambda t: substitutes[s][t]))),
        list_transform(nsed_numbers(nsed_target_symbols(target), targets), lambda t: inserts[t]))
    FROM nsed_costs);
"""
_SPACE_SQL = r"[\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]+"
"""White space of all scripts, as Python's `str.split` has it; `\\s` is that of ASCII in SQL."""
_SPLIT_SQL = {
    "graphemes": "list_transform(range(1, length_grapheme({0}) + 1), lambda place: substring_grapheme({0}, place, 1))",
    "codepoints": "regexp_extract_all({0}, '(?s).')",
    "tokens": "list_filter(regexp_split_to_array({0}, {1}), lambda token: token <> '')",
}
"""Symbols of a string in SQL."""
_CASED = (
    r"\p{Lu}\p{Ll}\p{Lt}\x{aa}\x{ba}\x{2160}-\x{217f}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}"
    r"\x{1f170}-\x{1f189}"
)
_BETWEEN = (
    r"\p{Mn}\p{Me}\p{Cf}\p{Lm}\p{Sk}\x27.:\x{b7}\x{387}\x{55f}\x{5f4}\x{2018}\x{2019}\x{2024}\x{2027}"
    r"\x{fe13}\x{fe52}\x{fe55}\x{ff07}\x{ff0e}\x{ff1a}"
)
"""Letters and signs that have case, and what may stand within a word (Unicode: cased, case-ignorable)."""


def _lower_sql(text: str) -> str:
    """Small letters as Python has them: a sigma that ends a Greek word is \u03c2, and \u0130 keeps its dot."""
    final = f"([{_CASED}][{_BETWEEN}]*)\u03a3([{_BETWEEN}]*([^{_CASED}{_BETWEEN}]|$))"
    dotted = f"replace({text}, '\u0130', 'i\u0307')"
    return f"lower(regexp_replace({dotted}, '{final}', '\\1\u03c2\\2', 'g'))"


_FORM_SQL = {"NFC": "nfc_normalize({0})", "none": "{0}"}


def as_sql(table: CostTable) -> str:
    """SQL for DuckDB: a table of costs, and the macro `nsed_distance(source, target)`.

    Raises `ArgumentError` for symbols that SQL cannot cut strings into.
    """
    return _SQL.format(
        kind=table.kind,
        meaning=table.to_dict()["cost"],
        sources=_sql_list(table.sources),
        targets=_sql_list(table.targets),
        delete=_sql_numbers(table.delete),
        insert=_sql_numbers(table.insert),
        substitute=f"[{', '.join(map(_sql_numbers, table.substitute))}]",
        split_source=_split_sql("source", table.splitters[0]),
        split_target=_split_sql("target", table.splitters[1]),
    )


def _split_sql(side: str, splitter: SymbolSplitter) -> str:
    if splitter.kind not in _SPLIT_SQL or splitter.form not in _FORM_SQL:
        expected = f"{', '.join(_SPLIT_SQL)}, in NFC: DuckDB cuts strings into these"
        got = f"{splitter.kind} in {splitter.form} of the {side}"
        raise ArgumentError("symbols", got=got, expected=expected, advice="--format rapidfuzz cuts as the model does.")
    normal = _FORM_SQL[splitter.form].format("text")
    text = _lower_sql(normal) if splitter.case == "lower" else normal
    return _SPLIT_SQL[splitter.kind].format(text, f"'{_SPACE_SQL}'")


def _sql_list(names: list[str]) -> str:
    return "[" + ", ".join("'" + name.replace("'", "''") + "'" for name in names) + "]"


def _sql_numbers(costs: list[float]) -> str:
    return "[" + ", ".join("'inf'::DOUBLE" if cost == float("inf") else str(cost) for cost in costs) + "]"
