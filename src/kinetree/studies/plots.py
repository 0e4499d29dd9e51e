"""The gallery's plots: curves in panels or two by two, bars; in one width, with units on every axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..io.plot_style import COLORS, legend_beside, line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 5.8
"""Width of every picture in inches: still legible at the 3.5 inches of a printed column."""


class Curve(NamedTuple):
    """A line: its name, its values, and whether they are stated values, which are drawn as open circles.

    Names that begin with an underscore are left out of the legend.  A line that is to be compared with the previous one
    is drawn dashed in the same color.
    """

    name: str
    y: ArrayLike
    x: ArrayLike | None = None
    stated: bool = False
    compared: bool = False


@dataclass(frozen=True)
class PlotPanel:
    """One set of axes."""

    label: str
    """Label of the vertical axis, with the unit: ``"torque [N m]"``."""
    curves: Sequence[Curve]
    log: bool = False
    """Whether the vertical axis is logarithmic, for residuals."""


@dataclass(frozen=True)
class Curves:
    """A drawing of curves over a common horizontal axis, panels below one another."""

    x: ArrayLike
    """Horizontal values of all curves without their own."""
    panels: Sequence[PlotPanel]
    caption: str = ""
    """What the picture shows."""
    x_label: str = "time [s]"
    log_x: bool = False
    equal: bool = False
    """Whether both axes have the same scale, for paths in the plane."""

    def __call__(self, figure: Figure) -> None:
        """Draw."""
        axes = rows(figure, len(self.panels), share_x=True)
        for axis, panel in zip(axes, self.panels, strict=True):
            lines = [curve for curve in panel.curves if not curve.stated]
            for curve in panel.curves:
                self._draw(axis, 0 if curve.stated else _place(lines, curve), curve)
            if panel.log:
                logarithmic(axis)
            if self.log_x:
                axis.set_xscale("log")
            if self.equal:
                axis.set_aspect("equal", adjustable="datalim")
            axis.set_ylabel(panel.label)
        axes[-1].set_xlabel(self.x_label)
        legends(figure, axes)

    def _draw(self, axis: Axes, k: int, curve: Curve) -> None:
        x, y = np.asarray(self.x if curve.x is None else curve.x), np.asarray(curve.y, dtype=float)
        if curve.stated:
            axis.plot(x, y, "o", label=curve.name, markersize=5.0, markerfacecolor="white", color="#22272c", zorder=5)
        else:
            own = line(k - 1) | {"linestyle": "--"} if curve.compared else line(k)
            axis.plot(x, y, label=curve.name, **own)


def _place(curves: Sequence[Curve], curve: Curve) -> int:
    return next(k for k, other in enumerate(curves) if other is curve)


def rows(figure: Figure, count: int, share_x: bool = False, height: float = 2.1) -> list[Axes]:
    """Make axes below one another, in the common width."""
    figure.set_size_inches(WIDTH, height * count + 0.55)
    axes: Any = figure.subplots(count, 1, sharex=share_x, squeeze=False)[:, 0]
    return list(axes)


SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def logarithmic(axis: Axes) -> None:
    """Make the vertical axis logarithmic, its labels plain text, which is drawn much faster than formulas."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(numticks=7))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.yaxis.set_major_formatter(FuncFormatter(_power))


def _power(x: float, _: object) -> str:
    exponent = round(float(np.log10(x)))
    return str(round(x)) if 0 <= exponent <= 3 else "10" + str(exponent).translate(SUPERSCRIPTS)


MOST_BESIDE = 8
"""The most names to the right of a drawing; if there are more, they are below it in a larger picture."""


def legends(figure: Figure, axes: Sequence[Axes]) -> None:
    """Put legends where they hide nothing; a single name that the axis already shows needs none."""
    counts = [len(axis.get_legend_handles_labels()[1]) for axis in axes]
    if len(axes) == 1 and counts[0] > MOST_BESIDE:
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + 0.2 * -(-counts[0] // 3))
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        return
    for axis, count in zip(axes, counts, strict=True):
        if count > 1:
            legend_beside(axis)


@dataclass(frozen=True)
class PlotGrid:
    """Four drawings of curves two by two, with one legend below: the sources' figures (a) to (d)."""

    titles: Sequence[str]
    """One per drawing."""
    curves: Sequence[Sequence[Curve]]
    """One sequence per drawing; all have the same names in the same order."""
    x_label: str
    y_label: str
    caption: str = ""
    highest: float | None = None
    """Upper end of the vertical axes."""

    def __call__(self, figure: Figure) -> None:
        """Draw."""
        names = [curve.name for curve in self.curves[0]]
        figure.set_size_inches(WIDTH, 5.0 + 0.2 * -(-len(names) // 2))
        axes: Any = figure.subplots(2, 2, sharex=True, sharey=True)
        for axis, title, curves in zip(axes.flat, self.titles, self.curves, strict=True):
            lines = [self._draw(axis, k, curve) for k, curve in enumerate(curves)]
            axis.set_title(title)
        if self.highest is not None:
            axes[0, 0].set_ylim(0.0, self.highest)
        for axis in axes[-1]:
            axis.set_xlabel(self.x_label)
        for axis in axes[:, 0]:
            axis.set_ylabel(self.y_label)
        figure.legend(lines, names, loc="outside lower center", ncols=2)

    def _draw(self, axis: Axes, k: int, curve: Curve) -> Any:
        x, y = np.asarray(curve.x, dtype=float), np.asarray(curve.y, dtype=float)
        if curve.stated:
            return axis.plot(x, y, "o", markersize=4.5, markerfacecolor="white", color="#22272c", zorder=5)[0]
        return axis.plot(x, y, **line(k))[0]


@dataclass(frozen=True)
class Bars:
    """Bars in groups, each with its number above."""

    groups: Sequence[str]
    """Names below the groups; may have line breaks."""
    series: Mapping[str, Sequence[float]]
    """Values of each series, one per group; NaN leaves a bar out."""
    y_label: str
    caption: str = ""

    def __call__(self, figure: Figure) -> None:
        """Draw."""
        axis = rows(figure, 1, height=2.6)[0]
        width = 0.8 / len(self.series)
        for k, (name, values) in enumerate(self.series.items()):
            heights = np.nan_to_num(np.asarray(values, dtype=float))
            places = np.arange(len(self.groups)) + (k + 0.5) * width - 0.4
            bars = axis.bar(places, heights, 0.92 * width, label=name, color=COLORS[k])
            axis.bar_label(bars, [f"{y:g}" if y else "" for y in heights], fontsize=7.5, padding=1.5)
        axis.set_xticks(range(len(self.groups)), self.groups)
        axis.grid(False, axis="x")
        axis.set_ylabel(self.y_label)
        figure.legend(loc="outside lower center", ncols=len(self.series))
