"""Design of mechanisms: properties of linkages, cams, and the search for dimensions."""

from ..lazy_names import LazyNames

_NAMES = LazyNames(__name__)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
