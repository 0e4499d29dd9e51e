"""Results of steps of a world."""

from __future__ import annotations

from typing import NamedTuple

from ...spatial.arrays import Array


class Stepped(NamedTuple):
    """The result of a world's step; entries without a function are None."""

    observation: Array | None
    """(batch, n)"""
    reward: Array | None
    """(batch,)"""
    ended: Array
    """(batch,): worlds that ended or were lost."""
    lost: Array
    """(batch,): worlds with an action or a state that is NaN; they stay so until they are reset."""


class _Differentiated(NamedTuple):
    stepped: Stepped
    by_state: Array
    """dx_end / dx_begin, (batch, 2 nv, 2 nv); further states, such as integrals of a controller, come last."""
    by_action: Array
    """dx_end / daction, (batch, 2 nv, n)"""


class DifferentiatedStep(_Differentiated):
    """The result of a world's step with derivatives of its end; x are positions along the freedoms, then velocities.

    Attributes
    ----------
    by_parameters : dict from str to ndarray (batch, 2 nv, n)
        dx_end / dp for the requested parameters.
    by_earlier : ndarray (batch, k, 2 nv, n)
        Derivatives of x_end with respect to the actions one, two, ... periods before, if these arrive late; otherwise
        ``k`` is zero.
    """

    by_parameters: dict[str, Array]
    by_earlier: Array

    def __new__(
        cls, stepped: Stepped, by_state: Array, by_action: Array, by_parameters: dict[str, Array], by_earlier: Array
    ) -> DifferentiatedStep:
        """Make a tuple of three with two attributes."""
        made = super().__new__(cls, stepped, by_state, by_action)
        made.by_parameters, made.by_earlier = by_parameters, by_earlier
        return made


class Transition(NamedTuple):
    """The states after a period, with the derivatives."""

    state: Array
    """(..., n)"""
    by_state: Array
    """(..., 2 nv, 2 nv)"""
    by_action: Array
    """(..., 2 nv, n)"""
    by_parameters: dict[str, Array]
    """(..., 2 nv, n) by name."""
