"""Ways of maintaining constraints during a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ...errors import OptionError, UnknownNameError
from ...spatial.numbers import real_number


@dataclass(frozen=True)
class Drift:
    """A way to maintain constraints; see :func:`kinetree.simulate`."""

    name: ClassVar[str] = ""
    after_steps: ClassVar[bool] = False
    """Whether states are moved after a step."""

    @property
    def gains(self) -> tuple[float, float]:
        """The gains of Baumgarte's terms."""
        return 0.0, 0.0


@dataclass(frozen=True)
class Projection(Drift):
    """After every step the state is projected to the nearest one that the constraints allow."""

    name = "projection"
    after_steps = True


@dataclass(frozen=True)
class Unheld(Drift):
    """Only accelerations obey the constraints; nothing corrects positions and velocities, so gaps grow with time."""

    name = "none"


@dataclass(frozen=True)
class Partitioned(Drift):
    """Only independent coordinates are integrated and the others solved for; the choice changes where it fails."""

    name = "partitioned"
    after_steps = True


@dataclass(frozen=True)
class Baumgarte(Drift):
    """Each gap is pulled back as by a damped spring: g'' + 2/T g' + g/T^2 = 0, where T is ``time_constant``.

    Parameters
    ----------
    time_constant : float
        Time constant in seconds; at least a few steps long.
    """

    time_constant: float = 0.1
    name = "baumgarte"

    def __post_init__(self) -> None:
        value = real_number(self.time_constant, "the time constant of Baumgarte's terms", positive=True, unit="seconds")
        object.__setattr__(self, "time_constant", value)

    @property
    def gains(self) -> tuple[float, float]:
        """Alpha and beta, one over the time constant."""
        return 1.0 / self.time_constant, 1.0 / self.time_constant


CHOICES: dict[str, type[Drift]] = {kind.name: kind for kind in (Projection, Baumgarte, Partitioned, Unheld)}


def chosen_drift(given: Any) -> Drift:
    """Return a choice by its name; an object is returned unchanged."""
    if isinstance(given, Drift):
        return given
    if isinstance(given, type) and issubclass(given, Drift):
        raise OptionError(f"drift is the class {given.__name__} itself: make one, {given.__name__}(...)")
    if not isinstance(given, str) or given not in CHOICES:
        raise UnknownNameError("way to correct drift", given, CHOICES)
    return CHOICES[given]()
