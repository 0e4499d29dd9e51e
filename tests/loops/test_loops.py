"""Closed loops: constraints of every joint kind, closing, mobility, inverse and forward dynamics."""

from __future__ import annotations

import pickle
import subprocess

import numpy as np
import pytest

import kinetree as kt
from helpers.gcc import compile_c
from helpers.mechanisms import CLOSING, closed_state, four_bar, rod, spatial, two_loops
from judges import pinocchio_loops
from kinetree.robot import make

KINDS = pytest.mark.parametrize("kind", CLOSING, ids=lambda k: k.name)


@KINDS
def test_gaps_change_at_the_rate_of_the_constraint_matrix(kind):
    robot = spatial(kind)
    q, _ = closed_state(robot)
    move = np.random.default_rng(1).normal(size=robot.nv)
    h = 1e-6
    rate = (robot.loop_gaps(robot.integrate(q, h * move)) - robot.loop_gaps(robot.integrate(q, -h * move))) / (2 * h)
    np.testing.assert_allclose(rate, robot.loop_jacobian(q) @ move, atol=2e-8)


@KINDS
def test_drift_is_what_the_constraint_matrix_changes_by(kind):
    robot = spatial(kind)
    q, v = closed_state(robot)
    h = 1e-6
    rate = robot.loop_jacobian(robot.integrate(q, h * v)) - robot.loop_jacobian(robot.integrate(q, -h * v))
    np.testing.assert_allclose(robot.loop_drift(q, v), rate @ v / (2 * h), atol=5e-8)


@KINDS
def test_all_methods_agree_and_loops_stay_closed(kind):
    robot = spatial(kind)
    q, v = closed_state(robot)
    tau = np.random.default_rng(2).normal(size=robot.nv)
    a = robot.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(robot.loop_jacobian(q) @ a, -robot.loop_drift(q, v), atol=1e-10)
    for method in ("block", "reduced"):
        np.testing.assert_allclose(robot.forward_dynamics(q, v, tau, method=method), a, rtol=1e-9, atol=1e-9)
    # D'Alembert: what is left of the tree's equations is a combination of the constraints
    left = robot.tree.inverse_dynamics(q, v, a) - tau
    np.testing.assert_allclose(left, robot.loop_jacobian(q).T @ robot.multipliers(q, v, tau), atol=1e-9)
    compiled = robot.with_backend("compiled")
    np.testing.assert_allclose(compiled.forward_dynamics(q, v, tau), a, rtol=1e-10, atol=1e-10)


@KINDS
def test_power_of_all_forces_is_the_rate_of_energy(kind):
    robot = spatial(kind)
    q, v = closed_state(robot)
    tau = np.random.default_rng(3).normal(size=robot.nv)
    a = robot.forward_dynamics(q, v, tau)
    h = 1e-5

    def energy(s):
        moved = robot.integrate(q, s * v + s * s / 2 * a)
        return robot.kinetic_energy(moved, v + s * a) + robot.potential_energy(moved)

    assert (energy(h) - energy(-h)) / (2 * h) == pytest.approx(tau @ v, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kind", [kt.Revolute((1, 2, 3)), kt.Spherical(), kt.Fixed()], ids=lambda k: k.name)
def test_accelerations_against_pinocchio(kind):
    rng = np.random.default_rng(4)
    b = kt.Builder("judged")
    joints = [kt.Revolute("x"), kt.Spherical(), kt.Prismatic((1, 1, 0)), kt.Revolute((0, 1, 1))]
    for branch in "ab":
        parent = "base"
        for i, joint in enumerate(joints):
            b.body(
                f"{branch}{i}", parent, joint, placement=kt.Pose.of(rng.normal(size=3) * 0.3, rpy=rng.normal(size=3)),
                mass=1 + i, com=rng.normal(size=3) * 0.1, inertia=rng.uniform(0.4, 0.6, 3),
            )  # fmt: skip
            parent = f"{branch}{i}"
    b.loop("knot", "a3", "b3", kind, placement=(0.1, 0.2, 0.3), seat=(-0.1, 0.2, 0.1))
    robot = b.build()
    for seed in range(3):
        q, v = closed_state(robot, seed)
        tau = rng.normal(size=robot.nv)
        expected = pinocchio_loops.accelerations(robot, q, v, tau)
        np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "make", [four_bar, lambda: four_bar("ground"), two_loops], ids=["four-bar", "other cut", "3-RRR"]
)
def test_planar_mechanisms_against_pinocchio(make):
    robot = make()
    rng = np.random.default_rng(5)
    for seed in range(3):
        q, v = closed_state(robot, seed)
        tau = rng.normal(size=robot.nv)
        expected = pinocchio_loops.accelerations(robot, q, v, tau)
        np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), expected, rtol=1e-7, atol=1e-7)


