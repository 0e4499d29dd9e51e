"""What depends on what: the rank of the constraints, which of them are enough, which freedoms follow.

A mechanism's :class:`Coordinates` are chosen once, from its model alone: at a closed configuration that is
searched for in the same way every time (or named by the user), never at the one that a program happens to ask
about first.  So the independent freedoms mean the same in every call and in every process.  Where that choice
serves badly, at a singular configuration, numerical methods find the rank anew; methods whose arguments or results
are in these coordinates raise :class:`~kinetree.errors.SingularError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import SingularError
from . import rank

Array = np.ndarray

PREFERENCE = 1e-3
"""Columns of driven freedoms are scaled by this before pivoting, so that passive ones become dependent first."""


@dataclass(frozen=True)
class Coordinates:
    """Choices that hold in general for a mechanism.

    Attributes
    ----------
    rank : int
        Number of independent constraints where the mechanism is not in a singular configuration.
    rows : tuple of int
        Constraints that imply all others.
    independent, dependent : tuple of int
        Freedoms that can be chosen, and those that follow.
    sample : ndarray, shape (rank, nv)
        The matrix of these constraints at an ordinary configuration.
    """

    rank: int
    rows: tuple[int, ...]
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    sample: Array = field(repr=False, compare=False)

    @property
    def freedoms(self) -> int:
        """Degrees of freedom of the mechanism."""
        return len(self.independent)


def choose(
    samples: Array, driven: Array, wanted: Sequence[int] | None, names: Sequence[str], scale: float = 0.0
) -> Coordinates:
    """Choose from constraint matrices at several assembled configurations (S, nc, nv).

    Parameters
    ----------
    samples : ndarray
    driven : ndarray of bool, shape (nv,)
        Freedoms with an actuator; they become independent where possible.
    wanted : sequence of int, optional
        The user's independent freedoms.
    names : sequence of str
        Of the freedoms, for messages.
    scale : float
        See :func:`kinetree.loops.rank.decompose`.
    """
    ranks = rank.numerical_rank(samples, scale)
    most = int(ranks.max(initial=0))
    nv = samples.shape[-1]
    singular_values = rank.decompose(samples)[1]
    full = ranks == most
    margin = np.where(full, 1.0, -1.0)
    if most:
        margin[full] = singular_values[full, most - 1] / singular_values[full, 0]
    best = samples[int(np.argmax(margin))]
    rows = tuple(sorted(_pivots(best.T, most)))
    k = best[list(rows)]
    if wanted is not None:
        return _checked(k, tuple(sorted(wanted)), nv, most, rows, names)
    order = tuple(int(j) for j in np.flatnonzero(driven))
    if len(order) == nv - most:
        rest = [j for j in range(nv) if j not in order]
        if rank.numerical_rank(k[:, rest]) == most:
            return Coordinates(most, rows, order, tuple(rest), k)
    dependent = tuple(sorted(_pivots(k * np.where(driven, PREFERENCE, 1.0), most)))
    return Coordinates(most, rows, tuple(j for j in range(nv) if j not in dependent), dependent, k)


def _pivots(matrix: Array, count: int) -> list[int]:
    """Return the columns that span the others best, by pivoted QR."""
    if not count:
        return []
    from scipy.linalg import qr  # a tenth of a second that robots without loops need not wait for

    return [int(j) for j in qr(matrix, mode="r", pivoting=True)[1][:count]]


def _checked(
    k: Array, wanted: tuple[int, ...], nv: int, most: int, rows: tuple[int, ...], names: Sequence[str]
) -> Coordinates:
    listed = ", ".join(names[j] for j in wanted)
    if len(wanted) != nv - most:
        raise SingularError(f"the mechanism has {nv - most} freedoms, but {len(wanted)} were named: {listed or 'none'}")
    rest = tuple(j for j in range(nv) if j not in wanted)
    if rank.numerical_rank(k[:, list(rest)]) < most:
        raise SingularError(f"{listed} cannot be the independent freedoms: the others do not follow from them")
    return Coordinates(most, rows, wanted, rest, k)


def basis(k: Array, chosen: Coordinates, names: Sequence[str], scale: float) -> Array:
    """Compute the matrix G of ``v = G v_independent`` (004 eq. 10.36), (..., nv, freedoms), from K (..., nc, nv)."""
    dependent, independent = list(chosen.dependent), list(chosen.independent)
    g = np.zeros((*k.shape[:-2], k.shape[-1], len(independent)))
    g[..., independent, range(len(independent))] = 1.0
    if dependent:
        g[..., dependent, :] = follow(k, -k[..., independent], chosen, names, scale)
    return g


def follow(k: Array, rhs: Array, chosen: Coordinates, names: Sequence[str], scale: float) -> Array:
    """Solve ``K_d x = rhs``, d being the dependent freedoms; an error says where they do not follow."""
    columns = k[..., list(chosen.dependent)]
    found = rank.numerical_rank(columns, scale) < chosen.rank
    if (found & np.isfinite(columns).all(axis=(-1, -2))).any():
        listed = ", ".join(names[j] for j in chosen.independent)
        raise SingularError(
            f"singular configuration: the mechanism's motion does not follow from {listed} here; "
            "see mobility(q), or choose others with with_independent([...])"
        )
    return rank.least_squares(columns, rhs, chosen.rank)
