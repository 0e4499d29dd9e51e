"""A traced function as machine code: for one state, for a batch, from Python.

A kernel takes a few vectors of fixed length and returns an array of fixed shape; leading
axes are the batch.  It knows nothing about what it computes.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import cache
from ..fuse import prepare
from ..llvm import driver, host, streaming
from ..llvm.driver import JOB, STREAMED_BYTES, pack_job
from ..llvm.emit import lanes_module, single_module
from ..llvm.table_lookups import SYMBOL as TABLES
from ..llvm.table_lookups import words_for
from ..llvm.vectors import Vectors
from ..load_code import load_or_compile, load_or_compile_own
from ..make_once import made_once, once
from ..result_memory import empty
from ..threads import thread_pool
from ..trace import Shape, Traced

_POINTER = ctypes.c_void_p
_DRIVE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p)

Job = bytes | ctypes.Array
"""What :func:`~kinetree.engine.llvm.driver.pack_job` makes, or the same in writable memory."""

FEWEST_SENT = 64
"""Numbers per state from which results are sent while the next are computed, which costs registers: fewer stay in the
caches except for very long batches."""


class BatchLoop(NamedTuple):
    """The loop over the states of a batch: one for all kernels of a precision."""

    call: Callable[[Job], int]
    """Computes a job, which :func:`~kinetree.engine.llvm.driver.pack_job` makes."""
    address: int
    """Address of the same function."""
    run_address: int
    """Address of the function that computes some states of a job, for several threads."""
    alive: Any
    """What must be kept alive as long as the code is used."""


@once
def batch_loop(target: host.Machine, single_precision: bool = False) -> BatchLoop:
    """Return the loop over batches for a machine, made on first use."""
    vectors, symbols = target.vectors(single_precision), (driver.SYMBOL, driver.RUN)
    addresses, alive = load_or_compile_own(
        None, f"driver {vectors}", lambda: driver.driver_module(vectors), symbols, target=target
    )
    address = addresses[driver.SYMBOL]
    return BatchLoop(_DRIVE(address), address, addresses[driver.RUN], alive)


def address_of(array: np.ndarray) -> int:
    """Return the address of an array's data; faster than ``array.ctypes.data``."""
    return int(array.__array_interface__["data"][0])


def _row_bytes(rows: np.ndarray) -> int:
    """Return how far the rows of an input are apart in memory: a single one stands for all states."""
    return rows.strides[0] if len(rows) > 1 else 0


