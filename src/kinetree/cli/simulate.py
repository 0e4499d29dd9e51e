"""``kinetree simulate``: the motion of a robot, kept in a record."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from ..simulation.options import OPTIONS
from ..studies.controller_names import CONTROLLERS
from .completion import complete_position, complete_velocity
from .option_rows import OptionRow, Rows, takes
from .shared import GivenRobot, Json, Over, Separate, Units


def _of_library(*names: str) -> list[OptionRow]:
    """Return rows of options that have the same names in the library."""
    rows = []
    for row in (OPTIONS[name] for name in names):
        unit = f" In {row.unit}." if row.unit else ""
        usual = row.usual or (
            False if row.default is None else f"{row.default:g}" if row.kind is float else row.default
        )
        rows.append(OptionRow(row.name, row.kind, row.help + unit, str(usual) if usual else False, words=row.words))
    return rows


DRAWN = ("motion", "errors", "velocities", "torques", "energy", "reactions")
"""Parts of a picture; the same that ``Record.plot`` draws, which completing an option should not import."""

ROWS: Rows = {
    "Robot": [
        OptionRow(one.name, one.annotation, default=... if one.default is one.empty else one.default)
        for one in GivenRobot.parameters()
    ],
    "Start": [
        OptionRow(
            "q0", str,
            "Where it starts: all coordinates, '0.1,0,-0.5'; some joints, 'elbow=0.3, wrist=1', with colons if "
            "a joint has several numbers, 'ball=0:0:0:1', or one of these, 'base.z=0.4'; a configuration that the "
            "file names (a keyframe), 'home'; or a start of the gallery, 'free-fall'.",
            "as drawn", words=complete_position,
        ),
        OptionRow("v0", str, "How fast it starts, given like --q0.", "at rest", words=complete_velocity),
        OptionRow(
            "time", float, "Seconds to simulate; by default 5, or with --follow the length of the table."
        ),
    ],
    "Controller": [
        OptionRow("controller", str, "One of: " + ", ".join(CONTROLLERS) + ".", "none", "none", words=CONTROLLERS),
        OptionRow(
            "kp", str, "Stiffness: one number, one per motor, or by names, 'elbow=50, wrist=20'.",
            "from the mass matrix", words=complete_velocity,
        ),
        OptionRow("kd", str, "Damping, given like --kp.", "critical", words=complete_velocity),
        OptionRow(
            "ki", str, "Integral gain of pid and computed-torque, given like --kp.", "none", words=complete_velocity
        ),
        OptionRow(
            "limit", str,
            "Largest forces of the motors, in N m and N: one number, one per motor, or by names, and no limit for the "
            "others; 'robot' for the effort limits of its file. The integral of pid does not wind up there.",
            "none", needs="controller", words=complete_velocity,
        ),
        OptionRow(
            "sample_time", float,
            "Seconds from one sample of a controller in discrete time to the next; its forces are held between.",
            "continuous", needs="controller",
        ),
        OptionRow("delay", float, "Seconds from a sample to its forces.", "none", needs="sample_time"),
        OptionRow(
            "encoder", float,
            "Encoder counts per turn (per meter) of a sampled controller; velocities are then "
            "differences of positions.",
            "exact", needs="sample_time",
        ),
        OptionRow(
            "noise", float, "Standard deviation of its measured positions, in rad and m.", "none", needs="sample_time"
        ),
        OptionRow("seed", int, "Seed of the noise.", "0", needs="noise"),
        OptionRow(
            "target", str, "Where to go, given like --q0; joints that are not named stay.", "where it starts",
            words=complete_position,
        ),
        OptionRow(
            "duration", float, "Duration of the smooth desired motion to the goal, in seconds; 0 for a step.", "0", 0.0
        ),
        OptionRow(
            "follow", Path,
            "Table of a motion (time, q_elbow, perhaps v_elbow and a_elbow, ...) that joints with motors follow "
            "exactly: the base moves by the dynamics and the ground, the forces are computed.",
        ),
    ],
    "Forces": [
        OptionRow("ground", str, "Frames that touch the ground z = 0: 'left_foot,right_foot', 'all'; or 'shapes'."),
        OptionRow("ground_kind", str, "hunt-crossley, firm or dusty.", "hunt-crossley", needs="ground"),
        OptionRow(
            "stiffness", float, "Stiffness of the ground, in N/m^1.5; of firm or dusty ground in N/m.", "1e5; 2000",
            needs="ground",
        ),
        OptionRow("friction_coefficient", float, "Friction coefficient of the ground.", "0.7", needs="ground"),
        OptionRow("stops", bool, "Springs behind the joints' position limits.", flags=("--stops",), default=False),
        OptionRow("forces", Path, "YAML file of other forces: springs, pushes, drag, motors."),
        OptionRow(
            "friction", bool, OPTIONS["friction"].help, "--friction", default=True,
            flags=("--friction/--no-friction",),
        ),
        OptionRow("joint_friction", bool | None, flags=("--joint-friction/--no-joint-friction",), hidden=True),
    ],
    "Integration": _of_library(
        "integrator", "step", "rtol", "atol", "largest_step", "steps_at_most", "drift", "spectral_radius", "method",
        "friction_speed", "tolerance",
    ),
    "Output": [
        OptionRow("samples", int, "Samples in the record.", "every step"),
        OptionRow("output", Path, "Record to write: .npz, .csv or .parquet.", flags=("--output", "-o")),
        OptionRow("plot", Path, "Picture to draw: .png, .svg or .pdf."),
        OptionRow("separate", Separate, default=False, needs="plot"),
        OptionRow(
            "draw", str, "What the picture shows: " + ", ".join(DRAWN) + "; several separated by commas.", "all",
            needs="plot", words=DRAWN,
        ),
        OptionRow("over", Over, needs="plot"),
        OptionRow("units", Units),
        OptionRow("as_json", Json, default=False),
    ],
}  # fmt: skip


@takes(ROWS)
def simulate(given: SimpleNamespace) -> None:
    """Simulate the motion of a robot, and keep a record of it.

    Prints the final state and how well the energy balance holds: kinetic and potential energy less the work of motors,
    friction and ground must be constant. The record can be plotted, viewed with `kinetree view ROBOT RECORD`, and read
    back with `kt.Record.load`. If a simulation cannot continue, the time and the joint are reported, the exit code is
    1, and the record up to that time is written, marked as failed. After Ctrl-C the exit code is 130, and the record is
    still written.

    For example:

        kinetree simulate kuka-kr5 --q0 joint_2=0.5 --time 2 -o fall.npz
        kinetree simulate kuka-kr5 --controller computed-torque --target joint_1=1 --duration 1 --plot move.png
        kinetree simulate arm.urdf --controller pid --kp elbow=50,wrist=20 --ki 10 --limit robot --target elbow=1
        kinetree simulate cassie.xml --q0 home --integrator implicit_euler --step 1e-3 --drift projection
        kinetree simulate kuka-kr5 --controller pd+gravity --target joint_1=1 --sample-time 0.002 --delay 0.001 \
--encoder 65536
        kinetree simulate five-bar --q0 free-fall --time 0.3 --samples 101 -o swing.csv
        kinetree simulate dog.urdf --floating-base --q0 floating_base.z=0.4 --ground left_toe,right_toe
        kinetree simulate dog.urdf --floating-base --q0 floating_base.z=0.4 --follow trot.csv --ground left_toe,\
right_toe --ground-kind firm --integrator bdf
    """
    from .run_simulation import run_simulation  # completing an option does not need it

    run_simulation(given, [row.name for row in ROWS["Robot"]], [row.name for row in ROWS["Integration"]])
