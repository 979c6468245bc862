"""Targets: functions of bytes that raise only where something is wrong, one for each surface that reads foreign input.

An error that says what is wrong with the input is an answer, and no fault; every other exception is one, a failed
assertion included: strings that do not come back, fast paths that differ from their readable twins, numbers that are
none.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

Execute = Callable[[bytes], None]
CORPUS = Path(__file__).parent / "corpus"


class Target(NamedTuple):
    """Target of fuzzing."""

    name: str
    prepare: str
    """Function that makes the target, given a folder to write into; imported when the target runs."""
    about: str
    runs: int = 500_000
    """Executions of a long run."""
    longest: int = 512
    """Bytes of an input at most: what is wrong is rarely a matter of length, and short inputs are quick."""
    words: Sequence[bytes] = ()
    """Words of the format, which mutations put in."""

    def prepared(self, folder: Path) -> Execute:
        """The function of bytes."""
        made: Execute = resolve_name(self.prepare)(folder)
        return made

    def seeds(self) -> list[bytes]:
        """Inputs to begin with, small and most of them sound."""
        return [path.read_bytes() for path in sorted((CORPUS / self.name).iterdir())]


COLUMN_NAMES = (b"source", b"target", b"label", b"\t", b",", b'"', b"source_language", b"answer", b"(2)", b";;;", b" #")
HEADERS = (b"DOCULECT", b"CONCEPT", b"TOKENS", b"IPA", b"COGID", b"ID", b"<tre>", b"</tre>", b"@", b"#", b"\t")
YAML = (
    b"!!int", b"!!float", b"!!bool", b"!!timestamp", b"!!binary", b"!!set", b"!!omap", b"!!pairs", b"!!map", b"!!null",
    b"&a", b"*a", b"<<: ", b"? ", b": ", b"- ", b"--- ", b"...", b"|", b">", b"%YAML", b"encoder: ", b"train: ",
    b"dim: ", b"model: ", b".inf", b".nan", b"1e-3", b"0x", b"0b", b"0o", b"1:30", b"2001-12-14t21:59:43.10-05:00",
)  # fmt: skip
JSON = (
    b'"model"', b'"source"', b'"target"', b'"sources"', b'"pairs"', b'"nbest"', b'"beam"', b'"scripts"', b'"pictures"',
    b'"html"', b'"by"', b'"top"', b'"exact"', b'"matcher"', b'"distance"', b'"lattice"', b'"waterfall"', b"NaN", b"[",
    b"{", b"}", b"]", b":", b",", b"1e400", b"-0.0", b'"\\ud83d"', b'"\\u0000"', b"/", b"%00", b"%ff",
)  # fmt: skip
STORED = (b'"edits"', b'"kind"', b'"by"', b'"segments"', b'"ngrams"', b'"exact"', b"NaN", b"-1", b"null", b"[]")
CLDF = (b"--8<--", b'"url"', b'"dc:conformsTo"', b'"tables"', b'"columns"', b'"propertyUrl"', b'"separator"')

TARGETS = {
    one.name: one
    for one in (
        Target("delimited", "fuzz.readers:delimited", "TSV, CSV, lines, dictionaries, links", words=COLUMN_NAMES),
        Target("word_lists", "fuzz.readers:word_lists", "LingPy's word lists", words=HEADERS),
        Target("settings", "fuzz.settings:settings", "YAML files of settings, of all kinds of models", words=YAML),
        Target("overrides", "fuzz.settings:overrides", "--set key=value", longest=256, words=YAML),
        Target("model_folders", "fuzz.model_folders:model_folders", "folders of models, read and used", 20_000, 128),
        Target("lite_folders", "fuzz.model_folders:lite_folders", "the same with nsed-lite", 20_000, 128),
        Target("web_api", "fuzz.web_api:web_api", "requests to the JSON API and the pages", words=JSON),
        Target("symbols", "fuzz.symbols:symbols", "strings to symbols and back, tokenizers", longest=128),
        Target("stored_files", "fuzz.stored_files:stored_files", "indexes, scripts and explanations", words=STORED),
        Target("columnar", "fuzz.readers:columnar", "Parquet and Arrow files", longest=128),
        Target("cldf", "fuzz.readers:cldf", "CLDF word lists, metadata included", longest=4096, words=CLDF),
    )
}
