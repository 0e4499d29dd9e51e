"""The small systems of equations of a subsystem-level recursion, for batches of states (B, ...)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...errors import SingularError
from ...model.tree import Model
from ...spatial.arrays import Array
from ..tolerances import LEAST
from .order import SolutionStep

Place = Callable[[int], str]
"""Returns words for the failing state of a batch, given the lane in which it is computed."""

CONDITION_LIMIT = 1e13
"""Equations worse conditioned than this have no useful solution."""


class Cut(NamedTuple):
    """The multipliers of a loop joint that have an effect."""

    name: str
    rows: Array
    """Its rows of K."""
    rank: int
    chosen: Array | None
    """The rows that have an effect, if they are independent; None if all rows have to be combined."""
    dofs: frozenset[int]
    """Degrees of freedom that the cut involves."""


def find_cuts(model: Model, sample: Array) -> list[Cut]:
    """Return the loop joints and couplings of a mechanism, with their effect at some states (S, nc, nv)."""
    found, used = [], 0
    for name, count in [(x.name, x.count) for x in model.loops] + [(x.name, 1) for x in model.couplings]:
        rows = np.arange(used, used + count)
        used += count
        part = sample[:, rows, :]
        largest = np.abs(part).max(axis=(1, 2), initial=0.0)
        seen = np.abs(part) > LEAST * largest[:, None, None]
        rank = generic_rank(part)
        active = rows[seen.any(axis=(0, 2))]
        dofs = frozenset(np.flatnonzero(seen.any(axis=(0, 1))).tolist())
        found.append(Cut(name, rows, rank, active if len(active) == rank else None, dofs))
    return found


def generic_rank(matrices: Array) -> int:
    """Return the rank that a stack of matrices has nearly everywhere: the largest that is found."""
    if 0 in matrices.shape:
        return 0
    values = np.linalg.svd(matrices, compute_uv=False)
    return int((values > LEAST * values[:, :1]).sum(axis=1).max())


class Effective(NamedTuple):
    """The effective constraints of a cut: ``matrix`` (B, rank, nv), and the map back to the multipliers."""

    matrix: Array
    back: Array | None


def effective(cut: Cut, k: Array) -> Effective:
    """Return as many constraints of a cut as are independent."""
    if cut.chosen is not None:
        return Effective(k[:, cut.chosen, :], None)
    # an orthonormal basis of the forces that do something; multipliers along it are of minimum norm
    u, s, vt = np.linalg.svd(k[:, cut.rows, :], full_matrices=False)
    r = cut.rank
    return Effective(s[:, :r, None] * vt[:, :r], u[:, :, :r])


def determinate(step: SolutionStep, matrix: Array, rest: Array, weights: Array, place: Place) -> tuple[Array, Array]:
    """Solve for as many unknowns as equations (Saha eq. 42)."""
    f = square(matrix, step.dofs, step.actuated)
    n = len(step.dofs)
    sides = np.concatenate([rest[:, :, None], np.broadcast_to(np.eye(n), f.shape)], axis=2)
    try:
        solved = np.linalg.solve(f, sides)
        condition = np.abs(solved[:, :, 1:]).sum(axis=1).max(axis=1) * np.abs(f).sum(axis=1).max(axis=1)
    except np.linalg.LinAlgError:
        condition = np.linalg.cond(f, 1)
    bad = ~(condition < CONDITION_LIMIT)
    if bad.any():
        raise _singular(step, place, int(np.argmax(bad)))
    na = len(step.actuated)
    return solved[:, :na, 0], solved[:, na:, 0]


def smallest(step: SolutionStep, matrix: Array, rest: Array, weights: Array, place: Place) -> tuple[Array, Array]:
    """Solve for more unknowns than equations: the smallest torques first, then the smallest multipliers.

    Along the freedoms N of the subsystems (K N = 0) loop forces do no work, so that
    N^T tau = N^T tau_tree holds for the torques alone (Khalil eq. 10.40).
    """
    r = step.rank
    u, s, vt = np.linalg.svd(matrix, full_matrices=True)
    freedoms = vt[:, r:, :]
    own = [step.dofs.index(k) for k in step.actuated]
    scale = 1.0 / np.sqrt(weights)
    reach = freedoms[:, :, own] * scale
    ur, sr, vr = np.linalg.svd(reach, full_matrices=False)
    bad = _falls(s, r) | _falls(sr, freedoms.shape[1])
    if bad.any():
        raise _singular(step, place, int(np.argmax(bad)))
    work = np.einsum("bfi,bi->bf", freedoms, rest)
    torques = scale * np.einsum("bfa,bf,bgf,bg->ba", vr, 1.0 / sr, ur, work)
    left = rest.copy()
    left[:, own] -= torques
    forces = np.einsum("bcr,br,bri,bi->bc", u[:, :, :r], 1.0 / s[:, :r], vt[:, :r], left)
    return torques, forces


def _falls(values: Array, rank: int) -> Array:
    """Return which of a stack of singular values do not reach a rank."""
    if rank == 0:
        return np.zeros(len(values), dtype=bool)
    return ~(values[:, rank - 1] > LEAST * values[:, 0])


def _singular(step: SolutionStep, place: Place, lane: int) -> SingularError:
    together = " + ".join(step.subsystems)
    return SingularError(
        f"the equations of subsystem {together} (joints {', '.join(step.joints)}) are singular{place(lane)}: "
        f"the {'multipliers of ' + ', '.join(step.cuts) if step.cuts else 'torques'} are not determined. "
        "Move away from the singular configuration, or actuate another joint"
    )


def columns(effective: Sequence[Array], dofs: Sequence[int], count: int | None = None) -> Array:
    """Return constraint rows of several cuts, restricted to some degrees of freedom: (B, unknowns, equations)."""
    if not effective:
        return np.zeros((1 if count is None else count, 0, len(dofs)))
    return np.concatenate([e[:, :, list(dofs)] for e in effective], axis=1)


def square(matrix: Array, dofs: Sequence[int], actuated: Sequence[int]) -> Array:
    """Return the matrix F = [J_a^T J^T] of Shah eq. 8.4 for some subsystems."""
    select = np.zeros((len(matrix), len(dofs), len(actuated)))
    for column, k in enumerate(actuated):
        select[:, list(dofs).index(k), column] = 1.0
    return np.concatenate([select, np.swapaxes(matrix, 1, 2)], axis=2)
