"""Accelerations that look a step ahead: implicit in springs, dampers and servos, explicit in all the rest.

Forces of springs and dampers grow with the very motion they cause.  Where a step h is long for them, they must be
taken at its end, f(q + h v+, v+).  With a stiffness k and a damping b per degree of freedom this is, to first order,

    (M + h b + h^2 k) a = f - h k v,    v+ = v + h a,

which is forward dynamics of a robot whose rotors are heavier by h b + h^2 k, so any way of finding accelerations will
do: articulated bodies stay O(n), loops stay closed.  Stiffness and damping need not be exact for the step to be of
first order, only not too small for it to be stable: what couples several freedoms is counted at each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..algorithms import springs, tendons
from ..algorithms.friction import coefficients, fading_friction
from ..algorithms.passes import present
from ..model.tree import Joint, Model
from ..spatial import Scalar, sqrt

Scalars = Sequence[Scalar]


class Impedance:
    """Stiffness and damping of every degree of freedom, gathered from whatever has some."""

    def __init__(self, tree: Model) -> None:
        self.tree = tree
        self.stiffness: list[Scalar] = [0.0] * tree.nv
        self.damping: list[Scalar] = [0.0] * tree.nv

    def add_joints(self, v: Scalars | None, friction: bool, friction_speed: float) -> None:
        """Add springs, damping and, where velocities are known, the slope of smooth Coulomb friction."""
        for link in self.tree.links:
            if springs.is_sprung(link):
                for k, x in enumerate(link.stiffness):
                    self._add(
                        self.stiffness, link.v_slice.start + k, x * link.ratio * link.ratio if link.follows else x
                    )
        if not friction:
            return
        rubbing, more = coefficients(self.tree), fading_friction(self.tree)
        for k, (b, c) in enumerate(zip(rubbing.damping, rubbing.coulomb, strict=True)):
            self._add(self.damping, k, b)
            if v is not None and k in more:  # without what falls with speed: damping must not be too small
                c = c + more[k].at(v[k])
            if v is not None and present(c):
                size = v[k] * v[k] + friction_speed * friction_speed
                self._add(self.damping, k, c * friction_speed * friction_speed / (size * sqrt(size)))

    def add_tendons(self, q: Scalars, friction: bool) -> None:
        """Add springs and dampers along tendons."""
        for tendon in self.tree.tendons:
            b = tendon.damping if friction else 0.0
            if present(tendon.stiffness) or present(b):
                self.add_along(tendons.measure(self.tree, tendon, q), tendon.stiffness, b)

    def add_along(self, taut: tendons.Taut, stiffness: Scalar, damping: Scalar) -> None:
        """Add what acts along a length: s s^T k is at most |s| times the sum of |s| at each freedom."""
        sizes = {k: abs(s) for k, s in taut.slope.items()}
        whole: Scalar = sum(sizes.values(), 0.0)
        for k, s in sizes.items():
            self._add(self.stiffness, k, s * whole * stiffness)
            self._add(self.damping, k, s * whole * damping)

    def add(self, stiffness: Scalars, damping: Scalars) -> None:
        """Add what a controller says of itself."""
        for k, (s, d) in enumerate(zip(stiffness, damping, strict=True)):
            self._add(self.stiffness, k, s)
            self._add(self.damping, k, d)

    @staticmethod
    def _add(to: list[Scalar], k: int, x: Scalar) -> None:
        if present(x):
            to[k] = to[k] + x if present(to[k]) else x

    def heavier(self, h: Scalar) -> Model:
        """Return the tree with rotors heavier by what gives way within a step."""
        return replace(self.tree, joints=tuple(self._heavier(joint, h) for joint in self.tree.joints))

    def _heavier(self, joint: Joint, h: Scalar) -> Joint:
        if joint.mimic:
            return joint
        places = range(joint.v_slice.start, joint.v_slice.stop)
        if not any(present(self.stiffness[k]) or present(self.damping[k]) for k in places):
            return joint
        own: Sequence[Any] = joint.armature or (0.0,) * joint.kind.nv
        felt = [m + h * (self.damping[k] + h * self.stiffness[k]) for m, k in zip(own, places, strict=True)]
        return replace(joint, rotor_inertia=tuple(felt), gear_ratio=(1.0,) * joint.kind.nv)

    def rotors(self, h: Scalar) -> list[Scalar]:
        """Return how much heavier the rotors are."""
        return [h * (b + h * k) for b, k in zip(self.damping, self.stiffness, strict=True)]

    def push(self, h: Scalar, v: Scalars) -> list[Scalar]:
        """Return the forces -h k v: what springs will have gained within a step."""
        return [-h * (s * x) if present(s) else 0.0 for s, x in zip(self.stiffness, v, strict=True)]
