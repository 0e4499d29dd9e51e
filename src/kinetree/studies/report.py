"""Results of studies on a terminal, as JSON, as Markdown and as a folder of files."""

from __future__ import annotations

import importlib.util
import json
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import KinetreeWarning, Message, OutputError, Setting, callers_level, printable
from ..io.atomic_files import folder_beside
from ..io.plain_json import json_text
from ..io.plot_style import RC
from ..io.tables.formats import pyarrow
from ..io.tables.writing import csv_text, write_parquet
from ..version import VERSION
from .sources import COMPUTED, cited

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from .facts import Fact
    from .study import Drawing, Outcome, Result, Table

MARK = "kinetree study"
"""Entry of ``summary.json`` that identifies an earlier result, which may be replaced."""

PICTURES = (".png", ".svg")

# ------------------------------------------------------------------ terminal


def terminal_table(result: Result) -> RichTable:
    """Return the facts as a table, one per row."""
    from rich.markup import escape
    from rich.table import Table as Rich

    table = Rich(title=f"{result.study.name}: {escape(result.study.title)}", title_justify="left", show_lines=False)
    sources = {fact.source for fact in result.facts} - {"ours", "this file"}
    columns: dict[str, dict[str, Any]] = {"analysis": {"no_wrap": True}, "fact": {"ratio": 3}}
    if sources:  # otherwise all statements are kinetree's or the user's
        columns["by"] = {"ratio": 1}
    columns |= {"stated": {"ratio": 2}, "measured": {"ratio": 2}, "": {"no_wrap": True}}
    for heading, options in columns.items():
        table.add_column(heading, **options)
    for analysis, outcome in result.outcomes.items():
        for k, fact in enumerate(outcome.facts):
            text = escape(fact.text) + (f"\n[dim]{escape(fact.reason)}[/]" if fact.reason else "")
            by = [escape(fact.source)] if sources else []
            shown = (escape(fact.shown("stated")), escape(fact.shown("measured")))
            table.add_row(analysis if k == 0 else "", text, *by, *shown, _terminal_verdict(fact))
        table.add_section()
    if sources:
        meant = [*_meant("\n".join(sources)), "ours: what must be true whatever a source says"]
        table.caption, table.caption_justify = escape("\n".join(meant)), "left"
    return table


def _terminal_verdict(fact: Fact) -> str:
    if fact.holds:
        return "[green]holds[/]"
    return "[yellow]does not[/]" if fact.known else "[bold red]FAILS[/]"


# ------------------------------------------------------------------ JSON


def summary(result: Result, files: list[str] | None = None) -> dict[str, Any]:
    """Return the result as data, without the numbers of tables."""
    study = result.study
    return {
        "kind": MARK,
        "version": VERSION,
        "name": study.name,
        "title": study.title,
        "source": study.source,
        "assumptions": list(study.assumptions),
        "quick": result.quick,
        "facts_that_hold": sum(bool(f.holds) for f in result.facts),
        "exceptions": len(result.exceptions),
        "faults": len(result.faults),
        "analyses": {
            name: {
                "seconds": round(result.seconds[name], 3),
                "facts": [fact.as_dict() for fact in outcome.facts],
                "remarks": list(outcome.remarks),
            }
            for name, outcome in result.outcomes.items()
        },
        "files": files or [],
    }


# ------------------------------------------------------------------ Markdown


def markdown(result: Result) -> str:
    """Return a self-contained page."""
    study = result.study
    title = without_tags(f"{study.title[:1].upper()}{study.title[1:]}")
    lines = [f"# {title}", "", f"Study `{study.name}`. Source: {without_tags(study.source)}.", ""]
    lines += [_count(result), ""]
    if study.assumptions:
        lines += ["## What was assumed", "", *(f"- {without_tags(text)}" for text in study.assumptions), ""]
    for name, outcome in result.outcomes.items():
        lines += _section(name, outcome, result.seconds[name])
    if study.system is not None:
        lines += ["The model is in [model.yaml](model.yaml).", ""]
    return "\n".join([*lines, *_legend("\n".join(lines))])


def without_tags(text: str) -> str:
    """Escape angle brackets, so that pages show them."""
    return printable(text, keep="\n").replace("<", "&lt;").replace(">", "&gt;")


def _legend(text: str) -> list[str]:
    """Return the full titles of the texts that a text cites."""
    lines = [f"- {line}." for line in _meant(text)]
    return ["## Sources", "", *lines, ""] if lines else []


def _meant(text: str) -> list[str]:
    """Return the full titles of the texts that a text cites, and the origin of numbers that they do not print."""
    lines = [f"{word}: {title}" for word, title in cited(text).items()]
    if COMPUTED in text:
        lines.append(f"{COMPUTED}: not printed there; found from its formulas and data by independent scripts")
    return lines


