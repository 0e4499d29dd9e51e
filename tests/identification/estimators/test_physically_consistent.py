import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinetree as kt
from kinetree.identification.estimators import pseudo_inertia
from kinetree.identification.estimators.physically_consistent import PULLS, ConsistentFit, consistent
from kinetree.model.mass import MassProperties
from kinetree.model.parameters import mass_properties_from_table, mass_properties_to_table

SEEDS = st.integers(0, 2**32 - 1)


def some_body(rng):
    points, masses = rng.standard_normal((6, 3)), rng.uniform(0.1, 1.0, 6)
    com = masses @ points / masses.sum()
    away = points - com
    inertia = sum(m * (d @ d * np.eye(3) - np.outer(d, d)) for m, d in zip(masses, away, strict=True))
    return mass_properties_to_table(MassProperties.of(masses.sum(), com, inertia))


@given(SEEDS)
def test_pseudo_inertia_is_the_second_moment_of_the_density(seed):
    rng = np.random.default_rng(seed)
    points, masses = rng.standard_normal((6, 3)), rng.uniform(0.1, 1.0, 6)
    com = masses @ points / masses.sum()
    away = points - com
    inertia = sum(m * (d @ d * np.eye(3) - np.outer(d, d)) for m, d in zip(masses, away, strict=True))
    ten = mass_properties_to_table(MassProperties.of(masses.sum(), com, inertia))
    lifted = np.column_stack([points, np.ones(6)])
    assert np.allclose(pseudo_inertia.matrix_of(ten), lifted.T @ (masses[:, None] * lifted))
    assert np.allclose(pseudo_inertia.parameters_of(pseudo_inertia.matrix_of(ten)), ten)
    assert pseudo_inertia.is_possible(ten)
    coordinates = pseudo_inertia.to_log_cholesky(ten)
    assert np.allclose(pseudo_inertia.from_log_cholesky(coordinates), ten)


@given(SEEDS)
def test_possible_bodies_are_those_without_problems(seed):
    rng = np.random.default_rng(seed)
    ten = some_body(rng) + 0.3 * rng.standard_normal(10)
    margin = np.linalg.eigvalsh(pseudo_inertia.matrix_of(ten))[0]
    if abs(margin) > 1e-6:
        assert bool(pseudo_inertia.is_possible(ten)) == (not mass_properties_from_table(ten).problems())


def test_slope_of_log_cholesky_coordinates():
    c = np.random.default_rng(0).standard_normal((3, 10))
    step = 1e-6
    slope = np.stack([
        (pseudo_inertia.from_log_cholesky(c + step * e) - pseudo_inertia.from_log_cholesky(c - step * e)) / (2 * step)
        for e in np.eye(10)
    ], axis=-1)  # fmt: skip
    assert np.allclose(slope, pseudo_inertia.log_cholesky_slope(c), rtol=1e-7, atol=1e-7)


def a_problem(pull="log_det", weight=1.0, seed=0):
    """Return two bodies of which the data ask the impossible, and a friction that should be negative."""
    rng = np.random.default_rng(seed)
    reference = np.concatenate([some_body(rng), some_body(rng), [0.1]])
    wanted = reference + 0.5 * rng.standard_normal(21)
    wanted[20] = -0.3
    a = rng.standard_normal((15, 21)) * 10.0
    return ConsistentFit(a, a @ wanted, [np.arange(10), np.arange(10, 20)], np.array([20]), reference, pull, weight)


def goal(problem, x):
    """Return what is to be minimized, from its definition."""
    total = 0.5 * np.sum((problem.a @ x - problem.b) ** 2)
    for own in problem.bodies:
        p, p0 = pseudo_inertia.matrix_of(x[own]), pseudo_inertia.matrix_of(problem.reference[own])
        if problem.pull == "log_det":
            relative = np.linalg.solve(p0, p)
            total += problem.weight * (np.trace(relative) - np.log(np.linalg.det(relative)) - 4.0)
    if problem.pull == "euclidean":
        own = problem.of_bodies()
        total += 0.5 * problem.weight * np.sum(((x - problem.reference) / problem.scale)[own] ** 2)
    return total


