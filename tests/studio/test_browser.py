"""The viewer in a real Chromium without a window: it loads, the robot is seen and moves, and one file is enough."""

import json
import time as clock

import imageio.v3 as imageio
import numpy as np
import pytest

import kinetree as kt
from helpers.chromium import IN_BROWSER
from helpers.sockets import children, listening, needs_linux
from helpers.view_models import falling_box, pendulum
from kinetree import view
from kinetree.view import play
from kinetree_studio.view import capture

pytestmark = IN_BROWSER
SIZE = (480, 320)


@pytest.fixture(scope="module")
def camera():
    """One browser for all tests: starting it is what takes long."""
    with view(pendulum(), port=0) as viewer:
        camera = capture.Camera(viewer.url)
    yield camera
    camera.close()
    assert not camera.browser.folder.exists()
    assert camera.browser.process.poll() is not None


@pytest.fixture
def shared(camera, monkeypatch):
    """Let viewers use the one browser."""

    def started(url):
        camera.go(url.removesuffix("?still"))  # these pages are alive, too
        return camera

    monkeypatch.setattr(capture, "Camera", started)
    monkeypatch.setattr(camera, "close", lambda: None)
    return camera


def differing(a, b):
    """Share of pixels that differ visibly."""
    return float(np.mean(np.abs(a.astype(int) - b.astype(int)).max(axis=-1) > 24))


def colored(image):
    """Share of pixels that are neither gray nor white: links are colorful, ground and page are not."""
    return float(np.mean(np.ptp(image.astype(int), axis=-1) > 40))


def reddish(image):
    """Where the arrows are."""
    return image[..., 0].astype(int) - image[..., 1] > 80


def blueish(image):
    """Where the box is."""
    return image[..., 2].astype(int) - image[..., 0] > 40


def wait_for(condition, seconds=20.0):
    until = clock.monotonic() + seconds
    while not condition() and clock.monotonic() < until:
        clock.sleep(0.02)
    assert condition()


def test_the_page_loads_the_robot_is_seen_and_play_moves_it(shared, tmp_path):
    page = shared.browser
    with view("four-bar", port=0) as viewer:
        first = viewer.screenshot(tmp_path / "first.png", size=SIZE)
        np.testing.assert_array_equal(imageio.imread(tmp_path / "first.png"), first)
        assert first.shape == (320, 480, 3)
        assert 0.005 < colored(first) < 0.5
        text = page.evaluate("document.body.innerText")
        for word in ("four-bar", "Play", "Energy", "Curves", "Show", "Joints", "kinetic", "3 bodies"):
            assert word in text, word

        # without the robot there is nothing colorful left
        page.evaluate("window.parts = kinetree.app.scene.main.parts; kinetree.app.scene.main.parts = []; 0")
        bare = viewer.screenshot(size=SIZE)
        assert colored(bare) < 0.0005
        page.evaluate("kinetree.app.scene.main.parts = window.parts; 0")
        assert differing(first, viewer.screenshot(size=SIZE)) < 0.001  # the robot is back

        # a click on Play in the page moves it, here and there
        page.evaluate("document.querySelector('#bar .main').click()")
        wait_for(lambda: viewer.player.time >= 0.3)
        page.evaluate("document.querySelector('#bar .main').click()")
        wait_for(lambda: not viewer.player.playing)
        assert abs(page.evaluate("kinetree.app.clock.time") - viewer.player.time) < 1e-9
        assert differing(first, viewer.screenshot(size=SIZE)) > 0.005

        # what Python does is seen there, and what a slider does is known here
        viewer.seek(0.25)
        wait_for(lambda: page.evaluate("kinetree.app.clock.time") == 0.25)
        there = viewer.track.q[viewer.track.index(0.25)][0]
        # sliders follow with the next picture, which a busy machine draws late
        wait_for(lambda: abs(page.evaluate("Number(document.querySelector('.row input').value)") - there) < 1e-6)
        page.evaluate("(s => { s.value = Number(s.value) + 0.3; s.oninput(); })(document.querySelector('.row input'))")
        moved = there + 0.3
        wait_for(lambda: abs(viewer.q[0] - moved) < 1e-6)
        assert viewer.robot.closure_error(viewer.q) < 1e-9
        wait_for(lambda: page.evaluate("kinetree.app.scene.held !== null"))
        plain = viewer.screenshot(size=SIZE)
        for name in ("com", "frames", "axes", "inertia"):
            viewer.switch(**{name: True})
            assert differing(plain, viewer.screenshot(size=SIZE)) > 0.0005, name
            viewer.switch(**{name: False})


