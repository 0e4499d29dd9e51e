"""``kinetree simulate``: let a robot move, keep a record of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from ..errors import OptionError, OutputError, SimulationError, UnknownNameError
from ..io.paths import is_folder
from .shared import (
    INTERRUPTED,
    FloatingBase,
    Json,
    Locked,
    Mimic,
    MissingMeshes,
    RobotName,
    Separate,
    Strict,
    complain,
    load_robot,
    make_console,
    print_json,
)
from .values import read_values

if TYPE_CHECKING:
    from ..robot.robot import Robot
    from ..simulation import Record

Text = str | None


def _words(kind: str) -> Any:
    """Complete words out of a fixed list, looked up when it is needed."""

    def complete(incomplete: str) -> list[str]:
        from ..gallery.simulation_setup import CONTROLLERS
        from ..simulation.constrained.drift import CHOICES as DRIFTS
        from ..simulation.integrators.fixed_step_methods import INTEGRATORS

        known = {"controller": CONTROLLERS, "drift": tuple(DRIFTS), "integrator": tuple(INTEGRATORS)}[kind]
        return [word for word in known if word.startswith(incomplete)]

    return complete


def simulate(
    robot_name: RobotName,
    initial: Annotated[
        Text,
        typer.Option(
            help="Where it starts: all coordinates, '0.1,0,-0.5'; some joints, 'elbow=0.3, wrist=1', with colons where "
            "one has several numbers, 'ball=0:0:0:1', or one of these, 'base.z=0.4'; a configuration that the file "
            "names (a keyframe), 'home'; or a start of the gallery, 'free-fall'.",
            show_default="as drawn",
        ),
    ] = None,
    velocity: Annotated[Text, typer.Option(help="How fast it starts, in the same way.", show_default="at rest")] = None,
    time: Annotated[
        float | None,
        typer.Option(help="Seconds to simulate; 5 where it is left out, or with --follow to the end of the table."),
    ] = None,
    controller: Annotated[
        str,
        typer.Option(
            help="none, pd, pd+gravity, pid, gravity, computed-torque or feedforward.",
            autocompletion=_words("controller"),
        ),
    ] = "none",
    kp: Annotated[
        Text,
        typer.Option(
            help="Stiffness: one number, one per motor, or by names, 'elbow=50, wrist=20'.",
            show_default="from the mass matrix",
        ),
    ] = None,
    kd: Annotated[Text, typer.Option(help="Damping likewise.", show_default="critical")] = None,
    ki: Annotated[
        Text, typer.Option(help="Integral gain of pid and computed-torque likewise.", show_default="none")
    ] = None,
    limit: Annotated[
        Text,
        typer.Option(
            help="Largest forces of the motors, in N m and N: one number, one per motor, or by names, and no limit for "
            "the others; 'robot' for the effort limits of its file. The integral of pid does not wind up there.",
            show_default="none",
        ),
    ] = None,
    sample_time: Annotated[
        float | None,
        typer.Option(
            help="Seconds from one sample of a controller in discrete time to the next; its forces are held between.",
            show_default="continuous",
        ),
    ] = None,
    delay: Annotated[
        float | None, typer.Option(help="Seconds from a sample to its forces.", show_default="none")
    ] = None,
    encoder: Annotated[
        float | None,
        typer.Option(
            help="Counts per turn (per metre) that a sampled controller sees of positions; velocities are differences "
            "of them then.",
            show_default="exact",
        ),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(help="Standard deviation of positions that it sees, in rad and m.", show_default="none"),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the noise.", show_default="0")] = None,
    target: Annotated[
        Text,
        typer.Option(
            help="Where to go, given like --initial; joints that are not named stay.", show_default="where it starts"
        ),
    ] = None,
    duration: Annotated[
        float, typer.Option(help="Seconds in which the desired motion goes there, smoothly; 0 for at once.")
    ] = 0.0,
    follow: Annotated[
        Path | None,
        typer.Option(
            help="Table of a motion (time, q_elbow, perhaps v_elbow and a_elbow, ...) that joints with motors follow "
            "exactly: the base moves by the dynamics and the ground, the forces are found.",
            show_default=False,
        ),
    ] = None,
    ground: Annotated[
        Text,
        typer.Option(help="Frames that touch the ground z = 0: 'left_foot,right_foot', or 'all'.", show_default=False),
    ] = None,
    ground_kind: Annotated[
        Text, typer.Option(help="hunt-crossley, firm or dusty.", show_default="hunt-crossley")
    ] = None,
    stiffness: Annotated[
        float | None,
        typer.Option(help="Of the ground, in N/m^1.5; of firm or dusty ground in N/m.", show_default="1e5; 2000"),
    ] = None,
    friction_coefficient: Annotated[
        float | None, typer.Option(help="Of the ground; 0 for a slippery one.", show_default="0.7")
    ] = None,
    stops: Annotated[bool, typer.Option("--stops", help="Springs behind the joints' position limits.")] = False,
    forces: Annotated[
        Path | None,
        typer.Option(help="YAML file of what else pushes on it: springs, pushes, drag, motors.", show_default=False),
    ] = None,
    joint_friction: Annotated[bool, typer.Option(help="The joints' own damping and friction act.")] = True,
    integrator: Annotated[
        str,
        typer.Option(
            help="dop853, rk45, radau, bdf, sundials (adaptive); euler, semi_implicit_euler, implicit_euler, rk4, "
            "dopri5, variational, generalized_alpha (fixed step).",
            autocompletion=_words("integrator"),
        ),
    ] = "dop853",
    step: Annotated[float | None, typer.Option(help="Seconds, for fixed steps.", show_default=False)] = None,
    rtol: Annotated[
        float | None, typer.Option(help="Relative tolerance of adaptive integrators.", show_default="1e-8")
    ] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance likewise.", show_default="1e-10")] = None,
    largest_step: Annotated[
        float | None, typer.Option(help="Seconds that adaptive integrators step at most.", show_default="no limit")
    ] = None,
    steps_at_most: Annotated[
        int | None,
        typer.Option(help="Steps after which a run is given up, or refused before it begins.", show_default="5000000"),
    ] = None,
    drift: Annotated[
        Text,
        typer.Option(
            help="How closed loops are held: projection, partitioned, baumgarte or none.",
            show_default="projection",
            autocompletion=_words("drift"),
        ),
    ] = None,
    samples: Annotated[int | None, typer.Option(help="Samples in the record.", show_default="every step")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Record to write: .npz, .csv or .parquet.", show_default=False),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Picture to draw: .png, .svg or .pdf.", show_default=False)] = None,
    separate: Separate = False,
    floating_base: FloatingBase = False,
    mimic: Mimic = "follow",
    strict: Strict = False,
    missing_meshes: MissingMeshes = "refuse",
    locked: Locked = None,
    as_json: Json = False,
) -> None:
    """Let a robot move and keep a record of it.

    Prints where it ends and how well the energy balance holds: kinetic and potential energy less the works of motors,
    friction and ground must stay what they were. The record can be plotted, seen with `kinetree view ROBOT RECORD`, and
    read back with `kt.Record.load`. A simulation that cannot go on says when and at which joint; the exit code is then
    1, and the record up to there is written, marked as failed. After Ctrl-C it is 130,
    and the record is written likewise.

    For example:

        kinetree simulate kuka-kr5 --initial joint_2=0.5 --time 2 -o fall.npz
        kinetree simulate kuka-kr5 --controller computed-torque --target joint_1=1 --duration 1 --plot move.png
        kinetree simulate arm.urdf --controller pid --kp elbow=50,wrist=20 --ki 10 --limit robot --target elbow=1
        kinetree simulate cassie.xml --initial home --integrator implicit_euler --step 1e-3 --drift projection
        kinetree simulate kuka-kr5 --controller pd+gravity --target joint_1=1 --sample-time 0.002 --delay 0.001 \
