"""The combinations of parameters on which a robot's joint forces depend: those of :meth:`Robot.base_parameters`.

Friction, offsets and springs are grouped like bodies and rotors.  In a tree each can usually be identified separately;
if joints are coupled, two dampers or two offsets may have the same effect on all forces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..model.parameters import OF_BODIES
from ..spatial.arrays import Array
from . import tuned_constants as tuned

if TYPE_CHECKING:
    from ..parameters.base_parameters import BaseParameters
    from ..robot.robot import Robot

OF_INERTIA = (*OF_BODIES, "rotor_inertia")
"""Parameters of bodies and rotors."""


def is_inertial(name: str) -> bool:
    """Return whether a parameter belongs to a body or a rotor."""
    return name.rpartition(".")[2] in OF_INERTIA


@dataclass(frozen=True)
class ParameterGroups:
    """Independent columns, and how the others are grouped into them."""

    independent: tuple[str, ...]
    """One name per group: the parameter that the others are grouped into."""
    matrix: Array  # (groups, parameters)
    """``matrix @ parameters`` are the values of the groups."""
    parameters: tuple[str, ...]
    """All parameters, in the order of the matrix's columns."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the groups, written as sums."""
        return tuple(self._sum(own, row) for own, row in zip(self.independent, self.matrix, strict=True))

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Parameters that no joint force depends on."""
        used = np.any(self.matrix != 0.0, axis=0)
        return tuple(name for name, one in zip(self.parameters, used, strict=True) if not one)

    @property
    def given_up(self) -> frozenset[str]:
        """Parameters without a separate column."""
        return frozenset(self.parameters) - frozenset(self.independent)

    @cached_property
    def inertial(self) -> tuple[str, ...]:
        """The independent parameters of bodies and rotors."""
        return tuple(name for name in self.independent if is_inertial(name))

    def values(self, of_parameters: Mapping[str, float]) -> Array:
        """Return the values of the groups; parameters that are not given are zero."""
        return np.asarray(self.matrix @ np.array([of_parameters.get(name, 0.0) for name in self.parameters]))

    def part_of(self, name: str) -> dict[str, float]:
        """Return the groups that a parameter is part of, and its factor in each."""
        column = self.matrix[:, self.parameters.index(name)]
        return {self.independent[k]: float(column[k]) for k in np.flatnonzero(column)}

    def in_order(self, names: Sequence[str]) -> ParameterGroups:
        """Return these groups in the order of the columns; further columns are separate groups.

        names: Names of the columns: all that are independent here, and possibly others.
        """
        more = [name for name in names if name not in self.independent]
        matrix = np.zeros((len(names), len(self.parameters) + len(more)))
        for row, name in enumerate(names):
            if name in more:
                matrix[row, len(self.parameters) + more.index(name)] = 1.0
            else:
                matrix[row, : len(self.parameters)] = self.matrix[self.independent.index(name)]
        return ParameterGroups(tuple(names), matrix, (*self.parameters, *more))

    def _sum(self, own: str, row: Array) -> str:
        words = [own]
        for j in np.flatnonzero(row):
            name, factor = self.parameters[j], row[j]
            if name == own:
                continue
            sign = "-" if factor < 0.0 else "+"
            size = "" if abs(abs(factor) - 1.0) < 1e-12 else f"{abs(factor):.4g} "
            words.append(f"{sign} {size}{name}")
        return " ".join(words)


class Structure:
    """Which parameters of a robot act together in every motion; computed once, on first use.

    configurations: (n, nq). For a mechanism, closed configurations on the branch of the motion: other branches, such as
        the crossed form of a parallelogram, have other groups.
    """

    def __init__(self, robot: Robot, configurations: Array | None = None) -> None:
        self.robot, self.configurations = robot, configurations

    @cached_property
    def base(self) -> BaseParameters:
        """The base parameters of the robot, friction included; effects too small to measure are ignored."""
        near = None
        if self.robot.loops is not None and self.configurations is not None:
            count = len(self.configurations)
            near = self.configurations[np.unique(np.linspace(0, count - 1, tuned.CANDIDATES).astype(int))]
        return self.robot.base_parameters(friction=True, q_guess=near, in_between="ignore")

    def counts(self, name: str) -> bool:
        """Return whether a parameter is to be grouped at all; a rotor without a motor is not."""
        return self.base.table.index(name) in self.base.considered

    def groups(self, names: Iterable[str]) -> ParameterGroups:
        """Return the groups of some parameters, if all others are known."""
        base = self.base.among(names)
        return ParameterGroups(
            base.names, base.matrix[:, list(base.considered)], tuple(base.table.names[c] for c in base.considered)
        )