def test_after_dragging_a_joint_nothing_on_the_page_is_of_another_moment(shared):
    page = shared.browser
    rest = "(r => r.hidden ? '' : r.innerText)(document.getElementById('rest'))"
    faint = "[...document.querySelectorAll('.elsewhere')].length"
    numbers = "[...document.querySelectorAll('.chip')].filter(c => /[-0-9.]+$/.test(c.innerText)).length"
    time = "document.querySelector('#bar output').innerText"
    with view("four-bar", port=0) as viewer:
        viewer.seek(0.4)
        viewer.screenshot(size=(1280, 900), panel=True)
        assert page.evaluate(rest) == ""
        assert page.evaluate(faint) == 0
        assert page.evaluate(numbers) > 0
        assert page.evaluate(time) == "0.400 s"
        page.evaluate("(s => { s.value = Number(s.value) + 0.9; s.oninput(); })(document.querySelector('.row input'))")
        wait_for(lambda: page.evaluate("kinetree.app.scene.held !== null"))
        viewer.screenshot(size=(1280, 900), panel=True)
        said = page.evaluate(rest)
        for number in (
            viewer.robot.potential_energy(viewer.q),
            viewer.robot.inverse_dynamics(viewer.q, [0] * 3, [0] * 3)[0],
        ):
            assert f"{float(number):.4g}" in said
        assert page.evaluate(faint) == 4  # two plots, the time and its slider
        assert page.evaluate(numbers) == 0
        assert page.evaluate(time) == "(0.400 s)"
        viewer.seek(0.5)
        viewer.screenshot(size=(1280, 900), panel=True)
        assert (page.evaluate(rest), page.evaluate(faint), page.evaluate(time)) == ("", 0, "0.500 s")


def test_the_panel_stands_beside_the_robot_on_a_screen_and_on_a_phone(shared):
    page = shared.browser
    with view("four-bar", port=0) as viewer:
        for size in ((1280, 900), (390, 844)):
            assert viewer.screenshot(size=size, panel=True).shape == (size[1], size[0], 3)
            boxes = page.evaluate(
                "['stage', 'bar', 'panel'].map(id => { const b = document.getElementById(id).getBoundingClientRect();"
                " return [b.left, b.top, b.right, b.bottom]; })"
            )
            for k, (left, top, right, bottom) in enumerate(boxes):
                assert 0 <= left < right <= size[0]
                assert 0 <= top < bottom <= size[1]
                for other in boxes[k + 1 :]:
                    apart = right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
                    assert apart, (size, boxes)
            assert (boxes[0][2] - boxes[0][0]) * (boxes[0][3] - boxes[0][1]) > 0.4 * size[0] * size[1]
            page.evaluate("document.querySelector('#bar button[aria-label=Panel]').click()")
            alone = page.evaluate(
                "(b => [b.width, b.height])(document.getElementById('stage').getBoundingClientRect())"
            )
            assert alone[0] == size[0]
            assert alone[1] > 0.85 * size[1]
            page.evaluate("document.querySelector('#bar button[aria-label=Panel]').click()")


