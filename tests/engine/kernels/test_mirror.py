"""Symmetric matrices of which one side is known."""

import numpy as np
import pytest

from kinetree.engine.kernels.symmetric_results import mirror
from kinetree.engine.llvm import host


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
