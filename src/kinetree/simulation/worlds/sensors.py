"""Sensors of a robot, over any scalar, read in machine code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...algorithms import kinematics
from ...errors import OptionError, UnknownNameError, explain_public
from ...model.tree import Model
from ...spatial import Scalar, Vec3, where
from ...spatial.numbers import real_number
from .instant import Moment

__all__ = [
    "Accelerometer", "Collision", "ContactForce", "Gyroscope", "HeightScan", "JointTorque", "Sensor", "TouchSensor",
]  # fmt: skip


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
class ContactForce(Sensor):
    """Total contact force on a shape, a body, a frame or a robot of a scene, along the world's axes, in newtons.

    With ``other``, only that of contacts with this other one.
    """

    name: str
    other: str | None = None

    def names(self, tree: Model) -> list[str]:
        """Return names of the three numbers."""
        return _along(_between(self.name, self.other), "force")

    def read(self, moment: Moment) -> list[Scalar]:
        """Return the force."""
        return [*moment.contact_force(self.name, self.other)]


@dataclass(frozen=True)
class Collision(Sensor):
    """One while a shape, a body, a frame or a robot of a scene touches anything, or another one; otherwise zero."""

    name: str
    other: str | None = None

    def names(self, tree: Model) -> list[str]:
        """Return the name of the number."""
        return [f"{_between(self.name, self.other)}.touches"]

    def read(self, moment: Moment) -> list[Scalar]:
        """Return one or zero."""
        return [where(moment.touches(self.name, self.other), 1.0, 0.0)]


@dataclass(frozen=True)
class HeightScan(Sensor):
    """Heights of the ground at points around a frame, above its origin, in meters; see :meth:`Moment.height_scan`.

    Parameters
    ----------
    frame : str
    points : sequence of (x, y)
        Such as those of :meth:`grid`.
    reach : float
        The largest height, up or down.
    """

    frame: str
    points: Sequence[Sequence[float]]
    reach: float = 2.0

    @classmethod
    def grid(
        cls, frame: str, size: Sequence[float] = (1.6, 1.0), spacing: float = 0.1, reach: float = 2.0
    ) -> HeightScan:
        """Return a scan of a rectangle around a frame, point by point along x, line by line along y."""
        counts = [round(real_number(edge, "the size of a height scan") / spacing) + 1 for edge in size]
        (x, y) = (np.linspace(-0.5 * edge, 0.5 * edge, n) for edge, n in zip(size, counts, strict=True))
        return cls(frame, tuple((float(a), float(b)) for b in y for a in x), reach)

    def names(self, tree: Model) -> list[str]:
        """Return a name for each point."""
        tree.frame(self.frame)
        return [f"{self.frame}.height[{k}]" for k in range(len(self.points))]

    def read(self, moment: Moment) -> list[Scalar]:
        """Return the heights."""
        return moment.height_scan(self.frame, self.points, self.reach)


def _between(name: str, other: str | None) -> str:
    return name if other is None else f"{name}-{other}"


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
            known = [name for name in __all__ if name != "Sensor"]
            raise UnknownNameError("sensor", sensor, known)
        found += sensor.names(tree)
    return found


__dir__ = explain_public(__name__)
