"""The viewer without a browser: what its page is told, and what the page's controls do, seen from the server's side."""

import json
import threading
import time as clock
import urllib.error
import urllib.request

import imageio.v3 as imageio
import numpy as np
import pytest

import kinetree as kt
from helpers.robots import arm, floating_pair, gripper
from helpers.view_models import falling_box, pendulum
from kinetree import view
from kinetree.view import Viewer, play
from kinetree_studio.view import page_data
from kinetree_studio.view.motion import Poses
from kinetree_studio.view.page import unpacked
from kinetree_studio.view.scene import ground_height, plane_normal
from kinetree_studio.view.server import PageServer
from kinetree_studio.view.sliders import coordinates, from_sliders, to_sliders


@pytest.fixture
def swinging():
    robot = pendulum()
    record = kt.simulate(robot, [1.0], time=2.0, samples=201)
    with view(robot, record, port=0) as viewer:
        yield viewer, record


def body_matrix(viewer, i):
    w, x, y, z = viewer.poses.wxyz[i]
    return kt.Pose.of(quaternion=(x, y, z, w)).rotation, viewer.poses.position[i]


def assert_shown(viewer, q):
    for i, name in enumerate(viewer.robot.body_names):
        rotation, position = body_matrix(viewer, i)
        expected = viewer.robot.pose(q, name)
        np.testing.assert_allclose(rotation, expected[:3, :3], atol=1e-6)
        np.testing.assert_allclose(position, expected[:3, 3], atol=1e-6)


def say(viewer, **news):
    """Do what a page does when its user does something; returns what it is answered."""
    sent = json.dumps({"page": "mine", **news}).encode()
    request = urllib.request.Request(f"{viewer.url}/do", sent, {"Content-Type": "application/json"})
    return json.loads(urllib.request.urlopen(request, timeout=10).read())


def page_of(html):
    """What a page shows, as the page reads it."""
    start = html.index('id="data">') + len('id="data">')
    return unpacked(html[start : html.index("</script>", start)])


# ------------------------------------------------------------------ playing


def test_the_time_slider_shows_the_record_at_that_time(swinging):
    viewer, record = swinging
    assert_shown(viewer, record.q[0])
    for t in (0.5, 2.0, 1.237, 0.0):
        say(viewer, time=t, playing=False)
        assert viewer.player.time == t
        q = record.at(t).q[0]
        np.testing.assert_allclose(body_matrix(viewer, 0)[0], viewer.robot.pose(q, "bob")[:3, :3], atol=1e-4)
        assert viewer.q[0] == pytest.approx(q[0], abs=0.05)  # of the sample before


def test_play_and_pause_on_the_page(swinging):
    viewer, _ = swinging
    heard = viewer.server.join("other")  # another page, which is told
    assert heard.get(timeout=5)["playing"] is False
    say(viewer, speed=4.0)
    assert viewer.player.speed == 4.0
    assert heard.get(timeout=5)["speed"] == 4.0
    say(viewer, playing=True, time=0.0)
    assert viewer.player.playing
    until = clock.monotonic() + 10.0
    while viewer.player.time < 0.2 and clock.monotonic() < until:
        clock.sleep(0.02)
    say(viewer, playing=False)
    assert not viewer.player.playing
    reached = viewer.player.time
    assert reached >= 0.2
    clock.sleep(0.15)
    assert viewer.player.time == reached
    say(viewer, repeat=False)
    assert viewer.player.repeat is False
    told = [heard.get_nowait() for _ in range(heard.qsize())]
    assert [news["playing"] for news in told if "playing" in news] == [True, False, False]


def test_a_page_does_not_hear_itself(swinging):
    viewer, _ = swinging
    mine = viewer.server.join("mine")
    mine.get(timeout=5)
    say(viewer, shown={"frames": True}, trails=["tip"])
    assert viewer.shown["frames"]
    assert viewer.trails == ["tip"]
    viewer.seek(1.0)
    assert mine.get(timeout=5) == {"time": 1.0}
    assert mine.empty()


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
    record = kt.simulate(pendulum(), [1.0], time=0.5, samples=51)
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
    say(viewer, time=1.5, playing=False)
    assert not viewer.player.playing
    assert viewer.player.time == 1.5


