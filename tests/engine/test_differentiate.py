"""Derivatives of graphs against a complex step, SymPy and known formulas. No robots here."""

import cmath
import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import sympy
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kinetree.engine.differentiate import (
    costs,
    differentiate,
    forward,
    jacobian,
    operations,
    partials,
    reverse,
    sparsity,
)
from kinetree.engine.fuse import fuse
from kinetree.engine.graph import KINDS, Graph, Node, inputs, outputs
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.trace import trace

functions = Node.scalar_functions
STEP = 1e-30

# ---------------------------------------------------------------- judges


def evaluate(graph, nodes, values):
    """Values of nodes, real or complex, with functions continued analytically from the real line."""
    rules = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b if b else (math.nan if a == 0 or a != a else math.inf),
        "neg": lambda a: -a,
        "fma": lambda a, b, c: a * b + c,
        "sqrt": cmath.sqrt,
        "sin": cmath.sin,
        "cos": cmath.cos,
        "atan2": lambda y, x: 2 * cmath.atan(y / (cmath.sqrt(x * x + y * y) + x)),
        "abs": lambda a: -a if complex(a).real < 0 else a,
        "less": lambda a, b: float(complex(a).real < complex(b).real),
        "select": lambda c, yes, no: yes if c else no,
    }
    known = []
    for kind, args, value in zip(graph.kinds, graph.args, graph.values, strict=True):
        if kind == "const":
            known.append(value)
        elif kind == "input":
            known.append(values[int(value)])
        else:
            known.append(rules[kind](*(known[a] for a in args)))
    return [known[n] for n in nodes]


def complex_step(graph, nodes, values):
    """Jacobian by rows, exact to rounding."""
    columns = []
    for k in range(len(values)):
        moved = [complex(v, STEP if i == k else 0.0) for i, v in enumerate(values)]
        columns.append([complex(x).imag / STEP for x in evaluate(graph, nodes, moved)])
    return np.array(columns).T


def numbers(graph, rows, values):
    flat = evaluate(graph, [x for row in rows for x in row], values)
    return np.real(np.array(flat, dtype=complex)).reshape(len(rows), -1)


def agree(actual, expected, tolerance=1e-9):
    scale = max(np.max(np.abs(expected)), 1e-3)
    assert np.max(np.abs(actual - expected)) <= tolerance * scale


# ---------------------------------------------------------------- random functions

UNARY = ("neg", "sin", "cos", "sqrt", "abs")
BINARY = ("add", "sub", "mul", "div", "atan2")
VALUES = st.floats(-2.0, 2.0).map(lambda x: round(x, 3))


@st.composite
def recipes(draw, inputs_=3, kinds=(*UNARY, *BINARY, "where")):
    """A function as a list of operations on earlier results."""
    steps = []
    count = inputs_
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(kinds))
        arity = 1 if kind in UNARY else 4 if kind == "where" else 2
        steps.append((kind, tuple(draw(st.integers(0, count - 1)) for _ in range(arity))))
        count += 1
    return steps


class SympyFunctions:
    sin, cos, sqrt, arctan2 = sympy.sin, sympy.cos, sympy.sqrt, sympy.atan2

    @staticmethod
    def where(condition, yes, no):
        return sympy.Piecewise((yes, condition), (no, True))


def cook(steps, arguments, functions, magnitude=abs):
    """Run a recipe on any scalars; square roots and quotients are kept away from zero."""
    known = list(arguments)
    rules = {
        "neg": lambda a: -a,
        "sin": functions.sin,
        "cos": functions.cos,
        "sqrt": lambda a: functions.sqrt(a * a + 0.5),
        "abs": magnitude,
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / (b * b + 0.7),
        "atan2": lambda a, b: functions.arctan2(a, b * b + 0.3),
        "where": lambda a, b, c, d: functions.where(a < b, c, d),
    }
    for kind, args in steps:
        known.append(rules[kind](*(known[a] for a in args)))
    return known[len(arguments) :]


def prepared(steps, values):
    """Graph and outputs of a recipe; states at a kink or where numbers grow out of hand are not asked about."""
    graph = Graph()
    out = []
    for x in cook(steps, inputs(graph, len(values)), functions):
        out += outputs(graph, [x])
    everything = evaluate(graph, range(len(graph)), values)
    assume(all(abs(x) < 1e4 for x in everything))
    for kind, args in zip(graph.kinds, graph.args, strict=True):
        near = [everything[a] for a in args[:2]]
        if kind == "less":
            assume(abs(near[0] - near[1]) > 1e-6)
        if kind == "abs":
            assume(abs(near[0]) > 1e-6)
    return graph, out


MANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])


