"""Optimal motions: costs, limits, and the search for the best motion of a robot, or of thousands at once.

The search itself is in a package above kinetree, ``kinetree_optimize``.

The module can be called: ``kt.optimize(robot, horizon=..., costs=...)`` is :func:`kinetree.optimize.optimize`.
"""

import sys
from types import ModuleType
from typing import Any

from ..lazy_names import LazyNames

_NAMES = LazyNames(__name__)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir


class OptimizeModule(ModuleType):
    """A module that can be called, so that ``kt.optimize`` is both a module and a function."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """See :func:`optimize`."""
        return self.optimize(*args, **options)


sys.modules[__name__].__class__ = OptimizeModule