def _count(result: Result) -> str:
    holding = sum(bool(f.holds) for f in result.facts)
    text = f"{holding} of {len(result.facts)} statements hold"
    if result.exceptions:
        count = len(result.exceptions)
        text += f"; {count} {'does' if count == 1 else 'do'} not, for reasons given below"
    if result.faults:
        text += f"; **{len(result.faults)} without a known reason**"
    return f"{text}.{' (Quick run.)' if result.quick else ''}"


def _section(name: str, outcome: Outcome, seconds: float) -> list[str]:
    lines = [f"## {name[:1].upper()}{name[1:].replace('-', ' ')}", "", f"Computed in {seconds:.1f} s.", ""]
    for remark in outcome.remarks:
        lines += [without_tags(remark), ""]
    if outcome.facts:
        lines += ["| statement | by | stated | measured | |", "|---|---|---|---|---|"]
        for fact in outcome.facts:
            reason = f"<br>*{without_tags(fact.reason)}*" if fact.reason else ""
            verdict = "holds" if fact.holds else "**does not hold**"
            text = without_tags(fact.text) + reason
            cells = (text, without_tags(fact.source), fact.shown("stated"), fact.shown("measured"), verdict)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    for figure, draw in outcome.figures.items():
        file = f"{name}-{figure}.png"
        lines += [f"![{figure}]({file})", ""]
        if caption := getattr(draw, "caption", ""):
            lines += [f"*{without_tags(caption)}*", ""]
    data = [*outcome.tables, *outcome.records]
    if data:
        lines += ["Data: " + ", ".join(f"[{name}-{d}.csv]({name}-{d}.csv)" for d in data) + ".", ""]
    return lines


# ------------------------------------------------------------------ files


@dataclass(frozen=True)
class _FolderWriter:
    """Writes the files of a result into a temporary folder."""

    result: Result
    folder: Path

    def all(self, pictures: bool) -> None:
        """Write every file, the summaries last."""
        for analysis, outcome in self.result.outcomes.items():
            for name, table in outcome.tables.items():
                self._table(f"{analysis}-{name}", table)
            for name, record in outcome.records.items():
                for ending in (".csv", *([".parquet"] if pyarrow() else [])):
                    record.save(self.folder / f"{analysis}-{name}{ending}", outcome.units)
            for name, draw in outcome.figures.items() if pictures else ():
                self._picture(f"{analysis}-{name}", draw)
        model = self.result.study.model_text()
        if model is not None:
            self._text("model.yaml", model)
        self._text("summary.md", self.result.markdown())
        files = sorted([*(f.name for f in self.folder.iterdir()), "summary.json"])
        self._text("summary.json", json_text(summary(self.result, files)))

    def _text(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def _table(self, name: str, table: Table) -> None:
        self._text(f"{name}.csv", csv_text(table))
        if pyarrow():
            write_parquet(self.folder / f"{name}.parquet", table)

    def _picture(self, name: str, draw: Drawing) -> None:
        import matplotlib
        from matplotlib.figure import Figure

        with matplotlib.rc_context(RC):
            figure = Figure(layout="constrained")
            draw(figure)
            for ending in PICTURES:
                options: dict[str, Any] = {"metadata": {"Date": None}} if ending == ".svg" else {}
                figure.savefig(self.folder / f"{name}{ending}", **options)
                figure.set_layout_engine("none")  # type: ignore[arg-type]  # laid out once is enough


def write(result: Result, folder: Path, pictures: bool = True) -> Path:
    """Write a result; see :meth:`kinetree.studies.study.Result.write`."""
    if pictures and any(outcome.figures for outcome in result.outcomes.values()):
        pictures = _can_draw()
    folder = Path(os.path.abspath(folder))
    _refuse_foreign(folder)
    try:
        with folder_beside(folder) as made:
            _FolderWriter(result, made).all(pictures)
    except OSError as problem:
        raise OutputError(f"the results of {result.study.name!r} cannot be written to {folder}: {problem}") from None
    return folder


def _refuse_foreign(folder: Path) -> None:
    """Refuse to replace anything but an empty folder or an earlier result."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise OutputError(f"{folder} is a file: give a folder for the results")
    if next(folder.iterdir(), None) is not None and not _is_result(folder):
        raise OutputError(f"{folder} holds other files, which would be lost: give an empty or a new folder")


def _is_result(folder: Path) -> bool:
    """Return whether a folder contains only what kinetree has written."""
    try:
        found = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        return found["kind"] == MARK and {f.name for f in folder.iterdir()} <= set(found["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _can_draw() -> bool:
    """Return whether pictures can be drawn; if not, warn how to enable them, since data are useful without them."""
    if importlib.util.find_spec("matplotlib") is not None:
        return True
    needed = "no pictures are drawn, only data written: they need matplotlib, pip install 'kinetree[plot]'; "
    said = Message(needed, "no warning with ", Setting("pictures", False))
    warnings.warn(KinetreeWarning(said), stacklevel=callers_level())
    return False
