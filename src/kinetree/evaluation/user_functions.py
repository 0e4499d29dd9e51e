"""User functions in machine code, with exact Jacobians.

A function of lists of scalars, written with :func:`kinetree.sin`, :func:`kinetree.where` and the like, is traced once;
the graph is compiled like any algorithm, and differentiated if its Jacobian is requested.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..engine.differentiate import MODES, differentiate
from ..engine.kernels.kernel import Kernel
from ..engine.llvm import host
from ..engine.trace import Traced, trace
from ..errors import CompileError, ExplainsArguments, ModelError, ShapeError, refuse_unknown
from ..spatial.arrays import as_array, flatten


class CompiledFunction(ExplainsArguments):
    """A function of vectors on arrays, for one state or a batch; make one with :func:`compile_function`."""

    def __init__(self, name: str, traced: Traced, source: Callable[[], Traced]) -> None:
        self.name = name
        self.shape = traced.shape
        self._source = source
        self._kernel = Kernel(name, lambda: traced, traced.lengths, traced.shape, tables=traced.graph.tables)

    def __call__(self, *arrays: ArrayLike, out: np.ndarray | None = None, threads: int = 1) -> np.ndarray:
        """Evaluate; each array is ``(..., n)`` with its own n, and batches broadcast as in NumPy."""
        lengths = self._kernel.lengths
        if len(arrays) != len(lengths):
            raise ShapeError(f"{self.name} takes {len(lengths)} vectors, not {len(arrays)}")
        given = [
            as_array(x, (n,), f"argument {k} of {self.name}")
            for k, (x, n) in enumerate(zip(arrays, lengths, strict=True))
        ]
        try:
            return self._kernel(*given, out=out, threads=threads)
        except host.CompilationError as problem:
            raise CompileError(str(problem)) from None

    @cached_property
    def jacobian(self) -> CompiledFunction:
        """Derivatives of every result by every input, ``(..., *shape, number of inputs)``, also compiled."""
        return self.jacobian_by("auto")

    def jacobian_by(self, mode: str) -> CompiledFunction:
        """Differentiate by columns (``"forward"``), by rows (``"reverse"``), or whichever is cheaper (``"auto"``)."""
        refuse_unknown("mode of differentiation", mode, MODES)

        def source() -> Traced:
            return differentiate(self._source(), mode)

        return CompiledFunction(f"Jacobian of {self.name}", source(), source)


def compile_function(function: Callable[..., Any], *sizes: int) -> CompiledFunction:
    """Compile a function of vectors to machine code.

    Parameters
    ----------
    function : callable
        Takes one list of scalars per size, returns scalars in nested lists. It must not use ``if`` on its arguments;
        use :func:`kinetree.where` instead.
    *sizes : int
        Length of each vector.

    Examples
    --------
    >>> import kinetree as kt
    >>> square = kt.compile_function(lambda x: [x[0] * x[0] + x[1]], 2)
    >>> square([3.0, 1.0])
    array([10.])
    >>> square.jacobian([3.0, 1.0])
    array([[6., 1.]])
    """
    if not sizes or any(isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1 for n in sizes):
        raise ShapeError(f"compile_function needs the length of each vector, whole numbers above 0; not {sizes}")
    name = getattr(function, "__name__", type(function).__name__)

    def source() -> Traced:
        return trace(function, [int(n) for n in sizes], flatten)

    try:
        return CompiledFunction(name, source(), source)
    except TypeError as problem:
        raise ModelError(f"{name} cannot be traced: {problem}") from None
