"""Rolling without slipping, and edges that do not slip sideways: constraints on velocities but not on positions.

A ball can be brought to any place on a plane in any orientation, so it has five freedoms of position, but only three of
velocity, since it does not slip at the point of contact (Featherstone section 7.4.4).  Like the other constraints of
loop joints, these are given by the force that maintains them,

    K v = 0,    K a + K' v = 0,

but they have no gap.
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
    """A round body on a plane through the origin of frame A; the origin of frame B is the body's center."""

    normal: Any

    @property
    def nv(self) -> int:
        """Degrees of freedom: three of velocity, five of position."""
        return 3

    def _touch(self, up: Vec3) -> tuple[Vec3, Scalar]:
        """Return the lowest point in B, given the normal ``up`` in B, and the height of the center above it."""
        raise NotImplementedError

    def _touch_rate(self, up: Vec3, up_rate: Vec3) -> Vec3:
        """Return the velocity of the lowest point in B while the normal turns there."""
        raise NotImplementedError

    def _directions(self) -> tuple[Vec3, Vec3, Vec3]:
        normal = vec(self.normal)
        return (normal, *across(normal))

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the constraints on the height of the center, and on slip of the lowest point in two directions."""
        normal, *tangents = self._directions()
        point, height = self._touch(x.unrotate(normal))

        def push(direction: Vec3) -> Force:
            seen = x.unrotate(direction)
            return Force(point.cross(seen), seen)

        # the rate of the gap is the body's normal velocity at the lowest point, since the point itself moves
        # horizontally
        off = normal.dot(x.translation) - height
        return [
            Constraint(off, push(normal), f"force along {direction_name(normal)}", "m"),
            *(
                Constraint(0.0, push(t), f"rolling along {direction_name(t)}", "m", holonomic=False) for t in tangents
            ),
        ]  # fmt: skip

    def constraint_rates(self, x: Transform, twist: Motion) -> list[Force]:
        """Return the rates of the forces: seen from the body, the plane turns and the lowest point moves."""
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
    """A ball of ``radius`` meters that rolls on a plane without slipping. It can only close loops.

    The plane with this ``normal`` goes through the origin of the joint's fixed frame; the center of the ball, on the
    successor, is the origin of the moving frame.
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
    """A wheel, coin or disk that rolls on a plane without slipping, upright or tilted. It can only close loops.

    Parameters
    ----------
    radius : float
        Radius of the circle in the middle of its rim, in meters.
    axis : str or three numbers
        Axis of the wheel in the joint's moving frame, whose origin is the wheel's center.
    rim_radius : float
        Radius of the rim's round cross-section: zero for a sharp edge, such as a coin's.
    normal : str or three numbers
        Normal of the plane through the origin of the joint's fixed frame.
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
        """Return the steepest direction in the plane of the wheel, and 1 / sine of the axis-normal angle."""
        axis = vec(self.axis)
        rising = up - axis * axis.dot(up)
        scale = 1.0 / sqrt(rising.dot(rising))
        return rising * scale, scale

    def _touch(self, up: Vec3) -> tuple[Vec3, Scalar]:
        steepest, _ = self._upright(up)
        # a wheel that lies flat has no lowest point: NaN, and not a height of zero
        return steepest * -self.radius - up * self.rim_radius, self.radius * steepest.dot(up) + self.rim_radius

    def _touch_rate(self, up: Vec3, up_rate: Vec3) -> Vec3:
        steepest, scale = self._upright(up)
        axis = vec(self.axis)
        rate = up_rate - axis * axis.dot(up_rate)
        turned = (rate - steepest * steepest.dot(rate)) * scale
        return turned * -self.radius - up_rate * self.rim_radius


@dataclass(frozen=True)
class KnifeEdge(OnlyCloses):
    """A blade, a skate or a thin wheel: its point does not slip in the direction ``across``, and is free otherwise.

    ``across`` is a direction of the joint's moving frame, which is on the successor; the surface is the predecessor.
    It does not constrain the height; add a planar joint or a :class:`PointOnPlane` for that.
    """

    across: Any = "y"
    name = "knife_edge"

    def __post_init__(self) -> None:
        object.__setattr__(self, "across", unit_axis(self.across, "across"))

    @property
    def nv(self) -> int:
        """Degrees of freedom: five of velocity, six of position."""
        return 5

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the constraint on slip of the point."""
        side = vec(self.across)
        label = f"no slip along {direction_name(side)}"
        return [Constraint(0.0, Force(ZERO3, side), label, "m", holonomic=False)]
