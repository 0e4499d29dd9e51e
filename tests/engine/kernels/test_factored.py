"""Equations solved with factors of a symmetric matrix, compared with NumPy."""

import numpy as np
import pytest

from kinetree.engine.kernels.factored import solve
from kinetree.engine.kernels.factored_solves import order_of, scratch_bytes
from kinetree.engine.llvm import host

MACHINES = {"here": host.host, "with half as long vectors": lambda: host.target("x86-64-v3")}


def case(kind, n, states, right_sides):
    """Return the nearest row that carries each one, what L and D are made of, the matrix, and right sides."""
    rng = np.random.default_rng(n)
    carriers = [
        k - 1 if kind == "chain" else max(k - 2, -1) if kind == "two chains" else
        int(rng.integers(-1, k)) if kind == "tree" else -1 for k in range(n)
    ]  # fmt: skip
    carries = np.eye(n, dtype=bool)
    for k, carrier in enumerate(carriers):
        if carrier >= 0:
            carries[k] |= carries[carrier]
    axes, shares = rng.standard_normal((2, states, n, 6))
    shares /= np.maximum(carries.sum(axis=1), 1)[:, None]
    pivots = rng.uniform(1.0, 2.0, (states, n))
    lower = np.where(carries, shares @ np.swapaxes(axes, 1, 2), 0.0)
    lower[:, range(n), range(n)] = 1.0
    matrix = np.swapaxes(lower, 1, 2) @ (pivots[..., None] * lower)
    factors = np.concatenate([axes, shares, 1.0 / pivots[..., None]], axis=-1)
    given = rng.standard_normal((states, right_sides, n, n)) * (carries | carries.T)
    return carriers, factors, matrix, given


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", ["chain", "two chains", "tree", "no branches"])
@pytest.mark.parametrize("n", [1, 3, 17, 70])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_solutions_and_the_inverse_are_those_of_the_matrix(kind, n, dtype, machine):
    try:
        target = MACHINES[machine]()
    except host.UnknownTarget:
        pytest.skip("not for this processor")
    carriers, factors, matrix, given = case(kind, n, 3, 2)
    vectors = target.vectors(dtype == np.float32)
    order = order_of(carriers, vectors)
    scratch = np.full(scratch_bytes(order, vectors), 255, np.uint8)
    made = np.full((3, 3, n, n), np.nan, dtype)
    solve(factors.astype(dtype), given.astype(dtype), made, order, scratch, target)
    inverse = np.linalg.inv(matrix)
    wanted = np.concatenate([-inverse[:, None] @ given, inverse[:, None]], axis=1)
    limit = 1e-13 if dtype == np.float64 else 3e-5
    assert np.abs(made - wanted).max() < limit * np.linalg.cond(matrix).max() * np.abs(wanted).max()
    assert np.array_equal(made[:, 2], np.swapaxes(made[:, 2], 1, 2))
    again = np.empty((1, 3, n, n), dtype)
    solve(factors[1:2].astype(dtype), given[1:2].astype(dtype), again, order, scratch, target)
    assert np.array_equal(again[0], made[1])


def test_large_solutions_are_written_where_they_belong():
    target = host.host()
    carriers, factors, matrix, given = case("tree", 300, 1, 1)
    order = order_of(carriers, target.vectors(False))
    made = np.full((1, 2, 300, 300), np.nan)
    solve(factors, given, made, order, np.empty(scratch_bytes(order, target.vectors(False)), np.uint8), target)
    inverse = np.linalg.inv(matrix)
    assert np.abs(made[0] - [-inverse[0] @ given[0, 0], inverse[0]]).max() < 1e-11 * np.abs(inverse).max()
