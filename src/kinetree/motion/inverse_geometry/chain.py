"""The chain of joints to a frame, and the equations that the frame's pose gives, over any scalar.

With the pose U of the last frame, and A_j the displacement of joint j, every way of dividing the chain is a matrix
equation (Khalil and Dombre, chapter 4, eq. 4.8):

    (A_1 ... A_i)^-1  U  (A_k+1 ... A_n)^-1  =  A_i+1 ... A_k

Each of its entries is linear in the sine and cosine of every hinge, and in every slide; so is the difference of the
squared distances of the origins, on which Pieper's method rests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...errors import UnsupportedError
from ...model.joints import Fixed, JointKind, Prismatic, Revolute
from ...model.tree import Model
from ...spatial import BASIS, AxisRotation, MatrixRotation, Scalar, Transform, Vec3

NORM = -1
"""Column number of the equation for squared distances."""


class JointValue(NamedTuple):
    """The position of a joint: cosine and sine of a hinge, or the displacement of a slide in both fields."""

    cosine: Scalar
    sine: Scalar


JointValues = Mapping[int, JointValue]
"""Positions of joints, by number."""

AT_ZERO, AT_RIGHT, AT_HALF = JointValue(1.0, 0.0), JointValue(0.0, 1.0), JointValue(-1.0, 0.0)
"""A hinge at 0, 90 and 180 degrees."""


class PoseEquation(NamedTuple):
    """One equation: how the chain is divided, and which entry of the matrices it is."""

    first: int
    """Joints before this one are on the left, inverted."""
    last: int
    """Joints from this one on are on the left after the pose, inverted."""
    row: int
    column: int
    """0 to 2 for the axes, 3 for the origin, :data:`NORM` for its squared distance."""


@dataclass(frozen=True)
class GeometricChain:
    """The joints that move a frame.

    Attributes
    ----------
    names : tuple of str
    kinds : tuple of JointKind
    places : tuple of Transform
        Transforms before each joint, including welds.
    behind : Transform
        Pose of the frame on the last body.
    orientation : bool
        Whether the frame's orientation is given, besides its position.
    """

    names: tuple[str, ...]
    kinds: tuple[JointKind, ...]
    places: tuple[Transform, ...]
    behind: Transform
    orientation: bool = True

    @classmethod
    def of(cls, model: Model, frame: str, orientation: bool = True) -> GeometricChain:
        """Return the joints of a model that move a frame; placements may hold any scalar."""
        found = model.frame(frame)
        names: list[str] = []
        kinds: list[JointKind] = []
        places: list[Transform] = []
        waiting = Transform()
        for i in model.support(found.body):
            joint = model.joints[i]
            waiting = waiting @ joint.placement.spatial()
            if isinstance(joint.kind, Fixed):
                continue
            if not isinstance(joint.kind, (Revolute, Prismatic)) or joint.mimic:
                what = "follows another" if joint.mimic else f"is {joint.kind.name}"
                raise UnsupportedError(
                    f"joint {joint.name!r} {what}: closed forms are for hinges and slides; "
                    "kinetree.inverse_kinematics takes any robot"
                )
            names.append(joint.name)
            kinds.append(joint.kind)
            places.append(waiting)
            waiting = Transform()
        return cls(tuple(names), tuple(kinds), tuple(places), waiting @ found.pose.spatial(), orientation)

    def turns(self, k: int) -> bool:
        """Return whether a joint is a hinge."""
        return isinstance(self.kinds[k], Revolute)

    def step(self, k: int, value: JointValue) -> Transform:
        """Return the displacement of a joint."""
        axis = Vec3(*self.kinds[k].axis)  # type: ignore[attr-defined]
        if not self.turns(k):
            return self.places[k] @ Transform((), axis * value.cosine)
        return self.places[k] @ Transform((_rotation(axis, value),))

    def product(self, first: int, last: int, values: JointValues) -> Transform:
        """Return the displacement of several joints, one after the other."""
        whole = Transform()
        for k in range(first, last):
            whole = whole @ self.step(k, values[k])
        return whole

    def pose(self, values: JointValues) -> Transform:
        """Return the pose of the frame."""
        return self.product(0, len(self.kinds), values) @ self.behind

    def body_pose(self, pose: Transform) -> Transform:
        """Return the pose of the last body from that of the frame; without orientation the frame's position."""
        return pose @ self.behind.inverse() if self.orientation else Transform((), pose.translation)

    def sides(self, first: int, last: int, body: Transform, values: JointValues) -> tuple[Transform, Transform]:
        """Return both sides of a matrix equation."""
        left = self.product(0, first, values).inverse() @ body if first else body
        count = len(self.kinds)
        left = left @ self.product(last, count, values).inverse() if last < count else left
        right = self.product(first, last, values)
        return left, right if self.orientation else right @ self.behind

    def residual(self, equation: PoseEquation, body: Transform, values: JointValues) -> Scalar:
        """Return left minus right of one equation."""
        left, right = self.sides(equation.first, equation.last, body, values)
        return entry(left, equation) - entry(right, equation)


def entry(side: Transform, equation: PoseEquation) -> Scalar:
    """Return the entry of one side that an equation is for."""
    if equation.column == NORM:
        return side.translation.dot(side.translation)
    if equation.column == 3:
        return list(side.translation)[equation.row]
    return list(side.rotate(BASIS[equation.column]))[equation.row]


def _rotation(axis: Vec3, value: JointValue) -> Any:
    """Return a rotation by an angle given by its cosine and sine."""
    c, s = value
    for index, unit in enumerate(BASIS):
        if tuple(axis) == tuple(unit):
            return AxisRotation(index, c, s)
        if tuple(axis) == tuple(-unit):
            return AxisRotation(index, c, -s)
    return MatrixRotation.turned(axis, c, s)


def equations(chain: GeometricChain) -> list[PoseEquation]:
    """Return all equations of a chain; without orientation, those that involve only the position of the frame."""
    found, count, orientation = [], len(chain.kinds), chain.orientation
    for first in range(count):
        for last in range(first + 1, count + 1) if orientation else (count,):
            columns = (3, 0, 1, 2) if orientation else (3,)
            found += [PoseEquation(first, last, row, column) for column in columns for row in range(3)]
            found.append(PoseEquation(first, last, 0, NORM))
    return found


# ------------------------------------------------------------------ what an equation says about one joint

Residual = Callable[[JointValue], Scalar]


def of_hinge(residual: Residual) -> tuple[Scalar, Scalar, Scalar]:
    """Return X, Y and Z of a residual of the form ``X sin + Y cos = Z``."""
    at_zero, at_half, at_right = residual(AT_ZERO), residual(AT_HALF), residual(AT_RIGHT)
    mean = (at_zero + at_half) * 0.5
    return at_right - mean, (at_zero - at_half) * 0.5, -mean


def of_slide(residual: Residual) -> tuple[Scalar, Scalar, Scalar]:
    """Return a, b and c of a residual of the form ``a r^2 + b r + c = 0``."""
    ahead, at_zero, back = (residual(JointValue(r, r)) for r in (1.0, 0.0, -1.0))
    return (ahead + back) * 0.5 - at_zero, (ahead - back) * 0.5, at_zero
