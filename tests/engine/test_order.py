"""Orders of operations: the same operations on the same operands, fewer values waiting."""

import itertools

import numpy as np

import kinetree as kt
from kinetree.engine import fuse, order
from kinetree.engine.graph import CONST, INPUT
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.trace import trace


def passes(cells):
    """Return a law in two passes over cells, each of which needs its neighbor only."""

    def law(x):
        squares = [a * b + 0.1 for a, b in itertools.pairwise(x)]
        first = [s * a - s / (1.5 + s * a) for s, a in zip(squares, x, strict=False)]
        second = [f * s + f for f, s in zip(first, squares, strict=True)]
        total = 0.0
        for a, b in zip(second, first, strict=True):
            total = total + a * b
        return [total, *second]

    return trace(law, (cells,), list)


def written(graph, outputs):
    """Return what each output is computed from, whatever the numbers of the nodes."""
    seen = {}
    for i in range(len(graph)):
        value = graph.values[i] if graph.kinds[i] in (CONST, INPUT) else ""
        seen[i] = hash((graph.kinds[i], str(value), tuple(seen[a] for a in graph.args[i])))
    return [seen[o] for o in outputs]


def mean_waiting(graph, outputs):
    usual = [i for i in graph.reachable(outputs) if graph.args[i]]
    return order._waiting(graph, usual) / len(usual)


def test_passes_over_neighbors_become_one_pass():
    traced = passes(300)
    graph, outputs = order.with_short_waits(traced.graph, traced.outputs)
    assert graph.in_short_waits
    assert written(graph, outputs) == written(traced.graph, traced.outputs)
    assert all(a < i for i, own in enumerate(graph.args) for a in own)
    assert mean_waiting(graph, outputs) < 20 < 200 < mean_waiting(traced.graph, traced.outputs)


def test_an_order_that_hardly_helps_is_not_taken():
    def law(x):  # every product needs all sums, so all of these have to wait
        sums = [a + b for a, b in itertools.pairwise(x)]
        whole = sums[0]
        for s in sums[1:]:
            whole = whole + s
        return [whole * s for s in sums]

    traced = trace(law, (400,), list)
    assert mean_waiting(traced.graph, traced.outputs) > order.FEWEST_WAITING
    graph, outputs = order.with_short_waits(traced.graph, traced.outputs)
    assert graph is traced.graph
    assert outputs == traced.outputs


def test_short_code_stays_in_its_order():
    traced = passes(20)
    assert order.with_short_waits(traced.graph, traced.outputs)[0] is traced.graph


def test_the_order_changes_no_bit_of_a_result(monkeypatch):
    x = np.random.default_rng(0).normal(size=(9, 300))
    found = Kernel("ordered", lambda: passes(300), (300,), (300,))
    monkeypatch.setattr(fuse, "with_short_waits", lambda graph, outputs: (graph, outputs))
    as_traced = Kernel("as traced", lambda: passes(300), (300,), (300,))
    assert not as_traced._fused.graph.in_short_waits
    assert found(x[0]).shape == (300,)
    np.testing.assert_array_equal(found(x), as_traced(x))
    np.testing.assert_array_equal(found(x[4]), as_traced(x)[4])


def test_many_loops_in_a_row_are_computed_loop_by_loop():
    robot = kt.gallery.four_bar_chain(30).with_backend("compiled")
    pivots = robot.coordinates.pivots
    for name, options in (("inverse", {"pivots": pivots, "friction": False}), ("forward", {"pivots": pivots})):
        traced = robot.evaluator.compiler.trace(f"clustered_{name}_dynamics", options)
        graph, outputs = fuse.prepare(traced.graph, traced.outputs, True)
        assert graph.in_short_waits
        assert mean_waiting(graph, outputs) < 0.75 * mean_waiting(
            *fuse.fuse(*fuse.flatten_sums(traced.graph, traced.outputs))
        )
