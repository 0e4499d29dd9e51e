"""Designs of a five-bar, which has two drives: points on one branch, goals and limits of its motion."""

from itertools import pairwise

import numpy as np
import pytest

import kinetree as kt

design = kt.design


@pytest.fixture(scope="module")
def five_bar():
    points = {"O": (0, 0), "C": (0.4, 0), "A": (-0.15, 0.3), "B": (0.55, 0.3)}
    links = {"one": "O A", "two": "C B", "three": "A P", "four": "B P"}
    robot = kt.linkage(
        points | {"P": {"A": 0.45, "B": 0.45, "side": "above"}},
        {name: {"points": own, "mass": 0.5} for name, own in links.items()}, ground="O C", motor=["O", "C"],
        masses={"P": 1.0},
    )  # fmt: skip
    return kt.Mechanism(robot.model, backend="compiled")


def goes_straight(found):
    """Return whether drives that go straight, by the shorter way, lead the mechanism from point to point."""
    robot, q = found.robot, found.q
    for begin, end in pairwise(q):
        names = [name for name in robot.q_names if name in ("O", "C")]
        entries = [robot.q_names.index(name) for name in names]
        way = (end[entries] - begin[entries] + np.pi) % (2 * np.pi) - np.pi
        path = {name: begin[k] + np.linspace(0, 1, 40) * w for name, k, w in zip(names, entries, way, strict=True)}
        led, reached = robot.follow(path, begin, must_reach=False)
        if not reached.all() or np.abs(np.sin((led[-1] - end) / 2)).max() > 1e-6:
            return False
    return True


@pytest.mark.slow
def test_points_are_met_in_one_assembly_or_it_is_said(five_bar):
    free, options = {"A": 0.02, "P.A": (0.4, 0.5)}, {"starts": 24, "progress": False}
    found = design(five_bar, free, design.Path("P", [(0.2, 0.62), (0.2, -0.62)]), **options)
    assert found.solved
    assert goes_straight(found)
    assert found.assemblies == ((0, 1),)
    apart = design(five_bar, free, design.Path("P", [(0.2, 0.62), (0.2, -0.62), (0.1, 0.6)]), **options)
    some = [*found.others[:3], *found.others[-1:], *apart.others[:2]]
    assert {(bool(one.notes), goes_straight(one)) for one in some} == {(True, False), (False, True)}
    if not apart.solved:
        assert any("drives that go straight from point to point do not lead there" in note for note in apart.notes)
        assert len(apart.assemblies) > 1


def test_goals_and_limits_of_two_drives(five_bar):
    way = np.linspace(0.0, 1.0, 20)[:, None]
    motion = way * [0.3, -0.2], np.tile([0.3, -0.2], (20, 1)), np.zeros((20, 2))
    points = [(0.2, 0.62), (0.0, 0.55), (0.3, 0.4), (0.4, 0.55)]
    limits = [design.Reach("P", points), design.ConditionNumber("P") <= 2.0]
    found = design(
        five_bar, {"A": 0.1, "P.A": (0.3, 0.6)}, design.Torque(), limits, motion=motion, starts=24, progress=False
    )
    assert found.solved
    robot = found.robot
    q = robot.follow(dict(zip("OC", motion[0].T, strict=True)), robot.neutral())
    v = robot.velocities(q, motion[1])
    tau = robot.inverse_dynamics(q, v, robot.accelerations(q, v, motion[2]))
    drives = [robot.v_names.index(name) for name in "OC"]
    assert found.goals[0].after == pytest.approx(np.abs(tau[:, drives]).max(), rel=1e-9)
    assert found.goals[0].after < 0.9 * found.goals[0].before
    slopes = np.stack([robot.point_velocity(q, robot.velocities(q, np.tile(one, (20, 1))), "P") for one in np.eye(2)])
    assert np.linalg.cond(slopes[..., :2].swapaxes(0, 1)).max() < 2.0 * (1 + 1e-6)
    np.testing.assert_allclose(robot.point_position(found.q, "P")[:, :2], points, atol=1e-9)


@pytest.mark.parametrize(
    ("goal", "said"),
    [(design.Dwell("P", (0, 1)), "there are several"), (design.TransmissionAngle(), "there is none"),
     (design.Torque("X"), "O, C")],
)  # fmt: skip
def test_what_two_drives_have_not_is_refused(five_bar, goal, said):
    way = np.linspace(0.0, 0.1, 5)[:, None] * [1.0, 1.0]
    with pytest.raises(kt.KinetreeError, match=said):
        design(five_bar, {"A": 0.02}, goal, motion=(way, 0 * way, 0 * way), progress=False)
    with pytest.raises(kt.OptionError, match="no single drive that turns: say over which motion of O, C"):
        design(five_bar, {"A": 0.02}, design.Torque(), progress=False)
