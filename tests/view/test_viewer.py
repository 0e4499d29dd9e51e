"""The viewer without a browser: what its controls do, seen from the server's side."""

import threading
import time as clock

import imageio.v3 as imageio
import numpy as np
import pytest

import kinetree as kt
from helpers.robots import arm, floating_pair, gripper
from helpers.view_models import falling_box, pendulum
from kinetree import view
from kinetree.view import Viewer, play
from kinetree.view.motion import Poses
from kinetree.view.scene import ground_height, plane_normal
from kinetree.view.sliders import coordinates, from_sliders, to_sliders
from kinetree.view.viewer import start_server


@pytest.fixture
def swinging():
    robot = pendulum()
    record = kt.simulate(robot, [1.0], time=2.0, output=201)
    with view(robot, record, port=0) as viewer:
        yield viewer, record


def body_matrix(viewer, i):
    node = viewer.scene.bodies[i]
    w, x, y, z = node.wxyz
    rotation = kt.Pose.of(quaternion=(x, y, z, w)).rotation
    return rotation, np.asarray(node.position)


def assert_shown(viewer, q):
    for i, name in enumerate(viewer.robot.body_names):
        rotation, position = body_matrix(viewer, i)
        expected = viewer.robot.pose(q, name)
        np.testing.assert_allclose(rotation, expected[:3, :3], atol=1e-6)
        np.testing.assert_allclose(position, expected[:3, 3], atol=1e-6)


# ------------------------------------------------------------------ playing


def test_the_time_slider_shows_the_record_at_that_time(swinging):
    viewer, record = swinging
    assert_shown(viewer, record.q[0])
    for t in (0.5, 2.0, 1.237, 0.0):
        viewer.panel.time.value = t
        assert viewer.player.time == t
        q = record.at(t).q[0]
        np.testing.assert_allclose(body_matrix(viewer, 0)[0], viewer.robot.pose(q, "bob")[:3, :3], atol=1e-4)
        (slider,) = viewer.panel.joints.handles[viewer.robot.joint_names[0]]
        assert slider.value == pytest.approx(q[0], abs=0.05)  # of the sample before


def test_play_and_pause_buttons(swinging):
    viewer, _ = swinging
    viewer.panel.speed.value = 4.0
    assert viewer.player.speed == 4.0
    viewer.panel.play.value = True  # what a click does
    assert viewer.player.playing
    assert viewer.panel.play.label == "Pause"
    until = clock.monotonic() + 10.0
    while viewer.player.time < 0.2 and clock.monotonic() < until:
        clock.sleep(0.02)
    viewer.panel.play.value = True
    assert not viewer.player.playing
    assert viewer.panel.play.label == "Play"
    reached = viewer.player.time
    assert reached >= 0.2
    clock.sleep(0.15)
    assert viewer.player.time == reached
    viewer.panel.repeat.value = False
    assert viewer.player.repeat is False


def test_back_to_the_start(swinging):
    viewer, record = swinging
    viewer.seek(1.0)
    viewer.move_joint(viewer.robot.joint_names[0], 0.3)
    np.testing.assert_array_equal(viewer.q, [0.3])
    viewer.reset()
    assert viewer.player.time == 0.0
    assert_shown(viewer, record.q[0])


def test_play_serves_until_the_user_has_seen_enough(monkeypatch):
    seen = []
    monkeypatch.setattr(Viewer, "wait", lambda viewer: seen.append((viewer.player.playing, viewer.url)))
    record = kt.simulate(pendulum(), [1.0], time=0.5, output=51)
    assert play(pendulum(), record, port=0, open_browser=False, say=seen.append) == []
    assert seen == [f"pendulum is shown at {seen[1][1]} until you press Ctrl-C", (True, seen[1][1])]


def test_waiting_ends_when_the_viewer_is_closed():
    with view(pendulum(), port=0) as viewer:
        threading.Timer(0.3, viewer.close).start()
        begin = clock.monotonic()
        viewer.wait()
        assert 0.2 < clock.monotonic() - begin < 10.0


def test_moving_the_time_slider_pauses(swinging):
    viewer, _ = swinging
    viewer.play()
    viewer.panel.time.value = 1.5
    assert not viewer.player.playing
    assert viewer.player.time == 1.5


def test_energy_is_plotted_and_a_needle_marks_the_time(swinging):
    viewer, record = swinging
    time, kinetic, potential, total, needle = viewer.panel.plot.data
    np.testing.assert_allclose(kinetic, np.interp(time, record.time, record.energy.kinetic), atol=1e-9)
    np.testing.assert_allclose(potential + kinetic, total, atol=1e-9)
    viewer.seek(1.0)
    needle = viewer.panel.plot.data[-1]
    assert needle.sum() == 1.0
    assert abs(time[np.argmax(needle)] - 1.0) < 0.02


