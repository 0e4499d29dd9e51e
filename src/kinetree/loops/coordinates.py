"""Dependences: the rank of the constraints, which of them suffice, and which freedoms follow.

A mechanism's :class:`Coordinates` are chosen once, from its model alone: at a closed configuration that is always found
in the same way (or named by the user), never at the one that a program happens to use first.  The independent freedoms
are therefore the same in every call and every process.  Where that choice works badly, at a singular configuration,
numerical methods determine the rank again; methods whose arguments or results are in these coordinates raise
:class:`~kinetree.SingularError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError, SingularError, UnknownNameError
from ..evaluation.small_matrices import one_blas_thread
from ..model.tree import Model
from ..spatial.arrays import Array, as_array
from . import rank
from .clusters import Cluster, Clusters
from .long_chains import LARGE, singular_values, square_solution
from .tolerances import CLEAR, CONTRADICTED, LEAST, NOTHING

ByName = ArrayLike | Mapping[str, ArrayLike]
"""Numbers of the independent freedoms: in their order, or by their names."""

PREFERENCE = 1e-3
"""Columns of driven freedoms are scaled by this before pivoting, so that passive ones become dependent first."""


@dataclass(frozen=True)
class Decision:
    """How many constraints of a cluster of loops are independent, and how that was decided.

    Attributes
    ----------
    loops : tuple of str
        The joints that close the cluster's loops.
    constraints, rank : int
        How many there are, and how many count.
    least : float
        Strength of the weakest that counts: a singular value of the dimensionless matrix, where the strongest is at
        least one.
    dropped : float
        Strength of the strongest that does not count.
    by_rounding : bool
        Whether constraints that do not count contradict the rest, because numbers in a file are rounded rather than by
        the computer's rounding.
    redundant : tuple of str
        Constraints that the others imply.
    """

    loops: tuple[str, ...]
    constraints: int
    rank: int
    least: float
    dropped: float
    by_rounding: bool = False
    redundant: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = ", ".join(self.loops[:4]) + (", ..." if len(self.loops) > 4 else "")
        return (
            f"{shown}: {self.rank} of {self.constraints} constraints count, the weakest {self.least:.2g}; "
            f"what is left, {self.dropped:.2g}, is rounding"
        )


@dataclass(frozen=True)
class Coordinates:
    """The choice of coordinates of a mechanism, valid at generic configurations.

    Attributes
    ----------
    rank : int
        Number of independent constraints where the mechanism is not in a singular configuration.
    rows : tuple of int
        Constraints that imply all others.
    independent, dependent : tuple of int
        Freedoms that can be chosen freely, and those that follow from them.
    sample : ndarray, shape (rank, nv)
        The matrix of these constraints at an ordinary configuration.
    decisions : tuple of Decision
        How the rank was found, for each cluster of loops.
    slack : float
        How far constraints that the others imply may be violated, in meters and radians, because numbers in the file
        are rounded; zero if they are not.
    remaining : float
        How far they are violated at the configurations used for the decision.
    """

    rank: int
    rows: tuple[int, ...]
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    sample: Array = field(repr=False, compare=False)
    decisions: tuple[Decision, ...] = ()
    slack: float = 0.0
    remaining: float = 0.0

    @property
    def freedoms(self) -> int:
        """Degrees of freedom of the mechanism."""
        return len(self.independent)

    @property
    def ranks(self) -> tuple[int, ...]:
        """How many constraints of each cluster of loops are independent."""
        return tuple(decision.rank for decision in self.decisions)

    @property
    def least(self) -> float:
        """Singular values below this fraction of the largest do not count: rounding, of the file or of the computer."""
        dropped = max((d.dropped for d in self.decisions if d.by_rounding), default=0.0)
        return max(LEAST, ABOVE_ROUNDING * dropped)

    def rounding_in_words(self, name: str) -> str:
        """Say what was decided about the mechanism ``name`` by treating weak constraints as rounding, if any."""
        rounded = [d for d in self.decisions if d.by_rounding]
        if not rounded and not self.remaining > 0.0:
            return ""
        names = [loop for d in rounded or self.decisions if d.redundant for loop in d.loops]
        strength = ""
        if rounded:
            strongest, weakest = max(d.dropped for d in rounded), min(d.least for d in rounded)
            strength = f": the strongest of them has {strongest:.1g}, the weakest that counts {weakest:.1g}"
        return (
            f"numbers of {name!r} are rounded: redundant constraints of {', '.join(names[:4])}"
            f"{', ...' if len(names) > 4 else ''} contradict the others and leave loops open by some "
            f"{self.remaining:.1g} (m, rad). They do not count{strength}; mobility() lists them"
        )

    @cached_property
    def pivots(self) -> tuple[tuple[int, int], ...]:
        """Constraints that count, each with the dependent freedom it determines, in an order that preserves zeros."""
        return _ordered_pivots(self.sample, self.rows, self.dependent)


def _ordered_pivots(
    sample: Array, rows: Sequence[int], dependent: Sequence[int]
) -> tuple[tuple[int, int], ...]:  # fmt: skip
    """Return pivots by elimination at the sample: of those large enough, the one that fills least (Markowitz 1957)."""
    work = np.array(sample[:, list(dependent)], dtype=float)
    shape, found = work.shape, list[tuple[int, int]]()
    noise = 1e-12 * np.abs(work).max(initial=0.0)
    entries = np.flatnonzero(work)  # among the remaining rows and columns: a long chain of loops has few
    for _ in rows:
        i, j = np.unravel_index(entries, shape)
        part = np.abs(work[i, j])
        there = part > noise
        if not there.any():
            break
        price = (np.bincount(i[there], minlength=shape[0]) - 1)[i] * (np.bincount(j[there], minlength=shape[1]) - 1)[j]
        largest = np.zeros(shape[1])
        np.maximum.at(largest, j, part)
        large = there & (part >= LARGE_ENOUGH * largest[j])
        best = int(np.argmin(np.where(large, price - 1e-3 * part / part.max(), np.inf)))
        row, column = int(i[best]), int(j[best])
        found.append((rows[row], dependent[column]))
        below, beside = i[(j == column) & (i != row)], j[(i == row) & (j != column)]
        work[np.ix_(below, beside)] -= np.outer(work[below, column] / work[row, column], work[row, beside])
        made = np.ravel_multi_index(np.ix_(below, beside), shape).ravel() if len(below) and len(beside) else entries[:0]
        entries = np.union1d(entries[(i != row) & (j != column)], made)
    # rows of zeros determine nothing: they come last, in their order
    if len(found) < len(rows):
        taken, freed = {row for row, _ in found}, {column for _, column in found}
        found += zip((r for r in rows if r not in taken), (c for c in dependent if c not in freed), strict=True)
    return tuple(found)


LARGE_ENOUGH = 0.3
"""Pivots are at least this fraction of the largest entry of their column."""

ABOVE_ROUNDING = 5.0
"""In a singular configuration, constraints count if they are this many times stronger than rounding."""


@one_blas_thread()
def choose(
    samples: Array, gaps: Array, driven: Array, wanted: Sequence[int] | None, model: Model, clusters: Clusters,
    rounding: float | None = None,
) -> Coordinates:  # fmt: skip
    """Return a choice from constraint matrices at several assembled configurations (S, nc, nv).

    Parameters
    ----------
    samples : ndarray
    gaps : ndarray, shape (S, nc)
        Gaps that could not be closed there.
    driven : ndarray of bool, shape (nv,)
        Freedoms with an actuator; they become independent if possible.
    wanted : sequence of int, optional
        The user's independent freedoms.
    model : Model
        Provides names for messages.
    clusters : Clusters
        Clusters of loops that share joints.
    rounding : float, optional
        See :func:`kinetree.loops.rank.by_gap`.
    """
    values = [singular_values(_finite(cluster.block(samples))) for cluster in clusters.all]
    decisions = [decide(cluster, s, gaps, rounding) for cluster, s in zip(clusters.all, values, strict=True)]
    # the sample that is farthest from being singular
    margins = [s[:, d.rank - 1] / s[:, 0] for s, d in zip(values, decisions, strict=True) if d.rank]
    best = samples[int(np.argmax(np.min(margins, axis=0)))] if margins else samples[0]
    rows: list[int] = []
    for place, (cluster, decision) in enumerate(zip(clusters.all, decisions, strict=True)):
        block = best[np.ix_(cluster.rows, cluster.columns)]
        chosen = sorted(int(cluster.rows[i]) for i in _pivots(block.T, decision.rank))
        redundant = tuple(model.constraint_names[i] for i in cluster.rows if i not in chosen)
        decisions[place] = replace(decision, redundant=redundant)
        rows += chosen
    rows.sort()
    found = Coordinates(len(rows), tuple(rows), (), (), best[rows], tuple(decisions))
    if wanted is not None:
        return _checked(found, tuple(sorted(wanted)), model.v_names)
    return preferred(found, driven)


@one_blas_thread()
def preferred(found: Coordinates, driven: Array) -> Coordinates:
    """Return coordinates with independent freedoms among the ``driven`` ones if possible, the rest by pivoting."""
    k, most, nv = found.sample, found.rank, found.sample.shape[-1]
    order = tuple(int(j) for j in np.flatnonzero(driven))
    if len(order) == nv - most:
        rest = [j for j in range(nv) if j not in order]
        if rank.numerical_rank(k[:, rest], least=found.least) == most:
            return replace(found, independent=order, dependent=tuple(rest))
    dependent = tuple(sorted(_pivots(k * np.where(driven, PREFERENCE, 1.0), most)))
    return replace(found, independent=tuple(j for j in range(nv) if j not in dependent), dependent=dependent)


@one_blas_thread()
def including(found: Coordinates, given: Sequence[int], driven: Array, names: Sequence[str]) -> Coordinates:
    """Return coordinates with the ``given`` freedoms independent, the others among the driven ones if possible."""
    k, most = found.sample, found.rank
    rest = [j for j in range(k.shape[-1]) if j not in given]
    listed = ", ".join(names[j] for j in given)
    if len(given) > found.sample.shape[-1] - most:
        raise SingularError(
            f"the mechanism has {k.shape[-1] - most} freedoms, but the motion of {len(given)} is given ({listed}): "
            "give at most as many as there are freedoms; the others follow"
        )
    if most and rank.numerical_rank(k[:, rest], least=found.least) < most:
        raise SingularError(
            f"the motion of {listed} cannot be given together: by the loops some of these follow from the others; "
            "leave one out"
        )
    light = np.where(driven[rest], PREFERENCE, 1.0)
    dependent = tuple(sorted(rest[j] for j in _pivots(k[:, rest] * light, most)))
    return replace(found, independent=tuple(j for j in range(k.shape[-1]) if j not in dependent), dependent=dependent)


def decide(cluster: Cluster, values: Array, gaps: Array, rounding: float | None) -> Decision:
    """Return how many constraints of a cluster are independent, from singular values (S, k) at closed configurations.

    The largest of each among the samples decides, so that a singular sample does not.  If some gaps cannot be closed,
    constraints contradict each other: numbers are rounded, and weak constraints are only that rounding.  Some become
    stronger the farther away a sample is, so a typical value among the samples decides in that case.
    """
    contradicted = bool(np.abs(gaps[:, cluster.rows] * cluster.row_scale).max(initial=0.0) > CONTRADICTED)
    if rounding is not None:
        gap = rank.by_gap(values.max(axis=0, initial=0.0), rounding)
    elif not contradicted:
        gap = rank.by_gap(values.max(axis=0, initial=0.0), LEAST)
    else:
        gap = rank.by_gap(np.median(values, axis=0))
    rounded = gap.dropped > NOTHING and (contradicted or rounding is not None)
    decision = Decision(cluster.loops, len(cluster.rows), gap.rank, gap.least, gap.dropped, rounded)
    if not gap.is_clear:
        typical = np.median(values, axis=0)
        listed = ", ".join(f"{x:.2g}" for x in typical / max(1.0, float(typical[0])))
        raise SingularError(
            f"how many of the {len(cluster.rows)} constraints of {', '.join(cluster.loops)} are independent is not "
            f"clear: the singular values {listed} have no gap of a factor {CLEAR:g} that distinguishes "
            "constraints from rounding of the numbers in the file. Give these numbers with more digits, or state "
            f"what counts as rounding: kinetree.Mechanism(robot.model, rounding={(gap.least * gap.dropped) ** 0.5:.0e})"
        )
    return decision


def _finite(blocks: Array) -> Array:
    return np.where(np.isfinite(blocks).all(axis=(-1, -2), keepdims=True), blocks, 0.0)


def _pivots(matrix: Array, count: int) -> list[int]:
    """Return the columns that span the others best, by pivoted QR, in any order."""
    if not count:
        return []
    present = np.flatnonzero(matrix.any(axis=0))
    if len(present) == count:
        return [int(j) for j in present]
    from scipy.linalg import qr  # importing takes a tenth of a second, which robots without loops are spared

    return [int(j) for j in qr(matrix, mode="r", pivoting=True)[1][:count]]


def _checked(found: Coordinates, wanted: tuple[int, ...], names: Sequence[str]) -> Coordinates:
    listed = ", ".join(names[j] for j in wanted)
    freedoms = len(names) - found.rank
    if len(wanted) != freedoms:
        raise SingularError(f"the mechanism has {freedoms} freedoms, but {len(wanted)} were named: {listed or 'none'}")
    rest = tuple(j for j in range(len(names)) if j not in wanted)
    if rank.numerical_rank(found.sample[:, list(rest)], least=found.least) < found.rank:
        raise SingularError(f"{listed} cannot be the independent freedoms: the others do not follow from them")
    return replace(found, independent=wanted, dependent=rest)


def by_name(given: ByName, names: Sequence[str], called: str) -> Array:
    """Return numbers of the independent freedoms in their order, (..., freedoms).

    Parameters
    ----------
    given : array_like or mapping from name to array_like
    names : sequence of str
        Names of the independent freedoms.
    called : str
        Name of the argument.
    """
    if not isinstance(given, Mapping):
        return as_array(given, (len(names),), called, f"one per independent freedom: {', '.join(names[:12])}")
    for name in given:
        if name not in names:
            raise UnknownNameError("independent freedom", name, names)
    missing = [name for name in names if name not in given]
    if missing:
        raise ShapeError(
            f"{called} must give all independent freedoms: {', '.join(missing)} missing. Idle ones, such as the spin "
            f"of a rod between two balls, must be given as well, {missing[0]!r}: 0 for instance"
        )
    columns = [as_array(given[name], (), f"{called} of {name!r}") for name in names]
    try:
        return np.stack(np.broadcast_arrays(*columns), axis=-1)
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in zip(names, columns, strict=True))
        raise ShapeError(f"{called} has batches that do not fit together: {shapes}") from None


@one_blas_thread()
def basis(k: Array, chosen: Coordinates, names: Sequence[str], scale: float) -> Array:
    """Return the matrix G of ``v = G v_independent`` (Khalil eq. 10.36), (..., nv, freedoms), from K (..., nc, nv)."""
    dependent, independent = list(chosen.dependent), list(chosen.independent)
    g = np.zeros((*k.shape[:-2], k.shape[-1], len(independent)))
    g[..., independent, range(len(independent))] = 1.0
    if dependent:
        g[..., dependent, :] = follow(k, -k[..., independent], chosen, names, scale)
    return g


@one_blas_thread()
def follow(k: Array, rhs: Array, chosen: Coordinates, names: Sequence[str], scale: float) -> Array:
    """Solve ``K_d x = rhs``, d being the dependent freedoms; the error says which states leave them undetermined."""
    columns = k[..., list(chosen.dependent)]
    found = rank.numerical_rank(columns, scale, chosen.least) < chosen.rank
    if (found & np.isfinite(columns).all(axis=(-1, -2))).any():
        listed = ", ".join(names[j] for j in chosen.independent)
        raise SingularError(
            f"singular configuration: the mechanism's motion does not follow from {listed} here; "
            "see mobility(q), or choose others with with_independent([...])"
        )
    return _solved(columns, rhs, chosen)


def _solved(columns: Array, rhs: Array, chosen: Coordinates) -> Array:
    """Solve for dependent freedoms: long chains of loops by sparse factors, others by singular values."""
    batch = np.broadcast_shapes(columns.shape[:-2], rhs.shape[:-2])
    if min(columns.shape[-2:]) < LARGE or not np.prod(batch):
        return rank.least_squares(columns, rhs, chosen.rank)
    lanes = [np.broadcast_to(x, (*batch, *x.shape[-2:])).reshape(-1, *x.shape[-2:]) for x in (columns, rhs)]
    found = []
    for k, side in zip(*lanes, strict=True):
        solution = square_solution(k[list(chosen.rows)], side[list(chosen.rows)])
        found.append(rank.least_squares(k, side, chosen.rank) if solution is None else solution)
    return np.reshape(found, (*batch, columns.shape[-1], rhs.shape[-1]))
