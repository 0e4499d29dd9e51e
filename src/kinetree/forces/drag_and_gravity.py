"""Fields around a robot: air and water that drag, and gravity of every kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import OptionError, ShapeError
from ..spatial import Scalar, Vec3, sqrt
from ..spatial.numbers import shown
from .element import ForceElement, MovingPoint, Point, Surroundings, at_time, frame_and_point, listed


@dataclass(frozen=True, eq=False)
class Drag(ForceElement):
    """The drag of a medium on a body: -(linear + quadratic |u|) u, where u is its velocity relative to the medium.

    Parameters
    ----------
    at : str or (str, (x, y, z))
        Where it acts: a body or frame, or a point in its coordinates.
    linear, quadratic : float
        Coefficients in N s/m and N s^2/m^2; the latter is half the density times area times drag coefficient.
    turning : float
        Coefficient in N m s/rad of a torque against the rotation of the body.
    wind : three numbers, Trajectory or function of time
        Velocity of the medium, along world axes.
    """

    at: Point
    linear: Any = 0.0
    quadratic: Any = 0.0
    turning: Any = 0.0
    wind: Any = (0.0, 0.0, 0.0)
    VARIES: ClassVar = {"linear": 0, "quadratic": 0, "turning": 0, "wind": 3}

    def __post_init__(self) -> None:
        frame_and_point(self.at)
        for name in ("linear", "quadratic", "turning"):
            self.check_number(name, least=0.0)
        self.check_given("wind", 3)

    def act(self, on: Surroundings) -> None:
        """Apply the drag."""
        at = on.point(self.at)
        u = at.velocity - Vec3.of(at_time(self.wind, on.t, 3, "wind"))
        on.push(at, u * -(self.linear + self.quadratic * sqrt(u.dot(u))))
        on.turn(at, at.spin * -self.turning)


@dataclass(frozen=True, eq=False)
class GravityField(ForceElement):
    """Gravity that varies in space: it acts on every body at its center of mass, in addition to the model's own.

    Parameters
    ----------
    field : callable
        ``field(x)`` takes a place in the world, a list of three scalars, and returns the acceleration there.
    potential : callable, optional
        ``potential(x)``: energy per mass there, for the energy balance.

    Examples
    --------
    ``GravityField.central(3.986e14)`` is the Earth's field for satellites, which are built with ``gravity=(0, 0, 0)``.
    """

    field: Callable[[list[Scalar]], Sequence[Scalar]]
    potential: Callable[[list[Scalar]], Scalar] | None = None

    def __post_init__(self) -> None:
        if not callable(self.field):
            raise OptionError(f"a field is a function field(x), not {self.field!r}")

    @classmethod
    def central(cls, mu: float, center: Sequence[float] = (0.0, 0.0, 0.0), **options: Any) -> GravityField:
        """Return the field of a ball or a point: mu / r^2 toward its center (mu is G times its mass)."""
        if np.shape(center) != (3,):
            raise ShapeError(f"center is a place in the world, three numbers, not {shown(center)}")
        _, place = frame_and_point(("base", center))
        if not isinstance(mu, (int, float, np.number)) or not np.isfinite(mu):
            raise OptionError(f"mu is a finite number in m^3/s^2, G times the mass of what pulls, not {shown(mu)}")
        middle = Vec3.of(place)

        def away(x: Sequence[Scalar]) -> tuple[Vec3, Scalar]:
            r = Vec3.of(x) - middle
            return r, sqrt(r.dot(r))

        def pull(x: Sequence[Scalar]) -> list[Scalar]:
            r, length = away(x)
            return list(r * (-mu / (length * length * length)))

        return cls(pull, lambda x: -mu / away(x)[1], **options)

    def _masses(self, on: Surroundings) -> list[tuple[Scalar, MovingPoint]]:
        found = []
        for i, link in enumerate(on.tree.links):
            mass = link.inertia.mass
            if isinstance(mass, (int, float)) and mass == 0.0:
                continue
            arm = link.inertia.first * (1.0 / mass)
            pose, moving = on.posed[i].pose, on.moving[i].velocity
            velocity = pose.rotate(moving.linear + moving.angular.cross(arm))
            found.append((mass, MovingPoint(i, arm, pose.point(arm), velocity, pose, pose.rotate(moving.angular))))
        return found

    def act(self, on: Surroundings) -> None:
        """Pull on every body."""
        for mass, at in self._masses(on):
            pull = listed(self.field(list(at.position)), self.label)
            if len(pull) != 3:
                raise ShapeError(f"{self.label}: a field returns three accelerations along world axes, got {len(pull)}")
            on.push(at, Vec3.of(pull) * mass)

    def stored(self, on: Surroundings) -> Scalar:
        """Return the potential energy of all bodies."""
        if self.potential is None:
            return 0.0
        total: Scalar = 0.0
        for mass, at in self._masses(on):
            total = total + mass * self.potential(list(at.position))
        return total