def test_trails_show_the_path_so_far(swinging):
    viewer, record = swinging
    viewer.seek(1.0)
    robot = viewer.robot
    with view(robot, record, port=0, trails=["tip"]) as other:
        other.seek(1.0)
        segments = other.scene._trails["tip"].points
        np.testing.assert_allclose(np.linalg.norm(segments, axis=-1), 1.0, atol=1e-4)  # on the circle
        np.testing.assert_allclose(segments[0, 0], robot.pose(record.q[0], "tip")[:3, 3], atol=1e-6)
        np.testing.assert_allclose(segments[-1, 1], robot.pose(record.at(1.0).q[0], "tip")[:3, 3], atol=1e-4)
        other.clear_trails()
        other.seek(1.5)
        assert other.scene._trails == {}
    viewer.add_trail("tip")
    assert len(viewer.scene._trails["tip"].points) > 10
    with pytest.raises(kt.UnknownNameError, match="tip"):
        viewer.add_trail("tipp")


def test_contact_forces_are_arrows_at_their_spots():
    robot, ground, record = falling_box()
    k = int(np.argmax(np.linalg.norm(record.contact_forces, axis=-1).sum(axis=-1)))
    with view(robot, record, port=0, contacts=ground) as viewer:
        viewer.seek(record.time[0])
        assert not viewer.scene._arrows.visible  # nothing touches yet
        viewer.seek(record.time[k])
        arrows = viewer.scene._arrows.points
        assert viewer.scene._arrows.visible
        assert arrows.shape == (2, 2, 3)
        corners = robot.pose(record.q[k], "box") @ np.array([(-0.2, 0, -0.1, 1), (0.2, 0, -0.1, 1)]).T
        np.testing.assert_allclose(arrows[:, 0], corners[:3].T, atol=1e-6)
        along = arrows[:, 1] - arrows[:, 0]
        ratio = along[:, 2] / record.contact_forces[k, :, 2]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)
        assert ratio[0] > 0
        viewer.show_forces(False)
        assert not viewer.scene._arrows.visible


# ------------------------------------------------------------------ joint sliders


def test_sliders_have_the_joints_limits_and_move_the_robot():
    robot = arm()
    with view(robot, port=0) as viewer:
        handles = viewer.panel.joints.handles
        (elbow,) = handles["elbow"]
        assert (elbow.min, elbow.max) == (-2.0, 1.5)
        (shoulder,) = handles["shoulder"]
        assert (shoulder.min, shoulder.max) == (-np.pi, np.pi)
        elbow.value = 0.7
        shoulder.value = -1.1
        np.testing.assert_allclose(viewer.q, (-1.1, 0.7, 0))
        assert_shown(viewer, viewer.q)
        viewer.show((0.1, 9.0, 0.3))  # beyond the slider: it makes room
        assert elbow.value == 9.0
        assert elbow.max == 9.0


def test_ball_and_free_joints_are_turned_by_rotation_vectors():
    robot = floating_pair()
    with view(robot, port=0) as viewer:
        assert len(viewer.panel.joints.handles["root"]) == 6
        assert len(viewer.panel.joints.handles["neck"]) == 3
        viewer.panel.joints.handles["neck"][1].value = 0.5
        quaternion = viewer.q[robot.joint("neck").q_slice]
        np.testing.assert_allclose(quaternion, (0, np.sin(0.25), 0, np.cos(0.25)), atol=1e-12)
        viewer.panel.joints.handles["root"][3].value = 0.4
        assert viewer.q[robot.joint("root").q_slice][4] == 0.4
        assert_shown(viewer, viewer.q)
    for joint in robot.model.joints:
        part = robot.random_configuration(np.random.default_rng(1))[joint.q_slice]
        back = from_sliders(joint, to_sliders(joint, part))
        sign = 1 if joint.kind.quaternion is None or back[3] * part[3] > 0 else -1
        np.testing.assert_allclose(back[:4], sign * part[:4], atol=1e-12)
        assert len(coordinates(robot, joint, 1.0)) == len(to_sliders(joint, part))


def test_a_floating_robot_stands_on_the_ground():
    with view(floating_pair(), port=0) as viewer:
        lowest = viewer.scene.points(Poses.of(viewer.robot.model, viewer.q))[:, 2].min()
        assert abs(lowest) < 1e-9


def test_a_start_outside_the_limits_is_moved_inside():
    b = kt.Builder("bent").body("a", "base", kt.Revolute("y"), mass=1, com=(0, 0, 1), lower=0.5, upper=1.5)
    with view(b.build(), port=0) as viewer:
        assert viewer.q == [1.0]


