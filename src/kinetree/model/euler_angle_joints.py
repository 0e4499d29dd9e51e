"""Euler-angle-joints: ball and universal joints as modified Denavit-Hartenberg rows (Shah chapter 3).

A row turns by ``alpha`` about x, then by ``offset`` plus the joint angle about z.  Since
only turns about z can vary, a sequence of turns about other axes needs constant turns
in between, and for some sequences a constant row before the first joint or after the last
(Shah table 3.7).  Every constant is a whole number of quarter turns and is kept as such,
so the rows reproduce the plain product of elementary rotations without any rounding of
pi.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError, ShapeError, explain_public
from .builder import ModelBuilder
from .dh.rows import DHRow
from .joints import THREE_AXIS_SEQUENCES, TWO_AXIS_SEQUENCES, Revolute
from .joints.euler import is_symmetric
from .mass import MassProperties
from .pose import Pose

__all__ = [
    "SEQUENCES", "EulerRow", "add_chain", "constant_rows", "moving_rows", "rotation", "rows", "singular_angles",
    "table",
]  # fmt: skip

SEQUENCES = THREE_AXIS_SEQUENCES + TWO_AXIS_SEQUENCES
"""The twelve sequences of ball joints and the six of universal joints."""

# (alpha, offset) of the moving rows, in quarter turns: Shah tables 3.6 and 3.8, with missing entries filled in
_MOVING: dict[str, tuple[tuple[int, int], ...]] = {
    "ZXZ": ((0, 1), (1, 0), (-1, -1)),
    "ZYZ": ((0, 0), (-1, 0), (1, 0)),
    "ZXY": ((0, 1), (1, -1), (-1, -1)),
    "ZYX": ((0, 0), (-1, 1), (1, 1)),
    "YXY": ((-1, 1), (1, 0), (-1, -1)),
    "YZY": ((-1, 0), (1, 0), (-1, 0)),
    "YXZ": ((-1, 1), (1, 1), (-1, -1)),
    "YZX": ((-1, 0), (1, 1), (1, 0)),
    "XYX": ((1, -1), (-1, 0), (1, 1)),
    "XZX": ((1, 0), (-1, 0), (1, 0)),
    "XYZ": ((1, -1), (-1, -1), (1, 0)),
    "XZY": ((1, 0), (-1, -1), (-1, 0)),
    "ZX": ((0, 1), (1, 0)),
    "ZY": ((0, 0), (-1, 0)),
    "YX": ((-1, 1), (1, 1)),
    "YZ": ((-1, 0), (1, 0)),
    "XY": ((1, -1), (-1, -1)),
    "XZ": ((1, 0), (-1, -1)),
}

# Shah section 3.4.5: what the first and the last axis of a sequence require
_BEFORE: dict[str, tuple[int, int] | None] = {"X": (0, 1), "Y": None, "Z": None}
_AFTER: dict[str, tuple[int, int] | None] = {"X": (-1, -1), "Y": (1, 0), "Z": None}

_COSINE = (1.0, 0.0, -1.0, 0.0)
_SINE = (0.0, 1.0, 0.0, -1.0)


class EulerRow(NamedTuple):
    """One row: a turn of ``alpha`` about x, then of ``offset`` plus the joint angle about z."""

    alpha_quarters: int
    offset_quarters: int
    """The constants in quarter turns."""
    coordinate: int | None
    """Which of the joint's angles adds to the offset; None for a constant row."""

    @property
    def alpha(self) -> float:
        """The turn about x, in radians."""
        return self.alpha_quarters * (math.pi / 2)

    @property
    def offset(self) -> float:
        """The constant part of the turn about z, in radians."""
        return self.offset_quarters * (math.pi / 2)

    @property
    def pose(self) -> Pose:
        """The constant part of the row, with entries that are exactly 0, 1 or -1."""
        turn = _quarter_turn(0, self.alpha_quarters) @ _quarter_turn(2, self.offset_quarters)
        return Pose(tuple(float(x) for x in turn.ravel()))

    def rotation(self, angle: float = 0.0) -> np.ndarray:
        """Return the 3x3 matrix of the whole row at a joint angle."""
        c, s = math.cos(angle), math.sin(angle)
        turn: np.ndarray = self.pose.rotation @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return turn

    def __str__(self) -> str:
        turn = 90 * self.offset_quarters
        angle = f"{turn:d}" if self.coordinate is None else f"theta{self.coordinate + 1}{turn:+d}"
        return f"alpha {90 * self.alpha_quarters:d}, theta {angle} (degrees)"


