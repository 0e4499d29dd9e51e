"""The viewer: ``kt.view("four-bar")`` shows a robot in the browser.

The module can be called: ``kt.view(robot, motion)`` is :func:`kinetree.view.view`, which shows a robot
and returns; :func:`kinetree.view.play` shows it until the user presses Ctrl-C, or draws it to a file.
The viewer itself is in a package above kinetree, ``kinetree_studio``.
"""

import sys
from types import ModuleType
from typing import Any

from ..lazy_names import LazyNames

_NAMES = LazyNames(__name__)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir


class _Callable(ModuleType):
    """A module that is also a function, so that ``kt.view`` is both."""

    def __call__(self, robot: Any, motion: Any = None, **options: Any) -> Any:
        """Show a robot; see :func:`view`."""
        return self.view(robot, motion, **options)


sys.modules[__name__].__class__ = _Callable
