"""Friction that holds: bristles between two surfaces, which bend until they slip.

A bristle is a spring k and a damper c side by side, in series with dry friction, which carries no more than a limit L:

    f = k s + c v,    F = f min(1, L / |f|),    s' = (F - k s) / c.

As long as it holds, s' is the velocity v and nothing creeps; while it slips, F is as large as the limit and points
along the motion.  The spring stores k s^2 / 2, the rest of the power is lost, whatever happens to the limit.

Over a step h the bend that counts is the one at its end, s + h v: then c becomes c + k h.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..spatial import Scalar, minimum, sqrt, where

Scalars = Sequence[Scalar]

NO_MOMENTUM = 1e-30
"""Square of a momentum (kg m/s) that counts as none."""


class Bristles(NamedTuple):
    """Bristles in several directions together, which slip together."""

    stiffness: Scalar
    damping: Scalar
    """Over a step, c + k h."""
    limit: Scalar
    bend: Scalars
    speed: Scalars

    @property
    def bent(self) -> list[Scalar]:
        """The force that would keep them from slipping."""
        return [self.stiffness * s + self.damping * v for s, v in zip(self.bend, self.speed, strict=True)]

    @property
    def share(self) -> Scalar:
        """Which part of that they carry: one while they hold, and none without a limit, also where nothing moves.

        Two bodies that are apart and at rest must not resist what would move them in a step.
        """
        square = _square(self.bent)
        slips = square > self.limit * self.limit
        return where(slips, self.limit / sqrt(where(slips, square, 1.0)), where(self.limit > 0.0, 1.0, 0.0))

    @property
    def forces(self) -> list[Scalar]:
        """Forces against the motion."""
        share = self.share
        return [share * f for f in self.bent]

    @property
    def rates(self) -> list[Scalar]:
        """The rates of the bends."""
        carried = zip(self.forces, self.bend, strict=True)
        return [(f - self.stiffness * s) / self.damping for f, s in carried]

    @property
    def energy(self) -> Scalar:
        """The stored energy."""
        return 0.5 * self.stiffness * _square(self.bend)

    def resistance(self, h: Scalar, mass: Scalar) -> Scalar:
        """Return the damping that a step takes at its end: force over speed, so that no step reverses the motion.

        Where sliding goes on for more than this step, that would slow it down too much: the force stays the same.
        Friction that stops a mass within a step changes its velocity by h L / m.
        """
        share = self.share
        stopped = h * self.limit
        going = mass * mass * _square(self.speed) + NO_MOMENTUM
        return self.damping * where(share < 1.0, share * minimum(stopped * stopped / going, 1.0), share)


def _square(x: Scalars) -> Scalar:
    return sum((y * y for y in x), 0.0)