def check_sequence(sequence: str) -> str:
    """Return a sequence in upper case, or raise an error that lists all eighteen."""
    name = str(sequence).upper()
    if name not in SEQUENCES:
        raise ModelError(f"an Euler-angle-joint's sequence is one of {', '.join(SEQUENCES)}, not {sequence!r}")
    return name


def constant_rows(sequence: str) -> tuple[EulerRow | None, EulerRow | None]:
    """Return the constant row before the first joint and the one after the last; None for a row that is not needed.

    By the rule of Shah table 3.7, a row before is needed only if the first axis is x, and a row after unless the last
    axis is z.
    """
    name = check_sequence(sequence)
    before, after = _BEFORE[name[0]], _AFTER[name[-1]]
    return (None if before is None else EulerRow(*before, None), None if after is None else EulerRow(*after, None))


def moving_rows(sequence: str) -> tuple[EulerRow, ...]:
    """Return the two or three rows that contain the joint angles."""
    return tuple(EulerRow(alpha, offset, k) for k, (alpha, offset) in enumerate(_MOVING[check_sequence(sequence)]))


def rows(sequence: str) -> tuple[EulerRow, ...]:
    """Return all rows of a sequence, constant ones included, from the fixed frame to the moving one.

    Examples
    --------
    >>> import kinetree as kt
    >>> for row in kt.euler_angle_joints.rows("XYZ"):
    ...     print(row)
    alpha 0, theta 90 (degrees)
    alpha 90, theta theta1-90 (degrees)
    alpha -90, theta theta2-90 (degrees)
    alpha 90, theta theta3+0 (degrees)
    """
    before, after = constant_rows(sequence)
    return tuple(row for row in (before, *moving_rows(sequence), after) if row is not None)


def table(
    sequence: str, name: str = "ball", parent: int | str = 0, mass_properties: MassProperties | None = None,
    **joint_data: Any,
) -> list[DHRow]:  # fmt: skip
    """Return a ball or universal joint as rows of a modified Denavit-Hartenberg table in degrees.

    Parameters
    ----------
    sequence : str
        One of :data:`SEQUENCES`.
    name : str
        Name of the body on the joint; massless links between the rows get the suffixes ``_1``, ``_2``, ..., constant
        rows ``_before`` and ``_after``.
    parent : int or str
        The row that carries the joint, by number or name; 0 is the base.
    mass_properties : MassProperties, optional
        Mass properties of the body, in the frame that it has on :class:`kinetree.EulerSpherical` or
        :class:`kinetree.Universal`.
    **joint_data
        Limits, friction, ... of :class:`kinetree.DHRow`: one number for all parts, or one each.

    Examples
    --------
    >>> import kinetree as kt
    >>> ball = kt.MassProperties.box(2.0, (0.1, 0.2, 0.3))
    >>> arm = kt.from_dh(kt.euler_angle_joints.table("ZYZ", mass_properties=ball), degrees=True)
    >>> arm.nv
    3
    """
    before, after = constant_rows(sequence)
    moving = moving_rows(sequence)
    found: list[DHRow] = []

    def add(row: EulerRow, own: str, **more: Any) -> None:
        carrier = found[-1].name if found else parent
        alpha, theta = 90.0 * row.alpha_quarters, 90.0 * row.offset_quarters
        found.append(DHRow(name=own, parent=carrier, alpha=alpha, theta=theta, **more))

    if before is not None:
        add(before, f"{name}_before", joint="fixed")
    for k, row in enumerate(moving):
        bare = after is not None or k < len(moving) - 1
        own = {key: _part(value, k, len(moving), f"{name!r}: {key}") for key, value in joint_data.items()}
        add(row, f"{name}_{k + 1}" if bare else name, mass_properties=None if bare else mass_properties, **own)
    if after is not None:
        add(after, name, joint="fixed", mass_properties=mass_properties)
    return found


