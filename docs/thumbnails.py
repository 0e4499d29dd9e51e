"""Make the thumbnails of the gallery of studies: each system as kinetree's own viewer shows it.

``python docs/thumbnails.py [NAME ...]`` writes ``images/thumbnails/NAME.webp``.  It needs the extra ``view`` and
Chromium, and takes some seconds for each.  A study without a system, or without a thumbnail, shows its first plot.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "images" / "thumbnails"
SIZE = (360, 216)
SMOOTHER = 3
"""Pictures are drawn so many times larger, and made smaller: the edges of the viewer's own are rough."""
LARGEST = 20_000
"""Bytes of a thumbnail."""
MOMENT = 0.3
"""Of the motion, from its beginning (0) to its end (1)."""


def main(names: list[str]) -> None:
    """Draw the systems of some studies, or of all."""
    import kinetree as kt

    FOLDER.mkdir(exist_ok=True)
    for name in names or kt.gallery.studies():
        system = kt.gallery.study(name).system
        if system is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                draw(system, FOLDER / f"{name}.webp")
            except kt.KinetreeError as problem:
                print(f"{name} is left out: {problem}", flush=True)
            else:
                print(name, (FOLDER / f"{name}.webp").stat().st_size, "bytes", flush=True)


def draw(system: str, file: Path) -> None:
    """Write a system's picture, wholly or not at all."""
    from PIL import Image

    import kinetree as kt

    with kt.view(system, port=0) as viewer:
        if viewer.player is not None:
            viewer.seek(viewer.player.begin + MOMENT * (viewer.player.end - viewer.player.begin))
        large = viewer.screenshot(size=(SMOOTHER * SIZE[0], SMOOTHER * SIZE[1]))
    small = Image.fromarray(large).resize(SIZE, Image.Resampling.LANCZOS)
    beside = file.with_name(f".{file.name}.new")
    small.save(beside, format="webp", quality=82, method=6)
    os.replace(beside, file)


if __name__ == "__main__":
    main(sys.argv[1:])
