"""Which constraints of a mechanism count while it is stepped, and in what order they are eliminated.

The choice is made once, at a closed configuration, and becomes part of the machine code.  Its quality at a state
accompanies every result, as a multiple of what is just enough.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..algorithms import constrained_dynamics, independent_motion, loop_clusters
from ..algorithms.acting_element import Scalars
from ..algorithms.constrained_dynamics import UNDRIVEN, Targets
from ..algorithms.projection import ROUNDS_TO_PROJECT, Projected, close, project
from ..loops.dynamics import MOST_TOGETHER
from ..model.tree import Model
from ..robot.robot import Robot
from ..spatial import Scalar
from .prescribed import BoundMotion

ROUNDS_TO_HOLD = 4
"""Newton steps in machine code after a step: drives may have moved farther than the error of a step."""


class LoopChoice(NamedTuple):
    """Constraints that imply all others."""

    rows: tuple[int, ...]

    pivots: tuple[tuple[int, int], ...] = ()
    """Each of them with the freedom that it determines, if loops are processed cluster by cluster."""

    driven: BoundMotion | None = None
    """The prescribed motion of joints or loops."""

    gains: tuple[float, float] = (0.0, 0.0)
    """Gains of Baumgarte's terms."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What distinguishes choices within one setup, which all drive the same joints and loops."""
        return self.rows, self.pivots, self.gains

    def targets(self, t: Scalar) -> Targets:
        """Return the prescribed positions of driven joints and loops at a time."""
        return UNDRIVEN if self.driven is None else self.driven.at(t)

    @property
    def together(self) -> LoopChoice | None:
        """The same constraints eliminated together: slower, but it works with any dependent freedoms."""
        return LoopChoice(self.rows) if self.pivots and len(self.rows) <= MOST_TOGETHER else None

    @property
    def ways(self) -> tuple[LoopChoice, ...]:
        """Ways to eliminate these constraints in machine code, the fastest first."""
        return tuple(way for way in (self, self.together) if way is not None)

    @property
    def is_small(self) -> bool:
        """Whether the code that eliminates all constraints together is short enough."""
        return bool(self.pivots) or len(self.rows) <= MOST_TOGETHER

    def accelerations(
        self, tree: Model, t: Scalar, q: Scalars, v: Scalars, tau: Scalars, loads: Any
    ) -> tuple[list[Scalar], Scalar, Scalar]:
        """Return accelerations that the constraints allow, the quality of the choice, and the power of the drives.

        A quality of one is just good enough.
        """
        if self.pivots:
            a, quality, _ = independent_motion.forward_dynamics(tree, q, v, tau, tree.gravity, loads, self.pivots)
            return a, quality / loop_clusters.LEAST_QUALITY_OF_CLUSTERS, 0.0
        targets = self.targets(t)
        found = constrained_dynamics.forward_dynamics(
            tree, q, v, tau, tree.gravity, loads, self.rows, targets, self.gains
        )
        power = found.driving_power(self.rows, targets) if self.driven else 0.0
        return found.a, found.quality / constrained_dynamics.LEAST_QUALITY, power

    def closed(self, tree: Model, q: Scalars, v: Scalars, rounds: int) -> tuple[list[Scalar], list[Scalar], Scalar]:
        """Return the state closed again after a step, and the square of the gap before the last of its rounds."""
        return close(tree, q, v, self.rows, rounds)

    def held(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> Projected:
        """Return the nearest state that loops and drives allow at a time."""
        rounds = ROUNDS_TO_HOLD if self.driven else ROUNDS_TO_PROJECT
        return project(tree, q, v, self.rows, self.targets(t), pivots=self.pivots, rounds=rounds)


def choice_at(robot: Robot, q: Any) -> LoopChoice:
    """Return the choice of a mechanism at a closed configuration."""
    return LoopChoice(robot.coordinates_at(q).rows, tuple(robot.elimination_order(q)))