# ------------------------------------------------------------------ the four-bar's printed numbers

FOUR_BAR = [  # computed from the formulas of Shah section 8.3: t, theta2, theta3, tau, lambda x, lambda y
    (0, 0.984373, 4.314439, 2.009999, -15.71413, 45.53722),
    (1 / 3, 1.536642, 4.012933, -0.018579, 0.48893, 22.82715),
    (2 / 3, 1.345368, 3.592450, -1.679998, -1.36068, 36.85296),
    (1, 0.733610, 4.012933, -0.069872, -1.83874, 67.79770),
]


@pytest.mark.parametrize("method", ["reduced", "f_matrix", "subsystems"])
def test_four_bar_numbers(method):
    robot = four_bar()
    table = np.array(FOUR_BAR)
    speed = 1.5 * np.pi
    q = robot.close(np.c_[table[:, 0], table[:, 1:3]], fixed={"crank_joint": speed * table[:, 0]})
    np.testing.assert_allclose(q[:, 1:], table[:, 1:3], atol=5e-7)
    v = robot.velocities(q, np.full((4, 1), speed))
    a = robot.accelerations(q, v, np.zeros((4, 1)))
    np.testing.assert_allclose(v[0, 1:], (1.404477, 0), atol=5e-7)
    np.testing.assert_allclose(a[0, 1:], (3.086670, -6.173340), atol=5e-7)
    forces = robot.constraint_forces(q, v, a, method=method)
    np.testing.assert_allclose(forces.tau[:, 0], table[:, 3], atol=5e-7)
    np.testing.assert_array_equal(forces.tau[:, 1:], 0.0)
    np.testing.assert_allclose(forces.loop_wrenches_world[:, 0, 3:5], table[:, 4:], atol=5e-6)


def crank_motion(robot: kt.Mechanism, angle: np.ndarray, speed: float) -> tuple[np.ndarray, ...]:
    """A turn of the crank, each state started from the one before."""
    q = np.empty((len(angle), robot.nq))
    start = [0, 0.98, 4.31] if robot.joint_names[1] == "rocker_joint" else [0, 0.98 + 4.31 + np.pi, -4.31]
    guess = robot.close(start, fixed={"crank_joint": angle[0]})
    for i, x in enumerate(angle):
        q[i] = guess = robot.close(guess, fixed={"crank_joint": x})
    v = robot.velocities(q, np.full((len(angle), 1), speed))
    return q, v, robot.accelerations(q, v, np.zeros((len(angle), 1)))


def test_other_cuts_give_the_same_torques():
    angle = np.linspace(0, 2 * np.pi, 25)
    torques, places = [], []
    for cut in ("coupler_end", "ground"):
        robot = four_bar(cut)
        q, v, a = crank_motion(robot, angle, 4.0)
        torques.append(robot.inverse_dynamics(q, v, a)[:, 0])
        places.append(robot.center_of_mass(q))
    np.testing.assert_allclose(places[0], places[1], atol=1e-10)
    np.testing.assert_allclose(torques[0], torques[1], atol=1e-9)


def test_reactions_balance_every_body():
    """Newton and Euler for each bar by itself, with all joint forces as unknown signs allow."""
    robot = four_bar()
    q, v, a = crank_motion(robot, np.linspace(0, 6, 7), 4.0)
    forces = robot.constraint_forces(q, v, a)
    for i in range(len(q)):
        at = {name: robot.pose(q[i], name) for name in robot.body_names}
        world = {n: at[n][:3, :3] @ forces.joint_wrenches[i, k, 3:] for k, n in enumerate(robot.body_names)}
        cut = forces.loop_wrenches_world[i, 0, 3:]
        for body, mass, total in (
            ("crank", 1.5, world["crank"] - cut),
            ("rocker", 3.0, world["rocker"] - world["coupler"]),
            ("coupler", 5.0, world["coupler"] + cut),
        ):
            com = robot.body(body).mass_properties.com
            acceleration = robot.point_acceleration(q[i], v[i], a[i], body, com)
            np.testing.assert_allclose(total + mass * robot.gravity, mass * acceleration, atol=1e-9)