@MANY
@given(recipes(), st.tuples(VALUES, VALUES, VALUES), st.sampled_from(["forward", "reverse", "auto"]))
def test_random_functions_against_a_complex_step(steps, values, mode):
    graph, out = prepared(steps, values)
    expected = complex_step(graph, out, values)
    rows = jacobian(graph, out, [graph.input(k) for k in range(3)], mode)
    agree(numbers(graph, rows, values), expected)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(recipes(2), st.tuples(VALUES, VALUES))
def test_random_functions_against_sympy(steps, values):
    graph, out = prepared(steps, values)
    symbols = sympy.symbols("x y", real=True)
    last = cook(steps, symbols, SympyFunctions, lambda a: sympy.Piecewise((-a, sympy.sympify(a) < 0), (a, True)))[-1]
    at = {s: sympy.Float(v, 40) for s, v in zip(symbols, values, strict=True)}
    expected = [float(sympy.re(sympy.N(sympy.diff(last, s).subs(at), 30))) for s in symbols]
    for mode in ("forward", "reverse"):
        rows = jacobian(graph, out[-1:], [graph.input(0), graph.input(1)], mode)
        agree(numbers(graph, rows, values)[0], np.array(expected))


@MANY
@given(recipes(), st.tuples(VALUES, VALUES, VALUES))
def test_graphs_with_fused_operations_have_the_same_derivatives(steps, values):
    graph, out = prepared(steps, values)
    fused, moved = fuse(graph, out)
    for mode in ("forward", "reverse"):
        expected = jacobian(graph, out, [graph.input(k) for k in range(3)], mode)
        actual = jacobian(fused, moved, [fused.input(k) for k in range(3)], mode)
        agree(numbers(fused, actual, values), numbers(graph, expected, values))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(recipes(2, ("neg", "sin", "cos", "sqrt", "add", "sub", "mul", "div", "atan2")), st.tuples(VALUES, VALUES))
def test_second_derivatives(steps, values):
    """The gradient, differentiated forward and backward, against a complex step through the gradient."""
    graph, out = prepared(steps, values)
    wrt = [graph.input(0), graph.input(1)]
    gradient = reverse(graph, out[-1:], [graph.const(1.0)], wrt)
    expected = complex_step(graph, gradient, values)
    assume(np.max(np.abs(expected)) < 1e4)
    for mode in ("forward", "reverse"):
        hessian = numbers(graph, jacobian(graph, gradient, wrt, mode), values)
        agree(hessian, expected)
        agree(hessian, hessian.T)


# ---------------------------------------------------------------- every kind of node

POINT = (0.7, -1.3, 0.4)
FORMULAS = {
    "add": (lambda g, a, b, c: g.add(a, b), lambda x, y, z: (1, 1)),
    "sub": (lambda g, a, b, c: g.sub(a, b), lambda x, y, z: (1, -1)),
    "mul": (lambda g, a, b, c: g.mul(a, b), lambda x, y, z: (y, x)),
    "div": (lambda g, a, b, c: g.div(a, b), lambda x, y, z: (1 / y, -x / y**2)),
    "neg": (lambda g, a, b, c: g.neg(b), lambda x, y, z: (-1,)),
    "fma": (lambda g, a, b, c: g.node("fma", a, b, c), lambda x, y, z: (y, x, 1)),
    "sqrt": (lambda g, a, b, c: g.sqrt(a), lambda x, y, z: (0.5 / math.sqrt(x),)),
    "sin": (lambda g, a, b, c: g.sin(b), lambda x, y, z: (math.cos(y),)),
    "cos": (lambda g, a, b, c: g.cos(b), lambda x, y, z: (-math.sin(y),)),
    "atan2": (lambda g, a, b, c: g.atan2(a, b), lambda x, y, z: (y / (x * x + y * y), -x / (x * x + y * y))),
    "abs": (lambda g, a, b, c: g.abs(b), lambda x, y, z: (-1,)),
    "less": (lambda g, a, b, c: g.less(a, b), lambda x, y, z: (0, 0)),
}


@pytest.mark.parametrize("kind", FORMULAS)
def test_partial_derivatives_by_formula(kind):
    graph = Graph()
    node, formula = FORMULAS[kind][0](graph, *(graph.input(k) for k in range(3))), FORMULAS[kind][1]
    assert graph.kinds[node] == kind
    np.testing.assert_allclose(np.real(evaluate(graph, partials(graph, node), POINT)), formula(*POINT), rtol=1e-15)


def test_no_kind_of_node_is_forgotten():
    assert set(FORMULAS) | {"select", "gather", "call"} == set(KINDS) - {"const", "input"}


