"""Mass, center of mass and inertia of one body, in any frame and as ten parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, UnsupportedError
from ..io.units import in_si
from ..spatial import RigidInertia, Scalar, Symmetric3, Vec3
from .pose import Pose, floats

Triple = tuple[float, float, float]
Six = tuple[float, float, float, float, float, float]


def _six(matrix: np.ndarray) -> Six:
    m = matrix
    return (float(m[0, 0]), float(m[1, 1]), float(m[2, 2]), float(m[0, 1]), float(m[0, 2]), float(m[1, 2]))


def inertia_matrix(inertia: ArrayLike, where: str = "inertia") -> np.ndarray:
    """Convert 3, 6 or 3x3 numbers to a symmetric 3x3 matrix.

    inertia: ``(Ixx, Iyy, Izz)``, ``(Ixx, Iyy, Izz, Ixy, Ixz, Iyz)`` or a symmetric 3x3 matrix.
    where: Name of the inertia in error messages.
    """
    m = floats(inertia, where)
    if m.shape == (3,):
        return np.diag(m)
    if m.shape == (6,):
        xx, yy, zz, xy, xz, yz = m
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if m.shape == (3, 3):
        rounding = 1e-12 * np.max(np.abs(m))
        with np.errstate(invalid="ignore"):  # infinite entries are refused later
            uneven = np.abs(m - m.T) > rounding
        if np.any(uneven):
            raise ModelError(f"{where} is not symmetric: {m.tolist()}")
        return 0.5 * m + 0.5 * m.T
    raise ModelError(
        f"{where} must be (Ixx, Iyy, Izz), (Ixx, Iyy, Izz, Ixy, Ixz, Iyz) or a 3x3 matrix, not shape {m.shape}"
    )


@dataclass(frozen=True)
class MassProperties:
    """Inertial parameters of a rigid body.

    Attributes
    ----------
    mass : float
        In kilograms; exactly zero is allowed (a massless link).
    com : tuple of 3 floats
        Center of mass in body coordinates.
    inertia : tuple of 6 floats
        ``(Ixx, Iyy, Izz, Ixy, Ixz, Iyz)`` about the center of mass, along the body axes.

    Examples
    --------
    >>> MassProperties.rod(mass=2.0, start=(0, 0, 0), end=(1.0, 0, 0)).com
    (0.5, 0.0, 0.0)
    """

    mass: float = 0.0
    com: Triple = (0.0, 0.0, 0.0)
    inertia: Six = field(default=(0.0,) * 6)

    def __post_init__(self) -> None:
        for name, count in (("com", 3), ("inertia", 6)):
            value = getattr(self, name)
            if not isinstance(value, tuple) or len(value) != count:  # arrays, lists, and what MassProperties.of takes
                object.__setattr__(self, name, getattr(MassProperties.of(**{name: value}), name))

    @classmethod
    def of(
        cls, mass: float = 0.0, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike = (0.0, 0.0, 0.0), *,
        about: str = "com", axes: Pose | None = None,
    ) -> MassProperties:  # fmt: skip
        """Build from the numbers of a data sheet.

        Parameters
        ----------
        mass : float
            Mass in kg, or with a unit: ``"200 g"``.
        com : array_like
            Center of mass in body coordinates.
        inertia : array_like
            3, 6 or 3x3 numbers, see :func:`inertia_matrix`.
        about : {"com", "origin"}
            The point about which the inertia is given.
        axes : Pose, optional
            The axes along which the inertia is given, if not the body's own.
        """
        if not isinstance(about, str) or about not in ("com", "origin"):
            raise ModelError(f"about must be 'com' or 'origin', not {about!r}")
        total = floats(in_si(mass, "kg", "mass"), "mass")
        if total.ndim:
            raise ModelError(f"mass must be one number, not shape {total.shape}")
        c = floats(in_si(com, "m", "center of mass"), "center of mass")
        if c.shape != (3,):
            raise ModelError(f"center of mass must have 3 components, not shape {c.shape}")
        m = inertia_matrix(inertia)
        with np.errstate(all="ignore"):  # overflow is reported by problems()
            if axes is not None:
                m = axes.rotation @ m @ axes.rotation.T
                m = 0.5 * m + 0.5 * m.T
            if about == "origin":
                m = m - float(total) * (c @ c * np.eye(3) - np.outer(c, c))
        return cls(float(total), (float(c[0]), float(c[1]), float(c[2])), _six(m))

    @classmethod
    def from_parameters(cls, ten: ArrayLike) -> MassProperties:
        """Make one from ``(m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz)``, h = m c, I about the origin.

        The order is Pinocchio's, so parameter vectors can be exchanged.
        """
        p = floats(ten, "inertial parameters")
        if p.shape != (10,):
            raise ModelError(f"ten inertial parameters expected, got shape {p.shape}")
        m, h = p[0], p[1:4]
        second = np.array([[p[4], p[5], p[7]], [p[5], p[6], p[8]], [p[7], p[8], p[9]]])
        if m == 0.0:
            if np.any(h != 0.0):
                raise ModelError("a body of zero mass cannot have a first moment")
            return cls.of(0.0, (0, 0, 0), second)
        return cls.of(m, h / m, second, about="origin")

    @classmethod
    def rod(cls, mass: float, start: ArrayLike, end: ArrayLike) -> MassProperties:
        """Return a slender uniform rod between two points."""
        m, (a, b) = (
            _size(mass, "mass"),
            (_point(x, f"{which} of the rod") for x, which in ((start, "start"), (end, "end"))),
        )
        d = b - a
        return cls.of(m, (a + b) / 2, m / 12 * (d @ d * np.eye(3) - np.outer(d, d)))

    @classmethod
    def box(cls, mass: float, size: Sequence[float], center: ArrayLike = (0, 0, 0)) -> MassProperties:
        """Return a uniform box with edges along the body axes."""
        m, what = _size(mass, "mass"), "size of the box along x, y and z"
        x, y, z = (_size(s, what) ** 2 for s in _point(size, what))
        return cls.of(m, center, m / 12 * np.array([y + z, x + z, x + y]))

    @classmethod
    def sphere(cls, mass: float, radius: float, center: ArrayLike = (0, 0, 0)) -> MassProperties:
        """Return a uniform solid sphere."""
        m, r = _size(mass, "mass"), _size(radius, "radius of the sphere")
        return cls.of(m, center, np.full(3, 0.4 * m * r**2))

    @classmethod
    def cylinder(cls, mass: float, radius: float, length: float, center: ArrayLike = (0, 0, 0)) -> MassProperties:
        """Return a uniform solid cylinder along the body's z axis."""
        m, r, h = (_size(x, what) for x, what in ((mass, "mass"), (radius, "radius of the cylinder"),
                                                  (length, "length of the cylinder")))  # fmt: skip
        side = m * (3 * r**2 + h**2) / 12
        return cls.of(m, center, (side, side, m * r**2 / 2))

    @property
    def inertia_matrix(self) -> np.ndarray:
        """Inertia about the center of mass, (3, 3)."""
        return inertia_matrix(self.inertia)

    @property
    def inertia_about_origin(self) -> np.ndarray:
        """3x3 inertia about the body's origin (Shah section 5.1.1)."""
        c = np.array(self.com)
        return self.inertia_matrix + self.mass * (c @ c * np.eye(3) - np.outer(c, c))

    @property
    def parameters(self) -> np.ndarray:
        """Ten parameters, (10,), the inverse of :meth:`from_parameters`."""
        i = self.inertia_about_origin
        h = self.mass * np.array(self.com)
        return np.array([self.mass, *h, i[0, 0], i[0, 1], i[1, 1], i[0, 2], i[1, 2], i[2, 2]])

    @property
    def is_massless(self) -> bool:
        """Whether mass and inertia are exactly zero."""
        return self.mass == 0.0 and not any(self.inertia)

    @property
    def is_finite(self) -> bool:
        """Whether all ten numbers are finite."""
        return bool(np.all(np.isfinite([self.mass, *self.com, *self.inertia])))

    def moved(self, pose: Pose) -> MassProperties:
        """Return the same body described in a frame in which the current frame has the given pose."""
        if pose.is_identity:
            return self
        r = pose.rotation
        with np.errstate(all="ignore"):
            m = r @ self.inertia_matrix @ r.T
            return MassProperties.of(self.mass, r @ np.array(self.com) + pose.position, 0.5 * m + 0.5 * m.T)

    def __add__(self, other: MassProperties) -> MassProperties:
        """Return two bodies welded together, both described in the same frame."""
        if other.is_massless:
            return self
        if self.is_massless:
            return other
        mass = self.mass + other.mass
        if mass == 0.0:
            return MassProperties.of(0.0, (0, 0, 0), self.inertia_matrix + other.inertia_matrix)
        with np.errstate(all="ignore"):
            com = (self.mass * np.array(self.com) + other.mass * np.array(other.com)) / mass
            total = np.zeros((3, 3))
            for part in (self, other):
                d = np.array(part.com) - com
                total += part.inertia_matrix + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
        return MassProperties.of(mass, com, total)

    def problems(self) -> list[str]:
        """Return what is physically wrong with these numbers; an empty list if nothing is."""
        if not self.is_finite:
            return ["mass properties must be finite numbers"]
        if self.mass < 0.0:
            return [f"mass is negative ({self.mass:g})"]
        moments = np.linalg.eigvalsh(self.inertia_matrix)
        # Errors due to rounding are not a problem: rounding of the numbers themselves, and of shifting them from a
        # distant origin to the center of mass, where nearly all of a point mass's inertia cancels.
        with np.errstate(over="ignore"):
            lever = self.mass * float(np.dot(self.com, self.com))
        slack = 1e-9 * max(abs(moments[0]), abs(moments[2])) + 1e-13 * lever
        if moments[0] < -slack:
            return [f"inertia is not positive semi-definite (principal moments {_show(moments)})"]
        if moments[2] > moments[0] + moments[1] + slack:
            hint = (
                f"; a body that turns about one axis only may have {moments[2]:g} about all"
                if moments[1] <= slack
                else ""
            )
            return [
                f"principal moments of inertia {_show(moments)} break the triangle inequality "
                f"(the largest exceeds the sum of the others){hint}"
            ]
        if self.mass == 0.0 and moments[2] > slack:
            return [f"zero mass with a non-zero inertia (principal moments {_show(moments)})"]
        return []

    def require_writable(self, body: str) -> None:
        """Refuse mass properties that files cannot express."""

    def halved(self) -> MassProperties:
        """Return half of the mass, at the same place, with half of the inertia."""
        return MassProperties.of(self.mass / 2, self.com, self.inertia_matrix / 2)

    def spatial(self) -> RigidInertia:
        """Return the inertia as the algorithms use it."""
        p = [float(x) for x in self.parameters]
        return RigidInertia(p[0], Vec3.of(p[1:4]), Symmetric3(p[4], p[5], p[7], p[6], p[8], p[9]))


