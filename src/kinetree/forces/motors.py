"""Motors with a torque-speed curve, behind a gear with friction."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..algorithms.acting_element import Scalars
from ..algorithms.compliant_directions import Along
from ..algorithms.tendons import Taut, clamped
from ..errors import OptionError
from ..model.tree import Model
from ..motion.trajectory_interface import Trajectory
from ..spatial import Scalar, sqrt, where
from ..spatial.numbers import shown
from .characteristics import Characteristic
from .element import ForceElement, Surroundings, at_time, is_number


@dataclass(frozen=True, eq=False)
class Motor(ForceElement):
    """A motor driven by a signal: its torque falls with its speed, and its gear has friction.

    At full signal the torque is that of its curve, from ``stall_torque`` at rest to zero at ``no_load_speed``; a
    signal u between -1 and 1 shifts the line like the voltage of a direct-current motor:
    stall_torque (u - w / no_load_speed).  With a ``curve`` instead of the line, the torque is u times the largest
    torque at the speed.  On the joint side of the gear, with ``ratio`` motor turns per joint turn, the torque is
    ``ratio`` times the motor's, minus the losses of the gear's teeth (``efficiency``) and friction.

    Parameters
    ----------
    joint : str
    signal : number, Trajectory, function of time, or function ``f(t, q, v)`` of the joint's coordinate
        Signal, limited to -1 to 1.
    stall_torque, no_load_speed : float
        Values of the motor itself, in N m and rad/s.
    curve : Characteristic, optional
        Largest torque of the motor itself over speed, for speeds from zero.
    ratio : float
        Gear ratio.
    efficiency : float
        Fraction of the torque that the gear transmits while the motor drives; the rest is friction of its teeth, which
        also acts when the joint drives the motor.
    rubbing, damping : float
        Friction of the gear on the joint side: Coulomb friction in N m and viscous friction in N m s/rad.
    friction_speed : float
        Speed at which smooth Coulomb friction reaches 71 % of its size.
    coordinate : int
        Index of the coordinate, if the joint has several.

    Examples
    --------
    >>> motor = Motor("hip", signal=0.5, stall_torque=0.3, no_load_speed=600.0, ratio=50.0, rubbing=0.2)
    """

    joint: str
    signal: Any
    stall_torque: Any = 0.0
    no_load_speed: Any = 0.0
    curve: Characteristic | None = None
    ratio: Any = 1.0
    efficiency: Any = 1.0
    rubbing: Any = 0.0
    damping: Any = 0.0
    friction_speed: float = 1e-2
    coordinate: int = 0
    VARIES: ClassVar = dict.fromkeys(
        ("signal", "stall_torque", "no_load_speed", "ratio", "efficiency", "rubbing", "damping"), 0
    )

    def __post_init__(self) -> None:
        self.check_given("signal", 0)
        if is_number(self.signal) and np.any(np.abs(self.signal) > 1.0):
            raise OptionError(
                f"Motor: signal is a fraction of the full voltage, between -1 and 1, not {shown(self.signal)}"
            )
        for name in ("stall_torque", "no_load_speed", "rubbing", "damping", "efficiency", "friction_speed"):
            self.check_number(name, least=0.0)
        self.check_number("ratio")
        self._check_gear()
        line = self.stall_torque, self.no_load_speed
        if self.curve is None and (_has_zero(self.no_load_speed) or not _has_any(self.stall_torque)):
            raise OptionError("a motor needs its stall_torque and no_load_speed, or a curve of torques over speed")
        if self.curve is not None and not callable(self.curve):
            raise OptionError(f"a motor's curve is a kinetree.forces.Characteristic, not {self.curve!r}")
        if self.curve is not None and any(is_number(x) and _has_any(x) for x in line):
            raise OptionError(
                "a motor follows its curve or the line of stall_torque and no_load_speed: give one of them"
            )

    def _check_gear(self) -> None:
        """Refuse gears with an efficiency above 1, a ratio of zero, or friction that jumps."""
        if is_number(self.efficiency) and np.any(np.greater(self.efficiency, 1.0)):
            raise OptionError(
                f"Motor: efficiency is a fraction of the torque, between 0 and 1, not {shown(self.efficiency)}: "
                "0.85 for 85 %"
            )
        if _has_zero(self.ratio):
            raise OptionError("Motor: ratio is how often the motor turns per turn of the joint; it cannot be 0")
        if _has_zero(self.friction_speed):
            raise OptionError("Motor: friction_speed must be above 0: Coulomb friction is smooth here")

    def _signal(self, on: Surroundings, along: Taut, rate: Scalar) -> Scalar:
        own = callable(self.signal) and not isinstance(self.signal, Trajectory)
        if own and takes_three(self.signal):
            u = self.signal(on.t, along.length, rate)
        else:
            u = at_time(self.signal, on.t, 1, "a motor's signal")[0]
        return clamped(u, (-1.0, 1.0))

    def act(self, on: Surroundings) -> None:
        """Drive the joint."""
        along = on.coordinate(self.joint, self.coordinate)
        rate = along.rate(on.v)
        given = self._given(on, along, rate)
        on.drive(along, given - self._rubbing(given) * (rate / self._smoothed(rate)) - self.damping * rate)

    def _given(self, on: Surroundings, along: Taut, rate: Scalar) -> Scalar:
        """Return the motor torque at the joint without friction."""
        u, speed = self._signal(on, along, rate), rate * self.ratio
        if self.curve is None:
            torque = self.stall_torque * (u - speed / self.no_load_speed)
        else:
            driving = where(u < 0.0, -speed, speed)  # while the motor brakes, the torque is that at rest
            torque = u * self.curve(where(driving < 0.0, 0.0, driving))
        return torque * self.ratio

    def _rubbing(self, given: Scalar) -> Scalar:
        """Return Coulomb friction, including load-dependent gear friction, for both directions."""
        return self.rubbing + (1.0 - self.efficiency) * abs(given)

    def _smoothed(self, rate: Scalar) -> Scalar:
        return sqrt(rate * rate + self.friction_speed * self.friction_speed)

    def free_at_rest(self, tree: Model, v: Scalars) -> Motor:
        """Return the motor without rubbing of its gear, if its joint is at rest."""
        link = tree.links[tree.joint_index[tree.joint(self.joint).name]]
        moving = v[link.v_slice.start + self.coordinate] != 0.0
        return self if moving else replace(self, rubbing=0.0, efficiency=1.0)

    def yields(self, on: Surroundings) -> Along:
        """Return its damping for implicit steps; friction is force over speed, so it cannot reverse the motion."""
        along = on.coordinate(self.joint, self.coordinate)
        rate = along.rate(on.v)
        rubbing = self._rubbing(self._given(on, along, rate)) / self._smoothed(rate)
        line = 0.0 if self.curve is not None else self.stall_torque / self.no_load_speed * self.ratio * self.ratio
        return [(along, 0.0, self.damping + rubbing + line)]


def _has_zero(value: Any) -> bool:
    return is_number(value) and not np.all(value)


def _has_any(value: Any) -> bool:
    return not is_number(value) or bool(np.any(value))


def takes_three(function: Any) -> bool:
    """Return whether a function needs time, position and speed rather than only the time."""
    try:
        inspect.signature(function).bind(0.0)
    except TypeError:
        return True
    except ValueError:  # a built-in, which has no signature
        return False
    return False
