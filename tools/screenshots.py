"""Pictures of the page for the documentation: `python -m tools.screenshots ADDRESS`, of a server that runs.

Needs the package playwright and Chromium.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parents[1] / "docs" / "images"
WIDTHS = {"desktop": (1280, 1350), "phone": (390, 844)}
VIEWS = {
    "transduce": "?model=g2p-en&text=read#transduce",
    "match": "?source=colour&target=color#match",
    "rules": "?model=g2p-en#rules",
}


def main(address: str) -> None:
    """Photograph every view at both widths."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for device, (width, height) in WIDTHS.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            for view, path in VIEWS.items():
                page.goto(f"{address}/{path}")
                page.wait_for_load_state("networkidle")
                page.screenshot(path=FOLDER / f"serve-{view}-{device}.png")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
