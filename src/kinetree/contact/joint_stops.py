"""Compliant joint stops at the position limits of a robot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..algorithms.acting_element import ActingElement, Pushing, Scalars
from ..algorithms.compliant_directions import GivingWay, impedance_of
from ..algorithms.tendons import Taut
from ..errors import ModelError, OptionError, explain_public
from ..model.tree import Joint, Link, Model
from ..spatial import Scalar
from .ground import HuntCrossley, slopes

__all__ = ["JointStops"]


@dataclass(frozen=True, eq=False)
class JointStops(ActingElement):
    """Springs with dampers behind the position limits; they push back and never pull.

    A simulation takes them as ``ground=`` or among ``forces=``, with the same result.

    Parameters
    ----------
    law : Firm, Dusty or HuntCrossley
        Gives the force (N m or N) from the distance beyond the limit (rad or m) and its rate.  By
        default the force grows linearly from zero: 10 kN m/rad (or kN/m), with the damping of a
        stiff rubber buffer.
    joints : sequence of str, optional
        Joints with stops; by default all that have a finite limit.  Use one element for each stiffness if stiffnesses
        differ.

    Examples
    --------
    >>> stops = JointStops(HuntCrossley(5e3, 2.0, exponent=1), joints=["elbow"])
    """

    law: Any = field(default_factory=lambda: HuntCrossley(1e4, 1.0, exponent=1))
    joints: Sequence[str] | None = None
    STOPS_JOINTS = GIVES_BACK = True

    def __post_init__(self) -> None:
        if not hasattr(self.law, "force"):
            raise OptionError(f"law must be a law such as HuntCrossley or Firm, not {self.law!r}")
        if self.joints is not None:
            names = (self.joints,) if isinstance(self.joints, str) else tuple(self.joints)
            object.__setattr__(self, "joints", names)

    def parameters(self, tree: Model) -> dict[str, np.ndarray]:
        """Return the numbers of the law."""
        return dict(self.law.parameters())

    def with_parameters(self, values: Mapping[str, Sequence[Scalar]]) -> JointStops:
        """Return the same stops with other numbers."""
        return replace(self, law=self.law.with_parameters(values))

    def _stopped(self, tree: Model) -> Iterator[tuple[Link, Joint]]:
        """Yield joints with a limit, or those given, which must have one."""
        if self.joints is not None:
            for name in self.joints:
                tree.joint(name)
        for link, joint in zip(tree.links, tree.joints, strict=True):
            limited = any(math.isfinite(x) for x in (*joint.lower, *joint.upper))
            if self.joints is not None and joint.name in self.joints and not limited:
                raise ModelError(f"joint {joint.name!r} has no finite limit, so it cannot have a stop")
            if limited and (self.joints is None or joint.name in self.joints):
                yield link, joint

    def beyond(self, tree: Model, q: Scalars, v: Scalars) -> Iterator[tuple[Taut, Scalar]]:
        """Yield, for each limit, how far the joint is beyond it, the direction along its freedoms, and the rate.

        A coordinate q_k changes by dq_k'/dv along the velocities, which is 1 if v are the rates of q.
        """
        for link, joint in self._stopped(tree):
            position, rate = link.position(q), link.kind.rate(link.position(q), link.velocity(v))
            units = [[1.0 if j == i else 0.0 for j in range(link.kind.nv)] for i in range(link.kind.nv)]
            changes = [link.kind.rate(position, unit) for unit in units]
            for k, limits in enumerate(zip(joint.lower, joint.upper, strict=True)):
                slope = {link.v_slice.start + i: change[k] * link.ratio for i, change in enumerate(changes)}
                for sign, limit in zip((-1.0, 1.0), limits, strict=True):
                    if math.isfinite(limit):
                        beyond = position[k] - limit if sign > 0.0 else limit - position[k]
                        yield Taut(beyond, {i: sign * s for i, s in slope.items()}), sign * rate[k]

    def loads(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> Pushing:
        """Return the joint forces of the stops; no forces on bodies, no states."""
        tau: list[Scalar] = [0.0] * tree.nv
        for beyond, rate in self.beyond(tree, q, v):
            force = self.law.force(beyond.length, rate)
            for i, share in beyond.slope.items():
                tau[i] = tau[i] - force * share
        return None, tau, []

    def switches(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> list[Scalar]:
        """Return how far joints are beyond each limit."""
        return [beyond.length for beyond, _ in self.beyond(tree, q, v)]

    def impedance(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> GivingWay:
        """Return stiffness and damping of the stops at each freedom, and along coordinates of several freedoms."""
        limits = self.beyond(tree, q, v)
        return impedance_of(tree, [(along, *slopes(self.law, along.length, rate)) for along, rate in limits])

    def energy(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> Scalar:
        """Return the energy stored in the stops."""
        total: Scalar = 0.0
        for beyond, _ in self.beyond(tree, q, v):
            total = total + self.law.energy(beyond.length)
        return total


__dir__ = explain_public(__name__)
