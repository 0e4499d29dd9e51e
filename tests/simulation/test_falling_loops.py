"""Several loops in free fall: the motion does not depend on which freedoms are called independent.

The six strokes of a platform do not determine its pose everywhere, while its loops are regular.  Every way of holding
them, and every integrator, must go through such places with the accuracy that it has elsewhere.
"""

import numpy as np
import pytest

import kinetree as kt

STROKES = [f"stroke_{i}" for i in range(1, 7)]


def _platform(seed):
    robot = kt.load("stewart-platform").with_backend("compiled")
    q = robot.close(kt.gallery.motion("stewart-platform").states(0.0)[0], fixed=STROKES)
    strokes = np.random.default_rng(seed).normal(size=6) * 3
    return robot, q, robot.velocities(q, dict(zip(STROKES, strokes, strict=True)))


def _fall(robot, q, v, time=1.0, **options):
    return kt.simulate(robot, q, v, time=time, samples=2, friction=False, works=False, **options)


@pytest.mark.thorough
def test_projection_is_as_accurate_as_letting_go():
    robot, q, v = _platform(3)
    step = {"integrator": "rk4", "step": 5e-4}
    for drift in ("projection", "none"):
        energy = _fall(robot, q, v, drift=drift, **step).energy.mechanical
        assert abs(energy[-1] - energy[0]) < 2e-5
    ends = [_fall(robot, q, v, drift=drift, **step).q[-1] for drift in ("projection", "none")]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)


@pytest.mark.parametrize(("system", "time", "step"), [("stewart-platform", 0.4, 1e-3), ("3-rrr", 0.4, 2e-3)])
def test_rk4_keeps_its_order(system, time, step):
    robot, q, v = _platform(3) if system == "stewart-platform" else _rrr()
    exact = _fall(robot, q, v, time, rtol=1e-12, atol=1e-13)
    errors = []
    for h in (step, step / 2):
        record = _fall(robot, q, v, time, integrator="rk4", step=h)
        errors.append(max(np.abs(record.q[-1] - exact.q[-1]).max(), np.abs(record.v[-1] - exact.v[-1]).max()))
    assert 12.0 < errors[0] / errors[1] < 22.0, errors


def _rrr():
    robot = kt.load("3-rrr").with_backend("compiled")
    q = robot.close(kt.gallery.motion("3-rrr").states(0.0)[0])
    return robot, q, robot.project(q, np.random.default_rng(0).normal(size=robot.nv) * 5.0)[1]


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-8, 1e-10])
def test_every_fall_of_a_platform_comes_to_its_end(tolerance):
    for seed in range(16):
        energy = _fall(*_platform(seed), rtol=tolerance, atol=tolerance).energy.mechanical
        assert abs(energy[-1] - energy[0]) < 2e3 * tolerance


def test_accelerations_by_clusters_say_where_they_lose_digits():
    """Freedoms that hardly determine the others leave the prepared way, long before its results are wrong."""
    robot, q, v = _platform(3)
    record = kt.simulate(robot, q, v, time=1.0, samples=200, friction=False, works=False, drift="none",
                         integrator="rk4", step=5e-4)  # fmt: skip
    q, v = robot.project(record.q, record.v)
    found = robot.forward_dynamics(q, v, np.zeros(robot.nv))
    rows = list(robot.coordinates.rows)
    m, h = robot.tree.mass_matrix(q), robot.tree.bias_force(q, v)
    k, bias = robot.loop_jacobian(q)[:, rows], robot.loop_drift(q, v)[:, rows]
    n = robot.nv
    whole = np.zeros((len(q), n + len(rows), n + len(rows)))
    whole[:, :n, :n], whole[:, :n, n:], whole[:, n:, :n] = m, np.swapaxes(k, 1, 2), k
    a = np.linalg.solve(whole, -np.concatenate([h, bias], axis=1)[..., None])[:, :n, 0]
    assert np.abs(found - a).max() < 1e-9 * np.abs(a).max()
