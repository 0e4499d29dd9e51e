"""The location of the code that reads and writes files of other programs: a package that depends on kinetree.

Nothing here imports it; this module only contains its name.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

PROGRAMS = "kinetree_programs"

READERS = {".m": "redysim", ".par": "symoro", ".mat": "spatial_v2"}
"""Modules of the package that read robots, keyed by file extension."""


def of_program(name: str) -> Any:
    """Return a module of the package, such as ``redysim`` or ``redysim.study``."""
    return import_module(f"{PROGRAMS}.{name}")
