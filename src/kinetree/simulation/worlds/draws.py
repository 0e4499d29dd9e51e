"""Random numbers by lane: what a world draws depends only on the seed, its own number and its episode.

The same world therefore draws the same numbers in a batch of one and in a batch of thousands, whatever the others do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ...errors import OptionError
from ...spatial.arrays import Array
from ...spatial.numbers import as_numbers, shown

DRAWN_AHEAD = 1 << 16
"""Random numbers, over all worlds, that are drawn for later episodes: those of one episode alone cost as much time as
of some hundreds."""

MOST_EPISODES_AHEAD = 64

_ODD = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _mixed(x: Array) -> Array:
    """Return numbers that look unrelated for arguments that differ in a bit (the finalizer of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


def uniform(seed: int, lanes: Array, episodes: Array, stream: int, count: int) -> Array:
    """Return numbers between 0 and 1, without both ends, (..., count).

    Parameters
    ----------
    seed : int
    lanes, episodes : ndarray of int, shape (...)
    stream : int
        Separates the numbers drawn for different purposes.
    count : int
        Numbers per lane.
    """
    return _uniform_of(_key(seed, lanes, episodes), stream, count)


def _key(seed: int, lanes: Array, episodes: Array) -> Array:
    """Return the keys of all random numbers for episodes of lanes."""
    with np.errstate(over="ignore"):
        key = _mixed(np.asarray(seed % 2**64, dtype=np.uint64) + _ODD)
        for part in (lanes, episodes):
            key = _mixed(key ^ (np.asarray(part).astype(np.uint64) + _ODD))
    return key


def _uniform_of(key: Array, stream: int, count: int) -> Array:
    with np.errstate(over="ignore"):
        own = _mixed(key ^ (np.uint64(stream) + _ODD))
        bits = _mixed(own[..., None] + _ODD * np.arange(1, count + 1, dtype=np.uint64))
    return (np.asarray(bits >> np.uint64(12), dtype=float) + 0.5) * 2.0**-52


def gaussian(seed: int, lanes: Array, episodes: Array, stream: int, count: int) -> Array:
    """Return normal numbers of mean zero and deviation one, (..., count); arguments are as in :func:`uniform`."""
    return _quantile(uniform(seed, lanes, episodes, stream, count))


def _quantile(u: Array) -> Array:
    """Return the quantiles ``u`` of the normal distribution."""
    from scipy.special import ndtri  # slow to import, and most simulations draw nothing

    return np.asarray(ndtri(u))


def _number(value: Any, name: str) -> Array:
    numbers = as_numbers(value)
    if numbers is None:
        raise OptionError(f"{name} must be numbers, got {shown(value)}")
    if not np.all(np.isfinite(numbers)):
        raise OptionError(f"{name} must be finite, got {value!r}")
    return numbers


@dataclass(frozen=True, eq=False)
class Uniform:
    """Numbers between two ends, all equally likely.

    Parameters
    ----------
    low, high : float or array_like
    relative : bool
        Whether the draw multiplies the model's value instead of replacing it.

    Examples
    --------
    >>> import kinetree as kt
    >>> heavier = kt.Uniform(1.0, 1.2, relative=True)
    """

    low: Any
    high: Any
    relative: bool = False

    def __post_init__(self) -> None:
        if np.any(_number(self.low, "low") > _number(self.high, "high")):
            raise OptionError(f"low must not be above high: {self.low!r}, {self.high!r}")

    def of(self, u: Array) -> Array:
        """Return draws from numbers between 0 and 1, of their shape."""
        low = np.asarray(self.low, dtype=float)
        return np.asarray(low + (np.asarray(self.high, dtype=float) - low) * np.asarray(u))


@dataclass(frozen=True, eq=False)
class LogUniform:
    """Numbers between two positive ends whose logarithms are equally likely."""

    low: Any
    high: Any
    relative: bool = False

    def __post_init__(self) -> None:
        low, high = _number(self.low, "low"), _number(self.high, "high")
        if np.any(low <= 0.0) or np.any(low > high):
            raise OptionError(f"low must be positive and not above high: {self.low!r}, {self.high!r}")

    def of(self, u: Array) -> Array:
        """Return draws from numbers between 0 and 1, of their shape."""
        return np.exp(Uniform(np.log(self.low), np.log(self.high)).of(u))


@dataclass(frozen=True, eq=False)
class Normal:
    """Normally distributed numbers about a mean, cut off at some multiple of the deviation.

    Parameters
    ----------
    mean, deviation : float or array_like
    relative : bool
        Whether the draw multiplies the model's value instead of replacing it.
    within : float
        Number of deviations beyond which nothing is drawn, since physical quantities have no infinite tails.
    """

    mean: Any
    deviation: Any
    relative: bool = False
    within: float = 4.0

    def __post_init__(self) -> None:
        _number(self.mean, "mean")
        if np.any(_number(self.deviation, "deviation") < 0.0) or not 0.0 < self.within < math.inf:
            raise OptionError("deviation must not be negative, and within must be positive")

    def of(self, u: Array) -> Array:
        """Return draws from numbers between 0 and 1, of their shape."""
        low = 0.5 * math.erfc(self.within / math.sqrt(2.0))
        return np.asarray(self.mean, dtype=float) + np.asarray(self.deviation, dtype=float) * _quantile(
            low + (1.0 - 2.0 * low) * u
        )


Distribution = Uniform | LogUniform | Normal


@dataclass(frozen=True)
class Drawn:
    """Numbers that are drawn from one distribution."""

    name: str
    distribution: Distribution
    nominal: Array
    """The model's values, (n,)."""
    stream: int
    """The stream of its random numbers."""
    together: bool = False
    """Whether all of them are multiplied by one random number, as the moments of a body's inertia are."""

    def draw(self, key: Array) -> Array:
        """Return numbers (..., n) for episodes of worlds, from the key of these."""
        count = self.nominal.size
        found = self.distribution.of(_uniform_of(key, self.stream, 1 if self.together else count))
        return np.broadcast_to(self.nominal * found if self.distribution.relative else found, (*key.shape, count))


class EpisodeDraws:
    """All numbers that worlds draw for their episodes, computed for several episodes at a time.

    Parameters
    ----------
    groups : sequence of sequences of Drawn
        Numbers that are drawn, one group for each purpose.
    batch : int
    first : int
        Number of the first world.
    """

    def __init__(self, groups: Sequence[Sequence[Drawn]], batch: int, first: int) -> None:
        self._drawn = [drawn for group in groups for drawn in group]
        self._first, self._seed = first, -1
        ends = [0, *accumulate(sum(drawn.nominal.size for drawn in group) for group in groups)]
        self._groups = [slice(*pair) for pair in pairwise(ends)]
        ahead = DRAWN_AHEAD // (batch * max(ends[-1], 1))
        self._ahead = np.arange(max(1, min(MOST_EPISODES_AHEAD, ahead)))
        self._kept = np.zeros((batch, len(self._ahead), ends[-1]))
        self._since = np.zeros(batch, dtype=int)

    def __call__(self, seed: int, lanes: Array, episodes: Array) -> list[Array]:
        """Return the numbers of each group, (lanes, n), for episodes of some worlds."""
        if not self._drawn:
            return [self._kept[lanes, 0]] * len(self._groups)
        if seed != self._seed:
            self._seed, self._since[:] = seed, -len(self._ahead)
        later = episodes - self._since[lanes]
        unknown = (later < 0) | (later >= len(self._ahead))
        if unknown.any():
            some, later[unknown] = lanes[unknown], 0
            self._since[some] = episodes[unknown]
            key = _key(seed, self._first + some[:, None], episodes[unknown, None] + self._ahead)
            self._kept[some] = np.concatenate([drawn.draw(key) for drawn in self._drawn], axis=-1)
        found = self._kept[lanes, later]
        return [found[:, group] for group in self._groups]
