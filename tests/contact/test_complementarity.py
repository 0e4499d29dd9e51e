"""Complementarity solvers play off against one another, against Featherstone's numbers and against a convex program."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

import kinetree as kt
from kinetree.contact import complementarity
from kinetree.contact import complementarity as lcp

SEMI = ("enumerate", "lemke", "gauss_seidel")

# Featherstone figure 9-7 with numbers: a block of 2 kg on four corners, rank 3
BLOCK = np.array(
    [[2.65, 0.85, 0.15, -1.65], [0.85, 2.65, -1.65, 0.15], [0.15, -1.65, 2.65, 0.85], [-1.65, 0.15, 0.85, 2.65]]
)
STANDS = np.array([1.19, -10.81, -28.81, -40.81])
TIPS = np.array([40.19, 40.19, -79.81, -79.81])


def check(c, d, solution, tolerance=1e-8):
    f = solution.force
    w = c @ f + d
    size = max(1.0, np.abs(d).max(), (np.abs(c) @ f).max())
    assert f.min() >= 0.0
    assert w.min() >= -tolerance * size
    assert np.abs(f * w).max() <= tolerance * size * max(1.0, f.max())


def positive_definite(seed, n):
    rng = np.random.default_rng(seed)
    a = rng.uniform(-1, 1, (n, n))
    return a @ a.T, rng.uniform(-1, 1, n)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 7))
@settings(max_examples=60)
def test_all_solvers_agree_where_the_solution_is_unique(seed, n):
    c, d = positive_definite(seed, n)
    c += 0.05 * np.eye(n)
    found = [lcp.solve(c, d, m) for m in ("enumerate", "prune", "lemke", "gauss_seidel")]
    found.append(lcp.prune(c, d, most_negative_first=False))
    for solution in found:
        check(c, d, solution, 1e-6 if solution.method == "gauss_seidel" else 1e-9)
        assert np.allclose(solution.force, found[0].force, rtol=1e-5, atol=1e-7)


@given(seed=st.integers(0, 10**6), n=st.integers(2, 7), rank=st.integers(1, 4))
@settings(max_examples=60)
def test_semi_definite_problems_have_the_same_accelerations(seed, n, rank):
    """Featherstone section 9.7: forces need not be unique, their effect is; judged by nonnegative least squares.

    Accelerations minimize 1/2 |a - a0|^2 with F^T a >= 0, the projection onto a cone: nnls solves its dual.
    """
    rng = np.random.default_rng(seed)
    f, free = rng.normal(size=(rank, n)), rng.normal(size=rank)
    c, d = f.T @ f, f.T @ free
    dual, _ = nnls(f, -free)
    for method in SEMI:
        solution = lcp.solve(c, d, method)
        check(c, d, solution, 1e-6)
        assert np.allclose(f @ solution.force, f @ dual, atol=1e-5)


def test_figure_9_6_recursion_on_problems_of_its_kind():
    """Featherstone section 9.8.1: C = A A^T with entries in [-1, 1], ten contacts: 37.0 leaves, 1.08 by heuristic."""
    plain, quick = [], []
    for seed in range(150):
        c, d = positive_definite(seed, 10)
        a, b = lcp.prune(c, d, most_negative_first=False), lcp.prune(c, d)
        assert np.allclose(a.force, b.force, rtol=1e-6, atol=1e-9)
        check(c, d, a)
        plain.append(a.steps)
        quick.append(b.steps)
    assert 32 < np.mean(plain) < 43
    assert 1.0 <= np.mean(quick) < 1.2


def test_known_facts_about_signs():
    """Featherstone section 9.8.1."""
    c, _ = positive_definite(3, 6)
    assert not lcp.prune(c, np.full(6, 0.3)).force.any()
    one = np.array([0.1, 0.2, -0.5, 0.3, 0.1, 0.2])
    assert lcp.prune(c, one).force[2] > 0.0
    several = np.array([-0.4, 0.2, -0.5, 0.3, -0.1, 0.2])
    assert lcp.prune(c, several).force[[0, 2, 4]].max() > 0.0


@pytest.mark.parametrize("method", SEMI)
def test_block_on_a_plane(method):
    standing = lcp.solve(BLOCK, STANDS, method)
    check(BLOCK, STANDS, standing)
    assert np.allclose(BLOCK @ standing.force + STANDS, 0.0, atol=1e-7)
    tipping = lcp.solve(BLOCK, TIPS, method)
    assert np.allclose(tipping.force, (0, 0, 22.802857, 22.802857), atol=1e-6)
    assert np.allclose(tipping.slack, (5.985714, 5.985714, 0, 0), atol=1e-6)


def test_enumeration_finds_the_solutions_of_the_notes():
    f = lcp.enumerate_patterns(BLOCK, STANDS).force
    assert np.allclose(f, (13.81, 0, 2.6667, 23.1433), atol=1e-4)


@pytest.mark.parametrize("method", SEMI)
@pytest.mark.parametrize(("c", "d"), [([[0.0]], [-1.0]), ([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0])])
def test_no_solution_is_reported(method, c, d):
    with pytest.raises(lcp.NoSolutionError):
        lcp.solve(c, d, method)


def test_degenerate_problems_end():
    """Many equal ratios: without a rule for ties pivoting may go round in circles."""
    n = 12
    c = np.ones((n, n)) + 1e-3 * np.eye(n)
    check(c, -np.ones(n), lcp.lemke(c, -np.ones(n)))
    c = np.kron(np.eye(3), np.ones((4, 4)))
    check(c, -np.ones(n), lcp.lemke(c, -np.ones(n)))


def test_scales_do_not_matter():
    rng = np.random.default_rng(4)
    for power in (-12, 0, 12):
        a = rng.normal(size=(5, 5))
        s = 10.0 ** rng.uniform(-4, 4, 5)
        c, d = np.diag(s) @ a @ a.T @ np.diag(s) * 10.0**power, s * rng.normal(size=5)
        w = (c @ lcp.lemke(c, d).force + d) / s
        assert w.min() > -1e-6


def test_many_contacts():
    rng = np.random.default_rng(5)
    a = rng.normal(size=(120, 60))
    c, d = a.T @ a, rng.normal(size=60)
    one, other = lcp.lemke(c, d), lcp.gauss_seidel(c, d)
    assert np.allclose(one.force, other.force, atol=1e-6)


def test_dependent_normals():
    """Featherstone section 9.8.2: opposite normals cannot break; a normal between two others is redundant."""
    assert lcp.dependent_contacts(np.array([[1.0, -1.0], [0.0, 0.0]])) == "unbreakable"
    assert lcp.dependent_contacts(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])) == "redundant"
    corners = np.array([[1, 1, 1, 1], [-0.3, 0.3, -0.3, 0.3], [0.5, 0.5, -0.5, -0.5]])
    assert lcp.dependent_contacts(corners) == "undecided"
    with pytest.raises(kt.OptionError, match="exactly one"):
        lcp.dependent_contacts(np.eye(2))


def test_bad_input_is_named():
    with pytest.raises(kt.ShapeError, match="n x n"):
        lcp.solve(np.eye(2), [1.0])
    with pytest.raises(kt.ShapeError, match="NaN"):
        lcp.solve([[np.nan]], [1.0])
    with pytest.raises(kt.UnknownNameError, match="lemke"):
        lcp.solve(np.eye(1), [1.0], "lemk")
    with pytest.raises(kt.OptionError, match="positive definite"):
        lcp.prune(BLOCK, STANDS)
    with pytest.raises(kt.OptionError, match="lemke"):
        lcp.enumerate_patterns(np.eye(17), -np.ones(17))


def test_pivoting_does_not_take_a_ray_for_a_solution():
    """C of rank one, d not in its range: forces of 1e15 N were returned, whose rounding hid the negative slacks."""
    rng = np.random.default_rng(1)
    for _ in range(1500):
        n = int(rng.integers(2, 7))
        j, d = rng.normal(size=n), rng.normal(size=n)
        c = np.outer(j, j)
        # f >= 0 enters through s = j.f alone: w = j s + d >= 0 with f.w = 0
        bounds = -d / j
        low, high = np.max(bounds[j > 0], initial=-np.inf), np.min(bounds[j < 0], initial=np.inf)
        if low > high + 1e-6:
            with pytest.raises(complementarity.NoSolutionError):
                complementarity.solve(c, d)
        elif low < high - 1e-6:
            found = complementarity.solve(c, d)
            w = c @ found.force + d
            assert w.min() > -1e-6
            assert np.all(found.force >= 0)
            assert np.abs(found.force * w).max() < 1e-6 * max(1.0, found.force.max())
