"""Closing loops: damped Newton steps on all lanes of a batch at once.

The approach uses the Levenberg-Marquardt rule for each cluster of loops, and ignores constraints that are weaker than
the rounding of a file's numbers.  Newton steps along the constraints that count follow, to the last digit.  If
redundant constraints contradict each other because of rounding, the remaining error is the least-squares minimum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..algorithms.newton_closing_step import LONGEST_STEP
from ..spatial.arrays import Array
from . import long_chains
from .clusters import Clusters, Stack
from .limits import PositionLimits
from .tolerances import LEAST, ROUNDING

MOST_STEPS = 200
NUDGE = 0.01
"""How far a guess without a preferred direction is moved, in radians or meters; large mechanisms move farther."""

LEAST_DAMPING = 1e-4
"""Least damping of the approach: it ignores constraints that may be rounding errors."""

STALLED = 8
"""A lane is given up after this many steps with next to no progress."""

POLISHING = 20
"""The most Newton steps at the end."""

HANDED_OVER = 1e-3
"""Gaps below this, in meters and radians, are left to the last steps, so that rounding causes no motion."""

NEARBY = 0.05
"""Steps of less than this total length, in radians or meters, count as a short way."""


class Closed(NamedTuple):
    """Configurations, the remaining gaps, and how good they are."""

    q: Array
    gaps: Array
    done: Array
    """Whether every gap is below the tolerance."""
    held: Array
    """Whether the combinations of gaps that count are below it; contradicting constraints may leave others open."""
    moved: Array
    """Length of the last steps."""


@dataclass(frozen=True)
class ClosingProblem:
    """A problem of closing loops.

    Attributes
    ----------
    gaps, matrix : callables
        Map configurations (N, nq) to gaps (N, nc) and constraint matrices (N, nc, nv).
    step : callable
        Moves configurations along velocities (N, nv) for unit time.
    clusters : Clusters
    free : ndarray of bool, shape (nv,)
        Which velocities may move.
    limits : PositionLimits, optional
        Limits that joints must not leave; a joint at its limit that would move further is left out of a step.
    """

    gaps: Callable[[Array], Array]
    matrix: Callable[[Array], Array]
    step: Callable[[Array, Array], Array]
    clusters: Clusters
    free: Array
    limits: PositionLimits | None = None

    def moved(self, q: Array, v: Array) -> Array:
        """Return configurations after a step, as far as limits allow it."""
        there = self.step(q, v)
        return there if self.limits is None else self.limits.clipped(there, self.free)

    def movable(self, q: Array, left: Array) -> Array:
        """Return K without the columns that must not move: held velocities, and joints that push against a limit.

        Velocities are in units of the longest step along each.
        """
        k = self.matrix(q) * (self.free * self.reach)
        if self.limits is not None:
            pull = np.zeros((len(q), len(self.free)))
            for stack in self.clusters.stacks:
                pull[:, stack.columns] = -np.einsum("...ij,...i->...j", stack.blocks(k), stack.gaps(left))
            k = np.where(self.limits.blocked(q, pull)[:, None, :], 0.0, k)
        return k

    def size(self, left: Array) -> Array:
        """Return the sum of the squares of all gaps, as lengths."""
        return np.asarray(sum((stack.gaps(left) ** 2).sum(axis=(-1, -2)) for stack in self.clusters.stacks))

    @cached_property
    def reach(self) -> Array:
        """How far a step may go along each velocity, (nv,)."""
        found = np.ones(len(self.free))
        for cluster in self.clusters.all:
            found[cluster.columns] = cluster.reach
        return found

    def scatter(self, moves: Sequence[Array], count: int) -> Array:
        """Return the moves of all clusters combined, at most :data:`LONGEST_STEP` in all."""
        whole = np.zeros((count, len(self.free)))
        for stack, move in zip(self.clusters.stacks, moves, strict=True):
            whole[:, stack.columns] = move
        length = np.linalg.norm(whole, axis=-1, keepdims=True)
        return np.asarray(whole * np.minimum(1.0, LONGEST_STEP / np.maximum(length, 1e-300)) * self.reach)


@dataclass(frozen=True)
class Counting:
    """Which constraints count, if that is known: how many of each cluster, and how weak they may be."""

    ranks: tuple[int, ...]
    least: float


def close(
    problem: ClosingProblem,
    q: Array,
    tolerance: float,
    counting: Counting | None = None,
    any_will_do: bool = False,
    most_steps: int = MOST_STEPS,
) -> Closed:
    """Move the free velocities until every gap is below ``tolerance``, or as small as it can be; q is (N, nq).

    With ``any_will_do``, stop as soon as one lane is closed.
    """
    with np.errstate(all="ignore"):
        q, left = _nudged(problem, q.copy())
        _approach(problem, q, left, tolerance, any_will_do, most_steps)
        return _polished(problem, q, left, tolerance, counting)


def close_wherever_it_can_be(
    problem: ClosingProblem, q: Array, tolerance: float, any_will_do: bool = False, most_steps: int = MOST_STEPS
) -> Closed:  # fmt: skip
    """Close before it is known which constraints count: satisfy weak ones too if that takes only a short way.

    The way is short if they are weak because the configuration is nearly singular, and long if they are rounding
    errors.
    """
    first = close(problem, q, tolerance, None, any_will_do, most_steps)
    unmet = np.flatnonzero(first.held & ~first.done)
    if len(unmet):
        everything = tuple(len(cluster.rows) for cluster in problem.clusters.all)
        counting = Counting(everything, LEAST)
        again = polish(problem, first.q[unmet], tolerance, counting)
        near = again.done & (again.moved < NEARBY)
        lanes = unmet[near]
        first.q[lanes], first.gaps[lanes], first.done[lanes] = again.q[near], again.gaps[near], True
    return first


def polish(problem: ClosingProblem, q: Array, tolerance: float, counting: Counting | None) -> Closed:
    """Take only the last steps, from configurations that are nearly closed."""
    with np.errstate(all="ignore"):
        return _polished(problem, q.copy(), problem.gaps(q), tolerance, counting)


def _polished(problem: ClosingProblem, q: Array, left: Array, tolerance: float, counting: Counting | None) -> Closed:
    held, moved = _polish(problem, q, left, tolerance, counting)
    return Closed(q, left, np.abs(left).max(axis=-1, initial=0.0) <= tolerance, held, moved)


def _nudged(problem: ClosingProblem, q: Array) -> tuple[Array, Array]:
    """Return guesses moved away from where gaps give no direction, as with both ends of a rod in one place."""
    left = problem.gaps(q)
    lost = ~np.isfinite(left).all(axis=-1)
    far = np.flatnonzero(~lost & (np.abs(left).max(axis=-1, initial=0.0) > NUDGE))
    if len(far):
        lost[far] = ~np.isfinite(problem.matrix(q[far])).all(axis=(-1, -2))
    lost &= np.isfinite(q).all(axis=-1)
    _nudge(problem, q, left, lost)
    return q, left


def nudge(free: Array, reach: Array) -> Array:
    """Return a small move (nv,) in no particular direction."""
    move = np.random.default_rng(0).standard_normal(len(free)) * free
    return np.asarray(move * reach * (NUDGE / (np.linalg.norm(move) or 1.0)))


def _nudge(problem: ClosingProblem, q: Array, left: Array, lanes: Array) -> None:
    if lanes.any():
        q[lanes] = problem.moved(q[lanes], np.tile(nudge(problem.free, problem.reach), (int(lanes.sum()), 1)))
        left[lanes] = problem.gaps(q[lanes])


def _approach(
    problem: ClosingProblem, q: Array, left: Array, tolerance: float, any_will_do: bool, most_steps: int
) -> None:  # fmt: skip
    """Apply the Levenberg-Marquardt rule to each lane, in place.

    The damping decreases after a step that brought the loops closer together and grows after one that did not, which is
    then undone.
    """
    size = problem.size(left)
    damping = np.full(len(q), 1e-3)
    idle = np.zeros(len(q), dtype=int)
    nudged = np.zeros(len(q), dtype=bool)
    before: list[tuple[Array, Array, Array, Array]] = []
    for _ in range(most_steps):
        near = np.abs(left).max(axis=-1, initial=0.0) <= max(tolerance, HANDED_OVER)
        if any_will_do and near.any():
            break
        stuck = (
            np.isfinite(size) & ~near & ~nudged & (idle >= STALLED) & (np.abs(left).max(axis=-1, initial=0.0) > NUDGE)
        )
        if stuck.any():  # half a turn off, or all in one line, steps may stall although there is a way right beside
            before.append((np.flatnonzero(stuck), q[stuck], left[stuck], size[stuck]))
            _nudge(problem, q, left, stuck)
            nudged |= stuck
            size[stuck], damping[stuck], idle[stuck] = problem.size(left[stuck]), 1e-3, 0
        active = np.flatnonzero(np.isfinite(size) & ~near & (idle < STALLED))
        if not len(active):
            break
        trial = problem.moved(q[active], _damped_step(problem, q[active], left[active], damping[active]))
        trial_left = problem.gaps(trial)
        trial_size = problem.size(trial_left)
        better = trial_size < size[active]
        gained = better & (trial_size < WORTHWHILE * size[active])
        idle[active] = np.where(gained, 0, idle[active] + 1)
        taken = active[better]
        q[taken], left[taken], size[taken] = trial[better], trial_left[better], trial_size[better]
        damping[active] = np.where(better, np.maximum(damping[active] * 0.1, LEAST_DAMPING), damping[active] * 10.0)
    for lanes, *was in before:  # steps that gained nothing are undone
        worse = ~(size[lanes] < was[2])
        q[lanes[worse]], left[lanes[worse]] = was[0][worse], was[1][worse]


WORTHWHILE = 0.998
"""A step is worthwhile if it leaves less than this of the sum of squares."""


def _damped_step(problem: ClosingProblem, q: Array, left: Array, damping: Array) -> Array:
    k = problem.movable(q, left)
    moves = []
    for stack in problem.clusters.stacks:
        blocks, gaps = stack.blocks(k), stack.gaps(left)
        squares = blocks @ np.swapaxes(blocks, -1, -2)
        diagonal = np.einsum("...ii->...i", squares)
        diagonal += damping[:, None, None] * (diagonal.max(axis=-1, keepdims=True) + 1e-300)
        forces = np.linalg.solve(squares, gaps[..., None])
        moves.append(-(np.swapaxes(blocks, -1, -2) @ forces)[..., 0])
    return problem.scatter(moves, len(q))


# ---------------------------------------------------------------- the last digits


def _polish(
    problem: ClosingProblem, q: Array, left: Array, tolerance: float, counting: Counting | None
) -> tuple[Array, Array]:
    """Take Newton steps along the constraints that count, in place, for lanes that are nearly closed."""
    held, moved = np.zeros(len(q), dtype=bool), np.zeros(len(q))
    largest = np.abs(left).max(axis=-1, initial=0.0)
    active = np.flatnonzero(largest <= max(NUDGE, tolerance))
    last = np.full(len(q), np.inf)
    for _ in range(POLISHING):
        if not len(active):
            break
        move, off = _newton_step(problem, q[active], left[active], counting)
        held[active] = off <= tolerance
        # good enough once it stops improving
        going = off < 0.5 * last[active]
        last[active] = off
        active, move = active[going], move[going]
        moved[active] += np.linalg.norm(move, axis=-1)
        q[active] = problem.moved(q[active], move)
        left[active] = problem.gaps(q[active])
        active = active[np.isfinite(left[active]).all(axis=-1)]
    return held, moved


def _newton_step(problem: ClosingProblem, q: Array, left: Array, counting: Counting | None) -> tuple[Array, Array]:
    """Return the shortest step, and how far off the constraints that count are."""
    k = problem.movable(q, left)
    moves, off = [], np.zeros(len(q))
    for stack in problem.clusters.stacks:
        blocks, gaps = _finite(stack.blocks(k)), stack.gaps(left)
        sparse = _sparse_steps(blocks, gaps, stack, counting)
        if sparse is not None:
            moves.append(sparse[0])
            off = np.maximum(off, sparse[1])
            continue
        u, s, vt = np.linalg.svd(blocks, full_matrices=False)
        kept = _counted(s, stack, counting)
        along = np.where(kept, (np.swapaxes(u, -1, -2) @ gaps[..., None])[..., 0], 0.0)
        inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
        moves.append(-(np.swapaxes(vt, -1, -2) @ (inverse * along)[..., None])[..., 0])
        off = np.maximum(off, np.abs(along).max(axis=(-1, -2), initial=0.0))
    return problem.scatter(moves, len(q)), off


def _sparse_steps(
    blocks: Array, gaps: Array, stack: Stack, counting: Counting | None
) -> tuple[Array, Array] | None:  # fmt: skip
    """Return the steps of large clusters (N, c, n) and their errors (N,); None if sparse factors do not apply."""
    if min(blocks.shape[-2:]) < long_chains.LARGE:
        return None
    moves, off = np.zeros((*blocks.shape[:-2], blocks.shape[-1])), np.zeros(blocks.shape[:-2])
    for lane in np.ndindex(*off.shape):
        if gaps[lane].any():  # otherwise there is nowhere to go
            most = None if counting is None else counting.ranks[stack.members[lane[1]]]
            least = ROUNDING if counting is None else counting.least
            step = long_chains.newton_step(blocks[lane], gaps[lane], least, most)
            if step is None:
                return None
            moves[lane], off[lane] = step
    return moves, off.max(axis=-1, initial=0.0)


def _finite(blocks: Array) -> Array:
    return np.where(np.isfinite(blocks).all(axis=(-1, -2), keepdims=True), blocks, 0.0)


def _counted(s: Array, stack: Stack, counting: Counting | None) -> Array:
    """Return which singular values (..., c, k) count."""
    relative = s / np.maximum(s[..., :1], 1e-300) if s.shape[-1] else s
    if counting is None:
        return np.asarray(relative > ROUNDING)
    most = np.array(counting.ranks)[stack.members]
    return (relative > counting.least) & (np.arange(s.shape[-1]) < most[:, None])
