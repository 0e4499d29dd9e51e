"""Backward passes of dynamic programming over nodes with large matrices, as machine code."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...engine.kernels.backward_kernel import BY_NODE, BY_PLAN, BackwardKernel, NodeShape
from ...engine.llvm import host
from ...errors import CompileError
from ...spatial.arrays import Array
from ..law_kernels import Law, LawProgram

__all__ = ["BY_NODE", "BY_PLAN", "BackwardProgram", "NodeShape"]


class BackwardProgram:
    """A backward pass over all nodes of plans; see :mod:`kinetree.engine.kernels.backward_kernel`.

    Parameters
    ----------
    shape : NodeShape
    law : callable
        What actions are best: takes ``q_u``, ``q_uu``, ``u``, ``bounds`` and ``damping`` by name.
    cpu : str
        The processor to make machine code for; the default one if empty.
    """

    def __init__(self, shape: NodeShape, law: Law, cpu: str = "") -> None:
        n = shape.nu
        lengths = {"q_u": n, "q_uu": n * n, "u": n, "bounds": 2 * n, "damping": 1}
        program = LawProgram("actions of one node", law, lengths, True, cpu=cpu)
        assert program.kernel is not None
        try:
            self._kernel = BackwardKernel(shape, program.kernel)
        except host.CompilationError as problem:
            raise CompileError(str(problem)) from None

    def prepared(self, by_node: Sequence[Array], by_plan: Sequence[Array]) -> Callable[[], None]:
        """Return a function that runs over arrays that stay in place, for one thread."""
        return self._kernel.prepared(by_node, by_plan)
