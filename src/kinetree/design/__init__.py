"""Design of mechanisms: properties of linkages, cams, and the search for dimensions.

They are in a package above kinetree, ``kinetree_design``.

The module can be called: ``kt.design(mechanism, free=..., wanted=...)`` is :func:`kinetree.design.design`.
"""

import sys
from types import ModuleType
from typing import Any

from ..lazy_names import LazyNames

_NAMES = LazyNames(__name__)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir


class DesignModule(ModuleType):
    """A module that can be called, so that ``kt.design`` is both a module and a function."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """See :func:`design`."""
        return self.design(*args, **options)


sys.modules[__name__].__class__ = DesignModule
