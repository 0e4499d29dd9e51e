"""Changes of parameters that do not affect any torque, found numerically: QR with pivoting of sampled regressors.

Torques are linear in the parameters.  Sampled at random states they form a tall matrix, whose dependent columns show
which parameters act together (Khalil section 10.3.4; the numerical method of its appendix 5).  This needs no theory of
joints, trees and loops, so it is a check of the other methods, and finds the additional changes due to closed loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular

from ..errors import SingularError
from ..evaluation.evaluator import Evaluator
from ..spatial.arrays import Array
from .base_by_null_space import random_positions
from .grouping import triangular
from .parameters_to_group import Considered

CHUNK = 64
"""Number of states at a time; the matrix itself is never stored."""

ROUNDING, CLEAR = 1e-12, 1e-6
"""Pivots below the first fraction of the largest are rounding errors, and those above the second are significant; in
between, it is undecided. The same holds for lengths of columns in the robot's own units.
"""


class Motions(NamedTuple):
    """Random states of a robot, and the basis G of a mechanism by which its torques are multiplied; None for a tree."""

    q: Array
    v: Array
    a: Array
    basis: Array | None = None


Draw = Callable[[int, np.random.Generator], Motions]


class Found(NamedTuple):
    """Changes that affect no force, in units of :attr:`Considered.sizes`, and how clearly they differ from others."""

    unnoticed: Array
    gap: float


def random_motions(considered: Considered) -> Draw:
    """Return a function that draws states of a tree: any positions, rates and accelerations at the robot's scale."""
    model, length, time = considered.model, considered.length, considered.time

    def draw(count: int, rng: np.random.Generator) -> Motions:
        q = np.zeros((count, model.nq))
        for joint in model.joints:
            if not joint.mimic:
                q[:, joint.q_slice] = random_positions(joint.kind, length, rng, count)
        unit = freedom_sizes(considered)
        v, a = rng.standard_normal((2, count, model.nv)) * unit
        return Motions(q, v / time, a / time**2)

    return draw


def freedom_sizes(considered: Considered) -> Array:
    """Return one unit of each freedom: a radian, or the robot's length."""
    return np.array([considered.length if unit == "m" else 1.0 for unit in considered.model.v_units])


def triangle(considered: Considered, draw: Draw, columns: tuple[int, ...], seed: int = 0) -> Array:
    """Return R of the QR decomposition of sampled regressors, with columns in the robot's own units."""
    rng = np.random.default_rng(seed)
    # every freedom of a tree depends on a dozen parameters that no outer freedom depends on; followers and loops on
    # more
    coupled = considered.model.has_followers or considered.model.is_constrained
    states = len(columns) + 50 if coupled else max(40, 4 * len(columns) // max(considered.model.nv, 1))
    result = np.zeros((0, len(columns)))
    for count in _portions(states):
        rows = sampled_rows(considered, draw(count, rng))[:, list(columns)]
        rows = rows[np.isfinite(rows).all(axis=-1)]
        result = triangular(np.concatenate([result, rows]))
    return result


def _portions(total: int) -> Iterator[int]:
    while total > 0:
        yield min(CHUNK, total)
        total -= CHUNK


def sampled_rows(considered: Considered, motions: Motions) -> Array:
    """Return torques per unit of each parameter, one row per freedom and state, all in the robot's own units."""
    model = considered.model
    evaluator = Evaluator(model.opened(), "reference")
    options = {"parameters": "all", "friction": considered.friction}
    matrix = evaluator.run("regressor", options, q=motions.q, v=motions.v, a=motions.a)
    unit = freedom_sizes(considered)
    if motions.basis is not None:
        matrix = np.swapaxes(motions.basis, -1, -2) @ matrix
        unit = np.ones(matrix.shape[-2])
    matrix = matrix * unit[:, None] * considered.time**2 / considered.length**2 * considered.sizes
    return np.asarray(matrix.reshape(-1, matrix.shape[-1]))


def unnoticed(
    considered: Considered, draw: Draw, columns: tuple[int, ...] | None = None, in_between: str = "refuse"
) -> Found:
    """Return the changes of parameters that affect no sampled torque.

    draw: A function that draws states: :func:`random_motions` for a tree, closed states for a mechanism.
    columns: The parameters that may change; all considered ones by default.
    in_between: {"refuse", "ignore"}. What to do with effects that are too large to be rounding errors and too small to
        be significant.

    Raises
    ------
    SingularError
        If there is no clear gap between significant pivots and rounding errors, and ``in_between`` is ``"refuse"``.
    """
    least = ROUNDING if in_between == "refuse" else CLEAR
    chosen = considered.columns if columns is None else columns
    if not chosen:
        return Found(np.zeros((len(considered.rows), 0)), np.inf)
    r = triangle(considered, draw, chosen)
    lengths = np.linalg.norm(r, axis=0)
    relative = lengths / max(lengths.max(initial=0.0), 1e-300)
    _refuse_in_between(relative, least, considered, "effects of single parameters")
    felt, silent = np.flatnonzero(relative > least), np.flatnonzero(relative <= least)
    scaled = r[:, felt] / lengths[felt]  # columns of length one, so that units of parameters do not matter
    _, pivoted, places = qr(scaled, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(pivoted))
    _refuse_in_between(pivots / max(pivots.max(initial=0.0), 1e-300), least, considered, "pivots")
    rank = int((pivots > least * pivots.max(initial=0.0)).sum())
    gap = float(pivots[rank - 1] / max(pivots[rank], 1e-300)) if 0 < rank < len(pivots) else np.inf
    basis = np.zeros((len(considered.rows), len(silent) + len(felt) - rank))
    picked = np.array(chosen)
    basis[picked[silent], np.arange(len(silent))] = 1.0
    dependent = solve_triangular(pivoted[:rank, :rank], pivoted[:rank, rank:])
    at = picked[felt[places]]
    basis[at[:rank], len(silent) :] = -dependent / lengths[felt[places[:rank]]][:, None]
    basis[at[rank:], np.arange(len(silent), basis.shape[1])] = 1.0 / lengths[felt[places[rank:]]]
    return Found(basis / np.maximum(np.linalg.norm(basis, axis=0), 1e-300), gap)


def _refuse_in_between(relative: Array, least: float, considered: Considered, what: str) -> None:
    """Refuse numbers that are too large to be rounding errors and too small to be significant."""
    unclear = relative[(relative > least) & (relative < CLEAR)]
    if unclear.size:
        raise SingularError(
            f"no clear gap between parameters of {considered.model.name!r} that count and those that do not: there are "
            f"{what} of {unclear.max():.0e} and {unclear.min():.0e} of the largest. Axes that are almost parallel or "
            "almost meet (1.5708 for pi/2 in a file) do that: round the geometry with a larger tolerance, or use "
            "method='rules' or 'null_space'; in_between='ignore' treats all of them as rounding. For a mechanism, "
            "start from a less singular configuration, q_guess="
        )
