"""``kinetree sweep``: a study for every row of a design, on this machine or on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from ..errors import OptionError
from .shared import Cluster, Json, Workers, make_console, new_table, note, print_json

if TYPE_CHECKING:
    from ..sweeps import SweepResult

File = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="Study with a section 'sweep'; 'kinetree new' shows one.", show_default=False),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="DIR", help="Where the results go.", show_default="kinetree-sweeps/<name of the file>"
    ),
]
Best = Annotated[
    str | None,
    typer.Option(help="Show the rows with the smallest values of a column.", show_default=False, metavar="COLUMN"),
]
Largest = Annotated[bool, typer.Option("--largest", help="Largest instead, with --best.")]
Rows = Annotated[int, typer.Option(help="How many, with --best.")]
Csv = Annotated[
    Path | None, typer.Option("--csv", metavar="FILE", help="Also write all rows as a CSV table.", show_default=False)
]

FEW = 20
"""Rows that are shown whole, where more are summed up."""


def sweep(
    file: File, output: Output = None, workers: Workers = None, cluster: Cluster = None, best: Best = None,
    largest: Largest = False, rows: Rows = 5, csv: Csv = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Compute a study for every row of a design; resume an interrupted sweep.

    The section `sweep` of the file defines what varies (`parameters`, with values or distributions, or a `table` of
    rows), how (`design`: grid, random, latin-hypercube, sobol; `draws`, `seed`) and what is kept (`outputs`). Results
    are Parquet files in a folder, written as they are finished: if a sweep was killed, calling it again resumes where
    it stopped, and a finished sweep is only shown. Rows that fail are recorded with the reason. Up to 20 rows are shown
    one by one; of more, the mean and spread of each output.

    For example:

        kinetree sweep my-study.yaml
        kinetree sweep my-study.yaml -o results --workers 8 --best peak_force
        kinetree sweep my-study.yaml --csv rows.csv
        kinetree sweep my-study.yaml --cluster tcp://head:8786
    """
    from ..io.atomic_files import beside
    from ..io.tables.writing import csv_text
    from ..sweeps import read_sweep, run

    if rows < 1:
        raise OptionError(f"--rows must be a whole number from 1, not {rows}")
    if output is not None and output.suffix.lower() in (".csv", ".parquet", ".json"):
        raise OptionError(f"-o {output}: results of a sweep are a folder; for a table of its rows give --csv {output}")
    plan = read_sweep(file)
    place = output or Path("kinetree-sweeps") / file.stem
    found = run(plan.study, plan.design, place, workers, cluster, plan.rows_per_part)
    chosen = found.best(best, rows, largest=largest) if best is not None else None
    summary = found.summary()
    if csv is not None:
        with beside(csv) as unfinished:
            unfinished.write_text(csv_text(found.arrays()), encoding="utf-8")
    if as_json:
        listed = None if chosen is None else {name: x.tolist() for name, x in chosen.items()}
        print_json({**summary, "seconds": found.seconds, "folder": str(place), "best": listed})
        return
    _show(found, summary, chosen, best)


def _show(found: SweepResult, summary: dict, chosen: dict | None, best: str | None) -> None:
    console, title = make_console(), f"{summary['rows']:,} rows"
    if summary["rows"] <= FEW:
        console.print(_of_rows(found.arrays(), title))
    else:
        table = new_table(title, "!output", ">mean", ">deviation", ">least", ">median", ">largest")
        for name, of in summary["outputs"].items():
            columns = (f"{of[key]:.6g}" for key in ("mean", "deviation", "least", "median", "largest"))
            table.add_row(escape(name), *columns)
        console.print(table)
    if chosen is not None:
        console.print(_of_rows(chosen, f"best by {best}"))
    if summary["failures"]:
        first = found.failures()["failure"][0]
        note(f"{summary['failures']:,} rows failed, the first one: {first}")
    rate = f", {found.computed / found.seconds:,.0f} rows a second" if found.seconds > 0.5 and found.computed else ""
    if found.computed < summary["rows"]:
        rate += f"; {summary['rows'] - found.computed:,} rows were already there"
    console.print(f"{found.seconds:.2f} s{rate}; in {escape(str(found.path))}", soft_wrap=True)


def _of_rows(found: dict, title: str) -> Table:
    """Return a table with a line for each row of a sweep."""
    names = [name for name in found if name != "failure"]
    table = new_table(escape(title), *(f">{escape(name)}" for name in names))
    for k in range(len(found["row"])):
        table.add_row(*(_shown(found[name][k]) for name in names))
    return table


def _shown(value: Any) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.6g}"
