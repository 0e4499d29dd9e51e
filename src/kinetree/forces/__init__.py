"""Force elements: what acts on a robot besides its controller and the ground.

``kt.simulate(robot, ..., forces=[...])``.  Each is a few lines over any scalar, compiled with the robot; see
:mod:`kinetree.forces.element` for how to write another.
"""

from ..lazy_names import LazyNames

_NAMES = LazyNames(__name__)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
