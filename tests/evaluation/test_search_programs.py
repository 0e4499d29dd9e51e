"""Searches in machine code: each lane goes on for as long as it needs, whatever its neighbors do."""

from __future__ import annotations

import numpy as np
import pytest

from kinetree.engine.fuse import prepare
from kinetree.engine.graph import MUL, SIN, Graph, inputs
from kinetree.engine.interpret import evaluate
from kinetree.engine.kernels.search_kernel import trace_search
from kinetree.evaluation.law_kernels import SearchProgram
from kinetree.spatial import sin, where


def roots(compiled=True, cpu=""):
    """Square roots by Newton's method: a start, the number and when to stop; the state has root, steps and going."""

    def begin(start, parameters):
        return [start[0], 0.0, 1.0]

    def step(state, parameters):
        (x, steps, going), (number, tolerance) = state, parameters
        new = where(going > 0.0, 0.5 * (x + number / x), x)
        off = abs(new * new - number)
        return [new, steps + going, where(off > tolerance * number, going, 0.0)]

    return SearchProgram("roots", begin, step, (1, 1, 0, 1), 2, (0, 1), cpu, compiled)


@pytest.fixture(scope="module")
def numbers():
    return np.exp(np.random.default_rng(0).uniform(-20.0, 20.0, (53, 1)))


NOTHING, TOLERANCE = np.zeros(0), np.array([1e-14])


@pytest.mark.parametrize("cpu", ["", "x86-64-v3", "x86-64"])
def test_each_lane_as_long_as_it_needs(numbers, cpu):
    found = roots(cpu=cpu)(np.ones((53, 1)), (numbers, NOTHING, TOLERANCE), 100)
    np.testing.assert_allclose(found[:, :1], np.sqrt(numbers), rtol=1e-14)
    assert len(np.unique(found[:, 1])) > 3  # lanes differ in how many steps they take
    alone = np.array([roots(cpu=cpu)(np.ones(1), (x, NOTHING, TOLERANCE), 100) for x in numbers])
    np.testing.assert_array_equal(found, alone)


def test_threads_and_places_do_not_matter(numbers):
    search, many = roots(), np.tile(numbers, (40, 1))
    found = search(np.ones((len(many), 1)), (many, NOTHING, TOLERANCE), 100)
    np.testing.assert_array_equal(found, search(np.ones((len(many), 1)), (many, NOTHING, TOLERANCE), 100, threads=2))
    np.testing.assert_array_equal(found[7:60], search(np.ones((53, 1)), (many[7:60], NOTHING, TOLERANCE), 100))


def test_no_more_steps_than_allowed(numbers):
    few = roots()(np.ones((53, 1)), (numbers, NOTHING, TOLERANCE), 3)
    assert few[:, 1].max() == 3.0
    assert roots()(np.ones(1), (numbers[0], NOTHING, TOLERANCE), 0).tolist() == [1.0, 0.0]


def test_as_written(numbers):
    written = roots(compiled=False)(np.ones((53, 1)), (numbers, NOTHING, TOLERANCE), 100)
    made = roots()(np.ones((53, 1)), (numbers, NOTHING, TOLERANCE), 100)
    np.testing.assert_allclose(written[:, 0], made[:, 0], rtol=1e-14)


def test_what_is_not_a_number_stops_alone(numbers):
    starts = np.ones((53, 1))
    starts[5] = np.nan
    found = roots()(starts, (numbers, NOTHING, TOLERANCE), 100)
    assert np.isnan(found[5, 0])
    assert found[5, 1] == 1.0
    usual = roots()(np.ones((53, 1)), (numbers, NOTHING, TOLERANCE), 100)
    np.testing.assert_array_equal(np.delete(found, 5, axis=0), np.delete(usual, 5, axis=0))


def test_straight_from_python(numbers):
    refused = []
    search = roots()
    quick = search.direct(lambda *given: refused.append(given))
    most = np.array([100.0])
    np.testing.assert_array_equal(
        quick(most, np.ones(1), numbers[3], TOLERANCE), search(np.ones(1), (numbers[3], NOTHING, TOLERANCE), 100)
    )
    quick(most, "text", numbers[3], TOLERANCE)
    assert len(refused) == 1


def test_what_parameters_alone_decide_is_found_once():
    """A condition is no number that could be kept: it is decided in each step, from numbers that are."""

    def begin(start, parameters):
        return [start[0], 1.0]

    def step(state, parameters):
        a, b = parameters
        slow = sin(a) * b + 2.0
        rate = where(slow < 2.5, slow, 0.5 * slow)
        x = where(slow < 2.5, rate, state[0] + (rate - state[0]) / 2.0)
        x = where(state[1] > 0.0, x, state[0])
        return [x, where(abs(rate - x) > 1e-3, state[1], 0.0)]

    search = trace_search(begin, step, (1, 2), 1, (0, 1))
    assert len(search.next) == 2
    assert len(search.first) == 4  # the state, slow and rate
    assert SIN not in {search.step.kinds[i] for i in search.step.reachable(search.next)}
    given = np.random.default_rng(0).uniform(-2.0, 2.0, (37, 2))
    written, made = (
        SearchProgram("halves", begin, step, (1, 2), 1, (0, 1), compiled=compiled)(np.ones((37, 1)), (given,), 50)
        for compiled in (False, True)
    )
    np.testing.assert_allclose(made, written, rtol=1e-14)


def test_long_sums_are_made_of_several_chains():
    """Every chain begins with a product; the terms and their signs stay."""
    graph = Graph()
    x = inputs(graph, 40)
    total = sum((a * b if k % 3 else -(a * b) for k, (a, b) in enumerate(zip(x[:20], x[20:], strict=True))), 0.0)
    values = np.random.default_rng(0).standard_normal(40)
    results = {}
    for longest, chains in ((None, 1), (8, 3), (20, 1)):
        new, (out,) = prepare(graph, [total.index], True, longest)
        assert new.kinds.count(MUL) == chains
        results[longest] = evaluate(new, [out], values)
    products = values[:20] * values[20:] * np.where(np.arange(20) % 3, 1.0, -1.0)
    np.testing.assert_allclose([float(x[0]) for x in results.values()], products.sum(), rtol=1e-13)
