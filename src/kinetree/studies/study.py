"""Studies: a system of the sources, its analyses, and what the source states about the results.

An *analysis* is a plain function ``f(quick) -> Outcome``.  A *study* has a name and some
analyses; running it gives a *result*, which can be shown and written to files.

Examples
--------
>>> import kinetree as kt
>>> result = kt.gallery.study("four-bar").run(["inverse"], quick=True)
>>> result.faults
[]
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import OptionError, refuse_unknown
from ..io.interrupts import interrupts_passed_on
from ..io.paths import as_path
from . import report
from .facts import Fact
from .named_systems import about, model_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table as RichTable

    from ..io.units import ShownUnits
    from ..simulation.records.record import Record

Table = Mapping[str, Any]
"""Columns of equal length by name (with the unit in brackets)."""

Drawing = Callable[["Figure"], None]
"""A function that draws on an empty figure; its attribute ``caption``, if any, is printed below."""


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class Outcome:
    """The result of one analysis.

    Attributes
    ----------
    facts : sequence of Fact
    tables : mapping from str to Table
        Numbers to be written as CSV and Parquet.
    records : mapping from str to Record
        Simulated motions, written in the same way.
    figures : mapping from str to Drawing
        Functions that draw, called only when needed.
    remarks : sequence of str
        Remarks for the reader, one paragraph each.
    units : ShownUnits or None
        Units of written records, instead of SI.
    """

    facts: Sequence[Fact] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    records: Mapping[str, Record] = field(default_factory=dict)
    figures: Mapping[str, Drawing] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    units: ShownUnits | None = None

    def __repr__(self) -> str:
        parts = {"tables": self.tables, "records": self.records, "figures": self.figures}
        held = [f"{word} {', '.join(names)}" for word, names in parts.items() if names]
        return f"<Outcome: {'; '.join([_count(len(self.facts), 'fact'), *held])}>"


Analysis = Callable[[bool], Outcome]
"""``f(quick)``: with ``quick``, there are fewer samples or less simulated time, but all facts."""


@dataclass(frozen=True)
class Study:
    """A system and its analyses.

    Attributes
    ----------
    name, title, source : str
    analyses : mapping from str to Analysis
        Analyses in the order in which they run.
    assumptions : sequence of str
        What the source leaves open, what was assumed, and why.
    system : str or None
        Name of its system in the gallery, whose model is written with the results.
    """

    name: str
    title: str
    source: str
    analyses: Mapping[str, Analysis]
    assumptions: Sequence[str] = ()
    system: str | None = None

    def __repr__(self) -> str:
        return f"<Study {self.name!r}: {self.title}; analyses {', '.join(self.analyses)}>"

    @classmethod
    def of(cls, system: str, analyses: Mapping[str, Analysis]) -> Study:
        """Return the study of a system of the gallery, with its title, source and assumptions."""
        known = about(system)
        return cls(system, known.title, known.source, analyses, known.assumed, system)

    def model_text(self) -> str | None:
        """Return the model file, if the study is about one system."""
        return None if self.system is None else model_text(self.system)

    def run(
        self, analyses: Iterable[str] | str | None = None, quick: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> Result:  # fmt: skip
        """Run some analyses, or all.

        Parameters
        ----------
        analyses : str or iterable of str, optional
            Analyses to run; all by default.
        quick : bool
            Whether to use fewer samples or less simulated time, to get results sooner.
        tell : callable, optional
            Called with the name of each analysis before it starts, for progress bars.

        Returns
        -------
        Result
        """
        wanted = [analyses] if isinstance(analyses, str) else list(self.analyses if analyses is None else analyses)
        for name in wanted:
            refuse_unknown(f"analysis of {self.name!r}", name, self.analyses)
        if not wanted:
            raise OptionError(f"no analysis was chosen: {self.name!r} has {', '.join(self.analyses)}")
        outcomes, seconds = {}, {}
        for name in dict.fromkeys(wanted):
            if tell is not None:
                tell(name)
            begin = time.perf_counter()
            with interrupts_passed_on():
                outcomes[name] = self.analyses[name](quick)
            seconds[name] = time.perf_counter() - begin
        return Result(self, outcomes, seconds, quick)


@dataclass(frozen=True)
class Result:
    """The result of a study.

    Attributes
    ----------
    study : Study
    outcomes : mapping from str to Outcome
        Outcomes by analysis.
    seconds : mapping from str to float
        Duration of each analysis.
    quick : bool
    """

    study: Study
    outcomes: Mapping[str, Outcome]
    seconds: Mapping[str, float]
    quick: bool = False

    def __repr__(self) -> str:
        held = sum(bool(fact.holds) for fact in self.facts)
        parts = ", ".join(self.outcomes)
        return (
            f"<Result of {self.study.name!r}: {_count(len(self.facts), 'fact')}, {held} of them hold; analyses {parts}>"
        )

    def __str__(self) -> str:
        lines = [f"{self.study.name}: {self.study.title}"]
        for name, outcome in self.outcomes.items():
            lines += [f"{name} ({self.seconds[name]:.1f} s)", *(f"  {fact}" for fact in outcome.facts)]
        return "\n".join([*lines, f"plots, tables and the model: result.write({self.study.name!r})"])

    @property
    def facts(self) -> list[Fact]:
        """Facts of all analyses."""
        return [fact for outcome in self.outcomes.values() for fact in outcome.facts]

    @property
    def faults(self) -> list[Fact]:
        """Facts that do not hold and are not explained: kinetree's mistakes."""
        return [fact for fact in self.facts if not fact.known]

    @property
    def exceptions(self) -> list[Fact]:
        """Facts that do not hold, for a known reason."""
        return [fact for fact in self.facts if not fact.holds and fact.known]

    def table(self) -> RichTable:
        """Return the facts with stated and measured values, for a terminal."""
        return report.terminal_table(self)

    def as_dict(self) -> dict[str, Any]:
        """Return the summary for JSON."""
        return report.summary(self)

    def markdown(self) -> str:
        """Return the summary as a self-contained page; pictures have the names that :meth:`write` gives them."""
        return report.markdown(self)

    def write(self, folder: str | os.PathLike[str], pictures: bool = True) -> Path:
        """Write everything into a folder: plots, data, summaries, the model.

        The folder is written under a temporary name and then renamed, so that it is never incomplete. An earlier result
        at this path is replaced; anything else is refused.

        Parameters
        ----------
        folder : path
        pictures : bool
            Whether to draw the figures, as PNG and SVG.

        Returns
        -------
        Path
            The folder.
        """
        return report.write(self, as_path(folder, "the folder of results"), pictures)
