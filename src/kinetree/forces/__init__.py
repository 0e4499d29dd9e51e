"""Force elements: what pushes on a robot beside its controller and the ground.

``kt.simulate(robot, ..., forces=[...])``.  Each is a few lines over any scalar, compiled with the robot; see
:mod:`kinetree.forces.element` for how to write another.
"""

from ..contact.stops import JointStops
from .characteristics import Characteristic
from .element import ForceElement, Surroundings
from .fields import Drag, GravityField
from .from_yaml import load
from .motors import Motor
from .pushes import JointPush, OwnForce, PointForce, Push
from .springs import Bushing, JointSpring, PointSpring

__all__ = [
    "Bushing", "Characteristic", "Drag", "ForceElement", "GravityField", "JointPush", "JointSpring", "JointStops",
    "Motor", "OwnForce", "PointForce", "PointSpring", "Push", "Surroundings", "load",
]  # fmt: skip
