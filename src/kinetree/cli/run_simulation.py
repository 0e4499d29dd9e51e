"""What ``kinetree simulate`` does with its options: set up, simulate, write and show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from ..contact.joint_stops import JointStops
from ..errors import OptionError, OutputError, SimulationError, refuse_unknown
from ..forces.from_yaml import load as load_forces
from ..io.paths import is_folder
from ..io.units import ShownUnits
from ..motion import trajectories
from ..simulation.constrained.driven_robot import DrivenRobot
from ..simulation.integrators.fixed_step_methods import ADAPTIVE
from ..simulation.options import STEPS_AT_MOST
from ..simulation.prescribed import BoundMotion, Prescribed
from ..simulation.records.files import record_format
from ..simulation.run_warnings.unheld import without_ranges
from ..simulation.simulator import simulate as run
from ..studies import simulation_setup
from .shared import INTERRUPTED, GivenRobot, complain, make_console, new_table, note, print_json
from .values import read_values

if TYPE_CHECKING:
    from ..robot.robot import Robot
    from ..simulation.records.record import Record


def run_simulation(given: SimpleNamespace, of_robot: Sequence[str], of_integration: Sequence[str]) -> None:
    """Run the simulation that was typed; the two lists name the options of robot and integration."""
    _refuse_places(given)
    _refuse_unused(given)
    units = ShownUnits.read(given.units)
    if given.joint_friction is not None:
        complain("yellow", "note", "--joint-friction is now --friction; the former name will be removed in 0.3")
        given.friction = given.joint_friction
    typed_robot = GivenRobot(**{name: getattr(given, name) for name in of_robot})
    robot = typed_robot.load()
    if given.over is not None:
        given.over = robot.q_names[robot.entry_index(given.over, "q")]
    q, v, desired = start_and_goal(robot, given, typed_robot.of_gallery)
    elements = ground_elements(robot, given)
    law, gains = law_and_gains(robot, given, q, v, desired, elements)
    motion, time = None, given.time
    if given.follow is not None:
        motion, q, v = _followed(robot, given.follow, q, v, given.q0, given.v0)
        time = motion.span[1] if time is None else time
    typed = {name: getattr(given, name) for name in of_integration if getattr(given, name) is not None}
    try:
        with without_ranges():  # the summary reports it
            record = run(
                robot, q, v, time=5.0 if time is None else time, prescribed=motion, controller=law, ground=elements,
                forces=[] if given.forces is None else load_forces(given.forces), samples=given.samples,
                friction=given.friction, **typed,
            )  # fmt: skip
    except SimulationError as problem:
        if given.output is not None and problem.record is not None and len(problem.record):  # type: ignore[arg-type]
            _save(problem.record, given.output, given.units)  # type: ignore[attr-defined]
            complain("yellow", "note", f"the record up to there is in {given.output}")
        raise
    _tell(robot, given, record, desired, gains, units)


def _tell(
    robot: Robot, given: SimpleNamespace, record: Record, desired: Any, gains: dict[str, Any], units: ShownUnits
) -> None:
    """Write the requested files, and show the results."""
    followed = desired if given.controller not in ("none", "gravity") else None
    written: list[Path] = []
    try:
        for path in _write(record, given, followed):
            written.append(path)
    finally:  # the result is on the screen even if files cannot be written
        if given.as_json:
            print_json(_summary(record) | {"gains": gains, "files": [str(path) for path in written]})
        else:
            chosen = gains if given.kp is None or given.kd is None else {}
            _show(robot, record, chosen, given.stops, units)
            for path in written:
                make_console().print(f"wrote {escape(str(path))}", soft_wrap=True)
    if record.status == "interrupted":
        raise typer.Exit(INTERRUPTED)


# ------------------------------------------------------------------ what is not possible


def _refuse_places(given: SimpleNamespace) -> None:
    """Refuse files that could not be written, before anything is computed."""
    if given.output is not None:
        record_format(given.output)
    for option, place in (("--output", given.output), ("--plot", given.plot)):
        if place is not None and is_folder(place):
            raise OptionError(f"{option}: {str(place)!r} is a folder; name a file")
        if place is not None and not is_folder(place.absolute().parent):
            raise OutputError(f"{place} cannot be written: there is no directory {str(place.parent)!r}")


LOOKS_AT = {"none": (), "gravity": (), "pid": ("kp", "kd", "ki", "target", "duration")}
LOOKS_AT |= {"computed-torque": LOOKS_AT["pid"]}
"""Options that each controller uses; others use all of these except the integral gain."""


def _refuse_unused(given: SimpleNamespace) -> None:
    """Refuse options that the chosen controller or integrator would ignore."""
    for name in LOOKS_AT["pid"]:
        looks = LOOKS_AT.get(given.controller, ("kp", "kd", "target", "duration"))
        if name not in looks and getattr(given, name) not in (None, 0.0, "0"):
            goal = "a controller with a goal, such as --controller pd"
            needed = "--controller pid or computed-torque" if name == "ki" else goal
            advice = " (--time says how many seconds are simulated)" if name == "duration" else ""
            raise OptionError(f"--{name} needs {needed}; it is {given.controller!r}{advice}")
    if given.follow is not None and given.controller != "none":
        raise OptionError("--follow finds the forces itself: leave --controller out")
    for name in ("rtol", "atol", "largest_step"):
        if getattr(given, name) is not None and given.integrator is not None and given.integrator not in ADAPTIVE:
            raise OptionError(f"--{name.replace('_', '-')} needs an adaptive --integrator")
    if given.samples is not None and not 2 <= given.samples <= STEPS_AT_MOST:
        raise OptionError(f"--samples must be at least 2 and at most {STEPS_AT_MOST}, not {given.samples}")
    if given.time is not None and not (np.isfinite(given.time) and given.time >= 0.0):
        raise OptionError(f"--time must be seconds, zero or more, not {given.time:g}")


# ------------------------------------------------------------------ what is simulated


def start_and_goal(robot: Robot, given: SimpleNamespace, system: str | None) -> tuple[np.ndarray, np.ndarray, Any]:
    """Read the initial state, and where the robot should go."""

    def place(option: str, text: str | None, otherwise: np.ndarray | None = None) -> np.ndarray:
        values = read_values(text, option, True)
        return simulation_setup.configuration(robot, values, system, option, otherwise)

    q = place("--q0", given.q0)
    v = simulation_setup.velocity(robot, q, read_values(given.v0, "--v0", True), "--v0")
    goal = q if given.target is None else place("--target", given.target, q)
    if given.target is not None:
        simulation_setup.warn_of_limits(robot, goal, "--target")
    if given.duration:
        return q, v, trajectories.Between(robot, q, goal, given.duration).held()
    return q, v, simulation_setup.stay(robot, goal)


def ground_elements(robot: Robot, given: SimpleNamespace) -> list[Any]:
    """Make the ground and the stops."""
    elements: list[Any] = [JointStops()] if given.stops else []
    limits = [limit for joint in robot.model.joints for limit in (*joint.lower, *joint.upper)]
    if given.stops and not np.isfinite(limits).any():
        complain("yellow", "warning", f"--stops has no effect: no joint of {robot.name!r} has position limits")
    if given.ground is not None:
        frames = [name.strip() for name in given.ground.split(",")]
        typed = {"friction": given.friction_coefficient, "stiffness": given.stiffness}
        usual = {} if frames == ["shapes"] else {"friction": 0.7}  # shapes have their own
        numbers: dict[str, Any] = usual | {name: x for name, x in typed.items() if x is not None}
        elements.append(simulation_setup.compliant_ground(robot, frames, given.ground_kind, **numbers))
    return elements


def law_and_gains(
    robot: Robot, given: SimpleNamespace, q: np.ndarray, v: np.ndarray, desired: Any, elements: list[Any]
) -> tuple[Any, dict[str, Any]]:
    """Return the controller, and the gains that it uses."""
    found = simulation_setup.completed_gains(
        given.controller, robot, q, gain_of(robot, given.kp, "--kp"), gain_of(robot, given.kd, "--kd")
    )
    gains = {name: np.asarray(value, dtype=float).tolist() for name, value in zip(("kp", "kd"), found, strict=True)
             if value is not None}  # fmt: skip
    ki = gain_of(robot, given.ki, "--ki")
    law = simulation_setup.controller(
        given.controller, robot, desired, kp=found[0], kd=found[1], ki=0.0 if ki is None else ki,
        senses=elements, begin=(q, v), limited=given.limit == "robot",
        limit=None if given.limit == "robot" else gain_of(robot, given.limit, "--limit", others=np.inf),
    )  # fmt: skip
    sampled = simulation_setup.sampled(
        law, given.sample_time, delay=given.delay, encoder=given.encoder, noise=given.noise, seed=given.seed
    )
    return sampled, gains


def _followed(
    robot: Robot, table: Path, q: np.ndarray, v: np.ndarray, q0: str | None, v0: str | None
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Read a motion that joints follow; start on it, with the other joints at their given start."""
    trajectory, joints = simulation_setup.table_motion(robot, table)
    whole = []
    for option, text in (("--q0", q0), ("--v0", v0)):
        values = read_values(text, option)
        named = [name for name in values if name.partition(".")[0] in joints] if isinstance(values, dict) else []
        if named:
            raise OptionError(f"{option}: {named[0]!r} follows {table}; give the other joints only")
        whole.append(isinstance(values, list))
    motion = Prescribed(trajectory, joints)
    bound = BoundMotion(robot, motion)
    q, v = bound.start(robot, 0.0, q, v, (whole[0], whole[1]))
    return motion, *((q, v) if robot.loops is None else _closed_start(robot, bound, q, v))


