"""A tool on its path: joints by inverse kinematics, on one branch, with exact velocities and accelerations."""

import math

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.trajectories import Arc, Line, ToolMotion, Turn, poses

L1, L2 = 1.0, 0.8
READY = np.array([0.3, 0.6, -0.4, 0.2, 0.8, 0.1])


def two_links(**limits):
    b = kt.Builder("two links", gravity=(0, -9.81, 0))
    b.body("upper", "base", kt.Revolute("z"), mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1), **limits)
    b.body("lower", "upper", kt.Revolute("z"), position=(L1, 0, 0), mass=1.0, com=(0.4, 0, 0), inertia=(0.1, 0.1, 0.1))
    return b.frame("tip", "lower", (L2, 0, 0)).build().with_backend("compiled")


def seven_joints():
    b, parent = kt.Builder("seven joints"), "base"
    for k, axis in enumerate("zyzyzyz"):
        b.body(f"link_{k}", parent, kt.Revolute(axis), position=(0, 0, 0.25 if k else 0.0), mass=1.0)
        parent = f"link_{k}"
    return b.frame("tool", parent, (0.05, 0, 0.1)).build().with_backend("compiled")


def closed_form(path, t, elbow):
    """The two-link arm: cosine rule, and its 2 x 2 Jacobian with its rate."""
    p, speed, growth = (x[..., :2] for x in path(t))
    second = elbow * np.arccos((p[..., 0] ** 2 + p[..., 1] ** 2 - L1**2 - L2**2) / (2 * L1 * L2))
    first = np.arctan2(p[..., 1], p[..., 0]) - np.arctan2(L2 * np.sin(second), L1 + L2 * np.cos(second))
    s, c = [np.sin(first), np.sin(first + second)], [np.cos(first), np.cos(first + second)]
    jacobian = np.stack([np.stack([-L1 * s[0] - L2 * s[1], -L2 * s[1]], -1),
                         np.stack([L1 * c[0] + L2 * c[1], L2 * c[1]], -1)], -2)  # fmt: skip
    v = np.linalg.solve(jacobian, speed[..., None])[..., 0]
    w = v[..., 0], v[..., 0] + v[..., 1]
    drift = np.stack(
        [-L1 * c[0] * w[0] ** 2 - L2 * c[1] * w[1] ** 2, -L1 * s[0] * w[0] ** 2 - L2 * s[1] * w[1] ** 2], -1
    )
    return np.stack([first, second], -1), v, np.linalg.solve(jacobian, (growth - drift)[..., None])[..., 0]


@pytest.mark.parametrize("elbow", [1, -1])
@pytest.mark.parametrize("path", [
    Line([1.2, -0.5, 0.0], [1.0, 0.9, 0.0], speed=0.5, acceleration=1.0),
    Arc([1.2, -0.5, 0.0], [1.5, 0.1, 0.0], [1.0, 0.9, 0.0], duration=2.0),
    Turn([1.3, 0.2, 0.0], [0, 0, 1], 2 * math.pi, [1.1, 0.2, 0.0], speed=3.0),
])  # fmt: skip
def test_two_links_move_as_the_closed_form_says(path, elbow):
    moved = ToolMotion(two_links(), "tip", path, [-0.5 * elbow, elbow])
    t = np.linspace(0.0, path.end, 211)[1:-1]
    wanted = closed_form(path, t, elbow)
    for found, exact in zip(moved(t), wanted, strict=True):
        np.testing.assert_allclose(found, exact, atol=1e-11)
    table = moved._table(t)  # what machine code looks up
    np.testing.assert_allclose(table[0], wanted[0], atol=1e-10)
    np.testing.assert_allclose(table[1], wanted[1], atol=1e-7)


def robot_of(name):
    return kt.load(name).with_backend("compiled"), kt.gallery.start(name)


