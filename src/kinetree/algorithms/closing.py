"""Closing loops by Newton's method, over any scalar: from a guess to the configuration beside it that is closed.

From a guess q the next one is a part of the shortest way to where the loops would close if they were linear,

    q <- q + share * move,    move = -W K^T (K W K^T)^-1 gap,    |move| no longer than the longest step,

with K the rows that are independent of one another, and W the squares of how far a step may go along each freedom:
radians and meters are compared by that.  A guess that leaves the loops wider open than the one before is not taken;
a quarter of the way is tried next.  Where the platform of a parallel manipulator, or any frame, has a goal, its rows
come after those of the loops, as if one more joint welded the frame there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..model.tree import Model
from ..spatial import IDENTITY, Scalar, Transform, arctan2, sqrt, where
from . import constraints, kinematics
from .constrained import ShortestWay, inner
from .jacobian import express, frame_columns
from .passes import Scalars

Ask = Callable[[list[Scalar]], Sequence[Scalar]]
"""How a step asks for what :func:`judge` finds at a configuration: as one list of numbers."""

LONGEST_STEP = 0.5
"""Longest step, in radians or meters: far steps lose the branch that the guess belongs to.

Mechanisms of many meters go as many times farther (:attr:`kinetree.loops.clusters.Cluster.reach`).
"""

DAMPING = 1.0
"""Of the squared gaps, as lengths: what a wide gap asks for along weak constraints is not taken at its word."""

SHORTER = 0.25
"""Part of a step that is tried where the whole of it leads farther off."""

NO_TURN = 1e-16
"""Squared sines below this are those of no turn at all."""


class ClosingTask(NamedTuple):
    """What is to be closed, and what may move for that."""

    rows: tuple[int, ...]
    """Constraints that are independent of one another; after those of the loops come the rows of the goal."""
    free: tuple[int, ...]
    """Freedoms that may move."""
    weights: tuple[float, ...]
    """What makes every gap a length, of all constraints."""
    reach: tuple[float, ...]
    """How far a step may go along each free freedom where a hinge turns by a radian."""
    arm: float
    """How long levers usually are: rows that are much shorter are rounding."""
    frame: str = ""
    """A frame with a goal."""
    goal_size: int = 0
    """Numbers of that goal: 3 of a position; 12, the first rows of a pose, of a position and an orientation."""

    @property
    def n_goal_rows(self) -> int:
        """Count the rows of the goal."""
        return min(self.goal_size, 6)

    @property
    def state_size(self) -> int:
        """Count the numbers that go from one guess to the next."""
        return len(self.free) + 4


class Judged(NamedTuple):
    """A guess, and what follows from it."""

    move: list[Scalar]
    """Of the free freedoms, in units of their reach."""
    size: Scalar
    """Sum of the squares of all gaps, as lengths."""
    quality: Scalar
    """How independent the rows are there: 0 for dependent ones, 1 at best."""
    worst: Scalar
    """Sum of the squares of all gaps, in meters and radians."""


def judge(tree: Model, task: ClosingTask, q: Scalars, goal: Scalars = ()) -> Judged:
    """Return how far open the loops are at a guess, and the way to where they would close."""
    matrix, pose = _matrix(tree, task, q)
    gaps = constraints.gaps(tree, q) + (_off_goal(pose.homogeneous(), goal) if task.frame else [])
    lengths = [w * gap for w, gap in zip(task.weights, gaps, strict=True)]
    size = inner(lengths, lengths)
    way = ShortestWay(_movable(task, matrix), DAMPING * size)
    move = way.back([lengths[i] for i in task.rows])
    length = sqrt(inner(move, move))
    part = where(length > LONGEST_STEP, LONGEST_STEP / length, 1.0)
    return Judged([part * x for x in move], size, way.quality(task.arm * task.arm), inner(gaps, gaps))


def _matrix(tree: Model, task: ClosingTask, q: Scalars) -> tuple[list[list[Scalar]], Transform]:
    """Return K with the rows of the goal below it, and the pose of the frame that has it."""
    posed = kinematics.poses(tree, q)
    matrix = constraints.constraint_matrix(tree, q, posed)
    if not task.frame:
        return matrix, IDENTITY
    columns, pose = frame_columns(tree, q, task.frame, posed)
    six_rows = [list(row) for row in zip(*(express(column, pose, "aligned") for column in columns), strict=True)]
    return matrix + six_rows[6 - task.n_goal_rows :], pose


def _movable(task: ClosingTask, matrix: Sequence[Scalars]) -> list[list[Scalar]]:
    """Return the rows that count, as lengths, per unit of what is free, in units of its reach."""
    return [[task.weights[i] * matrix[i][j] * r for j, r in zip(task.free, task.reach, strict=True)] for i in task.rows]


def astray(tree: Model, task: ClosingTask, q: Scalars, there: Scalars, rates: Scalars) -> tuple[Scalar, Scalar]:
    """Return how far one closed configuration is from where another leads to, and how long the way is, both squared.

    Parameters
    ----------
    tree : Model
    task : ClosingTask
    q, there : scalars
        Closed configurations.
    rates : scalars
        Of the freedoms that are not free, in their order, then of the goal: what leads from one to the other in unit
        time.
    """
    held = [j for j in range(tree.nv) if j not in task.free]
    v: list[Scalar] = [0.0] * tree.nv
    for j, x in zip(held, rates, strict=False):
        v[j] = x
    matrix, _ = _matrix(tree, task, q)
    first = len(matrix) - task.n_goal_rows
    slips = [inner(row, v) - (rates[len(held) + i - first] if i >= first else 0.0) for i, row in enumerate(matrix)]
    move = ShortestWay(_movable(task, matrix)).back([task.weights[i] * slips[i] for i in task.rows])
    for j, r, x in zip(task.free, task.reach, move, strict=True):
        v[j] = r * x
    off = kinematics.difference(tree, kinematics.integrate(tree, q, v), there)
    return inner(off, off), inner(v, v)


def _off_goal(pose: Sequence[Scalars], goal: Scalars) -> list[Scalar]:
    """Return how far a frame is from its goal: rotation vector, if that counts, and displacement, along world axes."""
    if len(goal) == 3:
        return [row[3] - x for row, x in zip(pose, goal, strict=False)]
    wanted = [goal[4 * i : 4 * i + 4] for i in range(3)]
    r = [[inner(own[:3], other[:3]) for other in wanted] for own in pose[:3]]
    twice_sine = [r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]]
    square = 0.25 * inner(twice_sine, twice_sine)
    cosine = 0.5 * (r[0][0] + r[1][1] + r[2][2] - 1.0)
    small = square < NO_TURN
    sine = sqrt(where(small, 1.0, square))
    # half a turn off there is no telling which way: NaN, so that nobody takes it for none
    factor = where(small, where(cosine < 0.0, float("nan"), 0.5), 0.5 * arctan2(sine, cosine) / sine)
    return [factor * x for x in twice_sine] + [row[3] - x[3] for row, x in zip(pose, wanted, strict=False)]


def start(task: ClosingTask) -> list[float]:
    """Return what the first guess comes with: no way yet, and a size that any guess falls below."""
    return [0.0] * (len(task.free) + 1) + [float("inf"), 0.0, float("inf")]


def next_guess(tree: Model, task: ClosingTask, ask: Ask, state: Scalars) -> list[Scalar]:
    """Return the next guess with what comes with it; ``ask`` answers with the numbers of :func:`judge`."""
    q, rest = state[: tree.nq], state[tree.nq :]
    count = len(task.free)
    move, share, size, quality, worst = rest[:count], *rest[count:]
    v: list[Scalar] = [0.0] * tree.nv
    for j, r, x in zip(task.free, task.reach, move, strict=True):
        v[j] = share * (r * x)
    there = kinematics.integrate(tree, q, v)
    *turned, new_size, new_quality, new_worst = ask(there)
    better = new_size < size
    return [
        *(where(better, x, y) for x, y in zip(there, q, strict=True)),
        *(where(better, x, y) for x, y in zip(turned, move, strict=True)),
        where(better, 1.0, SHORTER * share),
        where(better, new_size, size),
        where(better, new_quality, quality),
        where(better, new_worst, worst),
    ]
