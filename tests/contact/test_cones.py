"""Friction cones: the conditions themselves on random problems, plain sweeps and a convex program as judges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetree as kt
from kinetree.contact.complementarity import NoSolutionError, solve
from kinetree.contact.cones import Cones, NotConverged, coulomb, solve_cones, violation


def check(c, d, mu, force, pressure=0.0, sliding=None, tolerance=1e-9):
    """Signorini's and Coulomb's conditions one by one, not through the code that is judged."""
    f, w = np.reshape(force, (-1, 3)), np.reshape(c @ np.ravel(force) + d, (-1, 3))
    size, push = np.abs(d).max(), max(np.abs(f).max(), 1e-300)
    limit, held = mu * (f[:, 0] + pressure), np.linalg.norm(f[:, 1:], axis=1)
    speed, power = np.linalg.norm(w[:, 1:], axis=1), np.einsum("ki,ki->k", f[:, 1:], w[:, 1:])
    assert f[:, 0].min() >= 0.0  # nothing pulls
    assert w[:, 0].min() >= -tolerance * size  # nothing enters
    assert np.abs(f[:, 0] * w[:, 0]).max() <= tolerance * size * push
    at_rest = np.full(len(f), True) if sliding is None else np.isnan(sliding[:, 0])
    assert np.all(held <= limit * (1 + 1e-12) + 1e-14 * push)  # within the cone
    # of all forces within the limit, the one that takes most from the sliding
    assert np.all(np.abs(power + limit * speed)[at_rest] <= tolerance * size * push)
    if sliding is not None:
        assert np.allclose(f[~at_rest, 1:], -(mu * f[:, 0])[~at_rest, None] * sliding[~at_rest], atol=1e-12 * push)


def sweeps(c, d, mu, pressure, most=4000):
    """A judge that shares nothing with the solver: one contact after the other until nothing changes."""
    f = np.zeros((len(mu), 3))
    for _ in range(most):
        before = f.copy()
        for k, m in enumerate(mu):
            b = slice(3 * k, 3 * k + 3)
            f[k, 0] = max(0.0, f[k, 0] - (c[b][0] @ f.ravel() + d[3 * k]) / c[3 * k, 3 * k])
            t = f[k, 1:] - (c[b][1:] @ f.ravel() + d[b][1:]) / np.linalg.eigvalsh(c[b, b][1:, 1:])[-1]
            radius, size = m * (f[k, 0] + pressure[k]), np.linalg.norm(t)
            f[k, 1:] = t if size <= radius else t * radius / size
        if np.abs(f - before).max() <= 1e-13 * max(np.abs(f).max(), 1e-300):
            return f
    return None


def body(rng, n):
    """n spots under a free body, the rows (3n, 6) of their velocities by its own, and the inverse of its inertia."""
    return spotted(rng.uniform(-1, 1, (n, 3)) * [0.5, 0.3, 0.0] - [0, 0, 0.2])


def spotted(points):
    n = len(points)
    rows = np.zeros((n, 3, 6))
    for k, p in enumerate(points):
        cross = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
        world = np.hstack([-cross, np.eye(3)])
        rows[k] = world[[2, 0, 1]]
    inverse = np.diag(1.0 / np.array([0.1, 0.2, 0.25, 2.0, 2.0, 2.0]))
    return rows.reshape(3 * n, 6), inverse


# ------------------------------------------------------------------ the law


@given(seed=st.integers(0, 10**6))
@settings(max_examples=50)
def test_slopes_are_those_of_the_law(seed):
    rng = np.random.default_rng(seed)
    n = 6
    sliding = np.where(rng.random((n, 1)) < 0.3, rng.normal(size=(n, 2)), np.nan)
    sliding /= np.linalg.norm(sliding, axis=1, keepdims=True)
    cones = Cones.of(rng.uniform(0, 1.5, n) * (rng.random(n) < 0.8), sliding, rng.uniform(0, 1, n) * rng.integers(0, 2))
    x, h = rng.normal(size=(n, 3)), 1e-7
    _, slope = coulomb(x, cones)
    for i in range(3):
        step = h * np.eye(3)[i]
        measured = (coulomb(x + step, cones)[0] - coulomb(x - step, cones)[0]) / (2 * h)
        assert np.allclose(slope[:, :, i], measured, atol=1e-6)


def test_the_law_is_the_nearest_force_within_the_limit():
    """With the normal force known, friction is the point of the circle nearest to the trial force."""
    cones = Cones.of([0.5, 0.5, 0.5, 0.0])
    force, _ = coulomb(np.array([[2.0, 0.3, 0.4], [2.0, 3.0, 4.0], [-1.0, 3.0, 4.0], [2.0, 1.0, 1.0]]), cones)
    assert np.allclose(force, [[2.0, 0.3, 0.4], [2.0, 0.6, 0.8], [0, 0, 0], [2.0, 0, 0]])


# ------------------------------------------------------------------ the conditions


@given(
    seed=st.integers(0, 10**6), n=st.integers(1, 6), redundant=st.booleans(), rough=st.floats(0.05, 1.0),
    pressed=st.booleans(),
)  # fmt: skip
@settings(max_examples=80)
def test_conditions_hold_on_random_problems(seed, n, redundant, rough, pressed):
    """Jacobians at random, independent or redundant, offsets that they can reach: there is always a solution."""
    rng = np.random.default_rng(seed)
    if redundant:
        rows, inverse = body(rng, n)
        free = rng.normal(size=6) * [3, 3, 3, 9, 9, 3] - [0, 0, 0, 0, 0, 9.81]
        c, d = rows @ inverse @ rows.T, rows @ free
    else:
        rows = rng.normal(size=(3 * n, 3 * n + 2))
        c, d = rows @ rows.T + 0.1 * np.eye(3 * n), rng.normal(size=3 * n)
        d[::3] -= 1.0
    mu = rough * rng.uniform(0.2, 1.0, n)
    pressure = rng.uniform(0, 5.0, n) if pressed else np.zeros(n)
    found = solve_cones(c, d, mu, given=pressure)
    check(c, d, mu, found.force, pressure)
    assert violation(c, d, Cones.of(mu, None, pressure), found.force) <= 1e-10 * np.abs(d).max()


def test_sticks_slides_and_opens_as_plain_sweeps_do():
    """Independent contacts with moderate friction have one solution; sweeps find it too, slowly."""
    rng = np.random.default_rng(6)
    seen = {"stick": 0, "slide": 0, "open": 0}
    for _ in range(30):
        n = 3
        rows = rng.normal(size=(3 * n, 12))
        c, d = rows @ rows.T + np.eye(3 * n), rng.normal(size=3 * n) * 2
        d[::3] -= 1.0
        mu, pressure = rng.uniform(0.2, 0.9, n), rng.uniform(0, 0.3, n) * rng.integers(0, 2)
        judge = sweeps(c, d, mu, pressure)
        assert judge is not None
        f = solve_cones(c, d, mu, given=pressure).force.reshape(n, 3)
        assert np.allclose(f, judge, atol=1e-9)
        held, limit = np.linalg.norm(f[:, 1:], axis=1), mu * (f[:, 0] + pressure)
        seen["open"] += int(np.sum(f[:, 0] == 0.0))
        seen["stick"] += int(np.sum((held < limit - 1e-9) & (f[:, 0] > 0)))
        seen["slide"] += int(np.sum((held > limit - 1e-9) & (f[:, 0] > 0)))
    assert min(seen.values()) > 10


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8))
@settings(max_examples=40)
def test_without_friction_it_is_the_linear_problem(seed, n):
    """Pivoting finds the same accelerations, also where contacts are redundant."""
    rng = np.random.default_rng(seed)
    rows, inverse = body(rng, n)
    c, d = rows @ inverse @ rows.T, rows @ (rng.normal(size=6) * 5 - [0, 0, 0, 0, 0, 9.81])
    f = solve_cones(c, d, np.zeros(n)).force.reshape(n, 3)
    assert not f[:, 1:].any()
    pivoted = solve(c[::3, ::3], d[::3], "lemke")
    size = 1.0 + np.abs(d).max()
    assert np.allclose(c[::3, ::3] @ f[:, 0] + d[::3], pivoted.slack, atol=1e-9 * size)
    assert np.linalg.norm(f[:, 0]) <= np.linalg.norm(pivoted.force) * (1 + 1e-7)  # the shortest


@given(seed=st.integers(0, 10**6))
@settings(max_examples=30)
def test_contacts_that_slide_already(seed):
    """Friction is known but for its size: the linear problem with C - mu C t, by pivoting."""
    rng, n = np.random.default_rng(seed), 4
    rows = rng.normal(size=(3 * n, 14))
    c, d = rows @ rows.T + np.eye(3 * n), rng.normal(size=3 * n)
    d[::3] -= 1.0
    mu, angle = rng.uniform(0, 0.2, n), rng.uniform(0, 6.3, n)
    sliding = np.column_stack([np.cos(angle), np.sin(angle)])
    force = solve_cones(c, d, mu, sliding).force
    check(c, d, mu, force, sliding=sliding)
    pulled = np.zeros((3 * n, n))
    for k in range(n):
        pulled[3 * k : 3 * k + 3, k] = [1.0, *(-mu[k] * sliding[k])]
    assert np.allclose(force[::3], solve(c[::3] @ pulled, d[::3], "lemke").force, atol=1e-8)


# ------------------------------------------------------------------ redundant contacts


def test_redundant_contacts_share_evenly():
    """A load in the middle of a ring of spots: each carries the same; off it, linearly more where it is nearer."""
    angle = 2 * np.pi * np.arange(9) / 9
    points = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(9)])
    rows = np.zeros((9, 3, 6))
    for k, (x, y, _) in enumerate(points):  # velocities of spots by (angular, linear), normal first
        rows[k] = [[y, -x, 0, 0, 0, 1], [0, 0, -y, 1, 0, 0], [0, 0, x, 0, 1, 0]]
    rows = rows.reshape(27, 6)
    c = rows @ rows.T
    for x in (0.0, 0.3):
        free = np.array([0, 9 * x, 0, 0, 0, -9.0])  # 9 N at x
        f = solve_cones(c, rows @ free, np.full(9, 0.6)).force.reshape(9, 3)
        assert np.allclose(f[:, 0], 1.0 + 2 * x * points[:, 0], atol=1e-12)
        assert np.allclose(f[:, 1:], 0.0, atol=1e-12)
        assert np.allclose(c @ f.ravel() + rows @ free, 0.0, atol=1e-12)


def test_shortest_forces_of_a_stuck_body():
    """Among all forces that hold it: the pseudo-inverse's, as long as those are within the cones."""
    rows, inverse = spotted([(x, y, -0.2) for x in (-0.5, -0.1, 0.2, 0.5) for y in (-0.3, 0.1, 0.3)])
    c, d = rows @ inverse @ rows.T, rows @ np.array([0.1, 0.2, 0.05, 0.2, -0.3, -9.81])
    f = solve_cones(c, d, np.full(12, 0.9)).force
    assert np.allclose(c @ f + d, 0.0, atol=1e-11)
    assert np.allclose(f, -np.linalg.pinv(c, rcond=1e-11, hermitian=True) @ d, atol=1e-9)


