"""Steps of damped least squares towards goals of frames, written once, run on a batch as machine code.

One step from q solves (J^T J + damping 1) dq = J^T e, e being what is missing to the goals along world axes and
J how the frames move with q.  The damping is that of Levenberg and Marquardt: less after a step that helped, more
after one that did not, which is not taken.  A joint at its limit that would move on is left out of the step.

Every lane of a batch is stepped for itself and stands still once it is there: what it finds does not depend on
its neighbors.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..algorithms import constraints, jacobian, kinematics
from ..algorithms.passes import present
from ..model.limits import bounded_by_followers
from ..model.tree import Model
from ..robot.robot import Robot
from ..run.law_kernels import Sizes, StepProgram, can_compile
from ..spatial import Scalar, Transform, Vec3, dot, ldl, ldl_solve, sqrt, where
from ..spatial.arrays import Array
from ..spatial.exponential import quaternion_log, quaternion_product
from ..spatial.rotation import quaternion_of

Scalars = Sequence[Scalar]
Column = list[Scalar]

FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 0.3, 1e-6, 1e8
"""In units of the mean square of a row of J, so that small robots and large ones are treated alike, and of
e.e / (1 + e.e), so that the last steps are those of Newton."""

REGULAR = 1e-12
"""Damping that always remains, in units of the mean square of a row: rows of J may depend on one another."""

LESS_DAMPING, MORE_DAMPING = 0.5, 5.0
"""Factors after a step that helped and after one that did not."""


class Aim(NamedTuple):
    """What of a frame has to match."""

    frame: str
    orientation: bool
    position: bool


@dataclass(frozen=True)
class Lanes:
    """How far a number of lanes have come: views of one array (n, ...).

    Attributes
    ----------
    state : ndarray, shape (n, nq + 3 + 2 aims), and one more where there are loops
    nq, aims : int
    """

    state: Array
    nq: int
    aims: int

    @property
    def q(self) -> Array:
        """Configurations."""
        return self.state[:, : self.nq]

    @property
    def damping(self) -> Array:
        """Of the next step."""
        return self.state[:, self.nq]

    @property
    def steps(self) -> Array:
        """Taken so far."""
        return self.state[:, self.nq + 1]

    @property
    def size(self) -> Array:
        """Sum of the squares of all errors."""
        return self.state[:, self.nq + 2]

    @property
    def angle(self) -> Array:
        """Missing to each aim."""
        return self.state[:, self.nq + 3 : self.nq + 3 + 2 * self.aims : 2]

    @property
    def distance(self) -> Array:
        """Missing to each aim."""
        return self.state[:, self.nq + 4 : self.nq + 3 + 2 * self.aims : 2]

    def reached(self, tolerance: float) -> Array:
        """Return which lanes are there."""
        return np.all(self.state[:, self.nq + 3 :] < tolerance, axis=-1)

    def __getitem__(self, which: Array) -> Lanes:
        return Lanes(self.state[which], self.nq, self.aims)

    def __setitem__(self, which: Array, new: Lanes) -> None:
        self.state[which] = new.state

    def __len__(self) -> int:
        return len(self.state)


# ------------------------------------------------------------------ the law, over any scalar


@dataclass(frozen=True)
class DampedStep:
    """The step of a robot towards some aims.

    Attributes
    ----------
    tree : Model
        Leaders have the limits that their followers leave them.
    aims : tuple of Aim
    columns : frozenset of int
        Degrees of freedom that may move.
    """

    tree: Model
    aims: tuple[Aim, ...]
    columns: frozenset[int]

    def step(self, q: Scalars, damping: Scalar, goals: Scalars, tolerance: Scalar) -> list[Scalar]:
        """Return configuration and damping after a step, whether it was made (1 or 0), size of the error, its parts.

        A goal is a quaternion (x, y, z, w), then a position, of which only what matters is given.
        """
        columns, error = self._linearized(q, goals)
        size = _square(error)
        there = _within(self._parts(error), tolerance)
        columns = self._unblocked(columns, error, q)
        tried = self._clipped(kinematics.integrate(self.tree, q, self._damped(columns, error, damping)))
        posed = [kinematics.frame_pose(self.tree, tried, aim.frame) for aim in self.aims]
        missing = self._errors(posed, goals, tried)
        # a lane that is there does not move on: no step is better than none
        new_size = where(there > 0.5, size, _square(missing))
        better = new_size < size
        less = where(damping * LESS_DAMPING < LEAST_DAMPING, LEAST_DAMPING, damping * LESS_DAMPING)
        next_damping = where(better, less, damping * MORE_DAMPING)
        left = [where(better, new, old) for new, old in zip(missing, error, strict=True)]
        return [
            *(where(better, new, old) for new, old in zip(tried, q, strict=True)),
            where(there > 0.5, damping, next_damping), 1.0 - there, where(better, new_size, size), *self._parts(left),
        ]  # fmt: skip

    def _linearized(self, q: Scalars, goals: Scalars) -> tuple[dict[int, Column], list[Scalar]]:
        """Return the columns of J by degree of freedom, without those that move nothing, and what is missing."""
        posed = kinematics.poses(self.tree, q)
        columns: dict[int, Column] = {}
        poses, row, rows = [], 0, self._rows
        for aim in self.aims:
            body, local, pose = kinematics.of_frame(self.tree, aim.frame, posed)
            poses.append(pose)
            first, last = (0 if aim.orientation else 3), (6 if aim.position else 3)
            for k, motion in enumerate(jacobian.columns_at(self.tree, posed, body, local)):
                if motion is not None and k in self.columns:
                    part = list(jacobian.express(motion, pose, "aligned"))[first:last]
                    columns.setdefault(k, [0.0] * rows)[row : row + last - first] = part
            row += last - first
        for k, entries in enumerate(zip(*self._loop_matrix(q, posed), strict=True)):
            if k in self.columns and any(present(x) for x in entries):
                columns.setdefault(k, [0.0] * rows)[row:] = entries
        return columns, self._errors(poses, goals, q)

    def _loop_matrix(self, q: Scalars, posed: Sequence[kinematics.Posed]) -> list[list[Scalar]]:
        """Return the rows of the loops, but for those that hold velocities only."""
        found = constraints.constraint_matrix(self.tree, q, posed)
        return [row for i, row in enumerate(found) if i not in self.tree.velocity_constraints]

    @property
    def _rows(self) -> int:
        held = self.tree.n_constraints - len(self.tree.velocity_constraints)
        return sum(3 * (aim.orientation + aim.position) for aim in self.aims) + held

    def _errors(self, poses: Sequence[Transform], goals: Scalars, q: Scalars) -> list[Scalar]:
        """Return the errors along world axes: a rotation vector, then a translation, for each aim; then loops."""
        error: list[Scalar] = []
        given = iter(goals)
        for aim, pose in zip(self.aims, poses, strict=True):
            if aim.orientation:
                goal = (next(given), next(given), next(given), next(given))
                x, y, z, w = quaternion_of(pose.matrix())
                error += quaternion_log(quaternion_product(goal, (-x, -y, -z, w)))
            if aim.position:
                error += Vec3(next(given), next(given), next(given)) - pose.translation
        gaps = constraints.gaps(self.tree, q)
        return error + [-gap for i, gap in enumerate(gaps) if i not in self.tree.velocity_constraints]

    def _parts(self, error: Scalars) -> list[Scalar]:
        """Return the angle and distance that are missing of each aim, zero for what does not matter; then of loops."""
        parts: list[Scalar] = []
        three = iter([error[k : k + 3] for k in range(0, len(error), 3)])
        for aim in self.aims:
            parts += [sqrt(_square(next(three))) if wanted else 0.0 for wanted in (aim.orientation, aim.position)]
        held = error[sum(3 * (aim.orientation + aim.position) for aim in self.aims) :]
        return parts + ([sqrt(_square(held))] if held else [])

    def _unblocked(self, columns: dict[int, Column], error: Scalars, q: Scalars) -> dict[int, Column]:
        """Return the columns with those of coordinates at a limit and pulled further out set to zero."""
        result = dict(columns)
        for k, column in columns.items():
            if k not in self._limited:
                continue
            i, low, high = self._limited[k]
            pull = dot(column, error)
            above, below = where(q[i] < high, 1.0, 0.0), where(low < q[i], 1.0, 0.0)
            free = where(pull > 0.0, above, where(pull < 0.0, below, 1.0))
            result[k] = [x * free for x in column]
        return result

    @cached_property
    def _limited(self) -> dict[int, tuple[int, float, float]]:
        """Degrees of freedom with limits: the coordinate each one is the rate of, and its limits."""
        found = {}
        for joint in self.tree.joints:
            if joint.mimic or joint.nq != joint.nv:
                continue
            for k in range(joint.nv):
                low, high = joint.lower[k], joint.upper[k]
                if np.isfinite(low) or np.isfinite(high):
                    found[joint.v_slice.start + k] = (joint.q_slice.start + k, float(low), float(high))
        return found

    def _damped(self, columns: dict[int, Column], error: Scalars, damping: Scalar) -> list[Scalar]:
        """Return the step.

        (J^T J + d 1)^-1 J^T e or, what is the same, J^T (J J^T + d 1)^-1 e, whichever is smaller.
        """
        rows = len(error)
        size = _square(error)
        d = (damping * size / (1.0 + size) + REGULAR) * _mean_square(columns.values(), rows)
        step: list[Scalar] = [0.0] * self.tree.nv
        if len(columns) < rows:
            matrix = [[dot(a, b) + (d if a is b else 0.0) for b in columns.values()] for a in columns.values()]
            pulls = [dot(column, error) for column in columns.values()]
            for k, x in zip(columns, ldl_solve(ldl(matrix), pulls), strict=True):
                step[k] = x
            return step
        across = list(zip(*columns.values(), strict=True))
        matrix = [[dot(a, b) + (d if i == j else 0.0) for j, b in enumerate(across)] for i, a in enumerate(across)]
        weights = ldl_solve(ldl(matrix), error)
        for k, column in columns.items():
            step[k] = dot(column, weights)
        return step

    def _clipped(self, q: Scalars) -> list[Scalar]:
        limits = zip(self.tree.joint_vector("lower").tolist(), self.tree.joint_vector("upper").tolist(), strict=True)
        return [_clip(x, low, high) for x, (low, high) in zip(q, limits, strict=True)]


def _square(a: Scalars) -> Scalar:
    return dot(a, a)


def _mean_square(columns: Iterable[Column], rows: int) -> Scalar:
    total: Scalar = 0.0
    for column in columns:
        total = total + _square(column)
    return total / rows


def _clip(x: Scalar, low: float, high: float) -> Scalar:
    if np.isfinite(low):
        x = where(x < low, low, x)
    return where(x > high, high, x) if np.isfinite(high) else x


def _within(parts: Scalars, tolerance: Scalar) -> Scalar:
    """Return one where all parts are below the tolerance, zero elsewhere and for NaN."""
    result: Scalar = 1.0
    for part in parts:
        result = where(part < tolerance, result, 0.0)
    return result


# ------------------------------------------------------------------ the law on arrays


class DampedStepper:
    """A law on the lanes of a batch; the robot's backend decides whether as machine code or as it is written.

    Parameters
    ----------
    law : DampedStep
    compiled : bool
    cpu : str
        What machine code is made for; the usual processor if empty.
    """

    def __init__(self, law: DampedStep, compiled: bool, cpu: str = "") -> None:
        self.law, self.nq, self.cpu = law, law.tree.nq, cpu
        self.low, self.high = law.tree.joint_vector("lower"), law.tree.joint_vector("upper")
        self._n_state = self.nq + 3 + 2 * len(law.aims) + int(law.tree.is_constrained)
        self._n_parameters = sum(4 * aim.orientation + 3 * aim.position for aim in law.aims) + 1
        sizes = Sizes(self._n_state, 0, self._n_parameters, 0)
        self._steps = StepProgram(
            f"inverse kinematics of {law.tree.name!r}", self._advance, lambda question, parameters: [], sizes, cpu,
            compiled=compiled,
        )  # fmt: skip

    @cached_property
    def moving(self) -> Array:
        """Which coordinates can change: those of joints that move a frame and may."""
        tree, mask = self.law.tree, np.zeros(self.nq, dtype=bool)
        moved = _columns_moved(tree, self.law.aims, self.law.columns)
        for link in tree.links:
            if link.v_slice.start in moved:
                mask[link.q_slice] = True
        return mask

    @property
    def places(self) -> list[slice]:
        """Where the positions of the goals are among their numbers."""
        found, at = [], 0
        for aim in self.law.aims:
            at += 4 * aim.orientation
            if aim.position:
                found.append(slice(at, at + 3))
            at += 3 * aim.position
        return found

    def begin(self, q: Array) -> Lanes:
        """Before the first step; nothing is known of the error yet."""
        state = np.full((len(q), self._n_state), np.inf)
        state[:, : self.nq], state[:, self.nq], state[:, self.nq + 1] = q, FIRST_DAMPING, 0.0
        return Lanes(state, self.nq, len(self.law.aims))

    def __call__(self, lanes: Lanes, goals: Array, tolerance: float, n: int, threads: int) -> Lanes:
        """Up to n steps of each lane."""
        parameters = np.empty((len(goals), self._n_parameters))
        parameters[:, :-1], parameters[:, -1] = goals, tolerance
        return Lanes(self._steps(0.0, lanes.state, 0.0, n, parameters, threads), self.nq, lanes.aims)

    def _advance(self, ask: object, t: Scalar, state: Scalars, h: Scalar, parameters: Scalars) -> list[Scalar]:
        nq = self.nq
        new = self.law.step(state[:nq], state[nq], parameters[:-1], parameters[-1])
        new[nq + 1] = state[nq + 1] + new[nq + 1]
        return new


_KNOWN: weakref.WeakKeyDictionary[Robot, dict[tuple[object, ...], DampedStepper]] = weakref.WeakKeyDictionary()
"""Steppers of robots that are still around: a controller asks for the same one again and again."""


def stepper(robot: Robot, aims: tuple[Aim, ...], columns: frozenset[int]) -> DampedStepper:
    """Return the stepper of a robot towards some aims, made once."""
    known = _KNOWN.setdefault(robot, {})
    key = (robot.backend, robot.cpu, aims, columns)
    if key not in known:
        tree = bounded_by_followers(robot.model, _columns_moved(robot.model, aims, columns))
        known[key] = DampedStepper(DampedStep(tree, aims, columns), can_compile(robot), robot.cpu)
    return known[key]


def _columns_moved(tree: Model, aims: tuple[Aim, ...], columns: frozenset[int]) -> frozenset[int]:
    """Return the degrees of freedom that may move, of joints that move a frame; of all where there are loops."""
    if tree.is_constrained:
        return columns
    carriers = {body for aim in aims for body in tree.support(tree.frame(aim.frame).body)}
    return columns & {k for i in carriers for k in range(tree.nv)[tree.links[i].v_slice]}
