"""The viewer in a real Chromium without a window: the page loads, the robot is seen, and it moves."""

import time as clock

import imageio.v3 as imageio
import numpy as np
import pytest

from helpers.view_models import falling_box
from kinetree import view
from kinetree.errors import OptionError
from kinetree.view import play
from kinetree.view.browser import find_browser

try:
    BROWSER = find_browser()
except OptionError as problem:
    BROWSER, REASON = None, str(problem)

needs_browser = pytest.mark.skipif(BROWSER is None, reason=f"no Chromium: {REASON}" if BROWSER is None else "")
SIZE = (480, 320)


def differing(a, b):
    """Share of pixels that differ visibly."""
    return float(np.mean(np.abs(a.astype(int) - b.astype(int)).max(axis=-1) > 24))


def colored(image):
    """Share of pixels that are neither grey nor white: links are colourful, ground and page are not."""
    return float(np.mean(np.ptp(image.astype(int), axis=-1) > 40))


@needs_browser
@pytest.mark.slow
def test_the_page_loads_the_robot_is_seen_and_play_moves_it(tmp_path):
    with view("four-bar", port=0) as viewer:
        first = viewer.screenshot(tmp_path / "first.png", size=SIZE)
        written = imageio.imread(tmp_path / "first.png")
        np.testing.assert_array_equal(written, first)
        assert first.shape == (320, 480, 3)
        assert first.std() > 5.0  # not blank
        assert 0.005 < colored(first) < 0.5

        # the page itself: its title, its controls, a canvas that draws
        page = viewer.camera().browser
        assert page.evaluate("document.querySelectorAll('canvas').length") >= 1
        text = page.evaluate("document.body.innerText")
        for word in ("four-bar", "Play", "Time", "Speed", "Energy", "Joints", "kinetic"):
            assert word in text, word

        # without the robot there is nothing colourful left
        for node in (*viewer.scene.bodies, viewer.scene.base):
            node.visible = False
        viewer.scene._slides.visible = False
        bare = viewer.screenshot(size=SIZE)
        assert colored(bare) < 0.0005
        assert differing(first, bare) > 0.005
        for node in (*viewer.scene.bodies, viewer.scene.base):
            node.visible = True
        viewer.scene._slides.visible = True
        assert differing(first, viewer.screenshot(size=SIZE)) < 0.001  # the robot is back

        # a click on Play in the page moves it
        page.evaluate("[...document.querySelectorAll('button')].find(b => b.innerText == 'Play').click()")
        until = clock.monotonic() + 20.0
        while viewer.player.time < 0.3 and clock.monotonic() < until:
            clock.sleep(0.05)
        viewer.pause()
        assert viewer.player.time >= 0.3
        moved = viewer.screenshot(size=SIZE)
        assert differing(first, moved) > 0.005
        assert 0.005 < colored(moved) < 0.5

        whole = viewer.screenshot(tmp_path / "page.png", size=(1000, 700), panel=True)
        assert whole.shape == (700, 1000, 3)
        assert np.mean(np.all(np.abs(whole.astype(int) - (34, 139, 230)) < 6, axis=-1)) > 0.002  # viser's blue button
    assert sorted(p.name for p in tmp_path.iterdir()) == ["first.png", "page.png"]
    assert not page.folder.exists()
    assert page.process.poll() is not None


@needs_browser
@pytest.mark.slow
def test_a_film_and_a_picture_of_a_record_with_its_contact_forces(tmp_path):
    robot, ground, record = falling_box()
    record.save(tmp_path / "fall.npz")
    landing = float(record.time[int(np.argmax(record.contact_forces[..., 2].sum(axis=-1)))])
    picture, film = tmp_path / "landing.png", tmp_path / "fall.mp4"
    files = {"screenshot": picture, "video": film}
    written = play(robot, tmp_path / "fall.npz", contacts=ground, time=landing, fps=20, size=(320, 240), **files)
    assert written == [picture, film]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fall.mp4", "fall.npz", "landing.png"]
    pictures = imageio.imread(film, plugin="FFMPEG")
    assert pictures.shape == (7, 240, 320, 3)
    rows = [np.nonzero(blueish(p))[0].mean() for p in pictures]
    assert all(np.diff(rows[:5]) > 0.0)  # rows count downwards: it falls, and no picture shows the one before
    assert reddish(imageio.imread(picture)).mean() > 0.001  # forces
    assert reddish(pictures[0]).mean() < 0.0002  # none in the air


def blueish(image):
    """Where the box is."""
    return image[..., 2].astype(int) - image[..., 0] > 40


def reddish(image):
    """Where the arrows are."""
    return image[..., 0].astype(int) - image[..., 1] > 60
