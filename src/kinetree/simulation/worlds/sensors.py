"""Sensors of a robot, over any scalar, read in machine code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...algorithms import kinematics
from ...errors import OptionError, UnknownNameError, explain_public
from ...model.tree import Model
from ...spatial import Scalar, Vec3
from .instant import Moment

__all__ = ["Accelerometer", "Gyroscope", "JointTorque", "Sensor", "TouchSensor"]


class Sensor:
    """A measurement: its numbers and their names."""

    def names(self, tree: Model) -> list[str]:
        """Return a name for each number; refuse frames or joints that the robot does not have."""
        raise NotImplementedError

    def read(self, moment: Moment) -> list[Scalar]:
        """Return the numbers."""
        raise NotImplementedError


def _along(frame: str, what: str) -> list[str]:
    return [f"{frame}.{what}_{axis}" for axis in "xyz"]


@dataclass(frozen=True)
class Gyroscope(Sensor):
    """Angular velocity of a frame along its own axes, rad/s."""

    frame: str

    def names(self, tree: Model) -> list[str]:
        """Return names of the three numbers."""
        tree.frame(self.frame)
        return _along(self.frame, "turn")

    def read(self, moment: Moment) -> list[Scalar]:
        """Return the angular velocity."""
        return [*moment.twist(self.frame)[0]]


@dataclass(frozen=True)
class Accelerometer(Sensor):
    """Acceleration of a frame's origin minus gravity, along its own axes, m/s^2: at rest it shows g upward."""

    frame: str

    def names(self, tree: Model) -> list[str]:
        """Return names of the three numbers."""
        tree.frame(self.frame)
        return _along(self.frame, "acceleration")

    def read(self, moment: Moment) -> list[Scalar]:
        """Return what a mass on a spring in the frame would measure."""
        tree = moment.tree
        velocity, spatial, pose = kinematics.frame_acceleration(
            tree, moment.q, moment.v, moment.accelerations, self.frame
        )
        proper = kinematics.classical(velocity, spatial).linear - pose.unrotate(Vec3(*tree.gravity))
        return [*proper]


@dataclass(frozen=True)
class TouchSensor(Sensor):
    """Sum of the ground's forces on the spots of a frame, along the world's axes, in newtons."""

    frame: str

    def names(self, tree: Model) -> list[str]:
        """Return names of the three numbers."""
        tree.frame(self.frame)
        return _along(self.frame, "touch")

    def read(self, moment: Moment) -> list[Scalar]:
        """Return the force."""
        spots = [spot.frame for spot in moment.system.spots]
        if self.frame not in spots:
            raise OptionError(f"nothing touches frame {self.frame!r}: those that can are {', '.join(spots) or 'none'}")
        total = Vec3(0.0, 0.0, 0.0)
        for name, force in zip(spots, moment.contact_forces, strict=True):
            if name == self.frame:
                total = total + force
        return [*total]


@dataclass(frozen=True)
class JointTorque(Sensor):
    """Force of a joint's motor, N m or N, one number per freedom."""

    joint: str

    def names(self, tree: Model) -> list[str]:
        """Return a name for each freedom."""
        joint = tree.joint(self.joint)
        several = joint.nv > 1
        return [f"{self.joint}.torque{f'[{k}]' if several else ''}" for k in range(joint.nv)]

    def read(self, moment: Moment) -> list[Scalar]:
        """Return the force."""
        return list(moment.forces[moment.tree.joint(self.joint).v_slice])


def check_sensors(tree: Model, sensors: Sequence[Sensor]) -> list[str]:
    """Return the names of all numbers that sensors give."""
    found: list[str] = []
    for sensor in sensors:
        if not isinstance(sensor, Sensor):
            known = [kind.__name__ for kind in (Accelerometer, Gyroscope, JointTorque, TouchSensor)]
            raise UnknownNameError("sensor", sensor, known)
        found += sensor.names(tree)
    return found


__dir__ = explain_public(__name__)
