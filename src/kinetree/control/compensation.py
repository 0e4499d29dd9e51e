"""Compensation of gravity and of joint friction: forces to be added to another law."""

from __future__ import annotations

from dataclasses import dataclass

from ..algorithms import newton_euler
from ..algorithms.joint_friction import friction_force
from ..errors import OptionError
from ..model.tree import Model
from ..spatial import Scalar
from .base import Controller, Outcome
from .driven_joints import Scalars, gathered, spread
from .mechanism_loops import left_to_motors, loops_of


@dataclass(frozen=True, eq=False)
class GravityCompensation(Controller):
    """tau = g(q): the forces that hold the robot still, provided that something else holds its floating base.

    The motors of a mechanism with closed loops carry the weight of all its links.
    """

    RELIES_ON_LOOPS = True

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        weight, _ = newton_euler.inverse_dynamics(tree, q, [0.0] * tree.nv, None, tree.gravity)
        if tree.is_constrained:
            return left_to_motors(tree, self.loops or loops_of(tree), q, weight, "GravityCompensation"), []
        driven = tree.driven_joints
        return spread(tree, driven, gathered(driven, weight)), []


@dataclass(frozen=True, eq=False)
class FrictionCompensation(Controller):
    """Forces that overcome the friction of the driven joints, to be added to a law that ignores friction.

    The motors of a mechanism with closed loops also overcome the friction of its passive joints.

    Parameters
    ----------
    friction_speed : float
        As in :func:`kinetree.simulate`; Coulomb friction is ``friction v / sqrt(v^2 + friction_speed^2)``.

    Examples
    --------
    ``ComputedTorque(goal, kp, kd) + FrictionCompensation()``
    """

    friction_speed: float = 1e-2
    RELIES_ON_LOOPS = True

    def __post_init__(self) -> None:
        if not self.friction_speed > 0.0:
            raise OptionError(f"friction_speed must be positive, not {self.friction_speed!r}")

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        against = [-f for f in friction_force(tree, v, self.friction_speed, q)]
        if tree.is_constrained:
            return left_to_motors(tree, self.loops or loops_of(tree), q, against, "FrictionCompensation"), []
        driven = tree.driven_joints
        return spread(tree, driven, gathered(driven, against)), []
