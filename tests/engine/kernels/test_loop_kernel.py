"""Loops over columns: results from what columns hold, in runs of any length, for one state and for batches."""

from types import SimpleNamespace

import numpy as np
import pytest

from kinetree.engine.graph import Node
from kinetree.engine.kernels.loop_kernel import RolledKernel
from kinetree.engine.llvm.body_loops import COLUMN, ROW, BodyStep, HeldColumns, Slot

INPUT, OUT, FIRST, COUNT = 1, 2, 3, 4


def steps(n):
    """Fill columns (x, 2 x), then go through a run of them: results x y and 2 x - y, and x + y stays in the column."""
    fill, meet = BodyStep(), BodyStep(columns_word=COUNT)

    def at(step, *place):
        return Node(step.graph, step.source(Slot(*place)))

    x = at(fill, "in", INPUT, 0)
    fill.store(Slot(COLUMN, FIRST, 0), x.index)
    fill.store(Slot(COLUMN, FIRST, 1), (x * 2.0).index)
    held, twice, own = at(meet, COLUMN, FIRST, 0), at(meet, COLUMN, FIRST, 1), at(meet, "in", INPUT, n)
    meet.store(Slot(ROW, OUT, 0), (held * own).index)
    meet.store(Slot(ROW, OUT, 1), (twice - own).index)
    meet.store(Slot(COLUMN, FIRST, 0), (held + own).index)
    return [fill, meet]


@pytest.mark.parametrize("n", [1, 3, 8, 17, 40])
@pytest.mark.parametrize("single", [False, True])
def test_steps_go_through_runs_of_columns(n, single):
    first, size = n // 3, n - n // 3 - (n > 8)
    run = slice(first, first + size)
    entries = [[0, k, 0, k, 0] for k in range(n)] + [[1, 0, 1, first, size], [1, 0, 1 + 2 * size, first, size]]
    places = np.zeros((4, n), dtype=np.int64)
    places[:, run] = 1 + np.arange(4 * size).reshape(4, size)
    plan = SimpleNamespace(
        steps=steps(n), entries=np.array(entries), params=np.zeros(1), work_vectors=0, outs=1 + 4 * size, large=None,
        columns=HeldColumns(0, 2, n), places=places.ravel(),
    )  # fmt: skip
    zero = BodyStep()
    zero.store(Slot("out", OUT, 0), zero.graph.const(0.0))
    plan.steps.append(zero)
    plan.entries = np.concatenate([[[2, 0, 0, 0, 0]], plan.entries])
    kernel = RolledKernel("test", lambda: None, (n, 1), (4, n), single_precision=single, schedule=lambda: plan)
    rng = np.random.default_rng(n)
    x, y = rng.standard_normal((37, n)).astype(kernel.dtype), rng.standard_normal((37, 1)).astype(kernel.dtype)
    y[5] = np.nan
    expected = np.zeros((37, 4, n), kernel.dtype)
    expected[:, 0, run], expected[:, 1, run] = (x * y)[:, run], (2.0 * x - y)[:, run]
    expected[:, 2, run], expected[:, 3, run] = ((x + y) * y)[:, run], (2.0 * x - y)[:, run]
    found = kernel(x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    for k in range(37):
        np.testing.assert_array_equal(kernel(x[k], y[k]), found[k])
    assert not found[:, :, np.r_[0:first, first + size : n]].any()


def test_a_long_loop_of_one_state_works_on_the_heap():
    n = 9000
    fill, sums = BodyStep(), BodyStep()
    x = Node(fill.graph, fill.source(Slot("in", INPUT, 0)))
    fill.store(Slot("work", OUT, 0), (x + 1.0).index)
    y = Node(sums.graph, sums.source(Slot("work", OUT, 0)))
    sums.store(Slot("out", FIRST, 0), y.index, True)
    clear = BodyStep()
    clear.store(Slot("out", FIRST, 0), clear.graph.const(0.0))
    entries = [[2, 0, 0, 0, 0]] + [[step, k, k, 0, 0] for step in (0, 1) for k in range(n)]
    plan = SimpleNamespace(
        steps=[fill, sums, clear], entries=np.array(entries), params=np.zeros(1), work_vectors=n, places=None,
        columns=HeldColumns(), large=None,
    )  # fmt: skip
    kernel = RolledKernel("test", lambda: None, (n,), (1,), schedule=lambda: plan)
    given = np.arange(n, dtype=float)
    assert kernel(given)[0] == given.sum() + n
    assert kernel(given[None])[0, 0] == given.sum() + n
