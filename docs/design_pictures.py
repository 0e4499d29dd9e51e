"""Write the pictures of the pages on mechanisms, from the code of these pages: ``python docs/design_pictures.py``.

The blocks of a page run one after the other in an empty folder; of the pictures that they write, those that the page
shows are kept, as PNG.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

DOCS = Path(__file__).resolve().parent
PAGES = ("design", "linkages")
WIDEST = 1200
"""Pixels."""

CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def write(page: str) -> None:
    """Write the pictures of a page."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    shown = re.findall(rf"\]\(images/{page}-([\w-]+)\.png\)", text)
    names: dict[str, Any] = {}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for written in CODE.findall(text):
                block = written
                for name in shown:
                    block = block.replace(f'"{name}.svg"', f'"{name}.png"')
                exec(block, names)
        finally:
            os.chdir(before)
        for name in shown:
            drawn = Image.open(Path(folder) / f"{name}.png").convert("RGB")
            drawn.thumbnail((WIDEST, WIDEST))
            drawn.quantize(64).save(DOCS / "images" / f"{page}-{name}.png", optimize=True)
            print(f"{page}-{name}.png")


if __name__ == "__main__":
    for page in PAGES:
        write(page)
