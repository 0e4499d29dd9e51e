"""All configurations of an arm that bring a frame to poses: by formulas if there are any, and from many starts."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.newton_closing_step import ClosingTask
from ..errors import OptionError, ShapeError, UnsupportedError
from ..evaluation.checks import check_threads
from ..evaluation.law_kernels import can_compile
from ..loops import blocks
from ..loops.assemblies.search_all import Assemblies, sort_out
from ..loops.closing_in_machine_code import NewtonClosing
from ..loops.following import PathProblem
from ..loops.goals import between, off
from ..loops.limits import PositionLimits
from ..loops.tolerances import CLOSED
from ..model.joints import Continuous, Revolute
from ..robot.make import make
from ..robot.robot import Robot, require_robot
from ..spatial.arrays import Array
from ..spatial.numbers import random_source, whole_number
from .inverse_geometry import InverseGeometry, inverse_geometry
from .inverse_kinematics import columns_moved, goals_of, moving_freedoms

STARTS_OF_A_ROUND, MOST_ROUNDS, OFTEN = 128, 4, 4
"""Starts per round, rounds by default, and how often each configuration must be reached to end."""

AT_ONCE = 100_000
"""The most starts, over all poses, that are stepped together."""

NEARLY, PATIENCE = 0.03, 600
"""Starts that stop this close (m, rad) are in a valley near a singular configuration, and get this many more steps."""

TOO_SINGULAR = 1e-12
"""Configurations are singular if their joints move the frame in some direction worse than this squared sine."""

LINKED = 1e-4
"""How far a configuration may be from the one that the previous step leads to."""

MOST_OF_HINGES = 16
"""The most configurations of an arm of six hinges at one pose."""


def all_inverse_kinematics(
    robot: Robot, frame: str, pose: Any, *, what: str = "pose", joints: Sequence[str] | None = None, path: bool = False,
    formulas: bool = True, starts: int | None = None, rng: np.random.Generator | int = 0, limits: bool = True,
    threads: int = 1,
) -> Assemblies:  # fmt: skip
    """Find all configurations that bring a frame to poses: up to 16 for an arm of six hinges.

    Every pose is searched from the same random starts, all in one batch.  If :func:`kinetree.inverse_geometry` has
    formulas, they are used as well, and prove that there are no other solutions.

    Parameters
    ----------
    robot : Robot
        An arm without closed loops; for those see :meth:`kinetree.robot.platform.platform.Platform.assemblies`.
    frame : str
        Body or frame.
    pose : array_like, shape (..., 4, 4), (..., 3) for a position, (..., 3, 3) for an orientation
        Goal in the world.
    what : {"pose", "position", "orientation"}
        What has to match.
    joints : sequence of str, optional
        Joints that may move, no more than the goal determines; all others stay at zero.
    path : bool
        Whether poses (T, ...) are a path: then each column of the result is one branch along it, without jumps, whose
        hinges continue beyond pi.  It is NaN where the branch leaves the limits, and before or after singular
        configurations at which it begins or ends.
    formulas : bool
        Whether to use closed forms if there are any.
    starts : int, optional
        Starts for each pose; by default as many as it takes to reach every configuration four times, at most 512.
    rng : Generator or int
        Source of randomness for the starts, or a seed.
    limits : bool
        Whether all joints obey their position limits (default); angles are from -pi to pi otherwise.
    threads : int
        Threads that share the batch.

    Returns
    -------
    Assemblies
        ``q``, (..., k, nq), NaN where a pose has fewer; ``count``, ``met``, ``proven``, each (...) or (..., k).

    Examples
    --------
    >>> import kinetree as kt
    >>> puma = kt.load("puma")
    >>> found = kt.all_inverse_kinematics(puma, "link_6", puma.pose([0.3, -0.5, 0.4, 0.2, 0.6, -0.1], "link_6"))
    >>> len(found), bool(found.proven)
    (8, True)
    """
    require_robot(robot)
    check_threads(threads)
    if robot.loops is not None:
        why = f"{robot.name!r} has closed loops: robot.platform({frame!r}).assemblies(target=...) finds all of its ways"
        raise UnsupportedError(why)
    (goal,), batch = goals_of(robot, frame, pose, what)
    if path and len(batch) != 1:
        raise ShapeError(f"a path is poses (T, ...), not a batch {batch}")
    arm = _known(robot, goal.aim, moving_freedoms(robot, joints))
    wanted = goal.numbers(batch)
    model = arm.formulas if formulas and what == "pose" and joints is None else None
    own = arm.starts(starts, random_source(rng, "rng"))
    kinds, taken, closed, proven, singular = _ArmSearch(arm, own, threads).found(wanted, model)
    reason = f"formulas of at most {model.branches} solutions have them all" if model else "there are no formulas"
    if arm.most:
        proven, reason = proven | (kinds.count == arm.most), f"{reason}; six hinges have at most {arm.most}"
    if singular.any():
        reason += f"; {int(singular.sum())} of {singular.size} poses are singular for some, which are left out"
    if path:
        kinds = _along(arm, kinds, wanted, threads)
    if limits:
        kinds = kinds.within_limits(in_place=path)
    q = kinds.q.reshape(*batch, -1, robot.nq)
    return Assemblies(
        q, kinds.met.reshape(q.shape[:-1]), closed.reshape(batch), taken.reshape(batch), proven.reshape(batch), reason
    )


@dataclass(frozen=True, eq=False)
class _Arm:
    """A robot whose frame has a goal, and the kernel that reaches it as if closing one more joint."""

    robot: Robot
    aim: Any
    columns: tuple[int, ...]

    @cached_property
    def kernel(self) -> NewtonClosing:
        """Newton steps to goals."""
        return self._kernel(False)

    @cached_property
    def patient(self) -> NewtonClosing:
        """Levenberg-Marquardt steps, for valleys near singular configurations."""
        return self._kernel(True)

    def _kernel(self, patient: bool) -> NewtonClosing:
        model, aim = self.robot.model, (self.aim,)
        size = max(float(np.linalg.norm(j.placement.position)) for j in model.joints) or 1.0
        weights = (size,) * (3 * self.aim.orientation) + (1.0,) * (3 * self.aim.position)
        units = [unit for j in model.joints if not j.mimic for unit in j.kind.v_units]
        reach = tuple(size if units[k] == "m" else 1.0 for k in self.columns)
        rows = blocks.find(blocks.pattern(model, aim, self.columns), range(self.aim.rows))
        task = ClosingTask(rows, self.columns, weights, reach, size, aim, adapts=patient)
        task = task._replace(longest=np.inf) if patient else task
        return NewtonClosing(model, task, self.robot.cpu, (), can_compile(self.robot))

    @cached_property
    def formulas(self) -> InverseGeometry | None:
        """The closed form in numbers, if there is one."""
        try:
            return None if self.robot.model.symbols else inverse_geometry(self.robot, self.aim.frame)
        except UnsupportedError:
            return None

    @cached_property
    def limits(self) -> PositionLimits:
        """Position limits of all joints."""
        return PositionLimits(self.robot.model)

    @cached_property
    def hinges(self) -> list[int]:
        """Indices in q of hinges that move and may turn by whole turns."""
        own = {joint.q_slice.start for joint in self.limits.idle_turns if joint.v_slice.start in self.columns}
        return sorted(own)

    @cached_property
    def most(self) -> int:
        """The most configurations that there can be; 0 if that is not known."""
        joints = [j for j in self.robot.model.joints if j.nv and j.v_slice.start in self.columns]
        turning = all(isinstance(j.kind, (Revolute, Continuous)) and not j.mimic for j in joints)
        whole = self.aim.orientation and self.aim.position
        return MOST_OF_HINGES if turning and whole and len(joints) == 6 else 0

    def starts(self, count: int | None, generator: np.random.Generator) -> list[Array]:
        """Return random starts (S, nq) for each round; joints that do not move are at zero."""
        robot, found = self.robot, []
        moving = np.zeros(robot.nq, dtype=bool)
        for joint in robot.model.joints:
            moving[joint.q_slice] |= joint.nv > 0 and not joint.mimic and joint.v_slice.start in self.columns
        several = STARTS_OF_A_ROUND if count is None else whole_number(count, "starts", 1)
        for _ in range(MOST_ROUNDS if count is None else 1):
            q = robot.random_configuration(generator, several)
            q[:, self.hinges] = generator.uniform(-np.pi, np.pi, (several, len(self.hinges)))
            found.append(np.where(moving, q, robot.neutral()))
        return found

    def wrapped(self, q: Array) -> Array:
        """Return configurations with hinges between -pi and pi, or within their limits if these are elsewhere."""
        q = q.copy()
        q[..., self.hinges] -= 2.0 * np.pi * np.round(q[..., self.hinges] / (2.0 * np.pi))
        return self.limits.turned(q, np.ones(self.robot.nv, dtype=bool))

    def marks(self, q: Array) -> Array:
        """Return numbers that distinguish configurations (..., nq)."""
        others = [k for k in range(q.shape[-1]) if k not in self.hinges]
        return np.concatenate([np.cos(q[..., self.hinges]), np.sin(q[..., self.hinges]), q[..., others]], axis=-1)


_KNOWN: weakref.WeakKeyDictionary[Robot, dict[tuple[object, ...], _Arm]] = weakref.WeakKeyDictionary()
"""Arms whose machine code has been made, with their formulas."""


def _known(robot: Robot, aim: Any, columns: frozenset[int]) -> _Arm:
    known = _KNOWN.setdefault(robot, {})
    key = robot.backend, robot.cpu, aim, columns
    if key not in known:
        moved = columns_moved(robot.model, (aim,), columns)
        if not moved:
            raise OptionError(f"none of the joints that may move moves {aim.frame!r}: name others, joints=[...]")
        if len(moved) > aim.rows:
            raise OptionError(
                f"{len(moved)} freedoms move {aim.frame!r} and its goal has {aim.rows} conditions: there are "
                "infinitely many configurations. Name those to move, joints=[...]; kt.inverse_kinematics finds one"
            )
        own = make(robot.model, backend=robot.backend, cpu=robot.cpu)  # which the other kernel does not need
        known[key] = _Arm(own, aim, tuple(sorted(moved)))
    return known[key]


@dataclass(frozen=True)
class _Kinds:
    """Distinct configurations per pose, (N, k, nq), NaN after the last, and how often each was reached, (N, k)."""

    arm: _Arm
    q: Array
    met: Array

    @property
    def count(self) -> Array:
        """Number of configurations per pose, (N,)."""
        return np.asarray(np.isfinite(self.q).all(axis=-1).sum(axis=-1))

    def joined(self, new: Array, good: Array, counts: bool) -> _Kinds:
        """Return these followed by the new ones among others (N, S, nq), reached as often as ``counts`` says."""
        before = self.q.shape[1]
        every = np.concatenate([self.q, new], axis=1)
        known = np.concatenate([np.isfinite(self.q).all(axis=-1), good], axis=1)
        firsts, times = sort_out(self.arm.marks(every), known)
        q = np.take_along_axis(every, np.maximum(firsts, 0)[..., None], axis=1)
        q[firsts < 0] = np.nan
        own = (firsts >= 0) & (firsts < before)
        met = (times - own) * counts
        met[:, :before] += np.where(own[:, :before], self.met[:, : own.shape[1]], 0)
        return _Kinds(self.arm, q, met)

    def filled(self, width: int) -> _Kinds:
        """Return the same padded to ``width`` columns."""
        more = width - self.q.shape[1]
        q = np.pad(self.q, ((0, 0), (0, more), (0, 0)), constant_values=np.nan)
        return _Kinds(self.arm, q, np.pad(self.met, ((0, 0), (0, more))))

    def within_limits(self, in_place: bool) -> _Kinds:
        """Return the configurations within limits, at the same indices or moved together."""
        kept = self.arm.limits.hold(self.q)
        q, met = np.where(kept[..., None], self.q, np.nan), np.where(kept, self.met, 0)
        if in_place:
            return _Kinds(self.arm, q, met)
        order = np.argsort(~kept, axis=1, kind="stable")[:, : int(kept.sum(axis=1).max(initial=0))]
        return _Kinds(self.arm, np.take_along_axis(q, order[..., None], axis=1), np.take_along_axis(met, order, axis=1))


class _Ends(NamedTuple):
    """The results of searches from guesses."""

    q: Array
    """(N, S, nq)."""
    good: Array
    """Which guesses arrive, (N, S), except singular ones."""
    singular: Array
    """Poses at which some results are singular, (N,)."""
    stuck: Array
    """Poses near which most guesses get stuck, (N,)."""


@dataclass(frozen=True)
class _ArmSearch:
    """All configurations of an arm for goals (N, g)."""

    arm: _Arm
    starts: list[Array]
    """Starts of each round, (S, nq)."""
    threads: int

    def found(self, goals: Array, formulas: InverseGeometry | None) -> tuple[_Kinds, Array, Array, Array, Array]:
        """Return distinct solutions and, per pose, starts, arrivals, completeness by formulas and singularity, (N,)."""
        parts, several = [], max(1, AT_ONCE // max(len(self.starts[0]), 1))
        for first in range(0, max(len(goals), 1), several):
            parts.append(self._found(goals[first : first + several], formulas))
        width = max(kinds.q.shape[1] for kinds, *_ in parts)
        kinds = [kinds.filled(width) for kinds, *_ in parts]
        whole = _Kinds(self.arm, np.concatenate([k.q for k in kinds]), np.concatenate([k.met for k in kinds]))
        taken, closed, sure, singular = (np.concatenate([part[i] for part in parts]) for i in range(1, 5))
        return whole, taken, closed, sure, singular

    def _found(self, goals: Array, formulas: InverseGeometry | None) -> tuple[_Kinds, Array, Array, Array, Array]:
        kinds = _Kinds(self.arm, np.zeros((len(goals), 0, self.arm.robot.nq)), np.zeros((len(goals), 0), dtype=int))
        if formulas is not None:
            ends = self._reached(self._by_formulas(formulas, goals), goals)
            kinds = kinds.joined(ends.q, ends.good, False)
        singular = np.zeros(len(goals), dtype=bool)
        by_formulas, lanes = kinds.count, np.arange(len(goals))
        taken, closed = np.zeros((2, len(goals)), dtype=int)
        for patient, starts in enumerate(self.starts if len(goals) else ()):
            every = np.broadcast_to(starts, (len(lanes), *starts.shape))
            ends = self._reached(every, goals[lanes], bool(patient))
            singular[lanes] |= ends.singular
            taken[lanes] += len(starts)
            part = _Kinds(self.arm, kinds.q[lanes], kinds.met[lanes]).joined(ends.q, ends.good, True)
            kinds = kinds.filled(max(part.q.shape[1], kinds.q.shape[1]))
            part = part.filled(kinds.q.shape[1])
            kinds.q[lanes], kinds.met[lanes] = part.q, part.met
            closed[lanes] += ends.good.sum(axis=1)
            rarely = (np.isfinite(part.q).all(axis=-1) & (part.met < OFTEN)).any(axis=1)
            lanes = lanes[rarely | ends.stuck]
            if not len(lanes):
                break
        sure = (kinds.count == by_formulas) & (formulas is not None) & np.isfinite(goals).all(axis=-1) & ~singular
        return kinds, taken, closed, sure, singular

    def _reached(self, guesses: Array, goals: Array, patient: bool = False) -> _Ends:
        """Return the results of searches from guesses (N, S, nq)."""
        every, flat = np.repeat(goals, guesses.shape[1], axis=0), guesses.reshape(-1, guesses.shape[-1])
        if patient:
            flat = self.arm.patient.search(flat, every, most=PATIENCE, threads=self.threads).q
        lanes = self.arm.kernel.search(flat, every, threads=self.threads)
        worst, clear = (x.reshape(guesses.shape[:2]) for x in (lanes.worst, lanes.quality > TOO_SINGULAR))
        arrived, near = worst <= CLOSED**2, worst <= NEARLY**2
        q = self.arm.wrapped(lanes.q).reshape(guesses.shape)
        singular = np.asarray((arrived & ~clear).any(axis=1))
        return _Ends(q, arrived & clear, singular, near.sum(axis=1) > 2 * arrived.sum(axis=1))

    def _by_formulas(self, formulas: InverseGeometry, goals: Array) -> Array:
        pose = np.zeros((len(goals), 4, 4))
        pose[:, :3], pose[:, 3, 3] = goals.reshape(-1, 3, 4), 1.0
        own = formulas.solutions(pose)
        q = np.tile(self.arm.robot.neutral(), (*own.shape[:2], 1))
        places = [self.arm.robot.joint(name).q_slice.start for name in formulas.joints]
        q[..., places] = own
        return q


# ---------------------------------------------------------------- along a path


def _along(arm: _Arm, kinds: _Kinds, goals: Array, threads: int) -> _Kinds:
    """Return the same configurations of a path (T, k, nq) with each branch in its own column."""
    count, width, nq = kinds.q.shape
    follows = _followed(arm, kinds.q, goals, threads)
    both = np.concatenate([follows, kinds.q[1:]], axis=1)
    marks, good = arm.marks(both), np.isfinite(both).all(axis=-1)
    near = np.abs(marks[:, :width, None] - marks[:, None, width:]).max(axis=-1) <= LINKED
    near &= good[:, :width, None] & good[:, None, width:]
    columns, branches = np.full((count, width), -1), 0
    for t in range(count):
        for k in np.flatnonzero(np.isfinite(kinds.q[t]).all(axis=-1)):
            before = [columns[t - 1, j] for j in np.flatnonzero(near[t - 1, :, k])] if t else []
            before = [b for b in before if b not in columns[t]]
            columns[t, k] = before[0] if before else branches
            branches += not before
    q, met = np.full((count, branches, nq), np.nan), np.zeros((count, branches), dtype=int)
    rows, own = np.nonzero(columns >= 0)
    q[rows, columns[rows, own]], met[rows, columns[rows, own]] = kinds.q[rows, own], kinds.met[rows, own]
    for t in range(1, count):  # hinges continue beyond pi
        turns = np.round((q[t - 1][:, arm.hinges] - q[t][:, arm.hinges]) / (2.0 * np.pi))
        q[t][:, arm.hinges] += 2.0 * np.pi * np.where(np.isfinite(turns), turns, 0.0)
    return _Kinds(arm, q, met)


def _followed(arm: _Arm, q: Array, goals: Array, threads: int) -> Array:
    """Return where configurations (T, k, nq) lead from each goal to the next, (T - 1, k, nq); NaN if nowhere."""
    count, width = len(q) - 1, q.shape[1]
    here, kernel = q[:-1].reshape(-1, q.shape[-1]), arm.kernel
    held = arm.robot.nv - len(arm.columns)

    def wanted(paths: Array, points: Array, several: int) -> Array:
        every = points[:, None] + np.arange(several)
        return np.where((every < 2)[..., None], goals[(paths // width)[:, None] + np.minimum(every, 1)], np.nan)

    def way(a: Array, b: Array) -> Array:
        return np.concatenate([np.zeros((len(a), held)), off(arm.aim, b, a)], axis=-1)

    problem = PathProblem(
        wanted, lambda guesses, to: kernel(guesses, to, None, threads), way,
        lambda a, b, share: between(arm.aim, a, b, share), lambda q, rates, _: kernel.predicted(q, rates),
        lambda q, there, rates, _: kernel.follows(q, there, rates),
    )  # fmt: skip
    return problem.follow(2, here, True).q[:, 1].reshape(count, width, -1)
