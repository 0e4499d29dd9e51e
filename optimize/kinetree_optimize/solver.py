"""Differential dynamic programming for many plans at once, with limits by augmented Lagrangians.

Actions stay within their limits at every iteration; nodes may begin apart from where the one before ended, and a full
step closes these gaps (the feasibility-driven method of Mastalli). Limits of states and ends are met from outside:
each round of iterations finds the best motion for the present multipliers, then the multipliers follow.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kinetree.spatial.arrays import Array

from .sweeps import CLOSED, SHARES, Passes

OPTIMAL = "optimal"
INFEASIBLE = "limits cannot be met"
STALLED = "stalled"
ITERATIONS = "out of iterations"
TIME = "out of time"
STOPPED = "stopped by the callback"
LOST = "lost"

SUFFICIENT = 1e-4
"""Fraction of the predicted decrease of the cost that a step has to bring."""

UNSURE = 10.0
"""How much more of the slope than the square of the model's error a full step may leave."""

POOR = 0.1
"""If the cost falls by less than this fraction of what was predicted, a shorter step is tried, too."""

SHORT_STEP, HALF_STEP = 0.01, 0.5
"""Steps that are shortened to this fraction are too long: there is more damping from then on; above the other fraction
there is less."""

BENDS = (4.0, 0.25, 0.03)
"""How the share of second derivatives grows at every iteration, how it shrinks where the curvature is not positive with
them, and below which share they are left out."""

ALL_SHARES = 0.5 ** np.arange(SHARES)

ROUNDING = 1e-13
"""Changes of the cost by less than this fraction of it are rounding."""

LARGEST_PENALTY = 1e8
"""The penalty on violated limits grows up to this factor times the first one."""

FASTER = 0.05
"""Violations that do not shrink to this fraction in a round make the penalty grow."""

MOST_DAMPING = 1e10
"""Damping beyond this factor times the curvature of the cost along actions means that a plan has stalled."""

MANY = 4
"""Up to one plan of so many, shorter steps are tried for those alone that need them."""

ROUNDS_IN_VAIN = 4
"""Rounds at the largest penalty in which violations do not shrink, after which limits count as impossible."""


class Progress(NamedTuple):
    """What a callback is told after each iteration.

    Attributes
    ----------
    iteration : int
    plans : ndarray of int
        Which plans of the batch are still being improved.
    cost : ndarray
        Their costs.
    violation : ndarray
        How far limits were exceeded when multipliers were last updated; a violation of one is much.
    seconds : float
        Time since the beginning.
    """

    iteration: int
    plans: Array
    cost: Array
    violation: Array
    seconds: float


class Budget(NamedTuple):
    """When to stop.

    Attributes
    ----------
    iterations : int
    seconds : float
    tolerance : float
        Largest slope of the cost, relative, and largest violation of limits at an optimum.
    callback : callable, optional
        Gets a :class:`Progress` after each iteration; if it returns True, the search stops.
    """

    iterations: int
    seconds: float
    tolerance: float
    callback: Callable[[Progress], object] | None = None


class FoundPlans(NamedTuple):
    """What the search found, for each plan: the node comes first, then the plan."""

    x: Array
    u: Array
    gains: Array
    y: Array
    y_end: Array
    penalty: Array
    cost: Array
    excess: Array
    excess_end: Array
    status: list[str]
    iterations: Array
    gap: Array
    seconds: float


class _PlanStates:
    """The numbers of each plan that decide what happens next; all are arrays (L,)."""

    def __init__(self, count: int, first: float, tolerance: float) -> None:
        self.plan = np.arange(count)
        self.active = np.ones(count, dtype=bool)
        self.violation = np.full(count, np.inf)
        self.reduction = np.full(count, 1e-2)
        self.damping = np.zeros(count)
        self.base = np.full(count, first)
        self.weight = np.zeros(count)
        self.first_penalty = np.ones(count)
        self.vain = np.zeros(count, dtype=int)
        self.iterations = np.zeros(count, dtype=int)
        self.value = np.zeros(count)
        self.cost = np.zeros(count)
        self.share = np.ones(count)
        self.bend = np.ones(count)

    def of(self, kept: Array) -> None:
        """Keep some of the plans."""
        for name, x in vars(self).items():
            setattr(self, name, x[kept])


