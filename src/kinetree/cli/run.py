"""``kinetree run``: studies, their facts, and a folder of results for each."""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from ..errors import KinetreeError, OptionError, OutputError, UnknownNameError, refuse_unknown
from ..io.progress import Bar
from .completion import complete_study
from .error_wording import as_keys, as_options, worded
from .shared import ERROR, FACT_FAILS, Json, complain, make_console, new_table, print_json

if TYPE_CHECKING:
    from ..gallery import Result, Study
    from ..studies.facts import Fact

Names = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME",
        help="Studies that 'kinetree list' shows, 'all', or your own files (see 'kinetree new').",
        show_default=False,
        autocompletion=complete_study,
    ),
]
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Where the results go, a folder per study.")
]
Analysis = Annotated[
    list[str] | None,
    typer.Option("--analysis", "-a", help="Only this analysis; may be given several times.", show_default=False),
]

Quick = Annotated[bool, typer.Option("--quick", help="Fewer samples, less time simulated; every fact is checked.")]


def run(
    context: typer.Context,
    names: Names,
    output: Output = Path("kinetree-results"),
    analysis: Analysis = None,
    quick: Quick = False,
    pictures: Annotated[bool, typer.Option(help="Draw plots; needs matplotlib.")] = True,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show a table of all facts: stated and measured values, and sources.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run studies: compute, check what the sources state, write a folder with plots, data and summaries.

    Each fact is a line with a tick; if it does not hold, the stated and measured values are shown below it. The exit
    code is 3 if a fact that should hold does not; a fact that is known not to hold is shown with the reason and does
    not count. If a study fails with an error, this is reported, the others are run, and the exit code is 1.

    For example:

        kinetree run four-bar
        kinetree run all --quick -o results
        kinetree run my-study.yaml --analysis simulation
    """
    from .. import gallery

    known = gallery.studies()
    studies = find_studies(names)
    _refuse_twins(studies)
    chosen = choose(studies, analysis)
    _refuse_place(output)
    console = make_console()
    done = Done(files=frozenset(s.name for s in studies if s.name not in known), command=context.command)
    with AnalysisBar(sum(len(own) for own in chosen.values())) as bar:
        for study in studies:
            if study.name not in chosen:
                continue
            result = done.try_one(study, chosen[study.name], quick, output, pictures, bar)
            if result is not None and not as_json:
                _show(console, result, done.folders.get(study.name), verbose)
    if as_json:
        print_json(done.as_dict())
    elif len(studies) > 1:
        console.print(_overview(done))
    if done.code:
        raise typer.Exit(done.code)


# ------------------------------------------------------------------ which studies


def find_studies(names: Sequence[str]) -> list[Study]:
    """Return studies of the gallery by name, ``all`` of them, or from the user's files."""
    from .. import gallery

    found: dict[str, Study] = {}
    for name in names:
        if name == "all":
            found.update({n: gallery.study(n) for n in gallery.studies()})
        elif name in gallery.studies():
            found[name] = gallery.study(name)
        elif Path(name).suffix.lower() in (".yaml", ".yml"):
            from ..studies.user_study import read

            found[str(Path(name).resolve())] = read(name)
        elif Path(name).is_file():
            raise OptionError(
                f"{name!r} is not a study, which is a .yaml file: 'kinetree new' writes one that can name a robot file"
            )
        elif name in gallery.names():
            raise OptionError(f"{name!r} is a system without a study: look at it with 'kinetree info {name}'")
        else:
            raise UnknownNameError("study or file", name, ["all", *gallery.studies()])
    return list(found.values())


def _refuse_place(output: Path) -> None:
    """Before computing, refuse a folder to which results cannot be written."""
    existing = next(place for place in (output.absolute(), *output.absolute().parents) if place.exists())
    if not (existing.is_dir() and os.access(existing, os.W_OK)):
        why = "may not be written to" if existing.is_dir() else "is not a folder"
        raise OutputError(f"results cannot be written to {output}: {existing} {why}")


def _refuse_twins(studies: Sequence[Study]) -> None:
    names = [study.name for study in studies]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"two studies are named {name!r} and would write to the same folder: run them one by one")


def choose(studies: Sequence[Study], analyses: Sequence[str] | None) -> dict[str, list[str]]:
    """Return the analyses to run, by study; studies that have none of the requested ones are left out."""
    if not analyses:
        return {study.name: list(study.analyses) for study in studies}
    known = list(dict.fromkeys(name for study in studies for name in study.analyses))
    for name in analyses:
        refuse_unknown("analysis in these studies", name, known)
    chosen = {study.name: [name for name in study.analyses if name in analyses] for study in studies}
    return {name: own for name, own in chosen.items() if own}


# ------------------------------------------------------------------ running


