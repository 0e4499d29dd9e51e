"""Lines, arcs and turns of a tool: where they go, how fast, and what they refuse."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

import kinetree as kt
from kinetree.motion.trajectories import Arc, Line, Turn, poses


def pose(rotation, place):
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation.as_matrix(), place
    return matrix


FIRST = pose(Rotation.from_rotvec([0.3, -0.2, 0.5]), [0.5, 0.1, 0.2])
LAST = pose(Rotation.from_rotvec([-0.4, 0.8, 0.1]), [0.2, 0.4, 0.6])
VIA = [0.5, 0.4, 0.1]


def test_a_line_has_its_speed_and_acceleration():
    line = Line([0.0, 0.0, 0.0], [0.3, 0.4, 0.0], speed=0.2, acceleration=0.8)
    assert line.end == pytest.approx(0.25 + 0.5 / 0.2)  # ramps of a quarter second take half the speed
    q, v, a = line(np.linspace(0.0, line.end, 1001))
    along = np.array([0.6, 0.8, 0.0])
    assert np.abs(np.cross(q, along)).max() < 1e-15
    assert np.linalg.norm(v, axis=-1).max() == pytest.approx(0.2, abs=1e-15)
    assert np.linalg.norm(a, axis=-1).max() == pytest.approx(0.8, abs=1e-12)
    np.testing.assert_allclose(q[[0, 500, -1]], [[0, 0, 0], [0.15, 0.2, 0], [0.3, 0.4, 0]], atol=1e-15)
    short = Line([0.0, 0.0, 0.0], [0.01, 0.0, 0.0], speed=5.0, acceleration=1.0)  # never reaches its speed
    assert short.end == pytest.approx(2 * math.sqrt(0.01))
    np.testing.assert_allclose(line.kinks(0.0, 10.0), [0.25, 2.5, 2.75])


def test_without_acceleration_the_speed_is_constant_and_with_a_duration_it_follows_the_profile():
    line = Line([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], speed=0.25)
    assert line.end == 4.0
    np.testing.assert_allclose(line([0.0, 1.3, 4.0])[1], [[0.25, 0, 0]] * 3)
    calm = Line([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], duration=2.0, profile="cycloid", begin=1.0)
    other = kt.trajectories.Cycloid([0.0], [1.0], 2.0, begin=1.0)
    for found, wanted in zip(calm([1.2, 2.9]), other([1.2, 2.9]), strict=True):
        np.testing.assert_allclose(found[:, :1], wanted, atol=1e-15)


@pytest.mark.parametrize("path", [
    Line(FIRST, LAST, speed=0.1, acceleration=0.3), Arc(FIRST, VIA, LAST, duration=1.5),
    Turn(FIRST, [0.2, -0.5, 1.0], -2.5, [0.1, 0.2, 0.3], speed=0.7), Line(FIRST, LAST[:3, 3], speed=0.2),
])  # fmt: skip
def test_poses_are_those_of_a_free_body_and_rates_are_their_derivatives(path):
    body = kt.Builder("body").body("tool", "base", kt.Free(), mass=1.0).build()
    t = np.linspace(path.start + 0.01, path.end - 0.01, 57)
    q, v, a = path(t)
    found = poses(path, t)
    np.testing.assert_allclose(found[0], body.pose(q, "tool"), atol=1e-14)
    np.testing.assert_allclose(found[1], body.velocity(q, v, "tool", "aligned"), atol=1e-14)
    wanted = body.acceleration(q, v, a, "tool", "aligned", classical=True)
    np.testing.assert_allclose(found[2], wanted, atol=1e-13)
    h = 1e-5
    np.testing.assert_allclose(body.difference(path(t - h)[0], path(t + h)[0]) / (2 * h), v, atol=1e-8)
    smooth = np.abs(t[:, None] - path.kinks(-1.0, 99.0)).min(axis=1, initial=1.0) > 2 * h
    np.testing.assert_allclose((path(t + h)[1] - path(t - h)[1])[smooth] / (2 * h), a[smooth], atol=1e-8)


def test_turns_are_those_of_scipy():
    path = Line(FIRST, LAST, speed=0.1)
    slerp = Slerp([0.0, path.end], Rotation.from_matrix(np.stack([FIRST[:3, :3], LAST[:3, :3]])))
    t = np.linspace(0.0, path.end, 20)
    np.testing.assert_allclose(poses(path, t)[0][:, :3, :3], slerp(t).as_matrix(), atol=1e-14)
    turn = Turn(FIRST, [0, 2, 0], 4.0, speed=0.5)  # on the spot, by more than half a turn
    wanted = Rotation.from_rotvec(np.outer(0.5 * t[:8], [0, 1, 0])) * Rotation.from_matrix(FIRST[:3, :3])
    found, velocity, _ = poses(turn, t[:8])
    np.testing.assert_allclose(found[:, :3, :3], wanted.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(found[:, :3, 3], FIRST[None, :3, 3].repeat(8, 0), atol=1e-15)
    np.testing.assert_allclose(velocity, [[0, 0.5, 0, 0, 0, 0]] * 8, atol=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_an_arc_goes_through_its_points_on_a_circle(seed):
    first, via, last = np.random.default_rng(seed).normal(size=(3, 3))
    arc = Arc(first, via, last, speed=0.3)
    q, v, a = arc(np.linspace(0.0, arc.end, 20001))
    np.testing.assert_allclose(q[[0, -1]], [first, last], atol=1e-13)
    assert np.linalg.norm(q - via, axis=-1).min() < arc.shape.length / 20000
    np.testing.assert_allclose(np.linalg.norm(v, axis=-1), 0.3, atol=1e-14)
    radius = np.linalg.norm(arc.shape.arm)
    np.testing.assert_allclose(np.linalg.norm(a, axis=-1), 0.09 / radius, rtol=1e-12)
    sides = [np.linalg.norm(x) for x in (first - via, via - last, last - first)]  # the circle of a triangle
    assert radius == pytest.approx(math.prod(sides) / (2 * np.linalg.norm(np.cross(via - first, last - first))))


def test_a_point_turns_about_an_axis():
    circle = Turn([0.6, 0.0, 0.2], [0, 0, 2], 2 * math.pi, [0.5, 0.0, 0.9], speed=2.0, acceleration=4.0)
    q, v, _ = circle(np.linspace(0.0, circle.end, 301))
    np.testing.assert_allclose(np.hypot(q[:, 0] - 0.5, q[:, 1]), 0.1, atol=1e-15)
    np.testing.assert_allclose(q[:, 2], 0.2)
    assert np.linalg.norm(v, axis=-1).max() == pytest.approx(0.2)
    np.testing.assert_allclose(q[0], q[-1], atol=1e-15)


def test_paths_are_joined_repeated_and_held():
    there, back = Line(FIRST, LAST, speed=0.2), Line(LAST, FIRST, duration=1.0)
    both = kt.trajectories.Repeated(there.then(back))
    np.testing.assert_allclose(poses(both, 0.3 + 7 * (there.end + 1.0))[0], poses(there, 0.3)[0], atol=1e-12)
    resting = poses(there.held(), 99.0)
    np.testing.assert_allclose(resting[0], LAST, atol=1e-15)
    assert not resting[1].any()
    assert np.isnan(there(np.array([np.nan, 0.1]))[0]).any(axis=-1).tolist() == [True, False]


@pytest.mark.parametrize(("make", "words"), [
    (lambda: Line([0, 0, 0], [1, 0, 0]), "a Line needs a speed, perhaps with an acceleration, or else a duration"),
    (lambda: Line([0, 0, 0], [1, 0, 0], speed=1.0, duration=2.0), "needs a speed"),
    (lambda: Line([0, 0, 0], [1, 0, 0], duration=1.0, acceleration=1.0), "needs a speed"),
    (lambda: Line([0, 0, 0], [0, 0, 0], speed=1.0), "at the same place: Turn"),
    (lambda: Line([0, 0], [0, 0, 0], speed=1.0), "first must be a point x, y, z or a pose"),
    (lambda: Line([0, 0, 0], LAST, speed=1.0), "begins at a point and ends at a pose"),
    (lambda: Line(2 * FIRST, LAST, speed=1.0), "must be a rotation matrix"),
    (lambda: Line([0, 0, 0], [1, 0, 0], speed=-1.0), "speed must be a positive number"),
    (lambda: Line([0, 0, 0], [1, 0, 0], duration=1.0, profile="septic"), "no profile named 'septic'"),
    (lambda: Arc([0, 0, 0], [1, 1, 1], [2, 2, 2], speed=1.0), "on one line: use Line"),
    (lambda: Turn([0, 0, 0], [0, 0, 1], 1.0, speed=1.0), "needs a center"),
    (lambda: Turn(FIRST, [0, 0, 0], 1.0, speed=1.0), "needs an axis"),
    (lambda: poses(Line([0, 0, 0], [1, 0, 0], speed=1.0), 0.1), "has 3 coordinates, not a pose"),
])  # fmt: skip
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(kt.KinetreeError, match=words):
        make()
