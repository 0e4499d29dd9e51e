"""What a simulation was told about constraints: which are driven, how all are held, and where it may start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import Message, OptionError, Setting, UnsupportedError
from ...robot.robot import Robot
from ..arguments import initial_state
from ..equation import Array, Equation
from ..integrators.fixed_step_methods import VARIATIONAL
from ..options import SimulationOptions
from ..system import DynamicSystem
from .drift import Drift, Projection
from .driven_robot import DrivenRobot
from .equation import ConstrainedEquation
from .prescribed import PrescribedLaws

ON_SCHEDULE = 1e-6
"""How far a start may be from where prescribed joints have to be (rad, m, and their rates)."""


@dataclass(frozen=True)
class ChosenConstraints:
    """The choice, for one robot."""

    robot: Robot
    prescribed: PrescribedLaws
    drift: Drift
    spectral_radius: float | None

    @property
    def is_usual(self) -> bool:
        """Whether loops, if there are any, are only closed after every step."""
        return not self.prescribed and isinstance(self.drift, Projection) and self.spectral_radius is None

    def equation(
        self, system: DynamicSystem, function: Callable[..., Any] | None, threads: int
    ) -> Equation:  # fmt: skip
        """Return the equation of motion."""
        if self.is_usual:
            return Equation(system, function, threads)
        if system.varied.places:
            raise UnsupportedError(
                "parameters are varied only where loops are held by projection and no motion is prescribed by name"
            )
        radius = self.spectral_radius
        made = ConstrainedEquation(
            system, function, threads, self.prescribed, self.drift, 1.0 if radius is None else radius
        )
        made.by_alpha = radius is not None
        return made

    def within(self, span: tuple[float, float]) -> tuple[float, float]:
        """Return from when until when both a controller and the prescribed motions are known."""
        begin, end = self.prescribed.span
        return max(span[0], begin), min(span[1], end)

    def initial_state(self, q0: Any, v0: Any, begin: float, tolerance: float | None) -> tuple[Array, Array]:
        """Return where a motion starts; what is prescribed is where it has to be, or the start is refused.

        With a tolerance, a start that is off by less is moved there.
        """
        robot = self.robot
        if not self.prescribed:
            return initial_state(robot, q0, v0, tolerance=tolerance)
        driven = DrivenRobot(robot, self.prescribed.given)
        self.prescribed.refuse_unknown(begin)
        if q0 is None or v0 is None:
            wanted = driven.state(begin, q0)
            if not robot.model.is_constrained:  # joints about which nothing is said are at rest
                wanted[1][..., [k for k in range(robot.nv) if k not in self._driven(begin)]] = 0.0
            q0, v0 = wanted[0] if q0 is None else q0, wanted[1] if v0 is None else v0
        q, v = initial_state(robot.tree, q0, v0, tolerance=tolerance)
        driven.refuse_contradictions(begin, q)
        granted = ON_SCHEDULE if tolerance is None else tolerance
        off = driven.misfit(begin, q, v)
        if tolerance is None and robot.loops is not None and np.any(np.abs(off.gaps) > granted):
            granted = max(granted, robot.coordinates_at(q).slack)
        off.refuse(
            ("q0", "v0"), granted,
            f"start from kinetree.DrivenRobot(robot, prescribed).state({begin:g}, q0), or have it moved there by a "
            "larger tolerance",
        )  # fmt: skip
        return (q, v) if tolerance is None else driven.nearest(begin, *_together(q, v))

    def _driven(self, t: float) -> set[int]:
        """Return the freedoms whose motion is prescribed."""
        return {rate for _, rate in self.prescribed.at(t).joints}


def _together(q: Array, v: Array) -> tuple[Array, Array]:
    """Return positions and velocities of one batch."""
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    return np.broadcast_to(q, (*batch, q.shape[-1])), np.broadcast_to(v, (*batch, v.shape[-1]))


def chosen_constraints(robot: Robot, options: SimulationOptions, prescribed: Any) -> ChosenConstraints:
    """Check what a simulation of a robot is told about constraints; ``prescribed`` are motions by name."""
    given = prescribed.given if isinstance(prescribed, DrivenRobot) else prescribed
    driven = PrescribedLaws(robot.model, given)
    if not isinstance(options.drift, Projection) and not robot.model.is_constrained and not driven:
        raise OptionError(
            f"robot {robot.name!r} has no closed loops and nothing is prescribed: there is no drift to hold"
        )
    if options.integrator == VARIATIONAL and driven:
        raise OptionError(
            Message("the variational integrator has no prescribed motions: use ", Setting("integrator", "rk4"))
        )
    return ChosenConstraints(robot, driven, options.drift, options.spectral_radius)
