"""Limited forces: another controller within the effort limits of the motors, or within limits of your own."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import Message, OptionError, Setting
from ..model.tree import Model
from ..spatial import Scalar, where
from ..spatial.numbers import real_numbers
from .base import Around, Outcome
from .driven_joints import Scalars


@dataclass(frozen=True, eq=False)
class Saturated(Around):
    """Another controller with limited forces.

    Parameters
    ----------
    controller : Controller
    limit : float or array_like, optional
        Largest force of each degree of freedom; the robot's effort limits by default.
    """

    limit: ArrayLike | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limit is not None:
            real_numbers(self.limit, Setting("limit"), infinite=True)

    def limits(self, tree: Model) -> np.ndarray:
        """Return the largest force of each degree of freedom, (nv,)."""
        if self.limit is not None:
            return real_numbers(self.limit, Setting("limit"), tree.nv, infinite=True)
        bounds = tree.joint_vector("effort_limit")
        if len(bounds) and not np.isfinite(bounds).any():
            raise OptionError(
                Message(f"robot {tree.name!r} has no effort limits to stop at: give ", Setting("limit", ...))
            )
        return bounds

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces within their limits."""
        tau, rates = super().law(tree, t, q, v, z)
        return self._limited(tree, tau), rates

    def update(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars, period: float) -> Outcome:
        """Return the joint forces at a sample instant and the other controller's states at the next one."""
        tau, after = super().update(tree, t, q, v, z, period)
        return self._limited(tree, tau), after

    def _limited(self, tree: Model, tau: Scalars) -> list[Scalar]:
        return [limited(x, float(bound)) for x, bound in zip(tau, self.limits(tree), strict=True)]


def limited(x: Scalar, bound: float) -> Scalar:
    """Limit a force to a bound in both directions."""
    if math.isinf(bound) or (isinstance(x, float) and x == 0.0):
        return x
    return where(x > bound, bound, where(x < -bound, -bound, x))  # NaN is not hidden
