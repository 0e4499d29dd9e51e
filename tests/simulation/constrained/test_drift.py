"""Ways to hold constraints while stepping: how far they let gaps go, their order, and what they are told apart by."""

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close

WAYS = ("projection", "baumgarte", "none", "partitioned")


@pytest.fixture(scope="module")
def falling():
    """A four-bar that swings, and where it is after a tenth of a second."""
    robot = kt.gallery.load("four-bar")
    q = kt.gallery.motion("four-bar").states(0.0)[0]
    v = robot.velocities(q, [3.0])
    return robot, q, v, kt.simulate(robot, q, v, time=0.1, rtol=1e-12, atol=1e-13, samples=[0.1]).q[-1]


@pytest.mark.parametrize("way", WAYS)
def test_the_order_of_a_formula_stays(falling, way):
    robot, q, v, end = falling
    errors, gaps = [], []
    for step in (5e-3, 2.5e-3):
        record = kt.simulate(robot, q, v, time=0.1, drift=way, integrator="rk4", step=step, samples=[0.0, 0.05, 0.1])
        errors.append(np.abs(record.q[-1] - end).max())
        gaps.append(record.info["largest_gap"])
        assert record.info["drift"] == way
    assert np.log2(errors[0] / errors[1]) > 3.4
    if way in ("projection", "partitioned"):
        assert max(gaps) < 1e-11
    else:
        assert 3.4 < np.log2(gaps[0] / gaps[1]) < 6.0  # what a step leaves is not taken away


def test_adaptive_steps_of_a_slider_crank():
    robot = kt.gallery.load("slider-crank")
    q = kt.gallery.motion("slider-crank").states(0.0)[0]
    v = robot.velocities(q, [5.0])
    runs = [kt.simulate(robot, q, v, time=0.3, drift=way, rtol=1e-9, atol=1e-11, samples=4) for way in WAYS]
    for way, record in zip(WAYS, runs, strict=True):
        assert_close(record.q, runs[0].q, 1e-7, scale=1.0)
        assert record.energy.relative_error < 1e-7
        assert record.info["largest_gap"] < (1e-11 if way in ("projection", "partitioned") else 1e-7)


def on_a_circle() -> kt.Mechanism:
    b = kt.Builder("circle")
    b.body("carriage", "base", kt.Prismatic("x"), mass=0.0, actuated=False)
    b.body("bob", "carriage", kt.Prismatic("z"), mass=2.0, actuated=False)
    return b.loop("rod", "base", "bob", kt.Distance(1.0)).build()


def test_gaps_grow_where_nothing_holds_them_and_not_where_a_spring_does():
    robot = on_a_circle()
    gap = {}
    for way in ("none", kt.Baumgarte(0.05)):
        record = kt.simulate(robot, [0.6, -0.8], time=8.0, drift=way, integrator="rk4", step=0.02, samples=41)
        gaps = np.abs(robot.loop_gaps(record.q)).max(axis=-1)
        gap[str(way)] = gaps[20:].max() / gaps[:20].max(), gaps.max()
    grown, largest = gap.pop("none")
    assert grown > 1.5
    assert all(held < 0.5 * largest for _, held in gap.values())


def test_independent_coordinates_change_on_the_way():
    """On a circle neither x nor y tells the other all the way round."""
    robot = on_a_circle()
    record = kt.simulate(robot, [0.6, -0.8], [8.0, 6.0], time=0.6, drift="partitioned", samples=21)
    angle = np.unwrap(np.arctan2(record.q[:, 1], record.q[:, 0]))
    assert np.ptp(angle) > 1.5 * np.pi
    assert record.info["coordinate_switches"] >= 3
    assert record.info["largest_gap"] < 1e-11
    assert record.energy.relative_error < 1e-7
    assert "coordinate_switches" not in kt.simulate(robot, [0.6, -0.8], time=0.1, drift="none", samples=2).info


def test_rolling_is_held_by_every_way():
    b = kt.Builder("ball", gravity=(1.0, 0, -9.0))
    b.body("ball", "base", kt.Free(), mass=2.0, inertia=(0.008, 0.008, 0.008), actuated=False)
    robot = b.loop("plane", "base", "ball", kt.RollingBall(0.1)).build()
    q = robot.close(robot.neutral())
    for way, kept in (("baumgarte", 1e-6), ("partitioned", 1e-12)):
        record = kt.simulate(robot, q, time=0.5, drift=way, integrator="rk4", step=0.01, samples=3)
        slip = robot.loop_jacobian(record.q) @ record.v[..., None]
        assert np.abs(slip).max() < kept
        assert_close(record.q[-1, 4], 5 / 14 * 0.25, 1e-7, scale=1.0)


def test_what_is_said():
    robot = kt.gallery.load("four-bar")
    q = kt.gallery.motion("four-bar").states(0.0)[0]
    with pytest.raises(kt.UnknownNameError, match="projection, baumgarte, partitioned, none"):
        kt.simulate(robot, q, time=0.1, drift="quickly")
    with pytest.raises(kt.OptionError, match="is the class Baumgarte itself"):
        kt.simulate(robot, q, time=0.1, drift=kt.Baumgarte)
    with pytest.raises(kt.OptionError, match="time constant of Baumgarte's terms must be a positive number"):
        kt.Baumgarte(0.0)
    with pytest.raises(kt.SimulationError, match=r"bdf remembers several steps.*drift='projection'"):
        kt.simulate(robot, q, time=0.1, integrator="bdf", prescribed={"crank_joint": lambda t: q[0] + t})
    tree = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    with pytest.raises(kt.OptionError, match="no drift to correct"):
        kt.simulate(tree, [0.1], time=0.1, drift="baumgarte")
    assert kt.simulate(robot, q, time=0.01, samples=2).info["drift"] == "projection"
