"""Controllers: what the motors do at every moment, each a law over any scalar, compiled with the robot it drives."""

from ..lazy_names import LazyNames

_NAMES = LazyNames(__name__)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
