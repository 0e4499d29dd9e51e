"""Graphs that are linear in some inputs, in two parts, against the graphs themselves."""

import math

import numpy as np
import pytest

from kinetree.engine.differentiate import reverse
from kinetree.engine.graph import Graph, Node, inputs, outputs
from kinetree.engine.interpret import evaluate
from kinetree.engine.linear_parts import split_linear


def where(condition, yes, no):
    return Node.scalar_functions.where(condition, yes, no)


def law(x, w):
    """Return sums that are linear in w, with factors that follow one another, choices, quotients and signs."""
    a, b, c = x
    chosen = where(a < b, w[0] * b, w[1] / c)
    guarded = where(c < 0.0, w[2] * Node.scalar_functions.sqrt(-c), 0.0)
    return [2.0 * (a * (b * w[0])) - w[1], -(chosen + guarded) * c, w[2] - w[2] * a, chosen, 0.0 * w[0]]


@pytest.mark.parametrize("x", [(0.3, 0.7, -0.4), (0.9, -0.2, 1.3), (-1.0, -1.0, 2.0)])
def test_coefficients_times_what_they_are_linear_in_are_the_graph_again(x):
    graph = Graph()
    given = inputs(graph, 6)
    found = outputs(graph, law(given[:3], given[3:]))
    w = [0.4, -1.1, 0.8]
    expected = evaluate(graph, found, [*x, *w])
    parts = split_linear(graph, found, 3, 3)
    coefficients = evaluate(graph, parts.coefficients, [*x, *[math.nan] * 3])  # they depend on nothing else
    assert np.allclose(evaluate(parts.sums, parts.outputs, [*w, *coefficients]), expected, rtol=1e-15, atol=1e-15)
    assert not {"div", "select", "sqrt", "less"} & {parts.sums.kinds[i] for i in parts.sums.reachable(parts.outputs)}


def test_what_is_not_linear_is_refused():
    graph = Graph()
    x, y = inputs(graph, 2)
    with pytest.raises(ValueError, match="not linear"):
        split_linear(graph, outputs(graph, [x * y]), 0, 2)


def test_gradients_stay_finite_in_branches_that_are_not_taken():
    """Where what multiplies a weight would be infinite, nothing is: the factor is cut off before it is multiplied."""
    graph = Graph()
    x, weight = inputs(graph, 2)
    root = where(x > 0.0, Node.scalar_functions.sqrt(x), 0.0)
    slope = reverse(graph, outputs(graph, [root]), [weight.index], [x.index])
    parts = split_linear(graph, slope, 1, 1)
    for at, expected in ((0.0, 0.0), (0.25, 1.0)):
        (factor,) = evaluate(graph, parts.coefficients, [at, math.nan])
        assert evaluate(parts.sums, parts.outputs, [1.0, factor])[0] == expected


def test_a_graph_put_into_another_is_simplified_there():
    inner, outer = Graph(), Graph()
    a, b = inputs(inner, 2)
    (x,) = inputs(outer, 1)
    found = outer.inlined(inner, outputs(inner, [a * b + b, a - a * b]), [x.index, outer.const(0.0)])
    assert [outer.kinds[k] for k in found] == ["const", "input"]
