"""Packages that depend on kinetree and are above it: ``kinetree_books``, ``kinetree_studio``, ``kinetree_learning``.

Nothing here imports them; kinetree finds their modules by name.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def module_above(name: str) -> Any:
    """Return a module of such a package, such as ``kinetree_studio.view.browser``."""
    return import_module(name)
