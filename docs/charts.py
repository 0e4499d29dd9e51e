"""Charts of the speed page, drawn from what the benchmark wrote: ``{{ chart batch inverse dynamics }}``.

``python -m benchmarks batch matrix derivatives single --json docs/benchmarks.json`` measures; nothing is typed in.
A chart is an SVG within the page, whose colors are the page's, so that it is as legible in the dark.  Bars are
times on a logarithmic scale, since the slowest is a hundred times the fastest; the numbers stand beside them.
"""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kinetree.studies.sources import SOURCES

DOCS = Path(__file__).resolve().parent
FILE, PAGES = DOCS / "benchmarks.json", DOCS / "studies"
PLACE = re.compile(r"^\{\{ chart (?P<name>[\w ]+) \}\}$", re.MULTILINE)
NUMBER = re.compile(r"\{\{ (?P<kind>time|their time|ratio) (?P<chart>[\w ]+?) of (?P<robot>[^}]+) \}\}")
ABOUT, STATEMENTS = "{{ benchmarks about }}", "{{ statements }}"

WIDTH, NAMES, NUMBERS, BAR, GAP = 480, 122, 78, 16, 14
"""Pixels, few enough for a phone: of the whole, of names at the left, of numbers at the right, of a bar, between."""


@dataclass(frozen=True)
class Chart:
    """Where the numbers of a chart are.

    Parameters
    ----------
    part : str
        Of the benchmark.
    rows : str
        Which rows of its table: those whose name ends so, after a colon; all if empty.
    title, unit : str
    series : pairs of str
        Columns of the table, and what they are called in the chart.
    """

    part: str
    rows: str
    title: str
    unit: str
    series: tuple[tuple[str, str], ...]
    table: int = 0


BATCH = (("kinetree", "kinetree"), ("Pinocchio", "Pinocchio"))
WRITTEN = (("writing", "mere writing"), *BATCH)

CHARTS = {
    "batch inverse dynamics": Chart("batch", "inverse dynamics", "Inverse dynamics", "ns per state", BATCH),
    "batch forward dynamics": Chart("batch", "forward dynamics", "Forward dynamics", "ns per state", BATCH),
    "mass matrix": Chart("matrix", "", "Mass matrix", "ns per state", WRITTEN),
    "single inverse dynamics": Chart(
        "single", "inverse_dynamics", "Inverse dynamics, one state per call from Python", "µs per call",
        (("with out=", "kinetree"), ("Pinocchio", "Pinocchio")),
    ),
}  # fmt: skip


@cache
def measured() -> dict[str, Any]:
    """What the benchmark wrote."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def expanded(text: str) -> str:
    """The text with its charts and single numbers, and a line about the run they are from."""
    if "{{" not in text:
        return text
    text = PLACE.sub(lambda found: svg(found["name"]), text)
    text = NUMBER.sub(lambda found: number(found["kind"], found["chart"], found["robot"]), text)
    if STATEMENTS in text:
        text = text.replace(STATEMENTS, str(statements()))
    return text.replace(ABOUT, about()) if ABOUT in text else text


def number(kind: str, name: str, robot: str) -> str:
    """One of a chart's numbers, to two digits."""
    ours, theirs = dict(numbers(CHARTS[name]))[robot][-2:]
    value = {"time": ours, "their time": theirs, "ratio": theirs / ours}[kind]
    return f"{float(f'{value:.2g}'):g}"


def statements() -> int:
    """How many statements of the five sources are on the studies' pages; ours and those of others do not count."""
    rows = (line for page in PAGES.glob("*.md") for line in page.read_text(encoding="utf-8").splitlines())
    cells = (line.split(" | ") for line in rows if line.endswith(("| holds |", "| **does not hold** |")))
    return sum(cell[1].split(" ")[0].rstrip(",") in SOURCES for cell in cells)


def about() -> str:
    """When and on what it was measured."""
    run = measured()
    return f"kinetree {run['version']}, {run['date']}. {run['made_for']}. Best of {run['rounds']} rounds in turn."


def numbers(chart: Chart) -> list[tuple[str, list[float]]]:
    """Each robot with one number per series."""
    table = measured()["parts"][chart.part][chart.table]
    columns = [table["columns"].index(column) for column, _ in chart.series]
    found = []
    for row in table["rows"]:
        robot, _, what = row[0].partition(": ")
        if what == chart.rows:
            found.append((robot, [float(row[k].replace(",", "")) for k in columns]))
    if not found:
        raise LookupError(f"{FILE.name} has no rows {chart.rows!r} of {chart.part!r}: run python -m benchmarks --json")
    return found


def svg(name: str) -> str:
    """A chart of groups of bars, one group per robot."""
    if name not in CHARTS:
        raise LookupError(f"there is no chart {name!r}; there are {', '.join(CHARTS)}")
    chart = CHARTS[name]
    rows = numbers(chart)
    values = [value for _, each in rows for value in each]
    first, last = math.floor(math.log10(min(values))), math.log10(max(values))
    scale = (WIDTH - NAMES - NUMBERS) / (last - first)
    top, group = 46, BAR * len(chart.series) + GAP
    height = top + group * len(rows)
    title = html.escape(chart.title)
    lines = [f'<figure class="chart"><svg viewBox="0 0 {WIDTH} {height + 12}" role="img" aria-label="{title}">']
    lines.append(f'<text class="title" x="0" y="14">{title}, {chart.unit}</text>')
    lines += [_key(chart)]
    for decade in range(first, math.floor(last) + 1):
        x = NAMES + scale * (decade - first)
        lines.append(f'<text class="key" x="{x:.1f}" y="{height + 8}" text-anchor="middle">{10.0**decade:,g}</text>')
        lines.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top - 6}" y2="{height - GAP + 4}"/>')
    for k, (robot, each) in enumerate(rows):
        y = top + k * group
        lines.append(f'<text x="{NAMES - 8}" y="{y + group / 2 - 2:.1f}" text-anchor="end">{html.escape(robot)}</text>')
        for j, value in enumerate(each):
            length = max(2.0, scale * (math.log10(value) - first))
            ratio = f" ({value / each[-2]:.0f}×)" if j == len(each) - 1 else ""
            place = y + j * BAR
            lines.append(
                f'<rect class="bar-{_kind(chart, j)}" x="{NAMES}" y="{place}" width="{length:.1f}" height="{BAR - 3}"/>'
            )
            lines.append(
                f'<text class="value" x="{NAMES + length + 5:.1f}" y="{place + BAR - 5}">{shown(value)}{ratio}</text>'
            )
    lines.append("</svg></figure>")
    return "\n".join(lines)


def shown(value: float) -> str:
    """A time to three digits, large ones without powers of ten."""
    return f"{float(f'{value:.3g}'):,g}" if value < 1e3 else f"{round(float(f'{value:.3g}')):,}"


def _kind(chart: Chart, j: int) -> str:
    return {"kinetree": "ours", "Pinocchio": "theirs"}.get(chart.series[j][1], "limit")


def _key(chart: Chart) -> str:
    parts, x = [], NAMES
    for j, (_, name) in enumerate(chart.series):
        parts.append(f'<rect class="bar-{_kind(chart, j)}" x="{x}" y="22" width="11" height="11"/>')
        parts.append(f'<text class="key" x="{x + 16}" y="32">{html.escape(name)}</text>')
        x += 34 + 7 * len(name)
    return "".join(parts)