@dataclass
class Kernel:
    """A function of vectors, compiled when first needed.

    Parameters
    ----------
    name : str
        For messages.
    source : callable
        Returns the :class:`Traced` graph; called only if the code is not in the cache.
    lengths : sequence of int
        Length of each input vector.
    shape : tuple of int
        Shape of the output.
    key : str or None
        What the code depends on besides the machine; None keeps it out of the cache.
    argument_names : sequence of str
        For messages.
    single_precision : bool
        Compute in float32.
    spread_nan : bool
        Whether a NaN in an unused input makes all results NaN, too.
    target : Machine
        What the code is made for.
    is_guard : bool
        Whether it is called with the inputs of another kernel, after which there is no room for its own values.
    tables : sequence of ndarray, each (rows, columns)
        Data that the code looks up, like the graph's: they are not part of the code, which is cached without them.
    read_soon : bool
        Whether large results, too, should stay in the caches, because another kernel is about to read them.
    """

    name: str
    source: Callable[[], Traced]
    lengths: tuple[int, ...]
    shape: Shape
    key: str | None = None
    argument_names: tuple[str, ...] = ()
    single_precision: bool = False
    spread_nan: bool = True
    target: host.Machine = field(default_factory=lambda: host.host(), repr=False)
    is_guard: bool = False
    tables: Sequence[np.ndarray] = field(default=(), repr=False)
    read_soon: bool = False
    _alive: list[Any] = field(default_factory=list, repr=False)
    _local: Any = field(default_factory=threading.local, repr=False)
    _places: int = field(default=0, repr=False)
    _work: int = field(default=0, repr=False)
    _tiles: int = field(default=1, repr=False)

    def is_ready(self, batch: bool) -> bool:
        """Return whether the form for batches, or for one state, has been loaded."""
        return ("lanes_address" if batch else "single_address") in self.__dict__

    @property
    def dtype(self) -> type:
        """float64 or float32."""
        return np.float32 if self.single_precision else np.float64

    @made_once
    def size(self) -> int:
        """The number of outputs per state."""
        return math.prod(self.shape)

    @made_once
    def _fused(self) -> Traced:
        traced = self.source()
        graph, out = prepare(traced.graph, traced.outputs, self.target.fused)
        return Traced(graph, out, traced.lengths, traced.shape)

    def _address(self, form: str) -> int:
        """Compile one form, or load it from the cache."""
        precision = "f32" if self.single_precision else "f64"
        key = None if self.key is None else cache.digest(self.key, form, precision)
        symbols: tuple[str, ...] = ("kernel", "places", "work") if form == "lanes" else ("kernel",)
        symbols += (TABLES,) if self.tables else ()
        addresses, alive = load_or_compile(self.name, key, lambda: self._assembly(form), symbols, target=self.target)
        self._alive.append(alive)
        if self.tables:
            self._fill_in(addresses[TABLES])
        if form == "lanes":
            self._places = addresses["places"]
            self._work, self._tiles = (ctypes.c_int64 * 2).from_address(addresses["work"])
        return addresses["kernel"]

    def _fill_in(self, address: int) -> None:
        """Write the addresses of its tables into loaded code."""
        held: list[np.ndarray] = [np.ascontiguousarray(table, dtype=self.dtype) for table in self.tables]
        words = words_for(held)
        ctypes.memmove(address, address_of(words), words.nbytes)
        self._alive.append(held)

    def _assembly(self, form: str) -> str:
        t = self._fused
        if t.graph.tables and not self.tables:
            raise AssertionError(f"{self.name} looks up data, but was made without its tables")
        if form == "lanes":
            watched = sum(self.lengths) if self.spread_nan else 0
            work_at = None if self.is_guard else self._before_work
            return lanes_module(t.graph, t.outputs, self.vectors, watched, self.sends, work_at)
        return single_module(t.graph, t.outputs, t.lengths, self.vectors, self.spread_nan)

    @made_once
    def lanes_address(self) -> int:
        """Machine code over vector lanes."""
        return self._address("lanes")

    @property
    def places_address(self) -> int:
        """The table of where each output is among the results of the machine code over lanes."""
        _ = self.lanes_address
        return self._places

    @made_once
    def single_address(self) -> int:
        """Machine code for one state."""
        return self._address("single")

    @made_once
    def _single(self) -> Any:
        return ctypes.CFUNCTYPE(None, _POINTER, _POINTER)(self.single_address)

    def __call__(self, *arrays: np.ndarray, out: np.ndarray | None = None, threads: int = 1) -> np.ndarray:
        """Evaluate. Arrays must have the right last axis; their batches are broadcast."""
        self._check(arrays)
        shapes = {a.shape[:-1] for a in arrays} - {()}
        batch = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
        if out is not None:
            self._check_out(out, (*batch, *self.shape))
        # an output that shares memory with an input would be written before all is read
        apart = out is not None and not any(np.may_share_memory(out, a) for a in arrays)
        result = out if apart and out is not None else empty((*batch, *self.shape), self.dtype)
        if batch == ():
            self._run_single(arrays, result)
        else:
            self._run_batch(arrays, batch, result, threads)
        if out is None or result is out:
            return result
        out[...] = result
        return out

    def _check(self, arrays: Sequence[np.ndarray]) -> None:
        """Refuse wrong arguments, saying which one is wrong and what it should be."""
        if len(arrays) != len(self.lengths):
            raise TypeError(f"{self.name} takes {len(self.lengths)} arrays, got {len(arrays)}")
        for k, (a, n) in enumerate(zip(arrays, self.lengths, strict=True)):
            if not (isinstance(a, np.ndarray) and a.ndim and a.shape[-1] == n and a.dtype.kind == "f"):
                name = self.argument_names[k] if k < len(self.argument_names) else f"argument {k + 1}"
                found = f"{a.dtype} {a.shape}" if isinstance(a, np.ndarray) else type(a).__name__
                raise TypeError(f"{self.name}: {name} must be an array of floats of shape (..., {n}), got {found}")

    def _check_out(self, out: np.ndarray, shape: Shape) -> None:
        """Refuse an output that is too small: machine code would write past its end."""
        if not (isinstance(out, np.ndarray) and out.shape == shape and out.dtype.kind == "f" and out.flags.writeable):
            found = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            found += " that is read-only" if isinstance(out, np.ndarray) and not out.flags.writeable else ""
            raise TypeError(f"{self.name}: out must be a writable array of floats of shape {shape}, got {found}")

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        held: list[np.ndarray] = [np.ascontiguousarray(a, dtype=self.dtype) for a in arrays]
        table = (ctypes.c_void_p * max(len(held), 1))(*(address_of(a) for a in held))
        target = (
            result if result.flags.c_contiguous and result.dtype == self.dtype else np.empty(self.shape, self.dtype)
        )
        self._single(ctypes.addressof(table), address_of(target))
        if target is not result:
            result[...] = target

    def _run_batch(self, arrays: Sequence[np.ndarray], batch: Shape, result: np.ndarray, threads: int) -> None:
        count = math.prod(batch)
        if count == 0:
            return
        loop = self._load()
        direct = result.flags.c_contiguous and result.dtype == self.dtype
        flat = result if direct else np.empty((count, self.size), dtype=self.dtype)
        rows = [self._rows(a, batch, count) for a in arrays]
        self._drive(self._job(rows, count, address_of(flat), self._scratch()), count, threads, loop)
        if not direct:
            result[...] = flat.reshape(result.shape)

    def _load(self) -> BatchLoop:
        """Load the code for batches and the loop around it."""
        _ = self.lanes_address  # first: if code cannot be loaded at all, the message names what was asked for
        try:
            return batch_loop(self.target, self.single_precision)
        except host.CompilationError as problem:
            raise host.CompilationError(f"compiling {self.name} failed: {problem}") from None

    def _job(self, rows: Sequence[np.ndarray], count: int, target: int, scratch: int) -> bytes:
        """Pack the evaluation of ``count`` rows of each input, with results going to an address."""
        streamed = not self.read_soon and count * self.size * self.vectors.item > STREAMED_BYTES
        layouts = [self._layout(a) for a in rows]
        self._local.layouts = layouts  # while the job runs
        return pack_job(
            self.lanes_address, 0, target, scratch, self.size, 0, count,
            [address_of(a) for a in rows], [_row_bytes(a) // a.itemsize for a in rows], self.lengths,
            layouts=[0 if lies is None else address_of(lies) for lies in layouts],
            context=self.context_address, places=self.places_address, scratch_bytes=self.scratch_bytes,
            tile_area=scratch + self.scratch_bytes - self.tile_bytes if streamed else 0, second=self.second_area,
            tiles=self.tiles, block_bytes=self.block_bytes,
        )  # fmt: skip

    def _drive(self, job: Job, count: int, threads: int, loop: BatchLoop) -> None:
        """Run a job, with several threads where there is enough work for them."""
        if threads == 1 or count < 2 * self.lanes:
            loop.call(job)
            return
        pool = thread_pool()
        try:
            workers = pool.start(threads - 1)
        except host.CompilationError as problem:
            raise host.CompilationError(f"compiling {self.name} failed: {problem}") from None
        pool.run(job, loop.run_address, workers, self.round)

    def prepared(self, *arrays: np.ndarray, threads: int = 1) -> PreparedCall:
        """Return a call for a batch that stays in place: arrays (count, n) whose numbers may change."""
        self._check(arrays)
        count = max(len(a) for a in arrays)
        rows = [a if len(a) == count else np.broadcast_to(a, (count, a.shape[-1])) for a in arrays]
        for a, row in zip(arrays, rows, strict=True):
            if self._rows(row, (count,), count) is not row or self._layout(row) is not None:
                raise TypeError(f"{self.name}: an array of {a.dtype} {a.shape} would have to be copied at every call")
        return PreparedCall(self, rows, count, threads)

    @made_once
    def vectors(self) -> Vectors:
        """The values that the machine code over lanes computes with."""
        return self.target.vectors(self.single_precision)

    @property
    def lanes(self) -> int:
        """States per tile."""
        return self.vectors.lanes

    @property
    def round(self) -> int:
        """The number of states that belong together: a batch is divided between threads in multiples of it."""
        return self.lanes * (streaming.apart(self.size, self.vectors.per_line) if self._in_lines else 1)

    @property
    def is_one_function(self) -> bool:
        """Whether one piece of machine code computes everything, so that an entry point can call it."""
        return True

    @property
    def context_address(self) -> int:
        """The last argument of the machine code."""
        return 0

    @property
    def work_vectors(self) -> int:
        """The number of vectors that the machine code needs after its outputs."""
        _ = self.lanes_address
        return self._work

    @property
    def _in_lines(self) -> bool:
        """Whether results are written in whole cache lines."""
        return self.size >= self.vectors.per_line

    @property
    def sends(self) -> bool:
        """Whether the machine code sends on the results of one tile while it computes the next."""
        return self.size >= FEWEST_SENT and self.vectors.sends

    @made_once
    def second_area(self) -> int:
        """The place in the work area for the results of a second tile; zero if there is none."""
        return self._tile_vectors * self._vector_bytes if self.sends else 0

    @property
    def _tile_vectors(self) -> int:
        return sum(self.lengths) + self.size + 3 * self.lanes

    @property
    def _before_work(self) -> int:
        """The number of vectors before the working ones: inputs, outputs, possibly outputs a second time."""
        return self._tile_vectors + (self.size if self.sends else 0)

    @property
    def _vector_bytes(self) -> int:
        return self.vectors.size

    @property
    def tiles(self) -> int:
        """The number of tiles that the machine code computes at once."""
        _ = self.lanes_address
        return self._tiles

    @made_once
    def block_bytes(self) -> int:
        """Size of the work area for one tile, or for two if one of them is being sent."""
        return (self._before_work + self.work_vectors) * self._vector_bytes

    @made_once
    def scratch_bytes(self) -> int:
        """Size of the work area for all tiles that are computed at once."""
        return self.block_bytes * self.tiles + self.tile_bytes

    @made_once
    def tile_bytes(self) -> int:
        """Size of the area in which results are collected before they are streamed."""
        return driver.CHUNK * self._vector_bytes

    def _scratch(self) -> int:
        """Return the address of a work area that belongs to this thread."""
        area = getattr(self._local, "area", None)
        if area is None:
            area = self._local.area = np.empty(self.scratch_bytes + 64, dtype=np.uint8)
        return (address_of(area) + 63) & ~63

    def _rows(self, a: np.ndarray, batch: Shape, count: int) -> np.ndarray:
        """Return a view (count, n), or (1, n) for all; copied only if there is no such view or no code reads it."""
        n = a.shape[-1]
        if a.dtype not in (np.float64, np.float32) or not a.flags.aligned:
            a = a.astype(self.dtype)
        if a.ndim == 2 and a.shape[0] == count:
            return a
        if math.prod(a.shape[:-1]) == 1:
            return a.reshape(1, n)
        if a.shape[:-1] != batch:
            a = np.broadcast_to(a, (*batch, n))
        return a.reshape(count, n)

    def _layout(self, a: np.ndarray) -> np.ndarray | None:
        """Return the memory layout of rows that are not consecutive numbers of the kernel's precision."""
        row, column = _row_bytes(a), a.strides[1]
        is_own = a.dtype == self.dtype
        if is_own and (column == a.itemsize or a.shape[1] == 1) and row % a.itemsize == 0:
            return None
        return np.array([row, column, not is_own], dtype=np.int64)


class PreparedCall:
    """A kernel with its inputs laid out once, for those who call it again and again.

    It has a single work area, so only one thread may call it at a time.

    Parameters
    ----------
    kernel : Kernel
    rows : sequence of ndarray, each (count, n)
    count : int
    threads : int
    """

    def __init__(self, kernel: Kernel, rows: Sequence[np.ndarray], count: int, threads: int) -> None:
        self._kernel, self._how = kernel, (count, threads, kernel._load())
        self._rows = list(rows)  # kept alive
        self._area = np.empty(kernel.scratch_bytes + 64, dtype=np.uint8)
        job = kernel._job(rows, count, 0, (address_of(self._area) + 63) & ~63)
        self._job = ctypes.create_string_buffer(job, len(job))
        self._target = ctypes.c_int64.from_buffer(self._job, JOB.at["out"])
        self._shape, self._dtype = (count, *kernel.shape), kernel.dtype

    def read_from(self, number: int, array: np.ndarray) -> None:
        """From now on, read an input from another array, of the same shape and in C order like the one before."""
        was = self._rows[number]
        if array.shape != was.shape or array.dtype != was.dtype or not (array.flags.carray and was.flags.c_contiguous):
            raise TypeError(f"{self._kernel.name}: input {number} must be {was.dtype} {was.shape} in C order")
        self._rows[number] = array
        ctypes.c_int64.from_buffer(self._job, JOB.size + 8 * number).value = address_of(array)

    def into(self, out: np.ndarray) -> Callable[[], object]:
        """Evaluate into an array, and return a function that does so again, without any checks."""
        self(out)
        self._rows.append(out)  # kept alive
        count, threads, loop = self._how
        if threads == 1 or count < 2 * self._kernel.lanes:
            call, job = loop.call, self._job

            def again(alive: object = self) -> object:
                return call(job)

            return again
        return partial(self._kernel._drive, self._job, *self._how)

    def __call__(self, out: np.ndarray | None = None) -> np.ndarray:
        """Evaluate, optionally into a given array of the right kind, which must not share memory with inputs."""
        if out is None:
            out = empty(self._shape, self._dtype)
        elif not (out.shape == self._shape and out.dtype == self._dtype and out.flags.carray):
            raise TypeError(f"{self._kernel.name}: out must be a C-ordered array of {self._dtype} {self._shape}")
        self._target.value = address_of(out)
        self._kernel._drive(self._job, *self._how)
        return out
