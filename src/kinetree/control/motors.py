"""A controller drives motors: what it asks of a joint that has none is refused, as nothing could give it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..model.tree import Model
from ..run.program import constant, is_traced
from ..simulation.failure import Fault
from ..spatial import Scalar
from .base import idle_joints


def motorless(tree: Model) -> dict[int, str]:
    """Places in v, and joints' names, of the degrees of freedom that no motor drives."""
    return {k: j.name for j in idle_joints(tree) for k in range(j.v_slice.start, j.v_slice.stop)}


def refuse_motorless(joints: dict[int, str], tau: Sequence[Scalar], t: Any) -> None:
    """Refuse forces on joints without a motor.

    Numbers must be zero (or NaN, which is lost already).  A traced law must be the constant zero there: so it costs
    nothing while it runs, and holds for all times and states.
    """
    for place, name in joints.items():
        if not _is_nothing(tau[place]):
            raise asked_too_much(name, _shown(tau[place]), t)


def asked_too_much(name: str, amount: str, t: Any) -> Fault:
    """What to say to a controller."""
    when = float(t) if isinstance(t, (int, float)) else math.nan  # a node, a batch of times: as far as the run has come
    return Fault(
        f"the controller asks for a force{amount} at joint {name!r}, which has no motor: give exactly 0.0 there, or "
        "give the joint a motor, actuated=True; what pushes from outside is a force element, ground=[...]",
        when,
        name,
    )


def _is_nothing(force: Any) -> bool:
    if is_traced(force):
        return False
    force = constant(force)
    if isinstance(force, float):
        return force == 0.0 or math.isnan(force)
    values = np.asarray(force, dtype=float)
    return not np.any((values != 0.0) & ~np.isnan(values))


def _shown(force: Any) -> str:
    if is_traced(force) or np.ndim(force):
        return ""
    return f" of {float(constant(force)):.6g}"
