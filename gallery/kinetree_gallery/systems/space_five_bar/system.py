"""A satellite with a five-bar, from ReDySim."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kinetree.spatial.scalar import Scalar

from ..space_loops import arm, pair, settled, space_loop

PIVOT, BAR = 0.5, 1.0
BEGIN = (2.2065, 4.0767)
"""Angles of both bars in ReDySim's initial state, with the pin between the arms and the satellite."""


def _closed(motors: Sequence[Scalar]) -> list[Scalar]:
    right, left = motors
    first, back = pair(arm(PIVOT, BAR, right), arm(-PIVOT, BAR, left), (BAR, BAR), side=1)
    bars = settled([first - right, back + math.pi - left], BEGIN)
    return [right, bars[0], left, bars[1]]


SYSTEM = space_loop(
    "space-five-bar", "satellite with a five-bar", ("right_arm_joint", "left_arm_joint"), (1.0555, 2.086),
    (1.4216, 1.72), _closed,
)  # fmt: skip
