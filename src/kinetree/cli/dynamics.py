"""``kinetree inverse`` and ``kinetree forward``: inverse and forward dynamics of a table of motions, row by row."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from ..errors import FileFormatError, KinetreeError, OptionError
from ..io.progress import Bar
from ..io.tables.columns import Wanted
from ..io.tables.reading import OpenTable, Part, open_table
from ..io.tables.writing import Sink, new_table
from ..model.units import FORCE_OF
from ..robot.mechanism import Mechanism
from .differentiated_table import differentiated_table, has_positions_only
from .independent_joints import Law, fewer_columns, followed, following
from .shared import (
    FloatingBase,
    Json,
    Mimic,
    RobotName,
    Strict,
    load_robot,
    make_console,
    note,
    print_json,
)
from .values import read_values

if TYPE_CHECKING:
    from ..robot.robot import Robot

Array = np.ndarray

Motion = Annotated[
    Path, typer.Argument(metavar="MOTION", help="Table of states: .csv, .parquet or .npz.", show_default=False)
]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="Table to write: .csv, .parquet or .npz.", show_default=False)
]
Initial = Annotated[
    str | None,
    typer.Option(
        help="Of a mechanism of which only the independent joints are given: a configuration on the branch that is "
        "meant, given as to 'kinetree simulate'.",
        show_default="as drawn",
    ),
]
Differentiate = Annotated[
    bool,
    typer.Option(
        "--differentiate",
        help="The table has times and positions only: filter these without a phase, and differentiate them.",
    ),
]
Cutoff = Annotated[
    float | None,
    typer.Option(help="Of the filter of --differentiate, in Hz.", show_default="by the spectrum of the motion"),
]
Friction = Annotated[bool, typer.Option("--friction", help="With the joints' own damping and friction.")]
Threads = Annotated[int, typer.Option(help="How many at once; 0 for one per processor.")]


def inverse(
    robot_name: RobotName,
    motion: Motion,
    output: Output,
    initial: Initial = None,
    differentiate: Differentiate = False,
    cutoff: Cutoff = None,
    friction: Friction = False,
    threads: Threads = 0,
    floating_base: FloatingBase = False,
    mimic: Mimic = "follow",
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Compute inverse dynamics: joint forces for every row of a motion.

    The motion has a column for each coordinate, velocity and acceleration, named as in `q_elbow`, `v_elbow`,
    `a_elbow` (or `q0`, `q1`, ...), perhaps with a unit behind, `q_elbow [deg]`, which is converted; and perhaps `time`,
    which must increase. Only a table without a line of names is taken in that order. The answer has the columns
    `tau_elbow`, ... . Files are read and written in parts, so they may be larger than the memory; a fault is reported
    with file and line, and leaves no file behind. Of `.npz` files the arrays `q`, `v`, `a` and `time` are used. Of a
    mechanism with loops give all joints, moving as its loops allow; or only the independent ones (its motors, as a
    rule; `kinetree info` names them), and the others follow, on the branch that `--initial` is on.

    A table with `time` and positions only is differentiated with `--differentiate`: noise is filtered off without a
    phase, above the frequencies of the motion or above `--cutoff`; times may be uneven.

    For example:

        kinetree inverse kuka-kr5 motion.csv -o tau.csv
        kinetree inverse four-bar kinetree-results/four-bar/inverse-motion.csv -o tau.parquet
        kinetree inverse four-bar crank.csv -o tau.csv --initial crank_joint=0.5
        kinetree inverse kuka-kr5 positions.csv -o tau.csv --differentiate
    """
    robot = load_robot(robot_name, floating_base, mimic, strict)
    wanted = {"q": robot.q_names, "v": robot.v_names, "a": robot.v_names}
    if cutoff is not None and not differentiate:
        raise OptionError("--cutoff is of the filter of --differentiate: give both")

    def source(fewer: Wanted | None) -> OpenTable:
        if differentiate:
            return differentiated_table(motion, robot, fewer, _units(robot), cutoff)
        try:
            return open_table(motion, wanted, fewer, _units(robot))
        except FileFormatError as problem:
            if not has_positions_only(motion, robot, fewer, _units(robot)):
                raise
            raise OptionError(f"{problem}; --differentiate finds velocities and accelerations from positions") from None

    _run(
        robot,
        robot_name,
        "inverse_dynamics",
        wanted,
        "tau",
        motion,
        output,
        initial,
        friction,
        threads,
        as_json,
        source,
    )


