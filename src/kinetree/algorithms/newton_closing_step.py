"""Closing loops and reaching goals by damped Newton steps from a guess, over any scalar.

From a guess q, the next one is a fraction of the shortest step that would close everything if it were linear,

    q <- q + share * move,    move = -W K^T (K W K^T + d)^-1 gap,    |move| no longer than the longest step,

where K contains the independent rows, W the squares of how far a step may go along each freedom (which makes radians
and meters comparable), and d is the damping of Levenberg and Marquardt, which goes to zero with the squares of the
gaps. A guess that leaves wider gaps than the previous one is rejected, and a quarter of the step is tried next. Goals
of frames add rows after those of the loops, as if another joint held each frame at its goal.

Rows that are dependent on others up to rounding, and contradict them, are satisfied in the least-squares sense. Rows
are divided into blocks that are solved one after the other; rows that only a few freedoms can satisfy come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..model.tree import Model
from ..spatial import IDENTITY, Matrix3, MatrixRotation, Scalar, Transform, Vec3, ldl, ldl_solve, sqrt, where
from ..spatial.exponential import quaternion_log
from ..spatial.rotation import quaternion_of
from . import kinematics, loop_constraints, placed_bodies
from .constrained_dynamics import RedundantRows, ShortestWay, inner, least_share
from .jacobian import columns_at, express, frame_columns
from .passes import Scalars

LONGEST_STEP = 0.5
"""Longest closing step, in radians or meters: longer steps may leave the branch that the guess belongs to. The limit is
proportionally longer for mechanisms of many meters (:attr:`kinetree.loops.clusters.Cluster.reach`).
"""

SHORTER = 0.25
"""Fraction of a step that is tried if the whole step increases the error."""

WORTHWHILE, STALLED = 0.998, 8
"""A step is worthwhile if it leaves less than this fraction of the sum of squares; a search ends after this many steps
that are not worthwhile."""

NEARLY = 1e-9
"""Gaps below this value, in meters and radians, that no longer shrink are rounding errors."""

REGULAR = 1e-12
"""The least damping if rows may be dependent, in units of their mean square."""

LEAST_DAMPING, MOST_DAMPING, LESS_DAMPING, MORE_DAMPING = 1e-6, 1e8, 0.5, 5.0
"""Bounds of an adaptive damping, and its factors after a step that helped and after one that did not."""


class FrameGoal(NamedTuple):
    """The goal of a frame's orientation, position or both, given by rows: three of a rotation, then one coordinate."""

    frame: str
    orientation: bool = True
    position: bool = True

    @property
    def rows(self) -> int:
        """The number of conditions."""
        return 3 * (self.orientation + self.position)

    @property
    def size(self) -> int:
        """The number of values."""
        return 9 * self.orientation + 3 * self.position

    @property
    def is_pose(self) -> bool:
        """Whether the goal is a whole pose."""
        return self.orientation and self.position

    def pose(self, numbers: Scalars) -> Transform:
        """Return a goal that is a whole pose; its axes are made perpendicular, as rounding may have left them."""
        rows = [numbers[4 * i : 4 * i + 4] for i in range(3)]
        first, second = (Vec3(*(row[k] for row in rows)) for k in range(2))
        first = first * (1.0 / sqrt(first.dot(first)))
        second = second - first * first.dot(second)
        second = second * (1.0 / sqrt(second.dot(second)))
        axes = Matrix3.from_columns(first, second, first.cross(second))
        return Transform((MatrixRotation(axes),), Vec3(*(row[3] for row in rows)))

    def off(self, pose: Transform, numbers: Scalars) -> list[Scalar]:
        """Return how far a frame is from its goal: a rotation vector, a displacement or both, in world axes."""
        width = 3 * self.orientation + self.position
        wanted = [numbers[width * i : width * i + width] for i in range(3)]
        found: list[Scalar] = []
        if self.orientation:
            goal = Matrix3.of([row[:3] for row in wanted])
            found += quaternion_log(quaternion_of(pose.matrix().times(goal.T)))
        if self.position:
            found += [x - row[-1] for x, row in zip(pose.translation, wanted, strict=True)]
        return found


