"""Friction of the joints, over any scalar."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.tree import Model
from ..spatial import Scalar, sqrt


def friction_force(tree: Model, v: Sequence[Scalar], speed: float) -> list[Scalar]:
    """Return joint friction as it acts on the robot, smooth enough to integrate.

    Viscous as in the model; Coulomb friction is ``friction v / sqrt(v^2 + speed^2)``, which
    has all derivatives, 71 % of its full size at ``speed`` and 99.5 % at ten times that; an offset is constant.
    """
    damping, coulomb = tree.effective_friction
    force: list[Scalar] = []
    for d, c, o, rate in zip(damping.tolist(), coulomb.tolist(), tree.effective_offset.tolist(), v, strict=True):
        f: Scalar = -o if o else 0.0
        if d:
            f = f - d * rate
        if c:
            f = f - c * rate / sqrt(rate * rate + speed * speed)
        force.append(f)
    return force
