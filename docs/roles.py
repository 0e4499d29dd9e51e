"""Turn roles of docstrings (``:meth:`kinetree.Robot.pose` ``) into links, or into code where no page has the name.

mkdocstrings reads docstrings as Markdown, which knows no roles.  This is an extension of Griffe, which reads
the source for it; mkdocs.yml names it.
"""

from __future__ import annotations

import html
import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:meth|class|func|attr|mod|data|exc|obj):`(?P<short>~?)(?P<name>[^`]+)`")


class Roles(griffe.Extension):
    """Rewrite the docstrings of a package once all of it has been read."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Called by Griffe when a package is complete."""
        seen: set[str] = set()
        waiting: list[griffe.Object] = [pkg]
        while waiting:
            thing = waiting.pop()
            if thing.path in seen:
                continue
            seen.add(thing.path)
            if thing.is_class and not thing.runtime:  # shown to type checkers: the first base is what there is
                del thing.bases[1:]  # type: ignore[attr-defined]
            if thing.docstring is not None:
                thing.docstring.value = linked(thing.docstring.value, thing)
            waiting += [member for member in thing.members.values() if not member.is_alias]  # type: ignore[misc]


def linked(text: str, thing: griffe.Object) -> str:
    """The text with its roles as optional links: where there is no anchor, only the code is left."""
    return ROLE.sub(lambda found: _link(found["name"], bool(found["short"]), thing), text)


def _link(name: str, short: bool, thing: griffe.Object) -> str:
    shown = html.escape(name.rpartition(".")[2] if short else name.removeprefix("kinetree.").lstrip("."))
    return f'<autoref identifier="{_target(name, thing)}" optional><code>{shown}</code></autoref>'


def _target(name: str, thing: griffe.Object) -> str:
    """The full name: as it stands, or as seen from the object, its class or its module."""
    if name.startswith("kinetree."):
        return name
    name = name.lstrip(".")
    first, _, rest = name.partition(".")
    scope: griffe.Object | None = thing
    while scope is not None:
        if first in scope.all_members if scope.is_class else first in scope.members:
            return ".".join(filter(None, (scope.path, first, rest)))
        scope = scope.parent  # type: ignore[assignment]
    return name
