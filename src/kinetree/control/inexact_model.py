"""Controllers with an inexact model: they compute with a different robot than the one they drive."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from ..algorithms.compliant_directions import GivingWay
from ..errors import UnsupportedError
from ..model.tree import Model
from ..spatial import Scalar
from .base import Around
from .driven_joints import Scalars, checked_model, refuse_other_joints
from .sampled import find_sampled


@dataclass(frozen=True, eq=False)
class WithModel(Around):
    """Another controller that computes with a model of its own instead of the robot that it drives.

    This shows the effect of a wrong mass, an unknown load or unknown friction.  ``parameters=`` of a simulation change
    only the robot.

    Parameters
    ----------
    controller : Controller
    model : Robot
        The robot that the controller assumes: the same joints with other numbers.

    Examples
    --------
    >>> import kinetree as kt
    >>> robot = kt.load("kuka-kr5")
    >>> loaded = robot.with_payload("link_6", kt.MassProperties.sphere(3.0, 0.05))
    >>> unaware = kt.control.WithModel(kt.control.GravityCompensation(), robot)
    >>> record = kt.simulate(loaded, time=0.1, controller=unaware)
    """

    model: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_model(self.model)
        if find_sampled(self.controller) is not None:
            raise UnsupportedError(
                "what is sampled is the law together with its model: Sampled(WithModel(law, model), period=...)"
            )

    def known(self, tree: Model) -> Model:
        """Return the model."""
        mechanism: Model = self.model.model
        return mechanism

    def bound(self, robot: Any) -> Self:
        """Return this controller, with an inner controller that knows the loops of the assumed model."""
        refuse_other_joints(self.model, robot.model)
        return replace(self, controller=self.controller.bound(self.model))

    def impedance(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> GivingWay:
        """Return stiffness and damping of the other controller."""
        return self.controller.impedance(self.known(tree), t, q, v)
