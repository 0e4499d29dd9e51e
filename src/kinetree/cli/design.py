"""``kinetree design``: dimensions of a mechanism that do what its file asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import KinetreeError
from ..model.describe import counted
from .shared import FACT_FAILS, Cluster, Json, Workers, make_console, note, print_json

if TYPE_CHECKING:
    from ..design import FoundDesign
    from ..robot.robot import Robot

File = Annotated[Path, typer.Argument(metavar="FILE", help="Study with a section 'design'.", show_default=False)]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="DIR", help="Where the results go.",
        show_default="kinetree-designs/<name of the file>",
    ),
]  # fmt: skip
Starts = Annotated[int | None, typer.Option(help="Designs to begin with, instead of those of the file.", min=1)]
Seed = Annotated[int | None, typer.Option(help="Of the random starts, instead of that of the file.", min=0)]
Searches = Annotated[
    int | None, typer.Option(help="Whole searches, of which the best is kept, instead of those of the file.", min=1)
]


def design(
    file: File, output: Output = None, starts: Starts = None, seed: Seed = None, searches: Searches = None,
    workers: Workers = None, cluster: Cluster = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Search for dimensions of a mechanism that do what is wanted, within limits.

    The section `design` of the file says which numbers may change (`free`), what is wanted (`wanted`) and within which
    limits (`subject_to`). The folder gets the new mechanism (`mechanism.yaml`), the report (`report.txt`), a table of
    what changed (`numbers.csv`) and a picture of before and after; with `pareto` also the front, as a table
    (`front.csv`) and a picture. Ctrl-C ends the search and keeps the best so far. Several searches, with different
    seeds, run in processes of this machine or on a Dask cluster. Other designs that meet the same points are written
    beside it (`other-1.yaml`, ...). The exit code is 3 if not all is met.

    For example:

        kinetree design wiper.yaml
        kinetree design wiper.yaml -o found --starts 200 --seed 3
        kinetree design wiper.yaml --searches 16 --cluster tcp://host:8786
    """
    from ..io.atomic_files import beside
    from ..io.tables.writing import csv_text
    from ..studies.user_study import read_design_file

    task = read_design_file(file)
    chosen = {"starts": starts, "seed": seed, "searches": searches, "workers": workers, "cluster": cluster}
    task.asked.update({key: value for key, value in chosen.items() if value is not None})
    found = task.run()
    place = output or Path("kinetree-designs") / file.stem
    place.mkdir(parents=True, exist_ok=True)
    found.save(place / "mechanism.yaml")
    facts = _facts(found.robot)
    texts = {"report.txt": f"{found}\n{facts}", "numbers.csv": csv_text(found.columns)}
    others = _write_others(found, place)
    if found.front:
        texts["front.csv"] = csv_text(found.front_columns)
    for name, text in texts.items():
        with beside(place / name) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    found.plot(place / "before-and-after.svg")
    if found.front:
        found.plot_front(place / "front.svg")
    if as_json:
        goals = [row._asdict() | {"is_met": row.is_met} for row in found.goals]
        print_json({"solved": found.solved, "numbers": found.numbers, "goals": goals, "notes": list(found.notes),
                    "folder": str(place)})  # fmt: skip
    else:
        text = str(found).replace("see .others", f"{counted(others, 'of them is', 'of them are')} written beside it")
        make_console().print(f"{text}\n{facts}".rstrip(), markup=False, highlight=False)
        note(f"written to {place}")
    if not found.solved:
        raise typer.Exit(FACT_FAILS)


def _facts(robot: Robot) -> str:
    """Return what a designer asks of a planar linkage: lengths, Grashof's class, ranges and transmission angles."""
    from ..design import report

    try:
        return f"\n{report(robot)}\n"
    except KinetreeError:  # not planar, or with several freedoms
        return ""


def _write_others(found: FoundDesign, place: Path) -> int:
    """Write other designs that meet the same points; return how many."""
    count = 0
    for k, other in enumerate(found.others, 1):
        try:
            other.save(place / f"other-{k}.yaml")
        except KinetreeError:  # a drawing that does not close
            continue
        count += 1
    return count
