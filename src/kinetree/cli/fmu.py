"""``kinetree fmu``: a robot with everything around it as a Functional Mock-up Unit."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from rich.markup import escape

from ..control.commands import MODES, Commanded
from ..errors import OptionError
from ..forces.from_yaml import load as load_forces
from ..simulation.fmu.binaries import PLATFORMS
from ..simulation.fmu.writing import KINDS, VERSIONS, fmu
from .option_rows import OptionRow, Rows, takes
from .run_simulation import gain_of, ground_elements, law_and_gains, start_and_goal
from .shared import GivenRobot, Json, make_console, print_json
from .simulate import ROWS as OF_SIMULATION

NO_INPUTS = "none"


def _of_simulation(panel: str, *names: str) -> list[OptionRow]:
    """Return rows of ``kinetree simulate``, which mean the same here."""
    rows = {row.name: row for row in OF_SIMULATION[panel]}
    return [rows[name] for name in names]


ROWS: Rows = {
    "Robot": OF_SIMULATION["Robot"],
    "Inputs": [
        OptionRow(
            "action", str, "What the inputs are: torque of the motors; position or velocity of servos; signal of the "
            "robot's actuators; or none.", "torque; none beside a controller", words=(*MODES, NO_INPUTS),
        ),
        OptionRow("servo_kp", str, "Stiffness of servos, given like --kp.", needs="action"),
        OptionRow("servo_kd", str, "Damping of servos, given like --kd.", needs="action"),
    ],
    "Start": _of_simulation("Start", "q0", "v0"),
    "Controller": _of_simulation("Controller", "controller", "kp", "kd", "ki", "limit", "target", "duration"),
    "Forces": _of_simulation(
        "Forces", "ground", "ground_kind", "stiffness", "friction_coefficient", "stops", "forces", "friction"
    ),
    "Integration": [
        OptionRow("integrator", str, "Integrator for co-simulation, with a fixed step.", "rk4", "rk4"),
        OptionRow("step", float, "Seconds of its steps.", "0.001", 1e-3),
    ],
    "Output": [
        OptionRow("output", Path, "The file (.fmu).", "the robot's name", flags=("--output", "-o")),
        OptionRow("fmi", str, "Version of the standard.", "2.0", "2.0", words=VERSIONS),
        OptionRow("kind", str, "co-simulation, model-exchange or both.", "both", "both", words=tuple(KINDS)),
        OptionRow(
            "platform", list[str], "Machine to compile for; may be given several times: " + ", ".join(PLATFORMS) + ".",
            "this machine", words=tuple(PLATFORMS),
        ),
        OptionRow("as_json", Json, default=False),
    ],
}  # fmt: skip


@takes(ROWS)
def write_fmu(given: SimpleNamespace) -> None:
    """Write a robot with everything around it as an FMU, for Simulink, OpenModelica, Dymola and others.

    A Functional Mock-up Unit (FMI 2.0 or 3.0) needs neither Python nor kinetree. Inputs are
    forces of the motors or targets of servos, outputs are positions, velocities, forces and energies, and gains and
    other numbers are parameters. The internal integrator (co-simulation) takes the same steps as `kinetree simulate`.

    For example:

        kinetree fmu kuka-kr5 -o kr5.fmu
        kinetree fmu arm.urdf --action position --servo-kp 100 --servo-kd 10 --fmi 3.0
        kinetree fmu four-bar --q0 motion --forces springs.yaml
        kinetree fmu kuka-kr5 --controller pd+gravity --target joint_1=1 --platform x86_64-windows
    """
    of_robot = [row.name for row in ROWS["Robot"]]
    typed = GivenRobot(**{name: getattr(given, name) for name in of_robot})
    robot = typed.load()
    for name in ("sample_time", "delay", "encoder", "noise", "seed"):
        setattr(given, name, None)  # of a sampled controller, which an FMU does not have
    q, v, desired = start_and_goal(robot, given, typed.of_gallery)
    elements = ground_elements(robot, given)
    law, _ = law_and_gains(robot, given, q, v, desired, elements)
    action = given.action or ("torque" if given.controller == "none" else NO_INPUTS)
    gains = {"kp": given.servo_kp, "kd": given.servo_kd}
    if action not in ("position", "velocity") and any(gains.values()):
        raise OptionError("--servo-kp and --servo-kd belong to --action position or velocity")
    servo = {name: gain_of(robot, text, f"--servo-{name}") for name, text in gains.items() if text is not None}
    made = fmu(
        robot, given.output, version=given.fmi, kind=given.kind, q0=q, v0=v, controller=law, ground=elements,
        action=None if action == NO_INPUTS else Commanded(action, **servo) if servo else action,
        forces=[] if given.forces is None else load_forces(given.forces), integrator=given.integrator,
        step=given.step, friction=given.friction, platforms=given.platform or (),
    )  # fmt: skip
    names = {role: made.named(role) for role in ("input", "parameter", "output")}
    if given.as_json:
        print_json({"file": str(made.path), **{f"{role}s": listed for role, listed in names.items()}})
        return
    console = make_console()
    console.print(f"wrote {escape(str(made.path))}", soft_wrap=True)
    for role, listed in names.items():
        shown = ", ".join(listed[:6]) + (", ..." if len(listed) > 6 else "")
        console.print(f"  {len(listed)} {role}s: {escape(shown or 'none')}", soft_wrap=True)
