"""Friction that needs some way or time to build up: a state per degree of freedom and kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..algorithms.friction import building_up, following, times, travels
from ..forces.element import ForceElement, Loads
from ..model.tree import Model
from ..spatial import Scalar

Scalars = Sequence[Scalar]


@dataclass(frozen=True)
class FrictionMemory(ForceElement):
    """What friction remembers of the way that joints went: it pushes nowhere itself, friction asks it.

    At the beginning nothing has built up.
    """

    name: str = "friction"

    def loads(
        self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()
    ) -> tuple[Loads | None, list[Scalar] | None, list[Scalar]]:
        """Return how fast friction builds up, and no forces."""
        ways, behind = travels(tree), times(tree)
        shares, velocities = z[: len(ways)], z[len(ways) :]
        rates = [building_up(share, v[k], way) for (k, way), share in zip(ways.items(), shares, strict=True)]
        rates += [following(own, v[k], time) for (k, time), own in zip(behind.items(), velocities, strict=True)]
        return None, None, rates

    def shares(self, tree: Model, z: Scalars) -> dict[int, Scalar]:
        """Return which share of its Coulomb friction each freedom has that needs a way for it."""
        ways = travels(tree)
        return dict(zip(ways, z[: len(ways)], strict=True))

    def followed(self, tree: Model, z: Scalars) -> dict[int, Scalar]:
        """Return at which velocity the damper of each freedom is that needs time to follow."""
        return dict(zip(times(tree), z[len(travels(tree)) :], strict=True))

    def initial_states(self, tree: Model) -> np.ndarray:
        """Return no friction for each."""
        return np.zeros(len(travels(tree)) + len(times(tree)))


def memory_of(tree: Model, friction: bool) -> tuple[FrictionMemory, ...]:
    """Return what friction remembers in a simulation: nothing, as a rule."""
    return (FrictionMemory(),) if friction and (travels(tree) or times(tree)) else ()