def test_a_kind_nobody_knows_is_refused():
    graph = Graph()
    node = graph.node("floor", graph.input(0))
    with pytest.raises(NotImplementedError, match="floor"):
        forward(graph, [node], {graph.input(0): graph.const(1.0)})


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("x", [0.0, -0.5, 0.5])
def test_magnitude_counts_zero_as_positive(mode, x):
    graph = Graph()
    node = graph.abs(graph.input(0))
    assert numbers(graph, jacobian(graph, [node], [graph.input(0)], mode), [x]) == (-1.0 if x < 0 else 1.0)


# ---------------------------------------------------------------- branches that are not taken


def sinc(x):
    """sin(x)/x with its series near zero; at zero the other branch is 0/0 and its derivative worse."""
    return functions.where(abs(x) < 1e-3, 1.0 - x * x * (1.0 / 6.0), functions.sin(x) / x)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_the_branch_that_is_not_taken_does_no_harm(mode):
    graph = Graph()
    x, y = inputs(graph, 2)
    nested = functions.where(y < 0.0, functions.sqrt(y - 1.0) / x, sinc(x) * y)
    shared = sinc(x) * sinc(x) + sinc(x)
    rows = jacobian(graph, [nested.index, shared.index], [x.index, y.index], mode)
    found = numbers(graph, rows, [0.0, 0.7])
    np.testing.assert_allclose(found, [[0.0, 1.0], [0.0, 0.0]], atol=1e-15)
    slope = math.cos(0.5) / 0.5 - math.sin(0.5) / 0.25
    found = numbers(graph, rows, [0.5, 0.7])
    value = math.sin(0.5) / 0.5
    np.testing.assert_allclose(found, [[0.7 * slope, value], [(2 * value + 1) * slope, 0.0]], rtol=1e-14)


def test_a_branch_used_elsewhere_too_is_not_cut_off():
    """A node under a condition for one use and bare for another must answer for both."""
    graph = Graph()
    x, y = inputs(graph, 2)
    inner = functions.sin(x)
    total = functions.where(y < 0.0, inner * 2.0, y) + inner
    for mode in ("forward", "reverse"):
        rows = jacobian(graph, [total.index], [x.index, y.index], mode)
        np.testing.assert_allclose(numbers(graph, rows, [0.3, 1.0]), [[math.cos(0.3), 1.0]], rtol=1e-15)
        np.testing.assert_allclose(numbers(graph, rows, [0.3, -1.0]), [[3 * math.cos(0.3), 0.0]], rtol=1e-15)


# ---------------------------------------------------------------- directions, weights, independent nodes


def test_forward_takes_any_direction():
    graph = Graph()
    x, y, r = inputs(graph, 3)
    out = outputs(graph, [x * y, functions.sin(x)])
    rates = forward(graph, out, {x.index: r.index, y.index: (r * r).index})
    values = [0.4, 1.7, -0.6]
    expected = [1.7 * -0.6 + 0.4 * 0.36, math.cos(0.4) * -0.6]
    np.testing.assert_allclose(np.real(evaluate(graph, rates, values)), expected, rtol=1e-15)


def test_reverse_weighs_outputs():
    graph = Graph()
    x, y, w = inputs(graph, 3)
    out = outputs(graph, [x * y, functions.sin(x)])
    gradient = reverse(graph, out, [w.index, graph.const(3.0)], [x.index, y.index])
    found = np.real(evaluate(graph, gradient, [0.4, 1.7, -0.6]))
    np.testing.assert_allclose(found, [-0.6 * 1.7 + 3 * math.cos(0.4), -0.6 * 0.4], rtol=1e-15)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_inner_nodes_can_be_the_variables(mode):
    """With respect to x and s = sin x as if they had nothing to do with one another."""
    graph = Graph()
    (x,) = inputs(graph, 1)
    s = functions.sin(x)
    rows = jacobian(graph, [(s * s * x).index], [x.index, s.index], mode)
    sine = math.sin(0.8)
    np.testing.assert_allclose(numbers(graph, rows, [0.8]), [[sine**2, 2 * sine * 0.8]], rtol=1e-15)


def test_an_output_that_is_an_input_or_a_number():
    graph = Graph()
    x, y = (graph.input(k) for k in range(2))
    for mode in ("forward", "reverse", "auto"):
        rows = jacobian(graph, [x, graph.const(3.0), x], [x, y], mode)
        np.testing.assert_array_equal(numbers(graph, rows, [1.0, 2.0]), [[1, 0], [0, 0], [1, 0]])
    assert jacobian(graph, [], [x]) == []
    assert jacobian(graph, [x], []) == [[]]


# ---------------------------------------------------------------- sparsity and cost


def chain(xs):
    """Each output depends on two neighbors."""
    return [functions.sin(a * b) + b / (a * a + 1.0) for a, b in pairwise(xs)]


