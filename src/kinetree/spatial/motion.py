"""Spatial motion and force vectors, angular part first, over any scalar.

The force vector follows the 2008 convention of most libraries (moment first); Featherstone (1987) puts
the linear part first, see the conventions page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .scalar import Scalar
from .vector import ZERO3, Vec3


class Motion:
    """Angular velocity (or its rate) and the linear velocity of the frame's origin."""

    __slots__ = ("angular", "linear")

    def __init__(self, angular: Vec3, linear: Vec3) -> None:
        self.angular, self.linear = angular, linear

    @classmethod
    def of(cls, six: Sequence[Scalar]) -> Motion:
        """Make a motion vector from six scalars, angular part first."""
        return cls(Vec3.of(six[:3]), Vec3.of(six[3:]))

    def __iter__(self) -> Iterator[Scalar]:
        yield from self.angular
        yield from self.linear

    def __add__(self, other: Motion) -> Motion:
        return Motion(self.angular + other.angular, self.linear + other.linear)

    def __sub__(self, other: Motion) -> Motion:
        return Motion(self.angular - other.angular, self.linear - other.linear)

    def __neg__(self) -> Motion:
        return Motion(-self.angular, -self.linear)

    def __mul__(self, factor: Scalar) -> Motion:
        return Motion(self.angular * factor, self.linear * factor)

    __rmul__ = __mul__

    def cross(self, other: Motion) -> Motion:
        """Return the rate of change of a motion vector carried along by this velocity (Featherstone eq. 2.24)."""
        return Motion(
            self.angular.cross(other.angular), self.linear.cross(other.angular) + self.angular.cross(other.linear)
        )

    def cross_force(self, force: Force) -> Force:
        """Return the rate of change of a force vector carried along by this velocity."""
        return Force(self.angular.cross(force.moment) + self.linear.cross(force.force), self.angular.cross(force.force))

    def dot(self, force: Force) -> Scalar:
        """Return the power of a force along this velocity (Featherstone eq. 3.17)."""
        return self.angular.dot(force.moment) + self.linear.dot(force.force)

    def __repr__(self) -> str:
        return f"Motion({self.angular!r}, {self.linear!r})"


class Force:
    """Moment about the frame's origin and force."""

    __slots__ = ("force", "moment")

    def __init__(self, moment: Vec3, force: Vec3) -> None:
        self.moment, self.force = moment, force

    @classmethod
    def of(cls, six: Sequence[Scalar]) -> Force:
        """Make a force vector from six scalars, moment first."""
        return cls(Vec3.of(six[:3]), Vec3.of(six[3:]))

    def __iter__(self) -> Iterator[Scalar]:
        yield from self.moment
        yield from self.force

    def __add__(self, other: Force) -> Force:
        return Force(self.moment + other.moment, self.force + other.force)

    def __sub__(self, other: Force) -> Force:
        return Force(self.moment - other.moment, self.force - other.force)

    def __neg__(self) -> Force:
        return Force(-self.moment, -self.force)

    def __mul__(self, factor: Scalar) -> Force:
        return Force(self.moment * factor, self.force * factor)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"Force({self.moment!r}, {self.force!r})"


ZERO_MOTION = Motion(ZERO3, ZERO3)
ZERO_FORCE = Force(ZERO3, ZERO3)


def combine(columns: Iterable[Motion], coefficients: Iterable[Scalar]) -> Motion:
    """Return the motion ``S x`` for the columns of a motion subspace ``S``."""
    total = ZERO_MOTION
    for column, x in zip(columns, coefficients, strict=True):
        total = total + column * x
    return total


def combine_forces(columns: Iterable[Force], coefficients: Iterable[Scalar]) -> Force:
    """Return the force ``U x`` for columns of forces ``U``."""
    total = ZERO_FORCE
    for column, x in zip(columns, coefficients, strict=True):
        total = total + column * x
    return total
