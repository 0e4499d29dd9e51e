"""Run one recursion as a loop over many bodies, from the same source as for a few."""

from typing import Any


def rolled_kernel(*given: Any, **named: Any) -> Any:
    """Return a :class:`~kinetree.engine.kernels.loop_kernel.RolledKernel`, whose code is a loop."""
    from ...engine.kernels.loop_kernel import RolledKernel

    return RolledKernel(*given, **named)


def roll(*given: Any) -> Any:
    """See :func:`kinetree.evaluation.large_trees.schedule.roll`, which is imported for the first large tree."""
    from . import schedule

    return schedule.roll(*given)
