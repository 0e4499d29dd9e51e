"""``kinetree list``: what there is, by source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.markup import escape
from rich.table import Table

from .shared import Json, make_console, print_json

SOURCES = {
    "000": "000  Shah, Saha and Dutt, Dynamics of Tree-Type Robotic Systems",
    "001": "001  Recursive dynamics by the DeNOC matrices",
    "003": "003  The unified biped",
    "004": "004  Khalil and Dombre, chapter 10",
    "ReDySim": "ReDySim's own examples",
    "other": "Others and our own",
}
"""What is printed above the entries of a source; conventions.md says more of them."""


@dataclass(frozen=True)
class Entry:
    """A line of the list."""

    name: str
    title: str
    source: str
    system: bool
    analyses: tuple[str, ...]

    @property
    def group(self) -> str:
        """Under which heading it stands."""
        number = re.search(r"\b00\d\b", self.source)
        if number and number[0] in SOURCES:
            return number[0]
        return "ReDySim" if "ReDySim" in self.source else "other"


def entries() -> list[Entry]:
    """All systems and studies, those of one name together."""
    from .. import gallery

    studies = {name: gallery.study(name) for name in gallery.studies()}
    systems = gallery.names()
    found = []
    for name in dict.fromkeys([*systems, *studies]):
        study = studies.get(name)
        about = study if study is not None else gallery.about(name)
        found.append(Entry(name, about.title, about.source, name in systems, tuple(study.analyses) if study else ()))
    return found


def list_all(as_json: Json = False) -> None:
    """List the gallery: every system and study of the sources, one line each.

    A system can be given wherever a ROBOT is asked for; a study, which names its analyses, is run with
    'kinetree run NAME'.

    For example:

        kinetree list
        kinetree list --json
    """
    found = entries()
    if as_json:
        print_json([asdict(entry) for entry in found])
        return
    console = make_console()
    widths = [max(len(text) for text in column) for column in zip(*((e.name, e.title) for e in found), strict=True)]
    for group, title in SOURCES.items():
        own = [entry for entry in found if entry.group == group]
        if own:
            console.print(f"[bold]{escape(title)}[/]")
            console.print(_table(own, widths))


def _table(own: Sequence[Entry], widths: Sequence[int]) -> Table:
    """Columns as wide as those of the other sources."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, width=widths[0])
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=widths[1], ratio=2)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for entry in own:
        analyses = ", ".join(entry.analyses) or "(no study)"
        table.add_row(f"[cyan]{escape(entry.name)}[/]", escape(entry.title), f"[dim]{escape(analyses)}[/]")
    return table
