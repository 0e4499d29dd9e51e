"""The interface of all kinds of joints. To add a joint, add a file to this folder.

Coordinates ``q`` and velocities ``v`` are sequences of scalars of any type.  The motion
subspace is expressed in the child frame: ``v_child = X v_parent + sum_k S_k v_k``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...errors import ModelError, UnsupportedError
from ...spatial import BASIS, Force, Motion, RigidInertia, Scalar, Symmetric3, Transform, Vec3
from .constraints import Constraint

Coordinates = Sequence[Scalar]

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}

KINDS: dict[str, type[JointKind]] = {}


def unit_axis(axis: Any, what: str = "axis") -> tuple[float, float, float]:
    """Return a unit vector from ``"x"``, ``"-y"``, ... or three numbers, which are normalized."""
    if isinstance(axis, str):
        name = axis.lower()
        sign = -1.0 if name.startswith("-") else 1.0
        if name.lstrip("+-") not in AXES:
            raise ModelError(f"{what} must be x, y, z, -x, -y, -z or three numbers, not {axis!r}")
        x, y, z = AXES[name.lstrip("+-")]
        return (sign * x + 0.0, sign * y + 0.0, sign * z + 0.0)
    try:
        v = np.asarray(axis, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} must be three numbers, not {axis!r}") from None
    if v.shape != (3,) or not np.all(np.isfinite(v)):
        raise ModelError(f"{what} must be three finite numbers, not {axis!r}")
    norm = math.hypot(*v)  # scaled, so that it neither overflows nor vanishes for extreme components
    if norm == 0.0:
        raise ModelError(f"{what} has zero length: a joint needs a direction")
    if not math.isfinite(norm):
        raise ModelError(f"{what} is too long to be normalized: {axis!r}")
    if abs(norm - 1.0) < 1e-15:  # normalized again, so that an axis that is read back does not change
        return (float(v[0]), float(v[1]), float(v[2]))
    return (float(v[0]) / norm, float(v[1]) / norm, float(v[2]) / norm)


UNLIMITED = 1e5
"""Limits beyond this (rad, m) count as no limit; up to it, sine and cosine are accurate to the last bit."""


def random_bounds(
    units: Sequence[str], lower: Sequence[float], upper: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return finite bounds for random numbers: the limits or, if one is missing, one turn or two meters from the other.

    A limit beyond :data:`UNLIMITED` counts as missing.
    """
    default = np.array([np.pi if u == "rad" else 1.0 for u in units])
    above, below = np.asarray(lower) >= -UNLIMITED, np.asarray(upper) <= UNLIMITED
    low = np.where(above, lower, np.where(below, np.array(upper) - 2 * default, -default))
    high = np.where(below, upper, np.where(above, low + 2 * default, default))
    return low, high


def numbered(count: int) -> tuple[str, ...]:
    """Return numbers as labels of several entries; a single entry has an empty label."""
    return ("",) if count == 1 else tuple(f"[{k}]" for k in range(count))


POINT_MASS = RigidInertia(mass=1.0)
"""A mass of one kilogram at the origin."""

TENSORS = (
    *(RigidInertia(second=Symmetric3.across(e)) for e in BASIS),
    *(RigidInertia(second=Symmetric3(*row)) for row in np.eye(6)[[1, 2, 4]].tolist()),
)
"""A basis of the inertias without mass and first moment; each is one second moment of mass."""


