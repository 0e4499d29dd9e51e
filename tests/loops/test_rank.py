"""Closed loops in singular configurations: what is determined is computed, what is not is refused."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import TURN, rod, two_way_parallelogram
from kinetree.errors import SingularityWarning


def by_least_constraint(robot, q, v, tau):
    """Gauss: of all accelerations with K a = -drift the one nearest to the free one, in the metric of the mass."""
    m, k = robot.tree.mass_matrix(q), robot.loop_jacobian(q)
    root = np.linalg.cholesky(m)
    free = np.linalg.solve(m, tau - robot.tree.bias_force(q, v))
    scaled = np.linalg.solve(root, k.T).T
    off = -robot.loop_drift(q, v) - k @ free
    return free + np.linalg.solve(root.T, np.linalg.pinv(scaled, rcond=1e-9) @ off)


def stretched(angle, driven=(True, True)):
    """Two links and a rod in one line, which the computer finds nearly so: the only row of K is rounding errors."""
    b = kt.Builder("line", gravity=(0, -9.81, 0))
    b.body("a", "base", TURN, actuated=driven[0], **rod(1.0, 1.0))
    b.body("b", "a", TURN, position=(1, 0, 0), actuated=driven[1], **rod(1.0, 1.0))
    foot = (-0.5 * np.cos(angle), -0.5 * np.sin(angle), 0)
    b.loop("rod", "base", "b", kt.Distance(2.5), placement=foot, seat=(1, 0, 0))
    return b.build(), np.array([angle, 0.0]), np.zeros(2)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize("method", ["elimination", "block", "reduced", "handles"])
def test_forward_dynamics_in_a_singular_configuration(method, backend):
    """It was NaN, or held a direction that rounding chose."""
    robot, v, tau = (
        two_way_parallelogram().with_backend(backend),
        np.array([1.0, 1.0, -1.0]),
        np.array([3.0, -1.0, 0.5]),
    )
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
    robot = two_way_parallelogram()
    anti = np.linalg.svd(robot.loop_jacobian(np.zeros(3)))[2][-2:]
    between = anti[0] - (anti[0] @ [1, 1, -1]) / 3 * np.array([1, 1, -1]) + [0.5, 0.5, -0.5]
    assert np.abs(robot.loop_jacobian(np.zeros(3)) @ between).max() < 1e-12
    with pytest.raises(kt.StateError, match="no acceleration keeps them closed"):
        robot.forward_dynamics(np.zeros(3), between, np.zeros(3))


@pytest.mark.parametrize("method", ["elimination", "handles"])
def test_a_constraint_that_vanishes_altogether(method):
    """Both links and the rod in one line: the only row of K is zero."""
    b = kt.Builder("line", gravity=(0, -9.81, 0))
    b.body("a", "base", TURN, **rod(1.0, 1.0))
    b.body("b", "a", TURN, position=(1, 0, 0), **rod(1.0, 1.0))
    b.loop("rod", "base", "b", kt.Distance(2.5), placement=(-0.5, 0, 0), seat=(1, 0, 0))
    robot = b.build()
    with pytest.warns(SingularityWarning):
        found = robot.forward_dynamics([0, 0], [0, 0], [0, 0], method=method)
    np.testing.assert_allclose(found, robot.tree.forward_dynamics([0, 0], [0, 0], [0, 0]), rtol=1e-12)


@pytest.mark.parametrize("method", ["reduced", "f_matrix"])
def test_inverse_dynamics_in_a_singular_configuration(method):
    """NaN without a word for one motor; two motors hold both motions."""
    state = np.zeros(3), np.zeros(3), np.array([1.0, 1.0, -1.0])
    with pytest.raises(kt.SingularError, match="do not control one of its motions"):
        two_way_parallelogram().inverse_dynamics(*state, method=method)
    both = two_way_parallelogram(("rod0", "rod1"))
    tau = both.inverse_dynamics(*state, method=method)
    with pytest.warns(SingularityWarning):
        back = both.forward_dynamics(*state[:2], tau)
    np.testing.assert_allclose(back, state[2], atol=1e-10)


def test_projection_leaves_alone_what_the_loops_allow_in_a_singular_configuration():
    robot, v = two_way_parallelogram(), np.array([1.0, 1.0, -1.0])
    np.testing.assert_allclose(robot.project(np.zeros(3), v)[1], v, atol=1e-12)
    with pytest.warns(SingularityWarning):
        record = kt.simulate(robot, np.zeros(3), 3 * v, time=0.5)
    assert robot.closure_error(record.q).max() < 1e-9
    energy = robot.kinetic_energy(record.q, record.v) + robot.potential_energy(record.q)
    assert np.abs(energy - energy[0]).max() < 1e-6


def test_mobility_per_unit_force_in_a_singular_configuration():
    robot = two_way_parallelogram()
    inverse = robot.inverse_mass_matrix(np.zeros(3))
    basis = np.linalg.svd(robot.loop_jacobian(np.zeros(3)))[2][-2:].T
    expected = basis @ np.linalg.inv(basis.T @ robot.tree.mass_matrix(np.zeros(3)) @ basis) @ basis.T
    np.testing.assert_allclose(inverse, expected, atol=1e-12)


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
    with pytest.raises(kt.SingularError, match="do not control"):
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


@pytest.mark.parametrize("method", ["elimination", "block", "reduced"])
def test_a_motion_without_inertia(method):
    b = kt.Builder("wires", gravity=(0, -9.81, 0))
    b.body("rod0", "base", TURN)
    b.body("rod1", "base", TURN, position=(2, 0, 0), actuated=False)
    b.body("coupler", "rod0", TURN, position=(1, 0, 0), actuated=False)
    b.loop("pin", "coupler", "rod1", TURN, placement=(2, 0, 0), seat=(1, 0, 0))
    with pytest.raises(kt.SingularError, match="nothing has inertia"):
        b.build().forward_dynamics([0.3, 0.3, -0.3], np.zeros(3), np.zeros(3), method=method)
