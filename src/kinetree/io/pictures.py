"""Pictures: made without a screen, and written wholly or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import OptionError
from .atomic_files import beside
from .paths import as_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(size: tuple[float, float]) -> Figure:
    """Return an empty figure of a size in inches; say how to get matplotlib where it is missing."""
    try:
        from matplotlib.figure import Figure  # only who draws needs it
    except ImportError:
        raise OptionError("pictures need the package matplotlib: pip install 'kinetree[plot]'") from None
    return Figure(figsize=size, layout="constrained")


def save_figure(figure: Figure, path: str | os.PathLike[str] | None) -> None:
    """Write a picture where a place is given, in the format that its ending says."""
    if path is None:
        return
    place = as_path(path, "a picture")
    known = figure.canvas.get_supported_filetypes()
    if place.suffix.lower().lstrip(".") not in known:
        endings = ", ".join(f".{ending}" for ending in known)
        raise OptionError(f"pictures are written as {endings}, not {place.suffix or 'without ending'!r}: {place}")
    with beside(place) as other:
        figure.savefig(other)
