"""How a mechanism can move: counted by rank, beside the formula that counts joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.describe import counted
from . import rank

Array = np.ndarray


@dataclass(frozen=True)
class Mobility:
    """What the loops leave.

    Attributes
    ----------
    freedoms : int
        Degrees of freedom of the mechanism.
    gruebler : int
        What the count of joints and constraints says (Gruebler, Kutzbach).
    constraints, rank : int
        Constraints of the loop joints, and how many of them are independent.
    redundant : tuple of str
        Constraints that the others imply; their forces are not determined by the motion.
    independent : tuple of str
        Freedoms that the others follow from.
    singular : bool
        Whether the configuration asked about is singular.
    opening : ndarray, shape (k, nv)
        Velocities that are possible in a singular configuration only.
    locked : tuple of str
        Freedoms that cannot move at this configuration.
    """

    freedoms: int
    gruebler: int
    constraints: int
    rank: int
    redundant: tuple[str, ...]
    independent: tuple[str, ...]
    singular: bool
    opening: Array
    locked: tuple[str, ...]

    @property
    def overconstrained(self) -> int:
        """Number of redundant constraints."""
        return self.constraints - self.rank

    def __str__(self) -> str:
        lines = [
            f"{counted(self.freedoms, 'degree', 'degrees')} of freedom: {', '.join(self.independent) or 'none'} "
            f"(counting joints and constraints gives {self.gruebler})",
            f"{self.constraints} loop constraints, {self.rank} independent",
        ]
        if self.redundant:
            lines.append(f"redundant ({self.overconstrained}): " + "; ".join(self.redundant))
        if self.singular:
            lines.append(f"singular configuration: {len(self.opening)} more direction(s) open up")
        if self.locked:
            lines.append("cannot move here: " + ", ".join(self.locked))
        return "\n".join(lines)


def singular_directions(k: Array, general_rank: int, scale: float = 0.0) -> tuple[int, Array, tuple[int, ...]]:
    """Return the rank at one configuration, velocities that open up there, and freedoms that cannot move."""
    here = int(rank.numerical_rank(k, scale))
    basis = rank.null_space(k, here)
    # the directions nearest to being forbidden just beside the singular place come first in V
    opening = basis.T[: general_rank - here] if here < general_rank else np.zeros((0, k.shape[-1]))
    still = tuple(int(j) for j in np.flatnonzero(np.linalg.norm(basis, axis=1) < 1e-9))
    return here, opening, still
