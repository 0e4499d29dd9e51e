"""Motion in a plane, and motion without rotation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...spatial import RigidInertia, Symmetric3, Transform
from .compound import Compound, Step
from .constraints import Constraint, hold_axis, hold_plane, hold_rotation
from .kind import AXES, TENSORS, unit_axis, vec


def in_plane_axes(normal: tuple[float, float, float]) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Return two unit vectors that complete ``normal`` to a right-handed frame.

    For the normal z they are x, y; for x they are y, z; for y they are z, x.
    """
    n = np.array(normal)
    k = int(np.argmax(np.abs(n)))
    first = np.zeros(3)
    first[(k + 1) % 3] = 1.0 if n[k] > 0 else -1.0
    first -= n * (n @ first)
    first /= np.linalg.norm(first)
    second = np.cross(n, first)
    as_tuple = [(float(a[0]) + 0.0, float(a[1]) + 0.0, float(a[2]) + 0.0) for a in (first, second)]
    return as_tuple[0], as_tuple[1]


@dataclass(frozen=True)
class Planar(Compound):
    """q = (angle, first, second displacement) in the plane with the given ``normal``; v are their rates.

    The displacements are measured in the fixed frame, along the axes that complete the normal to a right-handed frame:
    ``Planar("z")`` is (angle, x, y), ``Planar("x")`` (angle, y, z), and ``Planar("y")`` (angle, z, x), in this order.
    The names of the entries say so: ``trunk.angle``, ``trunk.z``, ``trunk.x`` in :attr:`kinetree.Robot.q_names`.

    Featherstone section 8.2.2 pairs this transform with a constant subspace, which is not its derivative; the columns
    used here are.
    """

    normal: Any = "z"
    name = "planar"

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", unit_axis(self.normal, "normal"))

    def steps(self) -> tuple[Step, ...]:
        """Return the elementary motions: slides first, so that they stay along the fixed axes."""
        first, second = in_plane_axes(self.normal)
        return (Step(False, first, 1), Step(False, second, 2), Step(True, self.normal, 0))

    @property
    def q_labels(self) -> tuple[str, ...]:
        """The angle, then the axes of the displacements if they are coordinate axes, otherwise numbers."""
        slides = [_axis_in_words(axis) for axis in in_plane_axes(self.normal)]
        return (".angle", *(f".{axis}" for axis in slides)) if all(slides) else super().q_labels

    @property
    def v_labels(self) -> tuple[str, ...]:
        """The labels of ``q``, since ``v`` are its rates."""
        return self.q_labels

    def cannot_tell(self) -> tuple[RigidInertia, ...]:
        """Return the second moment along the normal."""
        return (RigidInertia(second=Symmetric3.across(vec(self.normal))),)

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the constraints on the plane and the direction of its normal."""
        return [*hold_axis(vec(self.normal), x), *hold_plane(vec(self.normal), x)]


def _axis_in_words(axis: tuple[float, float, float]) -> str:
    """Return ``"x"``, ``"-x"``, ... for a coordinate axis, an empty string for any other axis."""
    words = {own: name for name, own in AXES.items()}
    words |= {(-x, -y, -z): f"-{name}" for (x, y, z), name in words.items()}
    return words.get(axis, "")


@dataclass(frozen=True)
class Translation(Compound):
    """q = (x, y, z): three displacements, no rotation."""

    name = "translation"
    constant_subspace = True

    def steps(self) -> tuple[Step, ...]:
        """Return the elementary motions."""
        return tuple(Step(False, AXES[a], k) for k, a in enumerate("xyz"))

    def cannot_tell(self) -> tuple[RigidInertia, ...]:
        """Return all second moments, since the joint does not turn."""
        return TENSORS

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the constraints on the orientation."""
        return hold_rotation(x)
