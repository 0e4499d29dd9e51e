"""What a simulation was told about constraints: which are driven, how all are held, and where it may start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import Message, OptionError, Setting, StateError, UnsupportedError
from ...robot.mechanism import Mechanism
from ...robot.robot import Robot
from ...spatial.numbers import real_number
from ..arguments import initial_state
from ..equation import Array, Equation
from ..integrators.fixed_step_methods import GENERALIZED_ALPHA, VARIATIONAL
from ..system import DynamicSystem
from .drift import Drift, Projection, chosen_drift
from .driven_robot import DrivenRobot
from .equation import ConstrainedEquation
from .generalized_alpha import SPECTRAL_RADIUS
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
        """Return where a motion starts; prescribed joints are where they have to be, or it is refused."""
        if not self.prescribed:
            return initial_state(self.robot, q0, v0, tolerance=tolerance)
        if q0 is None or v0 is None:
            wanted = DrivenRobot(self.robot, self.prescribed.given).state(begin, q0)
            if not self.robot.model.is_constrained:  # joints about which nothing is said are at rest
                wanted[1][[k for k in range(self.robot.nv) if k not in self._driven(begin)]] = 0.0
            q0, v0 = wanted[0] if q0 is None else q0, wanted[1] if v0 is None else v0
        if self.prescribed.rows:  # loops that are driven are closed elsewhere
            opened = self.robot.tree if isinstance(self.robot, Mechanism) else self.robot
            q, v = initial_state(opened, q0, v0)
        elif isinstance(self.robot, Mechanism):
            q, v = initial_state(self.robot, q0, v0, tolerance=tolerance)
        else:
            q, v = initial_state(self.robot, q0, v0)
        self._refuse_late(q, v, begin)
        return q, v

    def _driven(self, t: float) -> set[int]:
        """Return the freedoms whose motion is prescribed."""
        return {rate for _, rate in self.prescribed.at(t).joints}

    def _refuse_late(self, q: Array, v: Array, begin: float) -> None:
        """Refuse a start at which a prescribed joint is elsewhere than its motion begins."""
        now = self.prescribed.at(begin)
        for k, (place, rate) in enumerate(now.joints):
            for x, wanted, what in ((q[..., place], now.positions[k], "q0"), (v[..., rate], now.velocities[k], "v0")):
                off = np.abs(x - wanted)
                if np.max(off, initial=0.0, where=np.isfinite(off)) > ON_SCHEDULE:
                    raise StateError(
                        f"{what} has joint {self.prescribed.names[k]!r} at {np.ravel(x)[int(np.argmax(off))]:.6g}, but "
                        f"at t = {begin:g} s it is prescribed to be at {float(wanted):.6g}: start from "
                        "kinetree.DrivenRobot(robot, prescribed).state(t, q)"
                    )


def chosen_constraints(
    robot: Robot, integrator: str, prescribed: Any, drift: Any, spectral_radius: Any
) -> ChosenConstraints:
    """Check what a simulation is told about constraints."""
    given = prescribed.given if isinstance(prescribed, DrivenRobot) else prescribed
    chosen, driven = chosen_drift(drift), PrescribedLaws(robot.model, given)
    if integrator != GENERALIZED_ALPHA and spectral_radius is not None:
        raise OptionError(
            Message(Setting("spectral_radius", ...), " belongs to ", Setting("integrator", GENERALIZED_ALPHA))
        )
    if not isinstance(chosen, Projection) and not robot.model.is_constrained and not driven:
        raise OptionError(
            f"robot {robot.name!r} has no closed loops and nothing is prescribed: there is no drift to hold"
        )
    if integrator == GENERALIZED_ALPHA:
        if not isinstance(chosen, Projection):
            raise OptionError("generalized_alpha solves for closed loops in every step: leave drift out")
        radius = SPECTRAL_RADIUS if spectral_radius is None else real_number(spectral_radius, "spectral_radius")
        if not 0.0 <= radius <= 1.0:
            raise OptionError(f"spectral_radius must be between 0 and 1, got {radius:g}")
        return ChosenConstraints(robot, driven, chosen, radius)
    if integrator == VARIATIONAL and driven:
        raise OptionError(
            Message("the variational integrator has no prescribed motions: use ", Setting("integrator", "rk4"))
        )
    return ChosenConstraints(robot, driven, chosen, None)
