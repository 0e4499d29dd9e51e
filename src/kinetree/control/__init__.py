"""Controllers: laws for the motor forces, over any scalar and compiled with the robot that they drive."""

from ..lazy_names import LazyNames

_NAMES = LazyNames(__name__)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