# ------------------------------------------------------------------ closing


def test_a_loop_that_cannot_be_closed_says_how_far_off_it_stays():
    b = kt.Builder("short")
    b.body("a", "base", kt.Revolute("z"), **rod(1, 0.2))
    b.body("b", "base", kt.Revolute("z"), position=(1, 0, 0), **rod(1, 0.2))
    b.loop("gap", "a", "b", kt.Spherical(), placement=(0.2, 0, 0), seat=(0.2, 0, 0))
    robot = b.build()
    with pytest.raises(kt.ClosureError, match=r"0\.(6|599) m remain at joint 'gap: force along .'"):
        robot.close([0.1, 3.0])
    assert np.isnan(robot.close([0.1, 3.0], must_close=False)).all()


def test_a_batch_with_one_lane_that_cannot_close():
    robot = two_loops()
    good = robot.assembled(0)
    batch = np.array([good, good + 0.01, good])
    batch[1, 0] += 0.05
    closed = robot.close(batch)
    assert closed.shape == (3, robot.nq)
    assert robot.closure_error(closed).max() < 1e-10
    batch[1] = np.nan
    assert np.isnan(robot.close(batch)[1]).all()
    assert np.isfinite(robot.close(batch)[[0, 2]]).all()


def test_fixed_joints_stay_where_they_are():
    robot = four_bar()
    guess = robot.assembled(0) + 0.02
    closed = robot.close(guess, fixed=["crank_joint"])
    assert closed[0] == guess[0]
    assert robot.closure_error(closed) < 1e-12
    with pytest.raises(kt.UnknownNameError, match="crank_joint"):
        robot.close(guess, fixed=["crank_jiont"])


def test_axes_turned_over_are_not_closed():
    """A hinge whose axis points the other way fits by its sines only."""
    b = kt.Builder("flip")
    b.body("a", "base", kt.Spherical(), mass=1, inertia=(1, 1, 1))
    b.loop("hinge", "base", "a", kt.Revolute("z"))
    robot = b.build()
    turned_over = robot.normalize([1.0, 0.02, 0, 0.01])
    assert 3.0 < robot.closure_error(turned_over) < np.pi
    assert robot.pose(robot.close(turned_over), "a")[2, 2] == pytest.approx(1.0)


# ------------------------------------------------------------------ mobility and bad input


def test_mobility_counts_by_rank():
    report = four_bar().mobility()
    assert (report.freedoms, report.gruebler, report.constraints, report.rank) == (1, -2, 5, 2)
    assert report.overconstrained == 3
    assert set(report.redundant) == {"cut: moment about x", "cut: moment about y", "cut: force along z"}
    assert "1 degree of freedom: crank_joint" in str(report)


def parallelogram() -> kt.Mechanism:
    b = kt.Builder("parallelogram")
    y = kt.Revolute("y")
    for k in (0, 1):
        b.body(
            f"rod{k}", "base", y, position=(k, 0, 0), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1), actuated=k == 0
        )
    b.body("bar", "rod0", y, position=(0, 0, -1), mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1), actuated=False)
    b.loop("pin", "bar", "rod1", y, placement=(1, 0, 0), seat=(0, 0, -1))
    return b.build()


def test_a_flat_parallelogram_is_singular_and_opens_up():
    robot = parallelogram()
    flat = [np.pi / 2, np.pi / 2, -np.pi / 2]
    assert not robot.mobility([0.3, 0.3, -0.3]).singular
    report = robot.mobility(flat)
    assert report.singular
    assert report.freedoms == 1
    assert len(report.opening) == 1
    np.testing.assert_allclose(robot.loop_jacobian(flat) @ report.opening[0], 0, atol=1e-12)
    # whichever configuration is seen first, the rank is that of the general one
    fresh = parallelogram()
    assert fresh.mobility(flat).freedoms == 1
    with pytest.raises(kt.SingularError, match="singular configuration"):
        fresh.velocities(flat, [1.0])
    with pytest.warns(kt.SingularityWarning, match="singular configuration"):
        assert np.isfinite(fresh.forward_dynamics(flat, np.zeros(3), np.zeros(3))).all()


