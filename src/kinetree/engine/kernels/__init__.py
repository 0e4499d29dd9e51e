"""Traced functions of arrays, whose machine code is made when they are first called."""

from ..trace import Traced, trace
from .kernel import Kernel

__all__ = ["Kernel", "Traced", "trace"]
