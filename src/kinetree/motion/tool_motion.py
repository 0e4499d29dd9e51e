"""The joint motion with which a tool follows a path: inverse kinematics along it, on one branch.

The path is traced from its beginning: velocities are the smallest that move the tool as the path says, v = J^+ x',
positions are integrated by them and brought back onto the path by Newton's method, and accelerations are the derivative
of the velocities, a = J^+ (x'' - J' v) + (1 - J^+ J) J'^T J^+^T v.  For numbers the motion is computed on demand;
machine code looks up polynomials through as many samples as it takes for the tool to stay on its path.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..errors import OptionError, ShapeError, SingularError, UnreachableError
from ..robot.robot import require_robot
from ..spatial.arrays import Array, split
from ..spatial.taylor import Jet
from .inverse_kinematics import inverse_kinematics
from .piecewise import hermite, is_concrete
from .splines import Piecewise
from .tool_paths import poses
from .trajectory_interface import Motion, Trajectory

FEWEST, MOST = 16, 4096
"""Samples of each smooth part of a path: as many as needed."""

ON_PATH = 1e-11
"""How far from its path the tool may be between samples, in meters and radians."""

DRIFT = 1e-9
"""How much positions of a redundant robot may change, in meters and radians, when there are twice as many samples."""

ARRIVED = 1e-13
"""The error, in meters and radians, at which Newton's method has arrived, if rounding allows it."""

NEARLY_SINGULAR = 1e-5
"""The ratio of singular values of the Jacobian below which a configuration is singular."""

SHORTEST = 1e-6
"""The shortest step, as a fraction of the usual one, before a path is said to lead out of reach."""

NEAR = 0.05
"""How far, in meters and radians, a sample may be from where integration leads; farther may be another branch."""


