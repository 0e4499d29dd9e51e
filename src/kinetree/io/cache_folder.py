"""The folder in which results are kept that take long to compute and can be computed again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder(name: str) -> Path | None:
    """Return a folder of this name in the user's cache, or in ``KINETREE_CACHE``; None if that is off or impossible."""
    chosen = os.environ.get("KINETREE_CACHE")
    try:
        if chosen is not None:
            if chosen.strip().lower() in ("", "0", "off", "none"):
                return None
            folder = Path(chosen).expanduser()
        elif sys.platform == "darwin":
            folder = Path.home() / "Library" / "Caches" / "kinetree"
        elif os.name == "nt":
            folder = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "kinetree" / "cache"
        else:
            folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kinetree"
        (folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):  # a disk that cannot be written to; a user without a home
        return None
    return folder / name
