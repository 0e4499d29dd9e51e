"""One search for numbers of a mechanism that meet the goals: points first, then motions, from many starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kinetree.errors import OptionError, UnsupportedError, refuse_unknown
from kinetree.evaluation.small_matrices import one_blas_thread
from kinetree.io.interrupts import are_interrupts_passed_on
from kinetree.spatial.arrays import Array

from .evolution_search import EvolutionSearch
from .found_design import AT_BOUND, FoundDesign, GoalRow
from .goals import DesignGoal, Limit, MotionGoal, OwnGoal, PointGoal
from .local_search import EXCEEDED, LocalSearch
from .pin_distances import PinDistances
from .precision_points import SOLVED, Met, PrecisionPoints
from .problem import DesignProblem
from .search_progress import SearchProgress
from .starts import beside, screened

SHARP = (30.0, 300.0, 3000.0)
"""Successive sharpness of smooth maxima; their errors are log(samples) / sharp."""

JUDGED = (None, None)
"""Searches by true maxima, as reports judge, come last; the second begins where kinks have held up the first."""

MOST_STARTS, FIRST_ROUND = 8192, 12
"""Starts for points: rounds grow until a design without defects is found."""

MANY, LITTLE_BETTER = 1024, 0.9
"""Rounds of so many starts that leave more than this part of what is missed are in vain: one is enough where bounds are
in the way, two otherwise."""

USUAL_STARTS, REFINED = 64, 4
"""Starts for motions: designs that are evaluated, and how many of the best are improved."""

MOST_POLISHED, NEARLY_MET = 4, 0.02
"""How often limits that are exceeded by at most this relative amount are approached once more, with a margin."""

NO_DEAD_POINT = 1e-3
"""Least squared sine at which motions count as clear of dead points, or a tenth of that of the drawing."""

STEP_ASIDE = 0.05
"""How far numbers are changed to see whether anything depends on them, in parts of their ranges."""

GRADIENTS, EVOLUTION = METHODS = ("gradients", "cma")
INTERRUPTED = "interrupted: this is the best so far"

SAME = 1e-5
"""Designs that differ by less than this fraction of their ranges are the same."""


@dataclass
class LimitRow:
    """A limit in numbers: sign * (value - bound) >= 0."""

    goal: DesignGoal
    bound: float
    sign: float
    scale: float
    margin: float = 0.0
    """How far beyond the bound a search stays, since true extremes lie between samples."""

    @property
    def aimed(self) -> float:
        """The bound with its margin."""
        return self.bound + self.sign * self.margin


@dataclass
class BestSoFar:
    """The best design so far."""

    u: Array
    size: float = np.inf
    met: Met | None = None
    others: list[tuple[Met, str]] = field(default_factory=list)
    defect: str = ""


class DesignSearch:
    """One search.

    Parameters
    ----------
    of : DesignProblem
    goals : sequence of DesignGoal
    limits : sequence of Limit
    shortest : float
    rng : Generator
    starts : int, optional
    progress : SearchProgress
    method : str, optional
    """

    def __init__(
        self, of: DesignProblem, goals: Sequence[DesignGoal], limits: Sequence[Limit], shortest: float,
        rng: np.random.Generator, starts: int | None, progress: SearchProgress, method: str | None = None,
    ) -> None:  # fmt: skip
        self.of, self.free, self.goals, self.limits = of, of.free, list(goals), list(limits)
        self.rng, self.starts, self.progress, self.shortest = rng, starts, progress, shortest
        self.begin: Array | None = None
        fits = [x for x in (*goals, *(limit.goal for limit in limits)) if isinstance(x, PointGoal)]
        self.pins = PinDistances(of, shortest)
        self.points = PrecisionPoints(of, fits, self.pins) if fits else None
        bounded = [Limit(goal, high=goal.within) for goal in goals if isinstance(goal, PointGoal)]
        self.rows = [row for limit in (*limits, *bounded) for row in self._rows(limit)]
        self.moving = [goal for goal in goals if isinstance(goal, MotionGoal)]
        self.asked: list[MotionGoal] = [*self.moving, *(r.goal for r in self.rows if isinstance(r.goal, MotionGoal))]
        self.scales = np.ones(len(self.moving))
        self.guard = NO_DEAD_POINT
        self.notes: list[str] = []
        self.idle: list[str] = []
        self.interrupted = False
        self.method = self._method(method)

    def _rows(self, limit: Limit) -> list[LimitRow]:
        goal, found = limit.goal, []
        for given, sign in ((limit.low, 1.0), (limit.high, -1.0)):
            if given is not None:
                bound = self.free.in_si(given, goal.unit.replace("N m", "Nm"), goal.label)
                if not np.isfinite(bound):
                    raise OptionError(f"{goal.label}: a bound is a finite number, not {given!r}")
                if goal.most is not None and sign > 0.0 and bound > goal.most:
                    raise OptionError(
                        f"{goal.label} is never more than {goal.most:.6g} {goal.unit}, so not at least {given!r}: plain"
                        " angles are in radians, and degrees are written '40 deg'"
                    )
                found.append(LimitRow(goal, bound, sign, max(abs(bound), 1e-9)))
        if isinstance(goal, PointGoal) and any(row.sign > 0.0 for row in found):
            raise OptionError(f"{goal.label}: at least so far from its points? Give a limit at_most, or none")
        if isinstance(goal, PointGoal) and not all(0.0 < row.bound < np.inf for row in found):
            raise OptionError(f"{goal.label}: it may miss by a positive length, or without one by nothing")
        return found

    def _method(self, asked: str | None) -> str:
        """Return how to search, and note if there is no choice."""
        own = list(dict.fromkeys(goal.label for goal in self.asked if isinstance(goal, OwnGoal)))
        if asked is not None:
            refuse_unknown("method of a design", asked, METHODS)
        method = asked or (EVOLUTION if own else GRADIENTS)
        if method == GRADIENTS and own:
            raise UnsupportedError(f"{own[0]} has no gradients: leave out method, or give method={EVOLUTION!r}")
        if method == EVOLUTION and self.points is not None:
            why = f"{own[0]} has no gradients" if own else f"method={EVOLUTION!r} has none"
            raise UnsupportedError(
                f"{self.points.goals[0].label}: points are met by gradients, and {why}; a function of your own may "
                "return how far points are missed"
            )
        if method == EVOLUTION and asked is None:
            self.notes.append(f"searched by CMA-ES, since {', '.join(own)} has no gradients")
        return method

    # ---------------------------------------------------------------- the whole search

    def run(self) -> FoundDesign:
        """Return the best design."""
        return self.reported(self.best())

    @one_blas_thread()
    def best(self) -> BestSoFar:
        """Search; Ctrl-C ends it."""
        best = BestSoFar(self.free.start.copy())
        try:
            self._name_idle()
            if self.points is not None:
                best = self._met(self.points)
                if self.points.anchored and not self.interrupted and self._is_bounded(best):
                    best = self._also_anywhere(self.points, best)
            if self.asked and not self.interrupted:
                best = self._evolved() if self.method == EVOLUTION else self._improved(best)
        except KeyboardInterrupt:
            if are_interrupts_passed_on():
                raise
            self.interrupted = True
        if self.interrupted:
            self.notes.append(INTERRUPTED)
        return best

    def front(self, count: int) -> FoundDesign:
        """Return the best design for both goals together, with a front of designs between the best for either goal."""
        if len(self.moving) != 2 or len(self.goals) != 2:
            raise OptionError("a front needs two goals that are numbers of a motion, wanted=[Torque(), ShakingForce()]")
        both = self.run()
        found = [both]
        try:
            self._between(both, count, found)
        except KeyboardInterrupt:
            if are_interrupts_passed_on():
                raise
            self.interrupted = True
            both = replace(both, notes=(*both.notes, f"{INTERRUPTED}, and a part of the front"))
        return replace(both, front=tuple(self._of_front(design) for design in found[1:]))

    def _between(self, both: FoundDesign, count: int, found: list[FoundDesign]) -> None:
        """Add designs from the best for the first goal to the best for the second one."""
        if self.interrupted:
            return
        first, last = (self._again([goal], [], both.unknowns) for goal in self.goals)
        low, high = (self._values(end)[1] for end in (last, first))
        sign = -1.0 if self.goals[1].larger else 1.0
        found.append(first)
        for bound in np.linspace(high, low, count)[1:-1]:
            limit = LimitRow(self.goals[1], float(bound), -sign, max(abs(float(bound)), 1e-9))
            found.append(self._again([self.goals[0]], [limit], found[-1].unknowns))
        found.append(last)

    def _again(self, goals: list[DesignGoal], rows: list[LimitRow], begin: Array) -> FoundDesign:
        """Search once more from a design, for some of the goals, with further limits; Ctrl-C ends the whole front."""
        other = DesignSearch(
            self.of, goals, self.limits, self.shortest, self.rng, self.starts, self.progress, self.method
        )
        other.rows += rows
        other.asked += [row.goal for row in rows if isinstance(row.goal, MotionGoal)]
        other.begin = begin
        found = other.run()
        if other.interrupted:
            raise KeyboardInterrupt
        return found

    def _values(self, design: FoundDesign) -> Array:
        return np.asarray(self.of.evaluate(design.unknowns[None], self.moving, None).values[0])

    def _of_front(self, design: FoundDesign) -> FoundDesign:
        """Return a design of the front with both goals, and no limits."""
        both = self.of.evaluate(np.stack([self.free.start, design.unknowns]), self.moving, None).values
        words = ["larger" if goal.larger else "smaller" for goal in self.moving]
        rows = [GoalRow(g.label, both[0, k], both[1, k], g.unit, words[k], None) for k, g in enumerate(self.moving)]
        return replace(design, goals=(*rows, *(row for row in design.goals if row.bound is not None)))

    def _name_idle(self) -> None:
        """Name numbers that nothing depends on."""
        if any(isinstance(goal, OwnGoal) for goal in self.asked):
            self._name_idle_by_steps()
            return
        u = np.clip(self.free.random(6, self.rng), self.free.low, self.free.high)
        touched = np.zeros(u.shape[-1], dtype=bool)
        if self.points is not None:
            _, by_u, _ = self.points.slopes(u, beside(self.points, len(u), self.rng))
            touched |= (np.abs(np.nan_to_num(by_u)) > 1e-14).any(axis=(0, 1, 2))
        if self.asked:
            found = self.of.evaluate(u, self.asked, SHARP[0])
            if not found.follows.any() and self.points is None:
                return
            sizes = np.abs(np.nan_to_num(found.values[:, :-1, None])) / (self.free.high - self.free.low)
            touched |= (np.abs(np.nan_to_num(found.slopes[:, :-1])) > 1e-12 * sizes).any(axis=(0, 1))
        self._note_idle(touched)

    def _note_idle(self, touched: Array) -> None:
        self.idle = [name for name, used in zip(self.free.names, touched, strict=True) if not used]
        if self.idle:
            self.notes.append(f"nothing that is wanted depends on {', '.join(self.idle)}: left as drawn")

    def _name_idle_by_steps(self) -> None:
        """Name numbers of which nothing depends on either of two values beside the drawing."""
        steps = STEP_ASIDE * (self.free.high - self.free.low) * np.eye(len(self.free.names))
        u = np.clip(self.free.start + np.concatenate([0.0 * steps[:1], steps, -steps]), self.free.low, self.free.high)
        found = self.of.evaluate(u, self.asked, SHARP[0])
        values = np.where(found.follows[:, None], found.values[:, :-1], np.nan)
        same = (values[1:] == values[0]) | ~found.follows[1:, None] | ~found.follows[0]
        told = found.follows[1:].reshape(2, -1).any(axis=0) & found.follows[0]
        self._note_idle(~(same.all(axis=-1).reshape(2, -1).all(axis=0) & told))

    # ---------------------------------------------------------------- points

    def _met(self, points: PrecisionPoints) -> BestSoFar:
        """Return the best design that meets the points; rounds of starts grow until there is one."""
        most, done, parts = self.starts or MOST_STARTS, 0, []
        best = BestSoFar(self.free.start.copy())
        enough, stale = self._enough(points), 0
        with self.progress.of(most):
            count = min(FIRST_ROUND, most)
            try:
                while done < most:
                    parts.append(points.search(*screened(points, count, self.rng, not done)))
                    done += count
                    known, size = len(best.others), best.size
                    best = self._chosen(points, Met.joined(parts))
                    parts = [Met.joined(parts)]
                    self.progress.step(done)
                    self.progress.tell(best.u, best.size, f"misses by {best.size:.3g} of its size")
                    is_met = best.met is not None and bool(self._is_met(points, best.met))
                    nothing_new = is_met and done > count >= 16 * FIRST_ROUND and len(best.others) == known
                    good = is_met and not best.defect
                    stale += not is_met and count >= MANY and best.size > LITTLE_BETTER * size
                    in_vain = stale > 1 or (stale and self._at_bounds(best.u).any())
                    if self.starts is None and (good or nothing_new or in_vain or done >= enough):
                        break
                    count = min(4 * count, MANY, most - done)
            except KeyboardInterrupt:
                if not parts or are_interrupts_passed_on():
                    raise
                self.interrupted = True
        return best

    def _is_bounded(self, best: BestSoFar) -> bool:
        """Return whether bounds are in the way of designs that meet the points."""
        assert self.points is not None
        is_met = best.met is not None and bool(self._is_met(self.points, best.met))
        return not is_met and bool(self._at_bounds(best.u).any())

    def _also_anywhere(self, points: PrecisionPoints, best: BestSoFar) -> BestSoFar:
        """Search for designs that are drawn at none of the points, too, since bounds are about the drawing."""
        loose = points.anywhere()
        other = self._met(loose)
        if other.size >= best.size:
            return best
        self.points = loose
        return other

    def _enough(self, points: PrecisionPoints) -> int:
        """Return how many starts suffice if points cannot all be met because there are more equations than numbers."""
        equations = int((points.factor > 0.0).sum()) + len(points.target) * len(points.rows)
        numbers = len(self.free.names) + (len(points.target) - points.anchored) * self.of.robot.nv
        return MANY if equations > numbers else MOST_STARTS

    def _at_bounds(self, u: Array) -> Array:
        """Return which numbers of a design are at a bound, (n,)."""
        span = AT_BOUND * (self.free.high - self.free.low)
        return np.asarray((u - self.free.low <= span) | (self.free.high - u <= span))

    def _chosen(self, points: PrecisionPoints, met: Met) -> BestSoFar:
        """Return the best design: one that meets all, without defects, with links of similar length; or the nearest."""
        order = np.argsort(met.cost)
        met = met[order[np.isfinite(met.cost[order])]]
        solved = int((met.cost < SOLVED).sum())
        met = met[self._distinct(met.u[: max(solved, 8)])]
        if not solved or self._allowed(points).any():
            met = points.closed(met)
            met = met[self._distinct(met.u)]
        wrong, is_met = points.defects(met), self._is_met(points, met)
        uneven = points.uneven(met.u)
        rank = sorted(range(len(wrong)), key=lambda k: (
            not is_met[k], bool(wrong[k]), met.cost[k] >= SOLVED, uneven[k] if met.cost[k] < SOLVED else met.cost[k]
        ))  # fmt: skip
        if not is_met.any():  # points that cannot be met are at least approached by a design that works
            least = met.cost.min()
            rank = sorted(rank, key=lambda k: (met.cost[k] >= 1.5 * least + SOLVED, bool(wrong[k]), met.cost[k]))
        first = rank[0]
        others = [(met[k], wrong[k]) for k in rank[1:] if is_met[k]]
        return BestSoFar(met.u[first], float(met.cost[first]), met[first], others, wrong[first])

    def _allowed(self, points: PrecisionPoints) -> Array:
        """Return how far each point may be missed, (N,), in meters."""
        bounds = {id(row.goal): row.bound * (points.free.size if row.goal.unit == "rad" else 1.0) for row in self.rows}
        return np.array([bounds.get(id(points.goals[k]), 0.0) for k in points.goal_of])

    def _is_met(self, points: PrecisionPoints, met: Met) -> Array:
        """Return which designs meet all points, or come as close as allowed."""
        allowed = np.maximum(self._allowed(points), SOLVED * points.free.size)
        return np.asarray((met.cost < SOLVED) | (met.miss <= allowed).all(axis=-1))

    def _distinct(self, u: Array) -> list[int]:
        found: list[int] = []
        for k, one in enumerate(u):
            if not found or np.abs((u[found] - one) / self.points.scale).max(axis=-1).min() > SAME:  # type: ignore[union-attr]
                found.append(k)
        return found

    # ---------------------------------------------------------------- motions

    def _improved(self, best: BestSoFar) -> BestSoFar:
        """Improve designs by sequential quadratic programming, from the best of many."""
        if best.met is not None:
            met = [best.met, *(other for other, wrong in best.others if not wrong)][: 8 * REFINED]
            u = np.array([one.u for one in met])
        else:
            u = self.free.random(self.starts or USUAL_STARTS, self.rng)
            if self.begin is not None:
                u = np.stack([self.begin, self.free.start])
        idle = [name in self.idle for name in self.free.names]
        u[:, idle] = self.free.start[idle]
        looked = self.of.evaluate(u, self.asked, None)
        if not looked.follows.any() and best.met is None:
            u = self.free.random(16 * USUAL_STARTS, self.rng)
            looked = self.of.evaluate(u, self.asked, None)
        values, follows = looked.values, looked.follows
        if not follows.any():
            self.notes.append(f"none of {len(u)} designs follows the whole motion: they come to dead points")
            return best
        self._take_scales(values[int(np.flatnonzero(follows)[0])], values)
        self.guard = min(NO_DEAD_POINT, 0.1 * float(np.nanmax(values[:, -1])))
        merit = np.where(follows, self.merit(values) + self.crowded(u), np.inf)
        order = [0, *(k for k in np.argsort(merit) if k)] if follows[0] else list(np.argsort(merit))
        order = [k for k in order if follows[k]][:REFINED]
        found = BestSoFar(u[order[0]], np.inf, best.met, best.others, best.defect)
        with self.progress.of(len(order)):
            tried = []
            for k, lane in enumerate(order):
                if self.interrupted:
                    break
                drives = self.points.unwrapped(met[lane].q[:, self.of.entries]) if self.points else None
                tried.append(self._descended(u[lane], drives, SHARP[:1]))
                self.progress.step(k + 1)
            there, at, _ = min(tried, key=lambda one: one[2])
            found.u, at, found.size = self._descended(there, at, (*SHARP[1:], *JUDGED))
            found.u, at = self._within_limits(found.u, at)
            if self.points is not None and at is not None:
                found.met = self.points.met(found.u, at)
                found.defect = self.points.defects(found.met[None])[0]
        return found

    def _take_scales(self, first: Array, values: Array) -> None:
        """Let goals count in parts of what they are for a design."""
        n = len(self.moving)
        self.scales = np.maximum(np.abs(first[:n]), 1e-9 * max(1.0, np.nanmax(np.abs(values[:, :n]), initial=0.0)))

    def _evolved(self) -> BestSoFar:
        """Search by CMA-ES from the drawing, or if it is of no use from the best of random designs, and from others."""
        count = self.starts or 1
        u = self.free.random(count, self.rng) if self.begin is None else self.begin[None]
        idle = [name in self.idle for name in self.free.names]
        u[:, idle] = self.free.start[idle]
        looked = self.of.evaluate(u[:1], self.asked, None)
        if not looked.follows.any():
            u = np.concatenate([self.free.random(USUAL_STARTS, self.rng)[1:], u[1:]])
            looked = self.of.evaluate(u, self.asked, None)
        if not looked.follows.any():
            self.notes.append(f"none of {len(u)} designs is of use: the search has nowhere to begin")
            return BestSoFar(self.free.start.copy())
        first = int(np.flatnonzero(looked.follows)[0])
        self._take_scales(looked.values[first], looked.values)
        self.guard = min(NO_DEAD_POINT, 0.1 * float(np.nanmax(looked.values[:, -1])))
        begin = np.concatenate([u[first : first + 1], np.delete(u, first, axis=0)])[:count]
        best = EvolutionSearch(self).run(begin)
        if not self.interrupted and not any(isinstance(goal, OwnGoal) for goal in self.asked):
            best, *_ = self._descended(best, None, (*SHARP[1:], *JUDGED))
            best, _ = self._within_limits(best, None)
        return BestSoFar(best)

    def merit(self, values: Array, slack: float = 1e-4) -> Array:
        """Return the objective plus the violations of limits, from true values (L, G + 1)."""
        n = len(self.moving)
        signs = np.array([-1.0 if goal.larger else 1.0 for goal in self.moving])
        weights = np.array([goal.weight for goal in self.moving])
        merit = (signs * weights * values[:, :n] / self.scales).sum(axis=-1)
        for k, row in enumerate(r for r in self.rows if isinstance(r.goal, MotionGoal)):
            merit = merit + EXCEEDED * np.maximum(-row.sign * (values[:, n + k] - row.bound) / row.scale - slack, 0.0)
        return merit

    def _descended(
        self, u: Array, drives: Array | None, sharp: Sequence[float | None]
    ) -> tuple[Array, Array | None, float]:
        """Return a better design, the positions of its drives at the points, and its merit."""
        best = u, drives, self._true_merit(u, drives)
        for one in sharp:
            if self.interrupted:
                break
            there, drives = LocalSearch(self, best[0], best[1], one).run()
            size = self._true_merit(there, drives)
            if size < best[2] or np.isnan(best[2]):
                best = there, drives, size
        return best

    def _within_limits(self, u: Array, drives: Array | None) -> tuple[Array, Array | None]:
        """Return the design moved to where limits hold for the true values, if they nearly do."""
        rows = [row for row in self.rows if isinstance(row.goal, MotionGoal)]

        def exceeded(u: Array) -> Array:
            values = self.of.evaluate(u[None], self.asked, None).values[0, len(self.moving) : -1]
            return np.array([row.sign * (row.bound - x) for row, x in zip(rows, values, strict=True)])

        off = exceeded(u) if rows else np.zeros(0)
        for _ in range(0 if self.interrupted else MOST_POLISHED):
            sizes = np.array([row.scale for row in rows])
            if not (off > 0.0).any() or not (off <= NEARLY_MET * sizes).all():
                break
            for row, by in zip(rows, off, strict=True):
                row.margin += max(0.0, 1.05 * float(by) + 1e-9 * row.scale)
            there, at = LocalSearch(self, u, drives, None).run()
            left = exceeded(there)
            if left.max() < off.max():
                u, drives, off = there, at, left
        for row in rows:
            row.margin = 0.0
        return u, drives

    def _true_merit(self, u: Array, drives: Array | None) -> float:
        size = float(self.merit(self.of.evaluate(u[None], self.asked, None).values)[0] + self.crowded(u[None])[0])
        if self.points is None or drives is None:
            return size
        return size + EXCEEDED * self.missed_beyond(self.points.driven(u, drives)[0])

    def crowded(self, u: Array) -> Array:
        """Return what pins that are too near to one another add to the merits of designs, (L,)."""
        return np.asarray(EXCEEDED * np.maximum(self.pins.too_near(u) - 1e-6, 0.0).sum(axis=-1))

    def missed_beyond(self, r: Array) -> float:
        """Return by how much points are missed beyond what is allowed, relative to the mechanism's size."""
        if self.points is None or not r.size:
            return 0.0
        over = self.points.misses(r.reshape(self.points.factor.shape)) - self._allowed(self.points)
        return float(np.linalg.norm(np.maximum(over, 0.0))) / self.free.size

    # ---------------------------------------------------------------- what was found

    def reported(self, best: BestSoFar) -> FoundDesign:
        """Return the result, with true values before and after."""
        met = best.met
        u = np.stack([self.free.start, best.u])
        rows: list[GoalRow] = []
        asked, goal_count = self.asked, len(self.moving)
        values = np.full((2, len(asked)), np.nan)
        if asked:
            found = self.of.evaluate(u, asked, None)
            values = found.values[:, :-1]
            if not found.follows[1]:
                self.notes.append("it does not follow the whole motion: it comes to a dead point on the way")
        for k, goal in enumerate(self.moving):
            word = "larger" if goal.larger else "smaller"
            rows.append(GoalRow(goal.label, values[0, k], values[1, k], goal.unit, word, None))
        if self.points is not None and met is not None:
            for k, aim in enumerate(self.points.goals):
                miss = float(met.miss[self.points.goal_of == k].max())
                miss = miss / self.free.size if aim.unit == "rad" else miss
                bound = next((row.bound for row in self.rows if row.goal is aim), 0.0)
                rows.append(GoalRow(f"{aim.label} misses by up to", np.nan, miss, aim.unit, "at most", bound))
        for k, row in enumerate(r for r in self.rows if isinstance(r.goal, MotionGoal)):
            word = "at least" if row.sign > 0.0 else "at most"
            two = values[:, goal_count + k]
            rows.append(GoalRow(row.goal.label, two[0], two[1], row.goal.unit, word, row.bound))
        if best.defect:
            self.notes.append(best.defect)
        return FoundDesign(self.of, best.u, tuple(rows), tuple(self.notes), met, self.points, tuple(best.others))