def test_zeros_of_structure_are_exact_and_cost_nothing():
    n = 40
    traced = trace(chain, (n,), list)
    graph, wrt = traced.graph, [traced.graph.input(k) for k in range(n)]
    assert sparsity(graph, traced.outputs, wrt) == [{k, k + 1} for k in range(n - 1)]
    zero = graph.const(0.0)
    for mode in ("forward", "reverse"):
        rows = jacobian(graph, traced.outputs, wrt, mode)
        for k, row in enumerate(rows):
            assert [j for j, x in enumerate(row) if x != zero] == [k, k + 1]
        assert operations(graph, [x for row in rows for x in row]) <= 25 * n


@MANY
@given(recipes(), st.tuples(VALUES, VALUES, VALUES))
def test_sparsity_leaves_no_dependence_out(steps, values):
    graph, out = prepared(steps, values)
    pattern = sparsity(graph, out, [graph.input(k) for k in range(3)])
    for row, allowed in zip(complex_step(graph, out, values), pattern, strict=True):
        assert {int(k) for k in np.flatnonzero(row)} <= allowed


def test_the_cheaper_way_is_taken():
    n = 30

    def product(xs):
        total = xs[0]
        for x in xs[1:]:
            total = total * functions.sin(x)
        return [total]

    def fan(xs):
        x = functions.sin(xs[0])
        return [x := x * functions.cos(x) for _ in range(n)]

    for function, count, cheap in ((product, n, "reverse"), (fan, 1, "forward")):
        sizes = {}
        for mode in ("forward", "reverse", "auto"):
            traced = trace(function, (count,), list)
            sizes[mode] = operations(traced.graph, differentiate(traced, mode).outputs)
        assert sizes["auto"] == sizes[cheap] == min(sizes.values()) < max(sizes.values())
        by_columns, by_rows = costs(traced.graph, traced.outputs, [traced.graph.input(k) for k in range(count)])
        assert (by_rows < by_columns) == (cheap == "reverse")


@MANY
@given(recipes(), st.tuples(VALUES, VALUES, VALUES))
def test_auto_is_never_dearer_than_the_best_of_both_by_much(steps, values):
    graph, out = prepared(steps, values)
    wrt = [graph.input(k) for k in range(3)]
    size = {m: operations(graph, [x for row in jacobian(graph, out, wrt, m) for x in row])
            for m in ("forward", "reverse", "auto")}  # fmt: skip
    assert size["auto"] in (size["forward"], size["reverse"])
    by_columns, by_rows = costs(graph, out, wrt)
    if by_columns <= 4 * by_rows and by_rows <= 4 * by_columns:
        assert size["auto"] == min(size.values())


def test_a_gradient_costs_a_few_times_the_function():
    """Whatever the number of inputs (Baur and Strassen)."""
    for n in (10, 100, 1000):
        traced = trace(lambda xs: [sum((functions.sin(x) * y for x, y in pairwise(xs)), 0.0)], (n,), list)
        plain = operations(traced.graph, traced.outputs)
        whole = operations(traced.graph, [*traced.outputs, *differentiate(traced, "reverse").outputs])
        assert whole <= 3 * plain


def test_an_unknown_mode_is_named():
    graph = Graph()
    with pytest.raises(ValueError, match=r"forwards.*forward"):
        jacobian(graph, [graph.input(0)], [graph.input(0)], "forwards")


# ---------------------------------------------------------------- as machine code


def test_compiled_derivatives_of_a_batch():
    def function(x, y):
        inverse = 1.0 / (x[0] * x[0] + 2.0)
        return [[functions.sin(x[0] * y[0]) * inverse, functions.sqrt(y[1] + 3.0)],
                [functions.where(x[1] < y[0], x[1] * y[1], y[0] / (x[1] + 5.0)), abs(x[0] - y[1])]]  # fmt: skip

    for mode in ("forward", "reverse"):
        traced = trace(function, (2, 2), lambda nested: nested)
        derived = differentiate(traced, mode)
        assert derived.shape == (2, 2, 4)
        kernel = Kernel("derivative", lambda d=derived: d, (2, 2), derived.shape)
        x, y = np.random.default_rng(0).uniform(-2.0, 2.0, (2, 50, 2))
        found = kernel(x, y)
        for k in range(50):
            expected = complex_step(traced.graph, traced.outputs, [*x[k], *y[k]]).reshape(2, 2, 4)
            np.testing.assert_allclose(found[k], expected, rtol=1e-13, atol=1e-15)


def test_derivatives_share_what_the_function_has():
    """Sines and cosines of a rotation are not computed again."""
    traced = trace(lambda x: [functions.sin(x[0]) * x[1], functions.cos(x[0]) * x[1]], (2,), list)
    derived = differentiate(traced)
    needed = traced.graph.reachable([*traced.outputs, *derived.outputs])
    kinds = Counter(traced.graph.kinds[i] for i in needed)
    assert kinds["sin"] == kinds["cos"] == 1
    assert kinds["mul"] == 2
