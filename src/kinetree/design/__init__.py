"""Dimensions of mechanisms: what a linkage designer asks, cams, and the search for numbers that do what is wanted."""

from ..lazy_names import LazyNames

_NAMES = LazyNames(__name__)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
