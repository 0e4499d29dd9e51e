"""Tendons, actuators and couplings of joints, as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..spatial import Scalar


class Waypoint(NamedTuple):
    """A point of a body that a tendon goes through; body -1 is the base.

    A point that was given in a frame keeps its offset within that frame, and moves with it if the frame is moved.
    """

    body: int
    position: tuple[float, float, float]
    frame: str = ""
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Tendon:
    """A length that depends on the configuration, with or without a spring and a damper along it.

    The length is either a sum of joint coordinates, each times a coefficient, or that of a line through points of
    bodies, straight from each point to the next.
    """

    name: str
    joints: tuple[str, ...] = ()
    """Joints whose coordinates are summed; each has one degree of freedom."""
    coefficients: tuple[float, ...] = ()
    """One per joint: meters (or radians) of the tendon per radian or meter of the joint."""
    points: tuple[Waypoint, ...] = ()
    """Two or more points, if there are no joints."""
    stiffness: float = 0.0
    """Newtons per meter beyond ``rest``."""
    rest: tuple[float, float] = (0.0, 0.0)
    """Lengths between which it is slack; equal if it pushes and pulls, the second infinite if it only pushes."""
    damping: float = 0.0
    """Newton seconds per meter."""

    @property
    def rest_length(self) -> float:
        """The parameter ``rest``: the longer of the two lengths, or the shorter one of a spring that only pushes."""
        return self.rest[0] if self.only_pushes else self.rest[1]

    @property
    def only_pushes(self) -> bool:
        """Whether the spring is slack at all greater lengths."""
        return isinstance(self.rest[1], float) and self.rest[1] == math.inf

    def rest_with(self, length: Scalar) -> tuple[Scalar, Scalar]:
        """Return lengths between which the spring is slack, with another one for ``rest_length``."""
        short, long = self.rest
        if self.only_pushes:
            return length, long
        return (length if short == long else short), length


@dataclass(frozen=True)
class Actuator:
    """A drive with a control signal u: force = gain u + bias within limits; both depend on a length L and its rate.

    L is ``gear`` times a joint's coordinate or a tendon's length; the force acts along L, so the joint feels ``gear``
    times the force. With the gain (g0, g1, g2) and the bias (b0, b1, b2),

        force = (g0 + g1 L + g2 L') u + b0 + b1 L + b2 L'

    A motor has the gain (1, 0, 0) and no bias, a position servo has the gain (kp, 0, 0) and the bias (0, -kp, -kv), and
    a velocity servo has the gain (kv, 0, 0) and the bias (0, 0, -kv).
    """

    name: str
    joint: str = ""
    tendon: str = ""
    """The joint or the tendon that it drives; the other is empty."""
    gear: float = 1.0
    gain: tuple[float, float, float] = (1.0, 0.0, 0.0)
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    control_range: tuple[float, float] = field(default=(-math.inf, math.inf))
    force_range: tuple[float, float] = field(default=(-math.inf, math.inf))
    """The signal is clipped to the first range, the force to the second."""


@dataclass(frozen=True)
class JointCoupling:
    """A constraint that makes one sum of joint coordinates a polynomial of another: ``y = p(x)``.

    Here y is the sum of ``coefficients[i]`` times the coordinate of ``joints[i]``, x is the sum of
    ``follows_coefficients[i]`` times the coordinate of ``follows[i]``, and p(x) = polynomial[0] + polynomial[1] x +
    polynomial[2] x² +
    ...
    """

    name: str
    joints: tuple[str, ...]
    """The joints of y; each has one degree of freedom."""
    coefficients: tuple[float, ...]
    follows: tuple[str, ...] = ()
    """The joints of x; empty if y is constant."""
    follows_coefficients: tuple[float, ...] = ()
    polynomial: tuple[float, ...] = (0.0,)
    """Coefficients of p, the constant first; one number if y is constant."""
    unit: str = "rad"
    """Unit of y, which is that of the first joint: ``rad`` or ``m``."""

    @property
    def label(self) -> str:
        """The name of the constraint in messages and tables."""
        return f"{self.name}: coupling"

    def terms(self) -> Iterator[tuple[str, float, bool]]:
        """Yield the joints with their coefficients, and whether each belongs to x."""
        for names, factors, of_x in (
            (self.joints, self.coefficients, False),
            (self.follows, self.follows_coefficients, True),
        ):
            for name, factor in zip(names, factors, strict=True):
                yield name, factor, of_x


def derivative(polynomial: Sequence[float]) -> tuple[float, ...]:
    """Return the coefficients of p', the constant first."""
    return tuple(k * c for k, c in enumerate(polynomial))[1:]


def evaluate(polynomial: Sequence[float], x: Any) -> Any:
    """Return p(x) by Horner's rule, over any scalar."""
    total: Any = 0.0
    for c in reversed(polynomial):
        total = total * x + c
    return total
