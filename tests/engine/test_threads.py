"""Threads that share a batch: each chunk once, the same bits, nobody waits for a thread that has not begun."""

import _thread
import ctypes
import os
import sys
import threading
import time
from itertools import pairwise

import numpy as np
import pytest

from helpers.kernels import product, run_with_product
from kinetree.engine.kernels.direct_call import DirectCall, available
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.llvm import host
from kinetree.engine.llvm.driver import pack_job
from kinetree.engine.llvm.pool import CHUNKS_PER_THREAD
from kinetree.engine.threads import ThreadPool, thread_pool
from kinetree.engine.trace import trace

pytestmark = pytest.mark.skipif(not host.host().supported, reason="no machine code here")
several = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor")

RUN = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
)


def swirl(x, y):
    """Something of everything, and many results."""
    s = [a * b + (a * a + 1.5) ** 0.5 for a in x for b in y]
    return s + [a / (b * b + 2.0) for a in s[:8] for b in s[:8]]


def kernel(single_precision=False):
    shape = (4 * 3 + 64,)
    return Kernel(
        "swirl", lambda: trace(swirl, (4, 3), list), (4, 3), shape, argument_names=("x", "y"),
        single_precision=single_precision,
    )  # fmt: skip


def share_out(count, workers, work, lanes=8):
    """Let the pool share a batch that Python computes; returns the answer and who did what."""
    done = []

    def run(job, scratch, start, stop, tile):
        answer = work(start, stop)
        done.append((threading.get_ident(), start, stop, scratch, tile))
        return answer

    callback = RUN(run)
    pool = thread_pool()
    job = pack_job(0, 0, 0, 4096, 1, 0, count, [], [], [], context=0, places=0, tile_area=4096 + 64, scratch_bytes=256)
    answer = pool.run(job, ctypes.cast(callback, ctypes.c_void_p), pool.start(workers), lanes)
    return answer, done


@several
def test_every_chunk_is_computed_once_by_whoever_is_free():
    answer, done = share_out(1000, 1, lambda start, stop: time.sleep(0.002) or 0)
    assert answer == 0
    edges = sorted((start, stop) for _, start, stop, _, _ in done)
    assert edges[0][0] == 0
    assert edges[-1][1] == 1000
    assert all(a[1] == b[0] for a, b in pairwise(edges))
    assert all(start % 8 == 0 for start, _ in edges)  # whole tiles
    assert len(edges) >= 2 * CHUNKS_PER_THREAD
    workers = {who for who, *_ in done}
    assert len(workers) == 2
    assert threading.get_ident() in workers
    for who in workers - {threading.get_ident()}:  # a work area of its own, laid out like the caller's
        areas = {(scratch, tile - scratch) for w, _, _, scratch, tile in done if w == who}
        assert len(areas) == 1
        scratch, offset = areas.pop()
        assert scratch != 4096
        assert scratch % 64 == 0
        assert offset == 64


@several
def test_a_slow_thread_only_takes_fewer_chunks():
    me, mine, enough = threading.get_ident(), [], threading.Event()

    def work(start, stop):
        if threading.get_ident() == me:
            mine.append(start)
            if len(mine) == 24:
                enough.set()
        else:
            enough.wait(10.0)  # shares of equal size would keep the caller from ever having so many
        return 0

    _, done = share_out(1000, 1, work)
    assert len(done) == 32
    assert enough.is_set()


def test_doubts_of_any_chunk_are_reported():
    for bad in (0, 500, 996):
        answer, _ = share_out(1000, 1, lambda start, stop, bad=bad: int(start <= bad < stop))
        assert answer == 1
    assert share_out(1000, 1, lambda start, stop: 0)[0] == 0


@several
def test_the_caller_sleeps_until_the_last_worker_is_done():
    me = threading.get_ident()
    finished = []

    def work(start, stop):
        if threading.get_ident() != me:
            time.sleep(0.2)
            finished.append(time.perf_counter())
        else:
            time.sleep(0.002)
        return 0

    begin, used = time.perf_counter(), time.process_time()
    share_out(600, 1, work)
    end = time.perf_counter()
    assert finished
    assert finished[-1] < end
    assert end - begin > 0.19
    assert time.process_time() - used < 0.15  # asleep, not looking all the time


def test_a_pool_at_work_for_somebody_else_is_not_waited_for():
    inner = []

    def work(start, stop):
        if not inner:
            inner.append(share_out(100, 1, lambda a, b: 0)[1])
        return 0

    share_out(1000, 1, work)
    assert [(start, stop) for _, start, stop, _, _ in inner[0]] == [(0, 100)]  # in one go, by itself


