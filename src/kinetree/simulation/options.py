"""The options of a simulation: one table with defaults, units and help texts, checked in one place.

:func:`kinetree.simulate` and :class:`kinetree.Simulator`, rigid contact, worlds, study files, sweeps and the command
line take names, defaults and refusals from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.algorithm import FORWARD_METHODS
from ..errors import (
    ExplainsArguments,
    Message,
    OptionError,
    ReadOnlyError,
    Setting,
    UnknownNameError,
    explains_arguments,
)
from ..evaluation.checks import check_threads
from ..spatial.numbers import real_number, shown, whole_number
from .constrained.drift_correction import CHOICES as DRIFTS
from .constrained.drift_correction import Projection, chosen_drift
from .integrators.fixed_step_methods import FIXED, GENERALIZED_ALPHA, INTEGRATORS, VARIATIONAL

STEPS_AT_MOST = 5_000_000
"""The most steps of a run, and samples that it keeps, unless more are allowed."""


SPECTRAL_RADIUS = 0.8
"""Default fraction of oscillations too fast for a generalized-alpha step that is left after the step."""


class SimulationOption(NamedTuple):
    """A row of the table of options.

    Attributes
    ----------
    name : str
    default
    help : str
        A sentence, as the command line shows it.
    unit : str
        Unit of a number.
    kind : type or None
        Type in a file or on a command line: float, int, bool or str; None if only Python can give it.
    words : tuple of str
        Allowed words, if the option is a word.
    usual : str
        The default in words, if the value itself would say little.
    """

    name: str
    default: Any
    help: str
    unit: str = ""
    kind: type | None = None
    words: tuple[str, ...] = ()
    usual: str = ""


def _row(help: str, kind: type | None = None, **more: Any) -> dict[str, Any]:
    return {"help": help, "kind": kind} | more


@explains_arguments
@dataclass(kw_only=True, eq=False)
class SimulationOptions(ExplainsArguments):
    """All options of a simulation except its initial state and time; :func:`kinetree.simulate` describes each.

    Raises
    ------
    OptionError
        If an option is impossible, or contradicts another one, whatever the robot.

    Examples
    --------
    >>> SimulationOptions(integrator="rk4", step=1e-3).step
    0.001
    """

    controller: Any = field(default=None, metadata=_row("Controller of the motors."))
    ground: Any = field(default=(), metadata=_row("Ground, stops, and whatever else the robot touches."))
    forces: Any = field(default=(), metadata=_row("Other forces on the robot."))
    integrator: str = field(
        default="dop853",
        metadata=_row(
            "dop853, rk45, radau, bdf, sundials (adaptive); euler, semi_implicit_euler, implicit_euler, rk4, dopri5, "
            "variational, generalized_alpha (fixed step).",
            str,
            words=tuple(INTEGRATORS),
        ),
    )
    rtol: float = field(default=1e-8, metadata=_row("Relative tolerance of adaptive integrators.", float))
    atol: float = field(default=1e-10, metadata=_row("Absolute tolerance of adaptive integrators.", float))
    step: float | None = field(default=None, metadata=_row("Length of fixed steps.", float, unit="seconds"))
    largest_step: float = field(
        default=np.inf, metadata=_row("Longest step of adaptive integrators.", float, unit="seconds", usual="no limit")
    )
    friction: bool = field(default=True, metadata=_row("Include the joints' own damping and friction.", bool))
    friction_speed: float = field(
        default=1e-2, metadata=_row("Speed over which Coulomb friction changes its sign.", float, unit="rad/s or m/s")
    )
    works: bool | None = field(
        default=None,
        metadata=_row("Integrate the works of motors, friction and ground.", bool, usual="for single simulations"),
    )
    parameters: Mapping[str, Any] | None = field(
        default=None, metadata=_row("Numbers of the robot that replace those of its model.")
    )
    prescribed: Any = field(default=None, metadata=_row("Motion that joints follow exactly."))
    method: str = field(
        default="articulated_body",
        metadata=_row("How accelerations of trees are found.", str, words=tuple(FORWARD_METHODS)),
    )
    threads: int = field(default=1, metadata=_row("Threads for batches.", int))
    tolerance: float | None = field(
        default=None,
        metadata=_row(
            "How far from closed the loops of a start may be; they are closed before the motion begins.",
            float, unit="m and rad", usual="1e-6",
        ),
    )  # fmt: skip
    steps_at_most: int = field(default=STEPS_AT_MOST, metadata=_row("Largest number of steps of a run.", int))
    drift: Any = field(
        default="projection",
        metadata=_row(
            "How loops are kept closed: projection, partitioned, baumgarte or none.", str, words=tuple(DRIFTS)
        ),
    )
    spectral_radius: float | None = field(
        default=None,
        metadata=_row(
            "Share of oscillations too fast for a step that generalized_alpha leaves in it; from 0 to 1.",
            float, usual=str(SPECTRAL_RADIUS),
        ),
    )  # fmt: skip

    def __post_init__(self) -> None:
        if not isinstance(self.integrator, str) or self.integrator not in INTEGRATORS:
            from ..robot.names_elsewhere import integrator_called  # the command line completes options without robots

            meant = integrator_called(self.integrator)
            raise UnknownNameError("integrator", self.integrator, INTEGRATORS, meant=meant)
        if not isinstance(self.method, str) or self.method not in FORWARD_METHODS:
            raise UnknownNameError("method of forward dynamics", self.method, FORWARD_METHODS)
        for name in ("rtol", "atol", "largest_step", "friction_speed"):
            value = real_number(getattr(self, name), Setting(name), positive=True, infinite=name == "largest_step")
            setattr(self, name, value)
        self.step = self._checked_step()
        self.steps_at_most = whole_number(self.steps_at_most, Setting("steps_at_most"), 1)
        check_threads(self.threads)
        self.drift = chosen_drift(self.drift)
        self.spectral_radius = self._checked_radius()
        self._set_up()
        self._is_set_up = True

    def _set_up(self) -> None:
        """Prepare everything that follows from the options, after they have been checked."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse to change options that have been checked, and perhaps compiled: the change would have no effect."""
        if hasattr(self, "_is_set_up"):
            kind = type(self).__name__
            make = f"make another one, {kind}(..., {name}=...)" if name in OPTIONS else "make another one"
            raise ReadOnlyError(f"a {kind} cannot be changed once it is set up, so {name!r} cannot be set: {make}")
        super().__setattr__(name, value)

    def _checked_step(self) -> float | None:
        integrator, step = self.integrator, self.step
        if integrator in FIXED or integrator in (VARIATIONAL, GENERALIZED_ALPHA):
            try:
                return real_number(step, "step", positive=True)
            except OptionError:
                got = "" if step is None else f"; got {shown(step)}"
                needed = f"integrator {integrator!r} needs a step in seconds, such as "
                raise OptionError(Message(needed, Setting("step", 1e-3), got)) from None
        if step is not None:
            others = Message(Setting("rtol", ...), ", ", Setting("atol", ...), " and ", Setting("largest_step", ...))
            own = f"integrator {integrator!r} chooses its own steps: it takes no "
            raise OptionError(Message(own, Setting("step", ...), ", but ", others))
        return None

    def _checked_radius(self) -> float | None:
        if self.integrator != GENERALIZED_ALPHA:
            if self.spectral_radius is not None:
                raise OptionError(
                    Message(Setting("spectral_radius", ...), " belongs to ", Setting("integrator", GENERALIZED_ALPHA))
                )
            return None
        if not isinstance(self.drift, Projection):
            raise OptionError("generalized_alpha solves for closed loops in every step: leave drift out")
        radius = SPECTRAL_RADIUS if self.spectral_radius is None else self.spectral_radius
        radius = real_number(radius, "spectral_radius")
        if not 0.0 <= radius <= 1.0:
            raise OptionError(f"spectral_radius must be between 0 and 1, got {radius:g}")
        return radius

    def refuse_endless(self, begin: float, end: float) -> None:
        """Refuse a run that is known beforehand to take more steps than allowed."""
        name, length = ("largest_step", self.largest_step) if self.step is None else ("step", self.step)
        with np.errstate(all="ignore"):
            count = float(np.divide(end - begin, length))
        if count > self.steps_at_most * (1.0 + 1e-9):
            raise OptionError(
                Message(
                    f"{end - begin:g} s in steps of {'at most ' if self.step is None else ''}{length:g} s are "
                    f"{count:.3g} steps, and a run takes no more than {self.steps_at_most}: take a larger ",
                    Setting(name), ", a shorter time, or let it take more with ", Setting("steps_at_most", ...),
                )
            )  # fmt: skip


OPTIONS = {row.name: SimulationOption(row.name, row.default, **row.metadata) for row in fields(SimulationOptions)}
"""The table, by name."""
