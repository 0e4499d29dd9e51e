"""One design improved step by step: SciPy's sequential quadratic programming on smooth numbers with exact slopes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize

from kinetree.io.interrupts import are_interrupts_passed_on
from kinetree.spatial.arrays import Array

from .goals import MotionGoal, PointGoal
from .problem import MeasuredGoals

if TYPE_CHECKING:
    from .search import DesignSearch

STOPS = 1e6
"""The objective of a design that cannot follow the motion: the step is shortened until it can."""

QUADRATIC_STEPS, PRECISE = 60, 1e-11
LEAST_SQUARES = 100.0
"""Weight of squared misses, relative to the mechanism's size, beside quantities of motions."""

EXCEEDED = 1e3
"""Weight of exceeded limits where designs are compared that were tried on the way."""

NEAR = 1e-4
"""How strongly equally good designs are pulled toward the start of the search."""


class LocalSearch:
    """A local search over a design's numbers, as fractions of their ranges, and the drives at the points to meet.

    Parameters
    ----------
    of : DesignSearch
    u : ndarray, shape (n,)
    drives : ndarray, shape (N, d), optional
    sharp : float, optional
        Sharpness of smooth maxima; without it they are the true ones, by which reports judge.
    """

    def __init__(self, of: DesignSearch, u: Array, drives: Array | None, sharp: float | None) -> None:
        self.of, self.free, self.u, self.sharp = of, of.free, u, sharp
        self.span = self.free.high - self.free.low
        self.loose = np.array([name not in of.idle for name in self.free.names])
        self.drives = drives
        self.begin = ((u - self.free.low) / self.span)[self.loose]
        if drives is not None:
            self.begin = np.append(self.begin, drives.ravel())
        self.met = drives is not None and bool((of.points.driven(u, drives)[0] ** 2).sum() < 1e-12)  # type: ignore[union-attr]
        self._last: tuple[bytes, LocalPoint | None] = (b"", None)
        self._good: LocalPoint | None = None
        self._best = np.inf, self.begin

    def split(self, z: Array) -> tuple[Array, Array | None]:
        """Return design and drives."""
        u, n = self.u.copy(), int(self.loose.sum())
        u[self.loose] = self.free.low[self.loose] + z[:n] * self.span[self.loose]
        return u, None if self.drives is None else z[n:].reshape(self.drives.shape)

    def at(self, z: Array) -> LocalPoint:
        """Return the evaluation at ``z``, or that of the last design that could move if this one cannot."""
        if self._last[0] != z.tobytes() or self._last[1] is None:
            found = LocalPoint(self, z.copy())
            self._good = found if found.moves or self._good is None else self._good
            self._last = z.tobytes(), found
        assert self._last[1] is not None
        assert self._good is not None
        return self._last[1] if self._last[1].moves else self._good

    def objective(self, z: Array) -> float:
        """Return the value to be minimized."""
        here = self.at(z)
        if here is not self._last[1]:
            return STOPS
        total = 0.0 if self.of.moving else NEAR * float((z - self.begin) @ (z - self.begin))
        total += float(self._factors @ here.values[: len(self.of.moving)])
        if len(here.r) and not self.met:
            total += LEAST_SQUARES * float((here.r * self._counts) @ here.r)
        exceeded = self._exceeded(here)
        if total + EXCEEDED * exceeded < self._best[0]:
            self._best = total + EXCEEDED * exceeded, z.copy()
            said = (
                f"best so far {self._best[0]:.6g} of the first" if self.of.moving else f"limits off by {exceeded:.3g}"
            )
            self.of.progress.tell(self.split(z)[0], self._best[0], said)
        return total

    def _exceeded(self, here: LocalPoint) -> float:
        """Return by how much limits are exceeded, and points missed that can be met."""
        rows = [row for row in self.of.rows if isinstance(row.goal, MotionGoal)]
        values = here.values[len(self.of.moving) : -1] if rows else ()
        over = sum(max(0.0, row.sign * (row.aimed - x) / row.scale) for row, x in zip(rows, values, strict=True))
        crowded = float(self.of.crowded(self.split(here.z)[0][None])[0]) / EXCEEDED
        return float(over) + crowded + self.of.missed_beyond(here.r)

    def slope(self, z: Array) -> Array:
        """Return the gradient of the objective."""
        here = self.at(z)
        total = np.zeros(len(z)) if self.of.moving else 2.0 * NEAR * (z - self.begin)
        total = total + self._factors @ here.slopes[: len(self.of.moving)]
        if len(here.r) and not self.met:
            total = total + 2.0 * LEAST_SQUARES * (here.r * self._counts) @ here.of_r
        return np.asarray(total)

    @property
    def _factors(self) -> Array:
        signed = [(-1.0 if goal.larger else 1.0) * goal.weight for goal in self.of.moving]
        return np.array(signed).reshape(-1) / self.of.scales

    @property
    def _counts(self) -> Array:
        """Which misses are minimized rather than bounded."""
        points = self.of.points
        assert points is not None
        bounded = [any(row.goal is goal for row in self.of.rows) for goal in points.goals]
        return np.repeat([0.0 if bounded[k] else 1.0 for k in points.goal_of], points.factor.shape[1])

    @property
    def constraints(self) -> list[dict[str, Any]]:
        """The constraints: limits, points that can be met, and dead points to stay away from."""
        found, first = [], len(self.of.moving)

        def add(kind: str, value: Any, slope: Any) -> None:
            found.append({"type": kind, "fun": value, "jac": slope})

        for k, row in enumerate(r for r in self.of.rows if isinstance(r.goal, MotionGoal)):
            factor, place = row.sign / row.scale, first + k
            add("ineq", lambda z, f=factor, i=place, b=row.aimed: f * (self.at(z).values[i] - b),
                lambda z, f=factor, i=place: f * self.at(z).slopes[i])  # fmt: skip
        if self.of.asked:
            guard = self.of.guard
            add("ineq", lambda z: self.at(z).values[-1] / guard - 1.0, lambda z: self.at(z).slopes[-1] / guard)
        if len(self.of.pins.room(self.u)[0]):
            add("ineq", lambda z: self.of.pins.room(self.split(z)[0])[0], self._of_room)
        points = self.of.points
        if self.drives is None or points is None:
            return found
        if self.met:
            which = np.flatnonzero((points.factor.ravel() > 0.0) & (self._counts > 0.0))
            add("eq", lambda z: self.at(z).r[which], lambda z: self.at(z).of_r[which])
        for row in self.of.rows:
            if isinstance(row.goal, PointGoal):
                own = np.flatnonzero(points.goal_of == points.goals.index(row.goal))
                bound = row.bound / (1.0 if row.goal.unit == "rad" else self.free.size) * np.sqrt(row.goal.weight)

                def missed(z: Array, own: Array = own, bound: float = bound) -> Array:
                    r = self.at(z).r.reshape(points.factor.shape)[own]
                    return 1.0 - (r * r).sum(axis=-1) / bound**2

                def slope(z: Array, own: Array = own, bound: float = bound) -> Array:
                    r, of_r = self.at(z).r.reshape(points.factor.shape)[own], self.at(z).of_r
                    rows = of_r.reshape(*points.factor.shape, -1)[own]
                    return np.asarray(-2.0 * (r[..., None] * rows).sum(axis=1) / bound**2)

                add("ineq", missed, slope)
        return found

    def _of_room(self, z: Array) -> Array:
        slopes = (self.of.pins.room(self.split(z)[0])[1] * self.span)[:, self.loose]
        return np.hstack([slopes, np.zeros((len(slopes), len(z) - slopes.shape[1]))])

    def run(self) -> tuple[Array, Array | None]:
        """Return a better design, and the positions of its drives at the points."""
        n = int(self.loose.sum())
        far = np.tile(self.of.of.half_turns, len(self.begin) // max(1, len(self.of.of.half_turns)))
        bounds: list[Any] = [(0.0, 1.0)] * n
        bounds += [(x - aside, x + aside) for x, aside in zip(self.begin[n:], far, strict=False)]
        if self.drives is not None and self.of.points is not None and self.of.points.anchored:
            bounds[n] = (self.begin[n], self.begin[n])
        try:
            z = minimize(
                self.objective, self.begin, jac=self.slope, method="SLSQP", constraints=self.constraints, bounds=bounds,
                options={"maxiter": QUADRATIC_STEPS, "ftol": PRECISE},
            ).x  # fmt: skip
        except KeyboardInterrupt:
            if are_interrupts_passed_on():
                raise
            self.of.interrupted, z = True, self._best[1]
        if self.sharp is None and np.isfinite(self._best[0]):
            z = self._best[1]  # true maxima have kinks, at which the last step need not be the best
        z = z if np.isfinite(z).all() else self.begin
        u, drives = self.split(z)
        return np.clip(u, self.free.low, self.free.high), drives


class LocalPoint:
    """Quantities of motions, and misses of points, for one design and its drives."""

    def __init__(self, of: LocalSearch, z: Array) -> None:
        self.of, self.z = of, z
        self.moves = bool(self._measured.follows[0]) and bool(np.isfinite(self.r).all())

    @cached_property
    def _measured(self) -> MeasuredGoals:
        return self.of.of.of.evaluate(self.of.split(self.z)[0][None], self.of.of.asked, self.of.sharp)

    @property
    def values(self) -> Array:
        """The quantities of motions."""
        return np.asarray(self._measured.values[0])

    @cached_property
    def slopes(self) -> Array:
        """Their derivatives with respect to the unknowns."""
        found, loose = np.zeros((len(self.values), len(self.z))), self.of.loose
        found[:, : int(loose.sum())] = (self._measured.slopes[0] * self.of.span)[:, loose]
        return found

    @cached_property
    def _driven(self) -> tuple[Array, Array]:
        u, drives = self.of.split(self.z)
        if drives is None or self.of.of.points is None:
            return np.zeros(0), np.zeros((0, len(self.z)))
        missed, by_u, by_drive, _ = self.of.of.points.driven(u, drives)
        n, width, d = *missed.shape, drives.shape[1]
        full = np.zeros((n, width, n, d))
        full[np.arange(n), :, np.arange(n)] = by_drive
        design = (by_u * self.of.span)[..., self.of.loose]
        return missed.ravel(), np.hstack([design.reshape(n * width, -1), full.reshape(n * width, n * d)])

    @property
    def r(self) -> Array:
        """The misses of the points."""
        return self._driven[0]

    @property
    def of_r(self) -> Array:
        """The derivatives of the misses with respect to the unknowns."""
        return self._driven[1]