class Block(NamedTuple):
    """Rows that are solved together."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    """Indices among the free freedoms."""
    redundant: tuple[int, ...] = ()
    """Rows that depend on the rows of the block, and may contradict them."""


class PlacedBodies(NamedTuple):
    """How loops are closed while the bodies of all frames are taken to be at their goals.

    Once a frame is at its goal, that makes no difference. Before, what carries its body does not move it, so that loops
    through the body fall apart, such as the legs of a platform.
    """

    blocks: tuple[Block, ...]
    turned: tuple[int, ...] = ()
    """Loops whose rows are taken along the axes of the predecessor."""


class Bound(NamedTuple):
    """Limits of one coordinate."""

    column: int
    """Index among the free freedoms."""
    place: int
    """In q."""
    low: float
    high: float


class JointRange(NamedTuple):
    """The range in which a coordinate, or a follower of it, must be at the end: low <= ratio q + offset <= high."""

    place: int
    """In q."""
    ratio: float
    offset: float
    low: float
    high: float


class ClosingTask(NamedTuple):
    """The loops to be closed and the goals to be reached, and the freedoms that may move to do so."""

    blocks: tuple[Block, ...]
    free: tuple[int, ...]
    """Freedoms that may move."""
    weights: tuple[float, ...]
    """Factors that convert every gap to a length, first those of all constraints, then those of all goals."""
    reach: tuple[float, ...]
    """How far a step may go along each free freedom, relative to one radian of a hinge."""
    arm: float
    """The usual length of levers: rows that are much shorter are rounding errors."""
    goals: tuple[FrameGoal, ...] = ()
    ranges: tuple[JointRange, ...] = ()
    """Limits that are checked only at the end."""
    bounds: tuple[Bound, ...] = ()
    """Limits that are also respected during the search."""
    longest: float = LONGEST_STEP
    adapts: bool = False
    """Whether the damping of Levenberg and Marquardt is adaptive, in units of the rows' mean square: it decreases after
    a step that helped and increases after one that did not, but is never zero, since rows may be dependent."""

    placed: PlacedBodies | None = None
    """How loops are closed with bodies at their goals; None if all bodies are where joints carry them."""

    @property
    def goal_size(self) -> int:
        """The number of values of all goals."""
        return sum(goal.size for goal in self.goals)

    @property
    def told_count(self) -> int:
        """The number of entries of :meth:`Judged.told`."""
        return 5 + 2 * len(self.goals)


class Judged(NamedTuple):
    """A guess, and what follows from it."""

    move: list[Scalar]
    """Step of the free freedoms, in units of their reach."""
    size: Scalar
    """Sum of the squares of everything that must vanish, as lengths."""
    quality: Scalar
    """How independent the rows are at this guess, from 0 for dependent rows to 1."""
    worst: Scalar
    """Sum of the squares of all gaps, in meters and radians."""
    beyond: Scalar
    """By how much a joint exceeds its limits, at most."""
    loops: Scalar
    """Like :attr:`worst`, for the loops only."""
    goals: list[Scalar]
    """The error of each goal: its angle, and its distance."""

    @property
    def told(self) -> list[Scalar]:
        """Facts about a guess, without the next step."""
        return [self.size, self.quality, self.worst, self.beyond, self.loops, *self.goals]


def judge(tree: Model, task: ClosingTask, q: Scalars, damping: Scalar, numbers: Scalars = ()) -> Judged:
    """Return how far loops are open and frames are from their goals at a guess, and the step that corrects this."""
    of_goals, parts = [], []
    if task.placed is None:
        blocks, (matrix, of_loops, offs) = task.blocks, _carried(tree, task, q, numbers)
    else:
        blocks, (matrix, of_loops, offs) = task.placed.blocks, _placed(tree, task.goals, task.placed, q, numbers)
    for goal, off in zip(task.goals, offs, strict=True):
        turned, moved = off[: 3 * goal.orientation], off[3 * goal.orientation :]
        parts += [inner(turned, turned), inner(moved, moved)]
        of_goals += off
    gaps = of_loops + of_goals
    lengths = [w * gap for w, gap in zip(task.weights, gaps, strict=True)]
    k = _within_bounds(task, _movable(task, matrix), lengths, q)
    met = [_met(block, k, lengths) for block in blocks]
    sizes = [inner(off, off) for off in met]
    size: Scalar = 0.0
    for own in sizes:
        size = size + own
    if task.placed is None:  # otherwise each leg by its own gap: one that is far off does not slow the others
        sizes = [size / (1.0 + size) if task.adapts else size] * len(met)
    move, quality = _move(task, blocks, k, met, [damping * own for own in sizes])
    length = sqrt(inner(move, move))
    if task.longest < float("inf"):
        part = where(length > task.longest, task.longest / length, 1.0)
        move = [part * x for x in move]
    return Judged(move, size, quality, inner(gaps, gaps), _beyond(task, q), inner(of_loops, of_loops), parts)


def _beyond(task: ClosingTask, q: Scalars) -> Scalar:
    """Return the largest amount by which a joint exceeds its limits; zero if none does."""
    most: Scalar = 0.0
    for place, ratio, offset, low, high in task.ranges:
        x = q[place] if (ratio, offset) == (1.0, 0.0) else ratio * q[place] + offset
        for out in ([low - x] if low > -float("inf") else []) + ([x - high] if high < float("inf") else []):
            most = where(out > most, out, most)
    return most


def _matrix(tree: Model, task: ClosingTask, q: Scalars) -> tuple[list[list[Scalar]], list[Transform]]:
    """Return K with the rows of the goals below it, and the poses of the frames that have goals."""
    posed = kinematics.poses(tree, q)
    matrix, poses = loop_constraints.constraint_matrix(tree, q), []
    for goal in task.goals:
        columns, pose = frame_columns(tree, q, goal.frame, posed)
        rows = [list(row) for row in zip(*(express(column, pose, "aligned") for column in columns), strict=True)]
        matrix += rows[0 if goal.orientation else 3 : 6 if goal.position else 3]
        poses.append(pose)
    return matrix, poses


Conditions = tuple[list[list[Scalar]], list[Scalar], list[list[Scalar]]]
"""All rows, the gaps of the loops, and how far each frame is from its goal."""


def _carried(tree: Model, task: ClosingTask, q: Scalars, numbers: Scalars) -> Conditions:
    """Return what must vanish if all bodies are where their joints carry them."""
    (matrix, poses), offs, used = _matrix(tree, task, q), [], 0
    for goal, pose in zip(task.goals, poses, strict=True):
        offs.append(goal.off(pose, numbers[used : used + goal.size]))
        used += goal.size
    return matrix, loop_constraints.gaps(tree, q), offs


def _placed(tree: Model, goals: Sequence[FrameGoal], bodies: PlacedBodies, q: Scalars, numbers: Scalars) -> Conditions:
    """Return the same if loops see the bodies of frames at their goals; goals are those of the bodies' origins.

    An angle counts as twice the sine of its half, which needs no arctangent and is not zero after half a turn.
    """
    posed, standing, below, offs, used = kinematics.poses(tree, q), tree, [], [], 0
    for goal in goals:
        frame = tree.frame(goal.frame)
        wanted = (goal.pose(numbers[used : used + goal.size]) @ frame.pose.spatial().inverse()).collapsed()
        used += goal.size
        standing = placed_bodies.placed(standing, frame.body, wanted)
        here, columns = posed[frame.body].pose, columns_at(tree, posed, frame.body, IDENTITY)
        seen = [[0.0] * 6 if c is None else list(express(c, here, "aligned")) for c in columns]
        below += [list(row) for row in zip(*seen, strict=True)]
        x, y, z, w = quaternion_of(here.matrix().times(wanted.matrix().T))
        twice = where(w < 0.0, -2.0, 2.0)
        offs.append([twice * x, twice * y, twice * z, *(here.translation - wanted.translation)])
    standing = placed_bodies.turned(standing, bodies.turned)
    rows = loop_constraints.constraint_matrix(standing, q)
    return rows + below, loop_constraints.gaps(standing, q), offs


def _movable(task: ClosingTask, matrix: Sequence[Scalars]) -> list[list[Scalar]]:
    """Return all rows as lengths, per unit of the free freedoms, in units of their reach."""
    pairs = list(zip(task.free, task.reach, strict=True))
    return [[w * row[j] * r for j, r in pairs] for w, row in zip(task.weights, matrix, strict=True)]


def _within_bounds(task: ClosingTask, k: list[list[Scalar]], off: Scalars, q: Scalars) -> list[list[Scalar]]:
    """Return the rows without the freedoms that are at a limit and would be moved beyond it."""
    for bound in task.bounds:
        pull, x = -inner([row[bound.column] for row in k], off), q[bound.place]
        above, below = where(x < bound.high, 1.0, 0.0), where(x > bound.low, 1.0, 0.0)
        free = where(pull > 0.0, above, where(pull < 0.0, below, 1.0))
        for row in k:
            row[bound.column] = row[bound.column] * free
    return k


def _met(block: Block, k: Sequence[Scalars], off: Scalars) -> list[Scalar]:
    """Return the correction of the rows of a block that minimizes the error of redundant rows."""
    own = [off[i] for i in block.rows]
    if not block.redundant:
        return own
    rows = [[k[i][c] for c in block.columns] for i in (*block.rows, *block.redundant)]
    count = len(own)
    parts = RedundantRows(rows, range(count), ShortestWay(rows[:count]))
    return parts.met(own, [off[block.redundant[i - count]] for i in parts.redundant])


def _move(
    task: ClosingTask, blocks: Sequence[Block], k: Sequence[Scalars], off: Sequence[Scalars],
    dampings: Sequence[Scalar],
) -> tuple[list[Scalar], Scalar]:  # fmt: skip
    """Return the least change that corrects the rows of each block, and how independent they are."""
    x: list[Scalar] = [0.0] * len(task.free)
    squares: list[Scalar] = []
    independent: list[Scalar] = []
    shortest = least = task.arm * task.arm
    for block, wanted, damping in zip(blocks, off, dampings, strict=True):
        if not block.columns:  # no free freedom affects these rows
            continue
        rows = [[k[i][c] for c in block.columns] for i in block.rows]
        left = [inner(k[i], x) + y for i, y in zip(block.rows, wanted, strict=True)]
        d = (damping + REGULAR) / len(rows) * sum((inner(row, row) for row in rows), 0.0) if task.adapts else damping
        if len(block.columns) < len(rows):
            found, here = _least_squares(rows, left, d)
            least = 0.0
        else:
            way = ShortestWay(rows, d)
            found, here = way.back(left), way.independence_of_rows(shortest)
        for c, y in zip(block.columns, found, strict=True):
            x[c] = y
        squares += here[0]
        independent += here[1]
    return x, least_share(squares, independent, least)


def _least_squares(
    k: Sequence[Scalars], off: Scalars, damping: Scalar
) -> tuple[list[Scalar], tuple[list[Scalar], list[Scalar]]]:
    """Return the least-squares change if there are fewer freedoms than rows, and how independent the columns are.

    The latter is given by the squares of the columns, and of what is independent of the columns before each.
    """
    columns = list(zip(*k, strict=True))
    squares = [[inner(a, b) for b in columns] for a in columns]
    for i, row in enumerate(squares):
        row[i] = row[i] + damping
    factors = ldl(squares)
    independence = [row[i] for i, row in enumerate(squares)], factors[1]
    return ldl_solve(factors, [-inner(column, off) for column in columns]), independence


# ---------------------------------------------------------------- a search: from guess to guess


class SearchState(NamedTuple):
    """The state passed from one guess to the next; everything except ``q``, ``move`` and ``told`` is one number."""

    q: Scalars
    damping: Scalar
    steps: Scalar
    """Steps taken so far."""
    share: Scalar
    """Fraction of the move that is tried next."""
    idle: Scalar
    """Steps since the last worthwhile one."""
    going: Scalar
    """1 until the search has ended, then 0."""
    move: Scalars
    told: Scalars
    """See :attr:`Judged.told`."""

    @classmethod
    def of(cls, tree: Model, task: ClosingTask, numbers: Scalars) -> SearchState:
        """Read the state from one list of numbers."""
        (damping, steps, share, idle, going), rest = numbers[tree.nq : tree.nq + 5], numbers[tree.nq + 5 :]
        count = len(task.free)
        return cls(numbers[: tree.nq], damping, steps, share, idle, going, rest[:count], rest[count:])

    @property
    def numbers(self) -> list[Scalar]:
        """The whole state in one list."""
        return [*self.q, self.damping, self.steps, self.share, self.idle, self.going, *self.move, *self.told]


def begin(task: ClosingTask, q: Scalars, parameters: Scalars) -> list[Scalar]:
    """Return the state before the first guess is evaluated; any guess is better than it."""
    told = [float("inf"), 0.0, *[float("inf")] * (task.told_count - 2)]
    return SearchState(q, parameters[-1], 0.0, 0.0, 0.0, 1.0, [0.0] * len(task.free), told).numbers


def step(tree: Model, task: ClosingTask, numbers: Scalars, parameters: Scalars) -> list[Scalar]:
    """Return the state after one more guess; a search that has ended no longer changes."""
    state, goals, settled = SearchState.of(tree, task, numbers), parameters[:-2], parameters[-2]
    v: list[Scalar] = [0.0] * tree.nv
    for j, r, x in zip(task.free, task.reach, state.move, strict=True):
        v[j] = state.share * (r * x)
    there = kinematics.integrate(tree, state.q, v)
    for bound in task.bounds:
        there[bound.place] = _clipped(there[bound.place], bound)
    found = judge(tree, task, there, state.damping, goals)
    size, going = state.told[0], state.going
    better = where(going > 0.0, found.size, float("inf")) < size
    worthwhile = found.size < WORTHWHILE * size
    idle = where(worthwhile, 0.0, state.idle + 1.0)
    unsettled = where(found.worst > settled * settled, where(idle < STALLED, 1.0, 0.0), 0.0)
    rounding = (NEARLY * max([1.0, *task.reach])) ** 2
    hopeful = where(size > rounding, where(idle < STALLED, where(state.share > 0.0, 1.0, 0.0), 0.0), 0.0)
    on = going > 0.0
    damping = state.damping
    if task.adapts:
        less = where(damping * LESS_DAMPING < LEAST_DAMPING, LEAST_DAMPING, damping * LESS_DAMPING)
        damping = where(on, where(better, less, damping * MORE_DAMPING), damping)
    return SearchState(
        [where(better, x, y) for x, y in zip(there, state.q, strict=True)],
        damping,
        state.steps + where(state.share > 0.0, going, 0.0),
        where(better, 1.0, SHORTER * state.share),
        idle,
        where(on, where(better, unsettled, hopeful), 0.0),
        [where(better, x, y) for x, y in zip(found.move, state.move, strict=True)],
        [where(better, x, y) for x, y in zip(found.told, state.told, strict=True)],
    ).numbers


def _clipped(x: Scalar, bound: Bound) -> Scalar:
    x = where(x < bound.low, bound.low, x) if bound.low > -float("inf") else x
    return where(x > bound.high, bound.high, x) if bound.high < float("inf") else x


def returned(tree: Model, task: ClosingTask) -> list[int]:
    """Return the positions within a state of the results of a search: q, damping, steps, facts about the guess."""
    last = tree.nq + 5 + len(task.free)
    return [*range(tree.nq + 2), *range(last, last + task.told_count)]


# ---------------------------------------------------------------- along a path


def way_on(tree: Model, task: ClosingTask, q: Scalars, rates: Scalars) -> list[Scalar]:
    """Return the velocities that lead from a closed configuration to the next one in unit time.

    tree: The model; if its dimensions differ from those for which q is closed, closing it is part of the motion.
    rates: Rates of the freedoms that are not free, in their order, then of the goals.
    """
    held = [j for j in range(tree.nv) if j not in task.free]
    v: list[Scalar] = [0.0] * tree.nv
    for j, x in zip(held, rates, strict=False):
        v[j] = x
    matrix, _ = _matrix(tree, task, q)
    gaps = [*loop_constraints.gaps(tree, q), *(-rate for rate in rates[len(held) :])]
    slips = [inner(row, v) + gap for row, gap in zip(matrix, gaps, strict=True)]
    k = _movable(task, matrix)
    off = [[task.weights[i] * slips[i] for i in block.rows] for block in task.blocks]
    move, _ = _move(task, task.blocks, k, off, [0.0] * len(off))
    for j, r, x in zip(task.free, task.reach, move, strict=True):
        v[j] = r * x
    return v


def astray(tree: Model, task: ClosingTask, q: Scalars, there: Scalars, rates: Scalars) -> tuple[Scalar, Scalar]:
    """Return the distance of a closed configuration from what another predicts, and the step's length, both squared."""
    v = way_on(tree, task, q, rates)
    off = kinematics.difference(tree, kinematics.integrate(tree, q, v), there)
    return inner(off, off), inner(v, v)
