"""The part of a placement that is a turn about the hinge's own axis, such as theta of a row of a DH table.

A hinge about a coordinate axis k has the pose ``R Rk(q)``, where R is the rotation of its placement.  With
``R = Ri(a) Rj(b) Rk(c)`` that is ``Ri(a) Rj(b) Rk(q + c)``: an addition in place of the products with a matrix, and
without b, as in DH tables, a turn less.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..spatial import AxisRotation, Transform
from ..spatial.arrays import Array
from .joints import JointKind, Revolute

ROUNDING = 1e-14
"""How far entries of a rotation may differ from those of its factors, else its numbers are kept as they are."""


class Divided(NamedTuple):
    """A placement without the turn about the joint's axis, and the angle of this turn in the joint's sense."""

    placement: Transform
    offset: float = 0.0


def without_offset(placement: Transform, kind: JointKind) -> Divided:
    """Return a placement and an offset of the coordinate that together are the same as the given placement.

    Quarter turns stay in the placement, where they cost nothing.  Placements that contain symbols, numbers that are not
    a rotation to the last digits, and joints that do not turn about a coordinate axis are returned as they are.
    """
    axis = _coordinate_axis(kind)
    numbers = [x for rotation in placement.rotations for row in rotation.matrix().rows for x in row]
    if axis is None or not numbers or not all(isinstance(x, float) for x in numbers):
        return Divided(placement)
    k, sign = axis
    whole: Array = np.array(placement.matrix().to_rows())
    factors = _factors_that_carry(k, whole)
    rest = _product(factors).T @ whole
    turn = _turn(k, rest[(k + 1) % 3, (k + 1) % 3], rest[(k + 2) % 3, (k + 1) % 3])
    if not np.abs(_product([*factors, turn]) - whole).max() <= ROUNDING:
        return Divided(placement)
    if turn.c == 0.0 or turn.s == 0.0:
        quarters = [] if _is_none(turn) else [turn]
        return Divided(Transform([*factors, *quarters], placement.translation))
    return Divided(Transform(factors, placement.translation), sign * math.atan2(turn.s, turn.c))


def _coordinate_axis(kind: JointKind) -> tuple[int, float] | None:
    """Return the number and the sign of the coordinate axis about which a hinge turns; None for other joints."""
    if not isinstance(kind, Revolute) or not all(isinstance(x, float) for x in kind.axis):
        return None
    along = [k for k, x in enumerate(kind.axis) if x != 0.0]
    return (along[0], kind.axis[along[0]]) if len(along) == 1 else None


def _factors_that_carry(k: int, whole: Array) -> list[AxisRotation]:
    """Return turns about the other two axes, as few as possible, that put axis k where the rotation puts it."""
    i, j = (k + 1) % 3, (k + 2) % 3
    along_i, along_j, along_k = whole[[i, j, k], k].tolist()
    if along_j == 0.0:  # about j alone
        factors = [_turn(j, along_k, along_i)]
    elif along_i == 0.0:  # about i alone
        factors = [_turn(i, along_k, -along_j)]
    else:
        factors = [_turn(i, along_k, -along_j), _turn(j, math.hypot(along_j, along_k), along_i)]
    return [turn for turn in factors if not _is_none(turn)]


def _turn(axis: int, c: float, s: float) -> AxisRotation:
    """Return a turn from numbers in proportion to its cosine and sine; a quarter turn is exact if one of them is."""
    length = math.hypot(c, s)
    if c == 0.0 or s == 0.0:
        return AxisRotation(axis, round(c / length) + 0.0, round(s / length) + 0.0)
    return AxisRotation(axis, float(c / length), float(s / length))


def _is_none(turn: AxisRotation) -> bool:
    return turn.s == 0.0 and turn.c == 1.0


def _product(turns: list[AxisRotation]) -> Array:
    whole = np.eye(3)
    for turn in turns:
        whole = whole @ np.array(turn.matrix().to_rows())
    return whole
