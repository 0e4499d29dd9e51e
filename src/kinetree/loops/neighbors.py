"""Neighboring closed configurations: what loops allow there, and how far that is from singular."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..spatial.arrays import Array
from . import closing_on_arrays, long_chains, rank
from .assemblies.search_one import is_closed
from .coordinates import decide
from .long_chains import singular_values

ORDINARY = 1e-3
"""Configurations are ordinary if the least singular value of K that counts is above this fraction of the largest."""

ASIDE, STEPS_ASIDE = 0.03, 8
"""How far and how often to step aside, in radians or meters, to check whether a weak constraint stays weak."""


@dataclass(frozen=True)
class Neighbors:
    """The neighborhood of closed configurations of a mechanism.

    Attributes
    ----------
    problem : closing.ClosingProblem
        The problem with all loops and nothing held.
    matrix : callable
        K of configurations (N, nq), including constraints on velocities only.
    closed : float
        Gaps below this are closed.
    rounding : float, optional
        See :func:`kinetree.loops.rank.by_gap`.
    """

    problem: closing_on_arrays.ClosingProblem
    matrix: Callable[[Array], Array]
    closed: float
    rounding: float | None = None

    def motions(self, q: Array) -> tuple[Array, list[int]]:
        """Return the motions that loops allow at a configuration, and how many constraints of each cluster count."""
        k, nv = self.matrix(q[None])[0], len(self.problem.free)
        basis, ranks = np.zeros((nv, 0)), list[int]()
        bound = np.zeros(nv, dtype=bool)
        for cluster in self.problem.clusters.all:
            block = k[np.ix_(cluster.rows, cluster.columns)]
            values = singular_values(cluster.block(k))
            ranks.append(rank.by_gap(values, self.rounding).rank)
            sparse = long_chains.null_space(block, ranks[-1])
            own = rank.null_space(block, ranks[-1]) if sparse is None else sparse
            whole = np.zeros((nv, own.shape[1]))
            whole[cluster.columns] = own
            basis = np.concatenate([basis, whole], axis=1)
            bound[cluster.columns] = True
        return np.concatenate([basis, np.eye(nv)[:, ~bound]], axis=1), ranks

    def of(self, q: Array) -> Array:
        """Return closed configurations a little way off, (N, nq): a singular one must not decide the rank."""
        generator = np.random.default_rng(0)
        basis, _ = self.motions(q)
        sizes = np.array([0.02, 0.05, 0.1, 0.2, 0.3])
        moves = sizes[:, None] * generator.standard_normal((len(sizes), basis.shape[1])) @ basis.T
        near = closing_on_arrays.close_wherever_it_can_be(self.problem, self.problem.step(q, moves), self.closed)
        return near.q[is_closed(near)]

    def samples(self, q: Array) -> tuple[Array, Array]:
        """Return K at a closed configuration and at its neighbors, and the gaps that remain there."""
        near = np.concatenate([q[None], self.of(q)])
        return self.matrix(near), self.problem.gaps(near)

    def is_ordinary(self, samples: Array, gaps: Array) -> bool:
        """Return whether the first of some samples is far from singular.

        A mechanism stretched out in one line is not, and may be rigid nearby.
        """
        for cluster in self.problem.clusters.all:
            values = singular_values(cluster.block(samples))
            general = decide(cluster, values, gaps, self.rounding).rank
            if general and not values[0, general - 1] > ORDINARY * values[0, 0]:
                return False
        return True

    def margins(self, q: Array, ranks: Sequence[int]) -> Array:
        """Return how far configurations (N, nq) are from singular: the weakest constraint compared with the strongest.

        ``ranks`` are how many constraints of each cluster count in general.
        """
        k, found = self.matrix(q), np.ones(len(q))
        for cluster, count in zip(self.problem.clusters.all, ranks, strict=True):
            if count and len(q):
                values = singular_values(cluster.block(k))
                found = np.minimum(found, values[:, count - 1] / np.maximum(values[:, 0], 1e-300))
        return found

    def is_stretched(self, q: Array) -> bool:
        """Return whether gaps remain because loops are stretched out, and not because constraints contradict.

        In a stretched loop a constraint vanishes, but reappears a little way off; rounding stays weak.
        """
        if not np.isfinite(self.matrix(q[None])).all():  # the ends of a rod in one point: it has no direction
            return True
        basis, ranks = self.motions(q)
        ways = np.random.default_rng(0).standard_normal((STEPS_ASIDE, basis.shape[1])) @ basis.T
        ways *= ASIDE / np.maximum(np.linalg.norm(ways, axis=-1, keepdims=True), 1e-300)
        k, gaps = self.matrix(self.problem.step(q, ways)), np.abs(self.problem.gaps(q[None])[0])
        for cluster, count in zip(self.problem.clusters.all, ranks, strict=True):
            values = singular_values(cluster.block(k))
            is_open = gaps[cluster.rows].max(initial=0.0) > self.closed and count < values.shape[-1]
            if is_open and values[:, count].max() > 0.1 * ASIDE * max(1.0, float(values[0, 0])):
                return True
        return False