class MotionSearch:
    """The search for the best motions of a batch of plans.

    Parameters
    ----------
    passes : Passes
        Nothing else uses them meanwhile.
    x, u : ndarrays (N + 1, L, nx), (N, L, nu)
        Where the search begins.
    budget : Budget
    penalty : ndarray (L,), optional
        First penalties; chosen from costs and violations by default.
    """

    def __init__(self, passes: Passes, x: Array, u: Array, budget: Budget, penalty: Array | None = None) -> None:
        self.texts, self.passes, self.budget = passes.texts, passes, budget
        texts, given = passes.texts, passes.given
        passes.begin(x, u)
        self.begun = clock.perf_counter()
        count, nodes = x.shape[1], u.shape[0]
        self.lanes = _PlanStates(count, 1.0, budget.tolerance)
        self.n_limits = len(texts.run.named) + len(texts.end.named)
        d, layout = texts.dynamics, texts.layout
        self.result = FoundPlans(
            x.copy(), u.copy(), np.zeros((nodes, count, d.nu * d.nd)), given.y.copy(), given.y_end.copy(),
            np.ones(count), np.full(count, np.nan), np.zeros(given.y.shape), np.zeros(given.y_end.shape),
            [ITERATIONS] * count, np.zeros(count, dtype=int), np.zeros(count), 0.0,
        )  # fmt: skip
        self._gains = layout.gains
        if not self.n_limits:
            self.lanes.reduction[:] = budget.tolerance
        self._has_gains = False
        self._choose_penalty(penalty)

    # ------------------------------------------------------------------ set-up

    def _choose_penalty(self, penalty: Array | None) -> None:
        passes, lanes = self.passes, self.lanes
        if penalty is None:
            passes.given.penalty[:] = 1.0
            cost, _ = passes.costs.values()
            far = sum((x**2).sum(axis=tuple(k for k in range(x.ndim) if k != x.ndim - 2))
                      for x in passes.costs.limits()[:2])  # fmt: skip
            with np.errstate(all="ignore"):
                chosen = 10.0 * np.maximum(np.abs(cost), 1.0) / np.maximum(far, 1e-2)
            penalty = np.clip(np.nan_to_num(chosen, nan=10.0), 1.0, 1e4)
        passes.given.penalty[:, 0] = lanes.first_penalty[:] = penalty
        self._evaluate()

    def _evaluate(self) -> None:
        cost, value = self.passes.costs.values()
        self.lanes.cost, self.lanes.value = cost, value

    # ------------------------------------------------------------------ predictive control

    def go_on(self, start: Array, passed: int, times: Array, wanted: Array | None, iterations: int) -> None:
        """Move plans on by some nodes, begin them elsewhere, and improve them.

        Parameters
        ----------
        start : ndarray (L, nx)
        passed : int
            Nodes that have passed.
        times : ndarray (N + 1,)
        wanted : ndarray (N + 1, L, n), optional
            What terms want from now on, if it has changed.
        iterations : int
        """
        passes, lanes = self.passes, self.lanes
        given, k = passes.given, min(max(passed, 0), len(passes.u) - 1)
        if not self._has_gains:
            passes.linearize()
            self._solve()
            self._has_gains = True
        if k:
            for x in (passes.x, passes.u, passes.found, given.y):
                x[:-k] = x[k:].copy()
                x[-k:] = x[-1 - k]
        given.t[:] = times[:, None, None]
        if wanted is not None:
            given.p[:] = wanted
        passes.gaps[:], passes.is_open = 0.0, self.texts.dynamics.can_jump
        forward = passes.all_at_once()
        copies = forward.x.shape[1] // start.shape[0]
        forward(np.repeat(start, copies, axis=0), 0.0)
        fine = np.flatnonzero(np.isfinite(forward.x[:, : start.shape[0]]).all(axis=(0, 2)))
        passes.motions.take(forward.motions, fine, fine)
        passes.x[0] = start
        lanes.active[:], lanes.damping[:], lanes.weight[:] = True, 0.0, 0.0
        lanes.reduction[:] = self.budget.tolerance
        self._evaluate()
        for _ in range(iterations):
            lanes.iterations += 1
            self._improve()
        if self.n_limits:
            _, _, y, y_end = passes.costs.limits()
            given.y[:], given.y_end[:] = y, y_end

    def now(self) -> FoundPlans:
        """Return plans as they are."""
        self._finish(np.ones(len(self.lanes.plan), dtype=bool), [ITERATIONS] * len(self.lanes.plan))
        return self.result

    # ------------------------------------------------------------------ iterations

    def run(self) -> FoundPlans:
        """Search until every plan is done, or the budget is spent."""
        iteration = 0
        while self.lanes.active.any():
            lanes, seconds = self.lanes, clock.perf_counter() - self.begun
            if iteration >= self.budget.iterations or seconds > self.budget.seconds:
                reason = ITERATIONS if iteration >= self.budget.iterations else TIME
                self._finish(lanes.active, [reason] * len(lanes.plan))
                break
            iteration += 1
            lanes.iterations += lanes.active
            self._iterate()
            if self.budget.callback is not None and self._is_stopped(iteration):
                self._finish(lanes.active, [STOPPED] * len(lanes.plan))
                break
            if np.count_nonzero(lanes.active) <= len(lanes.active) // 2:
                self._drop()
        return self.result._replace(seconds=clock.perf_counter() - self.begun)

    def _is_stopped(self, iteration: int) -> bool:
        lanes = self.lanes
        plan, cost, violation = (x[lanes.active] for x in (lanes.plan, lanes.cost, lanes.violation))
        now = Progress(iteration, plan, cost, violation, clock.perf_counter() - self.begun)
        assert self.budget.callback is not None
        return self.budget.callback(now) is True

    def _iterate(self) -> None:
        """Improve all plans once, and finish those that are done."""
        self._outer(*self._improve())

    def _improve(self) -> tuple[Array, Array, Array]:
        """Improve all plans once; return which have settled, which are stuck, and which are lost."""
        passes, lanes = self.passes, self.lanes
        passes.linearize()
        slope, curvature = self._solve()
        closed, gap = True, 0.0
        if passes.is_open:
            gap = np.abs(passes.gaps).sum(axis=(0, 2))
            closed = gap <= CLOSED
            lanes.weight = np.where(closed, 0.0, np.maximum(lanes.weight, 2.0 * passes.weight_of_gaps))
        with np.errstate(all="ignore"):
            predicted = -(slope + 0.5 * curvature)
            small = lanes.reduction * lanes.reduction * (1.0 + np.abs(lanes.value))
            settled = (np.abs(slope) <= small) & closed
        lost = ~(np.isfinite(lanes.value) & np.isfinite(slope))
        moving = ~lost & lanes.active
        was = lanes.value
        improved = np.zeros(len(moving), dtype=bool)
        if moving.any():
            was = lanes.value.copy()
            improved = self._step(moving, slope, predicted, gap)
        with np.errstate(all="ignore"):
            # after a full step, about the square of the model's error remains
            error = (was - lanes.value - predicted) / predicted
            soon = improved & (lanes.share == 1.0) & closed & (lanes.reduction > self.budget.tolerance)
            settled |= soon & (UNSURE * error * error * np.abs(slope) <= small)
        failed = moving & ~improved & ~settled
        worse = failed | (improved & (lanes.share <= SHORT_STEP))
        if worse.any() or lanes.damping.any():
            least = lanes.base * np.where(failed, 1e-4, 1e-5)
            more = np.maximum(np.where(failed, 4.0, 2.0) * lanes.damping, least)
            less = lanes.damping * np.where(lanes.share >= HALF_STEP, 0.2, 0.3)
            less[less < 1e-8 * lanes.base] = 0.0
            lanes.damping = np.where(worse, more, less)
        stuck = failed & (lanes.damping > MOST_DAMPING * lanes.base)
        return settled & lanes.active, stuck, lost & lanes.active

    def _solve(self) -> tuple[Array, Array]:
        """Run the backward pass; plans whose curvature is not positive get less of second derivatives, or damping."""
        passes, lanes = self.passes, self.lanes
        (growth, shrink, least_bend), has_bends = BENDS, self.texts.bend is not None
        lanes.bend = np.clip(growth * lanes.bend, least_bend, 1.0)
        for _ in range(30):
            passes.damping[:, 0], passes.bend_share[:, 0] = lanes.damping, lanes.bend
            slope, curvature, least = passes.backward()
            bad = ~(least > 0.0) & np.isfinite(lanes.value) & lanes.active & (lanes.damping < MOST_DAMPING * lanes.base)
            if not bad.any():
                break
            bent = bad & (lanes.bend > 0.0) & has_bends
            lanes.bend[bent] *= shrink
            lanes.bend[lanes.bend < least_bend] = 0.0
            bad &= ~bent
            lanes.damping[bad] = np.maximum(lanes.damping[bad] * 10.0, lanes.base[bad] * 1e-3)
        return slope, curvature

    def _step(self, moving: Array, slope: Array, predicted: Array, gap: Array | float) -> Array:
        """Try shares of the step, and take the best; return which plans improved."""
        passes, lanes = self.passes, self.lanes
        now = lanes.value + lanes.weight * gap
        slack, wanted = ROUNDING * (1.0 + np.abs(now)), SUFFICIENT * np.minimum(slope, 0.0)
        gaps = lanes.weight * gap

        def merits(which: Any, share: Any, value: Array) -> Array:
            """Return costs of tried steps with gaps; infinity where that is not enough less."""
            with np.errstate(all="ignore"):
                merit = value + (1.0 - share) * gaps[which]
                return np.where(merit - now[which] <= share * wanted[which] + slack[which], merit, np.inf)

        forward, plans = passes.all_at_once(), len(moving)
        lanes.share[moving] = 0.0
        if plans == 1:
            cost, value = forward(passes.x[0], ALL_SHARES)
            merit = merits(0, ALL_SHARES, value)
            best = int(merit.argmin())
            if not np.isfinite(merit[best]):
                return np.zeros(1, dtype=bool)
            passes.motions.whole[:, 0] = forward.motions.whole[:, best]
            lanes.cost[0], lanes.value[0], lanes.share[0] = cost[best], value[best], ALL_SHARES[best]
            return np.ones(1, dtype=bool)
        start, left, share = passes.x[0], np.flatnonzero(moving), 1.0
        least, tried = np.full(plans, np.inf), 0
        while tried < SHARES and (not tried or len(left) > plans // MANY):
            # all plans again cost less than copies of many
            cost, value = forward(start, share)
            merit = merits(left, share, value[left])
            better = merit < least[left]
            own = left[better]
            passes.candidates.take(forward.motions, own, own)
            lanes.cost[own], lanes.value[own], lanes.share[own] = cost[own], value[own], share
            least[own] = merit[better]
            with np.errstate(all="ignore"):
                fell = (now[left] - merit) / predicted[left]
            left = left[~np.isfinite(least[left]) | (better & (fell < POOR))]
            tried, share = tried + 1, 0.5 * share
        improved = np.isfinite(least)
        own = np.flatnonzero(improved)
        passes.motions.take(passes.candidates, own, own)
        left = left[~improved[left]]
        if len(left) and tried < SHARES:
            self._step_of_few(left, share * ALL_SHARES[: SHARES - tried], merits, improved)
        return improved

    def _step_of_few(self, left: Array, shares: Array, merits: Callable[..., Array], improved: Array) -> None:
        """Try several shares at once for a few plans."""
        passes, lanes = self.passes, self.lanes
        which, share = np.repeat(left, len(shares)), np.tile(shares, len(left))
        forward = passes.some(which)
        more = len(forward.share) - len(which)
        padded, origin = np.concatenate([share, np.ones(more)]), np.concatenate([which, np.full(more, which[0])])
        cost, value = (x[: len(which)] for x in forward(passes.x[0][origin], padded))
        merit = merits(which, share, value).reshape(len(left), len(shares))
        best = merit.argmin(axis=1) + np.arange(len(left)) * len(shares)
        good = np.isfinite(merit.min(axis=1))
        own, source = left[good], best[good]
        passes.motions.whole[:, own] = forward.motions.whole[:, source]
        lanes.cost[own], lanes.value[own], improved[own] = cost[source], value[source], True
        lanes.share[own] = share[source]

    # ------------------------------------------------------------------ rounds

    def _outer(self, settled: Array, stuck: Array, lost: Array) -> None:
        """Update multipliers of plans that have settled, and finish those that are done."""
        lanes, given, tolerance = self.lanes, self.passes.given, self.budget.tolerance
        done = np.zeros(len(settled), dtype=bool)
        status = [""] * len(settled)
        ready = settled | stuck
        if ready.any():
            _, _, y, y_end = self.passes.costs.limits()
            penalty = given.penalty[:, 0]
            change = np.maximum(_most(y - given.y, (0, 2)), _most(y_end - given.y_end, (1,))) / penalty
            if not self.n_limits:
                change = np.zeros(len(settled))
            final = lanes.reduction <= tolerance
            for k in np.flatnonzero(ready):
                if change[k] <= tolerance and (final[k] or stuck[k]):
                    done[k], status[k] = True, OPTIMAL if final[k] and settled[k] else STALLED
                    continue
                if change[k] <= tolerance:
                    lanes.reduction[k] = tolerance
                    if self.n_limits:
                        given.y[:, k], given.y_end[k] = y[:, k], y_end[k]
                    lanes.violation[k] = change[k]
                    continue
                shrank = change[k] <= FASTER * lanes.violation[k]
                most = penalty[k] >= LARGEST_PENALTY * lanes.first_penalty[k]
                lanes.vain[k] = lanes.vain[k] + 1 if most and not shrank else 0
                if lanes.vain[k] >= ROUNDS_IN_VAIN or (stuck[k] and most):
                    done[k], status[k] = True, INFEASIBLE
                    continue
                given.y[:, k], given.y_end[k] = y[:, k], y_end[k]
                if not shrank and not most:
                    penalty[k] *= 10.0
                lanes.violation[k] = change[k]
                lanes.reduction[k] = max(lanes.reduction[k] * 0.3, tolerance)
                lanes.damping[k] = 0.0
            self._evaluate()
        for k in np.flatnonzero(lost & ~done):
            done[k], status[k] = True, LOST
        if done.any():
            self._finish(done, status)
            lanes.active &= ~done

    def _finish(self, done: Array, status: list[str]) -> None:
        lanes, passes, found = self.lanes, self.passes, self.result
        here, there = np.flatnonzero(done), lanes.plan[done]
        excess, excess_end, _, _ = passes.costs.limits()
        found.x[:, there], found.u[:, there] = passes.x[:, here], passes.u[:, here]
        found.gains[:, there] = passes.found[:, here][..., self._gains]
        found.y[:, there], found.y_end[there] = passes.given.y[:, here], passes.given.y_end[here]
        found.penalty[there], found.cost[there] = passes.given.penalty[here, 0], lanes.cost[here]
        found.excess[:, there], found.excess_end[there] = excess[:, here], excess_end[here]
        found.iterations[there], found.gap[there] = (
            lanes.iterations[here],
            np.abs(passes.gaps[:, here]).max(axis=(0, 2)),
        )
        for k in here:
            found.status[lanes.plan[k]] = status[k]

    def _drop(self) -> None:
        """Go on without the plans that are done, once they are half of all."""
        passes, keep = self.passes, np.flatnonzero(self.lanes.active)
        self.lanes.of(keep)
        if len(keep):
            self.passes = Passes(self.texts, passes.riccati, passes.given.of(keep))
            self.passes.begin(passes.x[:, keep], passes.u[:, keep])
            self.passes.is_open = passes.is_open


def _most(x: Array, axes: tuple[int, ...]) -> Array:
    return np.abs(x).max(axis=axes, initial=0.0)
