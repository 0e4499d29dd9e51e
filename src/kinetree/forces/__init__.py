"""Force elements: what pushes on a robot beside its controller and the ground.

``kt.simulate(robot, ..., forces=[...])``.  Each is a few lines over any scalar, compiled with the robot; see
:mod:`kinetree.forces.element` for how to write another.
"""

from typing import TYPE_CHECKING

from ..lazy_names import LazyNames

if TYPE_CHECKING:
    from ..algorithms.acting import ActingElement as ActingElement
    from ..contact.stops import JointStops as JointStops
    from .characteristics import Characteristic as Characteristic
    from .element import ForceElement as ForceElement
    from .element import Surroundings as Surroundings
    from .fields import Drag as Drag
    from .fields import GravityField as GravityField
    from .from_yaml import load as load
    from .motors import Motor as Motor
    from .pushes import JointPush as JointPush
    from .pushes import OwnForce as OwnForce
    from .pushes import PointForce as PointForce
    from .pushes import Push as Push
    from .springs import Bushing as Bushing
    from .springs import JointSpring as JointSpring
    from .springs import PointSpring as PointSpring

_NAMES = LazyNames(
    __name__,
    {
        "..algorithms.acting": ("ActingElement",),
        "..contact.stops": ("JointStops",),
        ".characteristics": ("Characteristic",),
        ".element": ("ForceElement", "Surroundings"),
        ".fields": ("Drag", "GravityField"),
        ".from_yaml": ("load",),
        ".motors": ("Motor",),
        ".pushes": ("JointPush", "OwnForce", "PointForce", "Push"),
        ".springs": ("Bushing", "JointSpring", "PointSpring"),
    },
)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
