"""Which combinations of parameters a robot's joint forces depend on at all, and which of them a motion tells.

Columns of the regressor at random states are taken one by one; one that is a combination of those before it is grouped
into them (004 section 10.2.4).  Inertias about the joint axes and first moments come first, so that the groups are much
as the book's rules make them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..robot.robot import Robot

Array = np.ndarray

FIRST_CHOICES = ("ZZ", "XX", "XY", "XZ", "YZ", "MX", "MY", "YY", "MZ", "M", "rotor_inertia")
STATES = 40
ROUNDING = 1e-9


@dataclass(frozen=True)
class ParameterGroups:
    """Independent columns, and how the others are grouped into them.

    Attributes
    ----------
    independent : tuple of str
        One name per group: the parameter that the others are grouped into.
    matrix : ndarray (groups, parameters)
        ``matrix @ parameters`` are the values of the groups.
    parameters : tuple of str
        All parameters, in the order of the matrix's columns.
    """

    independent: tuple[str, ...]
    matrix: Array
    parameters: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the groups, written as sums."""
        return tuple(self._sum(own, row) for own, row in zip(self.independent, self.matrix, strict=True))

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Parameters that no joint force depends on."""
        used = np.any(self.matrix != 0.0, axis=0)
        return tuple(name for name, one in zip(self.parameters, used, strict=True) if not one)

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


def grouped(columns: Array, names: tuple[str, ...]) -> ParameterGroups:
    """Find the groups of columns of a tall matrix.

    Parameters
    ----------
    columns : ndarray (rows, p)
    names : tuple of str
    """
    size = np.linalg.norm(columns, axis=0)
    largest = np.max(size, initial=0.0)
    alive = [k for k in range(len(names)) if size[k] > ROUNDING * largest]
    order = sorted(alive, key=lambda k: _rank(names[k]))
    scaled = columns[:, order] / size[order]
    chosen: list[int] = []
    basis = np.zeros((len(columns), 0))
    for place in range(len(order)):
        column = scaled[:, place]
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)
        left = np.linalg.norm(rest)
        if left > 1e-7:
            chosen.append(place)
            basis = np.concatenate([basis, rest[:, None] / left], axis=1)
    solution = np.linalg.lstsq(scaled[:, chosen], scaled, rcond=None)[0]
    solution = solution * size[order] / size[[order[c] for c in chosen]][:, None]
    matrix = np.zeros((len(chosen), len(names)))
    matrix[:, order] = np.where(np.abs(solution) > 1e-9 * max(1.0, np.abs(solution).max(initial=0.0)), solution, 0.0)
    for row, place in enumerate(chosen):
        matrix[:, order[place]] = 0.0
        matrix[row, order[place]] = 1.0
    return ParameterGroups(tuple(names[order[c]] for c in chosen), matrix, names)


def _rank(name: str) -> int:
    return FIRST_CHOICES.index(name.rpartition(".")[2])


def structural_columns(robot: Robot, names: tuple[str, ...], configurations: Array | None = None) -> Array:
    """Return the columns of the regressor at random states, (rows, p).

    Parameters
    ----------
    robot : Robot
    names : tuple of str
        Parameters of bodies and rotors.
    configurations : ndarray (n, nq), optional
        Where to take them; those of a mechanism must be closed, on the branch of the motion that is meant, since
        another branch, such as a parallelogram's that is folded over, has other groups.
    """
    rng = np.random.default_rng(0)
    count = max(STATES, int(np.ceil(1.5 * len(names) / max(1, robot.nv))))
    if robot.closes_loops:
        count = max(count, 4 * len(names) // len(robot.coordinates.independent))
        return _closed_columns(robot, names, rng, configurations, count)
    q = np.stack([robot.random_configuration(rng) for _ in range(count)])
    v, a = 3.0 * rng.standard_normal((2, count, robot.nv))
    return robot.regressor(q, v, a, parameters=names).reshape(-1, len(names))


def _closed_columns(
    robot: Robot, names: tuple[str, ...], rng: np.random.Generator, configurations: Array | None, count: int
) -> Array:
    if configurations is None:
        q = np.stack([robot.assembled(rng) for _ in range(count)])
    else:
        q = configurations[np.linspace(0, len(configurations) - 1, count).astype(int)]
    freedoms = len(robot.coordinates.independent)
    v = robot.velocities(q, 3.0 * rng.standard_normal((count, freedoms)))
    a = robot.accelerations(q, v, 3.0 * rng.standard_normal((count, freedoms)))
    y = robot.tree.regressor(q, v, a, parameters=names)
    return (np.swapaxes(robot.basis(q), -1, -2) @ y).reshape(-1, len(names))
