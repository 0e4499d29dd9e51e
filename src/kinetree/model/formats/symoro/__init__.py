"""Files of SYMORO (``.par``): Khalil's geometric parameters, inertias about the origins of frames, symbols."""

from __future__ import annotations

from .reader import read
from .writer import write

__all__ = ["read", "write"]