class JointKind:
    """A kind of joint: the motions that it allows. Subclasses are frozen dataclasses of plain parameters."""

    name: ClassVar[str] = ""
    """The name of this kind in files."""

    coordinate_units: ClassVar[tuple[str, ...]] = ()
    """``rad``, ``m`` or ``1`` for each coordinate, if that does not depend on the instance."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.name:
            KINDS[cls.name] = cls

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.nv

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        raise NotImplementedError

    @property
    def usually_driven(self) -> bool:
        """Whether a joint has a motor by default; a free joint has nothing to push against."""
        return self.nv < 6

    def transform(self, q: Coordinates) -> Transform:
        """Return the pose of the child frame in the joint's fixed frame."""
        raise NotImplementedError

    def subspace(self, q: Coordinates) -> tuple[Motion, ...]:
        """Return the columns ``S_k``: child velocity per unit of each ``v_k``, in child coordinates."""
        raise NotImplementedError

    def subspace_rate(self, q: Coordinates, v: Coordinates) -> tuple[Motion, ...] | None:
        """Return the columns of the apparent derivative of ``S`` in the child frame; None if S is constant."""
        return None

    @property
    def q_units(self) -> tuple[str, ...]:
        """Unit of each entry of ``q``: ``rad``, ``m``, or ``1`` for those of a quaternion."""
        return self.coordinate_units

    @property
    def v_units(self) -> tuple[str, ...]:
        """Unit of each entry of ``v`` times a second: ``rad`` or ``m``; for most joints ``v`` is the rate of ``q``."""
        return self.q_units

    @property
    def q_labels(self) -> tuple[str, ...]:
        """Suffixes of the joint's name in the names of the entries of ``q``: numbers if there are several entries."""
        return numbered(self.nq)

    @property
    def v_labels(self) -> tuple[str, ...]:
        """The same for ``v``; joints with a quaternion use words, since their entries of ``q`` and ``v`` differ."""
        return numbered(self.nv)

    # Configurations. For most joints they form a vector space; quaternion joints override these.

    def neutral(self) -> tuple[float, ...]:
        """Return the configuration in which child frame and fixed frame coincide."""
        return (0.0,) * self.nq

    def rate(self, q: Coordinates, v: Coordinates) -> list[Scalar]:
        """Return the time derivative of ``q`` when moving with ``v``."""
        return list(v)

    def integrate(self, q: Coordinates, v: Coordinates) -> list[Scalar]:
        """Return the configuration after unit time with constant ``v``."""
        return [a + b for a, b in zip(q, v, strict=True)]

    def difference(self, q0: Coordinates, q1: Coordinates) -> list[Scalar]:
        """Return the ``v`` that takes ``q0`` to ``q1`` in unit time."""
        return [b - a for a, b in zip(q0, q1, strict=True)]

    def spring_force(self, rest: Coordinates, q: Coordinates, stiffness: Coordinates) -> list[Scalar]:
        """Return the force that holds a spring with this rest position: the slope of its energy along each ``v_k``."""
        return [k * d for k, d in zip(stiffness, self.spring_stretch(rest, q), strict=True)]

    def spring_stretch(self, rest: Coordinates, q: Coordinates) -> list[Scalar]:
        """Return the stretch of a spring per freedom; its energy is half the stiffness times the square of that."""
        return self.difference(rest, q)

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], shape: tuple[int, ...]
    ) -> np.ndarray:
        """Return random configurations within limits, (*batch, nq), or within +-pi or +-1 m if there are no limits."""
        low, high = random_bounds(self.q_units, lower, upper)
        return rng.uniform(low, high, size=(*shape, self.nq))

    @property
    def quaternion(self) -> slice | None:
        """The place of a unit quaternion in ``q``, if there is one."""
        return None

    def singularity(self, q: Coordinates) -> Scalar | None:
        """Return how far the coordinates are from a singularity: 0 at it, 1 at best; None if there is none."""
        return None

    def cannot_tell(self) -> tuple[RigidInertia, ...]:
        """Return inertias that could as well belong to the parent, at the fixed frame: no joint force would change.

        Relative to the parent, these inertias do not change with ``q``, and they have no momentum for any ``v``: ``I S
        = 0`` (Khalil section 10.2.4).
        """
        return ()

    # Closing loops

    only_closes: ClassVar[bool] = False
    """Whether the joint has no coordinates, so that it can close a loop but not carry a body."""

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the 6 - nv constraints of the joint when it closes a loop and its moving frame has the pose ``x``."""
        raise UnsupportedError(f"a {self.name} joint cannot close a loop; cut the loop at another joint")

    def constraint_rates(self, x: Transform, twist: Motion) -> list[Force] | None:
        """Return apparent derivatives of the constraint forces in the moving frame; None if they are constant there."""
        return None

    # Files

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that a file needs, besides the kind's name, to build this joint again."""
        if not dataclasses.is_dataclass(self):
            return {}
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}


class OnlyCloses(JointKind):
    """A joint without coordinates: it can close a loop, but not carry a body."""

    only_closes = True

    def transform(self, q: Coordinates) -> Transform:
        """Refuse: there are no coordinates."""
        raise UnsupportedError(f"a {self.name} joint can only close a loop: it cannot carry a body")

    def subspace(self, q: Coordinates) -> tuple[Motion, ...]:
        """Refuse: there are no coordinates."""
        raise UnsupportedError(f"a {self.name} joint can only close a loop: it cannot carry a body")


def vec(axis: Sequence[float]) -> Vec3:
    """Return a constant axis as a spatial vector."""
    return Vec3(*axis)
