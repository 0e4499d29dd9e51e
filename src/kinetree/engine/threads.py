"""A pool of threads that share batches: started once, they wait in machine code.

The caller's own thread takes part.  Whichever thread is free takes the next chunk of the batch, so that
a thread that wakes late, or shares its processor with something else, only takes fewer
chunks, and no thread waits for one that has not begun.  Which thread computes a chunk does not
change its result.  Workers look for new work for a moment before they go to sleep: that takes some 2 microseconds
from call to work, where a pool in Python takes 30.

There is one pool per process.  While it works for one caller, others compute alone.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import threading
from typing import Any

from .llvm.driver import JOB_AT
from .llvm.host import NATIVE, architecture, target
from .load_code import load_or_compile_text
from .make_once import once

CHUNKS_PER_THREAD = 16
"""Into how many chunks a batch is cut for each thread that works on it, if they are not too small."""

ENOUGH_STATES = 32
"""States in a chunk that are not too few: many threads would otherwise wait for one another to take the next.
A batch is cut into two chunks for each thread all the same, so that a late thread does not hold up the others."""

LOOKS_BEFORE_SLEEP = 1000
"""How often a thread with nothing to do looks again before it goes to sleep: some 50 microseconds."""

_AT = {name: 8 * k for k, name in enumerate(("busy", "asked", "size", "job", "run", "chunk", "stop", "doubts"))}
_AT |= {"next": 64, "state": 128, "asleep": 136, "lock": 144, "run_shared": 152, "workers": 192}
"""Where things are in a pool's block, in bytes.  ``next`` is the first state that no thread has taken;
``state`` is 2^32 times the number of workers at work plus the number of workers that may still join them."""

ASKED_AT, RUN_SHARED_AT = _AT["asked"], _AT["run_shared"]
"""Where in a pool's block it says how many workers were ever asked for, and where ``run_shared`` is."""

MAX_WORKERS = 255
_WORKER_BYTES = 64  # asleep, lock, work area, its size; a cache line each

_FROM_PYTHON = ("PyThread_acquire_lock", "PyThread_release_lock", "PyMem_RawMalloc", "PyMem_RawFree")
"""Functions of CPython that need no interpreter lock."""

_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64
_RUN_SHARED = ctypes.CFUNCTYPE(_LONG, _POINTER, ctypes.c_char_p, _POINTER, _LONG, _LONG)
_WORK = ctypes.CFUNCTYPE(None, _POINTER, _POINTER)


