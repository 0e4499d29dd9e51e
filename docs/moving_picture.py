"""Make the moving picture of the home page: the quadruped of the gallery under computed torque, on compliant ground.

``python docs/moving_picture.py`` simulates the walk as the study does and films it with kinetree's own viewer, the
camera going along.  It writes ``images/walking.webp`` and a still of it, ``images/walking.png``, for readers who do not
want pictures to move.  It needs the extras ``view`` and ``plot`` (Pillow), and Chromium; it takes a minute or two.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

IMAGES = Path(__file__).resolve().parent / "images"
SIZE = (800, 400)
FRAMES_PER_SECOND = 20
SMOOTHER = 2
"""Pictures are drawn so many times larger, and made smaller, which makes edges smooth."""
LARGEST = 1_000_000
"""Bytes of the film."""
CAMERA = (1.2, 1.85, 0.85)
"""Direction from the machine to the camera: in front, to the left, above."""
BEGIN, CYCLE = 1.8, 2.0
"""Seconds: when the film begins, and how long it takes all legs to have stepped, after which it repeats."""


def main(folder: Path = IMAGES) -> None:
    """Simulate, film, write."""
    from PIL import Image

    frames = [Image.fromarray(frame).resize(SIZE, Image.Resampling.LANCZOS) for frame in film(walk())]
    frames[len(frames) // 3].quantize(128).save(folder / "walking.png", optimize=True)
    for quality in (75, 60, 45):
        frames[0].save(
            folder / "walking.webp", save_all=True, append_images=frames[1:], loop=0, quality=quality, method=4,
            duration=round(1000 / FRAMES_PER_SECOND),
        )  # fmt: skip
        if (folder / "walking.webp").stat().st_size < LARGEST:
            break
    print((folder / "walking.webp").stat().st_size, "bytes,", len(frames), "pictures")


def walk() -> Any:
    """The record of the walk."""
    import kinetree as kt

    result = kt.gallery.study("quadruped").run(["computed-torque"])
    (record,) = result.outcomes["computed-torque"].records.values()
    return record


def film(record: Any) -> list[np.ndarray]:
    """The pictures, in time with the motion."""
    import kinetree as kt

    moments = BEGIN + np.arange(0.0, CYCLE, 1.0 / FRAMES_PER_SECOND)
    pictures = []
    with kt.view("quadruped", record, port=0, view=CAMERA, show=["follow"]) as viewer:
        for moment in moments:
            viewer.seek(float(moment))
            pictures.append(viewer.screenshot(size=(SMOOTHER * SIZE[0], SMOOTHER * SIZE[1])))
    return pictures


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