@pytest.mark.parametrize("name", ["four-bar", "stewart-platform", "delta"])
def test_moving_one_joint_of_a_mechanism_closes_its_loops(name):
    with view(name, port=0) as viewer:
        robot = viewer.robot
        driven = next(j for j in robot.model.joints if j.actuated and j.nq == 1)
        (slider,) = viewer.panel.joints.handles[driven.name]
        before = viewer.q.copy()
        slider.value = slider.value + 0.1
        assert robot.closure_error(viewer.q) < 1e-9
        assert viewer.q[driven.q_slice][0] == pytest.approx(before[driven.q_slice][0] + 0.1)
        assert np.abs(viewer.q - before).max() > 0.05
        assert_shown(viewer, viewer.q)
        for joint in robot.model.joints:  # the other sliders follow
            shown = [handle.value for handle in viewer.panel.joints.handles[joint.name]]
            np.testing.assert_allclose(from_sliders(joint, np.array(shown)), viewer.q[joint.q_slice], atol=1e-9)


def test_a_mechanism_that_cannot_follow_stops_and_says_so():
    with view("four-bar", port=0) as viewer:
        robot = viewer.robot
        output = next(j for j in robot.model.joints if not j.actuated and j.parent == -1)
        (slider,) = viewer.panel.joints.handles[output.name]
        slider.value = slider.value + 3.0  # the rocker of a crank-rocker does not turn that far
        assert robot.closure_error(viewer.q) < 1e-9
        assert "cannot be closed" in viewer.panel.message.content
        assert viewer.panel.message.visible
        assert slider.value == pytest.approx(viewer.q[output.q_slice][0])
        viewer.panel.joints.handles[output.name][0].value = slider.value - 0.01
        assert viewer.panel.message.content == ""


def test_the_gallerys_own_motion_is_played():
    with view("four-bar", port=0) as viewer:
        motion = kt.gallery.motion("four-bar")
        assert (viewer.player.begin, viewer.player.end) == motion.span
        viewer.seek(0.5)
        q, _, _ = motion.states(0.5)
        np.testing.assert_allclose(
            body_matrix(viewer, 1)[0], viewer.robot.pose(q, viewer.robot.body_names[1])[:3, :3], atol=1e-3
        )


# ------------------------------------------------------------------ ground and camera


def test_where_the_ground_is():
    fixed = arm().model
    assert ground_height(fixed, np.array([0.0, 1.0]), 1.0) == (0.0, True)
    assert ground_height(fixed, np.array([5.0, 6.0]), 1.0)[1] is False  # high above
    height, visible = ground_height(fixed, np.array([-1.0, 0.0]), 1.0)  # hangs down
    assert height < -1.0
    assert visible
    assert ground_height(floating_pair().model, np.array([-0.5, 3.0]), 1.0) == (0.0, True)
    space = arm().with_gravity((0, 0, 0)).model
    assert ground_height(space, np.array([0.0]), 1.0)[1] is False


def test_up_is_against_gravity_and_the_whole_robot_is_in_front_of_the_camera():
    robot = gripper()  # falls along -y
    with view(robot, port=0) as viewer:
        camera = viewer.server.initial_camera
        np.testing.assert_allclose(camera.up, (0, 1, 0))
        toward = np.asarray(camera.look_at) - camera.position
        distance = np.linalg.norm(toward)
        for point in viewer.scene.points(Poses.of(robot.model, viewer.q)):
            ray = point - camera.position
            angle = np.arccos(ray @ toward / np.linalg.norm(ray) / distance)
            assert angle <= 0.5 * camera.fov + 1e-9


def test_planar_mechanisms_are_looked_at_from_the_front():
    model = kt.gallery.load("four-bar").model
    q = kt.gallery.start("four-bar")
    normal = plane_normal(model, Poses.of(model, q[None]))
    np.testing.assert_allclose(
        np.abs(normal), np.abs(np.array(model.joints[0].placement.rotation @ model.joints[0].kind.axis)), atol=1e-12
    )
    assert plane_normal(arm().model, Poses.of(arm().model, np.zeros((1, 3)))) is None


# ------------------------------------------------------------------ bad input


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(kt.UnknownNameError, match="four-bar"):
        view("four-baar")
    with pytest.raises(kt.RobotFileNotFoundError):
        view("nowhere.urdf")
    with pytest.raises(kt.OptionError, match="not 3"):
        view(3)


