"""Closed loops: numbers that were wrong and promises that were broken, found by somebody who did not trust them."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import THREE_RRR_START, TURN, rod, three_rrr
from kinetree.errors import SingularityWarning
from kinetree.robot.platform.platform import Platform


def parallelogram(driven=("rod0",)):
    """Flat at zero, where it can also become an antiparallelogram."""
    b = kt.Builder("parallelogram", gravity=(0, -9.81, 0))
    b.body("rod0", "base", TURN, actuated="rod0" in driven, **rod(1.0, 1.0))
    b.body("rod1", "base", TURN, position=(2, 0, 0), actuated="rod1" in driven, **rod(1.0, 1.5))
    b.body("coupler", "rod0", TURN, position=(1, 0, 0), actuated=False, **rod(2.0, 2.0))
    b.loop("pin", "coupler", "rod1", TURN, placement=(2, 0, 0), seat=(1, 0, 0))
    return b.build()


def by_least_constraint(robot, q, v, tau):
    """Gauss: of all accelerations with K a = -drift the one nearest to the free one, in the metric of the mass."""
    m, k = robot.tree.mass_matrix(q), robot.loop_jacobian(q)
    root = np.linalg.cholesky(m)
    free = np.linalg.solve(m, tau - robot.tree.bias_force(q, v))
    scaled = np.linalg.solve(root, k.T).T
    off = -robot.loop_drift(q, v) - k @ free
    return free + np.linalg.solve(root.T, np.linalg.pinv(scaled, rcond=1e-9) @ off)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize("method", ["elimination", "block", "reduced"])
def test_forward_dynamics_in_a_singular_configuration(method, backend):
    """It was NaN, or held a direction that rounding chose."""
    robot, v, tau = parallelogram().with_backend(backend), np.array([1.0, 1.0, -1.0]), np.array([3.0, -1.0, 0.5])
    with pytest.warns(SingularityWarning, match="singular configuration of 'parallelogram'"):
        found = robot.forward_dynamics(np.zeros(3), v, tau, method=method)
    np.testing.assert_allclose(found, by_least_constraint(robot, np.zeros(3), v, tau), rtol=0, atol=1e-9)
    batch = np.array([[0.3, 0.3, -0.3], [0.0, 0.0, 0.0], [np.nan, 0.0, 0.0]])
    with pytest.warns(SingularityWarning, match=r"state \(1,\)"):
        three = robot.forward_dynamics(batch, v, tau, method=method)
    np.testing.assert_allclose(three[1], found, rtol=0, atol=1e-9)
    np.testing.assert_allclose(three[0], by_least_constraint(robot, batch[0], v, tau), rtol=0, atol=1e-9)
    assert np.isnan(three[2]).all()


def test_a_velocity_between_the_branches_is_refused():
    robot = parallelogram()
    anti = np.linalg.svd(robot.loop_jacobian(np.zeros(3)))[2][-2:]
    between = anti[0] - (anti[0] @ [1, 1, -1]) / 3 * np.array([1, 1, -1]) + [0.5, 0.5, -0.5]
    assert np.abs(robot.loop_jacobian(np.zeros(3)) @ between).max() < 1e-12
    with pytest.raises(kt.StateError, match="no acceleration keeps them closed"):
        robot.forward_dynamics(np.zeros(3), between, np.zeros(3))


def test_a_constraint_that_vanishes_altogether():
    """Both links and the rod in one line: the only row of K is zero."""
    b = kt.Builder("line", gravity=(0, -9.81, 0))
    b.body("a", "base", TURN, **rod(1.0, 1.0))
    b.body("b", "a", TURN, position=(1, 0, 0), **rod(1.0, 1.0))
    b.loop("rod", "base", "b", kt.Distance(2.5), placement=(-0.5, 0, 0), seat=(1, 0, 0))
    robot = b.build()
    with pytest.warns(SingularityWarning):
        found = robot.forward_dynamics([0, 0], [0, 0], [0, 0])
    np.testing.assert_allclose(found, robot.tree.forward_dynamics([0, 0], [0, 0], [0, 0]), rtol=1e-12)


@pytest.mark.parametrize("method", ["reduced", "f_matrix"])
def test_inverse_dynamics_in_a_singular_configuration(method):
    """NaN without a word for one motor; two motors hold both motions."""
    state = np.zeros(3), np.zeros(3), np.array([1.0, 1.0, -1.0])
    with pytest.raises(kt.SingularError, match="no hold on one of its motions"):
        parallelogram().inverse_dynamics(*state, method=method)
    both = parallelogram(("rod0", "rod1"))
    tau = both.inverse_dynamics(*state, method=method)
    with pytest.warns(SingularityWarning):
        back = both.forward_dynamics(*state[:2], tau)
    np.testing.assert_allclose(back, state[2], atol=1e-10)


def test_projection_leaves_alone_what_the_loops_allow_in_a_singular_configuration():
    robot, v = parallelogram(), np.array([1.0, 1.0, -1.0])
    np.testing.assert_allclose(robot.project(np.zeros(3), v)[1], v, atol=1e-12)
    with pytest.warns(SingularityWarning):
        record = kt.simulate(robot, np.zeros(3), 3 * v, time=0.5)
    assert robot.closure_error(record.q).max() < 1e-9
    energy = robot.kinetic_energy(record.q, record.v) + robot.potential_energy(record.q)
    assert np.abs(energy - energy[0]).max() < 1e-6


def test_mobility_per_unit_force_in_a_singular_configuration():
    robot = parallelogram()
    inverse = robot.inverse_mass_matrix(np.zeros(3))
    basis = np.linalg.svd(robot.loop_jacobian(np.zeros(3)))[2][-2:].T
    expected = basis @ np.linalg.inv(basis.T @ robot.tree.mass_matrix(np.zeros(3)) @ basis) @ basis.T
    np.testing.assert_allclose(inverse, expected, atol=1e-12)


def test_the_rank_is_that_of_closed_loops():
    """Beside closure Bricard's constraints are all independent, and the first state used to decide for good."""
    first, second = kt.gallery.load("bricard"), kt.gallery.load("bricard")
    q = first.close(first.neutral() + np.array([0.1, 0.08, 0.1, -0.1, -0.1]))
    off, zero = q + 1e-3 * np.array([1, -1, 0.5, 1, 0]), np.zeros(5)
    first.forward_dynamics(off, zero, zero, stabilisation=True)
    second.mobility(q)
    assert first.mobility(q).freedoms == 1
    np.testing.assert_allclose(first.forward_dynamics(q, zero, zero), second.forward_dynamics(q, zero, zero), rtol=1e-9)