def test_a_film_a_picture_and_a_recording_of_a_record_with_its_contact_forces(shared, tmp_path):
    robot, ground, record = falling_box()
    record.save(tmp_path / "fall.npz")
    landing = float(record.time[int(np.argmax(record.contact_forces[..., 2].sum(axis=-1)))])
    picture, film, recording = tmp_path / "landing.png", tmp_path / "fall.mp4", tmp_path / "fall.html"
    files = {"screenshot": picture, "video": film, "recording": recording}
    written = play(robot, tmp_path / "fall.npz", contacts=ground, time=landing, fps=20, size=(320, 240), **files)
    assert written == [recording, picture, film]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fall.html", "fall.mp4", "fall.npz", "landing.png"]
    pictures = imageio.imread(film, plugin="FFMPEG")
    assert pictures.shape == (7, 240, 320, 3)
    rows = [np.nonzero(blueish(p))[0].mean() for p in pictures]
    assert all(np.diff(rows[:5]) > 0.0)  # rows count downwards: it falls, and no picture shows the one before
    assert reddish(imageio.imread(picture)).mean() > 0.001  # forces
    assert reddish(pictures[0]).mean() < 0.0002  # none in the air

    # the recording opens from the disk, without Python, and asks nobody for anything
    shared.go(recording.as_uri())
    page = shared.browser
    assert page.evaluate("location.protocol") == "file:"
    assert page.evaluate("kinetree.app.link") is None
    wait_for(lambda: page.evaluate("kinetree.app.clock.time") > 0.0)  # it plays
    assert (
        page.evaluate("performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length") == 0
    )
    np.testing.assert_allclose(
        shared.picture((320, 240), time=landing), imageio.imread(picture), atol=40
    )  # the same picture, but for rounding at edges

    # a press on the curves goes to that time, and the needle's chips say what is there
    page.evaluate(
        "(c => { const b = c.getBoundingClientRect(); const x = b.left + 46 + 0.5 * (b.width - 54);"
        " c.onpointerdown({ clientX: x, pointerId: 1, buttons: 1, preventDefault() {} }); })"
        "(Object.assign(document.querySelector('.plot'), { setPointerCapture() {} }))"
    )
    middle = 0.5 * (record.time[0] + record.time[-1])
    assert page.evaluate("kinetree.app.clock.time") == pytest.approx(middle, abs=2e-3)
    assert page.evaluate("kinetree.app.clock.playing") is False
    page.evaluate("kinetree.settle()")
    said = page.evaluate("document.querySelector('.chip').innerText")
    k = int(np.searchsorted(record.time, page.evaluate("kinetree.app.clock.time"), side="right")) - 1
    assert float(said.split()[-1]) == pytest.approx(record.energy.kinetic[k], rel=0.02)


def test_the_camera_goes_along_with_a_walker_and_a_ghost_is_pale(shared):
    robot = kt.Builder("cart")
    robot = robot.body("cart", "base", kt.Free(), mass_properties=kt.MassProperties.box(1.0, (0.4, 0.2, 0.2))).build()
    t = np.linspace(0.0, 2.0, 61)
    q = np.tile(robot.neutral(), (61, 1))
    q[:, 4], q[:, 6] = 3.0 * t, 0.1
    with view(robot, (t, q), port=0) as viewer:
        middles = []
        for time, follow in ((0.0, True), (2.0, True), (2.0, False)):
            viewer.seek(time)
            viewer.switch(follow=follow)
            seen = blueish(viewer.screenshot(size=(240, 160)))
            middles.append(np.nonzero(seen)[1].mean() if seen.any() else np.nan)
        assert abs(middles[1] - middles[0]) < 5  # pixels
        assert not abs(middles[2] - middles[0]) < 50  # it has gone away
    aside = q.copy()
    aside[:, 5] += 0.5
    with view(robot, (t, q), port=0, ghost=(t, aside)) as viewer:
        both = viewer.screenshot(size=(240, 160))
        viewer.switch(ghost=False)
        alone = viewer.screenshot(size=(240, 160))
        ghost = np.abs(both.astype(int) - alone).max(axis=-1) > 12
        assert ghost.mean() > 0.005
        assert not blueish(both)[ghost].mean() > 0.2  # gray


@needs_linux
def test_the_browser_opens_no_port(camera):
    """Whoever has an account on this machine could tell it to open this user's files."""
    assert children(camera.browser.process.pid)
    assert [line for line in listening(camera.browser.process.pid) if line.startswith("tcp")] == []


def test_a_motion_that_becomes_nan_leaves_the_scene(shared):
    robot = pendulum()
    t = np.linspace(0.0, 1.0, 11)
    q = np.zeros((11, 1))
    q[6:] = np.nan
    with pytest.warns(kt.ModelWarning, match=r"5 of 11 samples .* t = 0.6 s"):
        viewer = view(robot, (t, q), port=0)
    with viewer:
        seen = []
        for time in (0.3, 0.8):
            viewer.seek(time)
            seen.append(colored(viewer.screenshot(size=SIZE)))
        assert seen[0] > 0.005 > seen[1]
        assert json.dumps(viewer.state(), allow_nan=False)
