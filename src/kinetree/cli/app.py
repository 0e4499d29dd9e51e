"""The command line; each command is a file of this folder.

Exit codes: 0 for success, 1 for a robot, a file or a request that is not possible (one red line says
why), 2 for a command line that cannot be read, 3 for a study in which a fact that should hold
does not.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..errors import KinetreeError, OutputError
from ..version import VERSION
from . import (
    bench,
    codegen,
    cost,
    doctor,
    dynamics,
    identify,
    import_redysim,
    info,
    listing,
    new,
    run,
    simulate,
    sweep,
    view,
)
from .error_wording import as_options, worded
from .shared import ERROR, complain, flush_answer, prepare_streams, warnings_as_lines

HELP = """Dynamics of robots and mechanisms: look at a robot, compute with it, let it move, see it.

Wherever a ROBOT is asked for, give a file (URDF, SDF, MJCF, YAML) or a name that 'kinetree list' shows.

Exit codes: 0 success; 1 an error, reported in one line; 2 a command line that cannot be read; 3 a study in which
a fact that should hold does not.
"""


class _CommandGroup(TyperGroup):
    """Commands whose foreseeable errors are one line, not a traceback."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Read the command line and run what it asks for."""
        prepare_streams()
        try:
            return super().main(*arguments, **options)
        except OutputError as problem:  # help or version, with standard output closed
            complain("red", "error", str(problem))
            sys.exit(ERROR)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            with warnings_as_lines(lambda: as_options(self._asked(ctx))):
                answer = super().invoke(ctx)
                flush_answer()
                return answer
        except BrokenPipeError:
            raise
        except (KinetreeError, OSError) as problem:
            complain("red", "error", worded(problem, as_options(self._asked(ctx))))
            raise typer.Exit(ERROR) from None

    def _asked(self, ctx: Any) -> Any:
        """Return the command that is running."""
        return self.get_command(ctx, ctx.invoked_subcommand or "")


app = typer.Typer(
    name="kinetree", cls=_CommandGroup, help=HELP, no_args_is_help=True, add_completion=True,
    rich_markup_mode="markdown", pretty_exceptions_enable=False,
)  # fmt: skip

GALLERY, LOOK, COMPUTE, EXPORT = "Gallery and studies", "Look", "Compute", "Count and write"
HERE = "On this machine"


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"kinetree {VERSION}\n")
        raise typer.Exit


@app.callback(help=HELP)
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Take the options before the command."""


for panel, name, command in (
    (GALLERY, "list", listing.list_all),
    (GALLERY, "run", run.run),
    (GALLERY, "new", new.new),
    (LOOK, "info", info.info),
    (LOOK, "view", view.view),
    (COMPUTE, "inverse", dynamics.inverse),
    (COMPUTE, "forward", dynamics.forward),
    (COMPUTE, "simulate", simulate.simulate),
    (COMPUTE, "identify", identify.identify),
    (COMPUTE, "sweep", sweep.sweep),
    (HERE, "bench", bench.bench),
    (HERE, "doctor", doctor.doctor),
    (EXPORT, "cost", cost.cost),
    (EXPORT, "codegen", codegen.codegen),
):
    app.command(name, rich_help_panel=panel)(command)

for short, command in (("id", dynamics.inverse), ("fd", dynamics.forward)):
    app.command(short, hidden=True)(command)

app.add_typer(import_redysim.app, rich_help_panel=GALLERY)


if __name__ == "__main__":
    app()
