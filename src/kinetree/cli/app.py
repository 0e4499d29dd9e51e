"""The command line; each command is a file of this folder, imported when it is used.

Exit codes: 0 for success, 1 for an invalid robot, file or request (one red line says
why), 2 for a usage error, 3 for a study in which a fact that should hold
does not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from ..errors import KinetreeError, OutputError
from ..version import VERSION
from .error_wording import as_options, worded
from .shared import ERROR, complain, flush_answer, prepare_streams, warnings_as_lines

HELP = """Dynamics of robots and mechanisms: inspect a robot, compute with it, simulate it, view it.

Wherever a ROBOT is required, give a file (URDF, SDF, MJCF, YAML, .par) or a name that 'kinetree list' shows.

Exit codes: 0 success; 1 an error, reported in one line; 2 usage error; 3 a study in which
a fact that should hold does not.
"""


GALLERY, LOOK, COMPUTE, EXPORT = "Gallery and studies", "Look", "Compute", "Count and write"
HERE = "On this machine"


class Command(NamedTuple):
    """A command: where its function is, and its line in ``kinetree --help``."""

    panel: str
    name: str
    function: str
    summary: str
    hidden: bool = False


COMMANDS = (
    Command(
        GALLERY, "list", ".cli.listing:list_all",
        "List the gallery: every system and study of the sources, one line each."
    ),
    Command(
        GALLERY, "run", ".cli.run:run",
        "Run studies: compute, check what the sources state, write a folder with plots, data and summaries.",
    ),
    Command(
        GALLERY, "new", ".cli.new:new",
        "Write a commented file that describes a study: robot, motion, controller, ground, outputs.",
    ),
    Command(GALLERY, "import", ".cli.import_redysim:app", "Import models from other programs."),
    Command(
        LOOK, "info", ".cli.info:info",
        "Show a robot: its tree, joints, masses, limits, frames; for a mechanism also loops and remaining freedoms.",
    ),
    Command(
        LOOK, "view", ".cli.view:view",
        "Show a robot in the browser: play its motion, drag its joints, look at forces and energy.",
    ),
    Command(
        LOOK, "page", ".cli.page:page",
        "Write a page in which a robot can be changed, moved and simulated, without Python.",
    ),
    Command(
        LOOK, "studio", ".cli.studio:studio",
        "Build, move and run robots in the browser: bodies, joints, linkages by points, tables of arms.",
    ),
    Command(
        COMPUTE, "inverse", ".cli.dynamics:inverse", "Compute inverse dynamics: joint forces for every row of a motion."
    ),
    Command(
        COMPUTE, "forward", ".cli.dynamics:forward",
        "Compute forward dynamics: accelerations for every row of states and joint forces.",
    ),
    Command(
        COMPUTE, "equilibrium", ".cli.equilibrium:equilibrium",
        "Find where a robot comes to rest under its weight and springs, and what holds it there.",
    ),
    Command(COMPUTE, "simulate", ".cli.simulate:simulate", "Simulate the motion of a robot, and keep a record of it."),
    Command(
        COMPUTE, "identify", ".cli.identify:identify", "Identify masses, inertias and friction from measured motions."
    ),
    Command(
        COMPUTE, "sweep", ".cli.sweep:sweep", "Compute a study for every row of a design; resume an interrupted sweep."
    ),
    Command(
        COMPUTE, "design", ".cli.design:design",
        "Search for dimensions of a mechanism that do what is wanted, within limits.",
    ),
    Command(
        HERE, "bench", ".cli.bench:bench",
        "Time inverse and forward dynamics on this machine, compared with Pinocchio if it is installed.",
    ),
    Command(
        HERE, "doctor", ".cli.doctor:doctor",
        "Report what is installed, how machine code is made and where it is kept; time and check one robot.",
    ),
    Command(
        EXPORT, "cost", ".cli.cost:cost",
        "Count the operations of every algorithm, and compare with published counts."
    ),
    Command(
        EXPORT, "equations", ".cli.equations:equations",
        "Show the equations of motion of a small robot, as text or as LaTeX."
    ),
    Command(
        EXPORT, "codegen", ".cli.codegen:codegen",
        "Write algorithms as C99 without allocation: a source file, a header and a test program.",
    ),
    Command(
        EXPORT, "fmu", ".cli.fmu:write_fmu",
        "Write a robot with everything around it as an FMU, for Simulink, OpenModelica, Dymola and others.",
    ),
    Command(COMPUTE, "id", ".cli.dynamics:inverse", "inverse", hidden=True),
    Command(COMPUTE, "fd", ".cli.dynamics:forward", "forward", hidden=True),
)  # fmt: skip


FORMER_OPTIONS = {
    ".cli.simulate:simulate": {"--initial": "--q0", "--velocity": "--v0"},
    ".cli.dynamics:inverse": {"--initial": "--q-guess"},
    ".cli.dynamics:forward": {"--initial": "--q-guess"},
}
"""Former names of options, by command; they will be removed in release 0.3."""


def _of_today(word: str, command: str) -> str:
    """Return a word of the command line, with former names of options replaced by current ones."""
    former, equals, value = word.partition("=")
    today = FORMER_OPTIONS.get(command, {}).get(former)
    if today is None:
        return word
    complain("yellow", "warning", f"{former} is now {today}; the former name will be removed in 0.3")
    return today + equals + value


def _plain(options: list[Any]) -> list[Any]:
    """Show flags without a type, since they take no value, and words for defaults in one pair of brackets."""
    for option in options:
        if getattr(option, "is_flag", False):
            option.metavar = ""
        usual = getattr(option, "show_default", None)
        if isinstance(usual, str) and option.help:
            option.help, option.show_default = f"{option.help} [default: {usual}]", False
    return options


class _TerseCommand(TyperCommand):
    """A command with concise help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, including that of the help."""
        return _plain(super().get_params(ctx))


class _CommandGroup(TyperGroup):
    """Commands whose expected errors are one line, not a traceback."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, including that of the help."""
        return _plain(super().get_params(ctx))

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Read the command line and run its command."""
        prepare_streams()
        try:
            return super().main(*arguments, **options)
        except OutputError as problem:  # help or version, with standard output closed
            complain("red", "error", str(problem))
            sys.exit(ERROR)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the requested command, of which only a line of help was known until now."""
        for command in COMMANDS:
            if args and command.name == args[0]:
                self.add_command(imported(command), command.name)
                args[1:] = [_of_today(word, command.function) for word in args[1:]]
        return super().resolve_command(ctx, args)

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


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"kinetree {VERSION}\n")
        raise typer.Exit


@app.callback(help=HELP)
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Read the options before the command."""


def imported(command: Command) -> Any:
    """Import a command as a click command."""
    module, _, name = command.function.partition(":")
    function = getattr(import_module(module, "kinetree"), name)
    if isinstance(function, typer.Typer):
        return typer.main.get_command(function)
    alone = typer.Typer(add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False)
    alone.command(command.name, cls=_TerseCommand, hidden=command.hidden)(function)
    return typer.main.get_command(alone)


def _line_of_help(command: Command) -> Callable[[], None]:
    def stands_for_it() -> None:
        raise NotImplementedError

    stands_for_it.__doc__ = command.summary
    return stands_for_it


for command in COMMANDS:
    app.command(command.name, rich_help_panel=command.panel, hidden=command.hidden)(_line_of_help(command))


if __name__ == "__main__":
    app()
