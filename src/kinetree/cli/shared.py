"""Common parts of commands: printing, error messages, options, loading robots."""

from __future__ import annotations

import inspect
import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ..errors import KinetreeWarning, OptionError, OutputError, UnknownNameError, printable
from ..io.gallery_files import gallery_names, only_a_study
from .changed_numbers import Case, Set, changed, changed_in_turn, moves_joints
from .completion import ROBOT_FILES, complete_coordinate, complete_joint, complete_robot
from .error_wording import Write, worded
from .values import read_values

if TYPE_CHECKING:
    from ..robot.robot import Robot

WIDTH_OF_FILES = 200
"""Width of output that does not go to a terminal."""

LOOP_KEYS, LINES_READ = {"closed_loop", "loops"}, 200
"""How a file with loops is recognized, and how much of it is read for that."""

NAME_IN_XML = re.compile(r"""\bname\s*=\s*["']([^"']*)["']""")
"""Names of links, joints and frames of a URDF file."""

ERROR, USAGE, FACT_FAILS, INTERRUPTED = 1, 2, 3, 130
"""Exit codes: something is not possible; the command line cannot be read; a fact that should hold does not; Ctrl-C."""


# ------------------------------------------------------------------ printing


class _HarmlessConsole(Console):
    r"""A console on which names cannot control the terminal: unprintable characters are escaped, like ``\x1b``."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Make text of what is printed, alone or in a table."""
        return super().render_str(printable(text, keep="\n\t"), **options)


def make_console() -> Console:
    """Return the console for results."""
    return _HarmlessConsole(highlight=False, width=None if sys.stdout.isatty() else WIDTH_OF_FILES)


def messages() -> Console:
    """Return the console for everything else: notes and error messages."""
    return _HarmlessConsole(stderr=True, highlight=False)


class _ClosedOutput(io.TextIOBase):
    """Replaces a closed standard output, so that printing raises an error."""

    def writable(self) -> bool:
        """Return True, so that printing is attempted and raises its error."""
        return True

    def write(self, text: str) -> int:
        """Refuse."""
        raise OutputError("standard output is closed, so results cannot be printed: send them to a file or /dev/null")