--encoder 65536
        kinetree simulate five-bar --initial free-fall --time 0.3 --samples 101 -o swing.csv
        kinetree simulate dog.urdf --floating-base --initial floating_base.z=0.4 --ground left_toe,right_toe
        kinetree simulate dog.urdf --floating-base --initial floating_base.z=0.4 --follow trot.csv --ground left_toe,\
right_toe --ground-kind firm --integrator bdf
    """
    from .. import gallery
    from ..contact.stops import JointStops
    from ..forces.from_yaml import load as load_forces
    from ..gallery import simulation_setup
    from ..motion import trajectories
    from ..simulation import simulate as run
    from ..simulation.arguments import STEPS_AT_MOST
    from ..simulation.integrators.fixed_step_methods import ADAPTIVE
    from ..simulation.oddities.unheld import without_ranges
    from ..simulation.records.files import record_format

    if output is not None:
        record_format(output)
    for option, place in (("--output", output), ("--plot", plot)):
        if place is not None and is_folder(place):
            raise OptionError(f"{option}: {str(place)!r} is a folder; name a file")
        if place is not None and not is_folder(place.absolute().parent):
            raise OutputError(f"{place} cannot be written: there is no directory {str(place.parent)!r}")
    _refuse_idle(controller, kp=kp, kd=kd, ki=ki, target=target, duration=duration)
    of_ground = {"ground_kind": ground_kind, "stiffness": stiffness, "friction_coefficient": friction_coefficient}
    _refuse_without("a controller", controller != "none", limit=limit)
    _refuse_without(
        "a controller", controller != "none", sample_time=sample_time, delay=delay, encoder=encoder, noise=noise
    )
    _refuse_without("--sample-time", sample_time is not None, delay=delay, encoder=encoder, noise=noise, seed=seed)
    _refuse_without("--noise", noise is not None, seed=seed)
    _refuse_without("--ground", ground is not None, **of_ground)
    _refuse_without("--plot", plot is not None, separate=separate or None)
    if follow is not None and controller != "none":
        raise OptionError("--follow finds the forces itself: leave --controller out")
    adaptive = integrator in ADAPTIVE
    _refuse_without("an adaptive --integrator", adaptive, rtol=rtol, atol=atol, largest_step=largest_step)
    if samples is not None and not 2 <= samples <= STEPS_AT_MOST:
        raise OptionError(f"--samples must be at least 2 and at most {STEPS_AT_MOST}, not {samples}")
    if time is not None and not (np.isfinite(time) and time >= 0.0):
        raise OptionError(f"--time must be seconds, zero or more, not {time:g}")
    robot = load_robot(robot_name, floating_base, mimic, strict, missing_meshes, locked)
    system = robot_name if robot_name in gallery.names() and not locked else None
    q = simulation_setup.configuration(robot, read_values(initial, "--initial", True), system, "--initial")
    v = simulation_setup.velocity(robot, q, read_values(velocity, "--velocity", True), "--velocity")
    goal = (
        q
        if target is None
        else simulation_setup.configuration(robot, read_values(target, "--target", True), system, "--target", q)
    )
    if target is not None:
        simulation_setup.warn_of_limits(robot, goal, "--target")
    desired = trajectories.Between(robot, q, goal, duration).held() if duration else simulation_setup.stay(robot, goal)
    elements: list[Any] = [JointStops()] if stops else []
    if ground is not None:
        frames = [name.strip() for name in ground.split(",")]
        numbers = {"friction": _or(friction_coefficient, 0.7)} | ({} if stiffness is None else {"stiffness": stiffness})
        elements.append(simulation_setup.compliant_ground(robot, frames, ground_kind, **numbers))
    found = simulation_setup.completed_gains(
        controller, robot, q, _gain(robot, kp, "--kp"), _gain(robot, kd, "--kd")
    )  # fmt: skip
    gains = {name: np.asarray(value, dtype=float).tolist() for name, value in zip(("kp", "kd"), found, strict=True)
             if value is not None}  # fmt: skip
    law = simulation_setup.controller(
        controller, robot, desired, kp=found[0], kd=found[1],
        ki=_or(_gain(robot, ki, "--ki"), 0.0), senses=elements, begin=(q, v), limited=limit == "robot",
        limit=None if limit == "robot" else _gain(robot, limit, "--limit", others=np.inf),
    )  # fmt: skip
    law = simulation_setup.sampled(law, sample_time, delay=delay, encoder=encoder, noise=noise, seed=seed)
    motion = None
    if follow is not None:
        motion, q, v = _followed(robot, follow, q, v, initial, velocity)
        time = _or(time, motion.span[1])
    try:
        with without_ranges():  # which the summary tells
            record = run(
                robot, q, v, time=_or(time, 5.0), prescribed=motion, controller=law, ground=elements,
                forces=[] if forces is None else load_forces(forces), integrator=integrator, step=step,
                rtol=_or(rtol, 1e-8), atol=_or(atol, 1e-10), largest_step=_or(largest_step, np.inf),
                drift=_or(drift, "projection"), output=samples, friction=joint_friction,
                steps_at_most=_or(steps_at_most, STEPS_AT_MOST),
            )  # fmt: skip
    except SimulationError as problem:
        if output is not None and problem.record is not None and len(problem.record):  # type: ignore[arg-type]
            problem.record.save(output)  # type: ignore[attr-defined]
            complain("yellow", "note", f"the record up to there is in {output}")
        raise
    followed = desired if controller not in ("none", "gravity") else None
    written: list[Path] = []
    try:
        for path in _write(record, output, plot, followed, separate):
            written.append(path)
    finally:  # whatever happens to files, the result is on the screen
        if as_json:
            print_json(_summary(record) | {"gains": gains, "files": [str(path) for path in written]})
        else:
            _show(robot, record, gains if kp is None or kd is None else {})
            for path in written:
                make_console().print(f"wrote {escape(str(path))}", soft_wrap=True)
    if record.status == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _refuse_idle(controller: str, **options: Any) -> None:
    """Refuse options that this controller would not look at."""
    idle = {"none": tuple(options), "gravity": tuple(options), "pid": (), "computed-torque": ()}.get(
        controller, ("ki",)
    )
    for name in idle:
        if options[name] not in (None, 0.0, "0"):
            needed = (
                "--controller pid or computed-torque"
                if name == "ki"
                else "a controller with a goal, such as --controller pd"
            )
            advice = " (--time says how many seconds are simulated)" if name == "duration" else ""
            raise OptionError(f"--{name} needs {needed}; it is {controller!r}{advice}")


def _refuse_without(needed: str, given: bool, **options: Any) -> None:
    """Refuse options that nothing would look at."""
    for name, value in options.items():
        if value is not None and not given:
            raise OptionError(f"--{name.replace('_', '-')} needs {needed}")


def _followed(
    robot: Robot, table: Path, q: np.ndarray, v: np.ndarray, initial: str | None, velocity: str | None
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Read a motion that joints follow; start on it, with the other joints where they were to start."""
    from ..gallery import simulation_setup
    from ..simulation.prescribed import Prescribed

    trajectory, joints = simulation_setup.table_motion(robot, table)
    whole = []
    for option, text in (("--initial", initial), ("--velocity", velocity)):
        values = read_values(text, option)
        named = [name for name in values if name.partition(".")[0] in joints] if isinstance(values, dict) else []
        if named:
            raise OptionError(f"{option}: {named[0]!r} follows {table}; give the other joints only")
        whole.append(isinstance(values, list))
    motion = Prescribed(trajectory, joints)
    return motion, *motion.start(robot, 0.0, q, v, (whole[0], whole[1]))