def arm(loop, **ends):
    b = kt.Builder("arm", gravity=(0, -9.81, 0))
    for i in range(4):
        b.body(f"l{i}", f"l{i - 1}" if i else "base", TURN, position=(1.0 if i else 0.0, 0, 0), **rod(1.0, 1.0))
    b.loop("end", "base", "l3", loop, **ends)
    return b.build()


def test_guesses_that_are_half_a_turn_off():
    """Which way to turn is not decided there; the answer was NaN, or that it cannot be closed."""
    robot = arm(kt.Fixed(), placement=kt.Pose.of((1, 0, 0), rpy=(0, 0, np.pi)), seat=(1, 0, 0))
    closed = robot.close(np.zeros((2, 4)))
    assert robot.closure_error(closed).max() < 1e-10
    with pytest.raises(kt.ClosureError, match=r"3\.14 rad remain"):
        robot.close(np.zeros(4), fixed=["l0_joint", "l1_joint", "l2_joint", "l3_joint"])


def test_a_hinge_guessed_upside_down():
    b = kt.Builder("hinges", gravity=(0, -9.81, 0))
    b.body("l0", "base", kt.Revolute("x"), **rod(1.0, 1.0))
    b.body("l1", "l0", TURN, position=(1, 0, 0), **rod(1.0, 1.0))
    b.body("l2", "l1", kt.Revolute("y"), position=(1, 0, 0), **rod(1.0, 1.0))
    b.body("l3", "l2", kt.Spherical(), position=(1, 0, 0), **rod(1.0, 1.0))
    b.loop("hinge", "base", "l3", TURN, placement=kt.Pose.of((1, 0, 0), rpy=(np.pi, 0, 0)), seat=(1, 0, 0))
    robot = b.build()
    assert robot.closure_error(robot.close(robot.neutral())) < 1e-10


