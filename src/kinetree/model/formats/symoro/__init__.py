"""SYMORO files (``.par``): Khalil's geometric parameters, inertias about the origins of frames, symbols."""

from __future__ import annotations

from .reader import read
from .values_file import symbol_values
from .writer import geometric_table, write

__all__ = ["geometric_table", "read", "symbol_values", "write"]
