"""Reports in words, tables and pictures: for the terminal, as Markdown, as one HTML page."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import OutputError, refuse_unknown
from ..io.atomic_files import beside
from ..io.plot_style import COLORS, RC, legend_beside, line
from .equations import MeasuredEquations
from .residuals import Whiteness, relative_errors, whiteness

if TYPE_CHECKING:
    from .identified import Comparison, Identified
    from .measured import Data

Table = tuple[Sequence[str], Sequence[Sequence[str]]]

FORMATS = {"html": "report.html", "markdown": "report.md"}
WIDEST = 60
"""The most letters of a combination that are printed on a terminal; reports show all."""

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;font-size:90%}"
    "td,th{padding:.15em .7em;text-align:right;border-bottom:1px solid #ddd}"
    "td:first-child,th:first-child{text-align:left}img{max-width:100%}"
)


def text(found: Identified) -> str:
    """Return a summary for the terminal."""
    lines = [repr(found).strip("<>"), ""]
    lines += _columns(_error_table(found, None))
    lines += ["", *(f"- {fact}" for fact in facts(found)), "", *_columns(_shortened(_parameter_table(found)))]
    return "\n".join(lines)


def comparison_text(compared: Comparison) -> str:
    """Return a comparison with another robot, for the terminal."""
    rows = [
        [name, f"{value:.5g}", f"{deviation:.2g}", f"{other:.5g}", f"{z:.2g}", unit]
        for name, value, deviation, other, z, unit in zip(
            compared.names,
            compared.values,
            compared.deviations,
            compared.others,
            compared.z,
            compared.units,
            strict=True,
        )
    ]
    return "\n".join(_columns(_shortened((["combination", "found", "deviation", "other", "z", "unit"], rows))))


def _shortened(table: Table) -> Table:
    """Return a table whose first column fits a terminal: long sums are cut after the first terms."""
    head, rows = table
    return head, [[_first_terms(row[0]), *row[1:]] for row in rows]


def _first_terms(name: str) -> str:
    if len(name) <= WIDEST:
        return name
    ends = [found.start() for found in re.finditer(r" [+-] ", name)]
    kept = max(1, sum(end <= WIDEST - len(" ... (99 more)") for end in ends))
    return f"{name[: ends[kept - 1]]} ... ({len(ends) + 1 - kept} more)" if ends else name


def facts(found: Identified) -> list[str]:
    """Return facts that a reader should know before looking at the numbers."""
    white = whiteness(found.equations)
    said = [
        f"{found.equations.counted.sum()} equations for {len(found)} parameters",
        f"condition number {found.condition:.3g}",
        f"frequencies of the motion up to {found.band.motion:.3g} Hz; positions and velocities are filtered at "
        f"{found.band.cutoff:.3g} Hz, both sides of the equation at {found.band.both_sides:.3g} Hz, where one of "
        f"{found.band.factor} samples is kept",
        "all bodies are possible, and no friction drives"
        if found.physical
        else "NOT PHYSICALLY CONSISTENT: some bodies are impossible, or friction drives joints",
    ]
    if found.untold:
        said.append(f"not determined by this motion, and left as they were: {', '.join(found.untold)}")
    if found.poor:
        said.append(
            f"{len(found.poor)} parameters have a standard deviation of more than 30 %: do not trust them individually"
        )
    colored = [
        f"{name} ({factor:.2g})"
        for name, factor, plain in zip(found.row_names, white.factor, white.is_white, strict=True)
        if not plain and f"{factor:.2g}" != "1"
    ]
    if colored:
        said.append(
            "residuals are not mere noise, so something is not modeled, and standard deviations are too small by about "
            f"the factor in brackets: {', '.join(colored)}"
        )
    return said + list(found.notes)


def write(found: Identified, folder: Path, held_out: Data | None, format: str) -> Path:
    """Write the report; return its file.

    Parameters
    ----------
    found : Identified
    folder : Path
    held_out : Measured, path, or several of them, optional
    format : {"html", "markdown"}
    """
    refuse_unknown("format of reports", format, FORMATS)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise OutputError(f"{folder} cannot be made: {problem.strerror or problem}") from None
    seen = None if held_out is None else found.predicted(held_out)
    pictures = _pictures(found, seen)
    target = folder / FORMATS[format]
    parts = _parts(found, seen)
    if format == "html":
        page = _html(found, parts, pictures)
    else:
        for name, picture in pictures.items():
            with beside(folder / f"{name}.png") as place:
                place.write_bytes(picture)
        page = _markdown(found, parts, pictures)
    with beside(target) as place:
        place.write_text(page, encoding="utf-8")
    return target


def _parts(found: Identified, seen: MeasuredEquations | None) -> list[tuple[str, list[str] | Table]]:
    return [
        *([("Warnings", list(found.warned))] if found.warned else []),
        ("What to know", facts(found)),
        ("Errors", _error_table(found, seen)),
        ("Friction", _friction_table(found)),
        ("Parameters", _parameter_table(found)),
        ("All parameters of the robot", _robot_table(found)),
    ]


# ------------------------------------------------------------------ tables


def _error_table(found: Identified, seen: MeasuredEquations | None) -> Table:
    head = ["joint", "training error %", "noise", "white"]
    white, units = whiteness(found.equations).is_white, _units(found)
    held = None if seen is None else relative_errors(seen.tau, seen.y[..., 0])
    if held is not None:
        head.insert(2, "held-out error %")
    rows = []
    for k, name in enumerate(found.row_names):
        noise = f"{found.noise[k]:.3g} {units[name]}"
        row = [name, f"{100 * found.training_errors[k]:.3g}", noise, "yes" if white[k] else "no"]
        if held is not None:
            row.insert(2, f"{100 * held[k]:.3g}")
        rows.append(row)
    return head, rows


def _friction_table(found: Identified) -> Table:
    return ["joint", "model", "shape"], [[name, own.model.name, own.words] for name, own in found.friction.items()]


def _parameter_table(found: Identified) -> Table:
    rows = []
    for name, value, deviation, relative, unit in zip(
        found.names, found.values, found.deviations, found.relative_deviations, found.units, strict=True
    ):
        rows.append([name, f"{value:.5g}", f"{deviation:.2g}", f"{100 * relative:.3g}", unit])
    return ["combination", "value", "deviation", "%", "unit"], rows


def _robot_table(found: Identified) -> Table:
    before, after = found.given.parameters(), found.robot.parameters()
    was = dict(zip(before.names, before.values, strict=True))  # springs that were found are not rows of the table
    rows = [
        [name, f"{was.get(name, 0.0):.5g}", f"{new:.5g}", unit]
        for name, new, unit in zip(after.names, after.values, after.units, strict=True)
        if was.get(name, 0.0) or new
    ]
    return ["parameter", "before", "found", "unit"], rows


def _columns(table: Table) -> list[str]:
    head, rows = table
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
    return ["  ".join([row[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(row[1:], widths[1:], strict=True))])
            for row in (head, *rows)]  # fmt: skip


# ------------------------------------------------------------------ pages


def _title(found: Identified) -> str:
    return f"Identification of {found.given.name}"


def _markdown(found: Identified, parts: Any, pictures: dict[str, bytes]) -> str:
    lines = [f"# {_title(found)}", ""]
    for title, content in parts:
        lines += [f"## {title}", ""]
        if isinstance(content, list):
            lines += [f"- {fact}" for fact in content]
        else:
            head, rows = content
            lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
            lines += ["| " + " | ".join(row) + " |" for row in rows]
        lines.append("")
    lines += [line for name in pictures for line in (f"![{name.replace('_', ' ')}]({name}.png)", "")]
    return "\n".join(lines)


def _html(found: Identified, parts: Any, pictures: dict[str, bytes]) -> str:
    title = html.escape(_title(found))
    body = [f"<h1>{title}</h1>"]
    for heading, content in parts:
        body.append(f"<h2>{html.escape(heading)}</h2>")
        if isinstance(content, list):
            body += ["<ul>", *(f"<li>{html.escape(fact)}</li>" for fact in content), "</ul>"]
        else:
            head, rows = content
            body.append("<table><tr>" + "".join(f"<th>{html.escape(x)}</th>" for x in head) + "</tr>")
            body += ["<tr>" + "".join(f"<td>{html.escape(x)}</td>" for x in row) + "</tr>" for row in rows]
            body.append("</table>")
        if heading == "Errors":
            body += [
                f'<p><img alt="{name}" src="data:image/png;base64,{base64.b64encode(picture).decode()}"></p>'
                for name, picture in pictures.items()
            ]
    head_part = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    return f"<!doctype html><html><head>{head_part}</head><body>" + "\n".join(body) + "</body></html>\n"


# ------------------------------------------------------------------ pictures


def _pictures(found: Identified, seen: MeasuredEquations | None) -> dict[str, bytes]:
    """Return pictures of forces and residuals; none if matplotlib is not installed."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        return {}
    with matplotlib.rc_context(RC):
        made = {"training": _forces(Figure, found, found.equations, "training data")}
        if seen is not None:
            made["held_out"] = _forces(Figure, found, seen, "held-out data")
        made["residuals"] = _correlations(Figure, whiteness(found.equations), found.row_names)
    return made