def test_nonsense_from_a_page_is_answered_and_changes_nothing(swinging):
    viewer, record = swinging
    assert "tipp" in say(viewer, trails=["tipp"])["message"]
    assert "sun" in say(viewer, shown={"sun": True})["message"]
    assert "message" in say(viewer, move={"joint": "no such", "values": [1]})
    assert "message" in say(viewer, move={"joint": viewer.robot.joint_names[0], "values": ["x"]})
    assert "message" in say(viewer, speed="fast")
    assert_shown(viewer, record.q[0])
    for body, kind in ((b"[1]", "application/json"), (b"{", "application/json"), (b"{}", "text/plain")):
        request = urllib.request.Request(f"{viewer.url}/do", body, {"Content-Type": kind})
        with pytest.raises(urllib.error.HTTPError, match="400"):
            urllib.request.urlopen(request, timeout=10)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{viewer.url}/etc/passwd", timeout=10)


def curves_of(show):
    """Every curve on a page, by group and name."""
    count = len(show["curveTime"])
    return {
        (group["title"], group["unit"], name): group["data"].reshape(-1, count)[k]
        for group in show["curves"]
        for k, name in enumerate(group["names"])
    }


def test_energy_positions_velocities_and_forces_are_plotted(swinging):
    viewer, record = swinging
    curves = curves_of(page_of(viewer.recording()))
    name = viewer.robot.joint_names[0]
    expected = {
        ("Energy", "J", "kinetic"): record.energy.kinetic, ("Energy", "J", "potential"): record.energy.potential,
        ("Energy", "J", "sum"): record.energy.mechanical, ("Position q", "rad", name): record.q[:, 0],
        ("Velocity v", "rad/s", name): record.v[:, 0], ("Joint force τ", "N m", name): record.tau[:, 0],
    }  # fmt: skip
    assert set(curves) == set(expected)
    for key, curve in expected.items():
        np.testing.assert_allclose(curves[key], curve, rtol=1e-6, atol=1e-6)


def test_a_page_holds_the_motion_and_all_that_it_needs(swinging, tmp_path):
    viewer, record = swinging
    text = viewer.recording(tmp_path / "swing.html")
    assert (tmp_path / "swing.html").read_text(encoding="utf-8") == text
    assert len(text) < 150_000
    for word in ('<link rel="stylesheet', "src=", "import(", "@import", "https:"):
        assert word not in text.replace("srcdoc=", "")
    show = page_of(text)
    assert show["live"] is False
    (robot,) = show["robots"]
    np.testing.assert_allclose(robot["time"], record.time)
    poses = robot["poses"].reshape(len(record), -1, 7)
    np.testing.assert_allclose(poses[:, 0, 4:], Poses.of(viewer.robot.model, record.q).wxyz[:, 0, 1:], atol=1e-6)
    assert page_of(urllib.request.urlopen(viewer.url, timeout=10).read().decode())["live"] is True
    assert "<iframe srcdoc=" in viewer._repr_html_()


def test_trails(swinging):
    viewer, record = swinging
    with view(viewer.robot, record, port=0, trails=["tip"]) as other:
        assert page_of(other.recording())["trails"] == ["tip"]
        place = page_of(other.recording())["robots"][0]["points"]["tip"]
        assert place == {"body": 0, "point": [0, 0, -1]}
        other.clear_trails()
        assert other.state()["trails"] == []
    viewer.add_trail("tip")
    assert viewer.state()["trails"] == ["tip"]
    with pytest.raises(kt.UnknownNameError, match="tip"):
        viewer.add_trail("tipp")


def test_contact_forces_are_arrows_at_their_spots():
    robot, ground, record = falling_box()
    with view(robot, record, port=0, contacts=ground) as viewer:
        show = page_of(viewer.recording())
        (shown,) = show["robots"]
        assert [spot["point"] for spot in shown["spots"]] == [[-0.2, 0, -0.1], [0.2, 0, -0.1]]
        np.testing.assert_allclose(shown["forces"]["vectors"].reshape(-1, 2, 3), record.contact_forces, rtol=1e-6)
        usual = np.quantile((force := np.linalg.norm(record.contact_forces, axis=-1))[force > 1e-3 * force.max()], 0.8)
        assert shown["forces"]["scale"] * usual == pytest.approx(0.25 * viewer.scene.size)
        assert show["shown"]["forces"] is True
        names = {title for title, _, _ in curves_of(show)}
        assert "External force" in names
        viewer.switch(forces=False)
        assert viewer.state()["shown"]["forces"] is False