@pytest.mark.parametrize("single_precision", [False, True])
def test_results_do_not_depend_on_the_number_of_threads(single_precision):
    f = kernel(single_precision)
    rng = np.random.default_rng(0)
    for count in (1, 7, 8, 15, 16, 17, 33, 100, 1001, 7000):  # the last ones are streamed
        x, y = rng.standard_normal((count, 4)), rng.standard_normal((count, 3))
        one = f(x, y)
        for threads in (2, 3, 8, 1000):
            np.testing.assert_array_equal(f(x, y, threads=threads), one)
        out = np.zeros_like(one)
        assert f(x, y, out=out, threads=2) is out
        np.testing.assert_array_equal(out, one)


@pytest.mark.skipif(not available(), reason="no entry point here")
def test_the_entry_point_shares_batches_too():
    f, calls = kernel(), []

    def fallback(*args, out=None, threads=1):
        calls.append(threads)
        return f(*args, out=out, threads=threads)

    entry = DirectCall.make(f, fallback, "swirl", "")
    entry.enable_batch()
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((5000, 4)), rng.standard_normal((5000, 3))
    one = f(x, y)
    thread_pool().start(2)
    out = np.empty_like(one)
    for threads in (1, 2, 3):
        np.testing.assert_array_equal(entry.function(x, y, threads=threads), one)
    before = sys.getrefcount(out)
    assert entry.function(x, y, out=out, threads=2) is out
    assert entry.function(x, y, threads=2, out=out) is out
    np.testing.assert_array_equal(out, one)
    assert sys.getrefcount(out) == before
    np.testing.assert_array_equal(entry.function(x[:20], y[:20], threads=2), one[:20])
    assert calls == []
    entry.function(x, y, threads=1000)
    assert calls == [1000]  # more than Python ever started


@pytest.mark.skipif(not available(), reason="no entry point here")
def test_the_guard_sees_every_chunk():
    f = kernel()
    guard = Kernel("guard", lambda: trace(lambda x: [x[0] - 3.0], (4,), list), (4,), (1,), spread_nan=False)
    entry = DirectCall.make(f, lambda *args, **options: "python", "swirl", "", guard)
    entry.enable_batch()
    thread_pool().start(1)
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-1, 1, (5000, 4)), rng.standard_normal((5000, 3))
    assert isinstance(entry.function(x, y, threads=2), np.ndarray)
    for bad in (0, 2600, 4999):
        x[bad, 0] = 4.0
        assert isinstance(entry.function(x, y, threads=2), str)
        x[bad, 0] = 0.0


def test_many_callers_at_once():
    f = kernel()
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((3000, 4)), rng.standard_normal((3000, 3))
    one = f(x, y)
    wrong = []

    def call():
        for _ in range(40):
            if not np.array_equal(f(x, y, threads=2), one):
                wrong.append(1)

    threads = [threading.Thread(target=call) for _ in range(5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_workers_that_fell_asleep_are_woken():
    f = kernel()
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((3000, 4)), rng.standard_normal((3000, 3))
    one = f(x, y)
    for _ in range(30):
        time.sleep(0.002)
        np.testing.assert_array_equal(f(x, y, threads=2), one)


def test_one_pool_per_process():
    assert thread_pool() is thread_pool()


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="done with Linux's own means")


def test_without_threads_the_caller_does_all_the_work(monkeypatch):
    def fail(*args):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", fail)
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    pool = ThreadPool()
    monkeypatch.setattr("kinetree.engine.kernels.kernel.thread_pool", lambda: pool)
    x = np.random.default_rng(0).standard_normal((500, 2))
    np.testing.assert_array_equal(product()(x, threads=4)[:, 0], x[:, 0] * x[:, 1] * 2.0)
    assert pool.size == 0


def test_an_interrupted_start_never_lets_two_workers_share_a_work_area(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    begun = []

    def start(serve, arguments):
        begun.append(arguments)
        if len(begun) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(_thread, "start_new_thread", start)
    pool = ThreadPool()
    with pytest.raises(KeyboardInterrupt):
        pool.start(2)
    assert pool.start(2) == 2
    places = [me for _, me in begun]
    assert len(places) == len(set(places)) == 2


@on_linux
def test_a_thread_that_never_begins_is_not_waited_for():
    """Memory may run out between the making of a thread and its first step."""
    said = run_with_product(
        "import _thread, time\n"
        "_thread.start_new_thread = lambda *args: 1\n"
        "print(np.all(kernel()(x, threads=2) == 12.0))\n"
    )
    assert said == "True"


@several
@pytest.mark.parametrize("before_the_end", ["pass", "time.sleep(0.05)"])
def test_a_process_ends_quietly_whatever_its_workers_do(before_the_end):
    """Workers never return: at the end they look for work, or sleep."""
    program = (
        "import time\n"
        "many = np.ones((5000, 2))\n"
        "print(np.all(kernel()(many, threads=2) == 2.0))\n"
        f"{before_the_end}\n"
        "sys.stderr = sys.stdout\n"
    )
    assert run_with_product(program) == "True"
