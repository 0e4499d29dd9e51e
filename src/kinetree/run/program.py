"""A function of named vectors over any scalar, run as machine code or as it is written.

The robot's backend decides.  Machine code is found again by the graph it was made from,
so equal laws are compiled once however often they are set up.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..engine import cache
from ..engine.kernels.kernel import Kernel
from ..engine.llvm import host
from ..engine.once import MAKING
from ..engine.trace import Traced, trace
from ..errors import CompileError
from ..robot.robot import Robot
from ..spatial.arrays import pack, split
from .compiler import LARGEST_UNROLLED, _fingerprint, supported

Array = np.ndarray
Law = Callable[..., list[Any]]

_MADE: dict[tuple[str, str], Any] = {}
"""Kernels of this process by the digest of what they were made from, and by what they were made for."""

MOST_KEPT = 100
"""Kernels that are kept for the next simulation with the same laws."""


def can_compile(robot: Robot) -> bool:
    """Whether laws around this robot are run as straight-line machine code."""
    return len(robot.model.bodies) <= LARGEST_UNROLLED and has_machine_code(robot)


def has_machine_code(robot: Robot) -> bool:
    """Whether laws that leave the robot's own motion aside can be machine code, whatever its size."""
    return robot.backend == "compiled" and supported()


def kernel_of(name: str, traced: Traced, argument_names: tuple[str, ...], cpu: str) -> Kernel:
    """The kernel of a graph, made at most once for a processor."""
    graph = traced.graph
    content = repr((graph.kinds, graph.args, graph.values, traced.outputs))

    def make(key: str, target: host.Machine) -> Kernel:
        return Kernel(name, lambda: traced, traced.lengths, traced.shape, key, argument_names, target=target)

    return once(content, cpu, make)


def once(content: str, cpu: str, make: Callable[[str, host.Machine], Any]) -> Any:
    """A kernel with this content: one made before, or a new one.

    ``make`` gets the key that it is kept on disk under, and what it is made for.
    """
    key, target = cache.digest(_fingerprint(), content), host.target(cpu)
    with MAKING:  # another thread may be about to drop this very kernel, or to make the same one
        made = _MADE.get((key, target.key))
        if made is None:
            if len(_MADE) >= MOST_KEPT:
                _MADE.pop(next(iter(_MADE)))
            made = _MADE[key, target.key] = make(key, target)
    return made


class Program:
    """One law on arrays.

    Parameters
    ----------
    name : str
        For messages.
    law : callable
        Takes lists of scalars by name, returns a flat list of scalars.
    lengths : mapping of str to int
        Length of each vector; those of length zero are left out.
    compiled : bool
        Machine code or plain Python.
    longest : int, optional
        Laws of more operations than this stay plain Python all the same.
    cpu : str
        What machine code is made for; the usual processor if empty.
    """

    def __init__(
        self, name: str, law: Law, lengths: Mapping[str, int], compiled: bool, longest: int | None = None, cpu: str = ""
    ) -> None:
        self.name, self.law, self.compiled = name, law, compiled
        self.lengths = {key: n for key, n in lengths.items() if n}
        self.empty: dict[str, list[Any]] = {key: [] for key, n in lengths.items() if not n}
        self.kernel: Kernel | None = None
        self.constants: Array | None = None
        """What it returns, if that depends on nothing: a robot without motors and friction."""
        if compiled:
            names = tuple(self.lengths)

            def on_nodes(*vectors: Any) -> list[Any]:
                return law(**dict(zip(names, vectors, strict=True)), **self.empty)

            traced = trace(on_nodes, tuple(self.lengths.values()), lambda x: x)
            if all(traced.graph.is_const(i) for i in traced.outputs):
                self.constants = np.array([traced.graph.values[i] for i in traced.outputs], dtype=float)
            elif longest is None or len(traced.graph) <= longest:
                self.kernel = kernel_of(name, traced, names, cpu)
            self._local = threading.local()  # several threads may run the same simulator

    def __call__(self, vectors: Mapping[str, Array], threads: int = 1) -> Array:
        """Evaluate for one state or a batch; vectors are (..., n)."""
        if self.constants is not None:
            batch = np.broadcast_shapes(*(vectors[name].shape[:-1] for name in self.lengths))
            return np.array(np.broadcast_to(self.constants, (*batch, len(self.constants))))
        if self.kernel is None:
            return self._as_written(vectors)
        arrays = [vectors[name] for name in self.lengths]
        try:
            if all(a.ndim == 1 for a in arrays):
                fast: _OneState | None = getattr(self._local, "fast", None)
                if fast is None:
                    fast = self._local.fast = _OneState(self.kernel)
                return fast(arrays)
            return self.kernel(*arrays, threads=threads)
        except host.CompilationError as problem:
            raise CompileError(str(problem)) from None

    def _as_written(self, vectors: Mapping[str, Array]) -> Array:
        batch = np.broadcast_shapes(*(vectors[name].shape[:-1] for name in self.lengths))
        with np.errstate(all="ignore"):
            result = self.law(**{name: split(vectors[name]) for name in self.lengths}, **self.empty)
            return pack(result, batch)


class _OneState:
    """A kernel called for one state at a time, from fixed buffers: microseconds matter to an integrator."""

    def __init__(self, kernel: Kernel) -> None:
        self.call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(kernel.single_address)
        self.kernel = kernel
        self.inputs = [np.empty(n) for n in kernel.lengths]
        self.out = np.empty(kernel.shape)
        self.table = (ctypes.c_void_p * len(self.inputs))(*(a.ctypes.data for a in self.inputs))
        self.table_at, self.out_at = ctypes.addressof(self.table), self.out.ctypes.data

    def __call__(self, arrays: list[Array]) -> Array:
        for own, given in zip(self.inputs, arrays, strict=True):
            own[:] = given
        self.call(self.table_at, self.out_at)
        return self.out.copy()
