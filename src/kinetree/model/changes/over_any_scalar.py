"""Masses and poses over any scalar, in place of :class:`MassProperties` and :class:`Pose`.

A model converts its masses and placements to spatial objects in one place, the methods ``spatial()`` of these two
classes, so algorithms work on stand-ins as on any other model. Stand-ins with formulas that contain symbols
(:class:`~kinetree.spatial.formula.ScalarFormula`) remain in a model until there are values; reading their numbers
before that raises an error that names the symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...spatial import AxisRotation, RigidInertia, RotationLike, Scalar, Symmetric3, Transform, Vec3
from ...spatial.formula import ScalarFormula, apply, symbols_among
from ..mass import MassProperties
from ..parameters import OF_BODIES, PINOCCHIO_ORDER, mass_properties_from_table
from ..pose import Pose

Values = Mapping[str, Scalar]


def valued_scalar(x: Any, values: Values) -> Any:
    """Return a formula with values for its symbols, and anything else unchanged."""
    return x.evaluate(values) if isinstance(x, ScalarFormula) else x


def are_numbers(scalars: Iterable[Any]) -> bool:
    """Return whether all scalars are plain numbers."""
    return all(isinstance(x, (int, float)) for x in scalars)


# ------------------------------------------------------------------ masses


@dataclass(frozen=True)
class ScalarMass:
    """Mass, center of mass and inertia about it (xx, yy, zz, xy, xz, yz), over any scalar."""

    mass: Scalar
    com: tuple[Scalar, ...]
    inertia: tuple[Scalar, ...]

    def spatial(self) -> RigidInertia:
        """Return the inertia as the algorithms use it: about the body's origin (Shah section 5.1.1)."""
        c = Vec3.of(self.com)
        xx, yy, zz, xy, xz, yz = self.inertia
        lever = Symmetric3.diagonal(c.dot(c)) - Symmetric3.outer(c)
        return RigidInertia(self.mass, c * self.mass, Symmetric3(xx, xy, xz, yy, yz, zz) + lever * self.mass)


@dataclass(frozen=True)
class ScalarTen:
    """The ten parameters of a body in the order of the table, over any scalar."""

    ten: tuple[Scalar, ...]

    @classmethod
    def of(cls, inertia: RigidInertia) -> ScalarTen:
        """Make one from an inertia about the body's origin."""
        j, h = inertia.second, inertia.first
        return cls((j.xx, j.xy, j.xz, j.yy, j.yz, j.zz, h.x, h.y, h.z, inertia.mass))

    @property
    def mass(self) -> Scalar:
        """The mass, which is the last of the ten."""
        return self.ten[-1]

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of symbols without a value."""
        return symbols_among(self.ten)

    @property
    def parameters(self) -> np.ndarray:
        """The ten parameters in the order of :attr:`MassProperties.parameters`: formulas and numbers."""
        by_symbol = dict(zip(OF_BODIES, self.ten, strict=True))
        return np.array([by_symbol[symbol] for symbol in PINOCCHIO_ORDER], dtype=object)

    @property
    def is_massless(self) -> bool:
        """Whether all ten are exactly zero; formulas never are."""
        return not any(self.ten)

    def valued(self, values: Values) -> MassProperties | ScalarTen:
        """Return the body with values for its symbols; ordinary mass properties if all ten are numbers."""
        ten = tuple(valued_scalar(x, values) for x in self.ten)
        return mass_properties_from_table(ten) if are_numbers(ten) else ScalarTen(ten)

    def spatial(self) -> RigidInertia:
        """Return the inertia as the algorithms use it; the ten numbers are its entries."""
        return RigidInertia(self.ten[9], Vec3.of(self.ten[6:9]), Symmetric3(*self.ten[:6]))


# ------------------------------------------------------------------ poses


@dataclass(frozen=True)
class ScalarPose:
    """A pose over any scalar."""

    transform: Transform

    def spatial(self) -> Transform:
        """Return the pose as the algorithms use it."""
        return self.transform


class KhalilStep(NamedTuple):
    """``Rz(gamma) Tz(b) Rx(alpha) Tx(d) Rz(theta) Tz(r)`` over formulas and numbers (Khalil section 10.2)."""

    gamma: Scalar = 0.0
    b: Scalar = 0.0
    alpha: Scalar = 0.0
    d: Scalar = 0.0
    theta: Scalar = 0.0
    r: Scalar = 0.0

    def transform(self) -> Transform:
        """Return the displacement."""
        about_z = Transform(_turn(2, self.gamma), Vec3.of((0.0, 0.0, self.b)))
        about_x = Transform(_turn(0, self.alpha), Vec3.of((self.d, 0.0, 0.0)))
        return about_z @ about_x @ Transform(_turn(2, self.theta), Vec3.of((0.0, 0.0, self.r)))


def _turn(axis: int, angle: Scalar) -> tuple[RotationLike, ...]:
    if isinstance(angle, (int, float)) and angle == 0.0:
        return ()
    if isinstance(angle, (int, float, ScalarFormula)):
        return (AxisRotation(axis, apply("cos", angle), apply("sin", angle)),)
    return (AxisRotation.by_angle(axis, angle),)


@dataclass(frozen=True)
class FormulaPose:
    """A pose in Khalil's parameters, some of them formulas: one step, or several if frames are welded together.

    If all symbols have values, it gives its numbers like a :class:`Pose`; otherwise it raises an error.
    """

    steps: tuple[KhalilStep, ...]

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of symbols without a value."""
        return symbols_among(x for step in self.steps for x in step)

    def __matmul__(self, inner: Any) -> Any:
        return FormulaPose(self.steps + inner.steps) if isinstance(inner, FormulaPose) else self._numbers() @ inner

    def inverse(self) -> Pose:
        """Return the inverse, with parent and child swapped."""
        return self._numbers().inverse()

    def changed(self, change: Callable[[Any], Any]) -> FormulaPose:
        """Return the pose with a function applied to each of its scalars."""
        return FormulaPose(tuple(KhalilStep(*map(change, step)) for step in self.steps))

    def valued(self, values: Values) -> Pose | FormulaPose | ScalarPose:
        """Return the pose with values for its symbols: numbers, formulas or other scalars."""
        steps = self.changed(lambda x: valued_scalar(x, values))
        scalars = [x for step in steps.steps for x in step]
        if are_numbers(scalars):
            return as_pose(steps.spatial())
        plain = all(isinstance(x, (int, float, ScalarFormula)) for x in scalars)
        return steps if plain else ScalarPose(steps.spatial())

    def spatial(self) -> Transform:
        """Return the pose as the algorithms use it."""
        whole = Transform()
        for step in self.steps:
            whole = whole @ step.transform()
        return whole

    def _numbers(self) -> Pose:
        return as_pose(self.changed(float).spatial())

    nine = property(lambda self: self._numbers().nine)
    translation = property(lambda self: self._numbers().translation)
    rotation = property(lambda self: self._numbers().rotation)
    position = property(lambda self: self._numbers().position)
    matrix = property(lambda self: self._numbers().matrix)
    is_identity = False


def as_pose(transform: Transform) -> Pose:
    """Return a displacement of plain numbers as a pose, without negative zeros."""
    nine = tuple(float(x) + 0.0 for row in transform.matrix().to_rows() for x in row)
    x, y, z = (float(c) + 0.0 for c in transform.translation)
    return Pose(nine, (x, y, z))
