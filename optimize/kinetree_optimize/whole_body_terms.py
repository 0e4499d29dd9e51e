"""Terms about a whole robot: powers of its motors, its energy, its momentum, its center of mass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algorithms import centroidal, energy
from kinetree.errors import OptionError
from kinetree.model.tree import Model
from kinetree.simulation.worlds.instant import Moment
from kinetree.spatial import Scalar
from kinetree.spatial.arrays import Array

from .terms import RUN, Term, wanted_numbers

Scalars = Sequence[Scalar]


@dataclass(frozen=True, eq=False)
class Powers(Term):
    """Mechanical powers of the motors, in watts: the force of each times its speed, negative where it brakes.

    As a limit it keeps motors within their powers: ``Bounded(Powers(), -300.0, 300.0)``.
    """

    called: ClassVar[str] = "power"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.at != RUN:
            raise OptionError("there is no action at the end of a motion: powers count while it runs, at='run'")

    def _motors(self, model: Model) -> list[int]:
        return [k for j in model.driven_joints for k in range(j.v_slice.start, j.v_slice.stop)]

    def differences(self, m: Moment, wanted: Scalars) -> list[Scalar]:
        """Return the powers."""
        return [m.forces[k] * m.v[k] for k in self._motors(m.tree)]

    def names(self, model: Model, count: int) -> list[str]:
        """Return ``power of FREEDOM`` for each motor."""
        return [f"power of {model.v_names[k]}" for k in self._motors(model)]


@dataclass(frozen=True, eq=False)
class WholeEnergy(Term):
    """Kinetic and potential energy of the robot, in joules, less the wanted one.

    Parameters
    ----------
    target : float or array_like (...,)
    """

    target: Any = 0.0
    called: ClassVar[str] = "energy"

    def numbers(self, model: Model, times: Array) -> Array:
        """Return the wanted energy, (..., 1)."""
        return np.asarray(self.target, dtype=float)[..., None]

    def differences(self, m: Moment, wanted: Scalars) -> list[Scalar]:
        """Return the energy less the wanted one."""
        kinetic = energy.kinetic_energy(m.tree, m.q, m.v)
        return [kinetic + energy.potential_energy(m.tree, m.q, m.tree.gravity) - wanted[0]]


Energy = WholeEnergy
"""Its public name; a goal of a design is called Energy, too."""


@dataclass(frozen=True, eq=False)
class Momentum(Term):
    """Angular and linear momentum along the axes of the world, about the center of mass, less the wanted one.

    Parameters
    ----------
    target : float or array_like, shape (..., 6)
        Angular first.
    """

    target: ArrayLike = 0.0
    called: ClassVar[str] = "momentum"

    def numbers(self, model: Model, times: Array) -> Array:
        """Return the wanted momentum, (..., 6)."""
        return wanted_numbers(self.target, 6, "the momentum", "angular, then linear")

    def differences(self, m: Moment, wanted: Scalars) -> list[Scalar]:
        """Return the momentum less the wanted one."""
        found = centroidal.momentum(m.tree, m.q, m.v)
        return [x - w for x, w in zip((*found.moment, *found.force), wanted, strict=True)]

    def names(self, model: Model, count: int) -> list[str]:
        """Return ``KIND momentum along AXIS``."""
        return [f"{kind} momentum along {axis}" for kind in ("angular", "linear") for axis in "xyz"]


@dataclass(frozen=True, eq=False)
class CenterOfMass(Term):
    """Where the robot's center of mass is in the world, less where it should be.

    Parameters
    ----------
    position : array_like, shape (..., 3)
    axes : str
        Axes of the world that count.
    """

    position: ArrayLike = 0.0
    axes: str = "xyz"
    called: ClassVar[str] = "center of mass"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.axes or set(self.axes) - set("xyz"):
            raise OptionError(f"axes of CenterOfMass are some of 'xyz', not {self.axes!r}")

    def numbers(self, model: Model, times: Array) -> Array:
        """Return the position, (..., 3)."""
        return wanted_numbers(self.position, 3, "the center of mass", "x, y and z in meters")

    def differences(self, m: Moment, wanted: Scalars) -> list[Scalar]:
        """Return the way from the wanted position."""
        return [getattr(m.center_of_mass, axis) - wanted["xyz".index(axis)] for axis in self.axes]

    def names(self, model: Model, count: int) -> list[str]:
        """Return ``AXIS of the center of mass``."""
        return [f"{axis} of the center of mass" for axis in self.axes]
