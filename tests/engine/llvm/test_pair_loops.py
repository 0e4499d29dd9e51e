"""Loops over pairs: rows of matrices from what columns hold, in runs of any length."""

import numpy as np
import pytest

from kinetree.engine.graph import Node
from kinetree.engine.llvm import host
from kinetree.engine.llvm.body_loops import BodyStep, Slot
from kinetree.engine.llvm.pair_loops import COLUMN, OWN, ROW, Runner, mirror


@pytest.mark.parametrize("n", [1, 3, 8, 17, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_step_over_runs_of_columns(n, dtype):
    step = BodyStep()

    def at(place):
        return Node(step.graph, step.source(place))

    held, own = at(Slot(COLUMN, 0, 0)), at(Slot(OWN, 0, 1))
    step.store(Slot(ROW, 0, 0), (held * own).index)
    step.store(Slot(COLUMN, 0, 0), (held + own).index)
    rng = np.random.default_rng(n)
    first, size = n // 3, n - n // 3 - (n > 8)
    vectors = host.host().vectors(dtype is np.float32)
    runner = Runner("test", [step], np.array([[0, 2, first, size, 2 * n]]), n, host.host(), vectors)
    table, columns = rng.standard_normal(4).astype(dtype), runner.columns(1)
    columns[0, :n] = rng.standard_normal(n)
    before, matrix = columns[0].copy(), np.full((3, n), 7.0, dtype=dtype)
    runner(table, columns, [matrix])
    run = slice(first, first + size)
    np.testing.assert_allclose(matrix[2, run], before[run] * table[3], rtol=1e-6)
    np.testing.assert_allclose(columns[0, run], before[run] + table[3], rtol=1e-6)
    outside = np.ones(n, dtype=bool)
    outside[run] = False
    assert np.all(matrix[:2] == 7.0)
    assert np.all(matrix[2, outside] == 7.0)
    assert np.array_equal(columns[0, :n][outside], before[:n][outside])


@pytest.mark.parametrize("n", [1, 3, 8, 17, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_beside_one_diagonal_comes_to_the_other_side_of_another(n, dtype):
    matrix, other = np.random.default_rng(n).standard_normal((2, n, n)).astype(dtype)
    down, up = matrix.copy(), matrix.copy()
    mirror(down, other, host.host())
    mirror(up, other, host.host(), upwards=True)
    assert np.array_equal(down, np.triu(matrix) + np.triu(other, 1).T)
    assert np.array_equal(up, np.tril(matrix) + np.tril(other, -1).T)
    mirror(matrix, matrix, host.host())
    assert np.array_equal(matrix, matrix.T)
