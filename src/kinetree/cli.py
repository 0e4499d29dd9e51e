"""The command line: ``kinetree info``, ``kinetree cost``, ``kinetree codegen``.

Exit codes: 0 for success, 1 for a robot or a request that cannot be (one red line says
why), 2 for a command line that cannot be read.
"""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

from .errors import KinetreeError, KinetreeWarning, OptionError

if TYPE_CHECKING:
    from .cost import Compared, Costed, Fitted
    from .robot import Robot

WIDTH_OF_FILES = 200
"""Columns of output that is not shown on a terminal."""


class _Group(TyperGroup):
    """Commands whose foreseeable errors are one line, not a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            with _warnings_as_lines():
                return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (KinetreeError, OSError) as problem:
            _complain("red", "error", str(problem))
            raise typer.Exit(1) from None


app = typer.Typer(
    name="kinetree",
    cls=_Group,
    help="Dynamics of robots and mechanisms: look at a robot file, count operations, write C.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Show our warnings in yellow, one line each, without the place in the code."""

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, KinetreeWarning):
            _complain("yellow", "warning", str(message))
        else:
            usual(message, category, *place, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", KinetreeWarning)
        usual = warnings.showwarning
        warnings.showwarning = show
        yield


def _complain(colour: str, word: str, message: str) -> None:
    line = "; ".join(part.strip() for part in message.splitlines() if part.strip())
    Console(stderr=True, highlight=False).print(f"[bold {colour}]{word}:[/] {escape(line)}", soft_wrap=True)


def _console() -> Console:
    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_OF_FILES)


