"""Motions of closed loops through configurations in which these lose a constraint."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from kinetree.simulation import control
from kinetree.simulation.crossing import STATES, agree, smooth_path, time_to_zero, way_over

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
    with pytest.raises(kt.SimulationError, match="change point") as caught:
        kt.simulate(robot, start, time=0.8, controller=kick, output=2, works=False, progress=False)
    assert caught.value.time == pytest.approx(0.7641, abs=1e-3)


def test_the_time_to_a_change_point():
    assert time_to_zero(distance, motion(1.0), np.array([np.cos(1.0), 1.0]), 0.016, 1e-3) == pytest.approx(0.016)
    assert time_to_zero(distance, motion(1.1), np.array([np.cos(1.1), 1.0]), 0.084, 1e-3) == np.inf


# ------------------------------------------------------------------ both branches of a parallelogram, in closed form

CRANK, GROUND = 0.5, 1.3


def parallelogram(gravity):
    b = kt.Builder("parallelogram", gravity=gravity)
    b.body("crank", "base", kt.Revolute("y"), mass=1.0, com=(0.2, 0, 0), inertia=np.diag([0.01, 0.03, 0.03]))
    b.body("coupler", "crank", kt.Revolute("y"), position=(CRANK, 0, 0), mass=2.0, com=(0.5, 0, 0),
           inertia=np.diag([0.01, 0.2, 0.2]))  # fmt: skip
    b.body("rocker", "base", kt.Revolute("y"), position=(GROUND, 0, 0), mass=1.5, com=(0.25, 0, 0),
           inertia=np.diag([0.01, 0.05, 0.05]))  # fmt: skip
    b.loop("pin", "coupler", "rocker", kt.Revolute("y"), placement=(GROUND, 0, 0), seat=(CRANK, 0, 0))
    return b.build().with_backend("compiled")


def coordinates(a, crossed):
    """q of a crank angle, with first and second derivatives; crossed links: tan(rocker / 2) = k tan(crank / 2)."""
    if not crossed:
        return np.array([a, -a, a]), np.array([1.0, -1.0, 1.0]), np.zeros(3)
    k, s, c = -(GROUND + CRANK) / (GROUND - CRANK), np.sin(0.5 * a), np.cos(0.5 * a)
    n = c * c + k * k * s * s
    r, r1, r2 = 2.0 * np.arctan2(k * s, c), k / n, -k * (k * k - 1.0) * s * c / n**2
    x, y = closing(a, r)
    x1, y1 = CRANK * (np.sin(a) - np.sin(r) * r1), CRANK * (np.cos(r) * r1 - np.cos(a))
    x2 = CRANK * (np.cos(a) - np.cos(r) * r1**2 - np.sin(r) * r2)
    y2 = CRANK * (np.sin(a) - np.sin(r) * r1**2 + np.cos(r) * r2)
    first, second = (x * y1 - y * x1) / GROUND**2, (x * y2 - y * x2) / GROUND**2
    return np.array([a, np.arctan2(y, x) - a, r]), np.array([1.0, first - 1.0, r1]), np.array([0.0, second, r2])


def closing(a, r):
    """From the crank's pin to the rocker's."""
    return GROUND + CRANK * (np.cos(r) - np.cos(a)), CRANK * (np.sin(r) - np.sin(a))


@pytest.mark.parametrize("crossed", [False, True])
@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (0.0, 0.0, 0.0)])
@pytest.mark.parametrize(
    ("integrator", "rtol", "error"),
    [
        ("dop853", 1e-8, 1e-6),
        ("dop853", 1e-11, 1e-7),
        ("radau", 1e-8, 1e-6),
        ("radau", 1e-5, 1e-3),
        ("rk45", 1e-6, 1e-3),
    ],
)
def test_a_parallelogram_stays_on_its_branch(crossed, gravity, integrator, rtol, error):
    """Turning links pass their change points again and again; rounding must not decide where they go on."""
    robot, times = parallelogram(gravity), np.linspace(0.0, 1.2, 61)
    tree = robot.tree

    def rate(t, y):
        q, g, bend = coordinates(y[0], crossed)
        mass, bias = tree.mass_matrix(q), tree.bias_force(q, g * y[1])
        return [y[1], -(g @ (bias + mass @ bend * y[1] ** 2)) / (g @ mass @ g)]

    q0, g, _ = coordinates(0.9, crossed)
    found = solve_ivp(rate, (0.0, times[-1]), [0.9, -8.0], method="DOP853", t_eval=times, rtol=1e-12, atol=1e-13)
    q = np.array([coordinates(a, crossed)[0] for a in found.y[0]])
    v = np.array([coordinates(a, crossed)[1] * w for a, w in found.y.T])
    record = kt.simulate(
        robot, q0, -8.0 * g, time=1.2, integrator=integrator, rtol=rtol, atol=0.01 * rtol, output=times, progress=False
    )
    assert np.ptp(np.sign(np.sin(q[:, 0]))) == 2.0  # it does pass them
    assert np.abs(np.angle(np.exp(1j * (record.q - q)))).max() < error
    np.testing.assert_allclose(record.v, v, atol=50 * error)
    assert robot.closure_error(record.q).max() < 1e-12
    assert record.energy.relative_error < error


def test_a_way_that_is_not_known_ends_the_run():
    """A motor that is switched on in the change point hides the way: an error, and not a run that loses its energy."""
    robot = parallelogram((0.0, 0.0, 0.0))
    q0, g, _ = coordinates(0.9, True)
    kick = control.Law(lambda t, q, v: [kt.where(t > 0.391073, 60.0, 0.0), 0.0, 0.0])
    with pytest.raises(kt.SimulationError, match="change point") as caught:
        kt.simulate(robot, q0, 4.0 * g, time=0.45, controller=kick, progress=False)
    assert caught.value.time == pytest.approx(0.391073, abs=1e-5)
    assert caught.value.record.energy.relative_error < 1e-6
