"""The same joint walked in the other direction, from child to parent, with the same coordinates.

A spanning tree may reach a joint from its child's side. Then the frame that used to be fixed (F) moves and the one that
used to move (M) is fixed, but ``q`` and ``v`` keep their meaning, and so do limits, friction, motors and measured data.
With X the pose of M in F and S the motion subspace of the joint as described,

    pose of F in M = X^-1,    S_reversed = -X S,    S_reversed' = -X (S' + (S v) x S),

where the last equation holds because a motion vector with components s in M has the rate X (s' + twist x s) seen from
F.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ModelError
from ...spatial import ZERO_FORCE, ZERO_MOTION, Force, Motion, RigidInertia, Scalar, Transform, combine
from .constraints import Constraint
from .custom import Custom, as_transform
from .cylindrical import Cylindrical
from .distance import Distance
from .fixed import Fixed
from .helical import Helical
from .kind import Coordinates, JointKind
from .planar import Translation
from .prismatic import Prismatic
from .revolute import Continuous, Revolute

_ALONG_ONE_AXIS = (Revolute, Continuous, Prismatic, Helical, Cylindrical)


def reverse(kind: JointKind) -> JointKind:
    """Return the joint seen from its child: a plain kind if there is one, otherwise :class:`Reversed`."""
    if type(kind) in (Fixed, Distance):
        return kind  # symmetric in its ends
    if type(kind) in _ALONG_ONE_AXIS:
        parameters = kind.parameters()
        return type(kind)(**(parameters | {"axis": tuple(0.0 - c for c in parameters["axis"])}))
    if type(kind) is Custom:
        return _reverse_custom(kind)
    return kind.kind if isinstance(kind, Reversed) else Reversed(kind)


@dataclass(frozen=True)
class Inverted:
    """A user's function of coordinates that returns the inverse displacement."""

    function: Any

    def __call__(self, *q: Scalar) -> Transform:
        """Return the inverse of what the function returns."""
        return as_transform(self.function(*q)).inverse()


def _reverse_custom(kind: Custom) -> Custom:
    function = kind.function.function if isinstance(kind.function, Inverted) else Inverted(kind.function)
    return Custom(kind.dof, function, kind.label, kind.coordinate_kinds)


@dataclass(frozen=True)
class Reversed(JointKind):
    """A joint whose child carries its parent; make it with :func:`reverse`."""

    kind: JointKind
    name = "reversed"

    def __post_init__(self) -> None:
        if not isinstance(self.kind, JointKind):
            raise ModelError(f"only a joint can be reversed, not {self.kind!r}")
        if isinstance(self.kind, (Reversed, Fixed, Distance, Custom)):
            raise ModelError(f"a {self.kind.name} joint is reversed by kinetree.model.joints.reverse(kind)")

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.kind.nq

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return self.kind.nv

    def transform(self, q: Coordinates) -> Transform:
        """Return the pose of the described joint's fixed frame in its moving frame."""
        return self.kind.transform(q).inverse()

    def subspace(self, q: Coordinates) -> tuple[Motion, ...]:
        """Return the columns of the motion subspace: the negative ones, in the other frame."""
        x = self.kind.transform(q)
        return tuple(-x.motion_to_parent(s) for s in self.kind.subspace(q))

    def subspace_rate(self, q: Coordinates, v: Coordinates) -> tuple[Motion, ...] | None:
        """Return the columns of the apparent derivative of the subspace; it is constant without rotation."""
        if isinstance(self.kind, Translation):
            return None
        x, columns = self.kind.transform(q), self.kind.subspace(q)
        rates = self.kind.subspace_rate(q, v) or [ZERO_MOTION] * len(columns)
        twist = combine(columns, v)
        return tuple(-x.motion_to_parent(r + twist.cross(s)) for s, r in zip(columns, rates, strict=True))

    def cannot_tell(self) -> tuple[RigidInertia, ...]:
        """Return the inertias that the original joint cannot distinguish; they are the same in both frames."""
        return self.kind.cannot_tell()

    @property
    def only_closes(self) -> bool:  # type: ignore[override]
        """Whether it has no coordinates."""
        return self.kind.only_closes

    # Configurations are those of the joint as described.

    @property
    def q_units(self) -> tuple[str, ...]:
        """Unit of each entry of ``q``."""
        return self.kind.q_units

    @property
    def v_units(self) -> tuple[str, ...]:
        """Unit of each entry of ``v``, times a second."""
        return self.kind.v_units

    def neutral(self) -> tuple[float, ...]:
        """Return the configuration in which both frames coincide."""
        return self.kind.neutral()

    def rate(self, q: Coordinates, v: Coordinates) -> list[Scalar]:
        """Return the time derivative of ``q`` when moving with ``v``."""
        return self.kind.rate(q, v)

    def integrate(self, q: Coordinates, v: Coordinates) -> list[Scalar]:
        """Return the configuration after unit time with constant ``v``."""
        return self.kind.integrate(q, v)

    def difference(self, q0: Coordinates, q1: Coordinates) -> list[Scalar]:
        """Return the ``v`` that takes ``q0`` to ``q1`` in unit time."""
        return self.kind.difference(q0, q1)

    def spring_force(self, rest: Coordinates, q: Coordinates, stiffness: Coordinates) -> list[Scalar]:
        """Return the force that holds a spring."""
        return self.kind.spring_force(rest, q, stiffness)

    def spring_stretch(self, rest: Coordinates, q: Coordinates) -> list[Scalar]:
        """Return the stretch of a spring per freedom."""
        return self.kind.spring_stretch(rest, q)

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], shape: tuple[int, ...]
    ) -> np.ndarray:
        """Return random configurations within limits."""
        return self.kind.random(rng, lower, upper, shape)

    @property
    def q_labels(self) -> tuple[str, ...]:
        """Suffixes of the joint's name in the names of the entries of ``q``."""
        return self.kind.q_labels

    @property
    def v_labels(self) -> tuple[str, ...]:
        """The same for ``v``."""
        return self.kind.v_labels

    @property
    def quaternion(self) -> slice | None:
        """The place of a unit quaternion in ``q``, if there is one."""
        return self.kind.quaternion

    def singularity(self, q: Coordinates) -> Scalar | None:
        """Return how far the coordinates are from a singularity."""
        return self.kind.singularity(q)

    # Closing loops: the same gaps, and the opposite forces in the other frame.

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the constraints; ``x`` is the pose of the described joint's fixed frame in its moving frame."""
        back = x.inverse()
        return [c._replace(force=-back.force_to_parent(c.force)) for c in self.kind.constraints(back)]

    def constraint_rates(self, x: Transform, twist: Motion) -> list[Force] | None:
        """Return the apparent derivatives of the constraint forces in the frame that is now the moving one."""
        back = x.inverse()
        forward = -back.motion_to_child(twist)  # twist of M relative to F, in M
        forces = [c.force for c in self.kind.constraints(back)]
        rates = self.kind.constraint_rates(back, forward) or [ZERO_FORCE] * len(forces)
        return [-back.force_to_parent(r + forward.cross_force(f)) for f, r in zip(forces, rates, strict=True)]
