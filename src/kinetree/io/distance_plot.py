"""A picture of distances along a motion: the smallest one as a curve, each pair as a colored row."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from .pictures import drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PAIRS = 16
"""The most pairs that are drawn, the nearest ones first."""

FARTHEST_SHOWN = 5.0
"""Colors go up to this many times the median of the rows' smallest distances."""


def plot_distances(
    names: Sequence[str], distances: np.ndarray, time: np.ndarray | None, wanted: float,
    path: str | os.PathLike[str] | None,
) -> Figure:  # fmt: skip
    """Draw distances (samples, pairs) over time, or over the samples' numbers."""
    if distances.ndim != 2 or not distances.shape[1]:
        raise OptionError(f"distances of one motion are drawn, (samples, pairs), not of shape {distances.shape}")
    across = np.arange(len(distances), dtype=float) if time is None else np.asarray(time, dtype=float)
    if across.shape != (len(distances),):
        raise OptionError(f"time must have one entry for each of {len(distances)} samples, not shape {across.shape}")
    least = np.nanmin(distances, axis=0)
    order = np.argsort(least)[:MOST_PAIRS]
    scale = 1e3 * max(FARTHEST_SHOWN * float(np.median(np.abs(least[order]))), abs(wanted), 1e-3)
    with drawing((9.0, 3.4 + 0.25 * len(order)), path) as figure:
        curve, rows = figure.subplots(2, 1, sharex=True, height_ratios=(2.0, 0.6 + 0.25 * len(order)))
        smallest = 1e3 * distances.min(axis=1)
        curve.plot(across, smallest, color="C0")
        curve.fill_between(across, smallest, 1e3 * wanted, where=smallest < 1e3 * wanted, color="C3", alpha=0.5)
        curve.axhline(1e3 * wanted, color="0.5", linewidth=0.8)
        curve.set_ylabel("smallest [mm]")
        shown: Any = rows.pcolormesh(
            across, np.arange(len(order)), 1e3 * (distances[:, order].T - wanted), cmap="RdYlGn", vmin=-scale,
            vmax=scale, shading="nearest",
        )  # fmt: skip
        rows.set_yticks(np.arange(len(order)), [names[k] for k in order], fontsize=8)
        rows.invert_yaxis()
        rows.set_xlabel("sample" if time is None else "time [s]")
        figure.colorbar(shown, ax=[curve, rows], label="distance [mm]" if not wanted else "beyond what is wanted [mm]")
    return figure
