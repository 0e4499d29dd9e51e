"""Pushes at random times, different in each world."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...errors import OptionError
from ...spatial.arrays import Array
from ...spatial.numbers import real_number
from .draws import uniform

PUSH_STREAM = 10_000
"""Stream of random numbers for pushes, separate from all others."""


class RandomPushes(NamedTuple):
    """Pushes at random times, different in each world.

    Attributes
    ----------
    at : str
        The frame that is pushed, at its origin.
    force : Uniform or Normal
        Distribution of the three components along the world's axes, in newtons.
    every : float
        Seconds from one push to the next, on average.
    lasting : float
        Seconds that each lasts; rounded up to whole steps of the world.
    """

    at: str
    force: Any
    every: float = 5.0
    lasting: float = 0.1


def checked_pushes(given: Any) -> RandomPushes | None:
    """Return random pushes; refuse impossible ones."""
    if given is None:
        return None
    if not isinstance(given, RandomPushes) or not hasattr(given.force, "of"):
        raise OptionError(f"pushes must be kinetree.RandomPushes(frame, distribution, ...), not {given!r}")
    for name in ("every", "lasting"):
        real_number(getattr(given, name), f"{name} of the pushes", positive=True)
    return given


class PushForces:
    """Sets the forces of pushes before each period.

    An episode is divided into slots as long as a push; each contains one with the probability that gives the desired
    mean frequency.

    Parameters
    ----------
    pushes : RandomPushes
    force : ndarray (batch, 3)
        Array that the forces are written to.
    period : float
        Seconds between two actions.
    first : int
        Index of the first world.
    """

    def __init__(self, pushes: RandomPushes, force: Array, period: float, first: int) -> None:
        self._force, self._distribution, self._first = force, pushes.force, first
        self._periods = max(1, int(np.ceil(pushes.lasting / period - 1e-9)))
        self._chance = min(1.0, period * self._periods / pushes.every)
        self._slot, self._left = (np.zeros(len(force), dtype=int) for _ in range(2))

    def begin(self, lanes: Array) -> None:
        """Begin new episodes."""
        self._force[lanes], self._slot[lanes], self._left[lanes] = 0.0, 0, 0

    def set(self, seed: int, episode: Array) -> None:
        """Set the forces of the next period."""
        lanes = np.flatnonzero(self._left == 0)
        if lanes.size:
            u = uniform(seed, self._first + lanes, episode[lanes] * 1_000_003 + self._slot[lanes], PUSH_STREAM, 4)
            force = self._distribution.of(u[:, :3])
            self._force[lanes] = np.where((u[:, 3] < self._chance)[:, None], force, 0.0)
            self._slot[lanes] += 1
            self._left[lanes] = self._periods
        self._left -= 1
