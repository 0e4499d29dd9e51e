"""Motors driven by commands that arrive at intervals, as from a policy, and are held until the next one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms.compliant_directions import GivingWay
from ..algorithms.tendons import Driven
from ..errors import OptionError, refuse_unknown
from ..model.tree import Joint, Model
from ..spatial import Scalar, where
from .actuators import Actuators, check_has_actuators, joint_forces, joint_impedance, resting_signals
from .base import Controller, Gain, Outcome, gains, holds_scalars
from .driven_joints import Scalars, gathered, spread
from .saturation import limited

SIGNAL = "signal"
MODES = ("torque", "position", "velocity", SIGNAL)
"""Kinds of commands: joint forces, joint positions, joint velocities, or signals of actuators."""


@dataclass(frozen=True, eq=False)
class Commanded(Controller):
    """Motors driven by commands: forces, or targets of a servo.

    Parameters
    ----------
    mode : {"torque", "position", "velocity", "signal"}
        ``tau = c``, ``tau = kp (c - q) - kd v`` or ``tau = kd (c - v)``, times the strength; or signals of the robot's
        own actuators, with their gears, gains and ranges, as in :class:`Actuators`.
    kp, kd : float or array_like
        Gains of the servo: one number, or one per motor.
    strength : float or array_like
        Fraction of the force that a motor delivers.
    command, before : array_like
        The command, and the previous one, which holds until the delay is over.
    given_at, delay : float
        When the command was given, and how long it takes to arrive, in seconds.
    limited : bool
        Whether forces are limited to the effort limits of the robot's joints.
    """

    mode: str = "torque"
    kp: Gain = 0.0
    kd: Gain = 0.0
    strength: Gain = 1.0
    command: Gain = 0.0
    before: Gain = 0.0
    given_at: Gain = 0.0
    delay: Gain = 0.0
    limited: bool = False
    GAINS = ("kp", "kd", "strength", "command", "before", "given_at", "delay")

    def __post_init__(self) -> None:
        self.refuse_no_numbers()
        refuse_unknown("kind of command", self.mode, MODES)
        for name, needed in (("kp", self.mode == "position"), ("kd", self.mode == "velocity")):
            value = getattr(self, name)
            if holds_scalars(value):
                continue
            numbers = np.asarray(value, dtype=float)
            if self.mode == SIGNAL and np.any(numbers):
                raise OptionError(
                    f"commands that are signals take no {name}: the robot's actuators have their own gains"
                )
            if np.any(numbers < 0.0) or (needed and not np.any(numbers)):
                raise OptionError(
                    f"{name} of commands of {self.mode} must be positive, not {value!r}: otherwise nothing moves"
                )

    def _width(self, tree: Model, name: str) -> int:
        if name in ("given_at", "delay"):
            return 1
        return len(tree.actuators) if self.mode == SIGNAL else super()._width(tree, name)

    def names(self, tree: Model) -> list[str]:
        """Return the names of commands: actuators, or joints, with a number if they have several freedoms."""
        if self.mode == SIGNAL:
            check_has_actuators(tree)
            return [actuator.name for actuator in tree.actuators]
        return [joint.name if joint.nv == 1 else f"{joint.name}[{k}]" for joint in self.motors(tree)
                for k in range(joint.nv)]  # fmt: skip

    def _driven(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> list[Driven]:
        """Return the effect of the robot's actuators under the signals that have arrived, each with its strength."""
        strength = gains(self.strength, len(tree.actuators), "strength")
        found = Actuators(self.current(tree, t)).at(tree, t, q, v)
        return [
            Driven(d.taut, s * d.force, s * d.stiffness, s * d.damping) for s, d in zip(strength, found, strict=True)
        ]

    def motors(self, tree: Model) -> list[Joint]:
        """Return the joints with a motor; those with quaternions take only forces and speeds."""
        joints = tree.driven_joints
        if not joints and self.mode != "torque":  # no motors, no forces
            raise OptionError(f"no joint of {tree.name!r} has a motor to command")
        for joint in joints:
            if self.mode == "position" and joint.kind.nq != joint.kind.nv:
                raise OptionError(
                    f"joint {joint.name!r} has a quaternion, which takes no position as a command: command torques"
                )
        return joints

    def resting(self, tree: Model) -> Callable[[np.ndarray], np.ndarray]:
        """Return a function that gives the neutral commands (..., motors) at q: the positions of motors, or zeros."""
        if self.mode == SIGNAL:
            return lambda q: resting_signals(tree, q)
        joints = self.motors(tree)
        places = np.array([k for joint in joints for k in range(joint.q_slice.start, joint.q_slice.stop)], dtype=int)
        if self.mode == "position":
            return lambda q: q[..., places]
        return lambda q: np.zeros((*q.shape[:-1], sum(joint.nv for joint in joints)))

    def current(self, tree: Model, t: Scalar) -> list[Scalar]:
        """Return the command that has arrived."""
        count = len(self.names(tree))
        new, old = gains(self.command, count, "command"), gains(self.before, count, "before")
        (given_at,), (delay,) = gains(self.given_at, 1, "given_at"), gains(self.delay, 1, "delay")
        late = t - given_at < delay
        return [where(late, b, a) for a, b in zip(new, old, strict=True)]

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        if self.mode == SIGNAL:
            return joint_forces(tree, self._driven(tree, t, q, v)), []
        joints = self.motors(tree)
        count, wanted = sum(joint.nv for joint in joints), self.current(tree, t)
        strength, kd = gains(self.strength, count, "strength"), gains(self.kd, count, "kd")
        rates = gathered(joints, v)
        if self.mode == "position":
            places = [x for joint in joints for x in q[joint.q_slice]]
            kp = gains(self.kp, count, "kp")
            forces = [p * (c - x) - d * r for p, d, c, x, r in zip(kp, kd, wanted, places, rates, strict=True)]
        elif self.mode == "velocity":
            forces = [d * (c - r) for d, c, r in zip(kd, wanted, rates, strict=True)]
        else:
            forces = wanted
        if self.limited:
            bounds = gathered(joints, tree.joint_vector("effort_limit").tolist())
            forces = [limited(f, bound) for f, bound in zip(forces, bounds, strict=True)]
        return spread(tree, joints, [s * f for s, f in zip(strength, forces, strict=True)]), []

    def impedance(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> GivingWay:
        """Return stiffness and damping of each freedom, for implicit steps."""
        if self.mode == SIGNAL:
            return joint_impedance(tree, self._driven(tree, t, q, v))
        joints = self.motors(tree)
        count = sum(joint.nv for joint in joints)
        strength = gains(self.strength, count, "strength")
        kp: list[Any] = gains(self.kp, count, "kp") if self.mode == "position" else [0.0] * count
        kd: list[Any] = gains(self.kd, count, "kd") if self.mode != "torque" else [0.0] * count
        stiff, damped = ([s * k for s, k in zip(strength, some, strict=True)] for some in (kp, kd))
        return spread(tree, joints, stiff), spread(tree, joints, damped), []
