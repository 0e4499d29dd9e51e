"""Studies: a system of the sources, what is computed on it, and what the source says about the answer.

An *analysis* is a plain function ``f(quick) -> Outcome``.  A *study* has a name and some
analyses; running it gives a *result*, which knows how to show and to write itself.

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

import numpy as np

from ..errors import OptionError, UnknownNameError
from ..io.interrupts import interrupts_passed_on
from ..io.paths import as_path
from ..io.plain_json import plain
from . import report
from .named_systems import about, model_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table as RichTable

    from ..simulation.records.record import Record

RELATIONS = ("=", "<", ">")

Value = float | int | bool | str | Sequence[float] | np.ndarray
"""What a fact is about: a number, several, or words."""

Table = Mapping[str, Any]
"""Columns by name (with the unit in brackets), all equally long."""

Drawing = Callable[["Figure"], None]
"""Draws on an empty figure; its attribute ``caption``, if it has one, is printed below."""


@dataclass(frozen=True, eq=False)
class Fact:
    """A statement beside what was measured.

    Parameters
    ----------
    text : str
        The statement in words.
    stated : number, sequence of numbers or str
        What it says the value is, or its bound.
    measured : the same
        What came out.
    unit : str
    tolerance : float
        How far each number may be from the stated one; half a unit of the last printed digit, say.
    relation : {"=", "<", ">"}
        ``"<"``: every number measured is below the stated one.
    holds : bool, optional
        Decided by relation and tolerance if not given.
    reason : str
        Why it does not hold, or does so only roughly.  A fact that does not hold and has no reason
        is a fault of ours, see :attr:`Result.faults`.
    source : str
        Who states it; ``"ours"`` for what must be true whatever the source says.

    Examples
    --------
    >>> print(Fact("torque at the start", 2.009999, 2.0099989, "N m", tolerance=5e-7))
    torque at the start: stated 2.009999 N m, measured 2.009999 N m, holds
    """

    text: str
    stated: Value
    measured: Value
    unit: str = ""
    tolerance: float = 0.0
    relation: str = "="
    holds: bool | None = None
    reason: str = ""
    source: str = "ours"

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise UnknownNameError("relation of a fact", self.relation, RELATIONS)
        decided = self._compare() if self.holds is None else bool(self.holds)
        object.__setattr__(self, "holds", decided)

    def _compare(self) -> bool:
        if isinstance(self.stated, str) or isinstance(self.measured, str):
            return self.stated == self.measured
        stated, measured = np.asarray(self.stated, dtype=float), np.asarray(self.measured, dtype=float)
        if self.relation == "<":
            return bool(np.all(measured < stated))
        if self.relation == ">":
            return bool(np.all(measured > stated))
        return stated.shape == measured.shape and bool(np.all(np.abs(measured - stated) <= self.tolerance))

    @property
    def known(self) -> bool:
        """Whether it holds, or we know why it does not."""
        return bool(self.holds) or bool(self.reason)

    def shown(self, which: str) -> str:
        """Return ``"stated"`` or ``"measured"`` as text, with the unit."""
        text = show(self.stated if which == "stated" else self.measured)
        sign = {"=": "", "<": "below ", ">": "above "}[self.relation] if which == "stated" else ""
        return f"{sign}{text}{' ' if self.unit else ''}{self.unit}"

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "does not hold"
        reason = f" ({self.reason})" if self.reason else ""
        by = "" if self.source == "ours" else f" ({self.source})"
        return f"{self.text}: stated {self.shown('stated')}{by}, measured {self.shown('measured')}, {verdict}{reason}"

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "text": self.text, "relation": self.relation, "stated": plain(self.stated),
            "measured": plain(self.measured), "unit": self.unit, "tolerance": self.tolerance, "holds": self.holds,
            "reason": self.reason, "source": self.source,
        }  # fmt: skip


def show(value: Any) -> str:
    """Return a value as text for people: seven digits, lists in brackets."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    array = np.asarray(value)
    if array.ndim:
        return "(" + ", ".join(show(x) for x in array.tolist()) + ")"
    number = array.item()
    if isinstance(number, int):
        return str(number)
    # what is small compared with one is a residual, of which two digits are enough
    return f"{number:.2g}" if abs(number) < 1e-4 else f"{number:.7g}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class Outcome:
    """What one analysis gives.

    Attributes
    ----------
    facts : sequence of Fact
    tables : mapping from str to Table
        Numbers to be written as CSV and Parquet.
    records : mapping from str to Record
        Motions that were simulated, written likewise.
    figures : mapping from str to Drawing
        Functions that draw; nothing is drawn unless it is asked for.
    remarks : sequence of str
        What a reader should know, a paragraph each.
    """

    facts: Sequence[Fact] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    records: Mapping[str, Record] = field(default_factory=dict)
    figures: Mapping[str, Drawing] = field(default_factory=dict)
    remarks: Sequence[str] = ()

    def __repr__(self) -> str:
        parts = {"tables": self.tables, "records": self.records, "figures": self.figures}
        held = [f"{word} {', '.join(names)}" for word, names in parts.items() if names]
        return f"<Outcome: {'; '.join([_count(len(self.facts), 'fact'), *held])}>"


