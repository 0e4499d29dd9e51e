"""Computed torque: the robot's own dynamics, so that the error obeys a linear equation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms.acting_element import as_element, sum_of_loads
from ..errors import OptionError
from ..model.tree import Joint, Model
from ..motion.trajectory_interface import Trajectory
from ..spatial import Force, Scalar
from ..spatial.numbers import is_unknown
from .base import Controller, Gain, Outcome, as_gain, finite_numbers, gains, servo
from .driven_joints import Scalars, forces_for, gathered, spread, tracking_error
from .mechanism_loops import followed_joints, loops_of
from .mechanism_loops import forces_for as closed_forces_for


@dataclass(frozen=True, eq=False)
class ComputedTorque(Controller):
    """tau = I alpha + h with alpha = q''_des + kp e + kd e' (Shah eq. 9.3-9.4, floating base 9.8-9.9, 9.11).

    The error then obeys e'' + kd e' + kp e = 0 for any robot, apart from the friction of its joints, which
    :class:`FrictionCompensation` removes.  With ``ki``, alpha includes ki times the integral of e, so that constant
    unknown forces leave no error; the equation is then of third order, and stable if ki < kp kd.

    Parameters
    ----------
    trajectory : Trajectory
    kp, kd : gains
        Gains in 1/s^2 and 1/s.
    senses : sequence of force elements
        Ground or other elements whose forces the controller takes into account.  Without its ground, the controller of
        a walking machine computes as if the machine were falling.
    coordinates : sequence of str, optional
        For mechanisms with closed loops: names of the joints of the trajectory, the errors and the gains, which
        determine all others; by default those with motors.  Required if there are more motors than freedoms; these
        then share the forces so that the sum of their squares is least.
    ki : gain, optional
        Gain in 1/s^3.  The integral is a state of the simulation.
    """

    trajectory: Trajectory
    kp: Gain
    kd: Gain
    senses: Sequence[Any] = ()
    coordinates: Sequence[str] | None = None
    ki: Gain | None = None
    GAINS = ("kp", "kd")
    RELIES_ON_LOOPS = True

    def __post_init__(self) -> None:
        self.refuse_no_trajectory()
        self.refuse_no_numbers()
        if self.ki is not None and not is_unknown(self.ki):
            finite_numbers(self.ki, "ki")
        check_senses(self.senses)

    def takes_to_fall(self) -> bool:
        """Return whether it senses nothing that could carry the robot."""
        return not self.senses

    def joints(self, tree: Model) -> list[Joint]:
        """Return the joints whose motion the trajectory gives."""
        return followed_joints(tree, self.coordinates, self.loops)

    def initial_states(self, tree: Model) -> np.ndarray:
        """Return zeros, the initial integrals of the errors, if there are any."""
        return np.zeros(0 if self.ki is None else sum(j.nv for j in self.joints(tree)))

    def parameters(self, tree: Model) -> dict[str, np.ndarray]:
        """Return the gains, each (..., n), that may vary over a batch."""
        found = super().parameters(tree)
        return found if self.ki is None else found | {"ki": as_gain(self.ki, self._width(tree, "ki"), "ki")}

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces, and the errors as the rates of their integrals."""
        followed = self.joints(tree)
        error = tracking_error(tree, self.trajectory, t, q, v, followed)
        push = servo(error.position, error.velocity, self.kp, self.kd)
        alpha = [a + b for a, b in zip(error.acceleration, push, strict=True)]
        rates: list[Scalar] = []
        if self.ki is not None:
            alpha = [a + k * x for a, k, x in zip(alpha, gains(self.ki, len(z), "ki"), z, strict=True)]
            rates = error.position
        loads = sensed(tree, self.senses, t, q, v)
        if tree.is_constrained:
            return closed_forces_for(tree, self.loops or loops_of(tree), q, v, followed, alpha, loads), rates
        _, tau = forces_for(tree, q, v, followed, alpha, loads)
        return spread(tree, followed, gathered(followed, tau)), rates


def check_senses(elements: Sequence[Any]) -> None:
    """Refuse anything that cannot push on a robot."""
    for element in elements:
        if as_element(element) is None:
            raise OptionError(f"senses must be force elements such as a ground, not {type(element).__name__}")


def sensed(tree: Model, elements: Sequence[Any], t: Scalar, q: Scalars, v: Scalars) -> list[Force | None] | None:
    """Return the forces of elements on the bodies at a state; refuse elements with states of their own."""
    total: list[Force | None] | None = None
    for element in filter(None, map(as_element, elements)):
        if len(element.initial_states(tree)):
            raise OptionError(f"{element.kind} has internal states, which a controller cannot know")
        loads, _, _ = element.loads(tree, t, q, v, [])
        if loads is not None:
            total = list(loads) if total is None else sum_of_loads(total, loads)
    return total
