"""SYMORO files (``.par``): Khalil's geometric parameters, inertias about the origins of frames, symbols."""

from __future__ import annotations

from .reader import read
from .writer import geometric_table, write

__all__ = ["geometric_table", "read", "write"]
