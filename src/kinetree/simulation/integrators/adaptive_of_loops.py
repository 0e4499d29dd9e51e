"""Adaptive integrators of mechanisms: loops are closed after every step, and change points are crossed.

:mod:`.change_points` explains why an integrator alone cannot cross them, and how the path across is found.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import Message, Setting
from ...evaluation.law_failures import Fault
from ...spatial.arrays import Array
from ..system import State
from .adaptive import ScipyStepper
from .change_points import TELLING, Path, Way, agree, times_before, ways_over

SHRUNK = 0.5
"""Fraction of the usual step below which loops are checked as the reason."""

NEARLY_SINGULAR = 0.02
"""Smallest singular value of K, relative to the largest, below which loops can be the reason."""

LOST = 1e-6
"""The same, below which rounding determines velocities: their error is about 1e-16 divided by its square."""

CLEAR = 3e-4
"""The same, down to which states define the path across: errors of accelerations are about 1e-16 over its cube."""

TOO_NEAR = 1e-4
"""The same, below which even a motion away from a change point is followed from before that point."""

REMEMBERED = 40
"""States from which the motion toward a change point can be recomputed, at least half a usual step apart."""

MORE_DIGITS = 1e-3
"""Factor on tolerances, since extrapolated polynomials multiply errors by about its inverse."""

KNOWN = 1e-7
"""Error of the path across that is always allowed (rad, m, rad/s, m/s): ten times the best usual accuracy."""

SHORTEST = 5.0
"""Least distance of the first state before a change point, in units of the last one's distance."""

STEPS_FOLLOWED = 1000
"""Most steps when recomputing the motion: beyond that, it has reached another change point."""

ELSEWHERE = 1e-5
"""Motions that differ by more than this, apart from their errors, are different ones (rad, m)."""