def forward(
    robot_name: RobotName,
    motion: Motion,
    output: Output,
    initial: Initial = None,
    friction: Friction = False,
    threads: Threads = 0,
    floating_base: FloatingBase = False,
    mimic: Mimic = "follow",
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Compute forward dynamics: accelerations for every row of states and joint forces.

    The table has a column for each coordinate, velocity and joint force, named as in `q_elbow`, `v_elbow`,
    `tau_elbow`; the answer has the columns `a_elbow`, ... . For all else see `kinetree inverse --help`.

    For example:

        kinetree forward kuka-kr5 states.csv -o accelerations.csv
    """
    robot = load_robot(robot_name, floating_base, mimic, strict)
    wanted = {"q": robot.q_names, "v": robot.v_names, "tau": robot.v_names}
    _run(robot, robot_name, "forward_dynamics", wanted, "a", motion, output, initial, friction, threads, as_json)


def _run(
    robot: Robot, robot_name: str, method: str, wanted: dict[str, list[str]], key: str, motion: Path, output: Path,
    initial: str | None, friction: bool, threads: int, as_json: bool,
    opened: Callable[[Wanted | None], OpenTable] | None = None,
) -> None:  # fmt: skip
    if threads < 0:
        raise OptionError(f"--threads must be a number of threads, or 0 for one per processor, not {threads}")
    begin = time.perf_counter()
    third = list(wanted)[-1]
    fewer = fewer_columns(robot, third) if isinstance(robot, Mechanism) else None
    source = open_table(motion, wanted, fewer, _units(robot)) if opened is None else opened(fewer)
    if initial is not None and not source.fewer:
        raise OptionError("--initial is for mechanisms of which only the independent joints are given: here all are")
    if output.exists() and output.samefile(motion):
        raise OptionError(f"{output} is the motion itself: give another file to write")
    if source.remark:
        note(source.remark)

    def law(*state: Array) -> Array:
        return np.asarray(getattr(robot, method)(*state, **({"friction": True} if friction else {})))

    compute: Law = law
    if source.fewer:
        assert isinstance(robot, Mechanism)
        source = followed(source, robot, _start(robot, robot_name, initial))
        compute = following(law, robot, third)

    with new_table(output, key, robot.v_names, source.has_time) as sink, Bar(1.0, motion.name) as bar:
        rows = convert(source.parts(), compute, sink, threads or os.cpu_count() or 1, bar)
        if not rows:
            raise OptionError(f"{motion} has no rows, so there is nothing to compute")
    seconds = time.perf_counter() - begin
    if as_json:
        print_json({"robot": robot.name, "rows": rows, "seconds": seconds, "output": str(output)})
    else:
        make_console().print(f"{rows:,} rows in {seconds:.2f} s, written to {escape(str(output))}", soft_wrap=True)


def _units(robot: Robot) -> dict[str, dict[str, str]]:
    """Return what every column of a table is measured in, by what stands behind its quantity."""
    of_v = dict(zip(robot.v_names, robot.v_units, strict=True))
    return {
        "q": dict(zip(robot.q_names, robot.q_units, strict=True)),
        "v": {name: f"{unit}/s" for name, unit in of_v.items()},
        "a": {name: f"{unit}/s^2" for name, unit in of_v.items()},
        "tau": {name: FORCE_OF[unit] for name, unit in of_v.items()},
    }


def _start(robot: Robot, robot_name: str, initial: str | None) -> Array:
    """Find a closed configuration on the branch that is meant."""
    from .. import gallery
    from ..gallery import simulation_setup

    system = robot_name if robot_name in gallery.names() else None
    return simulation_setup.configuration(robot, read_values(initial, "--initial"), system, "--initial")


# ------------------------------------------------------------------ parts, several at once


@dataclass(frozen=True)
class Computed:
    """A part that is through."""

    part: Part
    rows: int
    first: float
    last: float
    encoded: Any


def convert(parts: Iterable[Part], law: Law, sink: Sink, threads: int, bar: Bar | None = None) -> int:
    """Compute every row and write the answers in order; return how many there were."""
    rows, last = 0, -np.inf
    for done in _in_order(parts, lambda part: _compute(part, law, sink), threads):
        if not done.rows:
            continue
        if not done.first > last:
            raise done.part.fault(0, _not_increasing(last, done.first))
        rows, last = rows + done.rows, done.last
        sink.write(done.encoded)
        if bar is not None:
            bar.show(bar.done + done.part.share)
    return rows


def _in_order(parts: Iterable[Part], work: Callable[[Part], Computed], threads: int) -> Iterator[Computed]:
    """Work on a few parts at once; the first alone, since it makes the machine code for all."""
    waiting: deque[Future[Computed]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for k, part in enumerate(parts):
                if k == 0:
                    yield work(part)
                    continue
                waiting.append(pool.submit(work, part))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _compute(part: Part, law: Law, sink: Sink) -> Computed:
    rows = part.read()
    if not len(rows):
        return Computed(part, 0, np.nan, np.nan, None)
    times = rows.time
    if times is not None:
        steps = np.diff(times, prepend=-np.inf)
        if not (steps > 0.0).all():
            bad = int(np.argmin(steps > 0.0))
            raise part.fault(bad, _not_increasing(times[bad - 1] if bad else -np.inf, times[bad]))
    try:
        answer = law(*rows.arrays)
    except KinetreeError as problem:
        bad = first_fault(rows.arrays, law)
        raise part.fault(bad, _of_one_row(rows.arrays, bad, law, problem)) from None
    # without times every part seems to come later than the one before
    first, last = (np.inf, -np.inf) if times is None else (float(times[0]), float(times[-1]))
    return Computed(part, len(rows), first, last, sink.encode(times, answer))


def first_fault(arrays: tuple[Array, ...], law: Law) -> int:
    """Find the first row that a law refuses, by halving."""
    begin, end = 0, len(arrays[0])  # it is in here, and everything before is good
    while end - begin > 1:
        middle = (begin + end) // 2
        try:
            law(*(x[begin:middle] for x in arrays))
            begin = middle
        except KinetreeError:
            end = middle
    return begin


def _of_one_row(arrays: tuple[Array, ...], row: int, law: Law, problem: KinetreeError) -> str:
    """Return what the law says about that row alone, without its place in a batch."""
    try:
        law(*(x[row] for x in arrays))
    except KinetreeError as alone:
        return str(alone)
    return str(problem)


def _not_increasing(before: float, now: float) -> str:
    if np.isnan(now):
        return "time is not a number"
    return f"time does not increase: {now:.10g} s after {before:.10g} s"