def _or(value: Any, usual: Any) -> Any:
    return usual if value is None else value


# ------------------------------------------------------------------ gains


def _gain(robot: Robot, text: str | None, option: str, others: float | None = None) -> Any:
    """Read one number, one per motor, or those of some joints by name and a number for the others."""
    from ..control.driven_joints import driven_joints

    values = read_values(text, option)
    if isinstance(values, str):
        more = ", or 'robot'" if option == "--limit" else ""
        raise OptionError(f"{option}: one number, or one per motor, such as '100,50' or 'elbow=50'{more}; not {text!r}")
    if values is None or (len(values) == 1 and isinstance(values, list)):
        return None if values is None else values[0]
    driven = driven_joints(robot.model)
    motors = [joint.name for joint in driven for _ in range(joint.nv)]
    if isinstance(values, dict):
        return _by_name(values, {joint.name: joint.nv for joint in driven}, option, others)
    if len(values) != len(motors):
        raise OptionError(f"{option}: one number, or one per motor ({', '.join(motors)}), not {len(values)}")
    return values


def _by_name(given: dict[str, list[float]], motors: dict[str, int], option: str, others: float | None) -> list[float]:
    """Return one number per motor's freedom."""
    for name in given:
        if name not in motors:
            raise UnknownNameError(f"joint with a motor for {option}", name, motors)
    left = [name for name in motors if name not in given]
    if left and others is None:
        raise OptionError(f"{option}: all motors need one, {', '.join(left)} too")
    found: list[float] = []
    for name, count in motors.items():
        numbers = given.get(name, [np.inf if others is None else others])
        if len(numbers) not in (1, count):
            raise OptionError(f"{option}: {name!r} has {count} freedoms, not {len(numbers)}")
        found += numbers * (count if len(numbers) == 1 else 1)
    return found


