"""Which combinations of parameters a robot's joint forces depend on at all, and which of them a motion tells.

Columns of the regressor at random states are taken one by one; one that is a combination of those before it is grouped
into them (004 section 10.2.4).  Inertias about the joint axes and first moments come first, so that the groups are much
as the book's rules make them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..parameters.grouping import give_way, shares, triangular

if TYPE_CHECKING:
    from ..robot.robot import Robot

Array = np.ndarray

FIRST_CHOICES = ("ZZ", "XX", "XY", "XZ", "YZ", "MX", "MY", "YY", "MZ", "M", "rotor_inertia")
STATES = 40
ROUNDING, DEPENDENT = 1e-9, 1e-8
"""Parts of the largest below which columns are nothing, and below which singular values say that columns depend."""


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
    alive = np.flatnonzero(size > ROUNDING * np.max(size, initial=0.0))
    unit = size[alive]  # in these units columns are of length one
    _, s, vt = np.linalg.svd(triangular(columns[:, alive] / unit))
    told = int(np.sum(s > DEPENDENT * np.max(s, initial=0.0)))
    unnoticed = vt[told:].T
    preferred = sorted(range(len(alive)), key=lambda k: _rank(names[alive[k]]))
    given_up = sorted(give_way(unnoticed, preferred[::-1]))
    gone = set(given_up)
    kept = [k for k in preferred if k not in gone]
    share = shares(unnoticed, kept, given_up) * unit[given_up] / unit[kept][:, None]
    share[np.abs(share) <= ROUNDING * max(1.0, np.abs(share).max(initial=0.0))] = 0.0
    matrix = np.zeros((len(kept), len(names)))
    matrix[:, alive[given_up]] = share
    matrix[np.arange(len(kept)), alive[kept]] = 1.0
    return ParameterGroups(tuple(names[alive[k]] for k in kept), matrix, names)


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