def test_locked_freedoms_are_named():
    """At its outermost position the four-bar's rocker stands still."""
    robot = four_bar()
    report = robot.mobility(robot.close([0, 0.98, 4.31], fixed=["crank_joint"]))
    assert report.locked == ("coupler_joint",)


def test_inconsistent_states_are_refused_with_the_residual():
    robot = four_bar()
    q, v = closed_state(robot)
    zero = np.zeros(3)
    with pytest.raises(kt.StateError, match=r"do not allow this configuration.*off by .*close\(q\)"):
        robot.forward_dynamics(q + np.array([0, 0.1, 0]), v, zero)
    with pytest.raises(kt.StateError, match=r"do not allow this velocity.*project"):
        robot.forward_dynamics(q, v + np.array([0, 1, 0]), zero)
    with pytest.raises(kt.StateError, match="do not allow this acceleration"):
        robot.inverse_dynamics(q, v, [1, 1, 1])
    with pytest.raises(kt.StateError, match=r"in state \(1,\)"):
        robot.forward_dynamics([q, q + np.array([0, 0.1, 0])], v, zero)
    expected = robot.forward_dynamics(q, robot.project(q, v + np.array([0, 1, 0]))[1], zero)
    np.testing.assert_allclose(robot.forward_dynamics(q, v + np.array([0, 1, 0]), zero, project=True), expected)


def test_projection_keeps_the_energy_that_the_loops_allow():
    """Projected and lost velocity are orthogonal in the mass matrix, so energy can only fall."""
    robot = two_loops()
    q = robot.assembled(0)
    wild = np.random.default_rng(0).normal(size=robot.nv)
    _, v = robot.project(q, wild)
    np.testing.assert_allclose(robot.loop_jacobian(q) @ v, 0, atol=1e-12)
    assert v @ robot.mass_matrix(q) @ (wild - v) == pytest.approx(0, abs=1e-10)


def test_too_few_actuators():
    robot = two_loops(actuated=2)
    q, v = closed_state(robot)
    tau = np.zeros(robot.nv)
    a = robot.forward_dynamics(q, v, tau)
    with pytest.raises(kt.SingularError, match="3 freedoms but 2 actuators"):
        robot.inverse_dynamics(q, v, a)


def test_redundant_actuators_share_by_weight():
    b = kt.Builder("redundant", gravity=(0, -9.81, 0))
    z = kt.Revolute("z")
    b.body("crank", "base", z, **rod(1.5, 0.4))
    b.body("rocker", "base", z, position=(-1, 0, 0), **rod(3, 1))
    b.body("coupler", "rocker", z, position=(1, 0, 0), actuated=False, **rod(5, 1))
    b.loop("cut", "crank", "coupler", z, placement=(0.4, 0, 0), seat=(1, 0, 0))
    robot = b.build()
    q, v = closed_state(robot)
    a = robot.forward_dynamics(q, v, np.array([1.0, 2.0, 0.0]))
    g = robot.basis(q)
    needed = g.T @ robot.tree.inverse_dynamics(q, v, a)
    for weights in (None, np.array([1.0, 100.0, 1.0])):
        found = [
            robot.inverse_dynamics(q, v, a, method=m, weights=weights) for m in ("reduced", "f_matrix", "subsystems")
        ]
        w = np.ones(3) if weights is None else weights
        row = g[:2, 0]  # minimize sum w u^2 under row u = needed
        best = row / w[:2] * needed / (row @ (row / w[:2]))
        for tau in found:
            np.testing.assert_allclose(tau, [*best, 0], atol=1e-9)
            np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), a, atol=1e-9)
    with pytest.raises(kt.OptionError, match="positive"):
        robot.inverse_dynamics(q, v, a, weights=[0, 1, 1])


def test_what_a_mechanism_does_not_have_is_refused():
    robot = four_bar()
    with pytest.raises(kt.UnknownNameError, match="elimination"):
        robot.forward_dynamics(robot.assembled(), np.zeros(3), np.zeros(3), method="eliminate")
    with pytest.raises(kt.OptionError, match="negative"):
        robot.forward_dynamics(robot.assembled(), np.zeros(3), np.zeros(3), stabilization=(-1, 0))


