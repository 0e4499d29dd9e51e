"""Make the moving picture of the home page: the quadruped of the gallery under computed torque, on compliant ground.

``python docs/moving_picture.py`` simulates the walk as the study does and films it with kinetree's own viewer, the
camera going along.  It writes ``images/walking.webp``, a still of it for readers who do not want pictures to move,
``images/walking.png``, and the walk as data of a recording, ``recordings/quadruped.txt``, of which building
the site makes a page that can be turned and played.
It needs the extras ``view`` and ``plot`` (Pillow), and Chromium; it takes a minute or two.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).resolve().parent
SIZE = (800, 400)
FRAMES_PER_SECOND = 20
SMOOTHER = 2
"""Pictures are drawn so many times larger, and made smaller: the edges of the viewer's own are rough."""
RECORDED = 160
"""Samples of the recording."""
LARGEST = 1_000_000
"""Bytes of the film."""
DIRECTION = (1.2, 1.85, 0.7)
"""From the machine to the camera: in front, to the left, above."""
BEGIN, CYCLE = 1.8, 2.0
"""Seconds: when the film begins, and how long it takes all legs to have stepped, after which it repeats."""


def main(docs: Path = DOCS) -> None:
    """Simulate, film, write."""
    from PIL import Image

    record = walk()
    shown = recording(record)
    (docs / "recordings").mkdir(exist_ok=True)
    (docs / "recordings" / "quadruped.txt").write_text(shown + "\n", encoding="utf-8")
    print(len(shown), "bytes of recording")
    folder = docs / "images"
    frames = [Image.fromarray(frame).resize(SIZE, Image.Resampling.LANCZOS) for frame in film(record)]
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
    with kt.view(kt.load("quadruped"), record, view=DIRECTION, port=0) as viewer:
        return [frame(viewer, float(moment)) for moment in moments]


def recording(record: Any) -> str:
    """What the page of the walk shows, packed."""
    import kinetree as kt

    coarse = record[:: max(1, len(record) // RECORDED)]
    with kt.view(kt.load("quadruped"), coarse, view=DIRECTION, port=0) as viewer:
        page: str = viewer.recording()
    return page.split('id="data">')[1].split("</script>")[0]


def frame(viewer: Any, moment: float) -> np.ndarray:
    """One picture."""
    viewer.seek(moment)
    picture: np.ndarray = viewer.screenshot(size=(SMOOTHER * SIZE[0], SMOOTHER * SIZE[1]))
    return picture


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