@dataclass
class Done:
    """The results so far."""

    results: dict[str, Result] = field(default_factory=dict)
    folders: dict[str, Path] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    files: frozenset[str] = frozenset()
    """Names of studies that are the user's own files."""
    command: Any = None
    """What the user typed, as click knows it."""

    def try_one(
        self, study: Study, analyses: Sequence[str], quick: bool, output: Path, pictures: bool, bar: AnalysisBar
    ) -> Result | None:
        """Run and write a study; an error in it does not prevent the others from running.

        Results are kept even if they cannot be written.
        """
        before = bar.begun
        try:
            result = study.run(analyses, quick=quick, tell=lambda name: bar.begin(study.name, name))
            self.results[study.name] = result
            bar.show(bar.begun, f"{study.name}: writing")
            self.folders[study.name] = result.write(output / study.name, pictures)
        except Exception as problem:
            bar.begun = before + len(analyses)
            self.errors[study.name] = self.describe(study, problem)
            complain("red", "error", f"{study.name}: {self.errors[study.name]}")
        return self.results.get(study.name)

    def describe(self, study: Study, problem: Exception) -> str:
        """Describe an error in one line, with advice that can be followed in the study's file or on the command line.

        For an unforeseen error, its type and its location in the code are added.
        """
        if not isinstance(problem, (KinetreeError, OSError)):
            place = traceback.extract_tb(problem.__traceback__)[-1]
            what = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
            return f"{what} (in {place.name}, {Path(place.filename).name}, line {place.lineno})"
        write = as_options(self.command)
        if study.name in self.files:
            from ..studies.user_study import SIMULATION_KEYS

            write = as_keys(SIMULATION_KEYS, write)
        return worded(problem, write)

    @property
    def code(self) -> int:
        """The exit code: errors take precedence over facts."""
        if self.errors:
            return ERROR
        return FACT_FAILS if any(result.faults for result in self.results.values()) else 0

    def as_dict(self) -> dict[str, Any]:
        """Return the results for JSON."""
        folders = {name: str(self.folders[name]) if name in self.folders else None for name in self.results}
        studies = [result.as_dict() | {"folder": folders[name]} for name, result in self.results.items()]
        return {"exit_code": self.code, "studies": studies, "errors": self.errors}


class AnalysisBar(Bar):
    """A progress bar that counts finished analyses.

    total: How many there are, in all studies.
    """

    def __init__(self, total: int) -> None:
        super().__init__(total, "starting", counted=True)
        self.begun = 0

    def begin(self, study: str, analysis: str) -> None:
        """Show that an analysis begins, so the previous one is finished."""
        self.show(self.begun, f"{study}: {analysis}")
        self.begun += 1


# ------------------------------------------------------------------ showing


def _show(console: Any, result: Result, folder: Path | None, verbose: bool) -> None:
    """Show facts, what was computed, and where the files are."""
    from ..simulation.records.limits_in_words import FELL, OUT_OF_RANGE, TOO_FAST, TOO_STRONG

    title = f"[bold]{escape(result.study.name)}: {escape(result.study.title)}[/]"
    if not result.facts:
        console.print(f"{title}: no facts to check")
    elif verbose:
        console.print(result.table())
    else:
        holding = sum(bool(fact.holds) for fact in result.facts)
        console.print(f"{title}: {holding} of {len(result.facts)} facts hold")
        for fact in result.facts:
            _show_fact(console, fact)
    for name, outcome in result.outcomes.items():
        made = [
            f"{len(outcome.facts)} fact{'' if len(outcome.facts) == 1 else 's'}",
            *(f"table {t}" for t in outcome.tables),
        ]
        made += [f"record {r}" for r in outcome.records] + [f"figure {f}" for f in outcome.figures]
        line = f"{name}: {', '.join(made)}; {result.seconds[name]:.1f} s"
        console.print(f"[dim]{escape(line)}[/]", soft_wrap=True)
        for remark in outcome.remarks:
            if remark.lower().startswith((FELL, OUT_OF_RANGE, TOO_FAST, TOO_STRONG)):
                console.print(f"[yellow]–[/] {escape(remark)}", soft_wrap=True)
    console.print("[bold red]not written[/]" if folder is None else f"written to {escape(str(folder))}", soft_wrap=True)
    console.print()


def _show_fact(console: Any, fact: Fact) -> None:
    """Show a fact in one line, and below it what is wrong."""
    if fact.holds:
        line = f"[green]✓[/] {escape(fact.text)}: {escape(fact.shown('measured'))}"
        console.print(line, no_wrap=True, overflow="ellipsis")
        return
    by = "" if fact.source in ("ours", "this file") else f" ({fact.source})"
    sign, verdict = ("[yellow]–", "does not hold[/]") if fact.known else ("[bold red]✗", "FAILS[/]")
    console.print(f"{sign} {escape(fact.text)}: {verdict}", soft_wrap=True)
    numbers = f"stated {fact.shown('stated')}{by}, measured {fact.shown('measured')}"
    for note in (numbers, fact.reason):
        if note:
            console.print(f"    [dim]{escape(note)}[/]", soft_wrap=True)


def _overview(done: Done) -> Table:
    """Make a table with a line per study."""
    table = new_table("All studies", "!study", ">facts hold", ">known exceptions", ">fail", ">seconds")
    for name, result in done.results.items():
        holding = sum(bool(fact.holds) for fact in result.facts)
        failing = f"[bold red]{len(result.faults)}[/]" if result.faults else "0"
        seconds = f"{sum(result.seconds.values()):.1f}"
        table.add_row(escape(name), f"{holding} of {len(result.facts)}", str(len(result.exceptions)), failing, seconds)
    for name in done.errors.keys() - done.results.keys():
        table.add_row(escape(name), "[bold red]error[/]", "", "", "")
    return table