def rotation(sequence: str, angles: Sequence[float]) -> np.ndarray:
    """Return the 3x3 product of a sequence's rows at given angles: R_1(angle 1) R_2(angle 2) ..."""
    name = check_sequence(sequence)
    if len(angles) != len(name):
        raise ShapeError(f"sequence {name} takes {len(name)} angles, got {len(angles)}")
    product = np.eye(3)
    for row in rows(name):
        product = product @ row.rotation(0.0 if row.coordinate is None else float(angles[row.coordinate]))
    return product


def singular_angles(sequence: str) -> tuple[float, ...]:
    """List the middle angles, within one turn, at which two axes of a ball joint are parallel (Shah section 3.6).

    Symmetric sequences lock at 0 and pi, the others at +-pi/2.  A universal joint's two
    axes are never parallel, so its sequences have none.

    Examples
    --------
    >>> import kinetree as kt
    >>> kt.euler_angle_joints.singular_angles("ZYZ")
    (0.0, 3.141592653589793)
    """
    name = check_sequence(sequence)
    if len(name) == 2:
        return ()
    return (0.0, math.pi) if is_symmetric(name) else (-math.pi / 2, math.pi / 2)


def add_chain(
    builder: ModelBuilder, name: str, parent: str, sequence: str, *, joint_name: str | None = None,
    placement: Pose | None = None, mass_properties: MassProperties | None = None, **joint_data: Any,
) -> ModelBuilder:  # fmt: skip
    """Add a body on a ball or universal joint made of one-DOF joints with massless links between them.

    The joints turn about z, as in the rows.  Body ``name`` keeps the frame it would
    have on :class:`kinetree.EulerSpherical` or :class:`kinetree.Universal`, so its mass
    properties and whatever it carries are described in the same way.

    builder: The builder that the chain is added to.
    name, parent: Names of the new body and of the body that carries it.
    sequence: One of :data:`SEQUENCES`.
    joint_name: Defaults to ``<name>_joint``; the single joints get the suffixes ``_1``, ``_2``, ``_3``, and so do the
        massless links.
    placement: Pose of the joint on the parent.
    mass_properties: Mass properties of the body, in its own frame.
    **joint_data: Limits, friction, ... of :meth:`ModelBuilder.add_joint`: one number for all parts, or one each.
    """
    own_name = joint_name or f"{name}_joint"
    before, after = constant_rows(sequence)
    moving = moving_rows(sequence)
    pose = (placement or Pose()) @ (before.pose if before else Pose())
    carrier = parent
    for k, row in enumerate(moving):
        last = k == len(moving) - 1
        body = name if last else f"{name}_{k + 1}"
        builder.add_body(body, mass_properties if last else None)
        builder.add_joint(
            f"{own_name}_{k + 1}",
            carrier,
            body,
            Revolute("z"),
            pose @ row.pose,
            child_pose=after.pose if last and after else None,
            **{key: _part(value, k, len(moving), f"joint {own_name!r}: {key}") for key, value in joint_data.items()},
        )
        carrier, pose = body, Pose()
    return builder


def _part(value: Any, k: int, count: int, what: str) -> Any:
    """Return the k-th of several numbers, or the one number that applies to all parts."""
    if not isinstance(value, (list, tuple, np.ndarray)) or not np.ndim(value):
        return value
    if len(value) != count:
        raise ModelError(f"{what} needs one number or {count}, got {len(value)}")
    return value[k]


def _quarter_turn(axis: int, quarters: int) -> np.ndarray:
    """Return the exact matrix of a rotation by whole quarter turns about x (0) or z (2)."""
    c, s = _COSINE[quarters % 4], _SINE[quarters % 4]
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turn = np.zeros((3, 3))
    turn[axis, axis] = 1.0
    turn[i, i] = turn[j, j] = c
    turn[i, j], turn[j, i] = -s + 0.0, s
    return turn


__dir__ = explain_public(__name__)
