"""Which constraints of a mechanism count while it is stepped, and in what order they are eliminated.

The choice is made once, at a closed configuration, and becomes part of the machine code.  How well it serves at a
state is told beside every result, as a multiple of what is just enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..algorithms import constrained, loop_clusters
from ..algorithms.projection import Projected, close, project
from ..loops.dynamics import MOST_TOGETHER
from ..model.tree import Model
from ..robot.robot import Robot
from ..spatial import Scalar

Scalars = Sequence[Scalar]


class LoopChoice(NamedTuple):
    """Constraints that imply all others."""

    rows: tuple[int, ...]

    pivots: tuple[tuple[int, int], ...] = ()
    """Each of them with the freedom that it determines, where loops are gone through cluster by cluster."""

    @property
    def together(self) -> LoopChoice | None:
        """The same constraints eliminated together: slower, and served by any freedoms that follow from others."""
        return LoopChoice(self.rows) if self.pivots and len(self.rows) <= MOST_TOGETHER else None

    @property
    def ways(self) -> tuple[LoopChoice, ...]:
        """Ways to eliminate these constraints in machine code, the fastest first."""
        return tuple(way for way in (self, self.together) if way is not None)

    @property
    def is_small(self) -> bool:
        """Whether code that takes all constraints together is short enough."""
        return bool(self.pivots) or len(self.rows) <= MOST_TOGETHER

    def accelerations(self, tree: Model, q: Scalars, v: Scalars, tau: Scalars, loads: Any) -> tuple[Any, Scalar]:
        """Return accelerations that keep the loops closed, and how well the choice serves: one is just enough."""
        if self.pivots:
            a, quality, _ = loop_clusters.forward_dynamics(tree, q, v, tau, tree.gravity, loads, self.pivots)
            return a, quality / loop_clusters.LEAST_QUALITY_OF_CLUSTERS
        found = constrained.forward_dynamics(tree, q, v, tau, tree.gravity, loads, self.rows)
        return found.a, found.quality / constrained.LEAST_QUALITY

    def closed(self, tree: Model, q: Scalars, v: Scalars, rounds: int) -> tuple[list[Scalar], list[Scalar], Scalar]:
        """Return the state closed again after a step, and the square of the gap before the last of its rounds."""
        return close(tree, q, v, self.rows, rounds)

    def projected(self, tree: Model, q: Scalars, v: Scalars) -> Projected:
        """Return the nearest closed state."""
        return project(tree, q, v, self.rows, pivots=self.pivots)


def choice_at(robot: Robot, q: Any) -> LoopChoice:
    """Return the choice of a mechanism at a closed configuration."""
    return LoopChoice(robot.coordinates_at(q).rows, tuple(robot.elimination_order(q)))
