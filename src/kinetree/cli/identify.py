"""``kinetree identify``: from a robot file and measured motions to a better robot file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from ..errors import OptionError
from .shared import GivenRobot, Json, complain, make_console, note, print_json, takes_robot

if TYPE_CHECKING:
    from ..identification.identified import Identified

Motions = Annotated[
    list[Path],
    typer.Argument(
        metavar="MOTION...",
        help="Tables (.csv, .parquet, .npz, .mat) with time, q and tau, perhaps v and a; columns named for joints.",
        show_default=False,
    ),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Where to write the robot: .yaml, .urdf or .xml (MJCF).")
]
Report = Annotated[Path | None, typer.Option("--report", help="Folder for a report with plots.")]
Format = Annotated[str, typer.Option("--format", help="Format of the report: 'html' or 'markdown'.")]
Estimator = Annotated[str, typer.Option(help="'weighted', 'ordinary' or 'reweighted' least squares.")]
FrictionModel = Annotated[
    str, typer.Option(help="'auto', 'coulomb', 'viscous', 'offset', 'stribeck', 'presliding' or 'none'.")
]
FormerFriction = Annotated[str | None, typer.Option("--friction", hidden=True)]
Springs = Annotated[
    str, typer.Option(help="'auto', 'all', 'none' or names of joints separated by commas: which springs to identify.")
]
Consistent = Annotated[
    str,
    typer.Option(help="'barrier', 'sdp' or 'log_cholesky' for physically consistent bodies; 'none' for the best fit."),
]
Pull = Annotated[str, typer.Option(help="How undetermined parameters stay near the file's: 'log_det', 'euclidean'.")]
PullWeight = Annotated[float, typer.Option(help="Weight of --pull.")]
Fixed = Annotated[
    list[str] | None, typer.Option("--fixed", help="Parameters that are known, such as 'link_1.*'; can be repeated.")
]
HeldOut = Annotated[
    float, typer.Option("--held-out", help="Share of the rows, from the end, kept out of the fit, to test it.")
]
Gains = Annotated[
    str | None,
    typer.Option(
        help="Factors of the measured forces: a number per joint, separated by commas; 'auto' finds sensors "
        "and drives whose scale disagrees with the others'."
    ),
]
Cutoff = Annotated[float | None, typer.Option(help="Cutoff of the motion filter in Hz; chosen from the spectrum.")]
BothSides = Annotated[
    float | None, typer.Option(help="Cutoff of the filter of both sides in Hz; chosen from the spectrum.")
]


@takes_robot
def identify(
    given: GivenRobot, motions: Motions, output: Output = None, report: Report = None, format: Format = "html",
    held_out: HeldOut = 0.0, estimator: Estimator = "weighted", friction_model: FrictionModel = "auto",
    friction: FormerFriction = None, springs: Springs = "auto", consistent: Consistent = "barrier",
    pull: Pull = "log_det", pull_weight: PullWeight = 1.0, fixed: Fixed = None, gains: Gains = None,
    cutoff: Cutoff = None, both_sides: BothSides = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Identify masses, inertias and friction from measured motions.

    Columns are named for joints, as in `q_elbow`, `v_elbow`, `tau_elbow`, or numbered, as in `q1`; velocities and
    accelerations may be missing. Names used by other programs (`/joint_states/position[0]`, `torque1`), decimal commas
    and currents (`i_elbow [A]`, with `--gains`) are accepted, and their interpretation is printed. All bodies of the
    identified robot are physically possible, unless `--consistent none` is given.

    For example:

        kinetree identify robot.urdf motion.csv -o found.urdf --report out/ --held-out 0.4
        kinetree identify panda.urdf motion.csv --locked panda_finger_joint1=0.02,panda_finger_joint2=0.02
    """
    from ..identification.measured import Measured
    from ..identification.procedure import identify as run
    from ..model.formats import refuse_unwritable

    if friction is not None:
        complain("yellow", "note", "--friction is now --friction-model; the former name will be removed in 0.3")
        friction_model = friction
    if output is not None:
        refuse_unwritable(output)
    robot = given.load()
    if not 0.0 <= held_out < 1.0:
        raise OptionError(f"--held-out must be a share from 0 up to 1, not {held_out:g}")
    data = [Measured.read(path, robot) for path in motions]
    for one in data:
        if one.remark:
            note(f"{one.name}: {one.remark}")
    training: list[Any] = data
    rest: list[Any] = []
    if held_out:
        split = [one.split(1.0 - held_out) for one in data]
        training, rest = [first for first, _ in split], [second for _, second in split]
    wanted: bool | str | list[str] = springs
    if springs != "auto":
        wanted = springs == "all" if springs in ("all", "none") else [name.strip() for name in springs.split(",")]
    found = run(
        robot, training, estimator=estimator, friction=friction_model, springs=wanted, pull=pull,
        pull_weight=pull_weight, consistent=None if consistent == "none" else consistent, fixed=fixed or (),
        gains=_gains(gains), cutoff=cutoff, both_sides=both_sides,
    )  # fmt: skip
    errors = found.errors(rest) if rest else None
    _tell(robot.name, found, errors, as_json)  # first: whatever happens to files, the result is on the screen
    try:
        if output is not None:
            _save(found, output, None if given.locked else Path(given.robot_name))
    finally:
        if report is not None:
            note(f"the report is {found.report(report, rest or None, format)}")


def _save(found: Identified, output: Path, given: Path | None) -> None:
    """Write the robot; everything else in a URDF file stays the same."""
    if given is not None and given.suffix.lower() == output.suffix.lower() == ".urdf" and given.is_file():
        found.save(output, original=given)
        note("meshes and everything else in the file are unchanged")
    else:
        found.save(output)
    note(f"the robot is in {output}")


def _tell(robot: str, found: Identified, errors: Any, as_json: bool) -> None:
    """Print the results, and the errors on held-out data."""
    if as_json:
        print_json(
            {
                "robot": robot,
                "parameters": {
                    name: {"value": float(value), "deviation": float(deviation), "unit": unit}
                    for name, value, deviation, unit in zip(
                        found.names, found.values, found.deviations, found.units, strict=True
                    )
                },
                "condition": found.condition,
                "physical": found.physical,
                "training_errors": dict(zip(found.row_names, map(float, found.training_errors), strict=True)),
                "held_out_errors": None
                if errors is None
                else dict(zip(found.row_names, map(float, errors), strict=True)),
                "not_told": list(found.untold),
            }
        )
        return
    console = make_console()
    console.print(escape(str(found)), soft_wrap=True)
    if errors is not None:
        listed = ", ".join(f"{name} {100 * e:.3g} %" for name, e in zip(found.row_names, errors, strict=True))
        console.print(escape(f"\nerrors on held-out data: {listed}"), soft_wrap=True)


def _gains(text: str | None) -> str | list[float] | None:
    """Read the factors of forces."""
    if text is None or text == "auto":
        return text
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise OptionError(f"--gains must be numbers separated by commas, or 'auto', not {text!r}") from None
