"""What a user holds: a robot, with or without closed loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_names import LazyNames
from .builder import Builder
from .make import make
from .robot import Robot

if TYPE_CHECKING:
    from .mechanism import Mechanism

_NAMES = LazyNames(__name__, {".mechanism": ("Mechanism",)})
__getattr__ = _NAMES.get
__all__ = ["Builder", "Mechanism", "Robot", "make"]
