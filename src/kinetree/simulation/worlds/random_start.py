"""Random starts of episodes: near a given start, on the manifold that joints and loops allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import OptionError, ShapeError, StateError
from ...robot.robot import Robot
from ...spatial.arrays import Array
from .draws import Drawn
from .randomized import checked_distribution

START_STREAM = 20_000
"""Stream of random numbers for starts, separate from all others."""


class RandomStart:
    """Draws of states about a start.

    Parameters
    ----------
    robot : Robot
    q, v : distribution, or mapping from joint to distribution, optional
        Distributions of the offsets, one number per freedom: added to configurations along the freedoms, as
        ``robot.integrate`` does, and to velocities.

    Attributes
    ----------
    drawn : list of Drawn
        Offsets of configurations, then those of velocities.
    """

    def __init__(self, robot: Robot, q: Any = None, v: Any = None) -> None:
        self._robot = robot
        of_q, self._of_q = _shifts(robot, "q", q, START_STREAM)
        of_v, self._of_v = _shifts(robot, "v", v, START_STREAM + 1 + robot.nv)
        self.drawn = of_q + of_v
        named = isinstance(q, Mapping)
        self._fixed = [robot.joint(name).name for name in q] if named and robot.loops is not None else None

    def of_q(self, lanes: Array, episodes: Array, q: Array, drawn: Array) -> Array:
        """Return configurations (lanes, nq) about given ones."""
        if not self._of_q:
            return q
        moved = self._robot.integrate(q, self._added(self._of_q, drawn[:, : len(self._of_q)]))
        if self._robot.loops is None:
            return moved
        closed = self._robot.close(moved, self._fixed, must_close=False)
        open_ = np.flatnonzero(~np.isfinite(closed).all(axis=-1))
        if open_.size:
            k = open_[0]
            raise StateError(
                f"the loops of {self._robot.name!r} cannot be closed at the random start of world {lanes[k]} in "
                f"episode {episodes[k]}, and in {open_.size - 1} others: draw q closer to the start"
            )
        return closed

    def of_v(self, q: Array, v: Array, drawn: Array) -> Array:
        """Return velocities (lanes, nv) about given ones, at their configurations."""
        if self._of_v:
            v = v + self._added(self._of_v, drawn[:, len(self._of_q) :])
        if self._robot.loops is not None and (self._of_q or self._of_v):
            return self._robot.nearest_velocity(q, v)
        return v

    def _added(self, freedoms: list[int], drawn: Array) -> Array:
        total = np.zeros((len(drawn), self._robot.nv))
        total[:, freedoms] = drawn
        return total


def _shifts(robot: Robot, name: str, given: Any, stream: int) -> tuple[list[Drawn], list[int]]:
    """Return the checked draws, and the freedoms that they are added to."""
    if given is None:
        return [], []
    if isinstance(given, Mapping):
        named = [(f"{name} of {joint!r}", robot.joint(joint).v_slice, x) for joint, x in given.items()]
    else:
        named = [(name, slice(0, robot.nv), given)]
    found, places = [], list[int]()
    for k, (called, freedoms, distribution) in enumerate(named):
        count = freedoms.stop - freedoms.start
        if checked_distribution(distribution, called).relative:
            raise OptionError(f"random {called} is added to the start, so it cannot be relative")
        if distribution.of(np.array(0.5)).shape not in ((), (count,)):
            raise ShapeError(
                f"random {called} has {count} numbers, one per freedom: give as many bounds or means, or one"
            )
        found.append(Drawn(called, distribution, np.zeros(count), stream + k))
        places += range(freedoms.start, freedoms.stop)
    return found, places
