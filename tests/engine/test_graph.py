"""Sums of sums as chains of fused operations."""

import numpy as np
import pytest

from kinetree.engine.fuse import flatten_sums, fuse
from kinetree.engine.graph import Graph, Node
from kinetree.engine.interpret import evaluate
from kinetree.spatial import where


def test_sums_of_sums_become_chains_of_fused_operations():
    graph = Graph()
    a, b, c, d, e, f, g, h, k = (Node(graph, graph.input(i)) for i in range(9))
    total = ((a * b + c * d) + (e * f - g * h)) - (k - a)
    flat, out = fuse(*flatten_sums(graph, [total.index]))
    kinds = [kind for kind in flat.kinds if kind not in ("input", "neg")]
    assert sorted(kinds) == ["fma"] * 4 + ["sub"]
    values = np.random.default_rng(2).uniform(-1.0, 1.0, 9)
    np.testing.assert_allclose(evaluate(flat, out, values), evaluate(graph, [total.index], values), rtol=1e-14)


def test_a_sum_that_is_needed_by_itself_stays():
    graph = Graph()
    a, b, c = (Node(graph, graph.input(i)) for i in range(3))
    inner = a + b
    flat, out = flatten_sums(graph, [inner.index, (inner + c).index, (inner - c).index])
    assert sorted(kind for kind in flat.kinds if kind != "input") == ["add", "add", "sub"]
    assert list(evaluate(flat, out, [1.0, 2.0, 5.0])) == [3.0, 8.0, -2.0]


def test_equality_of_traced_values_is_a_guess_for_if_and_no_condition():
    """Recursions leave work out by it; a law that chose by it had one answer for all states."""
    graph = Graph()
    a, b = (Node(graph, graph.input(i)) for i in range(2))
    assert a == a
    assert a != b
    assert not a == 1.0  # noqa: SIM201 - both ways are asked
    assert {a: 1, b: 2}[b] == 2
    for chooses in (lambda: where(a == 1.0, a, b), lambda: (a < b) & (a != 1.0), lambda: (a == b) * 2.0):
        with pytest.raises(TypeError, match="cannot be a condition"):
            chooses()
