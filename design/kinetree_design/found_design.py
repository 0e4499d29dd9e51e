"""The result of a design search: the mechanism, what changed, which goals are met and which limits are active."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinetree.errors import OptionError
from kinetree.io.pictures import drawing
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array

from .pictures import before_and_after
from .pictures import front as front_picture
from .precision_points import Met, PrecisionPoints
from .problem import DesignProblem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AT_BOUND = 1e-6
"""Numbers closer to a bound than this fraction of their range are at the bound."""

CLOSE = 2e-3
"""Limits met to within this relative tolerance are active."""

ROUNDING = 1e-6
"""Limits violated by more than this relative tolerance are missed."""


class ChangedNumber(NamedTuple):
    """A free number before and after, in the unit of the drawing, with its bounds."""

    name: str
    before: float
    after: float
    unit: str
    low: float
    high: float
    at: str
    """``"low"`` or ``"high"`` if the number is at a bound, else empty."""


class GoalRow(NamedTuple):
    """A goal or limit with its values before and after the search, in SI."""

    label: str
    before: float
    after: float
    unit: str
    wanted: str
    """``"smaller"``, ``"larger"``, ``"at most"`` or ``"at least"``."""
    bound: float | None

    @property
    def is_met(self) -> bool:
        """Whether a limit holds."""
        if self.bound is None:
            return True
        slack = self._slack(self.bound, ROUNDING)
        return self.after <= self.bound + slack if self.wanted == "at most" else self.after >= self.bound - slack

    @property
    def is_active(self) -> bool:
        """Whether a limit is active."""
        return self.bound is not None and abs(self.after - self.bound) <= self._slack(self.bound, CLOSE)

    def _slack(self, bound: float, relative: float) -> float:
        return relative * abs(bound) if bound != 0.0 else 1e-6


@dataclass(frozen=True)
class FoundDesign:
    """The result of :func:`kinetree.design`.  Print it for a report.

    Attributes
    ----------
    unknowns : ndarray, shape (n,)
        The free numbers, in SI.
    goals : tuple of GoalRow
        Goals and limits, before and after.
    notes : tuple of str
        Further remarks: defects, numbers that nothing depends on.
    """

    of: DesignProblem = field(repr=False)
    unknowns: Array
    goals: tuple[GoalRow, ...]
    notes: tuple[str, ...]
    met: Met | None = field(default=None, repr=False)
    points: PrecisionPoints | None = field(default=None, repr=False)
    more: tuple[tuple[Met, str], ...] = field(default=(), repr=False)
    front: tuple[FoundDesign, ...] = field(default=(), repr=False)
    """Designs between the best for either of two goals, if ``pareto`` was given."""

    @cached_property
    def robot(self) -> Robot:
        """The mechanism found; a linkage is drawn at the first of the points that it meets, if possible."""
        return self.of.free.built(self.unknowns)

    @property
    def before(self) -> Robot:
        """The mechanism that the search began with."""
        return self.of.robot

    @property
    def numbers(self) -> dict[str, float]:
        """The free numbers by name, in SI."""
        return dict(zip(self.of.free.names, self.unknowns.tolist(), strict=True))

    @property
    def q(self) -> Array | None:
        """Configurations at the points to be met, (N, nq)."""
        return None if self.met is None else self.met.q

    @property
    def miss(self) -> Array | None:
        """Distance by which each point is missed, (N,), in meters."""
        return None if self.met is None else self.met.miss

    @property
    def solved(self) -> bool:
        """Whether all points are met, without defects, and all limits hold."""
        return not self.defect and all(row.is_met for row in self.goals) and not self._stops

    @property
    def defect(self) -> str:
        """What is wrong between the points, in words; empty if nothing is."""
        if self.met is None or self.points is None:
            return ""
        return self.points.defects(self.met[None])[0]

    @property
    def assemblies(self) -> tuple[tuple[int, ...], ...]:
        """The indices of the points met in the same assembly, group by group: one group if there is no defect."""
        if self.met is None or self.points is None:
            return ()
        return self.points.assemblies(self.met)

    @property
    def _stops(self) -> bool:
        return any(np.isnan(row.after) for row in self.goals)

    @property
    def others(self) -> tuple[FoundDesign, ...]:
        """Further designs that meet the same points; each reports its own defects."""
        made = []
        for met, wrong in self.more:
            note = (wrong,) if wrong else ()
            made.append(FoundDesign(self.of, met.u, (), note, met, self.points))
        return tuple(made)

    @property
    def table(self) -> tuple[ChangedNumber, ...]:
        """What changed: every free number, before and after."""
        free, rows = self.of.free, []
        for k, (name, unit) in enumerate(zip(free.names, free.units, strict=True)):
            four = [free.start[k], self.unknowns[k], free.low[k], free.high[k]]
            (before, word), (after, _), (low, _), (high, _) = (free.shown(float(x), unit) for x in four)
            span = free.high[k] - free.low[k]
            at = (
                "low"
                if four[1] - four[2] <= AT_BOUND * span
                else "high"
                if four[3] - four[1] <= AT_BOUND * span
                else ""
            )
            rows.append(ChangedNumber(name, before, after, word, low, high, at))
        return tuple(rows)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The same as columns of a table for files."""
        heads = {"name": "number", "at": "at_bound"}
        return {heads.get(key, key): [getattr(one, key) for one in self.table] for key in ChangedNumber._fields}

    @property
    def front_columns(self) -> dict[str, list[float]]:
        """The front as columns of a table, in SI: both goals, then the free numbers."""
        found: dict[str, list[float]] = {}
        for k, row in enumerate(self.front[0].goals[:2] if self.front else ()):
            found[f"{row.label} [{row.unit}]" if row.unit else row.label] = [one.goals[k].after for one in self.front]
        for name, unit in zip(self.of.free.names, self.of.free.units, strict=True):
            found[f"{name} [{unit}]" if unit else name] = [one.numbers[name] for one in self.front]
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mechanism as a file, as :meth:`kinetree.Robot.save` does."""
        self.robot.save(path)

    # ---------------------------------------------------------------- words

    def __str__(self) -> str:
        free = self.of.free
        title = f"design of {self.before.name}: " + ("all that was asked is met" if self.solved else "not all is met")
        stopped = any(note.startswith("interrupted") for note in self.notes)
        lines = [title + (", by the best so far when it was interrupted" if stopped else ""), ""]
        for row in self.goals:
            lines.append(f"  {self._said(row)}")
        lines += ["", f"  {'number':24}{'before':>12}{'after':>12}"]
        for one in self.table:
            at = f"   at its {'lower' if one.at == 'low' else 'upper'} bound" if one.at else ""
            lines.append(f"  {one.name:24}{one.before:12.6g}{one.after:12.6g} {one.unit}{at}")
        active = [
            f"{row.label} {f'{row.wanted} ' if row.bound else ''}{_shown(free, row.bound, row.unit)}"
            for row in self.goals if row.is_active
        ]  # fmt: skip
        active += [f"{one.name} at its {one.at} bound" for one in self.table if one.at]
        if active:
            lines += ["", f"  active: {'; '.join(active)}"]
        lines += [f"  note: {note}" for note in self.notes]
        if self.more:
            good = sum(not wrong for _, wrong in self.more)
            lines.append(
                f"  {len(self.more)} other designs meet the points, {good} of them without defects: see .others"
            )
        return "\n".join(lines)

    def _said(self, row: GoalRow) -> str:
        free = self.of.free
        after = _shown(free, row.after, row.unit)
        if np.isnan(row.after):
            limit = "" if not row.bound else f", wanted {row.wanted} {_shown(free, row.bound, row.unit)}"
            return f"{row.label}: unknown, since no design was found that follows the whole motion{limit}"
        if row.bound is None:
            share = (
                f" ({(row.after - row.before) / abs(row.before):+.1%})"
                if np.isfinite(row.before) and row.before
                else ""
            )
            before = f"before {_shown(free, row.before, row.unit)}{share}"
            return f"{row.label}: {after}, {before if np.isfinite(row.before) else 'before it could not move so'}"
        if row.bound == 0.0:
            return f"{row.label} {after}"
        wanted = f"{row.label}: {after}, wanted {row.wanted} {_shown(free, row.bound, row.unit)}"
        return wanted if row.is_met else f"{wanted}: MISSED by {_shown(free, abs(row.after - row.bound), row.unit)}"

    # ---------------------------------------------------------------- pictures

    def plot(self, file: str | os.PathLike[str] | None = None, path: str | Sequence[str] = ()) -> Figure:
        """Draw the mechanism before and after, with paths of points and the points to be met."""
        with drawing((9.0, 4.2), file) as figure:
            before_and_after(figure, self, [path] if isinstance(path, str) else list(path))
        return figure

    def plot_front(self, file: str | os.PathLike[str] | None = None) -> Figure:
        """Plot the two goals of all designs of :attr:`front` against each other."""
        if not self.front:
            raise OptionError("there is no front: ask for one with two goals, kt.design(..., pareto=10)")
        with drawing((6.0, 4.2), file) as figure:
            front_picture(figure, self.front)
        return figure


def _shown(free: Any, value: float | None, unit: str) -> str:
    number, word = free.shown(float(value if value is not None else np.nan), unit)
    return f"{number:.6g} {word}".strip()