def test_a_rod_guessed_with_both_ends_in_one_place():
    robot = arm(kt.Distance(0.5), placement=(4, 0, 0), seat=(1, 0, 0))
    assert robot.closure_error(robot.close(np.zeros(4))) < 1e-10


def test_a_platform_half_a_turn_from_its_target():
    """It used to say that it was there."""
    platform = Platform(three_rrr(), "centre")
    q = platform.mechanism.close(THREE_RRR_START)
    target = platform.pose(q)
    target[:3, :3] = np.diag([-1.0, -1.0, 1.0]) @ target[:3, :3]
    np.testing.assert_allclose(platform.pose(platform.inverse(target, q)), target, atol=1e-9)


def test_as_many_twists_as_a_twist_has_numbers():
    """Six twists for one configuration were taken for a matrix."""
    platform = Platform(three_rrr(), "centre")
    q = platform.mechanism.close(THREE_RRR_START)
    rates = np.random.default_rng(0).standard_normal((6, 3))
    np.testing.assert_allclose(platform.rates(q, rates @ platform.jacobian(q).T), rates, atol=1e-10)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_single_precision(backend):
    """No configuration could be closed to 1e-10 in float32."""
    exact = three_rrr()
    robot = exact.with_backend(backend).with_precision("single")
    q = robot.close(THREE_RRR_START)
    v = robot.velocities(q, [0.3, -0.2, 0.4])
    a = robot.accelerations(q, v, [1.0, 2.0, -1.0])
    tau = robot.inverse_dynamics(q.astype(np.float32), v.astype(np.float32), a.astype(np.float32))
    assert tau.dtype == np.float32
    np.testing.assert_allclose(tau, exact.inverse_dynamics(q, v, a), rtol=1e-4, atol=1e-3)
    back = robot.forward_dynamics(q, v, tau)
    assert back.dtype == np.float32
    np.testing.assert_allclose(back, a, rtol=1e-3, atol=1e-3)


def test_out_must_fit():
    robot = parallelogram()
    q, zero = np.array([0.3, 0.3, -0.3]), np.zeros(3)
    with pytest.raises(kt.ShapeError, match="out must have shape"):
        robot.forward_dynamics(q, zero, zero, out=np.empty((2, 3)))
    with pytest.raises(kt.ShapeError, match="out must have shape"):
        robot.inverse_dynamics(q, zero, zero, out=np.empty((2, 3)))


def stretched(angle, driven=(True, True)):
    """Two links and a rod in one line, which the computer finds nearly so: the only row of K is rounding errors."""
    b = kt.Builder("line", gravity=(0, -9.81, 0))
    b.body("a", "base", TURN, actuated=driven[0], **rod(1.0, 1.0))
    b.body("b", "a", TURN, position=(1, 0, 0), actuated=driven[1], **rod(1.0, 1.0))
    foot = (-0.5 * np.cos(angle), -0.5 * np.sin(angle), 0)
    b.loop("rod", "base", "b", kt.Distance(2.5), placement=foot, seat=(1, 0, 0))
    return b.build(), np.array([angle, 0.0]), np.zeros(2)


@pytest.mark.parametrize("method", ["elimination", "block", "reduced"])
def test_constraints_made_of_rounding_errors_hold_nothing(method):
    robot, q, zero = stretched(0.7000000000000001)
    assert 0.0 < np.abs(robot.loop_jacobian(q)).max() < 1e-15
    assert robot.mobility(q).singular
    with pytest.warns(SingularityWarning):
        found = robot.forward_dynamics(q, zero, zero, method=method)
    np.testing.assert_allclose(found, robot.tree.forward_dynamics(q, zero, zero), rtol=1e-9)


@pytest.mark.parametrize("method", ["reduced", "f_matrix", "subsystems"])
def test_constraints_made_of_rounding_errors_carry_nothing(method):
    robot, q, zero = stretched(0.7000000000000001)
    found = robot.inverse_dynamics(q, zero, [1.0, 2.0], method=method)
    np.testing.assert_allclose(found, robot.tree.inverse_dynamics(q, zero, [1.0, 2.0]), rtol=1e-9)
    lame, q, zero = stretched(0.7000000000000001, (True, False))
    with pytest.raises(kt.SingularError, match="no hold"):
        lame.inverse_dynamics(q, zero, [1.0, 2.0], method=method)


