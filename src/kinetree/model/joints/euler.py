"""Ball joints and free joints described by Euler angles (the sources' Euler-angle-joints)."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import ModelError
from ...spatial import RigidInertia, Scalar, Transform, cos, sin
from .compound import Compound, Step
from .constraints import Constraint, hold_point
from .kind import AXES, POINT_MASS, Coordinates

THREE_AXIS_SEQUENCES = ("XYX", "XYZ", "XZX", "XZY", "YXY", "YXZ", "YZX", "YZY", "ZXY", "ZXZ", "ZYX", "ZYZ")


def check_sequence(sequence: str) -> str:
    """Return a sequence in upper case, or raise an error that lists all twelve."""
    name = str(sequence).upper()
    if name not in THREE_AXIS_SEQUENCES:
        raise ModelError(f"an Euler sequence is one of {', '.join(THREE_AXIS_SEQUENCES)}, not {sequence!r}")
    return name


def is_symmetric(sequence: str) -> bool:
    """Return whether the first and third axes are the same (singular at 0 and 180 degrees, otherwise at +-90)."""
    return sequence[0] == sequence[2]


def euler_singularity(sequence: str, q: Coordinates) -> Scalar:
    """Return |sin| of the middle angle's distance from gimbal lock (Shah section 3.6)."""
    value = sin(q[1]) if is_symmetric(sequence) else cos(q[1])
    return abs(value)


@dataclass(frozen=True)
class EulerSpherical(Compound):
    """A ball joint with three Euler angles; v are the angles' rates. YXZ is the sources' default."""

    sequence: str = "YXZ"
    name = "spherical_euler"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sequence", check_sequence(self.sequence))

    def steps(self) -> tuple[Step, ...]:
        """Return the elementary motions."""
        return tuple(Step(True, AXES[a.lower()], k) for k, a in enumerate(self.sequence))

    def neutral(self) -> tuple[float, ...]:
        """Return zeros for all angles (for symmetric sequences, this is the singular configuration)."""
        return (0.0, 0.0, 0.0)

    def singularity(self, q: Coordinates) -> Scalar:
        """Return the distance from gimbal lock."""
        return euler_singularity(self.sequence, q)

    def cannot_tell(self) -> tuple[RigidInertia, ...]:
        """Return the mass where the axes meet."""
        return (POINT_MASS,)

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the constraints of a shared point."""
        return hold_point(x)


@dataclass(frozen=True)
class EulerFree(Compound):
    """A floating base as in the sources: three Euler angles, then the position.

    ``v`` are the rates of these six numbers: angle rates, and the velocity of the origin
    in the fixed frame (Shah eq. 4.10).
    """

    sequence: str = "YXZ"
    name = "free_euler"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sequence", check_sequence(self.sequence))

    def steps(self) -> tuple[Step, ...]:
        """Return the elementary motions: slides first, so that they stay along the fixed axes."""
        slides = tuple(Step(False, AXES[a], 3 + k) for k, a in enumerate("xyz"))
        return slides + tuple(Step(True, AXES[a.lower()], k) for k, a in enumerate(self.sequence))

    @property
    def q_labels(self) -> tuple[str, ...]:
        """The axes of the angles, then the position; an axis that occurs twice is numbered."""
        letters = self.sequence.lower()
        about = [f".about_{a}{'2' if a in letters[:k] else ''}" for k, a in enumerate(letters)]
        return (*about, ".x", ".y", ".z")

    @property
    def v_labels(self) -> tuple[str, ...]:
        """The same labels, since ``v`` are the rates."""
        return self.q_labels

    def singularity(self, q: Coordinates) -> Scalar:
        """Return the distance from gimbal lock."""
        return euler_singularity(self.sequence, q)

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return no constraints."""
        return []
