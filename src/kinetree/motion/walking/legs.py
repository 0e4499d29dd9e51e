"""Legs: the path of a hip over a foot, the swing of the other foot, and the joint angles for both.

The formulas are from Shah appendix B and the biped paper, with misprints corrected as noted in comments.  x is forward,
z is up; all formulas are over any scalar.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from ...errors import OptionError, explain_public
from ...spatial.numbers import real_number
from ...spatial.scalar import Scalar, arctan2, cos, sqrt

__all__ = [
    "HEXAPOD", "PLANAR_BIPED", "QUADRUPED", "SPATIAL_BIPED", "UNIFIED_BIPED", "Gait", "LegAngles", "inverted_pendulum",
    "leg_angles",
]  # fmt: skip


def _terms(reach: float) -> int:
    """Return how many terms the series of cosh and sinh need for arguments up to ``reach``."""
    count, term = 1, 1.0
    while term > 1e-18 and count < 60:
        term *= reach * reach / ((2 * count - 1) * (2 * count))
        count += 1
    return count


def cosh(u: Scalar, reach: float) -> Scalar:
    """Return the hyperbolic cosine by its series, whose terms are all positive, for |u| up to ``reach``."""
    square, total = u * u, 1.0
    for k in range(_terms(reach), 0, -1):
        total = square * total / ((2 * k - 1) * (2 * k)) + 1.0
    return total


def sinh(u: Scalar, reach: float) -> Scalar:
    """Return the hyperbolic sine by its series, whose terms all have one sign, for |u| up to ``reach``."""
    square, total = u * u, 1.0
    for k in range(_terms(reach), 0, -1):
        total = square * total / ((2 * k) * (2 * k + 1)) + 1.0
    return u * total


def inverted_pendulum(x0: float, v0: float, frequency: float, t: Scalar, duration: float) -> Scalar:
    """Return the position of a point mass that topples over its foot: x'' = w^2 x (Shah eq. B.4-B.7).

    Parameters
    ----------
    x0, v0 : float
        Position and velocity at t = 0, relative to the foot.
    frequency : float
        w = sqrt(g / height), in 1/s.
    t : scalar
        From 0 to ``duration``.
    duration : float
    """
    reach = real_number(frequency, "frequency", positive=True, unit="1/s") * duration
    return x0 * cosh(frequency * t, reach) + (v0 / frequency) * sinh(frequency * t, reach)


@dataclass(frozen=True)
class Gait:
    """The parameters of a walk (Shah tables B.1 and B.2).

    Parameters
    ----------
    period : float
        Duration T of a step; then the legs swap their roles.
    start : float
        x of the hip relative to the supporting ankle when a step begins; negative.
    height : float
        Height of the hip above the ankles.
    stride : float
        The swinging foot travels from ``-stride`` to ``+stride`` relative to the supporting one.
        For the walk to continue, stride = -2 start.
    foot_height : float
        How high the swinging foot is lifted.
    side : float
        Lateral distance between hip center and supporting ankle when a step begins; zero for walking in a plane.
    pendulum_height : float, optional
        Height of the pendulum's mass; by default that of the hip.
    gravity : float
    """

    period: float
    start: float
    height: float
    stride: float
    foot_height: float
    side: float = 0.0
    pendulum_height: float | None = None
    gravity: float = 9.81

    def __post_init__(self) -> None:
        for name in ("period", "height", "stride", "foot_height", "gravity"):
            if not getattr(self, name) > 0:
                raise OptionError(f"a gait's {name} must be positive, not {getattr(self, name)!r}")
        if not math.isclose(self.stride, -2.0 * self.start, rel_tol=1e-9):
            raise OptionError(
                f"the hip travels {-2.0 * self.start:g} m in a step and the foot lands after {self.stride:g} m: "
                "steps repeat only if stride = -2 start"
            )
        if self.side < 0:
            raise OptionError(f"side is a distance, not {self.side!r}; which side it is follows from the leg")

    @property
    def frequency(self) -> float:
        """W = sqrt(g / height) of the inverted pendulum, in 1/s."""
        return math.sqrt(self.gravity / (self.pendulum_height or self.height))

    @property
    def initial_speed(self) -> tuple[float, float]:
        """Speeds forward and toward the supporting foot at the beginning of every step.

        Shah eq. B.9 with its signs corrected: as printed the hip would end 3.8 m behind.
        """
        half = 0.5 * self.frequency * self.period
        return -self.frequency * self.start / math.tanh(half), self.frequency * self.side * math.tanh(half)

    @property
    def speed(self) -> float:
        """Mean speed of the walk."""
        return self.stride / self.period

    def hip(self, s: Scalar) -> tuple[Scalar, Scalar]:
        """Return the hip relative to the supporting ankle at the time ``s`` of a step: forward and sideways.

        The pendulum's motion (Shah eq. B.7) with the speeds of B.9, which make it odd forward and
        even sideways about the middle of the step.
        """
        half = 0.5 * self.frequency * self.period
        u = self.frequency * (s - 0.5 * self.period)
        forward = sinh(u, half) * (-self.start / math.sinh(half))
        return forward, cosh(u, half) * (self.side / math.cosh(half))

    def swing(self, s: Scalar) -> tuple[Scalar, Scalar]:
        """Return the swinging ankle relative to the supporting one: forward and up.

        Shah eq. B.10 and Biped eq. 24, with cos(2 pi t / T) for the height: as printed the foot would never land.
        """
        forward = cos(s * (math.pi / self.period)) * (-self.stride)
        return forward, (1.0 - cos(s * (2.0 * math.pi / self.period))) * (0.5 * self.foot_height)


PLANAR_BIPED = Gait(1.0, -0.15, 0.96, 0.3, 0.1)
"""Shah table B.1."""

SPATIAL_BIPED = Gait(0.5, -0.15, 0.92, 0.3, 0.1, side=0.08)
"""Shah table B.1; appendix B.1.2 and section 7.2.2 differ in the lateral offset's sign, the supporting foot's side."""

QUADRUPED = Gait(1.0, -0.15, 0.50, 0.3, 0.09)
"""Shah table B.2; chapter 7 says foot height 0.08 m and speed 0.4 m/s, where these numbers give 0.3 m/s."""

HEXAPOD = Gait(0.5, -0.20, 0.55, 0.4, 0.08)
"""Shah table B.2."""

UNIFIED_BIPED = Gait(1.0, -0.1, 1.23 - 0.25, 0.2, 0.1, pendulum_height=1.23)
"""The pendulum of the biped paper is computed with the trunk's mass center at 1.23 m, 0.25 m above the hip."""


