"""The classes that users work with: a robot, with or without closed loops."""

from ..lazy_names import LazyNames
from .builder import Builder as Builder
from .make import make as make  # imported here, since a module has the same name
from .robot import Robot as Robot

_NAMES = LazyNames(__name__)
__all__, __getattr__ = _NAMES.all, _NAMES.get