def cases():
    arm = kt.load("kuka-kr5").with_backend("compiled")
    here = arm.pose(READY, "link_6")
    shifted = here.copy()
    shifted[:3, 3] += [0.0, 0.2, 0.1]
    yield "line of a pose", arm, "link_6", Line(here, shifted, speed=0.2, acceleration=1.0), READY
    yield "line of a point", arm, "link_6", Line(here[:3, 3], shifted[:3, 3], duration=1.0), READY
    corner = Line(here, shifted, speed=0.3).then(Turn(shifted, [0, 0, 1], 0.4, speed=0.5))
    yield "corner", arm, "link_6", corner, READY
    seven = seven_joints()
    q = np.array([0.3, 0.6, -0.2, -1.2, 0.4, 0.8, 0.1])
    here = seven.pose(q, "tool")
    yield "seven joints", seven, "tool", Line(here, here[:3, 3] + [0.1, 0.2, -0.1], speed=0.4), q
    for name, frame, way in (("five-bar", "tip", [0.05, 0.1, 0]), ("delta", "middle", [0.02, 0.03, 0.05])):
        robot, q = robot_of(name)
        here = robot.pose(q, frame)[:3, 3]
        yield name, robot, frame, Line(here, here + way, speed=0.1), q
    robot, q = robot_of("stewart-platform")
    here = robot.pose(q, "platform")
    yield "stewart", robot, "platform", Turn(here, [0.3, 0, 1], 0.2, here[:3, 3] - [0.1, 0, 0], speed=0.3), q


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case[0])
def test_the_tool_is_where_and_as_fast_as_the_path_says(case):
    _, robot, frame, path, q0 = case
    moved = ToolMotion(robot, frame, path, q0)
    t = np.linspace(0.0, path.end, 97)[1:-1]
    q, v, a = moved(t)
    if path.n == 3:
        wanted = path(t)
        found = robot.pose(q, frame)[:, :3, 3], *(
            x[:, 3:] for x in (robot.velocity(q, v, frame, "aligned"),
                               robot.acceleration(q, v, a, frame, "aligned", classical=True)))  # fmt: skip
    else:
        wanted = poses(path, t)
        found = (robot.pose(q, frame), robot.velocity(q, v, frame, "aligned"),
                 robot.acceleration(q, v, a, frame, "aligned", classical=True))  # fmt: skip
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-10)
    if robot.loops is not None:
        assert robot.closure_error(q).max() < 1e-10
    table = moved._table(t)[0][:, : robot.nq]
    off = np.abs(robot.pose(table, frame) - robot.pose(q, frame)).max()
    assert off < 1e-10  # in machine code
    h = 1e-5
    np.testing.assert_allclose(robot.difference(moved(t - h)[0], moved(t + h)[0]) / (2 * h), v, atol=1e-7)
    smooth = np.abs(t[:, None] - path.kinks(-1.0, 99.0)).min(axis=1, initial=1.0) > 2 * h
    np.testing.assert_allclose((moved(t + h)[1] - moved(t - h)[1])[smooth] / (2 * h), a[smooth], atol=1e-6)


def test_more_joints_than_needed_move_as_little_as_they_can():
    robot, q = seven_joints(), np.array([0.3, 0.6, -0.2, -1.2, 0.4, 0.8, 0.1])
    here = robot.pose(q, "tool")
    path = Line(here, here[:3, 3] + [0.1, 0.2, -0.1], speed=0.2)
    moved = ToolMotion(robot, "tool", path, q)
    at, v, _ = moved(0.7)
    smallest = np.linalg.pinv(robot.jacobian(at, "tool", "aligned")) @ poses(path, 0.7)[1]
    np.testing.assert_allclose(v, smallest, atol=1e-12)
    few = Line(here, here[:3, 3] + [0.01, 0.02, -0.01], speed=0.2)
    held = ToolMotion(robot, "tool", few, q, joints=[n for n in robot.joint_names if n != "link_0_joint"])
    assert np.ptp(held(np.linspace(0, few.end, 9))[0][:, 0]) < 1e-15


def test_a_batch_of_times_nan_and_rest_beyond_the_end():
    path = Line([1.2, -0.5, 0.0], [1.0, 0.9, 0.0], speed=0.5)
    moved = ToolMotion(two_links(), "tip", path, [-0.5, 1.0])
    q, v, a = moved(np.array([[0.1, np.nan], [0.3, 0.2]]))
    assert q.shape == v.shape == a.shape == (2, 2, 2)
    assert np.isnan(q).any(axis=-1).tolist() == [[False, True], [False, False]]
    rest = moved.held()(path.end + 1.0)
    np.testing.assert_array_equal(rest[1], 0.0)
    assert np.isfinite(rest[0]).all()
    with pytest.raises(kt.TrajectoryError, match="ends at t"):
        moved(path.end + 1.0)


def test_controllers_prescribed_motions_and_inverse_dynamics_take_it():
    robot, path = two_links(), Line([1.2, -0.5, 0.0], [1.0, 0.9, 0.0], speed=0.8, acceleration=3.0)
    moved = ToolMotion(robot, "tip", path, [-0.5, 1.0])
    q0 = moved(0.0)[0]
    law = kt.control.ComputedTorque(moved.held(), kp=400.0, kd=40.0)
    record = kt.simulate(robot, q0, time=path.end, controller=law, rtol=1e-9, atol=1e-11, samples=21)
    off = robot.pose(record.q, "tip")[:, :3, 3] - path(np.minimum(record.t, path.end))[0]
    assert np.abs(off).max() < 1e-7
    led = kt.simulate_prescribed(robot, moved, time=path.end, samples=21)
    np.testing.assert_allclose(led.q, moved(np.minimum(led.t, path.end))[0], atol=1e-9)
    np.testing.assert_allclose(law(robot, 0.4, *moved(0.4)[:2]), robot.inverse_dynamics(*moved(0.4)), atol=1e-9)


