"""Pictures: drawn without a screen in one style, and written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import OptionError
from .atomic_files import beside
from .paths import as_path
from .plot_style import RC

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@contextmanager
def drawing(size: tuple[float, float], path: str | os.PathLike[str] | None) -> Iterator[Figure]:
    """Yield an empty figure of a size in inches, and write it at the end if a path is given.

    The extension of the path determines the format.  If matplotlib is missing, the error says how to install it.
    """
    try:
        import matplotlib  # needed only for drawing
        from matplotlib.figure import Figure  # needed only for drawing
    except ImportError:
        raise OptionError("pictures need the package matplotlib: pip install 'kinetree[plot]'") from None
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=size, layout="constrained")
        yield figure
        if path is None:
            return
        place = as_path(path, "a picture")
        known = figure.canvas.get_supported_filetypes()
        if place.suffix.lower().lstrip(".") not in known:
            endings = ", ".join(f".{ending}" for ending in known)
            raise OptionError(f"pictures are written as {endings}, not {place.suffix or 'without ending'!r}: {place}")
        with beside(place) as other:
            figure.savefig(other)
