"""A thing that lies in a scene: shapes, with a mass, where it starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import ExplainsArguments, ModelError
from ...io.units import in_si
from ...spatial.numbers import shown
from ..builder import ModelBuilder
from ..joints import Free
from ..pose import Pose, floats
from ..tree import Model
from .contact_shape import ContactShape
from .solid import Solid
from .uniform_mass import uniform_mass


@dataclass(frozen=True)
class Thing(ExplainsArguments):
    """A free body of one or several shapes, filled evenly, or one that does not move.

    Parameters
    ----------
    shape : Solid, or sequence of Solid and ContactShape
        Such as ``kinetree.shapes.Box((0.1, 0.1, 0.1))``.  Each :class:`kinetree.shapes.ContactShape` has a pose and a
        surface of its own; their frames do not count.
    mass : float
        In kilograms, or with a unit; or give ``density`` (kg/m^3), or ``fixed=True``.
    position : three floats
        Where it starts.
    rpy, quaternion : sequence of floats, optional
        How it is turned at the start.
    density : float, optional
    fixed : bool
        Whether it stands still forever, as part of the ground.
    velocity : six floats
        Angular and linear velocity at the start, along its own axes.
    friction, torsional_friction, rolling_friction, restitution, group, mask
        Of its surface, see :class:`kinetree.shapes.ContactShape`.

    Examples
    --------
    >>> import kinetree as kt
    >>> ball = kt.Thing(kt.shapes.Sphere(0.05), mass=0.2, position=(0, 0, 1))
    >>> kt.scene(things={"ball": ball}).nv
    6
    """

    shape: Any
    mass: Any = None
    position: Sequence[Any] = (0.0, 0.0, 0.0)
    rpy: Sequence[Any] | None = None
    quaternion: Sequence[float] | None = None
    density: float | None = None
    fixed: bool = False
    friction: float = 1.0
    torsional_friction: float = 0.0
    rolling_friction: float = 0.0
    restitution: float = 0.0
    group: int = 1
    mask: int = 1

    @property
    def pose(self) -> Pose:
        """The pose at the start."""
        return Pose.of(self.position, rpy=self.rpy, quaternion=self.quaternion)

    def shapes(self, name: str) -> list[ContactShape]:
        """Return the shapes on a body of this name."""
        surface = {
            key: getattr(self, key)
            for key in ("friction", "torsional_friction", "rolling_friction", "restitution", "group", "mask")
        }
        listed = [self.shape] if isinstance(self.shape, (Solid, ContactShape)) else list(self.shape)
        if not listed:
            raise ModelError(f"the thing {name!r} has no shape: give one, such as kinetree.shapes.Box((0.1, 0.1, 0.1))")
        found = []
        for k, shape in enumerate(listed):
            own = name if len(listed) == 1 else f"{name}_{k + 1}"
            if isinstance(shape, ContactShape):
                found.append(replace(shape, frame=name, name=shape.name or own))
            else:
                found.append(ContactShape(name, shape, name=own, **surface))
        return found

    def model(self, name: str) -> Model:
        """Return a model of one free body; its only joint has the same name."""
        shapes = self.shapes(name)
        parts = [(shape.shape, shape.pose) for shape in shapes]
        try:
            properties = uniform_mass(parts, self._positive("mass", "kg"), self._positive("density", "1"))
        except ModelError as problem:
            raise ModelError(f"the thing {name!r}: {problem}") from None
        builder = ModelBuilder(name, base="ground_of_" + name)
        builder.body(name, builder.base, Free(), joint_name=name, mass_properties=properties)
        for shape in shapes:
            builder.add_shape(shape)
        return builder.model()

    def _positive(self, name: str, unit: str) -> float | None:
        given = getattr(self, name)
        if given is None:
            if self.mass is None and self.density is None:
                raise ModelError("give its mass (kg) or its density (kg/m^3), or fixed=True if it never moves")
            return None
        if self.mass is not None and self.density is not None:
            raise ModelError("give either its mass or its density")
        number = floats(in_si(given, unit, name), name)
        if number.ndim or not math.isfinite(number) or number <= 0.0:
            raise ModelError(f"its {name} must be a positive number, not {shown(given)}")
        return float(number)
