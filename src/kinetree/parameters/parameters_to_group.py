"""The parameters to be grouped: the size of one unit of each, and the order in which they are eliminated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..algorithms import loop_constraints
from ..model.joints import Prismatic, Revolute
from ..model.parameters import FRICTION, OF_BODIES, OF_FADING, OF_SOME, OF_SPRINGS, Parameter, rows
from ..model.tree import Model
from ..spatial import RigidInertia, Scalar, Symmetric3, Vec3
from ..spatial.arrays import Array

Vector = dict[int, Scalar]
"""A change of parameters that affects no torque: the amount by which each column of the table changes."""


@dataclass(frozen=True)
class Considered:
    """A model's parameter table, and the columns that are to be grouped.

    Friction, unless it is requested, and the rotors of joints without a motor are left out.
    """

    model: Model
    friction: bool = False
    """Whether damping, Coulomb friction and offsets are included."""
    rotors: bool = True
    """Whether the rotors of joints with a motor are included."""
    only: frozenset[str] | None = None
    """Names of the parameters that may change, if the others are known; all by default."""

    @cached_property
    def rows(self) -> tuple[Parameter, ...]:
        """The whole table, in the order of the regressor's columns."""
        return rows(self.model)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The columns that are to be grouped."""
        return tuple(c for c, p in enumerate(self.rows) if self._counts(p))

    def _counts(self, parameter: Parameter) -> bool:
        if self.only is not None and parameter.name not in self.only:
            return False
        if parameter.symbol in OF_BODIES:
            return True
        joint = self.model.joints[parameter.body]
        if parameter.symbol in OF_SPRINGS:
            return True
        if parameter.symbol in (*FRICTION, *OF_FADING):
            return self.friction and (joint.actuated or joint.kind.nv < 6)
        return self.rotors and (joint.actuated or any(joint.armature))

    @cached_property
    def _per_freedom(self) -> dict[tuple[str, int, int], int]:
        return {(self.rows[c].symbol, self.rows[c].body, self.rows[c].freedom): c for c in self.columns}

    def of_joint(self, symbol: str, joint: int, freedom: int = 0) -> int | None:
        """Return the column of a parameter of a joint; None if it is not considered."""
        return self._per_freedom.get((symbol, joint, freedom))

    def rotor(self, joint: int, freedom: int = 0) -> int | None:
        """Return the column of a rotor's inertia; None if it is not considered."""
        return self.of_joint("rotor_inertia", joint, freedom)

    def offset(self, joint: int, freedom: int = 0) -> int | None:
        """Return the column of a constant force; None if it is not considered."""
        return self.of_joint("offset", joint, freedom)

    @cached_property
    def length(self) -> float:
        """A length of the size of the robot, so that nothing depends on the unit of length."""
        arms = loop_constraints.arms(self.model)
        weight = math.hypot(*self.model.gravity)
        return sum(arms) / len(arms) if arms else weight / 10.0 if weight else 1.0

    @cached_property
    def time(self) -> float:
        """A time of the order of the period of a pendulum with the robot's length."""
        weight = math.hypot(*self.model.gravity)
        return math.sqrt(self.length / weight) if weight else 1.0

    @cached_property
    def sizes(self) -> Array:
        """One unit of each parameter, for one kilogram and the robot's own length and time."""
        return np.array([self._size(p) for p in self.rows])

    def _size(self, parameter: Parameter) -> float:
        symbol, length, time = parameter.symbol, self.length, self.time
        if symbol in OF_BODIES:
            return 1.0 if symbol == "M" else length if symbol[0] == "M" else length**2
        turning = self.model.joints[parameter.body].kind.v_units[parameter.freedom] == "rad"
        inertia = length**2 if turning else 1.0
        if symbol == "rotor_inertia":
            return inertia
        if symbol == "damping":
            return inertia / time
        if symbol in OF_SPRINGS:
            return inertia / time**2
        return inertia / time**2 if turning else length / time**2

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The columns in the order in which they are eliminated.

        As in Khalil's book, rotors come first, then the bodies from the last to the first (section 10.3.6).
        """
        rotors = [c for c in self.columns if self.rows[c].symbol == "rotor_inertia"]
        others = [c for c in self.columns if self.rows[c].symbol in (*FRICTION, *OF_SOME)]
        bodies = [
            10 * i + OF_BODIES.index(symbol)
            for i in reversed(range(len(self.model.bodies)))
            for symbol in _symbols_in_order(self.model, i)
        ]
        return (*rotors[::-1], *bodies, *others[::-1])


def _symbols_in_order(model: Model, body: int) -> list[str]:
    """Return a body's ten parameters in the order of preference for being grouped rather than kept.

    Khalil's joints turn about z and slide along it: for a hinge, M, MZ and YY are grouped, for a slide, the whole
    tensor. For another axis the letters are permuted cyclically.
    """
    kind = model.joints[body].kind
    axis = kind.axis if isinstance(kind, (Revolute, Prismatic)) else (0.0, 0.0, 1.0)
    z = max(range(3), key=lambda k: (round(abs(axis[k]), 6), k))
    letters = {"Z": "XYZ"[z], "X": "XYZ"[(z + 1) % 3], "Y": "XYZ"[(z + 2) % 3]}
    first, tensor = ["MZ", "MY", "MX"], ["YY", "XX", "XY", "XZ", "YZ", "ZZ"]
    if isinstance(kind, Prismatic):
        wanted = [*tensor, *first, "M"]
    elif isinstance(kind, Revolute):
        wanted = ["M", "MZ", *tensor, "MY", "MX"]
    else:
        wanted = ["M", *first, *tensor]
    return [_renamed(symbol, letters) for symbol in wanted]


def _renamed(symbol: str, letters: dict[str, str]) -> str:
    if symbol == "M":
        return symbol
    if symbol[0] == "M":
        return "M" + letters[symbol[1]]
    return "".join(sorted(letters[x] for x in symbol))


# ------------------------------------------------------------------ ten numbers as an inertia, over any scalar


def ten_of(inertia: RigidInertia) -> list[Scalar]:
    """Return an inertia in the order of the table."""
    j, h = inertia.second, inertia.first
    return [j.xx, j.xy, j.xz, j.yy, j.yz, j.zz, h.x, h.y, h.z, inertia.mass]


def inertia_of(ten: Sequence[Scalar]) -> RigidInertia:
    """Return ten numbers in the order of the table as an inertia."""
    return RigidInertia(ten[9], Vec3.of(ten[6:9]), Symmetric3(*ten[:6]))
