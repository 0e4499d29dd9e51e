"""Files round their numbers: loops that are redundant then contradict one another, and must still move as they did."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import TURN, four_bar, passive, rod
from kinetree.loops import rank
from kinetree.model.configurations import random

SIZES = [1e-9, 1e-8, 1e-7, 1e-6, 3.7e-6, 1e-5, 1e-4]
"""From the last digits of a CAD export to those of 1.571 for a right angle."""


def disturbed(model, size, seed=0):
    """Every place of a joint moved and turned by something of a size, as if it had been written with few digits."""
    rng = np.random.default_rng(seed)

    def off(pose):
        return kt.Pose.of(rng.uniform(-size, size, 3), rpy=rng.uniform(-size, size, 3)) @ pose

    return replace(
        model,
        joints=tuple(replace(j, placement=off(j.placement)) for j in model.joints),
        loops=tuple(replace(x, placement=off(x.placement), seat=off(x.seat)) for x in model.loops),
    )


def linkage(seed, shape):
    """Two branches of hinges whose ends are hinged to one another, planar or with all axes through one point.

    Returns the robot, a configuration in which it is closed, and how many freedoms it has: three constraints less.
    """
    rng = np.random.default_rng(seed)
    trunk, limb = rng.integers(1, 3), rng.integers(2, 4)
    axes = [(0, 0, 1) if shape == "planar" else rng.normal(size=3) for _ in range(trunk + limb + 1)]
    arms = [(*rng.uniform(-1, 1, 2), 0) if shape == "planar" else (0, 0, 0) for _ in range(trunk + limb + 2)]

    def build(seat):
        b = kt.Builder(shape, gravity=(1.0, -9.0, 2.0))
        for k in range(trunk + limb):
            parent = "base" if k in (0, trunk) else f"l{k - 1}"
            body = {"mass": 1.0 + 0.1 * k, "com": (0.3, 0.1 * k, 0.05), "inertia": (0.2, 0.25, 0.3)}
            b.body(f"l{k}", parent, kt.Revolute(axes[k]), position=arms[k], actuated=k < trunk + limb - 2, **body)
        b.frame("end", f"l{trunk - 1}", arms[-1])
        b.loop("pin", f"l{trunk - 1}", f"l{trunk + limb - 1}", kt.Revolute(axes[-1]), placement=arms[-1], seat=seat)
        return b.build()

    q = rng.uniform(-2.5, 2.5, trunk + limb)
    anyhow = build(kt.Pose()).tree
    ends = [np.asarray(anyhow.pose(q, name)) for name in ("end", f"l{trunk + limb - 1}")]
    seat = np.linalg.inv(ends[1]) @ ends[0]
    robot = build(kt.Pose.of(seat[:3, 3], rotation=seat[:3, :3]))
    return kt.Mechanism(robot.model, backend="reference", q_guess=q), q, trunk + limb - 2


def quietly(make, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.RoundingWarning)
        return make(*args, **options)


@pytest.mark.parametrize("size", [1e-9, 1e-7, 1e-5, 1e-4])
@pytest.mark.parametrize("shape", ["planar", "spherical"])
def test_random_linkages_move_as_they_do_without_rounding(shape, size):
    rng = np.random.default_rng(int(-np.log10(size)))
    judged = 0
    for seed in range(7):
        robot, q, freedoms = linkage(seed, shape)
        if robot.mobility(q).gap[0] < 0.05:  # near a singular configuration rounding changes accelerations a lot
            continue
        judged += 1
        assert robot.mobility(q).freedoms == freedoms
        other = kt.Mechanism(disturbed(robot.model, size, seed), backend="reference", q_guess=q)
        closed = quietly(other.close, q)
        assert other.mobility(closed).freedoms == freedoms
        assert np.abs(closed - q).max() < 300 * size
        assert 0.0 < other.closure_error(closed) < 30 * size
        v, tau = rng.normal(size=robot.nv), rng.normal(size=robot.nv)
        for method in ("elimination", "block", "reduced"):
            expected = robot.forward_dynamics(q, robot.nearest_velocity(q, v), tau, method=method)
            found = other.forward_dynamics(closed, other.nearest_velocity(closed, v), tau, method=method)
            np.testing.assert_allclose(found, expected, rtol=0, atol=3e3 * size * (1.0 + np.abs(expected).max()))
    assert judged >= 3


@pytest.mark.parametrize("size", SIZES)
def test_a_four_bar_whose_coupler_is_tilted(size):
    """It had no freedom, and accelerations of zero, without a word."""
    exact = four_bar()
    b = kt.Builder("tilted", gravity=(0, -9.81, 0))
    b.body("crank", "base", TURN, **rod(0.038, 1.5))
    passive(b, "link2", "base", (-0.0895, 0, 0), rod(0.1152, 3.0))
    passive(b, "link3", "link2", (0.1152, 0, 0), rod(0.1152, 5.0), rpy=(size, 0, 0))
    b.loop("cut", "crank", "link3", TURN, placement=(0.038, 0, 0), seat=(0.1152, 0, 0))
    robot = b.build()
    q0 = exact.close([0.3, 1.0, 4.3], fixed=["crank_joint"])
    with pytest.warns(kt.RoundingWarning, match=r"redundant constraints of cut .* leave loops open by some \d"):
        q = robot.close(q0, fixed=["crank_joint"])
    found = robot.mobility(q)
    assert found.freedoms == 1
    assert found.gap[0] > 0.1
    assert size / 100 < found.gap[1] < 10 * size
    assert [d.loops for d in found.rounding] == [("cut",)]
    assert "dropped as rounding of the file's numbers: cut: 2 of 5 constraints count" in str(found)
    assert size / 100 < robot.closure_error(q) < 2 * size
    v, v0 = robot.velocities(q, [3.0]), exact.velocities(q0, [3.0])
    expected = exact.forward_dynamics(q0, v0, [0.1, 0, 0])
    np.testing.assert_allclose(robot.forward_dynamics(q, v, [0.1, 0, 0]), expected, rtol=0, atol=1e4 * size + 1e-9)
    tau = exact.inverse_dynamics(q0, v0, expected)
    np.testing.assert_allclose(
        robot.inverse_dynamics(q, v, robot.forward_dynamics(q, v, [0.1, 0, 0])), tau, atol=10 * size + 1e-9
    )
    with pytest.raises(kt.StateError, match="do not allow this configuration"):
        robot.forward_dynamics(q, v, [0.1, 0, 0], tolerance=size / 100)
    assert robot.closure_error(robot.close(q0, tolerance=2 * size)) < 2 * size
    with pytest.raises(kt.ClosureError, match="remain at joint 'cut"):
        robot.close(q0, tolerance=size / 100)


def test_what_remains_is_least_in_the_sense_of_least_squares():
    from scipy.optimize import least_squares

    robot, q, _ = linkage(3, "planar")
    other = kt.Mechanism(disturbed(robot.model, 1e-4, 3), backend="reference", q_guess=q)
    closed = quietly(other.close, q)
    scale = other.loops.assembling.clusters.all[0].row_scale
    # along the freedoms the rest varies, too, but that would be another configuration
    across = np.linalg.svd(other.loop_jacobian(closed))[2][: other.coordinates.rank].T

    def rest(y):
        return other.loop_gaps(closed + across @ y) * scale

    judge = least_squares(rest, np.zeros(across.shape[1]) + 1e-3, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert np.linalg.norm(rest(judge.x)) > 1e-5
    assert np.linalg.norm(rest(0.0 * judge.x)) < 1.0001 * np.linalg.norm(rest(judge.x))


def test_rounded_mechanisms_are_simulated():
    exact = four_bar()
    robot = kt.Mechanism(disturbed(exact.model, 1e-6))
    q0 = exact.close([0.3, 1.0, 4.3], fixed=["crank_joint"])
    q = quietly(robot.close, q0, fixed=["crank_joint"])
    expected = kt.simulate(exact, q0, exact.velocities(q0, [9.0]), time=0.2, samples=3)
    record = kt.simulate(robot, q, robot.velocities(q, [9.0]), time=0.2, samples=3)
    np.testing.assert_allclose(record.q, expected.q, rtol=0, atol=1e-4)
    assert record.energy.relative_error < 1e-6
    assert robot.closure_error(record.q).max() < 1e-5


def test_simulate_and_project_take_a_tolerance():
    robot = four_bar()
    q = robot.close([0.3, 1.0, 4.3], fixed=["crank_joint"])
    q[0] += 1e-4
    with pytest.raises(kt.StateError, match="leaves loops open"):
        kt.simulate(robot, q, time=0.01)
    record = kt.simulate(robot, q, time=0.01, tolerance=1e-3)
    assert robot.closure_error(record.q).max() < 1e-9
    with pytest.raises(kt.OptionError, match="tolerance must be positive"):
        kt.simulate(robot, q, time=0.01, tolerance=-1.0)
    assert robot.closure_error(robot.project(q, tolerance=1e-12)) < 1e-12


def test_no_clear_gap_is_an_error_that_says_what_to_do():
    robot, q, freedoms = linkage(0, "planar")
    wild = kt.Mechanism(disturbed(robot.model, 0.03, 1), backend="reference", q_guess=q)
    with pytest.raises(kt.KinetreeError, match=r"is not clear|leaves loops open"):
        wild.mobility(q)
    rounded = kt.Mechanism(disturbed(robot.model, 1e-6), backend="reference", q_guess=q, rounding=1e-4)
    assert quietly(rounded.mobility, quietly(rounded.close, q)).freedoms == freedoms
    with pytest.raises(kt.OptionError, match="between 0 and 1"):
        kt.Mechanism(robot.model, rounding=2.0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 0.5, 1e-8, 1e-9], (2, 0.5, 1e-8, True)),
        ([1.0, 0.5, 1e-4, 1e-16], (2, 0.5, 1e-4, True)),
        ([2.0, 1.0, 0.04], (3, 0.02, 0.0, True)),
        ([1.0, 5e-3, 9e-4, 1e-16], (3, 9e-4, 1e-16, True)),  # hardly weaker, and nothing below
        ([1.0, 2e-3, 9e-4, 1e-5], (2, 2e-3, 9e-4, False)),
        ([1.0, 1e-17], (1, 1.0, 1e-17, True)),
        ([], (0, 1.0, 0.0, True)),
    ],
)
def test_the_gap_decides(values, expected):
    assert rank.by_gap(np.array(values)) == pytest.approx(expected)


def test_loops_that_share_no_joints_are_decided_apart():
    """A small one beside a large one: what is rounding for one is not for the other."""
    b = kt.Builder("two", gravity=(0, -9.81, 0))
    for name, size, tilt in (("large", 1.0, 1e-5), ("small", 1e-3, 0.0)):
        b.body(f"{name}_a", "base", TURN, **rod(size, 1.0))
        passive(b, f"{name}_b", "base", (1.2 * size, 0, 0), rod(size, 1.0))
        passive(b, f"{name}_c", f"{name}_a", (size, 0, 0), rod(1.2 * size, 1.0), rpy=(tilt, 0, 0))
        b.loop(name, f"{name}_c", f"{name}_b", TURN, placement=(1.2 * size, 0, 0), seat=(size, 0, 0))
    robot = b.build()
    found = quietly(robot.mobility, quietly(robot.close, np.tile([0.5, 0.6, -0.5], 2)))
    assert found.freedoms == 2
    assert [d.loops for d in found.decisions] == [("large",), ("small",)]
    assert [(d.rank, d.by_rounding) for d in found.decisions] == [(2, True), (2, False)]


def test_random_configurations_of_rounded_linkages_close_or_say_so():
    robot, q, _ = linkage(5, "spherical")
    other = kt.Mechanism(disturbed(robot.model, 1e-6), backend="reference", q_guess=q)
    guesses = random(other.model, np.random.default_rng(0), (20,))
    closed = quietly(other.close, guesses, must_close=False)
    fine = np.isfinite(closed).all(axis=-1)
    assert fine.any()
    assert other.closure_error(closed[fine]).max() < 1e-3


def humanoid(digits):
    """A trunk on two legs whose knees are driven through rods, each in a skew plane; connects between sites."""
    rng = np.random.default_rng(4)

    def leg(side, y):
        turn = kt.Pose.of(rpy=rng.uniform(-0.5, 0.5, 3))
        r = np.array(turn.rotation, dtype=float).reshape(3, 3)
        there = r @ [0.0, 0.0, -0.4]

        def at(*point):
            return " ".join(f"{round(float(x), digits):.{digits}f}" for x in point)

        body = '<inertial pos="0.01 0.02 -0.15" mass="1.5" diaginertia="0.02 0.02 0.004"/>'
        hinge = f'axis="{at(*(r @ [0.0, 1.0, 0.0]))}"'
        return f"""
        <body name="{side}_thigh" pos="0 {y} 0"><joint name="{side}_hip" {hinge}/>{body}
          <body name="{side}_shin" pos="{at(*there)}"><joint name="{side}_knee" {hinge}/>{body}
            <site name="{side}_heel" pos="{at(*(r @ [0.1, 0.0, 0.0]))}"/></body></body>
        <body name="{side}_crank" pos="0 {y} 0"><joint name="{side}_motor" {hinge}/>{body}
          <body name="{side}_rod" pos="{at(*(r @ [0.1, 0.0, 0.0]))}"><joint name="{side}_rod" {hinge}/>{body}
            <site name="{side}_end" pos="{at(*there)}"/></body></body>"""

    loops = "".join(f'<connect site1="{s}_heel" site2="{s}_end"/>' for s in ("left", "right"))
    motors = "".join(f'<motor joint="{s}_{j}"/>' for s in ("left", "right") for j in ("hip", "motor"))
    return f"""<mujoco model="humanoid"><worldbody><body name="trunk"><freejoint name="free"/>
      <inertial pos="0 0 0.2" mass="8" diaginertia="0.3 0.25 0.1"/>{leg("left", 0.1)}{leg("right", -0.1)}
      </body></worldbody><equality>{loops}</equality><actuator>{motors}</actuator></mujoco>"""


@pytest.mark.parametrize("digits", [4, 6, 8])
def test_a_small_humanoid_whose_sites_have_few_digits(tmp_path, digits):
    """It was refused: what eight decimals leave cannot be closed."""
    path = tmp_path / "humanoid.xml"
    path.write_text(humanoid(digits))
    robot = kt.load(path)
    q = quietly(robot.assembled)
    moved = quietly(robot.close, robot.integrate(q, np.linspace(0.1, 0.5, robot.nv)))
    assert quietly(robot.mobility, moved).freedoms == 10
    assert robot.closure_error(moved) < 10.0 ** (1 - digits)
    v = robot.velocities(moved, np.linspace(-1, 1, 10))
    tau = np.linspace(-2, 2, robot.nv)
    found = robot.forward_dynamics(moved, v, tau)
    again = robot.forward_dynamics(moved, v, tau, method="reduced")
    np.testing.assert_allclose(again, found, rtol=0, atol=10 ** (2.0 - digits) * (1.0 + np.abs(found).max()))


@pytest.mark.parametrize("short", [1e-7, 1e-5, 3e-4])
def test_bars_that_are_a_little_too_short_are_not_rounded(short):
    """Stretched out, a loop is nearly closed and its constraint nearly gone; that is no rounding."""
    b = kt.Builder("short", gravity=(0, -9.81, 0))
    b.body("a", "base", TURN, **rod(1.0, 1.0))
    b.body("b", "a", TURN, position=(1, 0, 0), **rod(1.0, 1.0))
    b.loop("pin", "base", "b", TURN, placement=(2.0 + short, 0, 0), seat=(1, 0, 0))
    robot = b.build().with_backend("reference")
    with pytest.raises(
        kt.ClosureError, match=r"from the neutral configuration and \d+ random .* remains off by .* 'pin"
    ):
        robot.assembled(tries=20)
    with pytest.raises(kt.ClosureError):
        robot.close([0.3, -0.6])


@pytest.mark.filterwarnings("ignore::kinetree.RoundingWarning")
@pytest.mark.parametrize("off", [1e-8, 1e-6, 1e-4])
def test_offsets_along_exactly_parallel_axes_are_rounding(off):
    """The redundant constraint has no singular value at all, and stays open all the same."""

    def four_bar(dz):
        rod = {"mass": 1.0, "com": (0.1, 0, 0), "inertia": (0.1, 0.1, 0.1)}
        b = kt.Builder("four-bar", gravity=(0, -9.81, 0))
        b.body("crank", "base", kt.Revolute("z"), **rod)
        b.body("coupler", "crank", kt.Revolute("z"), position=(0, 0.3, dz), actuated=False, **rod)
        b.body("rocker", "base", kt.Revolute("z"), position=(0.8, 0, 0), actuated=False, **rod)
        b.loop("pin", "coupler", "rocker", kt.Revolute("z"), placement=(0.9, 0.2, 0), seat=(0.1, 0.5, 0))
        return b.build()

    exact, rounded = four_bar(0.0), four_bar(off)
    q = exact.close([0.3, -0.3, 0.2], fixed=["crank_joint"])
    np.testing.assert_allclose(rounded.close([0.3, -0.3, 0.2], fixed=["crank_joint"]), q, atol=1e-9)
    assert rounded.mobility(q).freedoms == 1
    expected = exact.forward_dynamics(q, np.zeros(3), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(rounded.forward_dynamics(q, np.zeros(3), [1.0, 0.0, 0.0]), expected, rtol=1e-8)
    runs = [kt.simulate(m, q, time=0.05, samples=3).q[-1] for m in (exact, rounded)]
    np.testing.assert_allclose(*runs, atol=1e-7)


def test_a_loop_joint_that_holds_nothing():
    b = kt.Builder("free loop")
    b.body("a", "base", kt.Revolute("z"), mass=1.0, com=(0.1, 0, 0))
    b.body("b", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -0.1))
    b.loop("nothing", "a", "b", kt.EulerFree())
    robot = b.build()
    assert robot.mobility([0.1, 0.2]).freedoms == 2
    tree = robot.tree.forward_dynamics([0.1, 0.2], [0, 0], [1, 0])
    np.testing.assert_allclose(robot.forward_dynamics([0.1, 0.2], [0, 0], [1, 0]), tree, rtol=1e-12)