class LegAngles(NamedTuple):
    """Joint angles of a leg that keeps its foot level, named as in Shah fig. B.5."""

    roll: Scalar
    """theta_2 = -theta_5: the leg's inclination sideways, positive when the ankle is on the side of -y."""

    hip: Scalar
    """theta_3: the thigh's inclination forward."""

    knee: Scalar
    """theta_4: how far the knee is bent; the shank swings back."""

    ankle: Scalar
    """theta_6: the foot's inclination against the shank, toe up."""


def leg_angles(x: Scalar, y: Scalar, z: Scalar, thigh: float, shank: float) -> LegAngles:
    """Return the angles of a two-link leg from the vector from ankle to hip (Shah eq. B.11).

    The knee bends forward.  Where the leg is too short the angles are NaN.

    Parameters
    ----------
    x, y, z : scalar
        Hip minus ankle.
    thigh, shank : float
        Lengths of the links.
    """
    thigh, shank = (real_number(x, name, positive=True) for x, name in ((thigh, "thigh"), (shank, "shank")))
    upright = y * y + z * z
    span = x * x + upright
    # appendix B.1.4 prints 2 a1 a1 in the denominator where the law of cosines has twice the product of the links
    c = (span - (thigh * thigh + shank * shank)) / (2.0 * thigh * shank)
    s = sqrt(1.0 - c * c)
    beta = arctan2(x, sqrt(upright))  # asin(x / a0)
    gamma = arctan2(thigh * s, shank + thigh * c)  # asin(a2 sin(theta_4) / a0), also beyond a right angle
    knee = arctan2(s, c)
    return LegAngles(arctan2(y, z), knee - (beta + gamma), knee, beta + gamma)


__dir__ = explain_public(__name__)