def _closed_start(robot: Robot, motion: BoundMotion, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the start at which the passive joints of loops fit those that follow a motion."""
    moved = [joint.name for joint in motion.moved]
    q = robot.close(q, fixed=moved, limits=False)
    names = robot.independent(q)
    if {robot.v_names[k] for joint in motion.moved for k in range(robot.nv)[joint.v_slice]} <= set(names):
        v = robot.velocities(q, v[[robot.v_names.index(name) for name in names]])  # as typed where nothing follows
    return DrivenRobot(robot, motion).nearest(0.0, q, v)


# ------------------------------------------------------------------ gains


def gain_of(robot: Robot, text: str | None, option: str, others: float | None = None) -> Any:
    """Read one number, one per motor, or those of some joints by name and a number for the others."""
    values = read_values(text, option)
    if isinstance(values, str):
        more = ", or 'robot'" if option == "--limit" else ""
        raise OptionError(f"{option}: one number, or one per motor, such as '100,50' or 'elbow=50'{more}; not {text!r}")
    if values is None or (len(values) == 1 and isinstance(values, list)):
        return None if values is None else values[0]
    driven = robot.model.driven_joints
    motors = [joint.name for joint in driven for _ in range(joint.nv)]
    if isinstance(values, dict):
        return _by_name(values, {joint.name: joint.nv for joint in driven}, option, others)
    if len(values) != len(motors):
        raise OptionError(f"{option}: one number, or one per motor ({', '.join(motors)}), not {len(values)}")
    return values


def _by_name(given: dict[str, list[float]], motors: dict[str, int], option: str, others: float | None) -> list[float]:
    """Return one number per motor's freedom."""
    for name in given:
        refuse_unknown(f"joint with a motor for {option}", name, motors)
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


def _write(record: Record, given: SimpleNamespace, desired: Any) -> Iterator[Path]:
    """Write the requested files, and yield each when it is complete."""
    if given.output is not None:
        _save(record, given.output, given.units)
        yield given.output
    if given.plot is not None:
        draw(record, given.plot, desired, given.separate, given.units, given.over, given.draw)
        yield given.plot


def _save(record: Record, output: Path, units: str | None) -> None:
    """Write a record, in units other than SI if its columns can name them."""
    named = record_format(output) != ".npz"
    if units and not named:
        note(f"{output} is in SI, since arrays of .npz cannot name a unit: .csv and .parquet can")
    record.save(output, units if named else None)


def draw(
    record: Record, plot: Path, desired: Any, separate: bool, units: str | None, over: str | None = None,
    what: str | None = None,
) -> None:  # fmt: skip
    """Draw a picture of a record, completely or not at all; with errors if there is a desired motion."""
    try:
        parts = tuple(filter(None, (part.strip() for part in (what or "").split(","))))
        record.plot(parts, path=plot, desired=desired, separate=separate, units=units, over=over)
    except OptionError as problem:  # about the file extension
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
        "too_fast": record.too_fast, "too_strong": record.too_strong,
    }  # fmt: skip