def _print_json(data: Any) -> None:
    sys.stdout.write(json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    """Numbers JSON does not have become null; everything else what JSON has."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)


# ------------------------------------------------------------------ what commands share

File = Annotated[Path, typer.Argument(help="Robot file: .urdf, .xml (MJCF or URDF) or .yaml.", show_default=False)]
FloatingBase = Annotated[bool, typer.Option("--floating-base", help="Put the root link on a free joint.")]
Mimic = Annotated[str, typer.Option(help="Joints that mimic others: 'follow' their leader, or 'independent'.")]
Strict = Annotated[bool, typer.Option("--strict", help="Treat oddities, such as impossible inertias, as errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def _load(file: Path, floating_base: bool, mimic: str, strict: bool) -> Robot:
    from .load import load

    return load(file, floating_base=floating_base, mimic=mimic, strict=strict)


def _show_version(wanted: bool) -> None:
    if wanted:
        from . import __version__

        sys.stdout.write(f"kinetree {__version__}\n")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Dynamics of robots and mechanisms: look at a robot file, count operations, write C."""


# ------------------------------------------------------------------ info


@app.command()
def info(
    file: File,
    floating_base: FloatingBase = False,
    mimic: Mimic = "follow",
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Show a robot: its tree, joints, masses, limits and frames."""
    robot = _load(file, floating_base, mimic, strict)
    if as_json:
        _print_json(_describe(robot))
    else:
        _console().print(escape(robot.describe()), soft_wrap=True)


def _describe(robot: Robot) -> dict[str, Any]:
    model = robot.model
    names = [robot.base_name, *robot.body_names]  # a parent of -1 is the base
    joints = [
        {
            "name": joint.name, "kind": joint.kind.name, "parent": names[joint.parent + 1], "body": body,
            "q": [joint.q_slice.start, joint.q_slice.stop], "v": [joint.v_slice.start, joint.v_slice.stop],
            "lower": joint.lower, "upper": joint.upper, "velocity_limit": joint.velocity_limit,
            "effort_limit": joint.effort_limit, "damping": joint.damping, "friction": joint.friction,
            "armature": joint.armature, "actuated": joint.actuated,
            "mimic": dataclasses.asdict(joint.mimic) if joint.mimic else None,
        }
        for joint, body in zip(model.joints, robot.body_names, strict=True)
    ]  # fmt: skip
    return {
        "name": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "mass": robot.mass,
        "gravity": list(model.gravity),
        "floating_base": robot.is_floating,
        "base": robot.base_name,
        "joints": joints,
        "bodies": [
            {"name": b.name, "mass": b.mass, "com": b.mass_properties.com, "inertia": b.mass_properties.inertia}
            for b in model.bodies
        ],
        "frames": robot.frame_names,
    }


# ------------------------------------------------------------------ cost


@app.command()
def cost(
    file: File,
    floating_base: FloatingBase = False,
    mimic: Mimic = "follow",
    strict: Strict = False,
    formulas: Annotated[
        bool, typer.Option(help="Also find formulas in n, by counting general chains; takes a few seconds.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Count the operations of every algorithm, beside what the literature publishes."""
    from . import cost as costs

    robot = _load(file, floating_base, mimic, strict)
    counted, compared = costs.all_costs(robot), costs.published(robot)
    fits = _fits() if formulas else []
    if as_json:
        _print_json(_cost_data(robot, counted, compared, fits))
        return
    console = _console()
    console.print(_counted_table(robot, counted))
    for row in counted:
        if row.operations is None:
            console.print(f"[dim]{row.name}: {escape(row.reason)}[/]", soft_wrap=True)
    console.print(_published_table(robot, counted, compared))
    if any(row.without_bias for row, _ in compared):
        console.print("[dim]* with the bias force given, which takes one inverse dynamics more[/]")
    if fits:
        console.print(_fitted_table(fits))


def _fits() -> list[Fitted]:
    from . import cost as costs

    status = Console(stderr=True)
    if not status.is_terminal:
        return costs.all_fits()
    with status.status("counting general chains"):
        return costs.all_fits()


def _options(options: Mapping[str, Any]) -> str:
    shown = {k: ", ".join(v) if k == "frames" else v for k, v in options.items() if k != "known"}
    return ", ".join(f"{k}={v}" for k, v in shown.items())


def _counted_table(robot: Robot, counted: Sequence[Costed]) -> Table:
    table = Table(title=f"Operations of one evaluation on {escape(robot.name)}", title_justify="left")
    table.add_column("algorithm")
    for heading in ("M", "A", "divisions", "sines", "roots", "others", "total"):
        table.add_column(heading, justify="right")
    for name, options, count, _ in counted:
        label = name + (f" [dim]{escape(_options(options))}[/]" if options else "")
        if count is None:
            table.add_row(label, *["-"] * 7)
            continue
        numbers = (
            count.multiplications, count.additions, count.divisions, count.sines, count.square_roots, count.others,
            count.total,
        )  # fmt: skip
        table.add_row(label, *(str(x) for x in numbers))
    return table


def _published_table(robot: Robot, counted: Sequence[Costed], compared: Sequence[Compared]) -> Table:
    from .cost import joint_variables

    v = joint_variables(robot)
    base = "floating base" if robot.is_floating else "fixed base"
    title = (
        f"Published for revolute joints, {base}, n = {v.n} (n1 = {v.n1}, n2 = {v.n2}, n3 = {v.n3}); M with divisions"
    )
    table = Table(title=title, title_justify="left")
    for heading in ("algorithm", "by", "M", "A", "for this n", "printed in"):
        table.add_column(heading)
    for algorithm in dict.fromkeys(row.algorithm for row, _ in compared):
        for name, options, count, _ in counted:
            if name == algorithm and count is not None:
                ours = f"{count.multiplications + count.divisions}M {count.additions}A"
                table.add_row(name, f"kinetree {escape(_options(options))}", "", "", ours, "counted", style="bold")
        for row, value in compared:
            if row.algorithm == algorithm:
                star = "*" if row.without_bias else ""
                formulas = str(row.multiplications), str(row.additions)
                table.add_row(algorithm + star, row.author, *formulas, str(value), row.source)
    return table


def _fitted_table(fits: Sequence[Fitted]) -> Table:
    table = Table(title="kinetree on general chains, n joint variables", title_justify="left")
    for heading in ("algorithm", "joints", "M", "A", "divisions", "for n from"):
        table.add_column(heading)
    for f in fits:
        joint = f.joint + (" as hinges" if f.single else "")
        formulas = (f.multiplications, f.additions, f.divisions)
        table.add_row(f.algorithm, joint, *(str(x) for x in formulas), str(f.valid_from))
    return table


def _cost_data(
    robot: Robot, counted: Sequence[Costed], compared: Sequence[Compared], fits: Sequence[Fitted]
) -> dict[str, Any]:
    from .cost import joint_variables

    return {
        "robot": robot.name,
        "joint_variables": joint_variables(robot)._asdict(),
        "floating_base": robot.is_floating,
        "algorithms": [
            {"name": c.name, "options": dict(c.options)}
            | (c.operations.to_dict() if c.operations is not None else {"unavailable": c.reason})
            for c in counted
        ],
        "published": [
            {
                "algorithm": row.algorithm, "author": row.author, "source": row.source, "note": row.note,
                "without_bias": row.without_bias,
                "formulas": {"M": str(row.multiplications), "A": str(row.additions)},
                "M": float(value.multiplications), "A": float(value.additions),
            }
            for row, value in compared
        ],
        "fitted": [
            {
                "algorithm": f.algorithm, "joint": f.joint, "as_hinges": f.single, "valid_from": f.valid_from,
                "checked_to": f.checked_to,
                "formulas": {"M": str(f.multiplications), "A": str(f.additions), "divisions": str(f.divisions)},
            }
            for f in fits
        ],
    }  # fmt: skip


# ------------------------------------------------------------------ codegen


@app.command()
def codegen(
    file: File,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the files; made if missing.")] = Path("."),
    algorithm: Annotated[
        list[str] | None,
        typer.Option("--algorithm", "-a", help="Algorithm to write; may be given several times.", show_default=False),
    ] = None,
    frame: Annotated[
        list[str] | None,
        typer.Option("--frame", "-f", help="Frame of jacobian, pose, ...; may be given several times."),
    ] = None,
    axes: Annotated[str, typer.Option(help="Axes of velocities and jacobians: body, world or aligned.")] = "body",
    method: Annotated[str, typer.Option(help="Method of forward dynamics.")] = "articulated_body",
    prefix: Annotated[str | None, typer.Option(help="In front of all names; by default the robot's name.")] = None,
    single: Annotated[bool, typer.Option("--float", help="Use float instead of double.")] = False,
    own_math: Annotated[bool, typer.Option("--own-math", help="Do without math.h.")] = False,
    fma: Annotated[bool, typer.Option("--fma", help="Use fma() wherever a product is added.")] = False,
    wrenches: Annotated[bool, typer.Option("--wrenches", help="Let dynamics take a wrench on every body.")] = False,
    reentrant: Annotated[bool, typer.Option("--reentrant", help="Temporaries on the stack, not static.")] = False,
    states: Annotated[int, typer.Option(help="States in the test program.")] = 4,
    floating_base: FloatingBase = False,
    mimic: Mimic = "follow",
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Write algorithms as C99 without allocation: a source file, a header and a test program.

    By default inverse and forward dynamics. An example:

    kinetree codegen arm.urdf -o build -a inverse_dynamics -a jacobian -f tool
    """
    from .codegen import codegen as write

    robot = _load(file, floating_base, mimic, strict)
    names = algorithm or ["inverse_dynamics", "forward_dynamics"]
    exported = write(
        robot, output, _requests(names, frame or [], axes, method), prefix=prefix,
        precision="single" if single else "double", own_math=own_math, fma=fma, wrenches=wrenches,
        reentrant=reentrant, states=states,
    )  # fmt: skip
    if as_json:
        functions = {name: count.to_dict() for name, count in exported.functions.items()}
        _print_json({"files": [str(path) for path in exported.files], "functions": functions})
        return
    console = _console()
    for path in exported.files:
        console.print(f"wrote {escape(str(path))}", soft_wrap=True)
    for name, count in exported.functions.items():
        console.print(f"  {name}: {count}", soft_wrap=True)


def _requests(names: Sequence[str], frames: Sequence[str], axes: str, method: str) -> list[Any]:
    """Algorithms with the options of the command line that they take; one per frame where frames matter."""
    from .catalogue import find
    from .codegen import option_names

    requests: list[Any] = []
    used = False
    for name in names:
        known = option_names(find(name))
        options = {k: v for k, v in (("axes", axes), ("method", method)) if k in known}
        if "frame" in known and frames:
            used = True
            requests += [(name, options | {"frame": frame}) for frame in frames]
        elif "frames" in known and frames:
            used = True
            requests.append((name, options | {"frames": tuple(frames)}))
        else:
            requests.append((name, options))
    if frames and not used:
        raise OptionError(f"--frame is of no use to {', '.join(names)}")
    return requests


if __name__ == "__main__":
    app()
