"""How far the joints of a table go, which tells degrees that were taken for radians."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..robot.robot import Robot

Array = np.ndarray

BEYOND_LIMITS, MARGIN = 1.5, 0.2
"""How far beyond a limit, as a multiple and in rad on top, no measured motion is."""

MOVES = 0.05
"""Joints that stay this near to zero, in rad, have no say."""

SHOWN = 3


class Reach:
    """The largest positions of rows that are seen in parts, by several threads.

    Parameters
    ----------
    robot : Robot
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.largest = np.zeros(robot.nq)
        self._lock = Lock()

    def see(self, q: Array) -> None:
        """Look at some rows."""
        own = np.fmax.reduce(np.abs(np.reshape(q, (-1, self.robot.nq))), axis=0, initial=0.0)
        with self._lock:
            self.largest = np.fmax(self.largest, own)

    def doubt(self) -> str:
        """Say which angles look like degrees: beyond limits by far, or several joints that all turn more than once."""
        robot, reach = self.robot, self.largest
        angles = np.array([unit == "rad" for unit in robot.q_units], dtype=bool)
        limits = np.maximum(np.abs(robot.lower_limits), np.abs(robot.upper_limits))
        odd = angles & np.isfinite(limits) & (reach > BEYOND_LIMITS * limits + MARGIN)
        moving = angles & (reach > MOVES)
        known = moving & np.isfinite(limits)  # within their limits, and so in rad
        if not odd.any() and not known.any() and moving.sum() > 1 and np.median(reach[moving]) > 2.0 * np.pi:
            odd = moving & (reach > 2.0 * np.pi)
        if not odd.any():
            return ""
        names = [(robot.q_names[k], reach[k], limits[k]) for k in np.flatnonzero(odd)]
        shown = ", ".join(
            f"{name} up to {far:.4g} rad" + (f" (limit {limit:.3g})" if np.isfinite(limit) else "")
            for name, far, limit in names[:SHOWN]
        )
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        first = names[0][0]
        return (
            f"do these positions look like degrees? {shown}{more}. They were taken for rad; columns named "
            f"'q_{first} [deg]', 'v_{first} [deg/s]' and so on are converted"
        )
