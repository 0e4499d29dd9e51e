"""Memory of large results: used again when nobody holds it, never before, and not without bounds."""

import ctypes
import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from kinetree.engine import result_memory
from kinetree.engine.kernels import Kernel, trace
from kinetree.engine.kernels.direct_call import DirectCall, available
from kinetree.engine.llvm import host
from kinetree.engine.llvm.kept_memory import KEPT, PAGE
from kinetree.engine.result_memory import LARGE, empty, handler

pytestmark = pytest.mark.skipif(not (host.host().supported and handler()[0]), reason="no memory is kept here")

COUNT = 10 * LARGE // 8


def place(array):
    return array.__array_interface__["data"][0]


def held():
    """Bytes that are kept."""
    return ctypes.c_int64.from_address(ctypes.addressof(handler()[1][1]) + KEPT.at["held"]).value


@pytest.fixture(autouse=True)
def nothing_kept():
    gc.collect()
    for size in (3, 5, 9, 17, 33, 65, 90, 110):  # blocks of the tests take the places of others
        empty((size * PAGE // 8,), float)


def test_memory_that_nobody_holds_is_used_again():
    first = empty((COUNT,), float)
    first[:] = 1.0
    where, before = place(first), held()
    del first
    assert held() > before
    second = empty((COUNT // 2, 2), float)
    assert place(second) == where
    assert second.flags.owndata
    assert second.flags.carray


@pytest.mark.parametrize("pages", [1.1, 1.4, 2.1, 2.3, 3.2, 7.05])
def test_a_block_of_whole_pages_serves_the_size_that_it_was_made_for(pages):
    count = int(pages * PAGE) // 8
    first = empty((count,), float)
    where = place(first)
    del first
    assert place(empty((count,), float)) == where


def test_memory_that_a_view_holds_is_not():
    first = empty((COUNT,), float)
    view, where = first[5:9].reshape(2, 2), place(first)
    view[...] = 7.0
    del first
    others = [empty((COUNT,), float) for _ in range(3)]
    for other in others:
        other[:] = 0.0
    assert where not in map(place, others)
    assert (view == 7.0).all()
    assert len({place(other) for other in others}) == 3
    del view
    assert place(empty((COUNT,), float)) == where


def test_small_and_much_smaller_results_do_not_take_a_kept_block():
    first = empty((COUNT,), float)
    where = place(first)
    del first
    assert place(empty((100,), float)) != where
    assert place(empty((COUNT // 2,), float)) != where
    assert place(empty((COUNT + PAGE,), float)) != where
    assert place(empty((COUNT,), float)) == where


def test_what_is_kept_is_bounded(monkeypatch):
    state = ctypes.addressof(handler()[1][1])
    limit = ctypes.c_int64.from_address(state + KEPT.at["limit"])
    usual, limit.value = limit.value, 100 << 20
    try:
        several = [empty((COUNT,), float) for _ in range(6)]
        del several
        assert 0 < held() <= limit.value
        large = empty((limit.value // 8 + PAGE,), float)
        before = held()
        del large
        assert held() == before
    finally:
        limit.value = usual


def test_arrays_grow_shrink_and_move_between_threads():
    a = empty((COUNT,), float)
    a[:] = np.arange(COUNT)
    a.resize(2 * COUNT, refcheck=False)
    assert (a[:COUNT] == np.arange(COUNT)).all()
    a.resize(100, refcheck=False)
    assert (a == np.arange(100)).all()
    made, wrong = [], []

    def work(k):
        for _ in range(40):
            x = empty((COUNT,), float)
            x[::5000] = k
            made.append(x)
            wrong.extend([k] if (x[::5000] != k).any() else [])
            made.pop(0)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.skipif(not available(), reason="another interpreter layout")
def test_results_of_kernels_are_put_there_and_other_arrays_are_not():
    traced = trace(lambda x: [x[0] + k for k in range(40)], (1,), lambda v: v)
    k = Kernel("wide", lambda: traced, (1,), traced.shape)
    entry = DirectCall.make(k, k, "wide")
    entry.enable_batch()
    x = np.arange(40_000.0)[:, None]
    for f in (entry.function, k):
        found = f(x)
        assert found.nbytes >= LARGE
        np.testing.assert_array_equal(found, x + np.arange(40.0))
        where = place(found)
        del found
        again = f(x + 1.0)
        assert place(again) == where
        assert place(np.empty(again.shape)) != where
        np.testing.assert_array_equal(again, x + 1.0 + np.arange(40.0))
        del again


@pytest.mark.parametrize(("asked", "kept"), [("off", "0"), ("OFF", "0"), ("0", "0"), ("64", str(64 << 20))])
def test_the_environment_says_how_much_is_kept(asked, kept):
    code = "from kinetree.engine.result_memory import _limit, handler; print(_limit()); handler()"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "KINETREE_POOL": asked},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == kept
    assert not told.stderr


def test_arrays_may_outlive_the_interpreter_s_modules():
    code = (
        "import sys, numpy as np; from kinetree.engine.result_memory import empty\n"
        "sys.kept = [empty((1 << 20,), float) for _ in range(3)]; sys.kept[0][:] = 1.0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_it_results_are_the_same(monkeypatch):
    monkeypatch.setattr(result_memory, "handler", lambda: (0, None))
    assert empty((COUNT,), float).shape == (COUNT,)
