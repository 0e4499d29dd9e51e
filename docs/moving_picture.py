"""Make the moving picture of the home page: the quadruped of the gallery under computed torque, on compliant ground.

``python docs/moving_picture.py`` simulates the walk as the study does and films it with kinetree's own viewer, the
camera going along.  It writes ``images/walking.webp`` and a still of it, ``images/walking.png``, for readers who do not
want pictures to move.  It needs the extras ``view`` and ``plot`` (Pillow), and Chromium; it takes a minute or two.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

IMAGES = Path(__file__).resolve().parent / "images"
SIZE = (800, 400)
FRAMES_PER_SECOND = 20
SMOOTHER = 2
"""Pictures are drawn so many times larger, and made smaller: the edges of the viewer's own are rough."""
LARGEST = 1_000_000
"""Bytes of the film."""
CAMERA = np.array([1.2, 1.85, 0.85])
"""From the point it looks at to the camera, in meters: in front, to the left, above."""
BELOW = 0.27
"""How far below the trunk that point is, so that the feet are well within the picture."""
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

    robot = kt.load("quadruped")
    trunk = robot.body_names[0]
    moments = BEGIN + np.arange(0.0, CYCLE, 1.0 / FRAMES_PER_SECOND)
    shown = record.at(moments)
    pictures = []
    with kt.view(robot, record, port=0) as viewer:
        camera = viewer.camera()
        # the first one is drawn before the camera has arrived at its place, and left out
        for moment, q in zip([moments[0], *moments], [shown.q[0], *shown.q], strict=True):
            place = robot.pose(q, trunk)[:3, 3]
            target = np.array([place[0], 0.0, robot.pose(shown.q[0], trunk)[2, 3] - BELOW])
            camera.client.camera.position = target + CAMERA
            camera.client.camera.look_at = target
            viewer.seek(float(moment))
            time.sleep(0.3)  # the camera's place goes to the browser by another way than the request for a picture
            pictures.append(viewer.screenshot(size=(SMOOTHER * SIZE[0], SMOOTHER * SIZE[1])))
    return pictures[1:]


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
