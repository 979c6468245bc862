"""Models that come with the package: a folder each, with the model and a card that says what it is."""

from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "shipped_models"
CARD = "card.md"


class ShippedModel(NamedTuple):
    """A model that needs no download; `nsed.load` takes its name."""

    name: str
    path: Path

    @property
    def card(self) -> str:
        """Data, licence, protocol and figures, as Markdown."""
        return (self.path / CARD).read_text(encoding="utf-8")

    @property
    def title(self) -> str:
        """The first line of the card."""
        return self.card.splitlines()[0].lstrip("# ")

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(file.stat().st_size for file in self.path.iterdir())


def shipped_models() -> dict[str, ShippedModel]:
    """All of them by name.

    >>> sorted(shipped_models())
    ['g2p-en', 'translit-ar-en']
    """
    return {path.parent.name: ShippedModel(path.parent.name, path.parent) for path in sorted(FOLDER.glob(f"*/{CARD}"))}


def resolved(path: str | Path) -> Path:
    """A folder: the one that is named, or that of the shipped model of this name."""
    shipped = shipped_models().get(str(path))
    return shipped.path if shipped and not Path(path).exists() else Path(path)
