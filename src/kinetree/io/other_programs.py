"""Where files of other programs are read and written: in a package of its own that stands above kinetree.

Nothing here imports it; this module knows its name.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

PROGRAMS = "kinetree_programs"

READERS = {".m": "redysim", ".par": "symoro", ".mat": "spatial_v2"}
"""Modules of the package that read robots, by the endings of files."""


def of_program(name: str) -> Any:
    """Return a module of the package, such as ``redysim`` or ``redysim.study``."""
    return import_module(f"{PROGRAMS}.{name}")
