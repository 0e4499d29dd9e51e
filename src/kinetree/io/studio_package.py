"""The location of the viewer and the studio: a package that depends on kinetree.

Nothing here imports it; this module only contains its name.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

STUDIO = "kinetree_studio"
"""The package of the viewer; ``kinetree.view`` is where users find it."""


def of_studio(name: str) -> Any:
    """Return a module of the package, such as ``view.browser``."""
    return import_module(f"{STUDIO}.{name}")
