"""Where episodes begin when that is random: near a start, on the manifold that joints and loops leave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...errors import OptionError, ShapeError, StateError
from ...robot.robot import Robot
from ...spatial.arrays import Array
from .draws import uniform
from .randomized import checked_distribution

START_STREAM = 20_000
"""Random numbers of starts are apart from all others."""


class _Shift(NamedTuple):
    """What is added to some freedoms."""

    name: str
    freedoms: slice
    distribution: Any
    stream: int


class RandomStart:
    """Draws of states about a start.

    Parameters
    ----------
    robot : Robot
    q, v : distribution, or mapping from joint to distribution, optional
        Of what is added, one number per freedom: to configurations along the freedoms, as ``robot.integrate`` does,
        and to velocities.
    """

    def __init__(self, robot: Robot, q: Any = None, v: Any = None) -> None:
        self._robot = robot
        self._of_q = _shifts(robot, "q", q, START_STREAM)
        self._of_v = _shifts(robot, "v", v, START_STREAM + 1 + robot.nv)
        named = isinstance(q, Mapping)
        self._fixed = [robot.joint(name).name for name in q] if named and robot.loops is not None else None

    def of_q(self, seed: int, lanes: Array, episodes: Array, q: Array) -> Array:
        """Return configurations (lanes, nq) about given ones."""
        if not self._of_q:
            return q
        moved = self._robot.integrate(q, self._added(self._of_q, seed, lanes, episodes))
        if self._robot.loops is None:
            return moved
        closed = self._robot.close(moved, self._fixed, must_close=False)
        open_ = np.flatnonzero(~np.isfinite(closed).all(axis=-1))
        if open_.size:
            k = open_[0]
            raise StateError(
                f"the loops of {self._robot.name!r} cannot be closed at the random start of world {lanes[k]} in "
                f"episode {episodes[k]}, and of {open_.size - 1} more: draw q from nearer to the start"
            )
        return closed

    def of_v(self, seed: int, lanes: Array, episodes: Array, q: Array, v: Array) -> Array:
        """Return velocities (lanes, nv) about given ones, at configurations that they belong to."""
        if self._of_v:
            v = v + self._added(self._of_v, seed, lanes, episodes)
        if self._robot.loops is not None and (self._of_q or self._of_v):
            return self._robot.nearest_velocity(q, v)
        return v

    def _added(self, shifts: list[_Shift], seed: int, lanes: Array, episodes: Array) -> Array:
        total = np.zeros((len(lanes), self._robot.nv))
        for shift in shifts:
            count = shift.freedoms.stop - shift.freedoms.start
            u = uniform(seed, lanes, episodes, shift.stream, count)
            total[:, shift.freedoms] = shift.distribution.of(u)
        return total


def _shifts(robot: Robot, name: str, given: Any, stream: int) -> list[_Shift]:
    """Return what is drawn, checked."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        named = [(f"{name} of {joint!r}", robot.joint(joint).v_slice, x) for joint, x in given.items()]
    else:
        named = [(name, slice(0, robot.nv), given)]
    found = []
    for k, (called, freedoms, distribution) in enumerate(named):
        count = freedoms.stop - freedoms.start
        if checked_distribution(distribution, called).relative:
            raise OptionError(f"random {called} is added to the start, so it cannot be relative")
        if distribution.of(np.array(0.5)).shape not in ((), (count,)):
            raise ShapeError(
                f"random {called} has {count} numbers, one per freedom: give as many bounds or means, or one"
            )
        found.append(_Shift(called, freedoms, distribution, stream + k))
    return found
