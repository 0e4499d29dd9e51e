"""Equations solved with factors of a symmetric matrix, compared with NumPy."""

import numpy as np
import pytest

from kinetree.engine.kernels.factored import solve
from kinetree.engine.kernels.factored_solves import blocks_of, scratch_bytes
from kinetree.engine.llvm import host

MACHINES = {"here": host.host, "with half as long vectors": lambda: host.target("x86-64-v3")}


def case(kind, n, states, right_sides):
    """Return the columns of L's entries, L with D on its diagonal, the matrix, and right sides."""
    rng = np.random.default_rng(n)
    columns = list[list[int]]()
    for k in range(n):
        parent = k - 1 if kind == "chain" else int(rng.integers(-1, k)) if kind == "tree" else -1
        columns.append([] if parent < 0 else [*columns[parent], parent])
    lower = np.zeros((states, n, n))
    for k, own in enumerate(columns):
        lower[:, k, own] = rng.standard_normal((states, len(own))) / max(len(own), 1)
    pivots, one = rng.uniform(1.0, 2.0, (states, n)), lower + np.eye(n)
    matrix = np.swapaxes(one, 1, 2) @ (pivots[..., None] * one)
    both = lower + pivots[..., None] * np.eye(n)
    return columns, both, matrix, rng.standard_normal((states, right_sides, n, n))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", ["chain", "tree", "no branches"])
@pytest.mark.parametrize("n", [1, 3, 17, 70])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_solutions_and_the_inverse_are_those_of_the_matrix(kind, n, dtype, machine):
    try:
        target = MACHINES[machine]()
    except host.UnknownTarget:
        pytest.skip("not for this processor")
    columns, both, matrix, given = case(kind, n, 3, 2)
    blocks = blocks_of([sum(1 << j for j in own) for own in columns])
    scratch = np.empty(scratch_bytes(n, blocks, target.vectors(dtype == np.float32)), np.uint8)
    made = np.full((3, 3, n, n), np.nan, dtype)
    solve(both.astype(dtype), given.astype(dtype), made, blocks, scratch, target)
    inverse = np.linalg.inv(matrix)
    wanted = np.concatenate([-inverse[:, None] @ given, inverse[:, None]], axis=1)
    assert np.abs(made - wanted).max() < (1e-13 if dtype == np.float64 else 3e-5) * np.abs(wanted).max()
    assert np.array_equal(made[:, 2], np.swapaxes(made[:, 2], 1, 2))
    again = np.empty((1, 3, n, n), dtype)
    solve(both[1:2].astype(dtype), given[1:2].astype(dtype), again, blocks, scratch, target)
    assert np.array_equal(again[0], made[1])