# ------------------------------------------------------------------ batches, choices, copies


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_batches_broadcast_and_nan_stays_in_its_lane(backend):
    robot = two_loops().with_backend(backend)
    q, v = closed_state(robot)
    rng = np.random.default_rng(0)
    tau = rng.normal(size=(4, 3, robot.nv))
    a = robot.forward_dynamics(q, v, tau)
    assert a.shape == (4, 3, robot.nv)
    np.testing.assert_allclose(a[2, 1], robot.forward_dynamics(q, v, tau[2, 1]), rtol=1e-12)
    for method in ("reduced", "f_matrix", "subsystems"):
        back = robot.inverse_dynamics(q, v, a, method=method)
        np.testing.assert_allclose(np.einsum("...i,ij->...j", back, robot.basis(q)), tau @ robot.basis(q), atol=1e-9)
    tau[1, 1, 0] = np.nan
    for method in ("elimination", "block", "reduced"):
        bad = robot.forward_dynamics(q, v, tau, method=method)
        assert np.isnan(bad[1, 1]).all()
        assert np.isfinite(np.delete(bad.reshape(12, -1), 4, axis=0)).all()
    out = np.empty_like(a)
    assert robot.inverse_dynamics(q, v, a, out=out) is out


def test_independent_freedoms_can_be_chosen():
    robot = four_bar()
    q, v = closed_state(robot)
    other = robot.with_independent(["rocker_joint"])
    assert robot.independent(q) == ["crank_joint"]
    assert other.independent(q) == ["rocker_joint"]
    np.testing.assert_allclose(other.velocities(q, v[1:2]), v, atol=1e-12)
    energy = 0.5 * v[1] ** 2 * other.reduced_mass_matrix(q)[0, 0]
    assert energy == pytest.approx(robot.kinetic_energy(q, v))
    with pytest.raises(kt.SingularError, match="1 freedoms, but 2 were named"):
        robot.with_independent(["rocker_joint", "crank_joint"]).basis(q)
    assert other.with_gravity((0, 0, 0)).independent(q) == ["rocker_joint"]


def test_reduced_equations_give_the_same_motion():
    robot = two_loops()
    q, v = closed_state(robot)
    tau = np.where(robot.driven, 1.5, 0.0)
    g = robot.basis(q)
    reduced = np.linalg.solve(robot.reduced_mass_matrix(q), g.T @ tau - robot.reduced_bias_force(q, v))
    np.testing.assert_allclose(robot.accelerations(q, v, reduced), robot.forward_dynamics(q, v, tau), atol=1e-9)
    a = robot.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(robot.reduced_inverse_dynamics(q, v, a), g.T @ tau, atol=1e-9)
    push = {robot.body_names[-1]: kt.Wrench(force=(1.0, 2.0, 0.0), axes="world")}
    felt = robot.reduced_inverse_dynamics(np.stack([q, q]), v, a, push)
    np.testing.assert_allclose(
        felt[1] - g.T @ tau, robot.reduced_bias_force(q, v, push) - robot.reduced_bias_force(q, v)
    )
    with pytest.raises(kt.StateError, match="do not allow this acceleration"):
        robot.reduced_inverse_dynamics(q, v, a + 1.0)
    momentum = robot.reduced_momentum(q, v)
    assert momentum @ v[list(robot.coordinates.independent)] == pytest.approx(2 * robot.kinetic_energy(q, v))
    # accelerations per unit force
    zero = robot.forward_dynamics(q, v, 0 * tau)
    np.testing.assert_allclose(robot.inverse_mass_matrix(q) @ tau + zero, robot.forward_dynamics(q, v, tau), atol=1e-9)


def test_friction_of_passive_joints_is_felt_by_the_actuator():
    b = kt.Builder("rubbing", gravity=(0, 0, 0))
    z = kt.Revolute("z")
    b.body("crank", "base", z, **rod(1.5, 0.4))
    b.body("rocker", "base", z, position=(-1, 0, 0), actuated=False, damping=2.0, **rod(3, 1))
    b.body("coupler", "rocker", z, position=(1, 0, 0), actuated=False, **rod(5, 1))
    b.loop("cut", "crank", "coupler", z, placement=(0.4, 0, 0), seat=(1, 0, 0))
    robot = b.build()
    q, v = closed_state(robot)
    a = robot.forward_dynamics(q, v, np.array([1.0, 0, 0]), friction=True)
    tau = robot.inverse_dynamics(q, v, a, friction=True)
    np.testing.assert_allclose(tau, [1, 0, 0], atol=1e-9)
    assert tau[0] * v[0] == pytest.approx(robot.inverse_dynamics(q, v, a)[0] * v[0] + 2 * v[1] ** 2)


