"""``kinetree inverse`` and ``kinetree forward``: inverse and forward dynamics of a table of motions, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from ..errors import OptionError
from ..io.tables.columns import column_name
from ..io.units import Quantity, ShownUnits
from ..model.force_units import FORCE_OF
from ..spatial.arrays import Array, time_shares
from .changed_numbers import friction_given
from .completion import complete_joint
from .shared import GivenRobot, Json, Over, Separate, Units, make_console, note, print_json, takes_robot
from .values import read_values

if TYPE_CHECKING:
    from ..robot.robot import Robot


SAMPLES_OF_A_TURN = 360

Motion = Annotated[
    Path | None,
    typer.Argument(
        metavar="MOTION",
        help="Table of states: .csv, .parquet, .npz or .mat; or a folder of .parquet.",
        show_default=False,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Table to write: .csv, .parquet or .npz; or a folder.",
        show_default="none: a line for each joint is printed",
    ),
]  # fmt: skip
Speed = Annotated[
    str | None,
    typer.Option(
        "--speed",
        help="Instead of MOTION: a joint that turns at a constant speed, such as 'motor=60rpm'; the others "
        "follow through loops, or stay.",
        show_default=False,
        autocompletion=complete_joint,
    ),
]
Turns = Annotated[float | None, typer.Option("--turns", help="How many turns, for --speed.", show_default="1")]
Samples = Annotated[
    int | None,
    typer.Option(
        "--samples",
        help="Rows, for --speed: 13 for every 30 degrees of one turn.",
        show_default=f"{SAMPLES_OF_A_TURN} a turn, and the last",
        min=2,
    ),
]
Guess = Annotated[
    str | None,
    typer.Option(
        help="For a mechanism with only its independent joints given: a configuration on the "
        "intended branch, as for 'kinetree simulate'.",
        show_default="as drawn",
    ),
]
Differentiate = Annotated[
    bool, typer.Option("--differentiate", help="The table has only times and positions: smooth and differentiate them.")
]
Cutoff = Annotated[
    float | None,
    typer.Option(help="Cutoff of the filter for --differentiate, in Hz.", show_default="chosen from the noise"),
]
Picture = Annotated[
    Path | None,
    typer.Option(
        "--plot", help="Draw the results over time, or over a joint (--over): .png, .svg, .pdf.", show_default=False
    ),
]
Friction = Annotated[bool, typer.Option("--friction", help="Include the damping and friction of joints.")]
Threads = Annotated[int, typer.Option(help="Number of threads; 0 for one per processor.")]


@takes_robot
def inverse(
    given: GivenRobot, motion: Motion = None, output: Output = None, speed: Speed = None, turns: Turns = None,
    samples: Samples = None, q_guess: Guess = None, differentiate: Differentiate = False, cutoff: Cutoff = None,
    plot: Picture = None, separate: Separate = False, over: Over = None, friction: Friction = False,
    threads: Threads = 0, units: Units = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Compute inverse dynamics: joint forces for every row of a motion.

    The motion has a column for each coordinate, velocity and acceleration, named as in `q_elbow`, `v_elbow`, `a_elbow`
    (or `q0`, `q1`, ...), optionally followed by a unit, as in `q_elbow [deg]`, which is converted. There may be a
    column `time`, which must increase. Names used by other programs, such as `/joint_states/position[0]` or `qd1`, are
    accepted if they are unambiguous, and their interpretation is printed. The order of columns matters only in a table
    without a line of names. The result has the columns `tau_elbow`, ... . Files are read and written in parts, so they
    may be larger than the memory; an error is reported with file and line, and leaves no output file. In `.npz` files,
    the arrays `q`, `v`, `a` and `time` are used. For a mechanism with loops, give all joints, moving as its loops
    allow; or only the independent ones (usually its motors; `kinetree info` names them), and the others follow on the
    branch of `--q-guess`.

    With `--differentiate`, a table of only `time` and positions is differentiated: positions are smoothed according to
    their noise, or passed through a zero-phase filter with `--cutoff`; times need not be evenly spaced. The uncertainty
    of the accelerations, at the ends and between them, is printed.

    The motion may be a folder of Parquet files. If the output has no extension, it is a folder: every million rows
    become a Parquet file, and a run that was killed resumes where it stopped. Without an output, peak, rms and mean of
    each joint are shown.

    With `--over` the position of a joint, such as the angle of a crank, is the first column of the output and the
    horizontal axis of the picture. With `--units` columns of the output are in these units, and say so.

    With `--set` the robot has other numbers. Several values, as in `--set link_2.mass=8,16`, are compared: a table
    shows peak, rms and mean of each joint for every value, and `-o` writes it as .csv. A system of the gallery needs no
    MOTION: it has its own.

    For example:

        kinetree inverse kuka-kr5 --set link_2.mass=8,16
        kinetree inverse four-bar --speed crank_joint=60rpm
        kinetree inverse four-bar --speed crank_joint=60rpm --over crank_joint --units deg -o tau.csv --plot tau.png
        kinetree inverse four-bar --speed crank_joint=60rpm --over crank_joint --units deg --samples 13 -o every-30.csv
        kinetree inverse kuka-kr5 motion.csv
        kinetree inverse kuka-kr5 motion.csv -o tau.csv --plot tau.png
        kinetree inverse four-bar kinetree-results/four-bar/inverse-motion.csv -o tau.parquet
        kinetree inverse four-bar crank.csv -o tau.csv --q-guess crank_joint=0.5
        kinetree inverse panda.urdf motion.parquet -o torques
        kinetree inverse kuka-kr5 positions.csv -o tau.csv --differentiate
    """
    for option, value in (("--turns", turns), ("--samples", samples)):
        if value is not None and speed is None:
            raise OptionError(f"{option} needs --speed")
    if speed is not None and (motion is not None or differentiate):
        raise OptionError(
            "--speed is the motion: leave out the table, and --differentiate. The command takes one robot: --set "
            "compares values of a number, and the studio ('kinetree studio') compares two designs"
        )

    def moved(robot: Robot, start: _Start, folder: Path) -> Path | None:
        if speed is not None:
            return _turning(
                robot, start(), speed, 1.0 if turns is None else turns, samples, folder, ShownUnits.read(units)
            )
        if motion is None and given.of_gallery is not None and not differentiate:
            return _of_gallery(robot, given.of_gallery, folder)
        return motion

    _run(
        given, moved, "inverse_dynamics", output, q_guess, friction, threads, as_json, plot, separate, units, over,
        differentiate, cutoff,
    )  # fmt: skip


