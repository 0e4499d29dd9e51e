"""A robot's own joints and tendons as an element: their friction, and their compliant springs and dampers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algorithms.acting_element import ActingElement, Pushing, Scalars
from ..algorithms.compliant_directions import GivingWay
from ..algorithms.joint_friction import building_up, following, friction_force, times, travels
from ..model.tree import Model
from ..spatial import Scalar
from .implicit_accelerations import Impedance


@dataclass(frozen=True)
class OwnJoints(ActingElement):
    """The joints and tendons of a robot, as an element like all others.

    Their springs are part of the robot's own dynamics; friction acts on the robot from outside.  Friction that needs
    some travel or time to build up is a state per degree of freedom and kind, which is zero at the beginning.

    Parameters
    ----------
    friction : bool
        Whether damping and friction act.
    friction_speed : float
        Speed at which smooth Coulomb friction reaches 71 % of its size.
    """

    friction: bool
    friction_speed: float

    def loads(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> Pushing:
        """Return the forces of friction, and the rate at which friction builds up."""
        if not self.friction:
            return None, None, []
        ways, behind = travels(tree), times(tree)
        shares, velocities = (
            dict(zip(ways, z[: len(ways)], strict=True)),
            dict(zip(behind, z[len(ways) :], strict=True)),
        )
        rates = [building_up(shares[k], v[k], way) for k, way in ways.items()]
        rates += [following(velocities[k], v[k], time) for k, time in behind.items()]
        return None, friction_force(tree, v, self.friction_speed, q, shares, velocities), rates

    def initial_states(self, tree: Model) -> np.ndarray:
        """Return zeros: the initial friction of each freedom that builds it up."""
        return np.zeros(len(travels(tree)) + len(times(tree)) if self.friction else 0)

    def impedance(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> GivingWay:
        """Return stiffness and damping of joints and tendons."""
        found = Impedance(tree)
        found.add_joints(v, self.friction, self.friction_speed)
        found.add_tendons(q, self.friction)
        return found.stiffness, found.damping, found.along
