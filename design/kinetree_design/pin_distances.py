"""Distances between pins of a link: pins must not come together, or designs would meet any goal by degenerating."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from kinetree.evaluation.law_kernels import LawProgram, SlopeProgram, can_compile
from kinetree.evaluation.parameters import put_in
from kinetree.model.joints import Prismatic
from kinetree.model.tree import BASE
from kinetree.spatial import Scalar, Vec3
from kinetree.spatial.arrays import Array

from .problem import DesignProblem

Scalars = list[Scalar]


class PinDistances:
    """Distances between all pairs of pins on the same link, over designs (L, n).

    Parameters
    ----------
    of : DesignProblem
    shortest : float
        Least distance, in meters; pins that are drawn closer to one another may be as close as drawn.
    """

    def __init__(self, of: DesignProblem, shortest: float) -> None:
        self.of, self.model, self.free, self.shortest = of, of.model, of.free, shortest

    def _law(self, numbers: Scalars) -> Scalars:
        tree = put_in(self.model, self.free.places, numbers)
        return [sum(((x - y) * (x - y) for x, y in zip(a, b, strict=True)), 0.0) for a, b in self._pins(tree)]

    def _pins(self, tree: Any) -> list[tuple[Any, Any]]:
        on: dict[int, list[Any]] = {BASE: []}
        for i, joint in enumerate(tree.joints):
            on[i] = [] if _slides(self.model.joints[i]) else [(0.0, 0.0, 0.0)]
            if not _slides(self.model.joints[i]):
                on[joint.parent].append(_at(joint.placement))
        for loop, drawn in zip(tree.loops, self.model.loops, strict=True):
            if not _slides(drawn):
                on[loop.predecessor].append(_at(loop.placement))
                on[loop.successor].append(_at(loop.seat))
        return [(a, b) for own in on.values() for k, a in enumerate(own) for b in own[:k]]

    @cached_property
    def _programs(self) -> tuple[LawProgram, SlopeProgram]:
        evaluator, lengths = self.of.robot.evaluator, {"numbers": len(self.free.fixed)}
        name, made, cpu = f"pins of {self.model.name!r}", can_compile(evaluator), evaluator.cpu
        return (
            LawProgram(name, self._law, lengths, made, cpu=cpu),
            SlopeProgram(name, self._law, lengths, ("numbers",), made, cpu),
        )

    @cached_property
    def _drawn(self) -> Array:
        """Distances as drawn."""
        return np.asarray(np.sqrt(self._programs[0]({"numbers": self.free.fixed})))

    @cached_property
    def least(self) -> Array:
        """The least distance of each pair; zero for those that coincide as drawn, which are meant to."""
        apart = self._drawn > 1e-6 * self.free.size
        return np.where(apart, np.minimum(self.shortest, self._drawn), 0.0)

    def _squares(self, u: Array) -> Array:
        return np.asarray(self._programs[0]({"numbers": self.free.values(u)}))

    def too_near(self, u: Array) -> Array:
        """Return by how much pins are too near to one another, (L, d): the least distance over theirs, less one."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.least > 0.0, np.maximum(self.least / np.sqrt(self._squares(u)) - 1.0, 0.0), 0.0)

    def slopes(self, u: Array) -> Array:
        """Return the derivatives of :meth:`too_near` with respect to the unknowns, (L, d, n)."""
        squares = self._squares(u)
        near = squares < self.least**2
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(near, -0.5 * self.least * squares**-1.5, 0.0)
        return np.asarray((factor[..., None] * self._of_squares(u)) @ self.free.slope(u))

    def _of_squares(self, u: Array) -> Array:
        return self._programs[1].jacobian({"numbers": self.free.values(u)})

    def room(self, u: Array) -> tuple[Array, Array]:
        """Return what must not be negative for one design, (d,), and its slopes, (d, n): squares over the least ones.

        Only pairs that some number changes count.
        """
        own = self._changed
        least = self.least[own] ** 2
        slopes = (self._of_squares(u[None]) @ self.free.slope(u[None]))[0]
        return self._squares(u[None])[0, own] / least - 1.0, slopes[own] / least[:, None]

    @cached_property
    def _changed(self) -> Array:
        aside = self.free.start + 0.1 * (self.free.high - self.free.low)
        both = np.stack([self.free.start, np.where(aside <= self.free.high, aside, self.free.low)])
        slopes = np.abs(self._of_squares(both) @ self.free.slope(both)).max(axis=(0, 2))
        return np.flatnonzero((self.least > 0.0) & (slopes > 0.0))

    def uneven(self, u: Array) -> Array:
        """Return the ratio of the longest to the shortest link, (L,)."""
        squares, apart = self._squares(u), self.least > 0.0
        longest, least = np.where(apart, squares, 0.0), np.where(apart, squares, np.inf)
        return np.asarray(np.sqrt(longest.max(axis=-1, initial=0.0) / least.min(axis=-1, initial=np.inf)))


def _at(pose: Any) -> list[Scalar]:
    """Return the origin of a pose of any scalar type."""
    return list(pose.spatial().point(Vec3(0.0, 0.0, 0.0)))


def _slides(joint: Any) -> bool:
    return isinstance(getattr(joint.kind, "kind", joint.kind), Prismatic)
