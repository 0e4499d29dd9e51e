"""A satellite with a four-bar, from ReDySim."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kinetree.spatial.scalar import Scalar

from ..planar_geometry import Point
from ..space_loops import arm, pair, settled, space_loop

PIVOT, CRANK, BAR = 0.4475, 0.38, 1.152
BEGIN = (2.1572, 1.9687)
"""Angles of rocker and coupler in ReDySim's initial state."""


def _closed(motors: Sequence[Scalar]) -> list[Scalar]:
    (crank,) = motors
    rocker, coupler = pair(Point(PIVOT, 0.0), arm(-PIVOT, CRANK, crank), (BAR, BAR), side=-1)
    return [*settled([rocker, coupler - rocker], BEGIN), crank]


SYSTEM = space_loop("space-four-bar", "satellite with a four-bar", ("crank_joint",), (math.pi,), (0.0,), _closed)