def _units(found: Identified) -> dict[str, str]:
    """Return the units of the forces, by their rows."""
    return dict(zip(found.given.v_names, found.given.tau_units, strict=True))


def _forces(figure: Any, found: Identified, seen: MeasuredEquations, title: str) -> bytes:
    count, units = len(seen.rows), _units(found)
    drawing = figure(figsize=(10, 1.7 * count), layout="constrained")
    axes = drawing.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
    for k, (axis, name) in enumerate(zip(axes, seen.rows, strict=True)):
        axis.plot(seen.t, seen.tau[:, k], color="#aeb6be", linewidth=2.5, label="measured")
        axis.plot(seen.t, seen.y[:, k, 0], color=COLORS[0], linewidth=1.0, label="predicted")
        axis.plot(seen.t, seen.tau[:, k] - seen.y[:, k, 0], color=COLORS[1], linewidth=0.8, label="difference")
        axis.set_ylabel(f"{name} [{units[name]}]")
    drawing.suptitle(title)
    drawing.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    axes[-1].set_xlabel("time [s]")
    return _png(drawing)


def _correlations(figure: Any, white: Whiteness, names: Sequence[str]) -> bytes:
    drawing = figure(figsize=(10, 3.5), layout="constrained")
    axis = drawing.subplots()
    for k, name in enumerate(names):
        axis.plot(range(1, len(white.correlation) + 1), white.correlation[:, k], marker=".", label=name, **line(k))
    axis.axhspan(-white.bound, white.bound, color="0.85", zorder=0)
    axis.set(xlabel="lag [samples]", ylabel="correlation of residuals [1]", title="gray: what mere noise shows")
    legend_beside(axis)
    return _png(drawing)


def _png(drawing: Any) -> bytes:
    stream = io.BytesIO()
    drawing.savefig(stream, format="png", dpi=100)
    return stream.getvalue()
