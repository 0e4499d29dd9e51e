"""Sweeps backwards through steps: against products of matrices."""

import numpy as np
import pytest

from kinetree.engine.graph import Graph, inputs, outputs
from kinetree.engine.kernels.sweep_kernel import Sweep, SweepKernel

STEPS, H = 5, 0.25


def law(t, h, x, p, w):
    """Return weights before the step x' = x + h (x1, p t x0 x1), and those of p added up."""
    a, b, c = w
    return [a + h * p * t * x[1] * b, h * a + b + h * p * t * x[0] * b, c + h * t * x[0] * x[1] * b]


def kernel(rows):
    graph = Graph()
    t, h, *rest = inputs(graph, 8)
    found = outputs(graph, law(t, h, rest[:2], rest[2], rest[3:]))
    sweep = Sweep(graph, found, 2, 1, STEPS, rows)
    return SweepKernel("sweep", Graph, sweep.lengths, (sweep.all_rows, 3), sweep=lambda: sweep), sweep


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_rows_of_weights_go_back_step_by_step(rows):
    rng = np.random.default_rng(rows)
    made, sweep = kernel(rows)
    assert sweep.all_rows in (rows, rows + 1)
    begin, ends, p = rng.standard_normal((11, 2)), rng.standard_normal((11, STEPS, 2)), rng.standard_normal((11, 1))
    weights = np.zeros((11, sweep.all_rows, 3))
    weights[:, :rows] = rng.standard_normal((11, rows, 3))
    t = rng.uniform(0.0, 1.0, (11, 1))
    flat = ends.reshape(11, -1), p, weights.reshape(11, -1)
    found = made(t, np.full((1, 1), H), begin, *flat)
    assert np.array_equal(made(t, np.full((1, 1), H), begin, *flat, threads=2), found)
    states = np.concatenate([begin[:, None], ends], axis=1)
    for lane in range(11):
        expected = weights[lane, :rows]
        for k in reversed(range(STEPS)):
            when = t[lane, 0] + k * H
            expected = np.array([law(when, H, states[lane, k], p[lane, 0], row) for row in expected])
        assert np.allclose(found[lane, :rows], expected, rtol=1e-13)
    alone = made(*(x[3] for x in (t, np.full((11, 1), H), begin, *flat)))
    assert np.array_equal(alone, found[3])
    call = made.prepared(t, np.full((1, 1), H), begin, *flat)
    call.read_from(3, flat[0].copy())
    assert np.array_equal(call(), found)
    with pytest.raises(TypeError, match="C order"):
        call.read_from(3, flat[0][:, ::-1])
