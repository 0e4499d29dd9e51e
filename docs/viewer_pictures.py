"""Write the pictures of docs/viewer.md: ``python docs/viewer_pictures.py``, needs Chromium."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import kinetree as kt
from kinetree_studio.view.capture import Camera
from kinetree_studio.view.viewer import Viewer

IMAGES = Path(__file__).parent / "images"


def keep(image: np.ndarray, name: str) -> None:
    """Write a picture."""
    Image.fromarray(image).save(IMAGES / name, quality=82, method=6)
    print(name, (IMAGES / name).stat().st_size)


def page(viewer: Viewer, time: float, name: str, size: tuple[int, int]) -> None:
    """Draw a page at a time."""
    viewer.seek(time)
    keep(viewer.screenshot(size=size, panel=True), name)


def computing_page() -> None:
    """Draw a page that computes, with forces in its joints and the path of the coupler."""
    with tempfile.TemporaryDirectory() as folder:
        file = kt.page("four-bar").save(Path(folder) / "page.html")
        camera = Camera(file.resolve().as_uri())
        shown = "a.show.shown.forces = true; a.trailOf.value = 'coupler'; a.seek(0.57 * a.turn.period); a.refresh()"
        camera.browser.evaluate(f"(a => {{ {shown}; }})(kinetree.app)")
        keep(camera.page((1360, 850)), "computing-page.webp")
        camera.close()


def studio() -> None:
    """Draw the studio, with a longer rocker beside the four-bar of the gallery."""
    longer = "{do: 'set', at: ['bodies', 'coupler', 'placement', 'position'], to: ['130 mm', 0, 0]}"
    with tempfile.TemporaryDirectory() as folder, kt.studio("four-bar", folder=folder, port=0) as made:
        camera = Camera(made.url)
        ready = "(async () => { while (!kinetree.desk || !kinetree.app || !kinetree.app.drawn) await new Promise(setTimeout); })()"
        for script in (
            ready,
            f"kinetree.desk.keepBeside().then(() => kinetree.desk.change({longer})).then(() => 0)",
            ready,
        ):
            camera.browser.evaluate(script)
        camera.browser.evaluate("(a => { a.seek(0.3); a.desk.say(''); a.refresh(); })(kinetree.app)")
        keep(camera.page((1360, 850)), "studio.webp")
        camera.close()


def main() -> None:
    """Draw them all."""
    result = kt.gallery.study("quadruped").run(["computed-torque"], quick=True)
    record = result.outcomes["computed-torque"].records["record"]
    with kt.view("quadruped", record, port=0, trails=["front_right_tip"], view=(0.75, -1.0, 0.45)) as viewer:
        page(viewer, 0.75, "viewer.webp", (1280, 800))
        page(viewer, 0.75, "viewer-phone.webp", (390, 844))
    with kt.view("stewart-platform", port=0, show=["axes", "com"]) as viewer:
        viewer.seek(0.6)
        keep(viewer.screenshot(size=(640, 420)), "viewer-marks.webp")
    computing_page()
    studio()
    robot = kt.gallery.load("kuka-kr5")
    t = np.linspace(0.0, 2.0, 121)
    q = 0.9 * np.sin(np.outer(t, [1.0, 1.4, 1.1, 2.0, 1.7, 1.3])) + [0.0, 0.6, 0.3, 0.0, 0.0, 0.0]
    push = {robot.body_names[-1]: kt.Wrench(force=(10, 0, -30), moment=(0, 5, 0), axes="world")}
    with kt.view(
        robot,
        (t, q),
        ghost=(t, q + [0.35, 0.2, -0.2, 0.0, 0.0, 0.0]),
        wrenches=push,
        port=0,
        trails=[robot.body_names[-1]],
    ) as viewer:
        viewer.seek(0.5)
        keep(viewer.screenshot(size=(640, 420)), "viewer-ghost.webp")


if __name__ == "__main__":
    main()