def test_many_contacts_take_few_steps():
    rng = np.random.default_rng(4)
    rows, inverse = body(rng, 40)
    for push in (0.0, 2.0, 6.0, 20.0):
        c, d = rows @ inverse @ rows.T, rows @ np.array([0, 0, push, push, 0.3 * push, -9.81])
        found = solve_cones(c, d, np.full(40, 0.5))
        check(c, d, np.full(40, 0.5), found.force)
        assert found.steps <= 40


def test_scales_do_not_matter():
    rng = np.random.default_rng(5)
    rows, inverse = body(rng, 6)
    c, d, mu = rows @ inverse @ rows.T, rows @ np.array([1.0, 2, 3, 4, -5, -9.81]), np.full(6, 0.4)
    plain = solve_cones(c, d, mu).force
    for a, b in ((1e-9, 1.0), (1.0, 1e-9), (1e9, 1e-6), (1e-6, 1e9)):
        force = solve_cones(a * c, b * d, mu).force
        assert np.allclose(force, b / a * plain, rtol=0, atol=1e-6 * b / a)
        assert np.allclose(c @ force * a / b, c @ plain, rtol=0, atol=1e-6)


# ------------------------------------------------------------------ no solution, bad input


def test_contradictory_contacts_are_reported():
    """Two jaws close on a body that cannot move: no force keeps both from entering."""
    c = np.zeros((6, 6))
    c[np.ix_([0, 3], [0, 3])] = [[1.0, -1.0], [-1.0, 1.0]]
    d = np.array([-1.0, 0, 0, -1.0, 0, 0])
    with pytest.raises(NotConverged, match="2 friction cones were not found") as failed:
        solve_cones(c, d, [0.3, 0.3])
    assert failed.value.force.shape == (6,)
    assert isinstance(failed.value, NoSolutionError)


def test_spots_that_nothing_moves():
    assert not solve_cones(np.zeros((3, 3)), [1.0, 2.0, 0.0], [0.3]).force.any()
    with pytest.raises(NoSolutionError, match="contact 1 is violated"):
        solve_cones(np.zeros((6, 6)), [1.0, 0, 0, -1.0, 0, 0], [0.3, 0.3])


def test_bad_input_is_named():
    with pytest.raises(kt.ShapeError, match="2 contacts have 6 unknowns, not 3"):
        solve_cones(np.eye(3), np.zeros(3), [0.1, 0.2])
    with pytest.raises(kt.ShapeError, match="NaN"):
        solve_cones(np.eye(3), [np.nan, 0, 0], [0.1])
    with pytest.raises(kt.ShapeError, match="directions of sliding"):
        solve_cones(np.eye(3), np.zeros(3), [0.1], np.zeros((2, 2)))
    assert solve_cones(np.zeros((0, 0)), np.zeros(0), np.zeros(0)).force.shape == (0,)