def test_a_mechanism_is_driven_along_a_line():
    robot, q = robot_of("five-bar")
    here = robot.pose(q, "tip")[:3, 3]
    path = Line(here, np.add(here, [0.05, 0.1, 0.0]), duration=0.4)
    law = kt.control.ComputedTorque(ToolMotion(robot, "tip", path, q).held(), kp=400.0, kd=40.0)
    record = kt.simulate(robot, q, time=0.4, controller=law, rtol=1e-8, atol=1e-10, samples=9)
    assert np.abs(robot.pose(record.q, "tip")[:, :3, 3] - path(record.t)[0]).max() < 1e-5


def test_what_is_out_of_reach_is_said_with_its_time():
    robot = two_links()
    leaving = Line([1.2, -0.5, 0.0], [2.0, 0.9, 0.0], speed=0.5)
    way = np.array([0.8, 1.4]) / math.hypot(0.8, 1.4)
    half = np.array([1.2, -0.5]) @ way
    when = (-half + math.sqrt(half**2 - (1.2**2 + 0.5**2 - (L1 + L2) ** 2))) / 0.5
    with pytest.raises(kt.UnreachableError, match=f"up to t = {when:.4g} s only.*out of reach"):
        ToolMotion(robot, "tip", leaving, [-0.5, 1.0])
    with pytest.raises(kt.UnreachableError, match="begins out of reach, at t = 2 s"):
        ToolMotion(robot, "tip", Line([2.5, 0.0, 0.0], [1.0, 0.0, 0.0], speed=1.0, begin=2.0), [-0.5, 1.0])
    with pytest.raises(kt.UnreachableError, match="up to t = 0 s only"):  # a planar arm cannot leave its plane
        ToolMotion(robot, "tip", Line([1.2, 0.0, 0.0], [1.2, 0.0, 0.5], speed=1.0), [-0.5, 1.0])


def test_singular_configurations_and_limits_are_said_with_their_time():
    with pytest.raises(kt.SingularError, match=r"'two links' is singular at t = 1\.2 s on the path of 'tip'"):
        ToolMotion(two_links(), "tip", Line([1.2, 0.0, 0.0], [1.8, 0.0, 0.0], speed=0.5), [-0.5, 1.0])
    narrow = two_links(lower=-1.2, upper=0.2)
    path = Line([1.2, -0.5, 0.0], [0.6, 1.2, 0.0], speed=0.5)
    with pytest.raises(
        kt.UnreachableError, match=r"'upper_joint' reaches its limit 0\.2 at t = .* on the path of 'tip'"
    ):
        ToolMotion(narrow, "tip", path, [-0.5, 1.0])
    assert ToolMotion(narrow, "tip", path, [-0.5, 1.0], limits=False)(path.end)[0][0] > 0.2
    robot, q = robot_of("3-rrr")
    here = robot.pose(q, "middle")[:3, 3]
    with pytest.raises(kt.SingularError, match="do not determine all joints"):
        ToolMotion(robot, "middle", Line(here, np.add(here, [0.01, 0, 0]), speed=0.1), q)


def test_what_is_no_path_is_refused():
    robot = two_links()
    with pytest.raises(kt.ShapeError, match="trajectory of a point, x, y, z, or of a pose"):
        ToolMotion(robot, "tip", kt.trajectories.Cycloid([0.0], [1.0], 1.0))
    with pytest.raises(kt.KinetreeError, match="must begin and end"):
        ToolMotion(robot, "tip", kt.trajectories.Sine([1.2, 0, 0], [0, 0.1, 0], 1.0))
    with pytest.raises(kt.KinetreeError, match="tipp"):
        ToolMotion(robot, "tipp", Line([1.2, 0.0, 0.0], [1.0, 0.0, 0.0], speed=1.0))


def test_joints_that_follow_others_are_moved_along():
    b = kt.Builder("geared")
    b.body("upper", "base", kt.Revolute("z"), mass=1.0)
    b.body("lower", "upper", kt.Revolute("z"), position=(1, 0, 0), mass=1.0)
    b.body("hand", "lower", kt.Revolute("z"), position=(0.5, 0, 0), mass=1.0, mimic=kt.Mimic("lower_joint", -0.5, 0.1))
    robot = b.frame("tip", "hand", (0.3, 0, 0)).build()
    q = np.array([-0.5, 1.0])
    here = robot.pose(q, "tip")[:3, 3]
    moved = ToolMotion(robot, "tip", Line(here, np.add(here, [-0.1, 0.2, 0]), speed=0.3), q)
    assert np.abs(robot.pose(moved(0.5)[0], "tip")[:3, 3] - moved.path(0.5)[0]).max() < 1e-12
