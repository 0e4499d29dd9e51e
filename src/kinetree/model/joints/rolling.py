"""Rolling without slipping, and edges that do not slip sideways: constraints on velocities that are none on positions.

A ball on a plane can be brought to any place in any orientation, so it has five freedoms of position; but it
has three of velocity, for where it touches it does not slip (Featherstone section 7.4.4).  Such constraints are
written as a loop joint's other ones are, by the force that keeps them,

    K v = 0,    K a + K' v = 0,

but they have no gap: there is nothing that could be open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...errors import ModelError
from ...spatial import ZERO3, Force, Motion, Scalar, Transform, Vec3, sqrt
from ...spatial.numbers import real_number
from .constraints import Constraint, across, direction_name
from .kind import OnlyCloses, unit_axis, vec


class _Rolling(OnlyCloses):
    """A round body on a plane: frame A has the plane through its origin, frame B the center of the body."""

    normal: Any

    @property
    def nv(self) -> int:
        """Degrees of freedom: of velocity three, of position five."""
        return 3

    def _touch(self, up: Vec3) -> tuple[Vec3, Scalar]:
        """Return the lowest point in B, the normal being ``up`` there, and how high the center is above it."""
        raise NotImplementedError

    def _touch_rate(self, up: Vec3, up_rate: Vec3) -> Vec3:
        """Return how the lowest point moves in B while the normal turns there."""
        raise NotImplementedError

    def _directions(self) -> tuple[Vec3, Vec3, Vec3]:
        normal = vec(self.normal)
        return (normal, *across(normal))

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the height of the center, and two directions in which the lowest point does not slip."""
        normal, *tangents = self._directions()
        point, height = self._touch(x.unrotate(normal))

        def push(direction: Vec3) -> Force:
            seen = x.unrotate(direction)
            return Force(point.cross(seen), seen)

        # the gap's rate is the velocity of the lowest point along the normal: the point moves level on the body
        off = normal.dot(x.translation) - height
        return [
            Constraint(off, push(normal), f"force along {direction_name(normal)}", "m"),
            *(
                Constraint(0.0, push(t), f"rolling along {direction_name(t)}", "m", holonomic=False) for t in tangents
            ),
        ]  # fmt: skip

    def constraint_rates(self, x: Transform, twist: Motion) -> list[Force]:
        """Return that directions of the plane turn, seen from the body, and the lowest point moves on it."""
        normal, *tangents = self._directions()
        up = x.unrotate(normal)
        point, _ = self._touch(up)
        moved = self._touch_rate(up, up.cross(twist.angular))
        rates = []
        for direction in (normal, *tangents):
            seen = x.unrotate(direction)
            turned = seen.cross(twist.angular)
            rates.append(Force(point.cross(turned) + moved.cross(seen), turned))
        return rates


@dataclass(frozen=True)
class RollingBall(_Rolling):
    """A ball of ``radius`` meters rolls on a plane without slipping. It only closes loops.

    The plane goes through the origin of the joint's fixed frame, ``normal`` to it; the center of the ball, on the
    successor, is the origin of its moving frame.
    """

    radius: float = math.nan
    normal: Any = "z"
    name = "rolling_ball"

    def __post_init__(self) -> None:
        radius = real_number(self.radius, "the radius of a ball", positive=True, unit="meters", error=ModelError)
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "normal", unit_axis(self.normal, "normal"))

    def _touch(self, up: Vec3) -> tuple[Vec3, Scalar]:
        return up * -self.radius, self.radius

    def _touch_rate(self, up: Vec3, up_rate: Vec3) -> Vec3:
        return up_rate * -self.radius


@dataclass(frozen=True)
class RollingWheel(_Rolling):
    """A wheel, coin or disk rolls on a plane without slipping, upright or tilted. It only closes loops.

    Parameters
    ----------
    radius : float
        Of the circle in the middle of its rim, in meters.
    axis : str or three numbers
        Of the wheel in the joint's moving frame, whose origin is its center.
    rim_radius : float
        Of the rim's round cross-section: zero for a sharp edge, such as a coin's.
    normal : str or three numbers
        Of the plane through the origin of the joint's fixed frame.
    """

    radius: float = math.nan
    axis: Any = "y"
    rim_radius: float = 0.0
    normal: Any = "z"
    name = "rolling_wheel"

    def __post_init__(self) -> None:
        radius = real_number(self.radius, "the radius of a wheel", positive=True, unit="meters", error=ModelError)
        rim = real_number(self.rim_radius, "the radius of a wheel's rim", unit="meters", error=ModelError)
        if rim < 0.0:
            raise ModelError(f"the radius of a wheel's rim must not be negative, got {rim:g} meters")
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "rim_radius", rim)
        object.__setattr__(self, "axis", unit_axis(self.axis))
        object.__setattr__(self, "normal", unit_axis(self.normal, "normal"))

    def _upright(self, up: Vec3) -> tuple[Vec3, Scalar]:
        """Return the steepest direction in the plane of the wheel, and one over the sine of axis and normal."""
        axis = vec(self.axis)
        rising = up - axis * axis.dot(up)
        scale = 1.0 / sqrt(rising.dot(rising))
        return rising * scale, scale

    def _touch(self, up: Vec3) -> tuple[Vec3, Scalar]:
        steepest, _ = self._upright(up)
        # of a wheel that lies flat no point is lowest: NaN, and not a height of zero
        return steepest * -self.radius - up * self.rim_radius, self.radius * steepest.dot(up) + self.rim_radius

    def _touch_rate(self, up: Vec3, up_rate: Vec3) -> Vec3:
        steepest, scale = self._upright(up)
        axis = vec(self.axis)
        rate = up_rate - axis * axis.dot(up_rate)
        turned = (rate - steepest * steepest.dot(rate)) * scale
        return turned * -self.radius - up_rate * self.rim_radius


@dataclass(frozen=True)
class KnifeEdge(OnlyCloses):
    """A blade, a skate or a thin wheel: its point does not slip ``across`` itself, and is free in all else.

    ``across`` is a direction of the joint's moving frame, which is on the successor; what it slips on is the
    predecessor.  It says nothing about heights: a planar joint, or a :class:`PointOnPlane` beside it, does.
    """

    across: Any = "y"
    name = "knife_edge"

    def __post_init__(self) -> None:
        object.__setattr__(self, "across", unit_axis(self.across, "across"))

    @property
    def nv(self) -> int:
        """Degrees of freedom: of velocity five, of position six."""
        return 5

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the direction in which the point does not slip."""
        side = vec(self.across)
        label = f"no slip along {direction_name(side)}"
        return [Constraint(0.0, Force(ZERO3, side), label, "m", holonomic=False)]
