"""Moves from one position to another: cycloid, trapezoid, cubic, and quintic, the minimum-jerk profile."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import kinematics
from ..errors import OptionError, ShapeError, UnknownNameError
from ..model.joints import Spherical
from ..spatial.arrays import split
from ..spatial.scalar import Scalar, sin, where
from ..spatial.taylor import Jet, as_jet
from .piecewise import hermite
from .trajectory_interface import Motion, Timed, alike, seconds, vector


def cycloid(u: Scalar) -> Scalar:
    """Go from 0 to 1 as u does, with zero velocity and acceleration at both ends (Shah section 6.2.1)."""
    return u - sin(u * (2.0 * math.pi)) / (2.0 * math.pi)


def cubic(u: Scalar) -> Scalar:
    """Go from 0 to 1 as u does, with zero velocity at both ends."""
    return u * u * (3.0 - 2.0 * u)


def quintic(u: Scalar) -> Scalar:
    """Go from 0 to 1 as u does, with zero velocity and acceleration at both ends."""
    return u * u * u * (10.0 - u * (15.0 - 6.0 * u))


def trapezoid(u: Scalar, ramp: float = 0.25) -> Scalar:
    """Go from 0 to 1 with constant acceleration for the fraction ``ramp``, constant speed, constant deceleration."""
    peak = 1.0 / (1.0 - ramp)
    left = 1.0 - u
    middle = peak * (u - 0.5 * ramp)
    early = where(u < ramp, (0.5 * peak / ramp) * (u * u), middle)
    return where(left < ramp, 1.0 - (0.5 * peak / ramp) * (left * left), early)


PROFILES: dict[str, Callable[[Scalar], Scalar]] = {
    "cycloid": cycloid,
    "cubic": cubic,
    "quintic": quintic,
    "trapezoid": trapezoid,
}
"""Ways of going from 0 to 1 in unit time."""


@dataclass(frozen=True, eq=False)
class Move(Timed):
    """A move from ``q0`` to ``q1`` on a straight line in joint space, all joints together.

    Parameters
    ----------
    q0, q1 : array_like, shape (n,)
        May have batch axes in front: one move for each.
    duration : float
        Duration in seconds.
    begin : float
        Time at which it starts.
    """

    q0: ArrayLike
    q1: ArrayLike
    duration: float
    PEAKS: ClassVar[tuple[float, float]]
    """Largest speed and acceleration of a move by one in one second."""

    def __post_init__(self) -> None:
        first = vector(self.q0, "q0")
        object.__setattr__(self, "q0", first)
        object.__setattr__(self, "q1", alike(first, self.q1, "q1"))
        object.__setattr__(self, "duration", seconds(self.duration))

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return int(np.shape(self.q0)[-1])

    def profile(self, u: Scalar) -> Scalar:
        """Return the progress, from 0 to 1, when the fraction ``u`` of the time has passed."""
        raise NotImplementedError

    @classmethod
    def within(cls, q0: ArrayLike, q1: ArrayLike, speed: ArrayLike, acceleration: ArrayLike, **options: Any) -> Self:
        """Return the quickest such move, from rest to rest, that keeps every joint within its speed and acceleration.

        Parameters
        ----------
        q0, q1 : array_like, shape (n,)
        speed, acceleration : float or array_like, shape (n,)
            Limits for all joints or for each.
        **options
            ``begin`` and ``hold``.

        Examples
        --------
        >>> Quintic.within([0.0], [1.0], speed=0.75, acceleration=9.0).duration
        2.5
        """
        set_ends = [name for name in ("v0", "v1", "a0", "a1") if name in options]
        if set_ends:
            raise OptionError(f"a move within limits begins and ends at rest: leave {set_ends[0]} out")
        first, rate, growth = _limited(q0, q1, speed, acceleration)
        return cls(first, q1, max(cls.PEAKS[0] / rate, math.sqrt(cls.PEAKS[1] / growth)), **options)

    def position(self, t: Scalar) -> list[Scalar]:
        """Return positions over any scalar."""
        q0, q1 = np.asarray(self.q0), np.asarray(self.q1)
        s = self.profile((t - self.begin) / self.duration)
        return [a + s * d for a, d in zip(split(q0), split(q1 - q0), strict=True)]


def _limited(
    q0: ArrayLike, q1: ArrayLike, speed: ArrayLike, acceleration: ArrayLike
) -> tuple[np.ndarray, float, float]:
    """Return q0, and the largest speed and acceleration that all joints allow, as fractions of the whole distance."""
    first = vector(q0, "q0")
    distance = np.abs(alike(first, q1, "q1") - first)
    if first.ndim != 1 or not np.any(distance > 0):
        raise OptionError("within needs one q0 and one q1 that differ; use Constant to stay")
    limits = [alike(first, x, name) for x, name in ((speed, "speed"), (acceleration, "acceleration"))]
    if any(np.any(x <= 0) for x in limits):
        raise OptionError("speed and acceleration must be positive")
    moving = distance > 0
    rate, growth = (float(np.min(x[moving] / distance[moving])) for x in limits)
    return first, rate, growth


@dataclass(frozen=True, eq=False)
class Cycloid(Move):
    """The sources' standard move: q0 + (q1 - q0) (u - sin(2 pi u) / (2 pi)), u = t / duration (Shah section 6.2.1)."""

    PEAKS = (2.0, 2.0 * math.pi)

    def profile(self, u: Scalar) -> Scalar:
        """Return the progress."""
        return cycloid(u)


