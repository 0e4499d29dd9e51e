"""Recursions along rows of numbers, for a batch of them: in machine code, or as they are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..engine.kernels.chain_kernel import ChainKernel, ChainRows, trace_chain
from ..engine.llvm import host
from ..engine.result_memory import LARGE, empty
from ..spatial.arrays import Array, pack, split
from ..spatial.scalar import Scalar
from .law_kernels import LawProgram, of_no_graph, once, run_kernel

__all__ = ["ChainProgram", "ChainRows", "evaluate_into", "kept_arrays"]

LINE = 8
"""Numbers of a line of the cache: arrays in one block of memory begin there."""


def kept_arrays(*shapes: tuple[int, ...]) -> list[Array]:
    """Return arrays of floats, not filled, in memory that is kept for the next ones once they are forgotten.

    Memory from the system is cleared page by page, which takes longer than many a computation.
    """
    sizes = [-(-math.prod(shape) // LINE) * LINE for shape in shapes]
    block, first, found = empty((max(sum(sizes), LARGE // 8),), float), 0, list[Array]()
    for shape, size in zip(shapes, sizes, strict=True):
        found.append(block[first : first + math.prod(shape)].reshape(shape))
        first += size
    return found


def evaluate_into(program: LawProgram, vectors: Mapping[str, Array], out: Array, threads: int = 1) -> None:
    """Evaluate a law into an array (..., n)."""
    if program.kernel is None:
        out[...] = program(vectors, threads)
    else:
        program.kernel(*(vectors[name] for name in program.lengths), out=out, threads=threads)


class ChainProgram:
    """A step that is repeated along rows of numbers; see :mod:`kinetree.engine.kernels.chain_kernel`.

    Parameters
    ----------
    name : str
        For messages.
    law : callable
        ``law(state, *rows, parameters)`` returns the next state, and further results, as one list of scalars.
    n_state : int
    rows : sequence of ChainRows
        How a step reads each of the long vectors.
    n_parameters : int
    steps : int
    backward : bool
        Whether the last rows come first.
    cpu : str
        The processor to make machine code for; the default one if empty.
    compiled : bool
        Machine code or plain Python.
    """

    def __init__(
        self, name: str, law: Callable[..., list[Scalar]], n_state: int, rows: Sequence[ChainRows], n_parameters: int,
        steps: int, backward: bool = False, cpu: str = "", compiled: bool = True,
    ) -> None:  # fmt: skip
        self.law, self.n_state, self.rows, self.steps, self.backward = law, n_state, tuple(rows), steps, backward
        self.n_parameters, self.compiled = n_parameters, compiled
        if not compiled:
            return
        chain = trace_chain(law, n_state, rows, n_parameters, steps, backward)

        def make(key: str, target: host.Machine) -> ChainKernel:
            return ChainKernel(
                name, of_no_graph, chain.lengths, chain.shape, key, target=target, chain=lambda: chain,
                tables=chain.graph.tables,
            )  # fmt: skip

        self.kernel: ChainKernel = once("chain" + chain.content(), cpu, make, chain.graph.tables)

    def __call__(self, start: Array, *vectors: Array, threads: int = 1) -> Array:
        """Return the results of all steps, (..., steps, n), of one chain or a batch; parameters come last."""
        given = vectors if self.n_parameters or len(vectors) == len(self.rows) else vectors[:-1]
        if not self.compiled:
            return self._as_written(start, given)
        return run_kernel(self.kernel, start, *given, threads=threads)

    def _as_written(self, start: Array, vectors: Sequence[Array]) -> Array:
        batch = np.broadcast_shapes(start.shape[:-1], *(x.shape[:-1] for x in vectors))
        long, p = vectors[: len(self.rows)], split(vectors[-1]) if self.n_parameters else []
        state, found = split(start), list[Array]()
        with np.errstate(all="ignore"):
            for done in range(self.steps):
                k = self.steps - 1 - done if self.backward else done
                own = [
                    split(x[..., k * each.stride : k * each.stride + each.width])
                    for x, each in zip(long, self.rows, strict=True)
                ]
                result = self.law(state, *own, p)
                state = result[: self.n_state]
                found.append(pack(result, batch))
        return np.stack(found[::-1] if self.backward else found, axis=-2)
