"""Threads that help with a batch: started once, they wait in machine code and work first come first served.

The caller's own thread takes part.  Whoever is free takes the next chunk of the batch, so that
a thread that wakes late, or shares its processor with something else, only takes fewer
chunks, and nobody waits for one that has not begun.  Which thread computes a chunk does not
change its result.  Helpers look out for new work for a moment before they go to sleep.

There is one crew per process.  While it works for one caller, others work alone.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import threading
from functools import lru_cache
from typing import Any

from .llvm.host import NATIVE, architecture, target
from .load_code import ready_text
from .once import once

CHUNKS_PER_THREAD = 16
"""Into how many pieces a batch is cut for each thread that works on it, if they are not too small."""

ENOUGH_STATES = 32
"""States in a piece that are not too few: many threads would otherwise wait for one another to take the next.
A batch is cut into two pieces for each thread all the same, so that whoever is late does not hold up the others."""

PATIENCE = 1000
"""How often somebody with nothing to do looks again before going to sleep: some 50 microseconds."""

_AT = {name: 8 * k for k, name in enumerate(("busy", "asked", "size", "job", "run", "chunk", "stop", "doubts"))}
_AT |= {"next": 64, "state": 128, "asleep": 136, "lock": 144, "helpers": 192}
"""Where things are in a crew's block, in bytes.  ``next`` is the first state that nobody has taken;
``state`` is 2^32 times the number of helpers at work plus the number of free seats."""

MAX_HELPERS = 255
_HELPER_BYTES = 64  # asleep, lock, work area, its size; a cache line each

_FROM_PYTHON = ("PyThread_acquire_lock", "PyThread_release_lock", "PyMem_RawMalloc", "PyMem_RawFree")
"""Functions of CPython that need no interpreter lock."""

_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64


def crew_module(job_at: dict[str, int]) -> str:
    """LLVM assembly of ``gather(crew, job, run, helpers, lanes)`` and ``serve(crew, me)``.

    ``job_at`` says where, in bytes, a job keeps its ``start``, ``stop``, ``scratch``,
    ``scratch_bytes`` and ``tile_area``; ``run(job, scratch, start, stop, tile_area)`` computes some of it.
    """
    pause = architecture() == "x86-64"
    rest = "  call void @llvm.x86.sse2.pause()" if pause else "  fence seq_cst"

    def at(name: str, base: str, offset: int) -> str:
        return f"  %{name}_at = getelementptr i8, ptr %{base}, i64 {offset}"

    def word(name: str, base: str, offset: int, kind: str = "i64") -> list[str]:
        return [at(name, base, offset), f"  %{name} = load {kind}, ptr %{name}_at"]

    def sleep(who: str, offset: int, ready: list[str], done: str) -> list[str]:
        """Wait until ``%ready``: look for a while, then sleep. A waker clears the flag and releases the lock, once."""
        return [
            f"look_{who}:",
            f"  %tries = phi i64 [ 0, %begin_{who} ], [ %tries_next, %again_{who} ]",
            *(line.replace("#", "") for line in ready),
            f"  br i1 %ready, label %{done}, label %again_{who}",
            f"again_{who}:",
            rest,
            "  %tries_next = add i64 %tries, 1",
            f"  %patient = icmp slt i64 %tries_next, {PATIENCE}",
            f"  br i1 %patient, label %look_{who}, label %tired_{who}",
            f"tired_{who}:",
            at("flag", who, offset),
            at("own_lock", who, offset + 8),
            "  store atomic i64 1, ptr %flag_at seq_cst, align 8",
            *(line.replace("#", "2") for line in ready),
            f"  br i1 %ready2, label %rise_{who}, label %sleep_{who}",
            f"rise_{who}:",  # what we wait for came at the last moment: is somebody waking us already?
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

    share = [
        "define internal void @share(ptr %crew, ptr %scratch, ptr %tile) {",
        "entry:",
        at("next", "crew", _AT["next"]),
        at("doubts", "crew", _AT["doubts"]),
        *word("chunk", "crew", _AT["chunk"]),
        *word("total", "crew", _AT["stop"]),
        *word("job", "crew", _AT["job"], "ptr"),
        *word("run", "crew", _AT["run"], "ptr"),
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
    help_out = [  # each helper keeps its work area and makes a larger one when it must; without memory it does nothing
        "define internal void @help(ptr %crew, ptr %me) {",
        "entry:",
        *word("job", "crew", _AT["job"], "ptr"),
        *word("bytes", "job", job_at["scratch_bytes"]),
        *word("their_scratch", "job", job_at["scratch"]),
        *word("their_tile", "job", job_at["tile_area"]),
        *word("area", "me", 16, "ptr"),
        *word("known_bytes", "me", 24),
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
        "  call void @share(ptr %crew, ptr %scratch, ptr %tile)",
        "  br label %end",
        "end:",
        "  ret void",
        "}",
    ]
    serve = [
        "define void @serve(ptr %crew, ptr %me) {",
        "entry:",
        at("state", "crew", _AT["state"]),
        "  br label %begin_me",
        "begin_me:",
        "  br label %look_me",
        *sleep("me", 0, state("  %seats# = trunc i64 %state# to i32\n  %ready# = icmp sgt i32 %seats#, 0"), "awake"),
        "awake:",
        "  %found = load atomic i64, ptr %state_at seq_cst, align 8",
        "  br label %sit",
        "sit:",
        "  %old = phi i64 [ %found, %awake ], [ %other, %try ]",
        "  %seats_now = trunc i64 %old to i32",
        "  %free = icmp sgt i32 %seats_now, 0",
        "  br i1 %free, label %try, label %begin_me",
        "try:",
        f"  %new = add i64 %old, {(1 << 32) - 1}",
        "  %pair = cmpxchg ptr %state_at, i64 %old, i64 %new seq_cst seq_cst",
        "  %other = extractvalue { i64, i1 } %pair, 0",
        "  %seated = extractvalue { i64, i1 } %pair, 1",
        "  br i1 %seated, label %work, label %sit",
        "work:",
        "  call void @help(ptr %crew, ptr %me)",
        f"  %before = atomicrmw sub ptr %state_at, i64 {1 << 32} seq_cst",
        "  %others = lshr i64 %before, 32",
        "  %alone = icmp eq i64 %others, 1",
        "  br i1 %alone, label %last, label %begin_me",
        "last:",
        *wake("caller", "crew", _AT["asleep"], "begin_me"),
        "}",
    ]
    gather = [
        "define i64 @gather(ptr %crew, ptr %job, ptr %run, i64 %helpers, i64 %lanes) {",
        "entry:",
        *word("scratch", "job", job_at["scratch"], "ptr"),
        *word("tile", "job", job_at["tile_area"], "ptr"),
        *word("start", "job", job_at["start"]),
        *word("stop", "job", job_at["stop"]),
        "  %pair = cmpxchg ptr %crew, i64 0, i64 1 seq_cst seq_cst",
        "  %ours = extractvalue { i64, i1 } %pair, 1",
        "  br i1 %ours, label %open, label %by_ourselves",
        "by_ourselves:",
        "  %answer_alone = call i64 %run(ptr %job, ptr %scratch, i64 %start, i64 %stop, ptr %tile)",
        "  ret i64 %answer_alone",
        "open:",
        "  %count = sub i64 %stop, %start",
        "  %threads = add i64 %helpers, 1",
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
        "  %useful = call i64 @llvm.smin.i64(i64 %helpers, i64 %chunks_less)",  # one chunk is the caller's own
        *(
            line
            for name, kind, value in (
                ("job", "ptr", "%job"), ("run", "ptr", "%run"), ("chunk", "i64", "%chunk"), ("stop", "i64", "%stop"),
                ("doubts", "i64", "0"), ("next", "i64", "%start"),
            )
            for line in (at(f"{name}_word", "crew", _AT[name]), f"  store {kind} {value}, ptr %{name}_word_at")
        ),
        at("state", "crew", _AT["state"]),
        "  store atomic i64 %useful, ptr %state_at seq_cst, align 8",
        *word("size", "crew", _AT["size"]),
        "  %calls = call i64 @llvm.smin.i64(i64 %size, i64 %useful)",
        "  br label %call",
        "call:",
        "  %k = phi i64 [ 0, %open ], [ %k_next, %called ]",
        "  %more = icmp slt i64 %k, %calls",
        "  br i1 %more, label %call_one, label %work",
        "call_one:",
        f"  %k_bytes = mul i64 %k, {_HELPER_BYTES}",
        f"  %k_offset = add i64 %k_bytes, {_AT['helpers']}",
        "  %helper = getelementptr i8, ptr %crew, i64 %k_offset",
        *wake("helper", "helper", 0, "called"),
        "called:",
        "  %k_next = add i64 %k, 1",
        "  br label %call",
        "work:",
        "  call void @share(ptr %crew, ptr %scratch, ptr %tile)",
        f"  %closed = atomicrmw and ptr %state_at, i64 {-(1 << 32)} seq_cst",  # no seats any more
        "  br label %begin_crew",
        "begin_crew:",
        "  br label %look_crew",
        *sleep("crew", _AT["asleep"], state("  %ready# = icmp ult i64 %state#, 4294967296"), "end"),
        "end:",
        *word("doubts", "crew", _AT["doubts"]),
        "  store atomic i64 0, ptr %crew seq_cst, align 8",
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
    return "\n".join([*declared, *share, *help_out, *serve, *gather, ""])


@once
def _code(job_at: tuple[tuple[str, int], ...]) -> tuple[dict[str, int], Any]:
    return ready_text(None, crew_module(dict(job_at)), ("gather", "serve"), _FROM_PYTHON, target(NATIVE))


class Crew:
    """The helpers of this process.

    Parameters
    ----------
    job_at : mapping
        See :func:`crew_module`.
    """

    def __init__(self, job_at: dict[str, int]) -> None:
        symbols, self._alive = _code(tuple(job_at.items()))
        self.gather_address = symbols["gather"]
        self.gather = ctypes.CFUNCTYPE(_LONG, _POINTER, ctypes.c_char_p, _POINTER, _LONG, _LONG)(self.gather_address)
        self._serve = ctypes.CFUNCTYPE(None, _POINTER, _POINTER)(symbols["serve"])
        self._block = ctypes.create_string_buffer(_AT["helpers"] + _HELPER_BYTES * (MAX_HELPERS + 1) + 64)
        self.address = (ctypes.addressof(self._block) + 63) & ~63
        self._lock = threading.Lock()
        self._set("lock", _new_lock())

    def _set(self, name: str, value: int, offset: int = 0) -> None:
        _LONG.from_address(self.address + _AT[name] + offset).value = value

    def enlist(self, helpers: int) -> int:
        """Start so many helpers, as far as there are processors for them; returns how many to call at most."""
        helpers = min(helpers, MAX_HELPERS)
        with self._lock:
            size = _LONG.from_address(self.address + _AT["size"]).value
            for k in range(size, min(helpers, (os.cpu_count() or 1) - 1)):
                offset = k * _HELPER_BYTES
                self._set("helpers", _new_lock(), offset + 8)
                self._set("size", k + 1)  # first, lest an interrupt let two helpers share a work area
                try:
                    # a Thread object would wait for its beginning, for ever if memory is short
                    _thread.start_new_thread(self._serve, (self.address, self.address + _AT["helpers"] + offset))
                except RuntimeError:  # no more threads: those that there are do the work
                    self._set("size", k)
                    break
            asked = _LONG.from_address(self.address + _AT["asked"])
            asked.value = max(asked.value, helpers)
        return helpers

    def forget(self) -> None:
        """A forked process has none of its parent's threads: begin anew, at the same address."""
        ctypes.memset(self._block, 0, ctypes.sizeof(self._block))
        self._lock = threading.Lock()
        self._set("lock", _new_lock())


ASKED = _AT["asked"]
"""Where in a crew's block it says how many helpers were ever asked for."""


def _new_lock() -> int:
    """A lock that is taken."""
    api = ctypes.pythonapi
    api.PyThread_allocate_lock.restype = _POINTER
    api.PyThread_acquire_lock.argtypes = (_POINTER, ctypes.c_int)
    lock = api.PyThread_allocate_lock()
    if not lock:
        raise MemoryError("no lock could be made for the threads of a batch")
    api.PyThread_acquire_lock(lock, 1)
    return int(lock)


@lru_cache(maxsize=1)
def _watch_forks(crew: Crew) -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=crew.forget)


@once
def the_crew(job_at: tuple[tuple[str, int], ...]) -> Crew:
    """The crew of this process."""
    crew = Crew(dict(job_at))
    _watch_forks(crew)
    return crew