def pool_module() -> str:
    """Return LLVM assembly of ``run_shared(pool, job, run, workers, lanes)`` and ``work(pool, worker)``.

    The first computes a job (see :mod:`.llvm.driver`) with so many workers at most, in chunks of a multiple of
    ``lanes`` states; ``run(job, scratch, start, stop, tile_area)`` computes some of it.  The second is what a
    worker does for as long as the process lives.
    """
    pause = architecture() == "x86-64"
    rest = "  call void @llvm.x86.sse2.pause()" if pause else "  fence seq_cst"

    def at(name: str, base: str, offset: int) -> str:
        return f"  %{name}_at = getelementptr i8, ptr %{base}, i64 {offset}"

    def word(name: str, base: str, offset: int, kind: str = "i64") -> list[str]:
        return [at(name, base, offset), f"  %{name} = load {kind}, ptr %{name}_at"]

    def sleep(who: str, offset: int, ready: list[str], done: str) -> list[str]:
        """Wait until ``%ready``: look for a while, then sleep. To wake: clear the flag, release the lock, once."""
        return [
            f"look_{who}:",
            f"  %tries = phi i64 [ 0, %begin_{who} ], [ %tries_next, %again_{who} ]",
            *(line.replace("#", "") for line in ready),
            f"  br i1 %ready, label %{done}, label %again_{who}",
            f"again_{who}:",
            rest,
            "  %tries_next = add i64 %tries, 1",
            f"  %look_again = icmp slt i64 %tries_next, {LOOKS_BEFORE_SLEEP}",
            f"  br i1 %look_again, label %look_{who}, label %before_sleep_{who}",
            f"before_sleep_{who}:",
            at("flag", who, offset),
            at("own_lock", who, offset + 8),
            "  store atomic i64 1, ptr %flag_at seq_cst, align 8",
            *(line.replace("#", "2") for line in ready),
            f"  br i1 %ready2, label %cancel_sleep_{who}, label %sleep_{who}",
            f"cancel_sleep_{who}:",  # what we wait for came at the last moment: is somebody waking us already?
            "  %was = atomicrmw xchg ptr %flag_at, i64 0 seq_cst",
            "  %own = icmp eq i64 %was, 1",
            f"  br i1 %own, label %{done}, label %sleep_{who}",
            f"sleep_{who}:",
            "  %lock = load ptr, ptr %own_lock_at",
            "  %got = call i32 @PyThread_acquire_lock(ptr %lock, i32 1)",
            f"  br label %{done}_woken",
            f"{done}_woken:",
            f"  br label %{done}",
        ]

    def wake(name: str, base: str, offset: int, then: str) -> list[str]:
        return [
            at(f"{name}_flag", base, offset),
            f"  %{name}_was = atomicrmw xchg ptr %{name}_flag_at, i64 0 seq_cst",
            f"  %{name}_sleeps = icmp eq i64 %{name}_was, 1",
            f"  br i1 %{name}_sleeps, label %{name}_wake, label %{then}",
            f"{name}_wake:",
            *word(f"{name}_lock", base, offset + 8, "ptr"),
            f"  call void @PyThread_release_lock(ptr %{name}_lock)",
            f"  br label %{then}",
        ]

    def state(test: str) -> list[str]:
        return ["  %state# = load atomic i64, ptr %state_at seq_cst, align 8", *test.split("\n")]

    take_chunks = [
        "define internal void @take_chunks(ptr %pool, ptr %scratch, ptr %tile) {",
        "entry:",
        at("next", "pool", _AT["next"]),
        at("doubts", "pool", _AT["doubts"]),
        *word("chunk", "pool", _AT["chunk"]),
        *word("total", "pool", _AT["stop"]),
        *word("job", "pool", _AT["job"], "ptr"),
        *word("run", "pool", _AT["run"], "ptr"),
        "  br label %take",
        "take:",
        "  %start = atomicrmw add ptr %next_at, i64 %chunk seq_cst",
        "  %left = icmp slt i64 %start, %total",
        "  br i1 %left, label %work, label %end",
        "work:",
        "  %far = add i64 %start, %chunk",
        "  %stop = call i64 @llvm.smin.i64(i64 %far, i64 %total)",
        "  %doubt = call i64 %run(ptr %job, ptr %scratch, i64 %start, i64 %stop, ptr %tile)",
        "  %all_doubts = atomicrmw or ptr %doubts_at, i64 %doubt seq_cst",
        "  br label %take",
        "end:",
        "  ret void",
        "}",
    ]
    take_part = [  # each worker keeps its work area and makes a larger one when it must; without memory it does nothing
        "define internal void @take_part(ptr %pool, ptr %worker) {",
        "entry:",
        *word("job", "pool", _AT["job"], "ptr"),
        *word("bytes", "job", JOB_AT["scratch_bytes"]),
        *word("their_scratch", "job", JOB_AT["scratch"]),
        *word("their_tile", "job", JOB_AT["tile_area"]),
        *word("area", "worker", 16, "ptr"),
        *word("known_bytes", "worker", 24),
        "  %enough = icmp sge i64 %known_bytes, %bytes",
        "  br i1 %enough, label %work, label %grow",
        "grow:",
        "  call void @PyMem_RawFree(ptr %area)",
        "  %wanted = add i64 %bytes, 64",
        "  %fresh = call ptr @PyMem_RawMalloc(i64 %wanted)",
        "  store ptr %fresh, ptr %area_at",
        "  %failed = icmp eq ptr %fresh, null",
        "  %now_bytes = select i1 %failed, i64 -1, i64 %bytes",
        "  store i64 %now_bytes, ptr %known_bytes_at",
        "  br i1 %failed, label %end, label %work",
        "work:",
        "  %mine = phi ptr [ %area, %entry ], [ %fresh, %grow ]",
        "  %bits = ptrtoint ptr %mine to i64",
        "  %over = and i64 %bits, 63",
        "  %up = sub i64 64, %over",
        "  %scratch = getelementptr i8, ptr %mine, i64 %up",
        "  %offset = sub i64 %their_tile, %their_scratch",
        "  %own_tile = getelementptr i8, ptr %scratch, i64 %offset",
        "  %none = icmp eq i64 %their_tile, 0",
        "  %tile = select i1 %none, ptr null, ptr %own_tile",
        "  call void @take_chunks(ptr %pool, ptr %scratch, ptr %tile)",
        "  br label %end",
        "end:",
        "  ret void",
        "}",
    ]
    work = [
        "define void @work(ptr %pool, ptr %worker) {",
        "entry:",
        at("state", "pool", _AT["state"]),
        "  br label %begin_worker",
        "begin_worker:",
        "  br label %look_worker",
        *sleep(
            "worker",
            0,
            state("  %openings# = trunc i64 %state# to i32\n  %ready# = icmp sgt i32 %openings#, 0"),
            "awake",
        ),
        "awake:",
        "  %found = load atomic i64, ptr %state_at seq_cst, align 8",
        "  br label %join",
        "join:",
        "  %old = phi i64 [ %found, %awake ], [ %other, %try ]",
        "  %openings_now = trunc i64 %old to i32",
        "  %free = icmp sgt i32 %openings_now, 0",
        "  br i1 %free, label %try, label %begin_worker",
        "try:",
        f"  %new = add i64 %old, {(1 << 32) - 1}",
        "  %pair = cmpxchg ptr %state_at, i64 %old, i64 %new seq_cst seq_cst",
        "  %other = extractvalue { i64, i1 } %pair, 0",
        "  %joined = extractvalue { i64, i1 } %pair, 1",
        "  br i1 %joined, label %work, label %join",
        "work:",
        "  call void @take_part(ptr %pool, ptr %worker)",
        f"  %before = atomicrmw sub ptr %state_at, i64 {1 << 32} seq_cst",
        "  %others = lshr i64 %before, 32",
        "  %alone = icmp eq i64 %others, 1",
        "  br i1 %alone, label %last, label %begin_worker",
        "last:",
        *wake("caller", "pool", _AT["asleep"], "begin_worker"),
        "}",
    ]
    run_shared = [
        "define i64 @run_shared(ptr %pool, ptr %job, ptr %run, i64 %workers, i64 %lanes) {",
        "entry:",
        *word("scratch", "job", JOB_AT["scratch"], "ptr"),
        *word("tile", "job", JOB_AT["tile_area"], "ptr"),
        *word("start", "job", JOB_AT["start"]),
        *word("stop", "job", JOB_AT["stop"]),
        "  %pair = cmpxchg ptr %pool, i64 0, i64 1 seq_cst seq_cst",
        "  %ours = extractvalue { i64, i1 } %pair, 1",
        "  br i1 %ours, label %open, label %by_ourselves",
        "by_ourselves:",
        "  %answer_alone = call i64 %run(ptr %job, ptr %scratch, i64 %start, i64 %stop, ptr %tile)",
        "  ret i64 %answer_alone",
        "open:",
        "  %count = sub i64 %stop, %start",
        "  %threads = add i64 %workers, 1",
        f"  %parts = mul i64 %threads, {CHUNKS_PER_THREAD}",
        "  %even = sdiv i64 %count, %parts",
        "  %pairs = mul i64 %threads, 2",
        "  %half = sdiv i64 %count, %pairs",
        f"  %enough = call i64 @llvm.smin.i64(i64 %half, i64 {ENOUGH_STATES})",
        "  %wanted = call i64 @llvm.smax.i64(i64 %even, i64 %enough)",
        "  %wanted_up = add i64 %wanted, %lanes",
        "  %wanted_most = sub i64 %wanted_up, 1",
        "  %tiles_wanted = sdiv i64 %wanted_most, %lanes",
        "  %tiles = call i64 @llvm.smax.i64(i64 %tiles_wanted, i64 1)",
        "  %chunk = mul i64 %tiles, %lanes",  # whole tiles, so that every state is computed in the same way
        "  %count_less = sub i64 %count, 1",
        "  %chunks_less = sdiv i64 %count_less, %chunk",
        "  %useful = call i64 @llvm.smin.i64(i64 %workers, i64 %chunks_less)",  # one chunk is the caller's own
        *(
            line
            for name, kind, value in (
                ("job", "ptr", "%job"), ("run", "ptr", "%run"), ("chunk", "i64", "%chunk"), ("stop", "i64", "%stop"),
                ("doubts", "i64", "0"), ("next", "i64", "%start"),
            )
            for line in (at(f"{name}_word", "pool", _AT[name]), f"  store {kind} {value}, ptr %{name}_word_at")
        ),
        at("state", "pool", _AT["state"]),
        "  store atomic i64 %useful, ptr %state_at seq_cst, align 8",
        *word("size", "pool", _AT["size"]),
        "  %calls = call i64 @llvm.smin.i64(i64 %size, i64 %useful)",
        "  br label %call",
        "call:",
        "  %k = phi i64 [ 0, %open ], [ %k_next, %called ]",
        "  %more = icmp slt i64 %k, %calls",
        "  br i1 %more, label %call_one, label %work",
        "call_one:",
        f"  %k_bytes = mul i64 %k, {_WORKER_BYTES}",
        f"  %k_offset = add i64 %k_bytes, {_AT['workers']}",
        "  %worker = getelementptr i8, ptr %pool, i64 %k_offset",
        *wake("worker", "worker", 0, "called"),
        "called:",
        "  %k_next = add i64 %k, 1",
        "  br label %call",
        "work:",
        "  call void @take_chunks(ptr %pool, ptr %scratch, ptr %tile)",
        f"  %closed = atomicrmw and ptr %state_at, i64 {-(1 << 32)} seq_cst",  # nobody may join any more
        "  br label %begin_pool",
        "begin_pool:",
        "  br label %look_pool",
        *sleep("pool", _AT["asleep"], state("  %ready# = icmp ult i64 %state#, 4294967296"), "end"),
        "end:",
        *word("doubts", "pool", _AT["doubts"]),
        "  store atomic i64 0, ptr %pool seq_cst, align 8",
        "  ret i64 %doubts",
        "}",
    ]  # fmt: skip
    declared = [
        "declare i64 @llvm.smin.i64(i64, i64)",
        "declare i64 @llvm.smax.i64(i64, i64)",
        "declare i32 @PyThread_acquire_lock(ptr, i32)",
        "declare void @PyThread_release_lock(ptr)",
        "declare ptr @PyMem_RawMalloc(i64)",
        "declare void @PyMem_RawFree(ptr)",
        *(["declare void @llvm.x86.sse2.pause()"] if pause else []),
    ]
    return "\n".join([*declared, *take_chunks, *take_part, *work, *run_shared, ""])


