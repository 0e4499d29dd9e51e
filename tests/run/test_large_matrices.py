"""Matrices and derivatives of large trees: loops over pairs of bodies, equal to the reference."""

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.large_trees import chain, pinocchio_model, separate
from helpers.robots import KINDS, random_state, random_tree
from kinetree.algorithms.table import ALGORITHMS, find
from kinetree.run import compiler

PAIRS = [a.name for a in ALGORITHMS.values() if a.large and a.large.by == "pairs" and a.name != "mass_matrix"]
MATRICES = (*PAIRS, "forward_dynamics_derivatives")


@pytest.fixture
def always_rolled(monkeypatch):
    monkeypatch.setattr(compiler, "LARGEST_UNROLLED", 0)


def matrices(robot, name, q, v, x, *more, **options):
    """What a method returns, several matrices side by side."""
    given = (q, v) if name == "coriolis_matrix" else (q, v, x)
    found = getattr(robot, name)(*given, *more, **options)
    return np.stack(found, axis=-3) if isinstance(found, tuple) else found[..., None, :, :]


def compare(reference, tolerance=1e-12):
    robot = reference.with_backend("compiled")
    rng = np.random.default_rng(2)
    state = random_state(robot, rng, (3, 2))
    push = {robot.body_names[-1]: rng.standard_normal((2, 6)), robot.body_names[0]: rng.standard_normal(6)}
    for name in MATRICES:
        assert robot.evaluator.compiler.handles(name)
        bound = 100 * tolerance if name.startswith("forward") else tolerance
        expected, found = matrices(reference, name, *state), matrices(robot, name, *state)
        for k in range(found.shape[-3]):
            assert_close(found[..., k, :, :], expected[..., k, :, :], bound)
        assert np.array_equal(matrices(robot, name, *(x[1, 1] for x in state)), found[1, 1])
        assert np.array_equal(matrices(robot, name, *state, threads=2), found)
        if find(name).loads:
            assert_close(matrices(robot, name, *state, push), matrices(reference, name, *state, push), bound)
    return found


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_joint(kind, always_rolled):
    compare(random_tree(np.random.default_rng(1), 4, [kind, "revolute"]))


@pytest.mark.parametrize("seed", range(2))
def test_random_trees(seed, always_rolled):
    robot = random_tree(np.random.default_rng(seed), 6, floating=seed % 2 == 0)
    inverse = compare(robot)[..., 2, :, :]
    assert np.array_equal(inverse, np.swapaxes(inverse, -1, -2))
    q, v, a = random_state(robot, np.random.default_rng(0))
    large = robot.with_backend("compiled")
    by_q, by_v, by_a = large.inverse_dynamics_derivatives(q, v, a)
    assert np.array_equal(by_a, by_a.T)
    for matrix in (by_q, by_v, by_a, large.coriolis_matrix(q, v)):
        assert not np.any(matrix[separate(robot)])


def test_room_for_the_result(always_rolled):
    robot = random_tree(np.random.default_rng(4), 6, ["revolute", "spherical"]).with_backend("compiled")
    state = random_state(robot, np.random.default_rng(0), 2)
    n = robot.nv
    for name in MATRICES[1:]:
        expected = matrices(robot, name, *state)
        for room in (np.full((2, 3, n, 2 * n), np.nan)[..., ::2], np.empty((2, 3, n, n), np.float32)):
            getattr(robot, name)(*state, out=room)
            assert_close(room, expected, 1e-15 if room.dtype == float else 1e-5)


def test_nan_stays_in_its_state(always_rolled):
    robot = random_tree(np.random.default_rng(3), 7, ["revolute", "prismatic", "universal"]).with_backend("compiled")
    state = random_state(robot, np.random.default_rng(0), 4)
    for name in MATRICES:
        clean = matrices(robot, name, *state)
        bad = [x.copy() for x in state]
        bad[1][2, 1] = np.nan
        found = matrices(robot, name, *bad)
        assert np.isnan(found[2]).any()
        assert np.array_equal(np.delete(found, 2, axis=0), np.delete(clean, 2, axis=0))


