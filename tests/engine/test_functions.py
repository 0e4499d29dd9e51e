"""Functions that graphs call: the same numbers as if they were written out, in machine code of every form."""

import numpy as np
import pytest

from kinetree.engine.count import count
from kinetree.engine.differentiate import jacobian
from kinetree.engine.functions import functions_of, written_out
from kinetree.engine.interpret import evaluate
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.llvm import host
from kinetree.engine.trace import trace
from kinetree.spatial import call, repeat, sin, sqrt, where


def square_sum(x):
    return [x[0] * x[0] + x[1], sqrt(abs(x[0]) + 1.0)]


def nested(x):
    a, b = call("square sum", square_sum, [x[1], x[0]])
    return [sin(a), b * x[0]]


def heron(x):
    """A step toward the root of x[2]; x[1] is positive until it is found."""
    new = 0.5 * (x[0] + x[2] / x[0])
    return [new, where(abs(new - x[0]) > 1e-15 * new, 1.0, 0.0)]


def law(x):
    first = call("square sum", square_sum, [x[0], x[1]])
    second = call("nested", nested, [first[1], -x[1]])
    again = call("square sum", square_sum, [x[0], x[1]])
    root, _ = repeat("heron", heron, [1.0, 1.0], [second[0] * second[0] + 1.0], 60, 1)
    known = call("square sum", square_sum, [2.0, 1.0])
    return [*first, *second, again[0] * 2.0, root, known[0], where(root > 1.2, second[1], first[0])]


def by_numpy(x):
    with np.errstate(all="ignore"):
        return np.stack(np.broadcast_arrays(*law(list(x.T))), axis=-1)


def long_law(x):
    """Many operations before, between and after calls, so that a kernel is divided into pieces."""
    values = list(x)
    for k in range(250):
        values.append(values[-1] * 0.5 + sin(values[-2]) * (1.0 / (k + 2.0)))
        if k % 50 == 7:
            values += call("square sum", square_sum, [values[-5], values[-9]])
    return [sum(values[k::7], 0.0) for k in range(7)] + call("nested", nested, [values[3], values[-1]])


STATES = np.random.default_rng(3).normal(size=(37, 2))


@pytest.mark.parametrize("cpu", ["", "x86-64-v3", "x86-64-v2"])
@pytest.mark.parametrize("text", [law, long_law])
def test_calls_compute_what_is_written(cpu, text):
    traced = trace(text, [2], lambda x: x)
    kernel = Kernel("t", lambda: traced, traced.lengths, traced.shape, target=host.target(cpu))
    batch = kernel(STATES)
    expected = np.stack(np.broadcast_arrays(*text(list(STATES.T))), axis=-1)
    assert np.allclose(batch, expected, rtol=1e-13, atol=1e-13)
    assert np.allclose([kernel(x) for x in STATES], batch, rtol=1e-14, atol=1e-14)
    assert np.allclose(kernel(STATES[5:8]), batch[5:8], rtol=0, atol=0)
    spoiled = STATES.copy()
    spoiled[4] = np.nan
    assert np.isnan(kernel(spoiled)[4]).any()
    assert np.array_equal(np.delete(kernel(spoiled), 4, 0), np.delete(batch, 4, 0))


def test_a_function_is_traced_and_counted_once_however_often_it_is_called():
    traced = trace(law, [2], lambda x: x)
    assert len(functions_of(traced.graph)) == 3
    again = trace(law, [2], lambda x: x)
    assert repr(again.graph.values) == repr(traced.graph.values)  # the key of the cache
    other = trace(lambda x: call("square sum", lambda y: [y[0], y[1] + 1.0], x), [2], lambda x: x)
    one = trace(lambda x: call("square sum", lambda y: [y[0], y[1] + 2.0], x), [2], lambda x: x)
    assert repr(other.graph.values) != repr(one.graph.values)


def test_graphs_without_calls_give_the_same():
    traced = trace(law, [2], lambda x: x)
    g = traced.graph
    assert all(g.kinds[i] != "call" for i in g.reachable(written_out(g, traced.outputs)))
    expected = by_numpy(STATES)
    assert np.allclose([evaluate(g, traced.outputs, x) for x in STATES], expected, rtol=1e-13)
    assert count(g, traced.outputs).square_roots == 2  # of two different numbers


def test_derivatives_go_through_calls():
    traced = trace(law, [2], lambda x: x)
    rows = jacobian(traced.graph, traced.outputs, [traced.graph.input(0), traced.graph.input(1)])
    flat = [x for row in rows for x in row]
    h = 1e-6
    for x in STATES[:4]:
        found = evaluate(traced.graph, flat, x).reshape(-1, 2)
        for k in range(2):
            ahead, behind = (evaluate(traced.graph, traced.outputs, x + s * h * np.eye(2)[k]) for s in (1, -1))
            assert np.allclose(found[:, k], (ahead - behind) / (2 * h), atol=2e-6 * np.abs(found).max())


def test_a_lane_that_is_done_does_not_depend_on_the_others():
    traced = trace(lambda x: repeat("heron", heron, [1.0, 1.0], [x[0]], 60, 1), [1], lambda x: x)
    kernel = Kernel("t", lambda: traced, traced.lengths, traced.shape)
    x = np.geomspace(1.0, 1e12, 24)[:, None]
    assert np.array_equal(kernel(x), np.concatenate([kernel(y[None]) for y in x]))
    assert np.allclose(kernel(x)[:, 0], np.sqrt(x[:, 0]), rtol=1e-15)