@once
def _code() -> tuple[dict[str, int], Any]:
    return load_or_compile_text(None, pool_module(), ("run_shared", "work"), _FROM_PYTHON, target(NATIVE))


class ThreadPool:
    """The workers of a process, and the block of memory that they and their callers look at.

    A new pool has neither threads nor machine code: both are made when somebody first asks for threads.

    Attributes
    ----------
    address : int
        Of the block, for as long as the process lives.
    """

    def __init__(self) -> None:
        self._block = ctypes.create_string_buffer(_AT["workers"] + _WORKER_BYTES * (MAX_WORKERS + 1) + 64)
        self.address = (ctypes.addressof(self._block) + 63) & ~63
        self._lock = threading.Lock()
        self._set("lock", _new_lock())

    def _set(self, name: str, value: int, offset: int = 0) -> None:
        _LONG.from_address(self.address + _AT[name] + offset).value = value

    def _get(self, name: str) -> int:
        return _LONG.from_address(self.address + _AT[name]).value

    @property
    def size(self) -> int:
        """Number of workers that have been started."""
        return self._get("size")

    def start(self, workers: int) -> int:
        """Start so many workers, as far as there are processors for them; return how many to use at most."""
        symbols, _ = _code()
        work, workers = _WORK(symbols["work"]), min(workers, MAX_WORKERS)
        with self._lock:
            self._set("run_shared", symbols["run_shared"])
            for k in range(self.size, min(workers, (os.cpu_count() or 1) - 1)):
                offset = k * _WORKER_BYTES
                self._set("workers", _new_lock(), offset + 8)
                self._set("size", k + 1)  # first, lest an interrupt let two workers share a work area
                try:
                    # a Thread object would wait for its beginning, for ever if memory is short
                    _thread.start_new_thread(work, (self.address, self.address + _AT["workers"] + offset))
                except RuntimeError:  # no more threads: those that there are do the work
                    self._set("size", k)
                    break
            self._set("asked", max(self._get("asked"), workers))
        return workers

    def run(self, job: bytes | ctypes.Array, run: int, workers: int, lanes: int) -> int:
        """Compute a job with so many workers at most, as :func:`pool_module` says; return whether it is in doubt."""
        return int(_RUN_SHARED(self._get("run_shared"))(self.address, job, run, workers, lanes))

    def reset(self) -> None:
        """Begin anew, at the same address: a forked process has none of its parent's threads."""
        ctypes.memset(self._block, 0, ctypes.sizeof(self._block))
        self._lock = threading.Lock()
        self._set("lock", _new_lock())


def _new_lock() -> int:
    """Make a lock that is taken."""
    api = ctypes.pythonapi
    api.PyThread_allocate_lock.restype = _POINTER
    api.PyThread_acquire_lock.argtypes = (_POINTER, ctypes.c_int)
    lock = api.PyThread_allocate_lock()
    if not lock:
        raise MemoryError("no lock could be made for the threads of a batch")
    api.PyThread_acquire_lock(lock, 1)
    return int(lock)


@once
def thread_pool() -> ThreadPool:
    """Return the pool of this process."""
    pool = ThreadPool()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=pool.reset)
    return pool
