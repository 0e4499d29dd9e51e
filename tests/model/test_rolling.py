"""Joints without coordinates: what they hold, its rates, and words for them in files."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kinetree as kt
from helpers.compare import assert_close
from kinetree.errors import ModelError, UnsupportedError
from kinetree.model.graph import GraphError
from kinetree.model.joints import Reversed
from kinetree.spatial import Matrix3, MatrixRotation, Motion, Transform, Vec3

SKEWED = (0.48, 0.6, 0.64)
ANYWHERE = [
    kt.RollingBall(0.3),
    kt.RollingBall(0.3, SKEWED),
    kt.RollingWheel(0.4, "y"),
    kt.RollingWheel(0.4, SKEWED, 0.05, "-x"),
    kt.KnifeEdge(SKEWED),
    kt.PointOnLine(SKEWED),
    kt.PointOnPlane("y"),
]


def pose(rng: np.random.Generator) -> np.ndarray:
    m = np.eye(4)
    m[:3, :3], m[:3, 3] = Rotation.random(random_state=rng).as_matrix(), rng.uniform(-1, 1, 3)
    return m


def transform(m: np.ndarray) -> Transform:
    return Transform((MatrixRotation(Matrix3.of(m[:3, :3].tolist())),), Vec3(*m[:3, 3].tolist()))


def moved(m: np.ndarray, twist: np.ndarray, t: float) -> Transform:
    step = np.eye(4)
    step[:3, :3], step[:3, 3] = Rotation.from_rotvec(t * twist[:3]).as_matrix(), t * twist[3:]
    return transform(m @ step)


@pytest.mark.parametrize("kind", [*ANYWHERE, *(Reversed(k) for k in ANYWHERE)], ids=lambda k: repr(k)[:60])
def test_rates_of_gaps_are_powers_and_forces_turn_as_they_say(kind):
    rng = np.random.default_rng(4)
    m, twist, h = pose(rng), rng.uniform(-1, 1, 6), 1e-6
    held = kind.constraints(transform(m))
    assert len(held) == 6 - kind.nv
    ahead, behind = kind.constraints(moved(m, twist, h)), kind.constraints(moved(m, twist, -h))
    rates = kind.constraint_rates(transform(m), Motion.of(list(twist)))
    for k, (c, a, b) in enumerate(zip(held, ahead, behind, strict=True)):
        if c.holonomic:
            assert_close(Motion.of(list(twist)).dot(c.force), (a.gap - b.gap) / (2 * h), 1e-8, scale=1.0)
        else:
            assert c.gap == 0.0
        measured = (np.array(list(a.force)) - np.array(list(b.force))) / (2 * h)
        assert_close(np.zeros(6) if rates is None else np.array(list(rates[k])), measured, 1e-8, scale=1.0)


def test_the_lowest_point_of_a_wheel_does_not_slip():
    """The forces are those of three directions through the point of the torus that is lowest, found by search."""
    wheel = kt.RollingWheel(0.4, "y", 0.05)
    m = pose(np.random.default_rng(7))
    angle = np.linspace(0, 2 * np.pi, 200001)
    ring = 0.4 * np.stack([np.cos(angle), np.zeros_like(angle), np.sin(angle)], axis=1) @ m[:3, :3].T + m[:3, 3]
    lowest = ring[np.argmin(ring[:, 2])] - [0, 0, 0.05]
    height, *slips = wheel.constraints(transform(m))
    assert height.gap == pytest.approx(lowest[2], abs=1e-9)
    twist = np.random.default_rng(8).uniform(-1, 1, 6)
    at_point = m[:3, :3] @ (twist[3:] + np.cross(twist[:3], m[:3, :3].T @ (lowest - m[:3, 3])))
    found = [Motion.of(list(twist)).dot(c.force) for c in (*slips, height)]
    assert_close(found, at_point, 1e-5, scale=1.0)


def ball_on(kind: kt.RollingBall) -> kt.Builder:
    b = kt.Builder("ball")
    b.body("ball", "base", kt.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    return b.loop("roll", "base", "ball", kind)


@pytest.mark.parametrize("kind", [*ANYWHERE, kt.ParallelAxes("x")], ids=lambda k: k.name)
def test_files_know_them(kind, tmp_path):
    b = kt.Builder("any")
    b.body("one", "base", kt.Free(), mass=1.0, inertia=(1, 1, 1))
    robot = b.loop("hold", "base", "one", kind, placement=(0, 0, 0.1)).build()
    path = tmp_path / "robot.yaml"
    robot.save(path)
    assert kt.load(path).model.loops[0].kind == kind


def test_what_cannot_be():
    with pytest.raises(ModelError, match="radius of a ball must be a positive"):
        kt.RollingBall(-1.0)
    with pytest.raises(ModelError, match="rim must not be negative"):
        kt.RollingWheel(1.0, rim_radius=-0.1)
    with pytest.raises(ModelError, match="zero length"):
        kt.KnifeEdge((0, 0, 0))
    with pytest.raises(UnsupportedError, match="rolling_ball joint can only close a loop"):
        kt.RollingBall(1.0).transform([])
    with pytest.raises(GraphError, match="the rolling_ball joint 'roll' has damping"):
        kt.Builder("b").body("ball", "base", kt.Free(), mass=1).loop(
            "roll", "base", "ball", kt.RollingBall(1.0), damping=1.0
        ).build()
    alone = kt.Builder("b")
    alone.add_body("ball")
    alone.joint("roll", "base", "ball", kt.RollingBall(1.0), actuated=False)
    with pytest.raises(ModelError, match="is held by rolling_ball joints only"):
        alone.build()