@pytest.mark.parametrize("method", ["reduced", "f_matrix", "subsystems"])
def test_motors_that_cannot_move_do_not_hold_what_can(method):
    """As many motors as freedoms, but all on joints that the loops lock: torques were made of rounding errors."""
    tilt = kt.Pose.of((0.2, 0.1, 0), rpy=(0.3, 0.2, 0.1))
    slanted = kt.Revolute((0.2, -0.5, 0.7))
    b = kt.Builder("locked", gravity=(0, -9.81, 0))
    b.body("swing", "base", slanted, placement=tilt, actuated=False, **rod(1.0, 1.0))
    b.body("held", "swing", slanted, placement=tilt, **rod(1.0, 1.0))
    b.body("bob", "base", slanted, placement=tilt, actuated=False, **rod(1.0, 1.0))
    b.loop("weld", "swing", "held", kt.Fixed(), placement=tilt)
    b.loop("rod", "held", "bob", kt.Distance(0.5), placement=(0.3, 0, 0.1), seat=(1, 0, 0))
    robot = b.build()
    q = robot.close([0.1, 0.0, 0.3])
    assert robot.mobility(q).locked == ("held_joint",)
    with pytest.raises(kt.SingularError):
        robot.inverse_dynamics(q, np.zeros(3), np.zeros(3), method=method, tolerance=np.inf)


FIXED = {
    "a single name": ("rod0_joint", kt.OptionError, r"write \['rod0_joint'\]"),
    "batches that do not fit": ({"rod0_joint": [0.1, 0.2, 0.3]}, kt.ShapeError, "the position of 'rod0_joint'"),
    "text": ({"rod0_joint": "up"}, kt.ShapeError, "the position of 'rod0_joint'"),
    "too many numbers": ({"rod0_joint": np.zeros((2, 3))}, kt.ShapeError, "batches do not fit"),
}


@pytest.mark.parametrize(("fixed", "error", "says"), FIXED.values(), ids=FIXED)
def test_bad_positions_of_fixed_joints(fixed, error, says):
    with pytest.raises(error, match=says):
        parallelogram().close(np.full((2, 3), 0.1) * [1, 1, -1], fixed=fixed)


def test_followers_are_not_held():
    """They follow their leader: holding them did nothing, and positions given to them were lost."""
    b = kt.Builder("geared", gravity=(0, -9.81, 0))
    b.body("a", "base", TURN, **rod(0.5, 1.0))
    b.body("b", "a", TURN, position=(0.5, 0, 0), actuated=False, **rod(0.6, 1.0))
    b.body("c", "base", TURN, position=(1, 0, 0), mimic=kt.Mimic("a_joint", -0.7, 0.2), **rod(0.5, 1.0))
    b.body("d", "c", TURN, position=(0.5, 0, 0), actuated=False, **rod(0.7, 1.0))
    b.loop("pin", "b", "d", TURN, placement=(0.6, 0, 0), seat=(0.7, 0, 0))
    robot = b.build()
    q = robot.close([1.8, -0.9, 1.0])
    for fixed in (["c_joint"], {"c_joint": 0.3}):
        with pytest.raises(kt.OptionError, match="mimics 'a_joint'"):
            robot.close(q, fixed=fixed)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, np.nan])
def test_tolerances_that_nothing_meets(tolerance):
    robot, q = parallelogram(), np.array([0.3, 0.3, -0.3])
    with pytest.raises(kt.OptionError, match="tolerance must"):
        robot.close(q, tolerance=tolerance)
    if tolerance != 0.0:
        with pytest.raises(kt.OptionError, match="tolerance must"):
            robot.forward_dynamics(q, np.zeros(3), np.zeros(3), tolerance=tolerance)


