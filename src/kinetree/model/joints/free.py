"""Six degrees of freedom with a quaternion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...spatial import BASIS, ZERO3, MatrixRotation, Motion, Scalar, Transform, Vec3
from ...spatial.exponential import displacement_exp, displacement_log, quaternion_log, quaternion_product
from .constraints import Constraint
from .kind import Coordinates, JointKind, random_bounds
from .spherical import conjugate, quaternion_rate, random_quaternions, spring_moment


@dataclass(frozen=True)
class Free(JointKind):
    """A floating base: q = (quaternion x y z w, position), v = spatial velocity in body coordinates."""

    name = "free"
    coordinate_units = ("1", "1", "1", "1", "m", "m", "m")

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return 7

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return 6

    def transform(self, q: Coordinates) -> Transform:
        """Return the pose of the child frame in the joint's fixed frame."""
        return Transform((MatrixRotation.from_quaternion(*q[:4]),), Vec3(*q[4:]))

    def subspace(self, q: Coordinates) -> tuple[Motion, ...]:
        """Return the columns of the motion subspace: the identity."""
        return tuple(Motion(e, ZERO3) for e in BASIS) + tuple(Motion(ZERO3, e) for e in BASIS)

    def neutral(self) -> tuple[float, ...]:
        """Return the pose at the origin, without rotation."""
        return (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)

    def rate(self, q: Coordinates, v: Coordinates) -> list[Scalar]:
        """Return the time derivative of quaternion and position."""
        velocity = MatrixRotation.from_quaternion(*q[:4]).apply(Vec3(*v[3:]))
        return [*quaternion_rate(q[:4], v[:3]), *velocity]

    def integrate(self, q: Coordinates, v: Coordinates) -> list[Scalar]:
        """Return the configuration after moving along a screw for unit time."""
        turn, shift = displacement_exp(Vec3(*v[:3]), Vec3(*v[3:]))
        moved = Vec3(*q[4:]) + MatrixRotation.from_quaternion(*q[:4]).apply(shift)
        return [*quaternion_product((q[0], q[1], q[2], q[3]), turn), *moved]

    def difference(self, q0: Coordinates, q1: Coordinates) -> list[Scalar]:
        """Return the screw from ``q0`` to ``q1``."""
        turn = quaternion_product(conjugate(q0), (q1[0], q1[1], q1[2], q1[3]))
        shift = MatrixRotation.from_quaternion(*q0[:4]).unapply(Vec3(*q1[4:]) - Vec3(*q0[4:]))
        angular, linear = displacement_log(turn, shift)
        return [*angular, *linear]

    def spring_force(self, rest: Coordinates, q: Coordinates, stiffness: Coordinates) -> list[Scalar]:
        """Return the moment and force that hold a spring, in body coordinates."""
        stretch = self.spring_stretch(rest, q)
        pull = Vec3(*(k * d for k, d in zip(stiffness[3:], stretch[3:], strict=True)))
        moment = spring_moment(Vec3(*stretch[:3]), stiffness[:3])
        return [*moment, *MatrixRotation.from_quaternion(*q[:4]).unapply(pull)]

    def spring_stretch(self, rest: Coordinates, q: Coordinates) -> list[Scalar]:
        """Return the rotation vector from ``rest``, and the distances along the axes of the fixed frame."""
        turn = quaternion_log(quaternion_product(conjugate(rest), (q[0], q[1], q[2], q[3])))
        return [*turn, *(b - a for a, b in zip(rest[4:], q[4:], strict=True))]

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], shape: tuple[int, ...]
    ) -> np.ndarray:
        """Return uniformly distributed rotations, and positions within limits or one meter."""
        low, high = random_bounds(self.q_units[4:], lower[4:], upper[4:])
        position = rng.uniform(low, high, size=(*shape, 3))
        return np.concatenate([random_quaternions(rng, shape), position], axis=-1)

    @property
    def quaternion(self) -> slice:
        """The place of the unit quaternion in ``q``."""
        return slice(0, 4)

    @property
    def v_units(self) -> tuple[str, ...]:
        """Units of a spatial velocity, angular part first."""
        return "rad", "rad", "rad", "m", "m", "m"

    @property
    def q_labels(self) -> tuple[str, ...]:
        """The components of the quaternion, then of the position."""
        return ".qx", ".qy", ".qz", ".qw", ".x", ".y", ".z"

    @property
    def v_labels(self) -> tuple[str, ...]:
        """The components of the angular velocity, then of the linear velocity."""
        return ".wx", ".wy", ".wz", ".vx", ".vy", ".vz"

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return no constraints."""
        return []