@dataclass(frozen=True)
class GroupedMass(MassProperties):
    """Ten parameters that need not be those of a real body.

    Grouping parameters that act only together (Khalil section 10.2.4) results in bodies with a first moment but no
    mass, or with an impossible inertia. So the ten numbers are kept as given, and there is a center of mass only if
    there is mass.
    """

    ten: tuple[float, ...] = (0.0,) * 10
    """As in :meth:`MassProperties.from_parameters`."""

    @classmethod
    def from_parameters(cls, ten: ArrayLike) -> MassProperties:
        """Return ordinary mass properties if these ten numbers allow it, and grouped ones otherwise."""
        p = floats(ten, "inertial parameters")
        if p[0] > 0.0 or not np.any(p[:4]):
            ordinary = MassProperties.from_parameters(p)
            if not ordinary.problems():
                return ordinary
        return cls._of_ten(p)

    @classmethod
    def exactly(cls, inertia: RigidInertia) -> GroupedMass:
        """Return mass properties that reproduce this inertia to the last bit."""
        return cls._of_ten(np.array(_ten(inertia), dtype=float))

    @classmethod
    def _of_ten(cls, p: np.ndarray) -> GroupedMass:
        mass = float(p[0])
        second = np.array([[p[4], p[5], p[7]], [p[5], p[6], p[8]], [p[7], p[8], p[9]]])
        with np.errstate(over="ignore", invalid="ignore"):  # callers that need finite numbers check for them
            com = p[1:4] / mass if mass else np.zeros(3)
            about_com = second - mass * (com @ com * np.eye(3) - np.outer(com, com))
        return cls(mass, (float(com[0]), float(com[1]), float(com[2])), _six(about_com), tuple(float(x) for x in p))

    @property
    def inertia_about_origin(self) -> np.ndarray:
        """3x3 inertia about the body's origin."""
        _, _, _, _, xx, xy, yy, xz, yz, zz = self.ten
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    @property
    def parameters(self) -> np.ndarray:
        """The ten numbers, as they were given."""
        return np.array(self.ten)

    @property
    def is_massless(self) -> bool:
        """Whether all ten numbers are exactly zero."""
        return not any(self.ten)

    def moved(self, pose: Pose) -> MassProperties:
        """Return the same parameters in a frame in which the current frame has the given pose."""
        return self if pose.is_identity else _grouped(pose.spatial().rigid_to_parent(self.spatial()))

    def __add__(self, other: MassProperties) -> MassProperties:
        """Return the sum, as of two bodies welded together."""
        return GroupedMass.from_parameters(self.parameters + other.parameters)

    __radd__ = __add__

    def problems(self) -> list[str]:
        """Return what is physically wrong with these numbers."""
        if self.is_finite and self.mass == 0.0 and any(self.ten[1:4]):
            return [f"a first moment {_show(np.array(self.ten[1:4]))} without mass"]
        return super().problems()

    def halved(self) -> MassProperties:
        """Return half of all ten numbers."""
        return GroupedMass.from_parameters(self.parameters / 2)

    def require_writable(self, body: str) -> None:
        """Refuse to be written as mass, center and inertia of a real body."""
        raise UnsupportedError(
            f"body {body!r} has grouped parameters, not mass, center and inertia of a real body; robot files cannot "
            "express that: keep robot.parameters().values, and give them to with_parameters(..., physical=False)"
        )