def test_stabilization_pulls_gaps_together():
    robot = four_bar()
    q, v = closed_state(robot)
    off = q + np.array([0, 1e-3, 0])
    alpha, beta = 3.0, 5.0
    a = robot.forward_dynamics(off, v, np.zeros(3), stabilization=(alpha, beta))
    k = robot.loop_jacobian(off)[list(robot.coordinates.rows)]
    rows = list(robot.coordinates.rows)
    expected = -robot.loop_drift(off, v) - 2 * alpha * robot.loop_jacobian(off) @ v - beta**2 * robot.loop_gaps(off)
    np.testing.assert_allclose(k @ a, expected[rows], atol=1e-9)
    for method in ("block", "reduced"):
        other = robot.forward_dynamics(off, v, np.zeros(3), stabilization=(alpha, beta), method=method)
        np.testing.assert_allclose(other, a, atol=1e-6)


def test_wrenches_reach_the_actuators():
    robot = two_loops()
    q, v = closed_state(robot)
    push = {"plate": kt.Wrench(force=(1, 2, 0), point=(0.1, 0, 0), axes="world")}
    tau = np.where(robot.driven, 0.7, 0.0)
    a = robot.forward_dynamics(q, v, tau, push)
    assert not np.allclose(a, robot.forward_dynamics(q, v, tau))
    for method in ("reduced", "f_matrix", "subsystems"):
        np.testing.assert_allclose(robot.inverse_dynamics(q, v, a, push, method=method), tau, atol=1e-9)


def test_copies_keep_their_choices():
    robot = four_bar().with_independent(["rocker_joint"])
    again = pickle.loads(pickle.dumps(robot))
    assert isinstance(again, kt.Mechanism)
    assert again == robot
    assert again.independent() == ["rocker_joint"]
    assert isinstance(make(robot.model), kt.Mechanism)
    assert type(make(robot.tree.model)) is kt.Robot
    with pytest.raises(kt.ModelError, match=r"has closed loops.*kinetree.Mechanism\(model\).*robot.make\(model\)"):
        kt.Robot(robot.model)
    assert not isinstance(robot.tree, kt.Mechanism)
    assert "1 loop" in repr(robot)


def test_costs_and_c_have_the_loops_closed(tmp_path):
    robot = four_bar()
    assert robot.cost("inverse_dynamics").multiplications > robot.tree.cost("inverse_dynamics").multiplications
    assert robot.cost("mass_matrix") == robot.tree.cost("mass_matrix")
    with pytest.raises(kt.UnsupportedError, match=r"tree\.inverse_mass_matrix"):
        robot.codegen(tmp_path, ["inverse_mass_matrix"])
    exported = robot.codegen(tmp_path)
    assert len(exported.functions) == 2
    assert set(exported.functions) == {"four_bar_closed_inverse_dynamics", "four_bar_closed_forward_dynamics"}
    program = tmp_path / "program"
    compile_c(exported.source, exported.test, "-o", program, "-lm")
    run = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    assert run.stdout.count("ok") == 2


def test_massless_bars_are_allowed_in_a_loop():
    """The tree alone could not move them, the loop carries them along."""
    b = kt.Builder("light", gravity=(0, -9.81, 0))
    z = kt.Revolute("z")
    b.body("crank", "base", z, **rod(1.5, 0.4))
    b.body("rocker", "base", z, position=(-1, 0, 0), actuated=False, **rod(3, 1))
    b.body("coupler", "rocker", z, position=(1, 0, 0), actuated=False)
    b.loop("cut", "crank", "coupler", z, placement=(0.4, 0, 0), seat=(1, 0, 0))
    robot = b.build()
    q, v = closed_state(robot)
    a = robot.forward_dynamics(q, v, np.array([1.0, 0, 0]))
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), [1, 0, 0], atol=1e-9)
