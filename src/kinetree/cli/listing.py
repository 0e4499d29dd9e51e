"""``kinetree list``: the gallery, by source."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.text import Text

from .shared import Json, make_console, print_json

OTHERS = {"ReDySim": "ReDySim's own examples", "other": "Others and our own"}
"""Heading of entries that do not come from any of the five sources."""


@dataclass(frozen=True)
class ListEntry:
    """A line of the list."""

    name: str
    title: str
    source: str
    system: bool
    analyses: tuple[str, ...]

    @property
    def group(self) -> str:
        """The heading under which it is listed."""
        from ..studies.sources import cited

        fallback = "ReDySim" if "ReDySim" in self.source else "other"
        return next(iter(cited(self.source)), fallback)


def entries() -> list[ListEntry]:
    """List all systems and studies; those of the same name together."""
    from .. import gallery

    studies = {name: gallery.study(name) for name in gallery.studies()}
    systems = gallery.names()
    found = []
    for name in dict.fromkeys([*systems, *studies]):
        study = studies.get(name)
        about = study if study is not None else gallery.about(name)
        found.append(
            ListEntry(name, about.title, about.source, name in systems, tuple(study.analyses) if study else ())
        )
    return found


def list_all(
    verbose: Annotated[bool, typer.Option("--verbose", help="Also the analyses of each study.")] = False,
    as_json: Json = False,
) -> None:
    """List the gallery: every system and study of the sources, one line each.

    The name of a system can be given for every argument ROBOT; 'kinetree run NAME' runs its study. 'study only' means
    that there is no robot with that name.

    For example:

        kinetree list
        kinetree list --verbose
        kinetree list --json
    """
    from ..studies.sources import SOURCES

    found = entries()
    if as_json:
        print_json([asdict(entry) for entry in found])
        return
    console = make_console()
    width = max(len(entry.name) for entry in found)

    def show(*parts: str | tuple[str, str]) -> None:
        line = Text.assemble(*parts)
        line.truncate(console.width, overflow="ellipsis")
        console.print(line, no_wrap=True)

    for group, title in ({word: f"{word}: {title}" for word, title in SOURCES.items()} | OTHERS).items():
        own = [entry for entry in found if entry.group == group]
        if own:
            show((title, "bold"))
        for entry in own:
            only = "" if entry.system else "study only: "
            show((entry.name.ljust(width), "cyan"), "  ", (only, "dim"), entry.title)
            if verbose and entry.analyses:
                console.print(Text(f"{'':{width}}  {', '.join(entry.analyses)}", "dim"), soft_wrap=True)
