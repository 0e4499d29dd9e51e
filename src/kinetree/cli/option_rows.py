"""Commands with many options: a table of rows, from which typer makes the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple

import typer

from ..errors import OptionError


class OptionRow(NamedTuple):
    """An option of a command."""

    name: str
    """Name of the value; ``sample_time`` is typed ``--sample-time``."""
    kind: Any
    """A type for typer, or a complete annotation."""
    help: str = ""
    usual: str | bool = False
    """What is shown as the default."""
    default: Any = None
    """The value if it is not typed."""
    needs: str = ""
    """Name of the option without which this one has no use."""
    flags: tuple[str, ...] = ()
    """What is typed, if it differs from the name."""
    words: Sequence[str] | Callable[[typer.Context, str], list[str]] = ()
    """Words that a shell completes, or a function ``(context, typed) -> words`` that finds them."""
    hidden: bool = False
    """Whether the help omits it, for example because it is a former name."""

    def parameter(self, panel: str) -> inspect.Parameter:
        """Return the option as a parameter of a function that typer reads."""
        kind = self.kind
        if not hasattr(kind, "__metadata__"):
            words = self.words
            found: Callable[..., list[str]] | None = None
            if callable(words):
                found = words
            elif words:
                found = _starting(words)
            option = typer.Option(
                *self.flags, help=self.help, show_default=self.usual, rich_help_panel=panel, hidden=self.hidden,
                autocompletion=found,
            )  # fmt: skip
            kind = Annotated[kind if self.default is not None or kind is bool else kind | None, option]
        kept = inspect.Parameter.empty if self.default is ... else self.default
        return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=kept, annotation=kind)


def _starting(words: Sequence[str]) -> Callable[[str], list[str]]:
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


Rows = Mapping[str, Iterable[OptionRow]]
"""Options, keyed by the panel of the help in which they are shown."""


def takes(rows: Rows) -> Callable[[Callable[[SimpleNamespace], None]], Callable[..., None]]:
    """Give a function, which takes all values at once, the command line of a table; refuse unused options."""

    def made(function: Callable[[SimpleNamespace], None]) -> Callable[..., None]:
        def command(**values: Any) -> None:
            given = SimpleNamespace(**values)
            refuse_idle(rows, given)
            function(given)

        parameters = [row.parameter(panel) for panel, some in rows.items() for row in some]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        command.__doc__, command.__name__ = function.__doc__, function.__name__
        return command

    return made


def refuse_idle(rows: Rows, given: SimpleNamespace) -> None:
    """Refuse options that would have no effect."""
    usual = {row.name: row.default for some in rows.values() for row in some}
    for row in (row for some in rows.values() for row in some if row.needs):
        if getattr(given, row.name) != row.default and getattr(given, row.needs) == usual[row.needs]:
            needed = row.needs.replace("_", "-")
            raise OptionError(f"--{row.name.replace('_', '-')} needs --{needed}")
