"""Long description of the distribution: the README as the page of an index can show it; hatchling calls this.

Pages and pictures that the README leads to are beside it in a checkout, and nowhere beside the page of an index.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"^!\[[^\[\]]*\]\([^()]*\)\n+", flags=re.MULTILINE)
LINK = re.compile(r"\[([^\[\]]*)\]\((?!https?://)[^()]*\)")
COMMENT = re.compile(r"<!--.*?-->", flags=re.DOTALL)
ENDING = "\nThe source distribution has all pages and files that are named here.\n"


def long_description(readme: str) -> str:
    """README without pictures and comments; of links that lead into the repository the text is left."""
    return LINK.sub(r"\1", COMMENT.sub("", PICTURE.sub("", readme))) + ENDING


class LongDescription(MetadataHookInterface):
    """Hook of the build that gives the field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field."""
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": long_description(readme)}
