"""Constant poses of frames on bodies, as plain numbers that are exact if the file is exact."""

from __future__ import annotations

import itertools
import math
import reprlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError
from ..io.units import in_si
from ..spatial import AxisRotation, Matrix3, MatrixRotation, Transform, Vec3
from ..spatial.numbers import shown

Nine = tuple[float, ...]
Angles = tuple[float, float, float]
_EYE: Nine = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)

NO_NUMBERS = "USMmc"
"""Kinds of arrays that are not converted to floats: text, dates, complex numbers."""

HALF_PI = math.pi / 2

QUARTERS = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))
"""Cosine and sine of quarter turns."""

MOST_QUARTERS = 100
"""Angles with more are not searched for quarter turns."""

UNIT_TOLERANCE = 1e-6
"""How far the length of a quaternion may differ from 1, in states and files."""


SYMBOLIC = ("sympy", "casadi", "jax", "jaxlib")
"""Libraries whose symbols are not numbers."""


def symbols_hint(value: object) -> str:
    """Return a hint for messages on how to use symbols of other libraries."""
    entries = value if isinstance(value, (list, tuple)) else [value]
    if not any(type(entry).__module__.partition(".")[0] in SYMBOLIC for entry in entries):
        return ""
    return "; symbols go into a robot of numbers, kinetree.symbolic.with_parameters(robot, ...)"


def floats(value: ArrayLike, what: str) -> np.ndarray:
    """Return an array of floats, or raise an error that names the argument; text is refused, even digits."""
    try:
        if np.asarray(value).dtype.kind in NO_NUMBERS:
            raise TypeError
        return np.asarray(value, dtype=float)
    except OverflowError:
        raise ModelError(f"{what} must be numbers within the range of floats; got {shown(value)}") from None
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be numbers, got {reprlib.repr(value)}{symbols_hint(value)}") from None


def cosine_and_sine(angle: float) -> tuple[float, float]:
    """Return cosine and sine of an angle in radians, exact for the doubles nearest to quarter turns.

    Nobody who writes pi/2 means the cosine of its rounding, 6e-17; 1.5708 and pi/2 to twelve digits are taken as they
    are.
    """
    if abs(angle) < MOST_QUARTERS * HALF_PI:
        quarters = round(angle / HALF_PI)
        if abs(angle - quarters * HALF_PI) <= 2.0 * math.ulp(angle):
            return QUARTERS[quarters % 4]
    return math.cos(angle), math.sin(angle)