class LoopStepper(ScipyStepper):
    """An adaptive integrator whose loops stay closed, also across change points."""

    looks_at_all = True

    def restart(self, t: float, state: State) -> None:
        """Continue from another state."""
        super().restart(t, state)
        self._forget(t, state)

    def carry_on(self, state: State, end: float) -> None:
        """Continue to another end without the earlier motion, since forces may have jumped."""
        super().carry_on(state, end)
        self._forget(self.t, state)

    def _forget(self, t: float, state: State) -> None:
        """Forget the motion before this state."""
        self.usual_step = 0.0
        self.past: list[tuple[float, Array]] = [(t, np.concatenate(state))]
        self.tried, self.tried_clear = np.inf, False
        self.most_regular = self._regularity()

    def step(self) -> None:
        """Take one step, close the loops, and cross a change point that is near."""
        self.over = False
        super().step()
        if not self.over:
            self._mind_change_points(self.poor)

    def _rescued(self) -> bool:
        """Cross a change point toward which the integrator cannot take a single step; return whether there was one."""
        if self.t >= self.end or (left := self._regularity()) >= NEARLY_SINGULAR:
            return False
        self.over = self._go_over(self.solver.y.copy(), left)
        return self.over

    def _mind_change_points(self, poor: bool) -> None:
        """If steps have shrunk because loops are about to lose a constraint, cross on the smooth path.

        The same applies if a step has by chance come so close that rounding dominates accelerations, which are then
        ``poor``.
        """
        step, y = self.t - self.t_old, self.solver.y.copy()
        self.usual_step = max(step, 0.9 * self.usual_step)
        # steps that shrink to nothing must not push out states that are needed
        if self.t - self.past[-1][0] >= SHRUNK * self.usual_step:
            self.past = [*self.past[1 - REMEMBERED :], (self.t, y)]
        shrunk = step < SHRUNK * self.usual_step
        left = self._regularity() if shrunk or poor else 1.0
        if left >= (NEARLY_SINGULAR if shrunk else TOO_NEAR):
            self.tried, self.tried_clear = np.inf, False
            return
        self.most_regular = max(self.most_regular, left)
        if left < self.tried:
            if self._go_over(y, left):
                return
            self.tried = 0.5 * left  # closer to the point, the path across is shorter
        if left < LOST < 0.01 * self.most_regular and self.t < self.end:  # and the run did not begin there
            raise Fault(self._diagnosis(None), self.t, self._fastest())

    def _go_over(self, y: Array, left: float) -> bool:
        """Go to the other side of a change point, if the path there is known; return whether it was."""
        falls = self._losing(y)
        ahead = left / falls if falls else np.inf
        if not np.isfinite(ahead) or (ahead > self.usual_step and left > CLEAR) or (ahead <= 0.0 and left > TOO_NEAR):
            return False  # the point is still too far away, or the motion leads away from it
        # if a force has begun to act just before, only states close to the point are available
        sizes = [2.0 * TELLING] if self.tried_clear else [CLEAR, 2.0 * TELLING]
        wanted = np.maximum(sizes, left) / abs(falls)
        if 0.5 * self.options["max_step"] > wanted[-1]:
            wanted = np.minimum(wanted, 0.5 * self.options["max_step"])
        self.tried_clear = True
        return any(self._gone_over(self.t + ahead, nearest) for nearest in np.unique(wanted)[::-1])

    def _gone_over(self, change: float, nearest: float) -> bool:
        """Go to the other side of a change point, if states up to ``nearest`` before it determine the path."""
        enough = [t for t, _ in self.past if change - t >= SHORTEST * nearest]
        # a long step may have passed another change point, which must not be crossed again
        return any(
            self._gone_from(since, change, nearest) for since in sorted({enough[0], enough[-1]} if enough else ())
        )

    def _gone_from(self, since: float, change: float, nearest: float) -> bool:
        """Go to the other side of a change point, if states from ``since`` to ``nearest`` before it define a path."""
        rtol, atol = self.options["rtol"], self.options["atol"]
        past = self._anew(times_before(change, nearest, since))
        ways = ways_over(past, change, self.end, self._regularity, lambda y: atol + rtol * np.abs(y) + KNOWN)
        return any(self._taken(way, past[-1][0], change) for way in ways)

    def _taken(self, way: Way, last: float, change: float) -> bool:
        """Take a path across a change point, if forces on the other side agree with it."""
        t, path = way.end, way.path
        if t <= self.t or not self._same_motion(path):
            return False
        state = self._held(t, self._unit(path(np.array(t))))
        there = np.concatenate(state)
        if not agree(path, t, change - last, self._rate(t, there), way.error, self._regularity(there)):
            return False  # a force has begun to act on the way
        # the last step may already be on another branch
        before, switch = self.dense, max(self.t_old, last)
        self.dense = lambda times: np.where(times <= switch, before(times), path(times).T) if before else path(times).T
        self.t, self.state, self.past = t, state, [(t, there)]
        self.tried, self.tried_clear = np.inf, False
        if t < self.end:
            first = min(self.usual_step, self.end - t)
            self.solver = self.make(self._rate, t, there, self.end, first_step=first, **self.options)
        return True

    def _same_motion(self, path: Path) -> bool:
        """Return whether a path passes through the current state, rather than lying on another branch of the motion."""
        q, _, _ = self._parts(path(np.array(self.t)))
        off = np.abs(q - self._parts(self.solver.y)[0])
        return bool(np.all(off <= 1e3 * (self.options["atol"] + self.options["rtol"] * np.abs(q)) + ELSEWHERE))

    def _losing(self, y: Array) -> float:
        """Return how fast the loops approach the loss of a constraint: the rate of decrease of :meth:`_regularity`.

        Measured along fixed directions, the least singular value of K has a sign: it is smooth where it vanishes,
        unlike its absolute value.
        """
        robot: Any = self.equation.robot
        q, v, _ = self._unit(y)
        u, sizes, w = np.linalg.svd(robot.loop_jacobian(q))
        k = robot.coordinates_at(self.state[0]).rank - 1
        apart = 1e-6 / max(1.0, float(np.abs(v).max()))
        ahead, behind = (u[:, k] @ robot.loop_jacobian(robot.integrate(q, h * v)) @ w[k] for h in (apart, -apart))
        return float((behind - ahead) / (2.0 * apart * sizes[0]))

    def _anew(self, times: Array) -> list[tuple[float, Array]]:
        """Return the motion at some times up to now, integrated again with tighter tolerances."""
        if not len(times):
            return []
        t, y = next((t, y) for t, y in reversed(self.past) if t <= times[0])
        finer = {k: max(MORE_DIGITS * self.options[k], 1e-13) for k in ("rtol", "atol")}
        nodes, count = [], 0
        for until in times.tolist():
            solver = self.make(self._rate, t, y, until, **(self.options | finer)) if until > t else None
            while solver is not None and solver.status == "running":
                count += 1
                if self._stepped(solver) is not None or count > STEPS_FOLLOWED:
                    return []
            if solver is not None:
                y = np.concatenate(self._held(until, self._unit(solver.y)))
            t = until
            nodes.append((t, y))
        return nodes

    def _regularity(self, y: Array | None = None) -> float:
        """Return how far the loops are from losing a constraint, from zero, where they lose it, to one."""
        robot: Any = self.equation.robot
        q = self.state[0] if y is None else self._unit(y)[0]
        sizes, rank = np.linalg.svd(robot.loop_jacobian(q), compute_uv=False), robot.coordinates_at(self.state[0]).rank
        return float(sizes[rank - 1] / sizes[0]) if rank else 1.0

    def _hold(self) -> None:
        """Close loops after a step; its rates may be poor if they were not found with the prepared constraints."""
        before = self.equation.n_prepared
        super()._hold()
        self.poor = self.equation.n_prepared == before

    def _diagnosis(self, complaint: str | None) -> str:
        if self._regularity() < NEARLY_SINGULAR:
            return Message(
                f"{self.name} cannot continue: the loops of {self.equation.robot.name!r} are at a change point or a "
                "dead center, where they lose a constraint and forces no longer determine the motion; see "
                "robot.mobility(q), or take a fixed step (",
                Setting("integrator", "rk4"), ", ", Setting("step", ...), "), which may step over it",
            )  # fmt: skip
        return super()._diagnosis(complaint)
