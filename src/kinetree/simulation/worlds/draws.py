"""Random numbers by lane: what a world draws depends on the seed, its own number and its episode, and on nothing else.

So the same world has the same luck in a batch of one and in a batch of thousands, whatever the others do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import OptionError
from ...spatial.arrays import Array
from ...spatial.numbers import as_numbers, shown

_ODD = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _mixed(x: Array) -> Array:
    """Return numbers that look unrelated for arguments that differ in a bit (the finalizer of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


def uniform(seed: int, lanes: Array, episodes: Array, stream: int, count: int) -> Array:
    """Return numbers between 0 and 1, without both ends, (lanes, count).

    Parameters
    ----------
    seed : int
    lanes, episodes : ndarray of int, shape (n,)
    stream : int
        Tells apart what is drawn for different purposes.
    count : int
        Numbers per lane.
    """
    with np.errstate(over="ignore"):
        key = _mixed(np.asarray(seed % 2**64, dtype=np.uint64) + _ODD)
        for part in (lanes, episodes, np.full(np.shape(lanes), stream)):
            key = _mixed(key ^ (np.asarray(part).astype(np.uint64) + _ODD))
        bits = _mixed(key[:, None] + _ODD * np.arange(1, count + 1, dtype=np.uint64))
    return (np.asarray(bits >> np.uint64(12), dtype=float) + 0.5) * 2.0**-52


def gaussian(seed: int, lanes: Array, episodes: Array, stream: int, count: int) -> Array:
    """Return normal numbers of mean zero and deviation one, (lanes, count); arguments as of :func:`uniform`."""
    return _quantile(uniform(seed, lanes, episodes, stream, count))


def _quantile(u: Array) -> Array:
    """Return the normal numbers that shares ``u`` of all are below."""
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
    """Numbers between two ends, all as likely.

    Parameters
    ----------
    low, high : float or array_like
    relative : bool
        Whether the draw multiplies what the model has, instead of taking its place.

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
        """Return draws from numbers between 0 and 1."""
        low = np.asarray(self.low, dtype=float)
        return np.asarray(low + (np.asarray(self.high, dtype=float) - low) * np.asarray(u))


@dataclass(frozen=True, eq=False)
class LogUniform:
    """Numbers between two positive ends whose logarithms are all as likely."""

    low: Any
    high: Any
    relative: bool = False

    def __post_init__(self) -> None:
        low, high = _number(self.low, "low"), _number(self.high, "high")
        if np.any(low <= 0.0) or np.any(low > high):
            raise OptionError(f"low must be positive and not above high: {self.low!r}, {self.high!r}")

    def of(self, u: Array) -> Array:
        """Return draws from numbers between 0 and 1."""
        return np.exp(Uniform(np.log(self.low), np.log(self.high)).of(u))


@dataclass(frozen=True, eq=False)
class Normal:
    """Numbers about a mean, Gaussian, cut off at some deviations.

    Parameters
    ----------
    mean, deviation : float or array_like
    relative : bool
        Whether the draw multiplies what the model has.
    within : float
        Deviations beyond which nothing is drawn; physics has no tails to infinity.
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
        """Return draws from numbers between 0 and 1."""
        low = 0.5 * math.erfc(self.within / math.sqrt(2.0))
        return np.asarray(self.mean, dtype=float) + np.asarray(self.deviation, dtype=float) * _quantile(
            low + (1.0 - 2.0 * low) * u
        )


Distribution = Uniform | LogUniform | Normal