def test_bad_options(tmp_path):
    robot = pendulum()
    with pytest.raises(kt.OptionError, match="port"):
        view(robot, port=70000)
    with pytest.raises(kt.RobotFileNotFoundError, match=r"nowhere\.urdf"):
        view(robot, geometry="nowhere.urdf")
    (tmp_path / "robot.yaml").write_text("")
    with pytest.raises(kt.OptionError, match="URDF"):
        view(robot, geometry=tmp_path / "robot.yaml")
    with pytest.raises(kt.OptionError, match="a record is"):
        view(robot, 17)
    with pytest.raises(kt.ShapeError):
        view(robot, q=[1, 2], port=0)
    with pytest.raises(kt.UnknownNameError, match="bob"):
        view(robot, trails=["bop"], port=0)
    with view(robot, port=0) as viewer:
        with pytest.raises(kt.OptionError, match="no motion"):
            viewer.play()
        with pytest.raises(kt.OptionError, match=r"\.png"):
            viewer.screenshot(tmp_path / "a.txt")
        with pytest.raises(kt.OutputError, match="no folder"):
            viewer.screenshot(tmp_path / "not" / "a.png")
        with pytest.raises(kt.OptionError, match="pixels"):
            viewer.screenshot(size=(3, 3))


def test_without_a_browser_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("KINETREE_BROWSER", raising=False)
    with view(pendulum(), port=0) as viewer, pytest.raises(kt.OptionError, match="apt-get install chromium"):
        viewer.screenshot(tmp_path / "a.png")
    monkeypatch.setenv("KINETREE_BROWSER", "no-such-thing")
    with pytest.raises(kt.OptionError, match="no-such-thing"):
        play(pendulum(), screenshot=tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_a_browser_that_dies_is_reported_with_its_words(monkeypatch, tmp_path):
    program = tmp_path / "browser"
    program.write_text("#!/bin/sh\necho 'no display, sorry' >&2\nexit 7\n")
    program.chmod(0o755)
    monkeypatch.setenv("KINETREE_BROWSER", str(program))
    with pytest.raises(kt.KinetreeError, match=r"(?s)code 7.*no display, sorry"):
        play(pendulum(), screenshot=tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()


class CountingCamera:
    """Draws brighter and brighter pictures."""

    def __init__(self):
        self.shade = 0

    def picture(self, size, film):
        self.shade += 10
        return np.full((size[1], size[0], 3), self.shade, dtype=np.uint8)

    def close(self):
        pass


@pytest.mark.parametrize("name", ["a.mp4", "a.webm", "a.gif"])
def test_films_have_the_pictures_in_order(swinging, tmp_path, name):
    viewer, _ = swinging
    viewer._camera = CountingCamera()
    assert viewer.video(tmp_path / name, fps=5, size=(64, 48), progress=False) == 11  # two seconds
    pictures = imageio.imread(tmp_path / name, plugin="pillow" if name.endswith("gif") else "FFMPEG")
    assert pictures.shape[:3] == (11, 48, 64)
    np.testing.assert_allclose(pictures[..., :3].mean(axis=(1, 2, 3)), 10 * np.arange(1, 12), atol=4)
    with pytest.raises(kt.OptionError, match="even number"):
        viewer.video(tmp_path / name, size=(63, 48))
    assert [p.name for p in tmp_path.iterdir()] == [name]


class FailingCamera:
    """Draws two pictures and then fails."""

    def __init__(self):
        self.left = 2

    def picture(self, size, film):
        self.left -= 1
        return np.full((size[1], size[0], 3), 100 // self.left, dtype=np.uint8)

    def close(self):
        pass


def test_a_film_that_fails_half_way_leaves_nothing_and_what_was_there_stays(swinging, tmp_path):
    viewer, _ = swinging
    (tmp_path / "old.mp4").write_bytes(b"as it was")
    for name in ("old.mp4", "new.gif"):
        viewer._camera = FailingCamera()
        with pytest.raises(ZeroDivisionError):
            viewer.video(tmp_path / name, fps=10, size=(160, 120), progress=False)
    assert [p.name for p in tmp_path.iterdir()] == ["old.mp4"]
    assert (tmp_path / "old.mp4").read_bytes() == b"as it was"


def test_the_server_is_gone_after_closing():
    import urllib.error
    import urllib.request

    with view(pendulum(), port=0) as viewer:
        url = viewer.url
        assert b"<html" in urllib.request.urlopen(url, timeout=10).read().lower()[:2000]
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=2)


@pytest.mark.parametrize("host", ["203.0.113.7", "no.such.host.invalid", "a\0b", "x" * 300, None, 5, "\ud800"])
def test_a_host_that_no_server_can_listen_at_is_refused(host):
    """The viewer's server would wait for itself for ever."""
    with pytest.raises(kt.OptionError, match=r"the viewer cannot listen at|host must be"):
        start_server(host, 0, "label")
