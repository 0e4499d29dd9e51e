"""Trajectories by a formula of time: staying in place, constant speed, sines, your own functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..spatial.arrays import split
from ..spatial.scalar import Scalar, sin
from ..spatial.taylor import Jet
from .trajectory_interface import Timed, Trajectory, alike, seconds, vector


@dataclass(frozen=True, eq=False)
class Constant(Trajectory):
    """Staying in place, forever or for a while.

    Parameters
    ----------
    q : array_like, shape (n,)
    duration : float
        Infinite by default; a pause between other trajectories has an end.
    """

    q: ArrayLike
    duration: float = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", vector(self.q, "q"))
        if self.duration != math.inf:
            object.__setattr__(self, "duration", seconds(self.duration))

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return int(np.shape(self.q)[-1])

    @property
    def start(self) -> float:
        """Zero for a pause; otherwise minus infinity."""
        return -math.inf if self.duration == math.inf else 0.0

    @property
    def end(self) -> float:
        """Time at which it ends."""
        return self.duration

    def position(self, t: Scalar) -> list[Scalar]:
        """Return positions over any scalar."""
        return [x + 0.0 * t for x in split(np.asarray(self.q))]


@dataclass(frozen=True, eq=False)
class ConstantSpeed(Timed):
    """Motion at constant speed, q0 + speed t, as the sources turn a crank (Shah table 10.4).

    Parameters
    ----------
    q0, speed : array_like, shape (n,)
    duration : float
        Infinite by default.
    """

    q0: ArrayLike
    speed: ArrayLike
    duration: float = math.inf

    def __post_init__(self) -> None:
        first = vector(self.q0, "q0")
        object.__setattr__(self, "q0", first)
        object.__setattr__(self, "speed", alike(first, self.speed, "speed"))
        if self.duration != math.inf:
            object.__setattr__(self, "duration", seconds(self.duration))

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return int(np.shape(self.q0)[-1])

    def position(self, t: Scalar) -> list[Scalar]:
        """Return positions over any scalar."""
        s = t - self.begin
        return [a + s * b for a, b in zip(split(np.asarray(self.q0)), split(np.asarray(self.speed)), strict=True)]


@dataclass(frozen=True, eq=False)
class Sine(Trajectory):
    """center + amplitude sin(2 pi frequency t + phase); a single number applies to all joints."""

    center: ArrayLike
    amplitude: ArrayLike
    frequency: ArrayLike
    phase: ArrayLike = 0.0

    def __post_init__(self) -> None:
        first = vector(self.center, "center")
        object.__setattr__(self, "center", first)
        for name in ("amplitude", "frequency", "phase"):
            object.__setattr__(self, name, alike(first, getattr(self, name), name))

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return int(np.shape(self.center)[-1])

    @property
    def start(self) -> float:
        """Minus infinity: it has no beginning."""
        return -math.inf

    def position(self, t: Scalar) -> list[Scalar]:
        """Return positions over any scalar."""
        columns = (split(np.asarray(x)) for x in (self.center, self.amplitude, self.frequency, self.phase))
        return [c + a * sin(t * (2.0 * math.pi * f) + p) for c, a, f, p in zip(*columns, strict=True)]


@dataclass(frozen=True, eq=False)
class Function(Trajectory):
    """Any formula: ``position(t)`` written with kinetree's sin, cos, sqrt, where over any scalar.

    Exact derivatives are found automatically.

    Parameters
    ----------
    formula : callable
        ``formula(t)`` returns a list of n scalars.
    begin, until : float
        Time span.

    Examples
    --------
    >>> import kinetree as kt
    >>> swing = Function(lambda t: [0.3 * kt.sin(2 * t), t * t])
    >>> swing(0.0)[1]
    array([0.6, 0. ])
    """

    formula: Callable[[Scalar], Sequence[Scalar]]
    begin: float = 0.0
    until: float = math.inf

    @cached_property
    def n(self) -> int:  # type: ignore[override]
        """Number of degrees of freedom."""
        return len(list(self.formula(Jet(self.begin if math.isfinite(self.begin) else 0.0, 1.0))))

    @property
    def start(self) -> float:
        """Beginning of the time span."""
        return self.begin

    @property
    def end(self) -> float:
        """End of the time span."""
        return self.until

    def position(self, t: Scalar) -> list[Scalar]:
        """Return positions over any scalar."""
        return list(self.formula(t))