def prepare_streams() -> None:
    """Make sure that printing cannot fail in the middle of a name, or for lack of a stream."""
    if sys.stdout is None:
        sys.stdout = _ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush_answer() -> None:
    """Flush printed results while errors can still be reported."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as problem:
        with suppress(OSError, ValueError):  # discard what is left in the stream when Python ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputError(f"the results cannot be printed: {problem.strerror or problem}") from None


def note(message: str) -> None:
    """Print a line in addition to the results, such as which file was written."""
    messages().print(f"[dim]{escape(message)}[/]", soft_wrap=True)


def complain(color: str, word: str, message: str) -> None:
    """Print one line that begins with the kind of problem."""
    line = "; ".join(part.strip() for part in message.splitlines() if part.strip()).replace(":; ", ": ")
    messages().print(f"[bold {color}]{word}:[/] {escape(line)}", soft_wrap=True)


@contextmanager
def warnings_as_lines(write: Callable[[], Write]) -> Iterator[None]:
    """Show kinetree's warnings in yellow, one line each, without the place in the code.

    write: Called if there is a warning; returns the function that writes the settings mentioned in it.
    """

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if isinstance(message, KinetreeWarning):
            complain("yellow", "warning", worded(message, write()))
        else:
            usual(message, category, *place, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", KinetreeWarning)
        usual = warnings.showwarning
        warnings.showwarning = show
        yield


def new_table(title: str, *headings: str) -> Table:
    """Return a table for the terminal; columns whose heading begins with ">" are numbers, those with "!" stay whole."""
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(
            heading.lstrip(">!"), justify="right" if heading[:1] == ">" else "left", no_wrap=heading[:1] == "!"
        )
    return table


def print_json(data: Any) -> None:
    """Print results for scripts."""
    from ..io.plain_json import json_text

    sys.stdout.write(json_text(data))


# ------------------------------------------------------------------ robots


def mention_loop_file(robot: str | Path) -> None:
    """Mention a file with loops, which URDF cannot express, next to a URDF file."""
    path = Path(robot)
    if path.suffix.lower() != ".urdf" or not path.is_file():
        return
    for file in sorted([*path.parent.glob("*.yaml"), *path.parent.glob("*.yml")]):
        with suppress(OSError, UnicodeDecodeError), file.open(encoding="utf-8") as lines:
            starts = [line.split(":")[0] for line in islice(lines, LINES_READ)]
            if LOOP_KEYS & {*starts} and "bodies" not in starts and _joins(file, path):  # a whole robot has bodies
                note(f"{file.name} is next to {path.name} and has joints that close loops: --loops {file} uses them")
                return


def _joins(side: Path, robot: Path) -> bool:
    """Return whether a file with loops is about a URDF robot: whether all that it joins has a name there."""
    import yaml

    try:
        given = yaml.safe_load(side.read_text(encoding="utf-8"))
    except yaml.YAMLError:
        return False
    joined = [end for pair in _listed(given, "closed_loop") if isinstance(pair, list) for end in pair]
    loops = [loop for loop in _listed(given, "loops") if isinstance(loop, dict)]
    joined += [loop[key] for loop in loops for key in ("predecessor", "successor") if key in loop]
    names = {*NAME_IN_XML.findall(robot.read_text(encoding="utf-8")), "base", "world"}
    return bool(joined) and {str(end) for end in joined} <= names


def _listed(given: Any, key: str) -> list[Any]:
    found = given.get(key) if isinstance(given, dict) else None
    return found if isinstance(found, list) else []


def read_symbols(texts: Sequence[str]) -> dict[str, float]:
    """Return numbers for symbols as typed: D3=0.45, or a file with them."""
    from ..model.formats.values_file import ENDINGS, symbol_values

    found: dict[str, float] = {}
    for text in texts:
        if "=" not in text and text.lower().endswith(ENDINGS):
            found |= symbol_values(text)
            continue
        given = read_values(text, "--values", True)
        if not isinstance(given, dict) or any(len(x) != 1 for x in given.values()):
            raise OptionError(
                f"--values: give symbols with a number each, as in D3=0.45, or a .yaml, .json or .csv file; not "
                f"{text!r}"
            )
        found |= {name: x for name, (x,) in given.items()}
    return found


# ------------------------------------------------------------------ arguments and options

RobotName = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT",
        help="Robot file (.urdf, .sdf, .xml with MJCF or URDF, .par, .yaml), or the name of a system in the gallery.",
        show_default=False,
        autocompletion=complete_robot,
    ),
]
FloatingBase = Annotated[bool, typer.Option("--floating-base", help="Put the root link on a free joint.")]
Mimic = Annotated[
    str, typer.Option(help="Joints that mimic others: 'follow' their leader, 'couple' to it, or 'independent'.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Treat problems, such as impossible inertias, as errors.")]
MissingMeshes = Annotated[
    str,
    typer.Option(
        help="Bodies of an MJCF file whose inertia is to be computed from meshes that are missing: 'refuse', or "
        "'massless'."
    ),
]
Separate = Annotated[bool, typer.Option("--separate", help="Draw a panel for each joint, each with its own scale.")]
Locked = Annotated[
    list[str] | None,
    typer.Option(
        "--locked",
        help="Joints to lock, with their positions: 'finger=0.02', 'wrist=90deg', or 'finger' for zero; separated "
        "by commas, or repeated.",
        show_default=False,
        autocompletion=complete_joint,
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--values",
        help="Numbers for symbols of a .par file: 'D3=0.45,RL4=0.5', or a .yaml, .json or .csv file of them; may be "
        "repeated.",
        show_default=False,
    ),
]
Loops = Annotated[
    Path | None,
    typer.Option("--loops", help="YAML file with the joints that close loops, for a URDF file.", show_default=False),
]
Units = Annotated[
    str | None,
    typer.Option(
        "--units",
        help="Units to show, and to write with -o into .csv and .parquet, instead of SI, such as deg,mm,rpm.",
        show_default=False,
    ),
]
Over = Annotated[
    str | None,
    typer.Option(
        "--over", metavar="JOINT", show_default="time", autocompletion=complete_coordinate,
        help="Joint whose position replaces time as the horizontal axis of a picture, such as that of a crank.",
    ),
]  # fmt: skip
Workers = Annotated[
    int | None, typer.Option(help="Processes on this machine; 0 for this one only.", show_default="one per processor")
]
Cluster = Annotated[
    str | None,
    typer.Option(help="Address of a Dask scheduler to compute at, such as tcp://host:8786.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


@dataclass(frozen=True)
class GivenRobot:
    """A robot as named on the command line, and the options with which it is loaded."""

    robot_name: RobotName
    floating_base: FloatingBase = False
    mimic: Mimic = "follow"
    strict: Strict = False
    missing_meshes: MissingMeshes = "refuse"
    locked: Locked = None
    values: Values = None
    loops: Loops = None
    changes: Set = None

    @classmethod
    def parameters(cls) -> list[inspect.Parameter]:
        """Return the parameters that typer reads."""
        return list(inspect.signature(cls, eval_str=True).parameters.values())

    @property
    def of_gallery(self) -> str | None:
        """Name of the robot in the gallery, if it is from there and its joints are all there and where they were."""
        own = self.robot_name in gallery_names() and not self.locked and not moves_joints(self.changes)
        return self.robot_name if own else None

    def load(self) -> Robot:
        """Load a system of the gallery by its name, or a robot file, perhaps with joints locked and other numbers."""
        return changed(self._as_in_file(), self.changes)

    def load_in_turn(self) -> list[Case]:
        """Load the robot once per value of ``--set``: with the first values, then with the second ones, and so on."""
        return changed_in_turn(self._as_in_file(), self.changes)

    def _as_in_file(self) -> Robot:
        options = loading_options(self.robot_name, self.floating_base, self.missing_meshes, self.values, self.loops)
        found = _loaded(self.robot_name, options | {"mimic": self.mimic, "strict": self.strict})
        words = [word for text in self.locked or () for word in text.replace(",", " ").split()]
        placed: dict[str, Any] = dict.fromkeys(word for word in words if "=" not in word)
        for word in words:
            if "=" in word:
                ((name, value),) = read_values(word, "--locked", True).items()
                if name in placed:
                    raise OptionError(f"--locked: {name!r} is given more than once")
                placed[name] = value
        return found.reduced(placed) if placed else found


def loading_options(
    robot: str, floating_base: bool, missing_meshes: str, values: Sequence[str] | None, loops: Path | None
) -> dict[str, Any]:
    """Return what differs from how files are usually loaded; mention a file with loops that nobody asked for."""
    if loops is None:
        mention_loop_file(robot)
    symbols = read_symbols(values) if values else None
    given: dict[str, Any] = {"floating_base": floating_base, "values": symbols, "loops": loops}
    given["missing_meshes"] = None if missing_meshes == "refuse" else missing_meshes
    return {name: value for name, value in given.items() if value}


def _loaded(robot: str | Path, options: dict[str, Any]) -> Robot:
    from ..robot.load import load
    from ..studies import named_systems

    if str(robot) in gallery_names():
        options.pop("missing_meshes", None)
        return named_systems.load(str(robot), **options)
    path = Path(robot)
    if path.suffix.lower() not in ROBOT_FILES and len(path.parts) < 2 and not path.exists():
        what, study = "robot file or system of the gallery", only_a_study(str(robot))
        raise UnknownNameError(what, str(robot), gallery_names(), instead=study, most=8)
    return load(path, **options)


def takes_robot(command: Callable[..., None]) -> Callable[..., None]:
    """Add the argument and options of a robot to a command whose first parameter is a :class:`GivenRobot`."""
    name, *loading = GivenRobot.parameters()
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]

    @wraps(command)
    def typed(**values: Any) -> None:
        robot = GivenRobot(**{key.name: values.pop(key.name) for key in (name, *loading)})
        command(robot, **values)

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (name, *own, *loading)]
    typed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    typed.__annotations__ = {p.name: p.annotation for p in parameters}
    return typed
