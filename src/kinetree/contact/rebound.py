"""Restitution of compliant contact: what is pressed in comes back with less force, at any speed.

On the way out a spring pushes with the share e^2 of its force on the way in (Walton and Braun 1986, with the stiffness
on both ways in place of two).  So e^2 of the energy of an impact comes back, whatever its speed, the mass and the
stiffness, and a ball rises to e^2 of the height that it fell from.  Slower than :data:`SLOW` the change from one to the
other is gradual, as in a damper, so that what lies at rest lies still.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..spatial import Scalar, tanh

SLOW = 2e-3
"""Speed (m/s) above which the force differs fully between both ways."""


@dataclass(frozen=True, eq=False)
class Rebound:
    """A normal law without its damping, and with a coefficient of restitution.

    Parameters
    ----------
    law : HuntCrossley, Firm or Dusty
        Its force at rest, and its energy, are those of the way in.
    restitution : float
        Speed after an impact over the speed before it, from 0 to 1.
    """

    law: Any
    restitution: float

    def force(self, depth: Scalar, rate: Scalar) -> Scalar:
        """Return the force at a depth, by its rate, which is positive on the way in."""
        back = self.restitution * self.restitution
        return self.law.force(depth, 0.0) * (0.5 * (1.0 + back) + (0.5 * (1.0 - back)) * tanh(rate * (1.0 / SLOW)))

    def energy(self, depth: Scalar) -> Scalar:
        """Return the energy of the spring on the way in."""
        return self.law.energy(depth)

    def parameters(self) -> dict[str, np.ndarray]:
        """Return the numbers of the law."""
        return dict(self.law.parameters())

    def with_parameters(self, values: Mapping[str, Sequence[Scalar]]) -> Rebound:
        """Return the same with other numbers."""
        return replace(self, law=self.law.with_parameters(values))
