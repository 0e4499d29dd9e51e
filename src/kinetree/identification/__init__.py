"""Identification: from measured motions to the parameters of a robot, and their uncertainty."""

from ..lazy_names import LazyNames

_OF_KINETREE = ("Identified", "Measured", "exciting_motion", "identify")
_NAMES = LazyNames(__name__, former={name: f"kinetree.{name}" for name in _OF_KINETREE})

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
