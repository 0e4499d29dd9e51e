"""Machine code of the threads that share batches; see :mod:`kinetree.engine.threads`.

A caller writes what is to be done into the *pool*, a block of memory, opens it to workers, wakes those that sleep,
takes chunks of the batch like them, closes the pool and waits until the last worker has left.  A thread that has
nothing to do looks for work for a while before it goes to sleep in a lock of CPython.
"""

from __future__ import annotations

from collections.abc import Callable

from .assembly import Fields, Label, MachineFunction, Module, StructLayout, Value
from .driver import JOB
from .host import architecture

CHUNKS_PER_THREAD = 16
"""The number of chunks per thread that a batch is cut into, if they are not too small."""

ENOUGH_STATES = 32
"""The fewest states in a chunk: with fewer, many threads would wait for one another to take the next one. A batch is
cut into two chunks for each thread all the same, so that a late thread does not hold up the others."""

LOOKS_BEFORE_SLEEP = 1000
"""How often an idle thread looks again before it goes to sleep: some 50 microseconds."""

POOL = StructLayout(
    busy="i64", asked="i64", size="i64", job="ptr", run="ptr", chunk="i64", stop="i64", doubts="i64",
    next=("i64", 64), state=("i64", 128), asleep="i64", lock="ptr", run_shared="ptr", workers=("i64", 192),
)  # fmt: skip
"""The block of a pool.  ``asked`` is how many workers were ever asked for, ``size`` how many there are; ``next`` is the
first state that no thread has taken; ``state`` is 2^32 times the number of workers at work plus the number of workers
that may still join them; the caller sleeps in ``asleep`` and ``lock``; from ``workers`` on come :data:`WORKER`."""

WORKER = StructLayout(asleep="i64", lock="ptr", area="ptr", bytes="i64")
"""A worker, and the work area that it keeps."""

WORKER_BYTES = 64
"""A cache line for each worker."""

AT_WORK = 1 << 32
"""The contribution of one worker to the ``state`` of a pool."""

FROM_PYTHON = ("PyThread_acquire_lock", "PyThread_release_lock", "PyMem_RawMalloc", "PyMem_RawFree")
"""Functions of CPython that do not need the interpreter lock."""


def pool_module() -> str:
    """Return LLVM assembly of ``run_shared(pool, job, run, workers, lanes)`` and ``work(pool, worker)``.

    The first computes a job (see :mod:`.driver`) with at most that many workers, in chunks of a multiple of ``lanes``
    states; ``run(job, scratch, start, stop, tile_area)`` computes some of it.  The second is what a worker does for as
    long as the process lives.
    """
    module = Module()
    with module.function("take_chunks", {"pool": "ptr", "scratch": "ptr", "tile": "ptr"}, linkage="internal") as f:
        pool, scratch, tile = f.args
        take_chunks(f, POOL.of(pool), scratch, tile)
    with module.function("work", {"pool": "ptr", "worker": "ptr"}) as f:
        work(f, *f.args)
    parameters = {"pool": "ptr", "job": "ptr", "run": "ptr", "workers": "i64", "lanes": "i64"}
    with module.function("run_shared", parameters, "i64") as f:
        run_shared(f, *f.args)
    return module.text()


def wait_until(f: MachineFunction, sleeper: Fields, ready: Callable[[], Value]) -> None:
    """Look for a while, then sleep.  Whoever finds ``asleep`` set and clears it must :func:`wake` the sleeper, once."""
    asleep = sleeper.place("asleep")
    with f.way_out("ready") as is_ready:
        with f.loop(0, LOOKS_BEFORE_SLEEP, hint="looks"):
            f.jump(is_ready, when=ready())
            rest(f)
        asleep.store_shared(1)
        with f.when(ready()):  # it came at the last moment: is somebody waking us already?
            f.jump(is_ready, when=asleep.update("xchg", 0).equals(1))
        f.call("PyThread_acquire_lock", sleeper["lock"], f.valued(1, "i32"), result="i32")


def rest(f: MachineFunction) -> None:
    """Let the processor's other hardware thread work for a moment."""
    if architecture() == "x86-64":
        f.call("llvm.x86.sse2.pause")
    else:
        f.do("fence seq_cst")


def wake(f: MachineFunction, sleeper: Fields) -> None:
    """Wake the sleeper, if there is one."""
    with f.when(sleeper.place("asleep").update("xchg", 0).equals(1)):
        f.call("PyThread_release_lock", sleeper["lock"])


