"""Coulomb friction that needs some way to build up: a state per degree of freedom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..algorithms.friction import building_up, travels
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
        rates = [building_up(share, v[k], travel) for (k, travel), share in zip(travels(tree).items(), z, strict=True)]
        return None, None, rates

    def shares(self, tree: Model, z: Scalars) -> dict[int, Scalar]:
        """Return which share of its Coulomb friction each of these freedoms has."""
        return dict(zip(travels(tree), z, strict=True))

    def initial_states(self, tree: Model) -> np.ndarray:
        """Return no friction for each."""
        return np.zeros(len(travels(tree)))


def memory_of(tree: Model, friction: bool) -> tuple[FrictionMemory, ...]:
    """Return what friction remembers in a simulation: nothing, as a rule."""
    return (FrictionMemory(),) if friction and travels(tree) else ()
