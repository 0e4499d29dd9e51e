"""A pool of threads that share batches: started once, they wait in machine code.

The caller's own thread takes part.  Whichever thread is free takes the next chunk of the batch, so that a thread that
wakes late, or shares its processor with something else, only takes fewer chunks, and no thread waits for one that has
not begun.  Which thread computes a chunk does not change its result.  Workers look for new work for a moment before
they go to sleep: so it takes some 2 microseconds from call to work, compared with 30 for a pool in Python.

There is one pool per process.  While it works for one caller, others compute alone.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import threading
from typing import Any

from .llvm.host import NATIVE, target
from .llvm.pool import FROM_PYTHON, POOL, WORKER, WORKER_BYTES, pool_module
from .load_code import load_or_compile_own
from .make_once import once

MAX_WORKERS = 255

_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64
_RUN_SHARED = ctypes.CFUNCTYPE(_LONG, _POINTER, ctypes.c_char_p, _POINTER, _LONG, _LONG)
_WORK = ctypes.CFUNCTYPE(None, _POINTER, _POINTER)


@once
def _code() -> tuple[dict[str, int], Any]:
    return load_or_compile_own(None, "pool", pool_module, ("run_shared", "work"), FROM_PYTHON, target(NATIVE))


class ThreadPool:
    """The workers of a process, and the block of memory that they share with their callers.

    A new pool has neither threads nor machine code: both are made when somebody first asks for threads.

    Attributes
    ----------
    address : int
        Address of the block, for as long as the process lives.
    """

    def __init__(self) -> None:
        self._block = ctypes.create_string_buffer(POOL.at["workers"] + WORKER_BYTES * (MAX_WORKERS + 1) + 64)
        self.address = (ctypes.addressof(self._block) + 63) & ~63
        self._lock = threading.Lock()
        self._set("lock", new_lock())

    def _set(self, name: str, value: int) -> None:
        _LONG.from_address(self.address + POOL.at[name]).value = value

    def _get(self, name: str) -> int:
        return _LONG.from_address(self.address + POOL.at[name]).value

    @property
    def size(self) -> int:
        """Number of workers that have been started."""
        return self._get("size")

    def start(self, workers: int) -> int:
        """Start workers, as far as there are processors for them; return how many to use at most."""
        symbols, _ = _code()
        work, workers = _WORK(symbols["work"]), min(workers, MAX_WORKERS)
        with self._lock:
            self._set("run_shared", symbols["run_shared"])
            for k in range(self.size, min(workers, (os.cpu_count() or 1) - 1)):
                worker = self.address + POOL.at["workers"] + k * WORKER_BYTES
                _LONG.from_address(worker + WORKER.at["lock"]).value = new_lock()
                self._set("size", k + 1)  # first, so that an interrupt cannot make two workers share a work area
                try:
                    # a Thread object would wait for its start, forever if memory is low
                    _thread.start_new_thread(work, (self.address, worker))
                except RuntimeError:  # no more threads: the existing ones do the work
                    self._set("size", k)
                    break
            self._set("asked", max(self._get("asked"), workers))
        return workers

    def run(self, job: bytes | ctypes.Array, run: int, workers: int, lanes: int) -> int:
        """Compute a job with at most that many workers; return whether a guard rejects a state: :mod:`.llvm.pool`."""
        return int(_RUN_SHARED(self._get("run_shared"))(self.address, job, run, workers, lanes))

    def reset(self) -> None:
        """Start over, at the same address: a forked process has none of its parent's threads."""
        ctypes.memset(self._block, 0, ctypes.sizeof(self._block))
        self._lock = threading.Lock()
        self._set("lock", new_lock())


def new_lock() -> int:
    """Return a lock that is already taken."""
    api = ctypes.pythonapi
    api.PyThread_allocate_lock.restype = _POINTER
    api.PyThread_acquire_lock.argtypes = (_POINTER, ctypes.c_int)
    lock = api.PyThread_allocate_lock()
    if not lock:
        raise MemoryError("no lock could be created for the threads of a batch")
    api.PyThread_acquire_lock(lock, 1)
    return int(lock)


@once
def thread_pool() -> ThreadPool:
    """Return the pool of this process."""
    pool = ThreadPool()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=pool.reset)
    return pool
