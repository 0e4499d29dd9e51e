"""Arms directly from the tables printed by Saha, to be compared with the model files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinetree.robot.from_dh import DHRow, from_dh
from kinetree.robot.robot import Robot

from .prescribed import AlongMotion

Vector = tuple[float, float, float]


class PrintedRow(NamedTuple):
    """One link of Tables 3 and 4: a, b, alpha; mass; r; inertia about the mass center, all in frame i + 1."""

    a: float
    b: float
    alpha: float
    mass: float
    r: Vector
    inertia: Vector
    joint: str = "revolute"


def from_table(table: Sequence[PrintedRow], sign: float = -1.0) -> Robot:
    """Return the arm directly from its printed table, with the center of mass at ``sign * r`` in frame i + 1."""
    rows = [
        DHRow(a=row.a, d=row.b, alpha=row.alpha, mass=row.mass, com=[sign * x for x in row.r], inertia=row.inertia,
              joint=row.joint)
        for row in table
    ]  # fmt: skip
    return from_dh(rows, "standard", degrees=True)


def as_printed(along: AlongMotion, table: Sequence[PrintedRow]) -> np.ndarray:
    """Return torques from the printed table minus those of the model file."""
    return from_table(table).inverse_dynamics(*along.states) - along.tau
