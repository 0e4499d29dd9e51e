"""The robot that a model describes: with closed loops or without."""

from __future__ import annotations

from ..model.tree import Model
from .robot import Robot


def make(
    model: Model, *, backend: str | None = None, precision: str = "double", cpu: str | None = None
) -> Robot:  # fmt: skip
    """Make a :class:`~kinetree.Mechanism` from a model with loops or couplings, otherwise a :class:`~kinetree.Robot`.

    Parameters
    ----------
    model : Model
    backend, precision, cpu
        As for :class:`~kinetree.Robot`.
    """
    if not (isinstance(model, Model) and model.is_constrained):
        return Robot(model, backend=backend, precision=precision, cpu=cpu)
    from .mechanism import Mechanism

    return Mechanism(model, backend=backend, precision=precision, cpu=cpu)
