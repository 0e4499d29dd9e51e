"""Springs and dampers: at joints, between two points, between two frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..algorithms.compliant_directions import Along
from ..errors import OptionError
from ..spatial import Scalar, Vec3, where
from ..spatial.arrays import split
from ..spatial.rotation import quaternion_of
from .characteristics import check_characteristic, damping_of, energy_of, follow, slope_of
from .element import ForceElement, Point, Surroundings, frame_and_point


@dataclass(frozen=True, eq=False)
class JointSpring(ForceElement):
    """A spring, a damper or both at a joint: -stiffness (q - rest) - damping q'.

    Parameters
    ----------
    joint : str
        Any joint without a quaternion; also a follower.
    stiffness, damping : number, Characteristic or function
        Stiffness in N m/rad or N/m, and damping in the same times seconds: a number, a table, or a function, over any
        scalar, of the displacement (or the speed).  Numbers may have a batch.
    rest : float
        Rest position of the spring.
    law : callable, optional
        ``law(x, rate)``: an additional force against the displacement that depends on both.
    coordinate : int
        Index of the coordinate, if the joint has several.

    Examples
    --------
    >>> spring = JointSpring("elbow", stiffness=20.0, damping=0.1, rest=0.5)
    """

    joint: str
    stiffness: Any = 0.0
    damping: Any = 0.0
    rest: Any = 0.0
    law: Any = None
    coordinate: int = 0
    VARIES: ClassVar = {"stiffness": 0, "damping": 0, "rest": 0}

    def __post_init__(self) -> None:
        check_characteristic(self, "stiffness")
        check_characteristic(self, "damping")
        self.check_number("rest")
        if self.law is not None and not callable(self.law):
            raise OptionError(f"law must be a function law(x, rate), not {self.law!r}")

    def act(self, on: Surroundings) -> None:
        """Apply the force at the joint."""
        along = on.coordinate(self.joint, self.coordinate)
        x, rate = along.length - self.rest, along.rate(on.v)
        force = follow(self.stiffness, x) + follow(self.damping, rate)
        on.drive(along, -(force if self.law is None else force + self.law(x, rate)))

    def stored(self, on: Surroundings) -> Scalar:
        """Return the energy of the spring."""
        return energy_of(self.stiffness, on.coordinate(self.joint, self.coordinate).length - self.rest)

    def yields(self, on: Surroundings) -> Along:
        """Return the line along which it yields, with stiffness and damping."""
        along = on.coordinate(self.joint, self.coordinate)
        return [
            (along, slope_of(self.stiffness, along.length - self.rest), damping_of(self.damping, along.rate(on.v)))
        ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class PointSpring(ForceElement):
    """A spring, a damper or both along the line between two points, of two bodies or of a body and the base.

    Parameters
    ----------
    a, b : str or (str, (x, y, z))
        A body or frame, or a point in its coordinates; ``"base"`` is fixed.
    stiffness, damping : number, Characteristic or function
        Stiffness and damping over the distance beyond ``length`` and its rate; see :class:`JointSpring`.
    length : float
        Rest length of the spring.
    pulls_only : bool
        Whether it is a rope: slack if it is shorter than ``length``, or if its damping would make it push.

    Examples
    --------
    >>> spring = PointSpring(("base", (0.0, 0.0, 1.0)), "hand", stiffness=500.0, length=0.3)
    """

    a: Point
    b: Point
    stiffness: Any = 0.0
    damping: Any = 0.0
    length: Any = 0.0
    pulls_only: bool = False
    VARIES: ClassVar = {"stiffness": 0, "damping": 0, "length": 0}

    def __post_init__(self) -> None:
        for at in (self.a, self.b):
            frame_and_point(at)
        check_characteristic(self, "stiffness")
        check_characteristic(self, "damping")
        self.check_number("length", least=0.0)

    def _taut(self, stretch: Scalar, value: Scalar) -> Scalar:
        return where(stretch < 0.0, 0.0, value) if self.pulls_only else value

    def _pulling(self, tension: Scalar, value: Scalar) -> Scalar:
        return where(tension < 0.0, 0.0, value) if self.pulls_only else value

    def _tension(self, stretch: Scalar, rate: Scalar) -> Scalar:
        """Return the force along the line, before a rope goes slack because of its damping."""
        return self._taut(stretch, follow(self.stiffness, stretch) + follow(self.damping, rate))

    def act(self, on: Surroundings) -> None:
        """Pull the points together, or push them apart."""
        a, b = on.point(self.a), on.point(self.b)
        length, rate, direction = on.distance(a, b)
        tension = self._tension(length - self.length, rate)
        tension = self._pulling(tension, tension)
        on.push(a, direction * tension)
        on.push(b, direction * -tension)

    def stored(self, on: Surroundings) -> Scalar:
        """Return the energy of the spring."""
        stretch = on.distance(on.point(self.a), on.point(self.b))[0] - self.length
        return self._taut(stretch, energy_of(self.stiffness, stretch))

    def yields(self, on: Surroundings) -> Along:
        """Return the line along which it yields, with stiffness and damping."""
        a, b = on.point(self.a), on.point(self.b)
        length, rate, _ = on.distance(a, b)
        stretch = length - self.length
        tension = self._tension(stretch, rate)
        slopes = slope_of(self.stiffness, stretch), damping_of(self.damping, rate)
        k, c = (self._pulling(tension, self._taut(stretch, s)) for s in slopes)
        return [(on.held(a, b), k, c)]


@dataclass(frozen=True, eq=False)
class Bushing(ForceElement):
    """A rubber mount between two frames: springs and dampers along and about the axes of the first.

    With x the displacement of the second frame's origin along the axes of the first, and e = 2 sin(angle / 2) times the
    axis of the rotation between them, the energy is half the sum of stiffness x^2 and turning_stiffness e^2; forces and
    torques are its derivatives, so energy is conserved however far it turns.

    Parameters
    ----------
    a, b : str
        Bodies or frames; ``"base"`` is fixed.
    stiffness, damping : number or three
        N/m and N s/m along the axes of ``a``.
    turning_stiffness, turning_damping : number or three
        N m/rad and N m s/rad about them.
    """

    a: str
    b: str
    stiffness: Any = 0.0
    damping: Any = 0.0
    turning_stiffness: Any = 0.0
    turning_damping: Any = 0.0
    VARIES: ClassVar = {"stiffness": 3, "damping": 3, "turning_stiffness": 3, "turning_damping": 3}

    def __post_init__(self) -> None:
        for name in self.VARIES:
            value = getattr(self, name)
            if np.ndim(value) == 0:
                object.__setattr__(self, name, [value] * 3)
            self.check_number(name, least=0.0, width=3)

    def _relative(self, on: Surroundings) -> tuple[Any, Any, Vec3, Vec3, Scalar]:
        a, b = on.point(self.a), on.point(self.b)
        x = a.pose.unrotate(b.position - a.position)
        turned = a.pose.matrix().T.times(b.pose.matrix())
        i, j, k, w = quaternion_of(turned)
        sign = where(w < 0.0, -1.0, 1.0 + 0.0 * w)  # of the rotation's two quaternions, that of the shorter turn
        return a, b, x, Vec3(i * sign, j * sign, k * sign), w * sign

    def act(self, on: Surroundings) -> None:
        """Apply force and torque to both bodies."""
        a, b, x, half, w = self._relative(on)
        carried = a.velocity + a.spin.cross(b.position - a.position)  # velocity of the point of a where b's origin is
        rate = a.pose.unrotate(b.velocity - carried)
        force = a.pose.rotate(-(_scaled(self.stiffness, x) + _scaled(self.damping, rate)))
        on.push(b, force)
        on.push(a, -force)
        on.turn(a, -(b.position - a.position).cross(force))
        # e' = w spin + half x spin in the axes of b, so the torque is the transpose of that times the force along e
        along = _scaled(self.turning_stiffness, half * 2.0)
        turning = b.pose.rotate(half.cross(along) - along * w)
        spin = a.pose.unrotate(b.spin - a.spin)
        torque = turning - a.pose.rotate(_scaled(self.turning_damping, spin))
        on.turn(b, torque)
        on.turn(a, -torque)

    def stored(self, on: Surroundings) -> Scalar:
        """Return the energy of its springs."""
        _, _, x, half, _ = self._relative(on)
        e = half * 2.0
        return 0.5 * (x.dot(_scaled(self.stiffness, x)) + e.dot(_scaled(self.turning_stiffness, e)))


def _scaled(factors: Any, v: Vec3) -> Vec3:
    """Return a vector with each entry times its factor."""
    x, y, z = split(np.asarray(factors)) if isinstance(factors, np.ndarray) else factors
    return Vec3(x * v.x, y * v.y, z * v.z)
