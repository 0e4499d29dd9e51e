"""The blocks of the thread pool, each compiled and called by itself."""

import ctypes
import threading
import time
from itertools import pairwise

import pytest

from helpers.assembly import Block, compiled, loaded
from kinetree.engine.llvm import host, pool
from kinetree.engine.llvm.driver import JOB, pack_job
from kinetree.engine.llvm.pool import AT_WORK, FROM_PYTHON, LOOKS_BEFORE_SLEEP, POOL, WORKER, WORKER_BYTES
from kinetree.engine.threads import new_lock

pytestmark = pytest.mark.skipif(not host.host().supported, reason="no machine code here")

ASK = ctypes.CFUNCTYPE(ctypes.c_int64)
RUN = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
)


def pointer(callback):
    return ctypes.cast(callback, ctypes.c_void_p).value


# ---------------------------------------------------------------- chunks


@pytest.mark.parametrize("count", [1, 7, 8, 100, 1000, 4096, 10**6])
def test_chunks_are_whole_tiles_and_keep_all_workers_busy(count):
    def write(f, n, workers, lanes, to):
        for k, value in enumerate(pool.chunks_of(n, workers, lanes)):
            to.at(k, "i64").store(value)

    run = compiled(write, {"n": "i64", "workers": "i64", "lanes": "i64", "to": "ptr"})
    to = (ctypes.c_int64 * 2)()
    for workers in (1, 2, 7, 255):
        for lanes in (2, 8, 64):
            run(count, workers, lanes, ctypes.addressof(to))
            chunk, useful = to
            threads = workers + 1
            wanted = max(count // (16 * threads), min(count // (2 * threads), 32))
            assert chunk == max(-(-wanted // lanes), 1) * lanes
            assert useful == min(workers, -(-count // chunk) - 1)  # one chunk is the caller's


def test_every_chunk_is_taken_once_and_doubts_are_gathered():
    done = []

    def compute(job, scratch, start, stop, tile):
        done.append((job, scratch, start, stop, tile))
        return 4 if start == 24 else 1 if start == 8 else 0

    callback = RUN(compute)
    block = Block(POOL, job=111, run=pointer(callback), chunk=8, stop=61, next=5)
    run = compiled(
        lambda f, p, scratch, tile: pool.take_chunks(f, POOL.of(p), scratch, tile),
        {"pool": "ptr", "scratch": "ptr", "tile": "ptr"},
    )
    run(block.address, 222, 333)
    edges = [*range(5, 61, 8), 61]
    assert done == [(111, 222, a, b, 333) for a, b in pairwise(edges)]
    assert block["next"] == 69
    block["next"], done[:] = 0, []
    run(block.address, 222, 333)
    assert block["doubts"] == 5
    done.clear()
    run(block.address, 222, 333)
    assert done == []


# ---------------------------------------------------------------- sleeping


def waiting():
    """Compile a wait for a Python function to say that it is time."""

    def write(f, sleeper, ready):
        pool.wait_until(f, WORKER.of(sleeper), lambda: f.call(ready, result="i64").differs(0))

    return compiled(write, {"sleeper": "ptr", "ready": "ptr"}, from_python=FROM_PYTHON)


def waking():
    return compiled(lambda f, sleeper: pool.wake(f, WORKER.of(sleeper)), {"sleeper": "ptr"}, from_python=FROM_PYTHON)


def ready_after(looks, then=lambda: None):
    """Return what says no so often, then yes."""
    asked = []

    def ready():
        asked.append(1)
        if len(asked) > looks:
            then()
        return len(asked) > looks

    return ASK(ready), asked


@pytest.mark.parametrize("looks", [0, 1, LOOKS_BEFORE_SLEEP - 1])
def test_what_comes_soon_is_found_by_looking(looks):
    sleeper = Block(WORKER)  # without a lock: sleeping would crash
    ready, asked = ready_after(looks)
    waiting()(sleeper.address, pointer(ready))
    assert len(asked) == looks + 1
    assert sleeper["asleep"] == 0


def test_what_comes_at_the_last_moment_cancels_the_sleep():
    sleeper = Block(WORKER)
    seen = []
    ready, asked = ready_after(LOOKS_BEFORE_SLEEP, lambda: seen.append(sleeper["asleep"]))
    waiting()(sleeper.address, pointer(ready))
    assert len(asked) == LOOKS_BEFORE_SLEEP + 1
    assert seen == [1]  # others see that we are about to sleep before we look for the last time
    assert sleeper["asleep"] == 0


def test_who_is_being_woken_at_the_last_moment_takes_that_too():
    """Otherwise the lock would be free at the next sleep, which would not be one."""
    sleeper, wake = Block(WORKER, lock=new_lock()), waking()
    ready, _ = ready_after(LOOKS_BEFORE_SLEEP, lambda: wake(sleeper.address))
    waiting()(sleeper.address, pointer(ready))
    assert sleeper["asleep"] == 0
    assert not acquired(sleeper["lock"])


def acquired(lock):
    api = ctypes.pythonapi
    api.PyThread_acquire_lock.argtypes = (ctypes.c_void_p, ctypes.c_int)
    return bool(api.PyThread_acquire_lock(lock, 0))


def test_a_sleeper_sleeps_until_woken_and_nobody_is_woken_twice():
    sleeper, wake, wait = Block(WORKER, lock=new_lock()), waking(), waiting()
    ready, _ = ready_after(10**9)
    thread = threading.Thread(target=wait, args=(sleeper.address, pointer(ready)))
    thread.start()
    while not sleeper["asleep"]:
        time.sleep(0.001)
    thread.join(0.02)
    assert thread.is_alive()
    wake(sleeper.address)
    thread.join(10.0)
    assert not thread.is_alive()
    assert sleeper["asleep"] == 0
    wake(sleeper.address)  # nobody sleeps: the lock stays as it is
    assert not acquired(sleeper["lock"])


# ---------------------------------------------------------------- workers


def test_only_as_many_join_as_are_wanted():
    run = compiled(pool.join, {"state": "ptr"}, "i1")
    state = ctypes.c_int64(3)
    where = ctypes.addressof(state)
    assert [run(where) for _ in range(5)] == [True, True, True, False, False]
    assert state.value == 3 * AT_WORK
    state.value, found = 40, []

    def join():
        found.append(sum(run(where) for _ in range(20)))

    threads = [threading.Thread(target=join) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(found) == 40
    assert state.value == 40 * AT_WORK


def test_a_worker_keeps_its_work_area_until_it_needs_a_larger_one():
    def write(f, worker, size):
        with f.way_out("no_memory") as no_memory:
            f.ret(pool.work_area(f, WORKER.of(worker), size, no_memory))
        f.ret(f.null)

    run = compiled(write, {"worker": "ptr", "size": "i64"}, "ptr", from_python=FROM_PYTHON)
    worker = Block(WORKER)
    first = run(worker.address, 1000)
    assert first == worker["area"]
    assert worker["bytes"] == 1000
    ctypes.memset(first, 0, 1064)  # 64 more, to begin at a line
    assert run(worker.address, 10) == run(worker.address, 1000) == first
    assert run(worker.address, 5000) == worker["area"]
    assert worker["bytes"] == 5000
    assert run(worker.address, 1 << 60) is None  # no memory: it has none, and asks again next time
    assert (worker["area"], worker["bytes"]) == (0, -1)
    assert run(worker.address, 100) == worker["area"]
    assert worker["bytes"] == 100
    ctypes.pythonapi.PyMem_RawFree(ctypes.c_void_p(worker["area"]))


def test_a_worker_lays_its_area_out_as_the_caller_does():
    def write(f, job, area, to):
        for k, place in enumerate(pool.laid_out_like(JOB.of(job), area)):
            to.at(k, "ptr").store(place)

    run = compiled(write, {"job": "ptr", "area": "ptr", "to": "ptr"})
    to = (ctypes.c_int64 * 2)()

    def areas(tile_area, area):
        words = pack_job(0, 0, 0, 4096, 1, 0, 1, [], [], [], context=0, places=0, tile_area=tile_area)
        job = ctypes.create_string_buffer(words, len(words))
        run(ctypes.addressof(job), area, ctypes.addressof(to))
        return tuple(to)

    for area in (640, 641, 703, 704):
        scratch, tile = areas(4096 + 256, area)
        assert scratch % 64 == 0
        assert area < scratch <= area + 64
        assert tile == scratch + 256
        assert areas(0, area) == (scratch, 0)


# ---------------------------------------------------------------- the caller


def shared_run(block, count, compute, workers=3):
    """Compute a job by ``run_shared``; return what that returns."""
    kinds = {"run_shared": ("i64", "ptr", "ptr", "ptr", "i64", "i64")}
    run_shared = loaded(pool.pool_module(), kinds, from_python=FROM_PYTHON)["run_shared"]
    words = pack_job(0, 0, 0, 4096, 1, 10, 10 + count, [], [], [], context=0, places=0)
    callback = RUN(lambda job, scratch, start, stop, tile: compute(start, stop))
    return run_shared(block.address, words, pointer(callback), workers, 8)


def test_nobody_may_join_behind_the_end_of_a_job():
    """A worker that comes late would find a job whose memory may be somebody else's by then."""
    block, seen = Block(POOL), []

    def compute(start, stop):
        seen.append((start, stop, block["state"], block["busy"]))
        return 0

    assert shared_run(block, 100, compute) == 0
    assert {(state, busy) for _, _, state, busy in seen} == {(3, 1)}  # three may join, and nobody else may call
    assert [stop for _, stop, _, _ in seen][-1] == 110
    assert (block["state"], block["busy"]) == (0, 0)


def test_a_caller_of_a_busy_pool_computes_alone_and_leaves_it_as_it_is():
    block, seen = Block(POOL, busy=1, state=5, next=7, doubts=8), []
    assert shared_run(block, 100, lambda start, stop: seen.append((start, stop)) or 6) == 6
    assert seen == [(10, 110)]
    assert [block[name] for name in ("busy", "state", "next", "doubts")] == [1, 5, 7, 8]


def test_sleeping_workers_are_woken_as_many_as_there_is_work_for():
    size = 3
    block = Block(POOL, more=size * WORKER_BYTES, size=size)
    workers = [block.address + POOL.at["workers"] + k * WORKER_BYTES for k in range(size)]
    locks = [new_lock() for _ in workers]
    for worker, lock in zip(workers, locks, strict=True):
        ctypes.c_int64.from_address(worker + WORKER.at["asleep"]).value = 1
        ctypes.c_int64.from_address(worker + WORKER.at["lock"]).value = lock
    assert shared_run(block, 24, lambda start, stop: 0) == 0  # three chunks, one of them the caller's
    assert [acquired(lock) for lock in locks] == [True, True, False]
