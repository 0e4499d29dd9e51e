"""Motions of closed loops through configurations in which these lose a constraint."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from kinetree.simulation import control
from kinetree.simulation.crossing import STATES, agree, smooth_path, way_over

ACTIVE = [0, 1, 3, 4, 5, 6]


def sr400():
    return kt.gallery.load("sr400").with_backend("compiled"), kt.gallery.start("sr400")


def without_loops(robot, start, times):
    """The parallelogram as what it is, t3 = pi/2 - t2 + t7 and t8 = t2 - t7: no constraint, no change point."""
    g = np.zeros((8, 6))
    g[ACTIVE, range(6)] = 1.0
    g[2, [1, 5]], g[7, [1, 5]] = (-1.0, 1.0), (1.0, -1.0)
    tree = robot.tree

    def rate(t, y):
        q, v = start + g @ y[:6], g @ y[6:]
        return np.concatenate([y[6:], np.linalg.solve(g.T @ tree.mass_matrix(q) @ g, -g.T @ tree.bias_force(q, v))])

    found = solve_ivp(rate, (0.0, times[-1]), np.zeros(12), method="DOP853", t_eval=times, rtol=1e-11, atol=1e-13)
    return start + found.y[:6].T @ g.T, found.y[6:].T @ g.T


@pytest.mark.parametrize(
    ("integrator", "rtol", "atol", "error"),
    [
        ("radau", 1e-8, 1e-10, 1e-7),
        ("dop853", 1e-8, 1e-10, 1e-7),
        ("dop853", 1e-10, 1e-12, 1e-8),
        ("rk45", 1e-8, 1e-10, 1e-6),
    ],
)
def test_a_falling_arm_goes_through_its_change_point(integrator, rtol, atol, error):
    """Let go, the SR400 stretches its parallelogram out at 0.764 s, where no independent joints are to be had."""
    robot, start = sr400()
    # denser about the change point, which lies within a step of interpolation
    times = np.unique(np.concatenate([np.linspace(0.0, 1.0, 21), np.linspace(0.755, 0.775, 21)]))
    record = kt.simulate(
        robot, start, time=1.0, integrator=integrator, rtol=rtol, atol=atol, output=times, works=False, progress=False
    )
    q, v = without_loops(robot, start, times)
    stretched = q[:, 7]
    assert stretched[0] > 1.0
    assert stretched[-1] < -0.1
    np.testing.assert_allclose(record.q, q, atol=error)
    np.testing.assert_allclose(record.v, v, atol=50 * error)
    assert robot.closure_error(record.q).max() < 1e-12
    energy = robot.kinetic_energy(record.q, record.v) + robot.potential_energy(record.q)
    assert np.ptp(energy) < 1e-5


def test_all_minors_vanish_at_the_change_point():
    """Why other independent joints do not help: K loses its rank, whichever of its columns are looked at."""
    robot, start = sr400()
    q = start.copy()
    q[[1, 6]] = 0.3
    q[[2, 7]] = np.pi / 2.0, 0.0  # t3 = pi/2 - t2 + t7, t8 = t2 - t7
    assert robot.closure_error(q) < 1e-12
    sizes = np.linalg.svd(robot.loop_jacobian(q), compute_uv=False)
    assert sizes[1] < 1e-12 * sizes[0]
    assert robot.mobility(q).singular


# ------------------------------------------------------------------ the way over


def past_of(motion, step=0.01, count=STATES, end=1.0):
    times = end - step * np.arange(count)[::-1]
    return [(float(t), motion(t)) for t in times]


def motion(t):
    return np.stack([np.sin(np.asarray(t)), np.asarray(t) - 1.016], axis=-1)


def distance(y):
    return abs(float(y[1]))


def test_the_way_over_is_the_motion_itself():
    found = way_over(past_of(motion), 0.01, 9.0, distance, lambda y: np.full(2, 1e-9))
    assert found is not None
    t, path = found
    assert t == pytest.approx(1.04)  # 1.03 is not yet as far behind as 1.0 was before
    for at in (1.0, 1.013, t):
        np.testing.assert_allclose(path(np.array(at)), motion(at), atol=1e-11)
    assert path(np.array([1.0, 1.01, 1.02])).shape == (3, 2)


def test_no_way_over_where_it_is_not_known():
    exact = {"regularity": distance, "allowed": lambda y: np.full(2, 1e-9)}
    assert way_over(past_of(motion)[1:], 0.01, 9.0, **exact) is None  # too few states
    rough = np.random.default_rng(0)
    noisy = past_of(lambda t: motion(t) + 1e-6 * rough.standard_normal(2))
    assert way_over(noisy, 0.01, 9.0, **exact) is None
    # the other side is never reached
    assert way_over(past_of(motion), 0.01, 9.0, lambda y: -float(y[1]), exact["allowed"]) is None
    # a run that ends on the way ends there
    found = way_over(past_of(motion), 0.01, 1.012, **exact)
    assert found is not None
    assert found[0] == 1.012


def test_a_path_goes_through_its_states():
    past = past_of(motion)
    path = smooth_path(past)
    for t, y in past:
        np.testing.assert_allclose(path(np.array(t)), y, atol=1e-14)


def test_forces_that_begin_on_the_way_are_noticed():
    path = smooth_path(past_of(motion))
    there = np.array([np.cos(1.04), 1.0])
    assert agree(path, 1.04, 5e-4, there)
    assert not agree(path, 1.04, 5e-4, there + np.array([0.0, 1e-3]))


def test_a_motor_switched_on_in_the_change_point_is_not_passed_over():
    """The way over would leave its torque out; the run says instead that the loops are the reason for its end."""
    robot, start = sr400()
    kick = control.Law(lambda t, q, v: [0.0, kt.where(t > 0.7642, 400.0, 0.0), *[0.0] * 6])
    with pytest.warns(kt.SingularityWarning), pytest.raises(kt.SimulationError, match="change point") as caught:
        kt.simulate(robot, start, time=0.8, controller=kick, output=2, works=False, progress=False)
    assert caught.value.time == pytest.approx(0.7641, abs=1e-3)