def test_what_is_shown_can_be_chosen():
    with view("four-bar", port=0, show=["frames", "com"]) as viewer:
        assert viewer.shown["frames"]
        assert viewer.shown["com"]
        assert not viewer.shown["inertia"]
        viewer.switch(frames=False, inertia=True)
        assert (viewer.shown["frames"], viewer.shown["inertia"]) == (False, True)
        with pytest.raises(kt.UnknownNameError, match="inertia"):
            viewer.switch(inertai=True)
    with view("four-bar", port=0, show={"ground": False}) as viewer:
        assert not viewer.shown["ground"]
    with pytest.raises(kt.OptionError, match="'follow' cannot be shown here: the robot stays where it is"):
        view("four-bar", port=0, show=["follow"])
    with pytest.raises(kt.OptionError, match="'forces' cannot be shown here: the motion has no contact forces"):
        view("four-bar", port=0, show=["forces"])


# ------------------------------------------------------------------ ghosts


def test_a_reference_a_configuration_or_another_robot_as_a_ghost():
    robot = pendulum()
    t = np.linspace(0.0, 1.0, 31)
    q = np.sin(t)[:, None]
    other = kt.Builder("short").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -0.5)).build()
    trajectory = kt.trajectories.Quintic([0.0], [1.0], 1.0)
    for ghost, name, last in (
        ((t, 2.0 * q), "pendulum", [2.0 * q[-1, 0]]), (np.array([0.3]), "pendulum", [0.3]), ([0.3], "pendulum", [0.3]),
        (other, "short", [0.0]), ((other, (t, q)), "short", q[-1]), (trajectory, "pendulum", [1.0]),
    ):  # fmt: skip
        with view(robot, (t, q), port=0, ghost=ghost) as viewer:
            main, pale = page_of(viewer.recording())["robots"]
            assert (main["ghost"], pale["ghost"], pale["name"]) == (False, True, name)
            expected = Poses.of(viewer.figures[1].robot.model, np.array([last], dtype=float))
            np.testing.assert_allclose(pale["poses"].reshape(-1, 7)[-1, 3:], expected.wxyz[0, 0], atol=1e-6)
            assert viewer.shown["ghost"]
    with pytest.raises(kt.ShapeError, match="columns"):
        view(robot, (t, q), port=0, ghost=(t, np.zeros((31, 2))))


# ------------------------------------------------------------------ following a walker


def test_the_camera_follows_a_robot_that_walks_away():
    b = kt.Builder("cart").body("cart", "base", kt.Free(), mass_properties=kt.MassProperties.box(1.0, (0.4, 0.2, 0.2)))
    robot = b.build()
    t = np.linspace(0.0, 4.0, 201)
    q = np.tile(robot.neutral(), (201, 1))
    q[:, 4], q[:, 6] = 2.0 * t, 0.3 + 0.05 * np.sin(9.0 * t)
    with view(robot, (t, q), port=0) as viewer:
        assert viewer.shown["follow"]
        way = viewer.follow
        assert np.abs(way[:, 2]).max() < 1e-12  # level
        np.testing.assert_allclose(way[:, 0], 2.0 * t, atol=0.02)
        assert viewer.sight.radius < 1.0  # it looks at the cart, not at the eight meters
    with view(robot, (t, q[:1].repeat(201, axis=0)), port=0) as viewer:
        assert "follow" not in viewer.shown


# ------------------------------------------------------------------ joint sliders


