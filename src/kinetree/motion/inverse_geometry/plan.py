"""The order in which joints are found, and by which equations, decided on numbers at random configurations.

What an equation depends on, and whether it can be solved, is found by evaluating it: a joint whose value does not
change a residual is not in that equation.  No expressions have to be analyzed, and symbols among the dimensions are
replaced by generic numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...export.operation_counts import count_function
from ...spatial import Matrix3, MatrixRotation, Transform, Vec3
from ...spatial.arrays import Array
from .chain import NORM, GeometricChain, JointValue, JointValues, PoseEquation, entry, equations, of_hinge, of_slide
from .steps import SolvingStep, Zeros

SAMPLES, SPECIAL = 6, 400
"""Numbers of configurations at which equations are evaluated, all at once: random ones, and some with right angles.

An equation may fail where the robot is not singular: it may divide by the sine of an angle that another one does not
need.
"""

FAILS = 1e-6
"""Sine of the angle between two equations, or size of one, below which an equation fails."""

DEPENDS = 1e-7
"""A residual that changes by less than this, in lengths of the robot, does not depend on a joint."""

ZERO = 1e-9
"""The same for coefficients."""

APART = 1e-3
"""Sine of the angle between two equations below which they are the same."""


def value_of(chain: GeometricChain, k: int, q: Any) -> JointValue:
    """Return the value of a joint at a coordinate."""
    return JointValue(np.cos(q), np.sin(q)) if chain.turns(k) else JointValue(q, q)


def find_plan(chain: GeometricChain, seed: int = 0) -> tuple[SolvingStep, ...]:
    """Return the steps that find all joints of a chain of numbers.

    Raises
    ------
    UnsupportedError
        If no equation determines some joint.
    """
    search = _PlanSearch(chain, seed)
    steps: list[SolvingStep] = []
    while len(search.known) < len(chain.kinds):
        found = search.next()
        if found is None:
            left = [name for k, name in enumerate(chain.names) if k not in search.known]
            raise UnsupportedError(
                f"no closed form was found for {', '.join(left)}: no equation has only one of them, at most "
                "squared, as for arms of up to six joints with a spherical wrist or three parallel axes. "
                "kinetree.inverse_kinematics finds them numerically"
            )
        steps.append(found)
        search.known.append(found.joint)
    return tuple(steps)


class _PlanSearch:
    """One search: random configurations, their poses, and the joints known so far."""

    def __init__(self, chain: GeometricChain, seed: int) -> None:
        self.chain, self.count = chain, len(chain.kinds)
        self.rng = np.random.default_rng(seed)
        self.at = self._draw()
        self.body = chain.body_pose(chain.pose(self.at))
        self.known: list[int] = []
        self.every = equations(chain)
        self.sizes: dict[PoseEquation, int] = {}
        arms = [np.linalg.norm([float(x) for x in place.translation]) for place in (*chain.places, chain.behind)]
        self.length = float(max(arms)) or 1.0

    def _draw(self) -> dict[int, JointValue]:
        q = self.rng.uniform(-2.5, 2.5, (self.count, SAMPLES + SPECIAL))
        right = self.rng.integers(-1, 3, q.shape) * (np.pi / 2)
        q = np.where((self.rng.random(q.shape) < 0.7) & (np.arange(q.shape[1]) >= SAMPLES), right, q)
        return {k: value_of(self.chain, k, q[k]) for k in range(self.count)}

    def _unit(self, e: PoseEquation) -> float:
        """Return the size of an equation's numbers."""
        return self.length ** {NORM: 2, 3: 1}.get(e.column, 0)

    def next(self) -> SolvingStep | None:
        """Return the next step: preferably one without a choice of sign, then the most reliable, then the shortest."""
        left = [k for k in range(self.count) if k not in self.known]
        inside = self._dependencies(left)
        alone = {k: [e for e in self.every if inside[e] == {k}] for k in left}
        steps = [found for k in left for found in self._steps(k, alone[k])]
        return min(steps, key=lambda s: (s[0].has_two, s[1], *self._effort(s[0])), default=(None, 0.0))[0]

    def _dependencies(self, left: Sequence[int]) -> dict[PoseEquation, set[int]]:
        """Return the unknown joints that each equation depends on."""
        start = {**self._draw(), **{k: self.at[k] for k in self.known}}
        before = self._residuals(start)
        found: dict[PoseEquation, set[int]] = {e: set() for e in self.every}
        for k in left:
            moved = self._residuals({**start, k: self._draw()[k]})
            for e in self.every:
                if float(np.abs(moved[e] - before[e]).max()) > DEPENDS * self._unit(e):
                    found[e].add(k)
        return found

    def _residuals(self, values: JointValues) -> dict[PoseEquation, Array]:
        sides: dict[tuple[int, int], tuple[Transform, Transform]] = {}
        found = {}
        for e in self.every:
            key = e.first, e.last
            if key not in sides:
                sides[key] = self.chain.sides(*key, self.body, values)
            left, right = sides[key]
            found[e] = np.broadcast_to(entry(left, e) - entry(right, e), (SAMPLES + SPECIAL,))
        return found

    def _steps(self, k: int, candidates: Sequence[PoseEquation]) -> Iterator[tuple[SolvingStep, float]]:
        """Yield steps that find a joint by equations in which it is the only unknown, and how often each fails."""
        if not self.chain.turns(k):
            for e in candidates:
                a, b, _ = of_slide(self._residual(e, k))
                squares = not self._vanishes(a, e)
                if squares or not self._vanishes(b, e):
                    yield SolvingStep(k, e, turns=False, squares=squares), self._fails(a if squares else b, e)
            return
        known = [(e, of_hinge(self._residual(e, k))) for e in candidates]
        known = [(e, three) for e, three in known if not all(self._vanishes(x, e) for x in three[:2])]
        with np.errstate(all="ignore"):
            for (e, (x1, y1, _)), (f, (x2, y2, _)) in combinations(known, 2):
                if (e.first, e.last) != (f.first, f.last):
                    continue
                sine = np.broadcast_to((x1 * y2 - x2 * y1) / (self._unit(e) * self._unit(f)), (SAMPLES + SPECIAL,))
                if float(np.abs(sine[:SAMPLES]).min()) > APART**2:
                    yield SolvingStep(k, e, f), float(np.mean(np.abs(sine) < FAILS))
        for e, three in known:
            yield (
                SolvingStep(k, e, zeros=Zeros(*(self._vanishes(x, e) for x in three))),
                self._fails(np.hypot(*three[:2]), e),
            )

    def _fails(self, x: Any, e: PoseEquation) -> float:
        """Return the share of configurations at which an equation determines nothing."""
        return float(np.mean(np.abs(x) < FAILS * self._unit(e)))

    def _residual(self, e: PoseEquation, k: int) -> Callable[[JointValue], Any]:
        return lambda value: self.chain.residual(e, self.body, {**self.at, k: value})

    def _vanishes(self, x: Any, e: PoseEquation) -> bool:
        return float(np.abs(x).max()) < ZERO * max(self._unit(e), 1e-300)

    # ---------------------------------------------------------------- which is shortest

    def _size(self, e: PoseEquation) -> int:
        """Return how many operations an equation takes."""
        if e not in self.sizes:

            def residual(pose: Sequence[Any], *joints: Sequence[Any]) -> list[Any]:
                turned = MatrixRotation(Matrix3.of([pose[0:3], pose[3:6], pose[6:9]]))
                values = {k: JointValue(*x) for k, x in enumerate(joints)}
                return [self.chain.residual(e, Transform((turned,), Vec3(*pose[9:12])), values)]

            self.sizes[e] = count_function(residual, 12, *([2] * self.count)).total
        return self.sizes[e]

    def _effort(self, step: SolvingStep) -> tuple[int, int]:
        return sum(self._size(e) for e in (step.equation, step.other) if e is not None), step.joint
