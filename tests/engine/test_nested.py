"""Matrices filled from a table: products within branches, zeros between them."""

import numpy as np
import pytest

from kinetree.engine.llvm.branch_matrix import fill


def branches(rng, n):
    """Random nested branches: where each ends, of rows numbered so that each branch is contiguous."""
    parents, last = [-1], list(range(n))
    for k in range(1, n):
        carrier, path = k - 1, []
        while carrier >= 0:
            path.append(carrier)
            carrier = parents[carrier]
        parents.append(int(rng.choice([-1, *path])))
    for k in reversed(range(n)):
        if parents[k] >= 0:
            last[parents[k]] = max(last[parents[k]], last[k])
    return parents, np.array(last)


def carries(parents, i, j):
    while j >= 0:
        if i == j:
            return True
        j = parents[j]
    return False


@pytest.mark.parametrize("n", [1, 3, 8, 17, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_entry(n, dtype):
    rng = np.random.default_rng(n)
    parents, last = branches(rng, n)
    below = rng.standard_normal((2, n, 9)).astype(dtype)
    above = rng.standard_normal((2, n, 6)).astype(dtype)
    below[0, n // 2] = np.nan
    expected = np.zeros((n, n))
    for j in range(n):
        for i in range(n):
            if carries(parents, i, j):
                expected[j, i] = below[0, j] @ below[1, i]
            elif carries(parents, j, i):
                expected[j, i] = above[0, j] @ above[1, i]
    room = np.full((n, n + 5), 7.0, dtype=dtype)
    fill(room[:, 2 : n + 2], tuple(below), tuple(above), np.arange(n), last)
    np.testing.assert_allclose(room[:, 2 : n + 2], expected, rtol=0, atol=2e-14 if dtype == np.float64 else 2e-5)
    assert np.all(room[:, :2] == 7.0)
    assert np.all(room[:, n + 2 :] == 7.0)