def test_sliders_have_the_joints_limits_and_move_the_robot():
    robot = arm()
    with view(robot, port=0) as viewer:
        sliders = {slider["joint"]: slider for slider in page_of(viewer.recording())["sliders"]}
        assert (sliders["elbow"]["low"], sliders["elbow"]["high"]) == (-2.0, 1.5)
        assert (sliders["shoulder"]["low"], sliders["shoulder"]["high"]) == (-np.pi, np.pi)
        say(viewer, move={"joint": "elbow", "values": [0.7]})
        answer = say(viewer, move={"joint": "shoulder", "values": [-1.1]})
        np.testing.assert_allclose(viewer.q, (-1.1, 0.7, 0))
        np.testing.assert_allclose(answer["values"], viewer.q)
        np.testing.assert_allclose(np.reshape(answer["poses"], (-1, 7))[:, :3], viewer.poses.position, atol=1e-6)
        assert_shown(viewer, viewer.q)
        viewer.show((0.1, 9.0, 0.3))
        np.testing.assert_allclose(viewer.state()["values"], (0.1, 9.0, 0.3))
        say(viewer, reset=True)
        assert_shown(viewer, robot.neutral())


def test_ball_and_free_joints_are_turned_by_rotation_vectors():
    robot = floating_pair()
    with view(robot, port=0) as viewer:
        joints = [slider["joint"] for slider in page_of(viewer.recording())["sliders"]]
        assert (joints.count("root"), joints.count("neck")) == (6, 3)
        say(viewer, move={"joint": "neck", "values": [0, 0.5, 0]})
        quaternion = viewer.q[robot.joint("neck").q_slice]
        np.testing.assert_allclose(quaternion, (0, np.sin(0.25), 0, np.cos(0.25)), atol=1e-12)
        say(viewer, move={"joint": "root", "values": [0, 0, 0, 0.4, 0, 0]})
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
        before = viewer.q.copy()
        answer = say(viewer, move={"joint": driven.name, "values": [before[driven.q_slice][0] + 0.1]})
        assert robot.closure_error(viewer.q) < 1e-9
        assert viewer.q[driven.q_slice][0] == pytest.approx(before[driven.q_slice][0] + 0.1)
        assert np.abs(viewer.q - before).max() > 0.05
        assert_shown(viewer, viewer.q)
        owners = [slider["joint"] for slider in page_of(viewer.recording())["sliders"]]
        for joint in robot.model.joints:  # the other sliders follow
            shown = [value for value, owner in zip(answer["values"], owners, strict=True) if owner == joint.name]
            np.testing.assert_allclose(from_sliders(joint, np.array(shown)), viewer.q[joint.q_slice], atol=1e-9)


def test_a_pose_moved_by_hand_says_what_it_is_like_and_not_what_the_motion_was(swinging):
    """The pendulum's energy is m g h, and its hinge holds m g l sin(q)."""
    viewer, _ = swinging
    name = viewer.robot.joint_names[0]
    viewer.seek(0.7)
    assert "rest" not in viewer.state()  # of the motion: the curves say it
    answer = say(viewer, move={"joint": name, "values": [0.4]})
    assert answer["rest"]["energy"] == pytest.approx(-9.81 * np.cos(0.4))
    assert answer["rest"]["holding"] == [[name, pytest.approx(9.81 * np.sin(0.4)), "N m"]]
    assert answer["rest"]["note"] == ""
    assert viewer.state()["rest"] == answer["rest"]
    viewer.seek(0.7)
    assert "rest" not in viewer.state()


def test_the_motor_of_a_mechanism_holds_it_by_the_slope_of_its_energy():
    with view("four-bar", port=0) as viewer:
        angle = viewer.q[0] + 0.9
        energies = []
        for way in (-1e-5, 1e-5, 0.0):
            viewer.move_joint("crank_joint", angle + way)
            rest = viewer.state()["rest"]
            energies.append(rest["energy"])
            assert rest["energy"] == pytest.approx(float(viewer.robot.potential_energy(viewer.q)))
        assert [name for name, _, _ in rest["holding"]] == ["crank_joint"]
        assert rest["holding"][0][1] == pytest.approx((energies[1] - energies[0]) / 2e-5, rel=1e-6)


def test_what_no_motor_holds_is_said():
    with view(floating_pair(), port=0) as viewer:
        assert "nothing drives root" in page_of(viewer.recording())["rest"]["note"]
    with view("rolling-ball", port=0) as viewer:
        viewer.show(viewer.q)
        assert "0 actuators" in viewer.state()["rest"]["note"]
    with view("four-bar", port=0) as viewer:
        for q in (np.zeros(3), np.full(3, np.nan)):  # open, or nowhere: nothing to be said, and nothing breaks
            viewer.show(q)
            assert all(force is None for _, force, _ in viewer.state()["rest"]["holding"])
            assert json.dumps(viewer.state(), allow_nan=False)


