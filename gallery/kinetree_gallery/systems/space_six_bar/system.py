"""A satellite with a six-bar, from ReDySim."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kinetree.spatial.scalar import Scalar

from ..space_loops import arm, pair, settled, space_loop

PIVOT, BAR = 0.5, 1.0
BEGIN = (2.0944, 0.5236)
"""Angles of both bars without motors in ReDySim's initial state, a regular hexagon."""


def _closed(motors: Sequence[Scalar]) -> list[Scalar]:
    right, left, bar = motors
    first, second = pair(arm(PIVOT, BAR, right), arm(-PIVOT, BAR, left, bar), (BAR, BAR), side=-1)
    return [right, *settled([first - right, second - first], BEGIN), left, bar]


SYSTEM = space_loop(
    "space-six-bar", "satellite with a six-bar", ("right_arm_joint", "left_arm_joint", "left_bar_joint"),
    (math.pi / 6.0, 5.0 * math.pi / 6.0, 4.0 * math.pi / 3.0), (math.pi / 2.0, math.pi / 2.0, 2.0 * math.pi), _closed,
)  # fmt: skip
