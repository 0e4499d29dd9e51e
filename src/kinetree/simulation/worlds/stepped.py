"""What steps of a world give."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Array = np.ndarray


class Stepped(NamedTuple):
    """What a step of a world gives; what no function was given for is None."""

    observation: Array | None
    """(batch, n)"""
    reward: Array | None
    """(batch,)"""
    ended: Array
    """(batch,): those whose end came, or which were lost."""
    lost: Array
    """(batch,): those with an action or a state that is NaN; they stay so until they are reset."""


class DifferentiatedStep(NamedTuple):
    """What a step of a world gives, and how where it ends changes; x are positions along the freedoms, velocities."""

    stepped: Stepped
    by_state: Array
    """dx_end / dx_begin, (batch, 2 nv, 2 nv); further states, such as integrals of a controller, come last."""
    by_action: Array
    """dx_end / daction, (batch, 2 nv, n)"""