@takes_robot
def forward(
    given: GivenRobot, motion: Motion = None, output: Output = None, q_guess: Guess = None, plot: Picture = None,
    separate: Separate = False, over: Over = None, friction: Friction = False, threads: Threads = 0,
    units: Units = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Compute forward dynamics: accelerations for every row of states and joint forces.

    The table has a column for each coordinate, velocity and joint force, named as in `q_elbow`, `v_elbow`,
    `tau_elbow`; the result has the columns `a_elbow`, ... . For everything else, see `kinetree inverse --help`.

    For example:

        kinetree forward kuka-kr5 states.csv -o accelerations.csv
    """
    _run(
        given, lambda *_: motion, "forward_dynamics", output, q_guess, friction, threads, as_json, plot, separate,
        units, over,
    )  # fmt: skip


def _run(
    given: GivenRobot, moved: Callable[[Robot, _Start, Path], Path | None], method: str, output: Path | None,
    q_guess: str | None, friction: bool, threads: int, as_json: bool, plot: Path | None, separate: bool,
    units: str | None, over: str | None, differentiate: bool = False, cutoff: float | None = None,
) -> None:  # fmt: skip
    shown = ShownUnits.read(units)
    if threads < 0:
        raise OptionError(f"--threads must be a number of threads, or 0 for one per processor, not {threads}")
    if separate and plot is None:
        raise OptionError("--separate needs --plot")
    cases = given.load_in_turn()
    if not friction:
        _tell_of_friction(given, [case.robot for case in cases])
    if not cases[0].robot.mass > 0.0:
        note(
            f"{cases[0].robot.name!r} has no mass, so forces of weight and inertia are zero: give its bodies mass, in "
            "a linkage by density, width and thickness or by the mass of each bar"
        )
    several = len(cases) > 1
    if several and output is not None and output.suffix.lower() != ".csv":
        raise OptionError(f"-o {output}: the table that compares values of --set is written as .csv")
    first = cases[0].robot
    named = over if over is None else first.q_names[first.entry_index(over, "q")]
    in_units = units if output is not None and not several and output.suffix.lower() != ".npz" else None
    if units and output is not None and not several and in_units is None:
        note(f"{output} is in SI, since arrays of .npz cannot name a unit: .csv and .parquet can")
    from ..io.atomic_files import beside
    from ..io.packages_above import module_above
    from ..sweeps import over_table

    methods = module_above("kinetree_sweeps.motion_tables.dynamics_by_rows").METHODS
    draw_table = module_above("kinetree_sweeps.motion_tables.table_picture").draw_table

    which, lines, rows, seconds, tables = methods[method][1], [], 0, 0.0, dict[str, Path]()
    with TemporaryDirectory(prefix="kinetree-") as folder:
        for k, (typed, robot) in enumerate(cases):
            start = _Start(robot, given.of_gallery, q_guess)
            motion = moved(robot, start, Path(folder))
            if motion is None:
                more = ", or --speed JOINT=60rpm for a joint that turns" if method == "inverse_dynamics" else ""
                raise OptionError(f"give a table of states as MOTION{more}")
            written = Path(folder) / f"answer-{k}.npz" if several or output is None else output
            done = over_table(
                robot, method, motion, written, friction=friction, threads=threads or None,
                tell=note if k == 0 else lambda _: None, q_guess=start, differentiate=differentiate, cutoff=cutoff,
                over=named, units=in_units,
            )  # fmt: skip
            rows, seconds = rows + done.rows, seconds + done.seconds
            tables[", ".join(f"{n} = {x}" for n, x in typed.items()) if several else ""] = written
            if which == "tau":
                _tell_of_limits(robot, written, "".join(f"with {n}={x}, " for n, x in typed.items() if several))
            if several or output is None:
                own = _by_joint(robot, which, written, named)
                lines += [{"joint": line["joint"], **typed, **line} if several else line for line in own]
        if plot is not None:
            draw_table(first, which, tables, plot, separate, shown, named)
            note(f"wrote {plot}")
    if several:
        lines.sort(key=lambda line: first.v_names.index(line["joint"]))  # the values of a joint side by side
    set_apart = list(cases[0].typed) if several else []
    unit = None if named is None else first.q_units[first.q_names.index(named)]
    if several and output is not None:
        with beside(output) as unfinished:
            unfinished.write_text(_csv(lines, shown, unit, set_apart), encoding="utf-8")
    told = {"output": str(output)} if output else {"joints": lines}
    if as_json:
        print_json({"robot": first.name, "rows": rows, "seconds": seconds} | told)
        return
    console = make_console()
    if lines:
        console.print(_table(lines, shown, unit, set_apart))
    where = f"written to {escape(str(output))}" if output else "not written: -o FILE saves them"
    console.print(f"{rows:,} rows in {seconds:.2f} s, {where}", soft_wrap=True)


def _tell_of_friction(given: GivenRobot, robots: list[Robot]) -> None:
    """Say that friction is left out; refuse to change it."""
    from ..algorithms.joint_friction import rubbing_names

    if changed := friction_given(given.changes):
        raise OptionError(f"--set {', '.join(changed)}: friction is left out of these forces: add --friction")
    if names := list(dict.fromkeys(name for robot in robots for name in rubbing_names(robot.model))):
        owners = "joint {} has" if len(names) == 1 else "joints {} have"
        note(f"{owners.format(', '.join(names))} friction, which is left out: --friction includes it")


def _tell_of_limits(robot: Robot, file: Path, whose: str) -> None:
    """Say which joints would need more than their motors can give."""
    from ..io.packages_above import module_above
    from ..io.paths import is_folder
    from ..io.tables.reading import open_table
    from ..simulation.records.limits_in_words import beyond, in_words

    units_of = module_above("kinetree_sweeps.motion_tables.dynamics_by_rows").units_of

    if is_folder(file) or not np.isfinite(robot.effort_limits).any():
        return
    parts = open_table(file, {"tau": robot.v_names}, None, units_of(robot)).parts()
    sizes = [np.abs(part.read().arrays[0]).max(axis=0, initial=0.0) for part in parts]
    if not sizes:
        return
    for line in in_words({}, beyond(robot.v_names, np.array(sizes), robot.effort_limits)):
        note(f"{whose}{line}")


def _of_gallery(robot: Robot, name: str, folder: Path) -> Path:
    """Write the motion that a system of the gallery has."""
    from ..studies import named_systems

    motion = named_systems.motion(name)
    time = np.linspace(*motion.span, SAMPLES_OF_A_TURN + 1)
    q, v, a = motion.states(time)
    if q.shape[-1] != robot.nq:
        raise OptionError(f"{name!r} moves otherwise with these options: give a table of states as MOTION")
    file = folder / "motion.npz"
    if not file.exists():  # as it does for the next value of --set
        note(f"motion of the gallery: {motion.what}")
    np.savez(file, time=time, q=q, v=v, a=a)
    return file


def _turning(
    robot: Robot, q: Array, speed: str, turns: float, samples: int | None, folder: Path, units: ShownUnits
) -> Path:
    """Write the motion of a robot with one joint turning at a constant speed, from its current position.

    Loops are followed in small steps even for few samples, so that they stay on their branch.
    """
    given = read_values(speed, "--speed", True)
    if not isinstance(given, dict) or len(given) != 1 or not turns > 0.0:
        raise OptionError("--speed: one joint and its speed, such as motor=60rpm, for a number of --turns above 0")
    ((name, (rate,)),) = ((name, value[:1]) for name, value in given.items())
    place = robot.entry_index(name, "q") if robot.joint(name).nv == 1 else -1
    if place < 0 or robot.q_units[place] != "rad" or rate == 0.0:
        raise OptionError(f"--speed: {name!r} must be a joint that turns about one axis, at a speed that is not zero")
    if isinstance(rate, Quantity):
        rate.refuse_other("rad/s", f"--speed: {name!r}")
    file = folder / "turn.npz"
    if not file.exists():  # as it does for the next value of --set
        count = f"{turns:g} turn{'' if turns == 1.0 else 's'}"
        own = f"{units.shown(float(rate), 'rad/s'):g} {units.label('rad/s')}"
        note(f"{name} turns at {own} ({rate * 60.0 / math.tau:.4g} rpm), {count}")
    steps = math.ceil(turns * SAMPLES_OF_A_TURN)
    every = 1 if samples is None else math.ceil(steps / (samples - 1))
    time = np.linspace(0.0, turns * math.tau / abs(rate), (steps if samples is None else every * (samples - 1)) + 1)
    if robot.loops is None:
        path = np.tile(q, (len(time), 1))
        path[:, place] += rate * time
        v, a = np.zeros((2, len(time), robot.nv))
        v[:, robot.joint(name).v_slice] = rate
    else:
        path = robot.follow({name: q[place] + rate * time}, q)
        others = [other for other in robot.independent(q) if other != name] if robot.mobility(q).freedoms > 1 else []
        v = robot.velocities(path, dict.fromkeys(others, 0.0) | {name: rate})
        a = robot.accelerations(path, v, dict.fromkeys([*others, name], 0.0))
    np.savez(file, time=time[::every], q=path[::every], v=v[::every], a=a[::every])
    return file


def _by_joint(robot: Robot, which: str, file: Path, over: str | None = None) -> list[dict[str, Any]]:
    """Return peak, root mean square and mean over time of what was computed, joint by joint."""
    with np.load(file) as answer:
        values, time = answer[which], answer.get("time")
        across = None if over is None else answer[column_name(f"q_{over}")]
    units = [FORCE_OF.get(x, x) if which == "tau" else f"{x}/s^2" for x in robot.v_units]
    found, shares = [], _shares(time, len(values))
    for name, own, column in zip(robot.v_names, units, values.T, strict=True):
        peak = int(np.argmax(np.abs(column))) if len(column) else None
        found.append(
            {
                "joint": name, "unit": own, "peak": None if peak is None else float(column[peak]),
                "time": None if peak is None or time is None else float(time[peak]),
                "rms": float(np.sqrt(shares @ column**2)) if len(column) else None,
                "mean": float(shares @ column) if len(column) else None,
            } | ({} if across is None else {"at": None if peak is None else float(across[peak])})
        )  # fmt: skip
    return found


def _shares(time: Array | None, count: int) -> Array:
    """Return the share of the time that each row represents; equal shares if there are no times."""
    if time is None or count < 2 or not np.all(np.diff(time) >= 0.0) or time[-1] == time[0]:
        return np.full(count, 1.0 / max(count, 1))
    return time_shares(time)


def _table(lines: list[dict[str, Any]], units: ShownUnits, over: str | None, set_apart: list[str]) -> Table:
    """Show a line for each joint, or each value of ``--set``; peaks at a time, or where a joint is."""
    table = Table("joint", box=None, pad_edge=False)
    at, of_at = ("time", "s") if over is None else ("at", over)
    for heading in (*map(escape, set_apart), "peak", f"at, {units.label(of_at)}", "rms", "mean"):
        table.add_column(heading, justify="right")
    table.add_column("")
    before = None
    for line in lines:
        numbers = [(line[key], of_at if key == at else line["unit"]) for key in ("peak", at, "rms", "mean")]
        shown = ["" if x is None else f"{units.shown(x, unit):.5g}" for x, unit in numbers]
        joint, before = "" if line["joint"] == before else line["joint"], line["joint"]
        table.add_row(escape(joint), *(escape(line[name]) for name in set_apart), *shown, units.label(line["unit"]))
    return table


def _csv(lines: list[dict[str, Any]], units: ShownUnits, over: str | None, set_apart: list[str]) -> str:
    """Return the same table for a file; the last column names the unit of peak, rms and mean."""
    from ..io.tables.writing import csv_text  # completing an option does not need it

    at, of_at = ("time", "s") if over is None else ("at", over)
    columns: dict[str, list[Any]] = {key: [line[key] for line in lines] for key in ("joint", *set_apart)}
    for key, name in (("peak", "peak"), (at, f"{at} [{units.label(of_at)}]"), ("rms", "rms"), ("mean", "mean")):
        numbers = [(line[key], of_at if key == at else line["unit"]) for line in lines]
        columns[name] = ["" if x is None else units.shown(x, unit) for x, unit in numbers]
    return csv_text(columns | {"unit": [units.label(line["unit"]) for line in lines]})


@dataclass(frozen=True)
class _Start:
    """Finds a closed configuration on the intended branch, if one is needed."""

    robot: Robot
    system: str | None
    q_guess: str | None

    @property
    def is_given(self) -> bool:
        """Whether the user gave one."""
        return self.q_guess is not None

    def __call__(self) -> Array:
        from ..studies import simulation_setup

        wanted = read_values(self.q_guess, "--q-guess", True)
        return simulation_setup.configuration(self.robot, wanted, self.system, "--q-guess")