def test_single_precision(always_rolled):
    reference = random_tree(np.random.default_rng(6), 6, ["revolute", "spherical"])
    robot = reference.with_backend("compiled").with_precision("single")
    state = random_state(robot, np.random.default_rng(0), 3)
    for name in MATRICES:
        found = matrices(robot, name, *state)
        assert found.dtype == np.float32
        assert_close(found, matrices(reference, name, *state), 2e-3)


def test_pinocchio_judges_a_long_chain():
    pinocchio = pytest.importorskip("pinocchio")
    robot = chain(150).with_backend("compiled")
    model = pinocchio_model(pinocchio, robot)
    data = model.createData()
    q, v, a = np.random.default_rng(5).uniform(-1.0, 1.0, (3, robot.nv))
    by_q, by_v, by_a = robot.inverse_dynamics_derivatives(q, v, a)
    expected = pinocchio.computeRNEADerivatives(model, data, q, v, a)
    assert_close(by_q, expected[0], 1e-12)
    assert_close(by_v, expected[1], 1e-12)
    assert_close(by_a, np.triu(expected[2]) + np.triu(expected[2], 1).T, 1e-12)
    tau = robot.inverse_dynamics(q, v, a)
    expected = pinocchio.computeABADerivatives(model, data, q, v, tau)
    for found, judge in zip(robot.forward_dynamics_derivatives(q, v, tau)[:2], expected[:2], strict=True):
        assert_close(found, judge, 1e-8)
    matrix = robot.coriolis_matrix(q, v)
    assert_close(matrix, pinocchio.computeCoriolisMatrix(model, data, q, v), 1e-12)


def test_the_coriolis_matrix_of_a_long_chain():
    robot = chain(400).with_backend("compiled")
    q, v = np.random.default_rng(5).uniform(-1.0, 1.0, (2, robot.nv))
    force = robot.bias_force(q, v) - robot.gravity_force(q)
    assert_close(robot.coriolis_matrix(q, v) @ v, force, 1e-11)


def test_code_that_is_too_long_becomes_a_loop(monkeypatch, recwarn):
    monkeypatch.setattr(compiler, "LONGEST_CODE", 2000)
    reference = random_tree(np.random.default_rng(1), 8)
    robot = reference.with_backend("compiled")
    q, v, tau = random_state(robot, np.random.default_rng(0), 3)
    found = robot.forward_dynamics_derivatives(q, v, tau)
    for matrix, expected in zip(found, reference.forward_dynamics_derivatives(q, v, tau), strict=True):
        assert_close(matrix, expected, 1e-10)
    assert not [w for w in recwarn if issubclass(w.category, kt.KinetreeWarning)]


@pytest.mark.parametrize("form", ["LTDL", "LTL"])
def test_factors_of_the_mass_matrix(form, always_rolled):
    reference = random_tree(np.random.default_rng(1), 12, floating=True)
    robot = reference.with_backend("compiled")
    q = random_state(robot, np.random.default_rng(0), (2, 2))[0]
    found, expected = robot.mass_matrix_factors(q, form), reference.mass_matrix_factors(q, form)
    for part, judge in zip(found, expected, strict=True):
        assert_close(part, judge, 1e-11)
    assert not np.any(found[0][..., separate(robot)])
    assert np.array_equal(robot.mass_matrix_factors(q[1, 1], form)[0], found[0][1, 1])


def test_factors_of_a_long_chain():
    robot = chain(300).with_backend("compiled")
    q = np.random.default_rng(0).uniform(-1.0, 1.0, 300)
    lower, d = robot.mass_matrix_factors(q)
    assert np.array_equal(lower, np.tril(lower))
    assert_close(lower.T @ (d[:, None] * lower), robot.mass_matrix(q), 1e-12)
