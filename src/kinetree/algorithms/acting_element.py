"""Elements that act on a robot, and the interface through which a simulation uses them.

Controllers, motors, springs, ground, stops and the friction of joints are all elements.  The law of an element is
written for any scalar, so it runs on numbers, on batches, and as machine code together with the robot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from ..model.tree import Model
from ..spatial import Force, Scalar, Vec3
from . import energy
from .compliant_directions import GivingWay, impedance_of

Scalars = Sequence[Scalar]

Loads = list[Force | None]
"""Forces on the bodies, each in the coordinates of its body and at the body's origin."""

Pushing = tuple[Loads | None, list[Scalar] | None, list[Scalar]]
"""What an element does: forces on bodies, forces on joints, and the rates of its states."""


def sum_of_loads(a: Loads, b: Loads) -> Loads:
    """Return the sum of both forces on each body."""
    return [x if y is None else y if x is None else x + y for x, y in zip(a, b, strict=True)]


class ActingElement:
    """Base of everything that acts on a robot.

    A new element defines its forces (:meth:`loads`) and overrides the other methods as needed; the defaults here are
    neutral.
    """

    STANDS_ON: ClassVar[bool] = False
    """Whether a robot can stand on it."""

    STOPS_JOINTS: ClassVar[bool] = False
    """Whether it keeps joints within their ranges."""

    IN_MACHINE_CODE: ClassVar[bool] = True
    """Whether its law becomes part of the machine code; otherwise it is called as a Python function."""

    GIVES_BACK: ClassVar[bool] = False
    """Whether it never gives back more energy than was stored in it, so that a simulation in which it does is wrong."""

    # ------------------------------------------------------------------ what it does

    def loads(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> Pushing:
        """Return forces on the bodies, forces on the joints, and the rates of its states ``z``; None for no forces."""
        raise NotImplementedError(f"{self.kind} does not define how it acts")

    def energy(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> Scalar:
        """Return the stored energy that it can give back."""
        return 0.0

    def power(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> Scalar:
        """Return the power of its forces on the robot: negative while it absorbs energy."""
        on_bodies, on_joints, _ = self.loads(tree, t, q, v, z)
        return energy.power(tree, q, v, on_joints or [0.0] * tree.nv, on_bodies or [None] * len(tree.bodies))

    def impedance(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> GivingWay:
        """Return its stiffness and damping, for integration steps that treat it implicitly.

        Returns
        -------
        stiffness, damping : list
            Per freedom.
        along : list
            Lengths and lines that depend on several freedoms, with the stiffness and damping along them; see
            :mod:`kinetree.algorithms.compliant_directions`.
        """
        return impedance_of(tree, [])

    def free_at_rest(self, tree: Model, v: Scalars) -> ActingElement:
        """Return the element without Coulomb friction where this is at rest: smoothed, it looks like a huge damper."""
        return self

    def within_step(self, v: Scalars, z: Scalars, h: Scalar) -> Self:
        """Return the element as it acts within an implicit step of ``h`` that begins with ``v`` and ``z``."""
        return self

    def rates_after_step(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> list[Scalar] | None:
        """Return the rates of its states at the velocities after an implicit step; None for those of :meth:`loads`.

        Only elements from :meth:`within_step` are asked.
        """
        return None

    # ------------------------------------------------------------------ its own states, and numbers that may vary

    def initial_states(self, tree: Model) -> np.ndarray:
        """Return the initial values of its states, (states,); most elements have none."""
        return np.zeros(0)

    def parameters(self, tree: Model) -> dict[str, np.ndarray]:
        """Return the parameters that may vary over a batch, each (..., n)."""
        return {}

    def with_parameters(self, values: Mapping[str, Sequence[Scalar]]) -> Self:
        """Return the same element with other values of its parameters, of any scalar type."""
        return self

    # ------------------------------------------------------------------ over time

    @property
    def span(self) -> tuple[float, float]:
        """The time span for which it is defined."""
        return -math.inf, math.inf

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return the times within an interval at which its action over time bends or jumps, (n,)."""
        return np.zeros(0)

    def switches(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> list[Scalar]:
        """Return numbers that pass through zero where its law changes, such as the gaps of what can touch."""
        return []

    # ------------------------------------------------------------------ for the record

    def contact_spots(self) -> Sequence[Any]:
        """Return the places where it touches the robot, each with a ``frame`` and a ``point`` in it."""
        return ()

    def contact_forces(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> list[Vec3]:
        """Return its force at each of these spots, along world axes."""
        return []

    def contact_pairs(self) -> Sequence[tuple[Any, Any]]:
        """Return the two shapes of each spot, if shapes touch there; the force is that on the second one."""
        return ()

    def ground_height(self, tree: Model, x: Scalar, y: Scalar) -> Scalar | None:
        """Return the height of the ground at a place as seen from above; None if it has no ground."""
        return None

    @property
    def kind(self) -> str:
        """The name of its class, for messages."""
        return type(self).__name__

    @property
    def label(self) -> str:
        """Its name in records: its own, or its kind."""
        return self.kind


class Adapted(ActingElement):
    """An object that is not an :class:`ActingElement` but has some of its methods, under the same names.

    given: It must have at least a method ``loads``.
    """

    QUESTIONS: ClassVar = ("loads", "energy", "impedance", "initial_states", "parameters", "kinks", "contact_forces")

    def __init__(self, given: Any) -> None:
        self.given = given
        self.__dict__ |= {name: getattr(given, name) for name in self.QUESTIONS if hasattr(given, name)}

    def with_parameters(self, values: Mapping[str, Sequence[Scalar]]) -> Adapted:
        """Return the same element with other numbers."""
        return Adapted(self.given.with_parameters(values))

    @property
    def span(self) -> tuple[float, float]:
        """The time span for which it is defined, if it has one."""
        return getattr(self.given, "span", (-math.inf, math.inf))

    def contact_spots(self) -> Sequence[Any]:
        """Return its ``spots``, if it has any."""
        return getattr(self.given, "spots", ())

    @property
    def kind(self) -> str:
        """The name of its own class."""
        return type(self.given).__name__

    @property
    def label(self) -> str:
        """Its own label, if it has one."""
        return str(getattr(self.given, "label", self.kind))


def as_element(given: Any) -> ActingElement | None:
    """Return the given object as an element; None if it does not act on anything.

    This is the one place that looks at an object to find out what it can do.
    """
    if isinstance(given, ActingElement):
        return given
    return Adapted(given) if hasattr(given, "loads") and not isinstance(given, type) else None