def _show(robot: Robot, record: Record, gains: dict[str, Any], stops: bool, units: ShownUnits) -> None:
    console = make_console()
    summary = _summary(record)
    console.print(
        f"{escape(robot.name)}: {record.time[-1]:g} s simulated by {summary['integrator']}, {len(record)} samples, "
        f"{record.status}",
        soft_wrap=True,
    )
    if robot.nv and not np.any(record.tau) and not record.constraint_forces.size:
        console.print("motors off: joints move freely, --controller holds or moves them", soft_wrap=True)
    if gains:
        said = (f"{name} {','.join(f'{x:.4g}' for x in np.atleast_1d(value))}" for name, value in gains.items())
        console.print(f"gains: {'  '.join(said)}", soft_wrap=True, highlight=False)
    console.print(_states(record, units))
    console.print(_energies(record))
    error, relative = summary["energy_error"], summary["energy_relative_error"]
    console.print(
        f"energy balance off by at most {error:.2g} J, {relative:.1g} of the energy exchanged", soft_wrap=True
    )
    for line in record.limits_passed:
        fact, _, advice = line.partition(". ")
        known = stops and "JointStops" in advice  # stops give way a little
        told = f"{fact}. {advice}" if advice and not known else fact
        told = told.replace("ground=kt.forces.JointStops()", "--stops")
        told = told.replace("kt.control.Saturated(controller)", "--limit robot")
        console.print(escape(told), soft_wrap=True)
    if record.fallen:
        console.print(record.fallen, soft_wrap=True)