def take_chunks(f: MachineFunction, pool: Fields, scratch: Value, tile: Value) -> None:
    """Take and compute chunks until none is left."""
    chunk, total, job, run = (pool[name] for name in ("chunk", "stop", "job", "run"))
    with f.forever():
        start = pool.place("next").update("add", chunk)
        f.leave(unless=start < total)
        doubt = f.call(run, job, scratch, start, (start + chunk).min(total), tile, result="i64")
        pool.place("doubts").update("or", doubt)


def work(f: MachineFunction, pool: Value, worker: Value) -> None:
    """Join callers that need workers, again and again; the last one to leave wakes the caller."""
    of_pool, me = POOL.of(pool), WORKER.of(worker)
    state = of_pool.place("state")
    with f.forever():
        wait_until(f, me, lambda: state.load_shared().to("i32") > 0)
        with f.when(join(f, state)):
            with f.way_out("no_memory") as no_memory:
                job = JOB.of(of_pool["job"])
                area = work_area(f, me, job["scratch_bytes"], no_memory)
                f.call("take_chunks", pool, *laid_out_like(job, area))
            with f.when((state.update("sub", AT_WORK) >> 32).equals(1)):
                wake(f, of_pool)


def join(f: MachineFunction, state: Value) -> Value:
    """Become one of the active workers if one may still join; return whether that succeeded."""
    seen, joined = f.variable(state.load_shared(), "seen"), f.variable(f.valued(0, "i1"), "joined")
    with f.forever(seen, joined):
        f.leave(unless=seen.value.to("i32") > 0)
        now, done = state.exchange(seen.value, seen.value + (AT_WORK - 1))
        seen.set(now)
        joined.set(done)
        f.leave(when=done)
    return joined.value


def work_area(f: MachineFunction, worker: Fields, size: Value, no_memory: Label) -> Value:
    """Return the work area that a worker keeps, enlarged if necessary."""
    with f.when(worker["bytes"] < size):
        f.call("PyMem_RawFree", worker["area"])
        fresh = f.call("PyMem_RawMalloc", size + 64, result="ptr")
        worker["area"] = fresh
        failed = fresh.equals(f.null)
        worker["bytes"] = failed.choose(f.valued(-1), size)
        f.jump(no_memory, when=failed)
    return worker["area"]


def laid_out_like(job: Fields, area: Value) -> tuple[Value, Value]:
    """Return where the scratch area of a job and its tile area, if any, are in a separate area."""
    scratch = aligned(area)
    tile = job["tile_area"]
    offset = tile.to("i64") - job["scratch"].to("i64")
    return scratch, tile.equals(area.f.null).choose(tile, scratch + offset)


def aligned(area: Value) -> Value:
    """Return the first cache line boundary in an area."""
    return area + (area.f.valued(64) - (area.to("i64") & 63))


def run_shared(f: MachineFunction, pool: Value, job: Value, run: Value, workers: Value, lanes: Value) -> None:
    """Compute a job together with workers, or alone while the pool works for somebody else."""
    of_pool, of_job = POOL.of(pool), JOB.of(job)
    scratch, tile, start, stop = (of_job[name] for name in ("scratch", "tile_area", "start", "stop"))
    _, is_ours = of_pool.place("busy").exchange(0, 1)
    with f.when(~is_ours):
        f.ret(f.call(run, job, scratch, start, stop, tile, result="i64"))
    chunk, useful = chunks_of(stop - start, workers, lanes)
    of_pool.fill(job=job, run=run, chunk=chunk, stop=stop, doubts=0, next=start)
    state = of_pool.place("state")
    state.store_shared(useful)
    with f.loop(0, of_pool["size"].min(useful)) as k:
        wake(f, WORKER.of(of_pool.place("workers") + k * WORKER_BYTES))
    f.call("take_chunks", pool, scratch, tile)
    state.update("and", -AT_WORK)  # nobody may join anymore
    wait_until(f, of_pool, lambda: state.load_shared().is_below(AT_WORK))
    doubts = of_pool["doubts"]
    of_pool.place("busy").store_shared(0)
    f.ret(doubts)


def chunks_of(count: Value, workers: Value, lanes: Value) -> tuple[Value, Value]:
    """Return how many states a chunk has, in whole tiles, and how many workers have something to do."""
    threads = workers + 1
    even, half = count // (threads * CHUNKS_PER_THREAD), count // (threads * 2)
    wanted = even.max(half.min(ENOUGH_STATES))
    chunk = ((wanted + lanes - 1) // lanes).max(1) * lanes
    return chunk, workers.min((count - 1) // chunk)  # one chunk is the caller's own