def test_nothing_is_said_about_no_configuration():
    """NaN came first: the mechanism was thought to have no constraints."""
    nan, zero = np.full(3, np.nan), np.zeros(3)
    assert np.isnan(parallelogram().inverse_dynamics(nan, zero, zero)[0])
    assert np.isnan(parallelogram().forward_dynamics(nan, zero, zero)).all()
    assert np.isnan(parallelogram().velocities(nan, [1.0])[1:]).all()
    assert parallelogram().velocities(np.zeros((0, 3)), [1.0]).shape == (0, 3)
    with pytest.raises(kt.StateError, match="NaN"):
        parallelogram().mobility(nan)


def test_weights_are_the_same_for_all_states():
    q, zero = np.array([0.3, 0.3, -0.3]), np.zeros(3)
    for weights, error in ((np.ones((2, 3)), kt.ShapeError), ([np.inf, 1, 1], kt.OptionError)):
        with pytest.raises(error, match="weights must"):
            parallelogram().inverse_dynamics(q, zero, zero, weights=weights)


@pytest.mark.parametrize("method", ["elimination", "block", "reduced"])
def test_a_motion_without_inertia(method):
    b = kt.Builder("wires", gravity=(0, -9.81, 0))
    b.body("rod0", "base", TURN)
    b.body("rod1", "base", TURN, position=(2, 0, 0), actuated=False)
    b.body("coupler", "rod0", TURN, position=(1, 0, 0), actuated=False)
    b.loop("pin", "coupler", "rod1", TURN, placement=(2, 0, 0), seat=(1, 0, 0))
    with pytest.raises(kt.SingularError, match="nothing has inertia"):
        b.build().forward_dynamics([0.3, 0.3, -0.3], np.zeros(3), np.zeros(3), method=method)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4", "dopri5"])
@pytest.mark.parametrize("name", ["four-bar", "bricard"])
def test_loops_stay_closed_however_long_the_steps(name, integrator):
    """One Newton step per time step left loops open by centimetres, with velocities that tear them, and no word."""
    robot = kt.gallery.load(name).with_backend("compiled")
    q = robot.assembled(1)
    v = robot.project(q, 3 * np.random.default_rng(0).standard_normal(robot.nv))[1]
    record = kt.simulate(robot, q, v, time=0.2, integrator=integrator, step=0.02)
    assert robot.closure_error(record.q).max() < 1e-12
    torn = np.linalg.norm((robot.loop_jacobian(record.q) @ record.v[..., None])[..., 0], axis=-1)
    assert (torn / (1 + np.linalg.norm(record.v, axis=-1))).max() < 1e-6


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_wrenches_at_a_cut_joint(backend):
    """Its name was understood by some methods and unknown to others."""
    robot = parallelogram().with_backend(backend)
    rng = np.random.default_rng(3)
    q, v = np.array([0.3, 0.3, -0.3]), np.array([1.0, 1.0, -1.0])
    tau, a = rng.standard_normal(3), robot.accelerations(q, v, [0.7])
    six, force = rng.standard_normal(6), rng.standard_normal(3)
    for push, work in (
        (six, robot.jacobian(q, "pin", "body").T @ six),
        (kt.Wrench(force, axes="world"), robot.jacobian(q, "pin", "aligned")[3:].T @ force),
    ):
        for method in ("elimination", "block", "reduced"):
            found = robot.forward_dynamics(q, v, tau, {"pin": push}, method=method)
            np.testing.assert_allclose(found, robot.forward_dynamics(q, v, tau + work), atol=1e-11)
        motion = np.array([1.0, 1.0, -1.0])  # that all its rods make together
        expected = robot.inverse_dynamics(q, v, a)[0] - motion @ work
        for options in ({}, {"friction": True}, {"weights": np.ones(3)}, {"method": "f_matrix"}):
            assert abs(robot.inverse_dynamics(q, v, a, {"pin": push}, **options)[0] - expected) < 1e-11
        assert abs(robot.constraint_forces(q, v, a, {"pin": push}).tau[0] - expected) < 1e-11
        bias = robot.reduced_bias_force(q, v) - motion @ work
        np.testing.assert_allclose(robot.reduced_bias_force(q, v, {"pin": push}), bias, atol=1e-11)
    assert robot.tree.frame("pin") == robot.frame("pin")
