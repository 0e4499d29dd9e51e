"""The style of all pictures: one set of colors, units on the axes, legends next to the curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = ("#1f5fa8", "#d1495b", "#2a9d6f", "#e9a23b", "#7b4ea3", "#4aa8c0", "#8a5a44", "#5c6670")
"""Colors that people with red-green color blindness can distinguish, even when printed in gray."""

DASHES: tuple[Any, ...] = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
"""Dash patterns, which change once all colors have been used."""

RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10.0,
    "axes.edgecolor": "#5c6670",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.xmargin": 0.02,
    "axes.formatter.limits": (-3, 4),
    "grid.color": "#dfe3e8",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.7,
    "lines.solid_capstyle": "round",
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "xtick.color": "#3c444c",
    "ytick.color": "#3c444c",
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "legend.handlelength": 1.9,
    "figure.facecolor": "white",
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    "svg.hashsalt": "kinetree",
}

MOST_IN_LEGEND = 120
"""The most names in one legend; a drawing with more curves has no legend."""

MOST_IN_COLUMN = 14
"""The most names in a column, as long as three columns suffice."""

LINE_OF_LEGEND = 0.175
"""Inches per name."""


def line(k: int) -> dict[str, Any]:
    """Return color and dashes of the k-th line."""
    return {"color": COLORS[k % len(COLORS)], "linestyle": DASHES[k // len(COLORS) % len(DASHES)]}


def columns_of_legend(names: int) -> int:
    """Return the number of columns of a legend."""
    return min(3, -(-names // MOST_IN_COLUMN))


def height_beside(names: int, least: float) -> float:
    """Return the height in inches of a drawing with that many names in its legend."""
    shown = names if names <= MOST_IN_LEGEND else 0
    return max(least, 0.3 + LINE_OF_LEGEND * -(-shown // max(1, columns_of_legend(shown))))


def legend_beside(axis: Axes) -> None:
    """Put the legend to the right of a drawing, where it hides no curve."""
    names = len(axis.get_legend_handles_labels()[1])
    if 0 < names <= MOST_IN_LEGEND:
        axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), ncols=columns_of_legend(names))


ROUNDING = 1e-9
"""Fraction of the largest value below which a curve counts as zero."""


def keep_zero_flat(axis: Axes, beside: Sequence[np.ndarray]) -> None:
    """Draw a curve as zero if it is zero up to rounding, compared with curves of the same kind in other panels."""
    largest = max((float(np.nanmax(np.abs(x), initial=0.0)) for x in beside), default=0.0)
    curves = [np.asarray(curve.get_ydata(), dtype=float) for curve in axis.lines]
    own = max((float(np.nanmax(np.abs(x), initial=0.0)) for x in curves), default=0.0)
    if np.isfinite(largest) and own < ROUNDING * largest:
        axis.set_ylim(-ROUNDING * largest, ROUNDING * largest)