def test_a_recording_shows_the_pose_that_is_shown():
    with view(arm(), port=0) as viewer:
        viewer.move_joint("elbow", 0.7)
        show = page_of(viewer.recording())
        assert show["sliders"][1]["value"] == 0.7
        np.testing.assert_allclose(show["robots"][0]["poses"].reshape(-1, 7)[:, :3], viewer.poses.position, atol=1e-6)
        assert show["rest"]["energy"] == pytest.approx(float(viewer.robot.potential_energy(viewer.q)))


def test_a_mechanism_that_cannot_follow_stops_and_says_so():
    with view("four-bar", port=0) as viewer:
        robot = viewer.robot
        output = next(j for j in robot.model.joints if not j.actuated and j.parent == -1)
        # the rocker of a crank-rocker does not turn that far
        answer = say(viewer, move={"joint": output.name, "values": [viewer.q[output.q_slice][0] + 3.0]})
        assert robot.closure_error(viewer.q) < 1e-9
        assert "cannot be closed" in answer["message"]
        assert viewer.move_joint(output.name, viewer.q[output.q_slice][0] - 0.01) == ""


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
        show = page_of(viewer.recording())
        np.testing.assert_allclose(show["up"], (0, 1, 0))
        camera = show["camera"]
        away = np.array(camera["away"])
        right = np.cross(show["up"], away)
        axes = np.column_stack([right / np.linalg.norm(right), np.cross(away, right) / np.linalg.norm(right), away])
        slope = np.tan(0.5 * camera["fov"])
        for aspect in (0.5, 1.0, 1.6):
            distance = max(camera["vertical"], camera["horizontal"] / aspect)
            seen = (viewer.scene.points(Poses.of(robot.model, viewer.q)) - camera["target"]) @ axes
            depth = distance - seen[:, 2]
            assert (np.abs(seen[:, 1]) <= slope * depth).all()
            assert (np.abs(seen[:, 0]) <= slope * aspect * depth).all()


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
    with pytest.raises(kt.OptionError, match="a motion is a record"):
        view(robot, 17)
    with pytest.raises(kt.OptionError, match="a direction from the robot"):
        view(robot, port=0, view=(0, 0, 0))
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

    def picture(self, size, time, film):
        self.shade += 10
        return np.full((size[1], size[0], 3), self.shade, dtype=np.uint8)

    def tell(self, news):
        pass

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

    def picture(self, size, time, film):
        self.left -= 1
        return np.full((size[1], size[0], 3), 100 // self.left, dtype=np.uint8)

    def tell(self, news):
        pass

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
    with view(pendulum(), port=0) as viewer:
        url = viewer.url
        assert b"<html" in urllib.request.urlopen(url, timeout=10).read().lower()[:2000]
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=2)


def test_a_port_that_is_taken_gives_the_next_free_one():
    with view(pendulum(), port=0) as first, view(pendulum(), port=first.server.port) as second:
        assert second.server.port > first.server.port
        assert page_of(urllib.request.urlopen(second.url, timeout=10).read().decode())["title"] == "pendulum"


@pytest.mark.parametrize("host", ["203.0.113.7", "no.such.host.invalid", "a\0b", "x" * 300, None, 5, "\ud800"])
def test_a_host_that_no_server_can_listen_at_is_refused(host):
    """The viewer's server would wait for itself for ever."""
    with pytest.raises(kt.OptionError, match=r"the viewer cannot listen at|host must be"):
        PageServer(host, 0, str, dict, dict)


def test_the_page_counts_the_freedoms_that_loops_leave():
    for name, freedoms in [("four-bar", "1 degree"), ("stewart-platform", "6 degrees"), ("delta", "3 degrees")]:
        mechanism = kt.load(name)
        assert f" · {freedoms} of freedom · " in page_data.about(mechanism, mechanism.assembled())
    assert " · 6 degrees of freedom · 39.87 kg" in page_data.about(kt.load("kuka-kr5"), np.zeros(6))
    assert " · 3 freedoms of joints · 1 loop · " in page_data.about(kt.load("four-bar"), np.zeros(3))  # open