def _states(record: Record, units: ShownUnits) -> Table:
    table = new_table("Where it ends", "coordinate", ">begin", ">end", "unit")
    robot = record.robot
    assert robot is not None  # what was simulated
    for word, names, values, of in (
        ("", record.q_names, record.q, robot.q_units),
        ("speed of ", record.v_names, record.v, [f"{unit}/s" for unit in robot.v_units]),
    ):
        for k, (name, unit) in enumerate(zip(names, of, strict=True)):
            ends = (f"{units.shown(values[at, k], unit):.6g}" for at in (0, -1))
            table.add_row(word + escape(name), *ends, units.label(unit).replace("1", ""))
        table.add_section()
    return table


def _energies(record: Record) -> Table:
    words = {"actuators": "work of motors", "friction": "work of friction", "ground": "work of ground and stops"}
    words |= {"forces": "work of forces", "stored": "stored in forces", "in_ground": "stored in ground and stops"}
    table = new_table("Energy in J", "", ">begin", ">end")
    for name, values in record.energy.as_dict().items():
        if name in ("forces", "stored", "in_ground") and not np.any(values):
            continue
        table.add_row(words.get(name, name), f"{values[0]:.6g}", f"{values[-1]:.6g}")
    total = record.energy.total
    table.add_row("balance", f"{total[0]:.9g}", f"{total[-1]:.9g}", style="bold")
    return table