@dataclass(frozen=True, eq=False)
class ToolMotion(Trajectory):
    """The motion of all joints of a robot with which a frame follows a path in space.

    Parameters
    ----------
    robot : Robot
        Loops stay closed.
    frame : str
        Body or frame that follows.
    path : Trajectory
        The path of a point, x, y, z in the world, or of a pose: a :class:`Line`, :class:`Arc` or :class:`Turn`, several
        of them joined, or any other trajectory with three coordinates.
    q_guess : array_like, shape (nq,), optional
        Where the search for the first configuration begins, which decides the branch, such as elbow up or down.
    joints : sequence of str, optional
        Joints that may move; all by default.  If they are more than the path needs, velocities are the smallest
        that follow it.
    limits : bool
        Whether positions must be within the limits of the joints (default).

    Raises
    ------
    UnreachableError
        If a point of the path is out of reach or beyond a joint's limit; says when.
    SingularError
        If the robot is singular on the way; says when.

    Examples
    --------
    >>> import kinetree as kt
    >>> robot, q = kt.load("kuka-kr5"), [0.3, 0.6, -0.4, 0.2, 0.8, 0.1]
    >>> here = robot.pose(q, "link_6")
    >>> line = kt.trajectories.Line(here, here[:3, 3] + [0.0, 0.2, 0.1], speed=0.2, acceleration=1.0)
    >>> q, v, a = kt.trajectories.ToolMotion(robot, "link_6", line, q)(0.5)
    """

    robot: Any
    frame: str
    path: Trajectory
    q_guess: ArrayLike | None = None
    joints: Sequence[str] | None = None
    limits: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        require_robot(self.robot)
        self.robot.frame(self.frame)
        if not isinstance(self.path, Trajectory) or (self.path.nq, self.path.n) not in ((3, 3), (7, 6)):
            raise ShapeError("path must be a trajectory of a point, x, y, z, or of a pose, such as trajectories.Line")
        if not np.isfinite([self.path.start, self.path.end]).all():
            raise OptionError("the path of a tool must begin and end; Repeated repeats the motion that follows it")
        _ = self._table  # or says why not

    @property
    def n(self) -> int:
        """Number of degrees of freedom: all those of the robot."""
        return int(self.robot.nv)

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return int(self.robot.nq)

    @property
    def start(self) -> float:
        """When the path starts."""
        return self.path.start

    @property
    def end(self) -> float:
        """When the path ends."""
        return self.path.end

    def is_batched(self) -> bool:
        """Return False: there is one motion."""
        return False

    def held(self) -> Self:
        """Return this motion held at rest before its start and after its end, without tracing the path again."""
        made = copy(self)
        object.__setattr__(made, "hold", True)
        return made

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return the kinks of the path."""
        return self.path.kinks(begin, end)

    def motion(self, t: Jet) -> Motion:
        """Return positions, velocities and accelerations: exact for numbers, from samples in machine code."""
        if is_concrete(t.value):
            q, v, a = (split(x) for x in self._exact(np.asarray(t.value, dtype=float)))
        elif self.n == self.nq:
            return self._table.motion(t)
        else:
            at, rate, _ = self._table.motion(Jet(t.value, 1.0))
            q, v, a = at[: self.nq], at[self.nq :], rate[self.nq :]
        return q, [x * t.first for x in v], [y * (t.first * t.first) + x * t.second for x, y in zip(v, a, strict=True)]

    def _exact(self, times: Array) -> tuple[Array, ...]:
        """Return the motion at any times, by Newton's method from what the samples give."""
        flat = times.ravel()
        q, v, a = (np.full((len(flat), n), np.nan) for n in (self.nq, self.n, self.n))
        if (known := np.isfinite(flat)).any():
            place = np.stack(self._table.motion(Jet(flat[known], 1.0))[0][: self.nq], axis=-1)
            q[known] = self._corrected(flat[known], self.robot.normalize(place))[0]
            v[known], a[known] = self._rates(flat[known], q[known])
        return tuple(x.reshape(*times.shape, -1) for x in (q, v, a))

    # ---------------------------------------------------------------- what the path requires

    @cached_property
    def _moving(self) -> Array:
        """Which freedoms may move, (nv,)."""
        mask = np.zeros(self.n, dtype=bool)
        for name in self.robot.joint_names if self.joints is None else self.joints:
            mask[self.robot.joint(name).v_slice] = True
        return mask

    @cached_property
    def _rank(self) -> int:
        """How many directions the joints can move the tool in; with loops, the path must determine all joints."""
        if self.robot.loops is not None:
            return int(self._moving.sum())
        return int(
            np.linalg.matrix_rank(self._jacobian(self.robot.random_configuration(0, 8)), tol=NEARLY_SINGULAR).max()
        )

    def _wanted(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return points (..., 3) or poses, velocities and accelerations of the path."""
        return self.path(t) if self.path.n == 3 else poses(self.path, t)

    def _jacobian(self, q: Array) -> Array:
        """Return the Jacobian of the tool and of the loops, (..., rows, nv), zero for joints that stay."""
        rows = self.robot.jacobian(q, self.frame, "aligned")[..., 6 - self.path.n :, :]
        if self.robot.loops is not None:
            rows = np.concatenate([rows, self.robot.loop_jacobian(q)], axis=-2)
        return np.asarray(rows * self._moving)

    def _error(self, t: ArrayLike, q: Array) -> Array:
        """Return how far the tool is from the path and loops are open, (..., rows)."""
        pose, goal = self.robot.pose(q, self.frame), self._wanted(t)[0]
        parts = [(goal if self.path.n == 3 else goal[..., :3, 3]) - pose[..., :3, 3]]
        if self.path.n == 6:  # axis times sine of the angle
            turned = goal[..., :3, :3] @ np.swapaxes(pose[..., :3, :3], -1, -2)
            odd = 0.5 * (turned - np.swapaxes(turned, -1, -2))
            parts.insert(0, odd[..., [2, 0, 1], [1, 2, 0]])
        return np.concatenate(parts if self.robot.loops is None else [*parts, -self.robot.loop_gaps(q)], axis=-1)

    def _solver(self, q: Array) -> tuple[Array, Array, Array]:
        """Return J, its pseudo-inverse of the rank that it should have, and the ratio of its singular values."""
        matrix, rank = self._jacobian(q), self._rank
        u, s, vt = np.linalg.svd(matrix, full_matrices=False)
        s = np.maximum(s, np.finfo(float).tiny)
        inverse = np.swapaxes(vt[..., :rank, :] / s[..., :rank, None], -1, -2) @ np.swapaxes(u[..., :rank], -1, -2)
        return matrix, inverse, s[..., max(rank, 1) - 1] / s[..., 0]

    def _corrected(self, t: ArrayLike, q: Array) -> tuple[Array, Array]:
        """Return configurations on the path, by Newton's method, and the error that remains, (...)."""
        error = self._error(t, q)
        for _ in range(12):
            if not np.any(np.abs(error) > ARRIVED):
                break
            moved = self.robot.integrate(q, (self._solver(q)[1] @ error[..., None])[..., 0])
            after = self._error(t, moved)
            better = (np.abs(after).max(axis=-1) < np.abs(error).max(axis=-1))[..., None]
            if not better.any():
                break
            q, error = np.where(better, moved, q), np.where(better, after, error)
        return q, np.abs(error).max(axis=-1)

    def _velocity(self, t: ArrayLike, q: Array, inverse: Array | None = None) -> Array:
        """Return the smallest velocities of the joints that move the tool along the path."""
        inverse = self._solver(q)[1] if inverse is None else inverse
        return np.asarray((inverse[..., : self.path.n] @ self._wanted(t)[1][..., None])[..., 0])

    def _rates(self, t: ArrayLike, q: Array) -> tuple[Array, Array]:
        """Return velocities and accelerations of the joints on the path."""
        robot, rows = self.robot, slice(6 - self.path.n, None)
        matrix, inverse, _ = self._solver(q)
        v = self._velocity(t, q, inverse)
        moved = robot.acceleration(q, v, np.zeros_like(v), self.frame, "aligned", classical=True)[..., rows]
        needed = self._wanted(t)[2] - moved
        if robot.loops is not None:
            needed = np.concatenate([needed, -robot.loop_drift(q, v)], axis=-1)
        a = (inverse @ needed[..., None])[..., 0]
        if self._redundant:  # so that velocities stay the smallest
            rate = robot.jacobian_rate(q, v, self.frame, "aligned")[..., rows, :] * self._moving
            way = np.swapaxes(rate, -1, -2) @ (np.swapaxes(inverse, -1, -2) @ v[..., None])
            a = a + (way - inverse @ (matrix @ way))[..., 0]
        return v, a

    @property
    def _redundant(self) -> bool:
        return self._rank < int(self._moving.sum())

    # ---------------------------------------------------------------- samples

    @cached_property
    def _table(self) -> Piecewise:
        """Polynomials through samples: quintics of positions, or cubics of positions and of velocities."""
        edges = [self.start, *self.path.kinks(self.start, self.end).tolist(), self.end]
        q, knots, rows = self._first(), [np.array(edges[:1])], []
        for begin, end in pairwise(edges):
            times, q, made = self._part(begin, end, q)
            knots.append(times[1:])
            rows.append(made)
        return Piecewise(np.concatenate(knots), np.concatenate(rows))

    def _first(self) -> Array:
        """Return the configuration at the beginning of the path."""
        goal, what = self._wanted(self.start)[0], "position" if self.path.n == 3 else "pose"
        try:
            found = inverse_kinematics(self.robot, self.frame, goal, self.q_guess, what=what, joints=self.joints)
        except UnreachableError as problem:
            raise UnreachableError(f"the path begins out of reach, at t = {self.start:g} s: {problem}") from None
        q, _ = self._corrected(self.start, found.q)
        self._refuse_singular(self.start, q)
        return q

    def _part(self, begin: float, end: float, first: Array) -> tuple[Array, Array, Array]:
        """Return the samples' times of a smooth part, where it ends, and its polynomials."""
        count, before, off = FEWEST, first[None], np.inf
        inside = 16.0 * np.finfo(float).eps * max(abs(begin), abs(end), 1.0)  # values inside, up to the ends
        while count <= MOST:
            times = np.linspace(begin, end, count + 1)
            asked = np.clip(times, begin + inside, end - inside)
            q = self._traced(asked, first)
            if len(q) == len(times):
                self._refuse_singular(asked, q)
                v, a = self._rates(asked, q)
                made = self._polynomials(times, q, v, a)
                middle = 0.5 * (times[1:] + times[:-1])
                between = np.stack(Piecewise(times, made).motion(Jet(middle, 1.0))[0][: self.nq], axis=-1)
                off = float(np.abs(self._error(middle, between)).max())
                drift = float(np.abs(q[::2] - before).max()) if 2 * len(before) == len(q) + 1 else np.inf
                if off < ON_PATH and (drift < DRIFT or not self._redundant):
                    self._refuse_limits(times, q)
                    return times, q[-1], made
            count, before = 2 * count, q
        raise SingularError(
            f"frame {self.frame!r} cannot follow its path from t = {begin:g} s to {end:g} s smoothly: with {MOST} "
            f"samples it is {off:.1g} (m, rad) off between them, since the robot comes near a singular configuration"
        )

    def _polynomials(self, times: Array, q: Array, v: Array, a: Array) -> Array:
        if self.n == self.nq:
            return hermite(times, [q, v, a])
        return np.concatenate([hermite(times, [q, self.robot.configuration_rate(q, v)]), hermite(times, [v, a])], -1)

    def _traced(self, times: Array, first: Array) -> Array:
        """Return configurations at some times, fewer where steps are too long; refuse a path that ends on the way."""
        found = [first]
        for t, h in zip(times[:-1].tolist(), np.diff(times).tolist(), strict=True):
            arrived = self._step(t, h, found[-1])
            if arrived is None:
                self._refuse_beyond(t, h, found[-1])
                break
            found.append(arrived)
        return np.stack(found)

    def _step(self, t: float, h: float, q: Array) -> Array | None:
        """Integrate velocities by a Runge-Kutta step, and bring the result onto the path; None if it is far away."""
        robot, half = self.robot, t + 0.5 * h
        one = self._velocity(t, q)
        two = self._velocity(half, robot.integrate(q, 0.5 * h * one))
        three = self._velocity(half, robot.integrate(q, 0.5 * h * two))
        four = self._velocity(t + h, robot.integrate(q, h * three))
        led = robot.integrate(q, h / 6.0 * (one + 2.0 * (two + three) + four))
        arrived, off = self._corrected(t + h, led)
        return arrived if off < ON_PATH and np.abs(robot.difference(led, arrived)).max() < NEAR else None

    def _refuse_beyond(self, t: float, h: float, q: Array) -> None:
        """Refuse a path that even ever shorter steps cannot follow any further."""
        end, shortest = t + h, SHORTEST * h
        while t < end - shortest:
            h = min(h, end - t)
            arrived = self._step(t, h, q)
            if arrived is not None:
                t, q = t + h, arrived
            elif (h := 0.5 * h) < shortest:
                self._refuse_singular(t, q)
                pose = self._wanted(t)[0]
                place = pose if self.path.n == 3 else pose[:3, 3]
                raise UnreachableError(
                    f"frame {self.frame!r} follows its path up to t = {round(t, 9):.4g} s only, where it is at "
                    f"{', '.join(f'{x:.4g}' for x in place)}: what comes next is out of reach of these joints"
                )

    def _refuse_singular(self, t: ArrayLike, q: Array) -> None:
        ratio = np.atleast_1d(self._solver(q)[2])
        if np.any(ratio < NEARLY_SINGULAR):
            when = float(np.atleast_1d(t)[np.argmax(ratio < NEARLY_SINGULAR)])
            hint = "" if self.robot.loops is None else ", or the path and its loops do not determine all joints"
            raise SingularError(
                f"robot {self.robot.name!r} is singular at t = {round(when, 9):.4g} s on the path of {self.frame!r}"
                f"{hint}: choose another path or q_guess, or name the joints that may move, joints=[...]"
            )

    def _refuse_limits(self, times: Array, q: Array) -> None:
        low, high = self.robot.lower_limits, self.robot.upper_limits
        if self.limits and (over := (q > high + ON_PATH) | (q < low - ON_PATH)).any():
            k, j = (int(x) for x in np.argwhere(over)[0])
            raise UnreachableError(
                f"{self.robot.q_names[j]!r} reaches its limit {float(high[j] if q[k, j] > high[j] else low[j]):.4g} at "
                f"t = {times[k]:.4g} s on the path of {self.frame!r}: another q_guess may lead to another branch, and "
                "limits=False ignores limits"
            )
