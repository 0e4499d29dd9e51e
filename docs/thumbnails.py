"""Make the thumbnails of the gallery of studies: each system as kinetree's own viewer shows it.

``python docs/thumbnails.py [NAME ...]`` writes ``images/thumbnails/NAME.webp``.  It needs the extra ``view`` and
Chromium, and takes some seconds for each.  A study without a system, or without a thumbnail, shows its first plot.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent / "images" / "thumbnails"
SIZE = (360, 216)
SMOOTHER = 3
"""Pictures are drawn so many times larger, and made smaller: the edges of the viewer's own are rough."""
MARGIN = 1.25
"""Size of the picture by that of the robot on it."""
LARGEST = 20_000
"""Bytes of a thumbnail."""
TOO_SIMPLE = ("rolling-ball", "rolling-coin")
"""Single bodies, of which a plot says more than a picture."""
MOMENT = 0.3
"""Of the motion, from its beginning (0) to its end (1)."""


def main(names: list[str]) -> None:
    """Draw the systems of some studies, or of all."""
    import kinetree as kt

    FOLDER.mkdir(exist_ok=True)
    for name in names or kt.gallery.studies():
        system = kt.gallery.study(name).system
        if system is None or name in TOO_SIMPLE:
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
    left, top, right, bottom = framed(large)
    small = Image.fromarray(large).crop((left, top, right, bottom)).resize(SIZE, Image.Resampling.LANCZOS)
    beside = file.with_name(f".{file.name}.new")
    small.save(beside, format="webp", quality=82, method=6)
    os.replace(beside, file)


def framed(picture: np.ndarray) -> tuple[int, int, int, int]:
    """The part of a picture that the robot is on, in the thumbnail's proportions: left, top, right, bottom."""
    colored = np.ptp(picture.astype(int), axis=-1) > 40  # the ground and its shadows are gray
    rows, columns = np.flatnonzero(colored.any(axis=1)), np.flatnonzero(colored.any(axis=0))
    if not len(rows):
        return 0, 0, picture.shape[1], picture.shape[0]
    tall, wide = rows[-1] - rows[0], columns[-1] - columns[0]
    height = min(picture.shape[0], max(MARGIN * tall, MARGIN * wide * SIZE[1] / SIZE[0], picture.shape[0] / SMOOTHER))
    width = height * SIZE[0] / SIZE[1]
    left = np.clip((columns[0] + columns[-1] - width) / 2, 0, picture.shape[1] - width)
    top = np.clip((rows[0] + rows[-1] - height) / 2, 0, picture.shape[0] - height)
    return round(left), round(top), round(left + width), round(top + height)


if __name__ == "__main__":
    main(sys.argv[1:])