# ------------------------------------------------------------------ what came out


def _write(
    record: Record, output: Path | None, plot: Path | None, desired: Any = None, separate: bool = False
) -> Iterator[Path]:
    """Write the files that are asked for, and yield each when it is there."""
    if output is not None:
        record.save(output)
        yield output
    if plot is not None:
        draw(record, plot, desired, separate)
        yield plot


def draw(record: Record, plot: Path, desired: Any = None, separate: bool = False) -> None:
    """Draw a picture of a record, wholly or not at all; with errors where a motion was desired."""
    try:
        record.plot(path=plot, desired=desired, separate=separate)
    except OptionError as problem:  # about the ending
        raise OptionError(f"--plot {plot}: {problem}") from None


def _summary(record: Record) -> dict[str, Any]:
    energy = record.energy
    return {
        "robot": record.info.get("robot"), "status": record.status, "samples": len(record),
        "time": float(record.time[-1]), "integrator": record.info.get("integrator"),
        "final": {"q": dict(zip(record.q_names, record.q[-1], strict=True)),
                  "v": dict(zip(record.v_names, record.v[-1], strict=True))},
        "largest_force": dict(zip(record.v_names, np.abs(record.tau).max(axis=0), strict=True)),
        "energy": {name: [float(x[0]), float(x[-1])] for name, x in energy.as_dict().items()},
        "energy_error": float(np.abs(energy.error).max()), "energy_relative_error": energy.relative_error,
        "events": len(record.events), "beyond_limits": record.beyond_limits,
        "too_fast": record.too_fast,
    }  # fmt: skip


