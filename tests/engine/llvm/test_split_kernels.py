"""Long kernels in pieces; equal results kept once."""

import time
from dataclasses import replace

import numpy as np
import pytest

from kinetree.engine.graph import Node
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.llvm import emit, host, split_kernels
from kinetree.engine.trace import trace

functions = Node.scalar_functions


@pytest.fixture(params=[16, 32], autouse=True)
def registers(request, monkeypatch):
    """Kernels for few vector registers are always divided, others where they are long; both work on every processor."""
    usual = host.Machine.vectors
    monkeypatch.setattr(
        host.Machine, "vectors", lambda self, *single: replace(usual(self, *single), registers=request.param)
    )
    return request.param


def pieces_of(monkeypatch, size):
    for name in ("SHORTEST_PIECE", "LONGEST_PIECE"):
        monkeypatch.setattr(split_kernels, name, size)


def make(function, *lengths, single_precision=False):
    traced = trace(function, lengths, lambda v: v)
    return Kernel("test", lambda: traced, lengths, traced.shape, None, (), single_precision)


def busy(x, y):
    """Many operations with comparisons, sines, shared and repeated results, numbers and inputs."""
    total, results = x[0], []
    for k in range(60):
        limit = functions.where(x[k % 3] < y[0], total * y[1], functions.sin(total) + 0.5 * k)
        total = functions.sqrt(limit * limit + y[k % 2] * y[k % 2] + 1.0)
        results += [total, limit, total, 0.0, x[1], functions.where(x[k % 3] < y[0], limit, total)]
    return results


@pytest.mark.parametrize("size", [1, 7, 50])
def test_pieces_compute_what_the_whole_computes(monkeypatch, size):
    x, y = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 21, 3))
    whole = make(busy, 3, 3)(x, y)
    monkeypatch.setattr(emit, "LONGEST_BODY", 10)
    pieces_of(monkeypatch, size)
    pieces = make(busy, 3, 3)
    assert pieces._assembly("lanes").count("define internal void @piece") >= 300 // size
    np.testing.assert_array_equal(pieces(x, y), whole)


@pytest.mark.parametrize("size", [1, 7, 50])
def test_one_state_in_pieces(monkeypatch, size):
    x, y = np.random.default_rng(1).uniform(-1.0, 1.0, (2, 3))
    whole = make(busy, 3, 3)(x, y)
    monkeypatch.setattr(emit, "LONGEST_BODY", 10)
    pieces_of(monkeypatch, size)
    monkeypatch.setattr(split_kernels, "MOST_STORES", 13)
    pieces = make(busy, 3, 3)
    assert pieces._assembly("single").count("define internal void @piece") >= 300 // size + 120 // 13
    np.testing.assert_array_equal(pieces(x, y), whole)


def test_one_state_in_pieces_is_spoiled_by_nan_in_an_unused_input(monkeypatch):
    monkeypatch.setattr(emit, "LONGEST_BODY", 10)
    pieces_of(monkeypatch, 20)
    kernel = make(lambda x, y, z: busy(x, y), 3, 3, 2)
    x, y = np.random.default_rng(3).uniform(-1.0, 1.0, (2, 3))
    assert np.isfinite(kernel(x, y, np.ones(2))).all()
    assert np.isnan(kernel(x, y, np.array([1.0, np.nan]))).all()


def test_long_kernels_compile_in_time_that_grows_with_their_length():
    """Thousands of numbers among the results took LLVM seconds when they were in one function."""

    def sparse(x):
        total, results = x[0], []
        for k in range(17_000):
            total = total * x[1] + x[k % 3]
            results += [total] if k % 100 == 0 else [2.5] if k % 3 == 0 else []
        return results

    kernel = make(sparse, 3)
    text = kernel._assembly("single")
    operations = 16_901 * (1 if host.host().fused else 2)  # what comes behind the last result is left out
    piece = max(split_kernels.MOST_COMPARED // operations, split_kernels.SHORTEST_PIECE)
    assert text.count("define internal void @piece") == -(-operations // piece) + 12
    begin = time.process_time()
    host.assemble(text)
    assert time.process_time() - begin < 6.0


def test_equal_results_are_kept_once():
    kernel = make(lambda x: [x[0] + 1.0] * 500 + [0.0] * 500 + [x[0]], 1)
    assert kernel._assembly("lanes").count("store") == 3
    found = kernel(np.arange(21.0).reshape(21, 1))
    np.testing.assert_array_equal(found[:, :500], np.arange(1.0, 22.0)[:, None] + np.zeros(500))
    np.testing.assert_array_equal(found[:, 500:1000], np.zeros((21, 500)))
    np.testing.assert_array_equal(found[:, 1000], np.arange(21.0))


@pytest.mark.parametrize("longest", [10, 10**6])
def test_nan_in_an_unused_input_spoils_its_state_only(monkeypatch, longest):
    monkeypatch.setattr(emit, "LONGEST_BODY", longest)
    pieces_of(monkeypatch, 20)
    kernel = make(lambda x, y, z: busy(x, y), 3, 3, 2)
    x, y = np.random.default_rng(3).uniform(-1.0, 1.0, (2, 11, 3))
    z = np.ones((11, 2))
    z[4, 1] = np.nan
    found = kernel(x, y, z)
    assert np.isnan(found[4]).all()
    np.testing.assert_array_equal(np.delete(found, 4, axis=0), np.delete(make(busy, 3, 3)(x, y), 4, axis=0))


@pytest.mark.parametrize(("angles", "wanted"), [(1, 2), (3, 8)])
def test_a_sine_alone_has_room_for_its_cosine(angles, wanted):
    """Both are stored, whichever is wanted: memory of others must not be written to."""
    traced = trace(lambda x: [sum(functions.sin(a) for a in x)], (angles,), lambda v: v)
    plain = replace(host.host().vectors(), lanes=2, fused=False, masks=False, clears=False, registers=16)
    text = split_kernels.module_in_pieces(traced.graph, traced.outputs, plain, 0)
    room = int(text.partition("= alloca <2 x double>, i64 ")[2].partition(",")[0])
    assert room >= wanted
