"""A ball joint with a quaternion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...spatial import BASIS, ZERO3, MatrixRotation, Motion, RigidInertia, Scalar, Transform, Vec3
from ...spatial.exponential import Quaternion, log_slope_transposed, quaternion_exp, quaternion_log, quaternion_product
from .constraints import Constraint, hold_point
from .kind import POINT_MASS, Coordinates, JointKind


def quaternion_rate(q: Coordinates, w: Coordinates) -> list[Scalar]:
    """Return the derivative of a quaternion x, y, z, w under body angular velocity ``w`` (Featherstone eq. 8.1)."""
    x, y, z, s = q
    a, b, c = w
    return [
        0.5 * (s * a - z * b + y * c),
        0.5 * (z * a + s * b - x * c),
        0.5 * (x * b - y * a + s * c),
        -0.5 * (x * a + y * b + z * c),
    ]


def conjugate(q: Coordinates) -> Quaternion:
    """Return the inverse rotation of a unit quaternion."""
    return -q[0], -q[1], -q[2], q[3]


def random_quaternions(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return uniformly distributed rotations."""
    q = rng.standard_normal((*shape, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def spring_moment(turn: Vec3, stiffness: Coordinates) -> Vec3:
    """Return the slope, along body angular velocity, of half the sum of ``stiffness`` times the squares of ``turn``.

    With equal stiffnesses, as in MuJoCo's springs, it is along the rotation vector itself.
    """
    pull = Vec3(*(k * d for k, d in zip(stiffness, turn, strict=True)))
    first, *others = stiffness
    if all(k is first or (isinstance(k, float) and isinstance(first, float) and k == first) for k in others):
        return pull
    return log_slope_transposed(turn, pull)


@dataclass(frozen=True)
class Spherical(JointKind):
    """A ball joint: q = unit quaternion (x, y, z, w), v = angular velocity in child coordinates."""

    name = "spherical"
    coordinate_units = ("1", "1", "1", "1")

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return 4

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return 3

    def transform(self, q: Coordinates) -> Transform:
        """Return the pose of the child frame in the joint's fixed frame."""
        return Transform((MatrixRotation.from_quaternion(*q),))

    def subspace(self, q: Coordinates) -> tuple[Motion, ...]:
        """Return the columns of the motion subspace."""
        return tuple(Motion(e, ZERO3) for e in BASIS)

    def neutral(self) -> tuple[float, ...]:
        """Return the quaternion of no rotation."""
        return (0.0, 0.0, 0.0, 1.0)

    def rate(self, q: Coordinates, v: Coordinates) -> list[Scalar]:
        """Return the time derivative of the quaternion."""
        return quaternion_rate(q, v)

    def integrate(self, q: Coordinates, v: Coordinates) -> list[Scalar]:
        """Return the rotation followed by that of the vector ``v``, given in child coordinates."""
        return list(quaternion_product((q[0], q[1], q[2], q[3]), quaternion_exp(Vec3(*v))))

    def difference(self, q0: Coordinates, q1: Coordinates) -> list[Scalar]:
        """Return the shortest rotation vector from ``q0`` to ``q1``."""
        return list(quaternion_log(quaternion_product(conjugate(q0), (q1[0], q1[1], q1[2], q1[3]))))

    def spring_force(self, rest: Coordinates, q: Coordinates, stiffness: Coordinates) -> list[Scalar]:
        """Return the moment that holds a spring whose energy grows with the square of the angle from ``rest``."""
        return list(spring_moment(Vec3(*self.difference(rest, q)), stiffness))

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], shape: tuple[int, ...]
    ) -> np.ndarray:
        """Return uniformly distributed rotations."""
        return random_quaternions(rng, shape)

    @property
    def quaternion(self) -> slice:
        """The place of the unit quaternion in ``q``."""
        return slice(0, 4)

    @property
    def q_labels(self) -> tuple[str, ...]:
        """The components of the quaternion."""
        return ".qx", ".qy", ".qz", ".qw"

    @property
    def v_units(self) -> tuple[str, ...]:
        """Units of an angular velocity."""
        return "rad", "rad", "rad"

    @property
    def v_labels(self) -> tuple[str, ...]:
        """The components of the angular velocity."""
        return ".wx", ".wy", ".wz"

    def cannot_tell(self) -> tuple[RigidInertia, ...]:
        """Return the mass at the center."""
        return (POINT_MASS,)

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the constraints of a shared point."""
        return hold_point(x)
