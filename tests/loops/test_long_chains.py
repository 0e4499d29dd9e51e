"""Constraints of many loops in one chain: judged by dense decompositions of the same matrices."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.loops import long_chains
from kinetree.loops.coordinates import _ordered_pivots


@pytest.fixture(scope="module")
def chain():
    """Matrices like those of 120 cells: each shares a column with the next, some rows are zero, some repeat others."""
    generator = np.random.default_rng(0)
    matrices = np.zeros((2, 3 * 120, 2 * 120 + 1))
    for cell in range(120):
        matrices[:, 3 * cell : 3 * cell + 2, 2 * cell : 2 * cell + 3] = [[1.0, -0.8, 0.1], [0.2, 1.0, -0.7]]
    matrices *= generator.uniform(0.8, 1.2, matrices.shape)
    matrices[:, 2:198:3] = 2.0 * matrices[:, 1:198:3]
    rows, columns = generator.permutation(matrices.shape[1]), generator.permutation(matrices.shape[2])
    return matrices[:, rows][:, :, columns]


def no_dense_decomposition(*_, **__):
    """Stand in for what is not to be called."""
    raise AssertionError("a long chain was decomposed as a dense matrix")


def test_singular_values_are_those_of_the_dense_matrix(chain, monkeypatch):
    wide = np.swapaxes(chain, -1, -2)
    expected = np.linalg.svd(chain, compute_uv=False)
    monkeypatch.setattr(np.linalg, "svd", no_dense_decomposition)
    for matrices in (chain, wide):
        found = long_chains.singular_values(matrices)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(long_chains.singular_values(chain[0]), expected[0], rtol=0, atol=1e-13)


def test_weak_constraints_keep_their_strength(chain):
    """Squares of the entries would lose all that is below the root of the computer's precision."""
    weak = chain[0].copy()
    j = int(np.flatnonzero(weak.any(axis=0))[0])
    weak[:, j] = 0.0
    weak[np.flatnonzero(~weak.any(axis=1))[0], j] = 1e-11
    found, expected = long_chains.singular_values(weak), np.linalg.svd(weak, compute_uv=False)
    assert found[found < 1e-9].max() == pytest.approx(1e-11, rel=1e-3)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_freedoms_that_follow_are_those_of_the_dense_matrix():
    """Solved by sparse factors; what is singular, or not a number, is left to others."""
    n = 240
    square = np.eye(n) + 0.4 * np.eye(n, k=1) - 0.3 * np.eye(n, k=-2)
    order = np.random.default_rng(2).permutation(n)
    square, rhs = square[order], np.random.default_rng(3).standard_normal((n, 2))
    np.testing.assert_allclose(long_chains.square_solution(square, rhs), np.linalg.solve(square, rhs), atol=1e-12)
    assert long_chains.square_solution(square * 0.0, rhs) is None
    assert long_chains.square_solution(square, rhs * np.nan) is None


def test_the_step_is_the_shortest(chain):
    gaps = np.random.default_rng(1).standard_normal(chain.shape[1])
    move, off = long_chains.newton_step(chain[0], gaps, 1e-9, None)
    shortest = -np.linalg.pinv(chain[0], rcond=1e-9) @ gaps
    np.testing.assert_allclose(move, shortest, rtol=0, atol=1e-8 * np.abs(shortest).max())
    assert off == pytest.approx(np.linalg.norm(chain[0] @ shortest), rel=1e-9)


def test_the_null_space_is_orthonormal_and_complete(chain):
    rank = int(np.linalg.matrix_rank(chain[0]))
    found, expected = long_chains.null_space(chain[0], rank), np.linalg.svd(chain[0])[2][rank:].T
    assert found.shape == expected.shape
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, rtol=0, atol=1e-12)
    assert long_chains.null_space(chain[0], rank - 1) is None


def test_what_is_not_plain_is_left_to_a_dense_decomposition(chain):
    k, gaps = chain[0], np.ones(chain.shape[1])
    values = np.linalg.svd(k, compute_uv=False)
    assert long_chains.newton_step(k, gaps, 0.5, None) is None  # no gap there
    assert long_chains.newton_step(k, gaps, 1e-9, int((values > 1e-9).sum()) - 1) is None
    assert long_chains.newton_step(k[:50, :50], gaps[:50], 1e-9, None) is None
    full = np.random.default_rng(2).standard_normal((210, 205))
    assert long_chains.newton_step(full, np.ones(210), 1e-9, None) is None
    np.testing.assert_array_equal(long_chains.singular_values(full), np.linalg.svd(full, compute_uv=False))


def test_coordinates_and_closing_do_not_depend_on_the_method(monkeypatch):
    def study():
        robot = kt.gallery.four_bar_chain(6).with_backend("reference")
        q = kt.gallery.four_bar_chain_leaning(6, 0.3)
        closed = robot.close(q + 1e-2 * np.sin(np.arange(robot.nv)))
        return robot.coordinates, robot.coordinates.pivots, robot.mobility(q), closed

    dense, order, usual, there = study()
    monkeypatch.setattr(long_chains, "LARGE", 1)
    monkeypatch.setattr(long_chains, "NARROW", 1.0)
    banded, same_order, mobility, here = study()
    assert (banded.rank, banded.rows, banded.independent) == (dense.rank, dense.rows, dense.independent)
    assert (order, usual.redundant, usual.singular) == (same_order, mobility.redundant, mobility.singular)
    assert banded.decisions[0].least == pytest.approx(dense.decisions[0].least, rel=1e-9)
    assert banded.decisions[0].dropped < 1e-14
    np.testing.assert_allclose(here, there, rtol=0, atol=1e-9)


def test_pivots_of_a_chain_make_no_entries():
    """In their order every row of four-bar cells is solved from those before it, and no zero is filled."""
    chosen = kt.gallery.four_bar_chain(10).with_backend("reference").coordinates
    place = {row: k for k, row in enumerate(chosen.rows)}
    ordered = chosen.sample[np.ix_([place[row] for row, _ in chosen.pivots], [j for _, j in chosen.pivots])]
    left = ordered.copy()
    for k in range(len(left)):
        assert abs(left[k, k]) > 0.1
        left[k + 1 :] -= np.outer(left[k + 1 :, k] / left[k, k], left[k])
    assert (np.abs(left) > 1e-12).sum() <= (np.abs(ordered) > 1e-12).sum()


def test_rows_of_zeros_come_last_among_pivots():
    sample = np.array([[0.0, 0.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 3.0]])
    assert _ordered_pivots(sample, (4, 5, 6), (0, 1, 2)) == ((6, 2), (5, 1), (4, 0))


@pytest.mark.parametrize("longest", [300_000, 50], ids=["compiled", "too long"])
def test_large_mechanisms_are_closed_in_machine_code_or_say_that_they_are_not(longest, monkeypatch, recwarn):
    monkeypatch.setattr("kinetree.evaluation.law_kernels.LARGEST_UNROLLED", 4)
    monkeypatch.setattr("kinetree.evaluation.law_kernels.LONGEST_CODE", longest)
    robot = kt.gallery.four_bar_chain(3).with_backend("compiled")
    guess = robot.assembled() + 0.02 * np.sin(np.arange(robot.nq))
    closed = robot.close(guess)
    said = [w for w in recwarn if "too many to compile" in str(w.message)]
    assert len(said) == (longest == 50)
    assert np.abs(robot.loop_gaps(closed)).max() < 1e-12
    assert np.abs(closed - robot.with_backend("reference").close(guess)).max() < 1e-3