@dataclass(frozen=True, eq=False)
class Trapezoidal(Move):
    """Constant acceleration, constant speed, constant deceleration.

    Parameters
    ----------
    ramp : float
        Fraction of the time spent accelerating, and again decelerating: above 0, at most 0.5.
    """

    ramp: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.ramp <= 0.5:
            raise OptionError(f"ramp is a fraction of the time above 0 and at most 0.5, not {self.ramp!r}")

    def profile(self, u: Scalar) -> Scalar:
        """Return the progress."""
        return trapezoid(u, self.ramp)

    @classmethod
    def within(cls, q0: ArrayLike, q1: ArrayLike, speed: ArrayLike, acceleration: ArrayLike, **options: Any) -> Self:
        """Return the quickest such move that keeps every joint within its speed and acceleration.

        Examples
        --------
        >>> Trapezoidal.within([0.0], [1.0], speed=0.5, acceleration=1.0).duration
        2.5
        """
        first, rate, growth = _limited(q0, q1, speed, acceleration)
        ramp = min(rate / growth, math.sqrt(1.0 / growth))  # a short move never reaches its speed
        duration = ramp + 1.0 / (growth * ramp)
        return cls(first, q1, duration, min(ramp / duration, 0.5), **options)


@dataclass(frozen=True, eq=False)
class Cubic(Move):
    """A cubic polynomial between positions, with given velocities at both ends."""

    v0: ArrayLike = 0.0
    v1: ArrayLike = 0.0
    PEAKS = (1.5, 6.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("v0", "v1"):
            object.__setattr__(self, name, alike(np.asarray(self.q0), getattr(self, name), name))

    def _ends(self) -> list[np.ndarray]:
        return [np.stack([np.asarray(a), np.asarray(b)]) for a, b in ((self.q0, self.q1), (self.v0, self.v1))]

    @cached_property
    def _coefficients(self) -> np.ndarray:
        shape = np.broadcast_shapes(*(x.shape for x in self._ends()))
        tables = [np.broadcast_to(x, shape).reshape(2, -1) for x in self._ends()]
        made = hermite(np.array([0.0, self.duration]), tables)[0]
        return made.reshape(len(made), *shape[1:])

    def position(self, t: Scalar) -> list[Scalar]:
        """Return positions over any scalar."""
        s = t - self.begin
        columns = [split(c) for c in self._coefficients]
        values = columns[-1]
        for lower in reversed(columns[:-1]):
            values = [x * s + c for x, c in zip(values, lower, strict=True)]
        return values


@dataclass(frozen=True, eq=False)
class Quintic(Cubic):
    """A quintic polynomial between positions, with given velocities and accelerations at both ends."""

    a0: ArrayLike = 0.0
    a1: ArrayLike = 0.0
    PEAKS = (1.875, 10.0 / math.sqrt(3.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("a0", "a1"):
            object.__setattr__(self, name, alike(np.asarray(self.q0), getattr(self, name), name))

    def _ends(self) -> list[np.ndarray]:
        return [*super()._ends(), np.stack([np.asarray(self.a0), np.asarray(self.a1)])]


@dataclass(frozen=True, eq=False)
class Between(Timed):
    """A move from one configuration of a robot to another, also for joints with quaternions.

    Every joint moves along the constant velocity that leads there (a rotation about one
    axis, a screw for a free body), so that v and a are exact multiples of it.

    Parameters
    ----------
    robot : Robot or Model
    q0, q1 : array_like, shape (nq,)
    duration : float
    profile : {"quintic", "cycloid", "cubic", "trapezoid"}
    """

    robot: Any
    q0: ArrayLike
    q1: ArrayLike
    duration: float
    profile: str = "quintic"

    def __post_init__(self) -> None:
        object.__setattr__(self, "robot", getattr(self.robot, "model", self.robot))
        for name in ("q0", "q1"):
            numbers = vector(getattr(self, name), name)
            if numbers.shape[-1] != self.robot.nq:
                raise ShapeError(f"{name} must have {self.robot.nq} = nq entries, got shape {numbers.shape}")
            object.__setattr__(self, name, numbers)
        object.__setattr__(self, "duration", seconds(self.duration))
        if self.profile not in PROFILES:
            raise UnknownNameError("profile", self.profile, PROFILES)

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return int(self.robot.nv)

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return int(self.robot.nq)

    def motion(self, t: Jet) -> Motion:
        """Return positions, velocities and accelerations over any scalar."""
        s = as_jet(PROFILES[self.profile]((t - self.begin) / self.duration))
        q0 = split(np.asarray(self.q0))
        way = kinematics.difference(self.robot, q0, split(np.asarray(self.q1)))
        q = kinematics.integrate(self.robot, q0, [d * s.value for d in way])
        return q, [d * s.first for d in way], [d * s.second for d in way]


@dataclass(frozen=True, eq=False)
class Rotation(Timed):
    """A rotation from one orientation to another about one axis: a quaternion, with angular velocities in body axes.

    Parameters
    ----------
    q0, q1 : array_like, shape (4,)
        Unit quaternions x, y, z, w; the rotation is the shorter of the two.
    duration : float
    profile : {"quintic", "cycloid", "cubic", "trapezoid"}
    """

    q0: ArrayLike
    q1: ArrayLike
    duration: float
    profile: str = "quintic"
    nq: ClassVar[int] = 4  # type: ignore[misc]
    n: ClassVar[int] = 3  # type: ignore[misc]

    def __post_init__(self) -> None:
        for name in ("q0", "q1"):
            numbers = vector(getattr(self, name), name)
            if numbers.shape[-1] != 4 or not np.allclose(np.linalg.norm(numbers, axis=-1), 1.0, atol=1e-9):
                raise OptionError(f"{name} must be a unit quaternion x, y, z, w, got {numbers.tolist()}")
            object.__setattr__(self, name, numbers)
        object.__setattr__(self, "duration", seconds(self.duration))
        if self.profile not in PROFILES:
            raise UnknownNameError("profile", self.profile, PROFILES)

    def motion(self, t: Jet) -> Motion:
        """Return the quaternion, angular velocity and acceleration over any scalar."""
        s = as_jet(PROFILES[self.profile]((t - self.begin) / self.duration))
        q0 = split(np.asarray(self.q0))
        way = Spherical().difference(q0, split(np.asarray(self.q1)))
        q = Spherical().integrate(q0, [d * s.value for d in way])
        return q, [d * s.first for d in way], [d * s.second for d in way]
