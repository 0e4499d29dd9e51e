"""Whatever needs a closed configuration gets it from the one piece of machine code; reasons, and bits in any thread."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.loops.closing_in_machine_code import NewtonClosing, QuickClosing
from kinetree.loops.loops_class.closed_configurations import LoopClosing


def compiled(name):
    return kt.Mechanism(kt.load(name).model, backend="compiled")


@pytest.fixture(scope="module")
def four_bar():
    robot = compiled("four-bar")
    _ = robot.coordinates
    return robot, robot.close(robot.assembled(), fixed={"crank_joint": 0.4})


@pytest.fixture(scope="module")
def hexapod():
    robot = compiled("stewart-platform")
    start = robot.close(kt.gallery.motion("stewart-platform").states(0.0)[0])
    return robot.platform("platform"), start


@pytest.fixture
def searches(monkeypatch):
    """Count searches in machine code, and refuse any search for ranks."""
    count = [0]
    search, quick = NewtonClosing.search, QuickClosing.__call__

    def counted(self, *given, **named):
        count[0] += 1
        return search(self, *given, **named)

    def also_counted(self, *given):
        count[0] += 1
        return quick(self, *given)

    def refused(self, *given):
        raise AssertionError("ranks are looked for")

    monkeypatch.setattr(NewtonClosing, "search", counted)
    monkeypatch.setattr(QuickClosing, "__call__", also_counted)
    monkeypatch.setattr(LoopClosing, "_by_rank", refused)
    return count


TURN = np.linspace(0.4, 1.2, 9)


def between_samples(robot, q):
    record = kt.simulate(robot, q, time=0.02, samples=3)
    return record.at(np.linspace(0.0, 0.02, 7))


OF_FOUR_BARS = {
    "close": lambda robot, q: robot.close(np.tile(q, (9, 1)), {"crank_joint": TURN}),
    "one state": lambda robot, q: robot.close(q + 0.01, ["crank_joint"]),
    "project": lambda robot, q: robot.project(q + 0.01, np.zeros(3)),
    "follow": lambda robot, q: robot.follow({"crank_joint": TURN}, q),
    "driven_motion": lambda robot, q: robot.driven_motion(
        TURN[:, None], 0 * TURN[:, None], 0 * TURN[:, None], q_guess=q
    ),
    "assemblies": lambda robot, q: robot.assemblies({"crank_joint": 0.4}),
    "records": between_samples,
    "equilibrium": lambda robot, q: kt.equilibrium(robot, q),
    "worlds": lambda robot, q: kt.World(robot, batch=4, q0=q, random={"q": {"crank_joint": kt.Uniform(-0.5, 0.5)}}),
}


@pytest.mark.parametrize("name", OF_FOUR_BARS)
def test_positions_of_mechanisms_come_from_machine_code(name, four_bar, searches):
    OF_FOUR_BARS[name](*four_bar)
    assert searches[0] > 0


def poses(top, q):
    every = np.repeat(top.pose(q)[None], 6, axis=0)
    every[:, 2, 3] += np.linspace(0.0, 0.03, 6)
    return every


OF_PLATFORMS = {
    "inverse": lambda top, q: top.inverse(poses(top, q), q),
    "forward": lambda top, q: top.forward(top.positions(q) + np.linspace(0, 0.01, 6)[:, None], q),
    "follow": lambda top, q: top.follow(poses(top, q), q),
    "requirements": lambda top, q: top.requirements(poses(top, q), np.linspace(0, 1, 6), q),
    "workspace": lambda top, q: kt.workspace(top, z=top.pose(q)[2, 3] + np.linspace(0.0, 0.02, 3), q_guess=q),
    "inverse kinematics": lambda top, q: kt.inverse_kinematics(top.mechanism, "platform", poses(top, q), q),
}


@pytest.mark.parametrize("name", OF_PLATFORMS)
def test_positions_of_platforms_come_from_machine_code(name, hexapod, searches):
    OF_PLATFORMS[name](*hexapod)
    assert searches[0] > 0


def test_bits_do_not_depend_on_threads(four_bar, hexapod):
    for robot, q, free in ((*four_bar, [False, True, True]), (hexapod[0].mechanism, hexapod[1], None)):
        moving = np.ones(robot.nv, dtype=bool) if free is None else np.array(free)
        kernel = robot.loops.closing.kernel(moving)
        guesses = robot.integrate(
            np.tile(q, (2000, 1)), 0.5 * np.random.default_rng(0).standard_normal((2000, robot.nv))
        )
        one, two, three = (kernel.search(guesses, np.zeros(0), threads=n).state for n in (1, 2, 3))
        assert np.array_equal(one, two, equal_nan=True)
        assert np.array_equal(one, three, equal_nan=True)
        part = kernel.search(guesses[777:1001], np.zeros(0), threads=2).state
        assert np.array_equal(one[777:1001], part, equal_nan=True)
    robot, q = four_bar
    drives = TURN[:, None], 0 * TURN[:, None] + 1.0, 0 * TURN[:, None]
    pins = {"loops": {"crank_pin": {"position": np.array([[x, 0, 0] for x in np.linspace(0.03, 0.05, 20)])}}}
    moved = [robot.driven_motion(*drives, pins, q_guess=q, threads=n) for n in (1, 2)]
    assert np.array_equal(moved[0].q, moved[1].q, equal_nan=True)
    assert np.array_equal(moved[0].tau, moved[1].tau, equal_nan=True)


def test_lanes_that_cannot_close_are_nan_and_have_a_reason():
    """A rocker that is swung out too far for the coupler; the lanes beside it keep their bits."""
    robot = compiled("four-bar")
    start = robot.assembled()
    held = np.array([start[1], start[1] + 0.05, np.pi, start[1] - 0.05])
    found = robot.close(np.tile(start, (4, 1)), {"rocker_joint": held}, must_close=False)
    closed = np.isfinite(found).all(axis=-1)
    assert closed.tolist() == [True, True, False, True]
    assert np.isnan(found[2]).all()
    assert np.array_equal(found[closed], robot.close(np.tile(start, (3, 1)), {"rocker_joint": held[closed]}))
    with pytest.raises(kt.ClosureError, match=r"remain at joint"):
        robot.close(start, {"rocker_joint": held[2]})
    with pytest.raises(kt.ClosureError, match=r"state \(2,\)|state 2|1 of 4"):
        robot.close(np.tile(start, (4, 1)), {"rocker_joint": held})
    assert np.isnan(robot.follow({"rocker_joint": held[[0, 2]]}, start, must_reach=False)[0][1]).all()
