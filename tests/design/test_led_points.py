"""Designs whose drives follow from where a point is led: branches, and a delta that keeps its reach."""

import numpy as np
import pytest

import kinetree as kt
from kinetree_design.free_numbers import FreeNumbers
from kinetree_design.problem import DesignProblem

design = kt.design


def test_drives_of_a_led_point_stay_on_the_branch_that_is_drawn():
    """Elbows of a five-bar, by circles; the numbers of one design do not depend on which others are asked about."""
    robot = kt.linkage(
        {"O": (0, 0), "C": (0.4, 0), "A": (-0.15, 0.3), "B": (0.55, 0.3), "P": {"A": 0.45, "B": 0.45, "side": "above"}},
        {"one": {"points": "O A", "mass": 1}, "two": "C B", "three": "A P", "four": "B P"},
        ground="O C", motor=["O", "C"], masses={"P": 1.0},
    )  # fmt: skip
    robot = kt.Mechanism(robot.model, backend="compiled")
    times = np.linspace(0, 1, 9)
    places = np.stack([0.2 + 0.1 * np.cos(2 * np.pi * times), 0.5 + 0.05 * np.sin(2 * np.pi * times)], axis=1)
    free = FreeNumbers(robot, {"A": 0.15, "P.A": (0.35, 0.55)})
    problem = DesignProblem(robot, free, design.LedPoint("P", places, times), 1.0, 12, 1)
    u = free.random(40, np.random.default_rng(0))
    many = problem._evaluated(u, [design.Torque()], None)
    assert 10 < many.follows.sum() < 40
    for k in np.flatnonzero(many.follows)[:6]:
        alone = problem._evaluated(u[k : k + 1], [design.Torque()], None).values
        np.testing.assert_allclose(many.values[k], alone[0], rtol=1e-9)
    tool, drives = problem.motion.tool[:, 0], problem._tool_drives(u, problem.motion.tool)[:, :, 0, 0]
    for lane in np.flatnonzero(many.follows):
        x, y, rod = (u[lane, free.names.index(name)] for name in ("A.x", "A.y", "P.A"))
        crank, far = np.hypot(x, y), np.hypot(*tool.T)
        wanted = np.arctan2(tool[:, 1], tool[:, 0]) + np.arccos((crank**2 + far**2 - rod**2) / (2 * crank * far))
        turned = drives[lane] + np.arctan2(y, x) - wanted
        np.testing.assert_allclose(np.sin(turned / 2), 0.0, atol=1e-9)


def test_a_frame_that_dimensions_carry_along_is_led_in_few_steps(monkeypatch):
    """The gallery's delta with other arms, judged by its closed form: arms and rods move the platform by themselves."""
    from kinetree.loops.following import PathProblem
    from kinetree.spatial import Vec3
    from kinetree_gallery.systems.delta.system import CORNERS, DELTA, leg_angles

    robot = kt.Mechanism(kt.load("delta").model, backend="compiled")
    free = {"arm": (0.15, 0.4), "rod": (0.5, 0.7)}
    for k, side in ((k, side) for k in (1, 2, 3) for side in ("left", "right")):
        free |= {f"{side}_elbow_{k}.position.x": "= arm", f"{side}_ball_{k}.position.z": "= -rod"}
    numbers, places = FreeNumbers(robot, free), np.array([[0.1, -0.05, -0.55], [0.12, 0.0, -0.6]])
    u = np.array([[0.3, 0.6], [0.2, 0.65], [0.15, 0.6]])
    tries, close = [], PathProblem._in_steps
    monkeypatch.setattr(PathProblem, "_in_steps", lambda self, *args: (tries.append(args), close(self, *args))[1])
    start = robot.assembled()
    begin = robot.point_position(start, "middle")
    q = robot.loops.led_designs("middle", places, numbers.parameters(u), start, begin, 1)
    assert not tries
    shoulders = [robot.q_names.index(f"shoulder_{k}") for k in (1, 2, 3)]
    for row, (arm, rod) in zip(q, u, strict=True):
        sizes = DELTA._replace(arm=arm, rod=rod)
        wanted = [[leg_angles(Vec3(*place), corner, sizes)[0] for corner in CORNERS] for place in places]
        np.testing.assert_allclose(row[:, shoulders], wanted, atol=1e-9)


def test_peak_torque_of_a_delta_with_its_reach_as_a_limit():
    """Its reach and its torques are judged in closed form."""
    from kinetree.spatial import Vec3
    from kinetree_gallery.systems.delta.system import DELTA, DeltaSizes
    from kinetree_gallery.systems.delta_design.study import DURATION, _along, cycle, free_numbers
    from kinetree_gallery.systems.delta_design.system import at_place

    robot = kt.Mechanism(kt.load("delta-design").model, backend="compiled")
    t, places, *_ = cycle(19)
    t, ring = t[:19], places[19:]
    found = design(
        robot, free_numbers(), design.Torque(), design.Reach("platform", ring), samples=19, progress=False,
        motion=design.LedPoint("platform", places[:19], t),
    )  # fmt: skip
    assert found.solved
    sizes = DeltaSizes(found.numbers["base"], DELTA.platform, found.numbers["arm"], found.numbers["rod"])
    inside = ring * [1 - 1e-6, 1 - 1e-6, 1.0]  # where arm and rod are just not in one line, as they may be on the ring
    reached = np.array([at_place(Vec3(*place), sizes) for place in inside])
    assert found.robot.closure_error(reached).max() < 1e-9
    assert found.miss.max() < 1e-9
    fine = np.linspace(0, DURATION, 151)
    before, after = (np.abs(_along(one, fine, of).torque).max() for one, of in ((robot, DELTA), (found.robot, sizes)))
    assert after < 0.85 * before
    assert found.goals[0].before == pytest.approx(before, rel=2e-2)  # the curve through samples is not the arch itself
    assert found.goals[0].after == pytest.approx(after, rel=2e-2)
