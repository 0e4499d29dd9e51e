"""WebAssembly does what machine code does: the same bits as processors without fused multiply-add."""

import numpy as np
import pytest

from helpers.node import exports, needs_node, run
from kinetree.engine.graph import Node
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.kernels.step_kernel import trace_stages
from kinetree.engine.llvm import host
from kinetree.engine.trace import trace
from kinetree.engine.wasm_object import linked
from kinetree.engine.webassembly import WasmFunction, _object, module

f = Node.scalar_functions

STRANGE = [0.0, -0.0, 1e-310, 1.0, -1.0, 0.5, 2.0, 1e5, 3e9, 1e14, 1e16, 1e300, np.inf, -np.inf, np.nan, np.pi, 40000.0]


def plain(x, y):
    """Every kind of operation, and sums of products that must not be fused."""
    smaller = f.where(x[0] < y[0], x[0], y[0])
    return [
        x[0] + y[0], x[0] - y[0], x[0] * y[0], x[0] / y[0], -x[0], abs(x[0]), f.sqrt(x[0]), f.sin(x[0]), f.cos(y[0]),
        f.sin(x[0] * y[0]), f.arctan2(x[0], y[0]), smaller, x[0] * y[0] + x[0] * x[0] - y[0] * 0.1, x[0] - x[0] * 0.3,
    ]  # fmt: skip


def with_tables(x, y):
    """Functions that look numbers up."""
    return [f.exp(x[0]), f.log(y[0]), f.tanh(x[0] - y[0])]


def same(a, b):
    """Whether bits agree; NaNs are alike."""
    return np.all((a.view(np.int64) == b.view(np.int64)) | (np.isnan(a) & np.isnan(b)))


def unfused(traced):
    """The same graph as machine code without fused multiply-add, where this processor has such code."""
    if host.architecture() != "x86-64":
        pytest.skip("needs code without fused multiply-add to compare bits with")
    graph = traced.graph
    return Kernel("test", lambda: traced, traced.lengths, traced.shape, None, target=host.target("x86-64-v2"),
                  tables=graph.tables)  # fmt: skip


@needs_node
@pytest.mark.parametrize("law", [plain, with_tables])
def test_bits_are_those_of_machine_code_also_of_strange_numbers(law):
    traced = trace(law, (1, 1), lambda x: x)
    x, y = (a.ravel() for a in np.meshgrid(STRANGE, STRANGE))
    more = np.random.default_rng(0).standard_normal((1000, 2)) * 10.0 ** np.random.default_rng(1).integers(
        -3, 9, (1000, 2)
    )
    states = np.concatenate([np.column_stack([x, y]), more])
    (n,) = traced.shape
    (many,) = run(module([WasmFunction("law", traced, many=True)]), ("law_many", states, n))
    expected = unfused(traced)(states[:, :1], states[:, 1:])
    for k in range(n):
        assert same(many[:, k], expected[:, k]), k


@needs_node
def test_one_state_and_many_are_alike_and_an_odd_one_is_not_forgotten():
    traced = trace(plain, (1, 1), lambda x: x)
    code = module([WasmFunction("law", traced, many=True), WasmFunction("alone", traced)])
    states = np.random.default_rng(2).standard_normal((7, 2))
    (n,) = traced.shape
    many, *ones = run(code, ("law_many", states, n), *(("law", state, n) for state in states))
    assert same(many, np.array(ones))
    (first,) = run(code, ("law_many", states[:1], n))
    assert same(first, many[:1])
    assert sorted(exports(code)) == ["alone", "heap", "law", "law_many", "memory"]


@needs_node
@pytest.mark.slow
def test_code_that_is_too_long_for_one_function_is_divided():
    def long(x):
        total, values = 0.0, list(x)
        for k in range(7000):
            values.append(values[-1] * values[-2] - (0.1 + 1e-4 * k) * f.sin(values[k % 3]))
            total = total + values[-1]
        return [total, values[-1]]

    traced = trace(long, (3,), lambda x: x)
    assert len(traced.graph) > 20_000
    states = np.random.default_rng(3).uniform(-0.5, 0.5, (3, 3))
    (many,) = run(module([WasmFunction("law", traced, many=True)]), ("law_many", states, 2))
    np.testing.assert_array_equal(many, unfused(traced)(states))


@needs_node
def test_many_steps_of_a_law_stay_in_the_module():
    """A pendulum by the midpoint rule, a parameter in it: against the same formula in Python."""

    def rate(question, p):
        return [
            question[1],
            -p[0] * f.sin(question[0]) if isinstance(question[0], Node) else -p[0] * np.sin(question[0]),
        ]

    def advance(ask, t, state, h, p):
        first = ask(list(state))
        middle = [x + 0.5 * h * d for x, d in zip(state, first, strict=True)]
        return [x + h * d for x, d in zip(state, ask(middle), strict=True)]

    code = module([WasmFunction("steps", trace_stages(advance, rate, 2, 2, 1, 2), many=True)])
    starts = np.array([[0.5, 0.0], [1.5, 0.2], [3.0, -1.0]])
    given = np.column_stack([np.zeros(3), np.full(3, 0.01), np.full(3, 400), starts, np.full(3, 9.81)])
    (found,) = run(code, ("steps_many", given, 2))
    for start, end in zip(starts, found, strict=True):
        state = list(start)
        for _ in range(400):
            state = advance(lambda question: rate(question, [9.81]), 0.0, state, 0.01, [9.81])
        np.testing.assert_allclose(end, state, rtol=1e-11)


def test_what_cannot_be_is_refused():
    traced = trace(plain, (1, 1), lambda x: x)
    for name in ("two words", "1st", "law_many", ""):
        with pytest.raises(ValueError, match="name"):
            module([WasmFunction(name, traced)])
    outside = 'target triple = "wasm32-unknown-unknown"\ndeclare double @elsewhere(double)\n' \
        "define double @f(double %x) {\n %y = call double @elsewhere(double %x)\n ret double %y\n}\n"  # fmt: skip
    with pytest.raises(host.CompilationError, match="elsewhere"):
        linked(_object(outside), {"f"})
    with pytest.raises(host.CompilationError, match="no WebAssembly"):
        _object("define nonsense")