def _show(robot: Robot, record: Record, gains: dict[str, Any]) -> None:
    console = make_console()
    summary = _summary(record)
    console.print(
        f"{escape(robot.name)}: {record.time[-1]:g} s simulated by {summary['integrator']}, {len(record)} samples, "
        f"{record.status}",
        soft_wrap=True,
    )
    if gains:
        said = (f"{name} {','.join(f'{x:.4g}' for x in np.atleast_1d(value))}" for name, value in gains.items())
        console.print(f"gains: {'  '.join(said)}", soft_wrap=True, highlight=False)
    console.print(_states(record))
    console.print(_energies(record))
    error, relative = summary["energy_error"], summary["energy_relative_error"]
    console.print(
        f"energy balance off by at most {error:.2g} J, {relative:.1g} of the energy exchanged", soft_wrap=True
    )
    for line in record.limits_passed:
        console.print(escape(line.replace("ground=kt.stops.JointStops()", "--stops")), soft_wrap=True)


def _states(record: Record) -> Table:
    table = Table(title="Where it ends", title_justify="left")
    table.add_column("coordinate")
    for heading in ("begin", "end"):
        table.add_column(heading, justify="right")
    for k, name in enumerate(record.q_names):
        table.add_row(escape(name), f"{record.q[0, k]:.6g}", f"{record.q[-1, k]:.6g}")
    table.add_section()
    for k, name in enumerate(record.v_names):
        table.add_row(f"speed of {escape(name)}", f"{record.v[0, k]:.6g}", f"{record.v[-1, k]:.6g}")
    return table


def _energies(record: Record) -> Table:
    words = {"actuators": "work of motors", "friction": "work of friction", "ground": "work of ground and stops"}
    words |= {"forces": "work of forces", "stored": "stored in forces", "in_ground": "stored in ground and stops"}
    table = Table(title="Energy in J", title_justify="left")
    table.add_column("")
    for heading in ("begin", "end"):
        table.add_column(heading, justify="right")
    for name, values in record.energy.as_dict().items():
        if name in ("forces", "stored", "in_ground") and not np.any(values):
            continue
        table.add_row(words.get(name, name), f"{values[0]:.6g}", f"{values[-1]:.6g}")
    total = record.energy.total
    table.add_row("balance", f"{total[0]:.9g}", f"{total[-1]:.9g}", style="bold")
    return table