def _grouped(inertia: RigidInertia) -> MassProperties:
    return GroupedMass.from_parameters(_ten(inertia))


def _ten(inertia: RigidInertia) -> list[Scalar]:
    second = inertia.second
    return [inertia.mass, *inertia.first, second.xx, second.xy, second.yy, second.xz, second.yz, second.zz]


def require_mass_properties(given: Any, what: str, advice: str = "") -> None:
    """Refuse anything but mass properties, such as a number."""
    if not isinstance(given, MassProperties):
        raise ModelError(
            f"{what} must be kinetree.MassProperties, such as MassProperties.sphere(2.0, 0.05), not {given!r}{advice}"
        )


def _size(value: float, what: str) -> float:
    """Return one finite number that is not negative."""
    number = floats(in_si(value, "kg" if what == "mass" else "m", what), what)
    if number.ndim:
        raise ModelError(f"{what} must be one number, not shape {number.shape}")
    if not 0.0 <= number < math.inf:
        raise ModelError(f"{what} must be finite and not negative; got {value!r}")
    return float(number)


def _point(value: ArrayLike, what: str) -> np.ndarray:
    numbers = floats(in_si(value, "m", what), what)
    if numbers.shape != (3,):
        raise ModelError(f"{what} must be three numbers, got {value!r}")
    return numbers


def _show(moments: np.ndarray) -> str:
    return "(" + ", ".join(f"{m:.4g}" for m in moments) + ")"