Analysis = Callable[[bool], Outcome]
"""``f(quick)``: with ``quick`` fewer samples or a shorter time, and still every fact."""


@dataclass(frozen=True)
class Study:
    """A system and what is done with it.

    Attributes
    ----------
    name, title, source : str
    analyses : mapping from str to Analysis
        In the order in which they run.
    assumptions : sequence of str
        What the source leaves open, what was taken and how it was found.
    system : str or None
        Name in the gallery of the system it is about, whose model is written beside the results.
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
        """Return the study of a system of the gallery, which says what it is and what was assumed."""
        known = about(system)
        return cls(system, known.title, known.source, analyses, known.assumed, system)

    def model_text(self) -> str | None:
        """Return the model file, if the study is about one system."""
        return None if self.system is None else model_text(self.system)

    def run(
        self,
        analyses: Iterable[str] | str | None = None,
        quick: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> Result:
        """Run some analyses, or all.

        Parameters
        ----------
        analyses : str or iterable of str, optional
            Which; all by default.
        quick : bool
            Fewer samples or less time simulated, for tests and impatient people.
        tell : callable, optional
            Called with the name of each analysis before it starts, for progress bars.

        Returns
        -------
        Result
        """
        wanted = [analyses] if isinstance(analyses, str) else list(self.analyses if analyses is None else analyses)
        for name in wanted:
            if name not in self.analyses:
                raise UnknownNameError(f"analysis of {self.name!r}", name, self.analyses)
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
    """What running a study gave.

    Attributes
    ----------
    study : Study
    outcomes : mapping from str to Outcome
        By analysis.
    seconds : mapping from str to float
        How long each analysis took.
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
        """Of all analyses."""
        return [fact for outcome in self.outcomes.values() for fact in outcome.facts]

    @property
    def faults(self) -> list[Fact]:
        """Facts that do not hold and that nobody explains: something is wrong with us."""
        return [fact for fact in self.facts if not fact.known]

    @property
    def exceptions(self) -> list[Fact]:
        """Facts that do not hold, for a known reason."""
        return [fact for fact in self.facts if not fact.holds and fact.known]

    def table(self) -> RichTable:
        """Return the facts, stated beside measured, for a terminal."""
        return report.terminal_table(self)

    def as_dict(self) -> dict[str, Any]:
        """Return the summary for JSON."""
        return report.summary(self)

    def markdown(self) -> str:
        """Return the summary for people, readable on its own; pictures are named as :meth:`write` names them."""
        return report.markdown(self)

    def write(self, folder: str | os.PathLike[str], pictures: bool = True) -> Path:
        """Write everything into a folder: plots, data, summaries, the model.

        It is written beside and renamed into place, so that there is no half of it; an earlier
        result in that place is replaced, anything else there is refused.

        Parameters
        ----------
        folder : path
        pictures : bool
            Draw the figures, as PNG and SVG.

        Returns
        -------
        Path
            The folder.
        """
        return report.write(self, as_path(folder, "the folder of results"), pictures)
