"""``kinetree inverse`` and ``kinetree forward``: inverse and forward dynamics of a table of motions, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.markup import escape

from ..errors import OptionError
from ..io.gallery_files import gallery_names
from .shared import (
    FloatingBase,
    Json,
    Locked,
    Mimic,
    MissingMeshes,
    RobotName,
    Separate,
    Strict,
    Values,
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
    Path,
    typer.Argument(
        metavar="MOTION",
        help="Table of states: .csv, .parquet, .npz or .mat; or a folder of .parquet.",
        show_default=False,
    ),
]
Output = Annotated[
    Path,
    typer.Option("--output", "-o", help="Table to write: .csv, .parquet or .npz; or a folder.", show_default=False),
]
Guess = Annotated[
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
        help="The table has times and positions only: smooth these, and differentiate them.",
    ),
]
Cutoff = Annotated[
    float | None,
    typer.Option(help="Cutoff of the filter for --differentiate, in Hz.", show_default="chosen from the noise"),
]
Picture = Annotated[
    Path | None, typer.Option("--plot", help="Draw the answer over time: .png, .svg, .pdf.", show_default=False)
]
Friction = Annotated[bool, typer.Option("--friction", help="Include the damping and friction of joints.")]
Threads = Annotated[int, typer.Option(help="Number of threads; 0 for one per processor.")]


def inverse(
    robot_name: RobotName,
    motion: Motion,
    output: Output,
    q_guess: Guess = None,
    differentiate: Differentiate = False,
    cutoff: Cutoff = None,
    plot: Picture = None,
    separate: Separate = False,
    friction: Friction = False,
    threads: Threads = 0,
    floating_base: FloatingBase = False,
    mimic: Mimic = "follow",
    strict: Strict = False,
    missing_meshes: MissingMeshes = "refuse",
    locked: Locked = None,
    values: Values = None,
    as_json: Json = False,
) -> None:
    """Compute inverse dynamics: joint forces for every row of a motion.

    The motion has a column for each coordinate, velocity and acceleration, named as in `q_elbow`, `v_elbow`, `a_elbow`
    (or `q0`, `q1`, ...), perhaps with a unit behind, `q_elbow [deg]`, which is converted; and perhaps `time`, which
    must increase. Names of other programs, such as `/joint_states/position[0]` or `qd1`, are understood where they
    leave no doubt, and it is printed as what. Only a table without a line of names is taken in that order. The answer
    has the columns `tau_elbow`, ... . Files are read and written in parts, so they may be larger than the memory; a
    fault is reported with file and line, and leaves no file behind. Of `.npz` files the arrays `q`, `v`, `a` and `time`
    are used. Of a mechanism with loops give all joints, moving as its loops allow; or only the independent ones (its
    motors, as a rule; `kinetree info` names them), and the others follow, on the branch that `--q-guess` is on.

    A table with `time` and positions only is differentiated with `--differentiate`: positions are smoothed as their
    noise asks, or filtered without a phase at `--cutoff`; times may be uneven. How far accelerations can be trusted,
    between the ends and at them, is said.

    The motion may be a folder of Parquet files. The output may be a folder, without an ending: then every million rows
    become a Parquet file of their own, and a run that was killed goes on where it was.

    For example:

        kinetree inverse kuka-kr5 motion.csv -o tau.csv --plot tau.png
        kinetree inverse four-bar kinetree-results/four-bar/inverse-motion.csv -o tau.parquet
        kinetree inverse four-bar crank.csv -o tau.csv --q-guess crank_joint=0.5
        kinetree inverse panda.urdf motion.parquet -o torques
        kinetree inverse kuka-kr5 positions.csv -o tau.csv --differentiate
    """
    robot = load_robot(robot_name, floating_base, mimic, strict, missing_meshes, locked, values)
    _run(
        robot, "" if locked else robot_name, "inverse_dynamics", motion, output, q_guess, friction, threads, as_json,
        plot, separate, differentiate, cutoff,
    )  # fmt: skip


def forward(
    robot_name: RobotName,
    motion: Motion,
    output: Output,
    q_guess: Guess = None,
    plot: Picture = None,
    separate: Separate = False,
    friction: Friction = False,
    threads: Threads = 0,
    floating_base: FloatingBase = False,
    mimic: Mimic = "follow",
    strict: Strict = False,
    missing_meshes: MissingMeshes = "refuse",
    locked: Locked = None,
    values: Values = None,
    as_json: Json = False,
) -> None:
    """Compute forward dynamics: accelerations for every row of states and joint forces.

    The table has a column for each coordinate, velocity and joint force, named as in `q_elbow`, `v_elbow`,
    `tau_elbow`; the answer has the columns `a_elbow`, ... . For all else see `kinetree inverse --help`.

    For example:

        kinetree forward kuka-kr5 states.csv -o accelerations.csv
    """
    robot = load_robot(robot_name, floating_base, mimic, strict, missing_meshes, locked, values)
    _run(
        robot, "" if locked else robot_name, "forward_dynamics", motion, output, q_guess, friction, threads, as_json,
        plot, separate,
    )  # fmt: skip


def _run(
    robot: Robot, robot_name: str, method: str, motion: Path, output: Path, q_guess: str | None, friction: bool,
    threads: int, as_json: bool, plot: Path | None, separate: bool, differentiate: bool = False,
    cutoff: float | None = None,
) -> None:  # fmt: skip
    if threads < 0:
        raise OptionError(f"--threads must be a number of threads, or 0 for one per processor, not {threads}")
    if separate and plot is None:
        raise OptionError("--separate needs --plot")
    from ..sweeps.table_picture import draw_table
    from ..sweeps.tables import METHODS, over_table

    done = over_table(
        robot, method, motion, output, friction=friction, threads=threads or None, tell=note,
        q_guess=_Start(robot, robot_name, q_guess), differentiate=differentiate, cutoff=cutoff,
    )  # fmt: skip
    if plot is not None:
        draw_table(robot, METHODS[method][1], output, plot, separate)
        note(f"wrote {plot}")
    if as_json:
        print_json({"robot": robot.name, "rows": done.rows, "seconds": done.seconds, "output": str(output)})
    else:
        console = make_console()
        console.print(f"{done.rows:,} rows in {done.seconds:.2f} s, written to {escape(str(output))}", soft_wrap=True)


@dataclass(frozen=True)
class _Start:
    """Finds a closed configuration on the branch that is meant, where one is needed."""

    robot: Robot
    robot_name: str
    q_guess: str | None

    @property
    def is_given(self) -> bool:
        """Whether the user said anything."""
        return self.q_guess is not None

    def __call__(self) -> Array:
        from ..studies import simulation_setup

        system = self.robot_name if self.robot_name in gallery_names() else None
        return simulation_setup.configuration(
            self.robot, read_values(self.q_guess, "--q-guess", True), system, "--q-guess"
        )