def axis_matrix(axis: int, angle: float) -> np.ndarray:
    """Return the rotation matrix about a coordinate axis; quarter turns are exact."""
    c, s = cosine_and_sine(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    m = np.zeros((3, 3))
    m[axis, axis] = 1.0
    m[i, i] = m[j, j] = c
    m[i, j], m[j, i] = -s, s
    return m


def rpy_matrix(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Return the rotation matrix of URDF's fixed-axis angles: ``Rz(yaw) Ry(pitch) Rx(roll)``.

    Where the pitch is a quarter turn, roll and yaw turn about one axis; they are added first, so that the one angle
    that files then have gives the same numbers.
    """
    up, across = cosine_and_sine(pitch)
    if up == 0.0:
        roll, yaw = roll - across * yaw, 0.0
    return axis_matrix(2, yaw) @ axis_matrix(1, pitch) @ axis_matrix(0, roll)


def quaternion_matrix(q: ArrayLike) -> np.ndarray:
    """Return the rotation matrix of a unit quaternion x, y, z, w, whose length is corrected for rounding."""
    v = floats(q, "a quaternion")
    norm = float(np.linalg.norm(v)) if v.shape == (4,) else 0.0
    if norm == 0.0 or not math.isfinite(norm):
        raise ModelError(f"a quaternion needs four numbers x, y, z, w, not all zero; got {np.ravel(v).tolist()}")
    if abs(norm - 1.0) > UNIT_TOLERANCE:
        raise ModelError(
            f"the quaternion {v.tolist()} (x, y, z, w) has length {norm:.9g}, not 1; divide it by its length if "
            "that is intended"
        )
    x, y, z, w = (float(c) / norm for c in v)
    return np.array(MatrixRotation.from_quaternion(x, y, z, w).m.to_rows())


@dataclass(frozen=True)
class Pose:
    """Rotation (row by row) and position of a child frame in its parent.

    Parameters
    ----------
    nine : array_like, shape (9,) or (3, 3)
        The rotation matrix; kept as a tuple of nine numbers.
    translation : array_like, shape (3,)
    """

    nine: Nine = field(default=_EYE)
    translation: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if not isinstance(self.nine, tuple) or len(self.nine) != 9:
            m = floats(self.nine, "a rotation")
            if m.shape == (4, 4):
                raise ModelError("a rotation is 3x3; Pose.from_matrix takes a homogeneous 4x4 matrix")
            object.__setattr__(self, "nine", Pose.of(rotation=m.reshape(3, 3) if m.shape == (9,) else m).nine)
        if not isinstance(self.translation, tuple) or len(self.translation) != 3:
            object.__setattr__(self, "translation", Pose.of(self.translation).translation)

    @classmethod
    def of(
        cls, position: ArrayLike = (0.0, 0.0, 0.0), *, rpy: Sequence[float] | None = None,
        rotation: ArrayLike | None = None, quaternion: ArrayLike | None = None,
    ) -> Pose:  # fmt: skip
        """Build from a position and at most one of ``rpy``, ``rotation`` (3x3), ``quaternion`` (x, y, z, w).

        Positions and angles may have units: ``("120 mm", 0, 0)``, ``rpy=("90 deg", 0, 0)``.
        """
        p = floats(in_si(position, "m", "a position"), "a position")
        if p.shape != (3,) or not np.all(np.isfinite(p)):
            raise ModelError(f"a position needs three finite numbers, got {position!r}")
        if sum(x is not None for x in (rpy, rotation, quaternion)) > 1:
            raise ModelError("give only one of rpy, rotation and quaternion")
        if rpy is not None:
            angles = floats(in_si(rpy, "rad", "rpy"), "rpy")
            if angles.shape != (3,) or not np.all(np.isfinite(angles)):
                raise ModelError(f"rpy needs three finite angles, got {rpy!r}")
            m = rpy_matrix(*(float(a) for a in angles))
        elif quaternion is not None:
            m = quaternion_matrix(quaternion)
        elif rotation is not None:
            m = floats(rotation, "a rotation")
            fits = m.shape == (3, 3) and bool((np.abs(m) < 2.0).all())
            if not fits or not np.allclose(m @ m.T, np.eye(3), atol=1e-6) or np.linalg.det(m) < 0:
                raise ModelError(f"rotation must be an orthonormal, right-handed 3x3 matrix, got {m.tolist()}")
        else:
            return cls(_EYE, (float(p[0]), float(p[1]), float(p[2])))
        return cls(tuple(float(x) for x in m.ravel()), (float(p[0]), float(p[1]), float(p[2])))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Pose:
        """Make one from a homogeneous 4x4 matrix."""
        m = floats(matrix, "a homogeneous matrix")
        if m.shape != (4, 4):
            raise ModelError(f"a homogeneous matrix is 4x4, not {m.shape}")
        if not np.array_equal(m[3], (0.0, 0.0, 0.0, 1.0)):
            raise ModelError(f"the last row of a homogeneous matrix is 0, 0, 0, 1, not {m[3].tolist()}")
        return cls.of(m[:3, 3], rotation=m[:3, :3])

    @classmethod
    def like(cls, value: Any) -> Pose:
        """Make one from a Pose, a position, or a homogeneous matrix."""
        if isinstance(value, cls):
            return value
        try:
            array = np.asarray(in_si(value, "m", "a position"), dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"a pose is a Pose, three numbers or a 4x4 matrix, not {value!r}") from None
        return cls.of(array) if array.ndim == 1 else cls.from_matrix(array)

    @property
    def rotation(self) -> np.ndarray:
        """Rotation matrix, (3, 3)."""
        return np.array(self.nine).reshape(3, 3)

    @property
    def position(self) -> np.ndarray:
        """Position of the child's origin, (3,)."""
        return np.array(self.translation)

    @property
    def matrix(self) -> np.ndarray:
        """Homogeneous matrix, (4, 4)."""
        m = np.eye(4)
        m[:3, :3], m[:3, 3] = self.rotation, self.translation
        return m

    @property
    def is_identity(self) -> bool:
        """Whether this is exactly the identity."""
        return self.nine == _EYE and not any(self.translation)

    def __matmul__(self, inner: Pose) -> Pose:
        if self.is_identity:
            return inner
        if inner.is_identity:
            return self
        m = self.rotation @ inner.rotation if inner.nine != _EYE else self.rotation
        p = self.rotation @ inner.position + self.position
        return Pose(tuple(float(x) for x in m.ravel()), (float(p[0]), float(p[1]), float(p[2])))

    def inverse(self) -> Pose:
        """Return the inverse, with parent and child swapped."""
        m = self.rotation.T
        p = -(m @ self.position)
        return Pose(tuple(float(x) for x in m.ravel()), (float(p[0]), float(p[1]), float(p[2])))

    def spatial(self) -> Transform:
        """Return the pose as the algorithms use it; exact turns about one axis are recognized."""
        translation = Vec3.of(self.translation)
        if self.nine == _EYE:
            return Transform((), translation)
        m = self.rotation
        for axis in range(3):
            i, j = (axis + 1) % 3, (axis + 2) % 3
            # A 1.0 on the diagonal is not sufficient: with entries of 1e-11, from rounded right angles, it is also
            # rounded.
            off_axis = (m[axis, i], m[axis, j], m[i, axis], m[j, axis])
            if m[axis, axis] == 1.0 and not any(off_axis) and m[i, i] == m[j, j] and m[i, j] == -m[j, i]:
                turn = AxisRotation(axis, float(m[i, i]), float(m[j, i]))
                return Transform((turn,), translation)
        return Transform((MatrixRotation(Matrix3.of(m.tolist())),), translation)


# ------------------------------------------------------------------ angles of a rotation


def roll_pitch_yaw(pose: Pose) -> Angles:
    """Return URDF's three angles of a rotation; if possible those that reproduce its nine numbers exactly.

    Rotations that came from three angles have such angles; products of several rotations usually do not, and get angles
    that are correct to rounding.
    """
    candidates = _angle_candidates(pose)
    for guess in candidates:
        for angles in _neighbors(pose, guess):
            if _mismatch(pose, angles) == 0.0:
                return angles
    return min(candidates[:-1], key=lambda angles: _mismatch(pose, angles))


def _angle_candidates(pose: Pose) -> list[Angles]:
    m00, m01, m02, m10, m11, m12, m20, m21, m22 = pose.nine
    slope = math.hypot(m00, m10)
    pitch = math.atan2(-m20, slope) + 0.0  # no negative zero
    plain = (math.atan2(m21, m22), pitch, math.atan2(m10, m00))
    steep = (math.atan2(-m21, -m22), math.atan2(-m20, -slope), math.atan2(-m10, -m00))  # |pitch| > 90 degrees
    # Near pitch = +-90 degrees the entries above are small and may be rounding noise. There any yaw will do if the
    # roll matches it: Rz(-yaw) R = Ry Rx has (cos, -sin) of the roll in row 1.
    fitted = []
    for yaw in (plain[2], 0.0):
        c, s = cosine_and_sine(yaw)
        fitted.append((math.atan2(s * m02 - c * m12, c * m11 - s * m01), pitch, yaw))
    return [plain, *fitted, steep]


def _neighbors(pose: Pose, guess: Angles) -> Iterator[Angles]:
    """Yield angles near a guess that reproduce exactly the entries which are single products of sines and cosines."""
    m00, _, _, m10, _, _, m20, m21, m22 = pose.nine
    for pitch in _near(guess[1]):
        c, s = cosine_and_sine(pitch)
        if -s == m20:
            rolls = [x for x in _near(guess[0]) if _scaled(c, x) == (m22, m21)]
            yaws = [x for x in _near(guess[2]) if _scaled(c, x) == (m00, m10)]
            for roll, yaw in itertools.product(rolls, yaws):
                yield roll, pitch, yaw


def _scaled(factor: float, angle: float) -> tuple[float, float]:
    c, s = cosine_and_sine(angle)
    return factor * c, factor * s


def _near(angle: float) -> Iterator[float]:
    """Yield the angle, the next few doubles, and the same one turn away, for files with 3.1416 instead of pi."""
    starts = (angle, angle - math.copysign(2 * math.pi, angle)) if abs(angle) > 3.0 else (angle,)
    for start in starts:
        yield start
        below = above = start
        for _ in range(2):
            below, above = math.nextafter(below, -math.inf), math.nextafter(above, math.inf)
            yield below
            yield above


def _mismatch(pose: Pose, angles: Angles) -> float:
    return float(max(abs(a - b) for a, b in zip(rpy_matrix(*angles).ravel().tolist(), pose.nine, strict=True)))
