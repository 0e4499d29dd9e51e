"""The search for closed configurations: the problem, the starts, and the neighbors of what is found."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...algorithms import couplings
from ...model import configurations
from ...spatial.arrays import Array
from .. import clusters
from ..assemblies.search_one import AssemblySearch, contradicting
from ..closing_on_arrays import ClosingProblem
from ..neighbors import Neighbors
from ..tolerances import CLOSED
from .geometry import LoopGeometry

MOST_AT_ODDS, FEW_GUESSES = 12, 20
"""The most loops that are left out one by one to find contradictions, and the random guesses for each."""


class Assembling:
    """Puts the loops of a mechanism together, whatever its coordinates.

    Parameters
    ----------
    geometry : LoopGeometry
    rounding : float, optional
        As for :class:`kinetree.Mechanism`.
    """

    def __init__(self, geometry: LoopGeometry, rounding: float | None = None) -> None:
        self.geometry, self.model, self.rounding = geometry, geometry.model, rounding

    def problem(self, free: Array | None = None, bounded: bool = False) -> ClosingProblem:
        """Return the problem of closing along ``free`` velocities, within limits if ``bounded``."""
        geometry = self.geometry
        everything = np.ones(geometry.nv, dtype=bool) if free is None else free
        within = geometry.limits if bounded else None
        gaps, matrix = geometry.gaps, geometry.position_jacobian
        return ClosingProblem(gaps, matrix, geometry.moved, self.clusters, everything, within)

    @cached_property
    def clusters(self) -> clusters.Clusters:
        """The clusters of loops that share joints; lengths of levers are measured at :attr:`starts`."""
        starts, geometry = np.stack(list(self.starts.values())), self.geometry
        return clusters.Clusters(clusters.find(self.model, starts, geometry.jacobian(starts), geometry.gaps(starts)))

    @cached_property
    def neighbors(self) -> Neighbors:
        """The neighborhood of closed configurations."""
        return Neighbors(self.problem(), self.geometry.jacobian, CLOSED, self.rounding)

    @property
    def starts(self) -> dict[str, Array]:
        """Configurations to start closing from: those that the file names, and the neutral one."""
        named = {
            f"configuration {own.name!r} of the file": configurations.named(self.model, own.name)
            for own in self.model.configurations
        }
        return named | {"the neutral configuration": configurations.neutral(self.model)}

    def brought_within_limits(self) -> list[Array]:
        """Return starts that are beyond limits, as some files draw their robot, with such joints in mid range."""
        drawn = ((q, configurations.brought_within_limits(self.model, q)) for q in self.starts.values())
        return [self._with_couplings_met(inside) for q, inside in drawn if not np.array_equal(inside, q)]

    def random(self, generator: np.random.Generator, count: int) -> Array:
        """Return random configurations within limits, with open loops and geared joints that agree."""
        return self._with_couplings_met(configurations.random(self.model, generator, (count,)))

    def _with_couplings_met(self, q: Array) -> Array:
        """Return configurations in which couplings agree: in each, the joint with the widest range gives way.

        That is the motor of a gearbox: a joint is within its limits for many turns of it, not for any single one.
        """
        q, model, gave_way = q.copy(), self.model, set[str]()
        for coupling in model.couplings:
            ranges = {
                name: abs(factor) * (model.joint(name).upper[0] - model.joint(name).lower[0])
                for name, factor in zip(coupling.joints, coupling.coefficients, strict=True)
                if name not in gave_way and factor != 0.0 and not model.joint(name).mimic
            }
            if ranges:
                widest = max(ranges, key=lambda name: ranges[name])
                gave_way.add(widest)
                factor = coupling.coefficients[coupling.joints.index(widest)]
                off = couplings.gap(model, coupling, [q[..., k] for k in range(model.nq)])
                q[..., model.joint(widest).q_slice.start] -= off / factor
        return q

    def search(self, starts: dict[str, Array], generator: np.random.Generator, tries: int) -> AssemblySearch:
        """Return a search that yields closed configurations, from given ones and then from random ones."""
        guesses = self.random(generator, tries) if tries else np.zeros((0, self.geometry.nq))
        stretched = self.neighbors.is_stretched
        return AssemblySearch(self.problem(), CLOSED, self.geometry.checks.widest, starts, guesses, stretched)

    def at_odds(self) -> str:
        """Return the loops whose removal lets the others close: those that contradict each other."""
        names, counts = [loop.name for loop in self.model.loops], [loop.count for loop in self.model.loops]
        if not 1 < len(names) <= MOST_AT_ODDS:
            return ""
        starts = np.stack(list(self.starts.values()))
        guesses = np.concatenate([starts, self.random(np.random.default_rng(0), FEW_GUESSES)])
        guilty = [repr(name) for name in contradicting(self.problem(), names, counts, guesses, CLOSED)]
        one = f"It closes without {' or without '.join(guilty)}" if guilty else ""
        return one and f"{one}{': these contradict one another' if len(guilty) > 1 else ''}. "