@pytest.mark.parametrize("pull", PULLS)
@pytest.mark.parametrize("weight", [1.0, 0.01])
def test_barrier_and_semidefinite_program_agree(pull, weight):
    pytest.importorskip("cvxpy")
    problem = a_problem(pull, weight)
    own, judge = consistent(problem, "barrier"), consistent(problem, "sdp")
    assert goal(problem, own) == pytest.approx(goal(problem, judge), rel=1e-4, abs=1e-4)
    assert np.all(pseudo_inertia.is_possible(own[:20].reshape(2, 10)))
    assert 0.0 <= own[20] < 1e-3


def test_log_cholesky_steps_find_the_same():
    problem = a_problem()
    own, other = consistent(problem, "barrier"), consistent(problem, "log_cholesky")
    assert goal(problem, other) == pytest.approx(goal(problem, own), rel=1e-3)
    assert np.all(pseudo_inertia.is_possible(other[:20].reshape(2, 10)))


def test_what_is_possible_and_told_is_found_exactly():
    rng = np.random.default_rng(5)
    truth = np.concatenate([some_body(rng), [0.4]])
    reference = np.concatenate([some_body(rng), [0.0]])
    a = 1e6 * rng.standard_normal((40, 11))
    for way in ("barrier", "log_cholesky"):
        x = consistent(ConsistentFit(a, a @ truth, [np.arange(10)], np.array([10]), reference), way)
        assert np.allclose(x, truth, atol=1e-6)


def test_unknown_words_are_refused():
    with pytest.raises(kt.UnknownNameError, match="log_det"):
        a_problem("logdet")
    with pytest.raises(kt.OptionError, match="pull_weight"):
        a_problem(weight=-1.0)
    with pytest.raises(kt.UnknownNameError, match="barrier"):
        consistent(a_problem(), "barier")


def test_a_program_that_fails_says_so(monkeypatch):
    cvxpy = pytest.importorskip("cvxpy")
    problem = a_problem()

    def fail(self, **options):
        raise cvxpy.error.SolverError("numerical trouble\nand more")

    monkeypatch.setattr(cvxpy.Problem, "solve", fail)
    with pytest.raises(kt.IdentificationError, match="numerical trouble; try consistent='barrier'"):
        consistent(problem, "sdp")
    monkeypatch.setattr(cvxpy.Problem, "solve", lambda self, **options: None)
    with pytest.raises(kt.IdentificationError, match="no solution"):
        consistent(problem, "sdp")


def test_far_from_the_file_is_found_as_well():
    """Heavy rotors that nobody looks for ask bodies for ten times their inertia: far, and yet possible."""
    robot = kt.load("kuka-kr5")
    rng = np.random.default_rng(1)
    q, v, a = rng.standard_normal((3, 60, 6))
    names = [name for name in robot.parameters().names if name.startswith("link")]
    rotors = dict(zip(robot.joint_names, (4.0, 6.0, 2.5, 0.15, 0.12, 0.05), strict=True))
    real = robot.with_parameters({f"{name}.rotor_inertia": value for name, value in rotors.items()})
    noise = np.array([30.0, 30.0, 17.0, 1.3, 3.3, 1.7]) * 1e-3
    rows = (robot.regressor(q, v, a, parameters=names) / noise[:, None]).reshape(-1, len(names))
    force = (real.inverse_dynamics(q, v, a) / noise).reshape(-1)
    reference = np.array([robot.parameters()[name] for name in names])
    problem = ConsistentFit(rows, force, list(np.arange(60).reshape(6, 10)), np.zeros(0, dtype=int), reference)
    found, other = consistent(problem, "barrier"), consistent(problem, "log_cholesky")
    assert goal(problem, found) <= goal(problem, other) * (1.0 + 1e-4)
