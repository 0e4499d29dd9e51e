"""``kinetree codegen``: algorithms as C."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from ..algorithms.table import AXES, METHOD, find
from ..errors import OptionError, UnknownNameError, refuse_unknown
from ..studies.controller_names import LAWS
from .completion import complete_algorithm
from .shared import GivenRobot, Json, make_console, print_json, takes_robot

if TYPE_CHECKING:
    from ..robot.robot import Robot


@takes_robot
def codegen(
    given: GivenRobot,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the files; made if missing.")] = Path("."),
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            "--algorithm",
            "-a",
            help="Algorithm to write; may be given several times.",
            show_default=False,
            autocompletion=complete_algorithm,
        ),
    ] = None,
    frame: Annotated[
        list[str] | None,
        typer.Option("--frame", "-f", help="Frame of jacobian, pose, ...; may be given several times."),
    ] = None,
    axes: Annotated[str, typer.Option(help="Axes of velocities and jacobians: body, world or aligned.")] = "body",
    method: Annotated[str, typer.Option(help="Method of forward dynamics.")] = "articulated_body",
    prefix: Annotated[str | None, typer.Option(help="Prefix of all names; by default the robot's name.")] = None,
    single: Annotated[bool, typer.Option("--float", help="Use float instead of double.")] = False,
    own_math: Annotated[bool, typer.Option("--own-math", help="Do not use math.h.")] = False,
    fma: Annotated[bool, typer.Option("--fma", help="Use fma() wherever a product is added.")] = False,
    wrenches: Annotated[bool, typer.Option("--wrenches", help="Let dynamics take a wrench on every body.")] = False,
    reentrant: Annotated[bool, typer.Option("--reentrant", help="Temporaries on the stack, not static.")] = False,
    states: Annotated[int, typer.Option(help="States in the test program.")] = 4,
    webassembly: Annotated[
        bool, typer.Option("--webassembly", help="Write .wasm, and .json that describes it, instead of C.")
    ] = False,
    controller: Annotated[
        str | None,
        typer.Option(
            help="Write this control law, with its gains in a struct: " + ", ".join(LAWS) + ".",
            autocompletion=lambda incomplete: [name for name in LAWS if name.startswith(incomplete)],
        ),
    ] = None,
    kp: Annotated[str | None, typer.Option(help="Stiffness: one number, or by names, 'elbow=50,wrist=20'.")] = None,
    kd: Annotated[str | None, typer.Option(help="Damping, given like --kp; critical by default.")] = None,
    ki: Annotated[str | None, typer.Option(help="Integral gain of pid and computed-torque, given like --kp.")] = None,
    as_json: Json = False,
) -> None:
    """Write algorithms as C99 without allocation: a source file, a header and a test program.

    By default, inverse and forward dynamics are written. The header documents the arguments and results of every
    function; the test program compares a few states with the results of kinetree. For a mechanism with loops, the
    result has, after the forces or accelerations, the multipliers, a quality between 0 (singular) and 1, and three
    squared residuals.

    For example:

        kinetree codegen kuka-kr5 -o build
        kinetree codegen arm.urdf -o build -a inverse_dynamics -a jacobian -f tool
        kinetree codegen kuka-kr5 -o build --controller computed-torque --kp 100 --kd 20
        kinetree codegen kuka-kr5 -o build --webassembly
    """
    robot = given.load()
    gains = {"--kp": kp, "--kd": kd, "--ki": ki}
    laws = {} if controller is None else {controller.replace("+", "_"): _law(given, robot, controller, gains)}
    if not laws and (alone := [flag for flag, value in gains.items() if value is not None]):
        raise OptionError(f"{alone[0]} is of no use without --controller")
    names = algorithm or ([] if laws else ["inverse_dynamics", "forward_dynamics"])
    wanted = _requests(robot, names, frame or [], axes, method)
    if webassembly:
        of_c = {
            "--float": single,
            "--own-math": own_math,
            "--fma": fma,
            "--reentrant": reentrant,
            "--controller": controller,
        }
        if any(of_c.values()):
            raise OptionError(f"{', '.join(flag for flag, given in of_c.items() if given)}: for C, not for WebAssembly")
        output.mkdir(parents=True, exist_ok=True)
        made = robot.webassembly(wanted, wrenches=wrenches)
        files = made.save(output / f"{prefix}.wasm" if prefix else output)
        if as_json:
            print_json({"files": [str(path) for path in files], **made.description})
        else:
            for path in files:
                make_console().print(f"wrote {escape(str(path))}", soft_wrap=True)
        return
    exported = robot.codegen(
        output, wanted, prefix=prefix, precision="single" if single else "double", own_math=own_math, fma=fma,
        wrenches=wrenches, reentrant=reentrant, states=states, controllers=laws,
    )  # fmt: skip
    if as_json:
        functions = {name: count.to_dict() for name, count in exported.functions.items()}
        print_json({"files": [str(path) for path in exported.files], "functions": functions})
        return
    console = make_console()
    for path in exported.files:
        console.print(f"wrote {escape(str(path))}", soft_wrap=True)
    for name, count in exported.functions.items():
        console.print(f"  {name}: {count}", soft_wrap=True)


def _law(given: GivenRobot, robot: Robot, kind: str, typed: dict[str, str | None]) -> Any:
    """Make the controller that is to be written; its desired motion is an argument of every call."""
    import numpy as np

    from ..studies import simulation_setup  # importing the simulation takes a second
    from .run_simulation import gain_of

    refuse_unknown("controller", kind, LAWS)
    q = simulation_setup.configuration(robot, None, given.of_gallery)
    kp, kd, ki = (gain_of(robot, text, flag) for flag, text in typed.items())
    if ki is not None and kind not in ("pid", "computed-torque"):
        raise OptionError(f"--ki needs --controller pid or computed-torque; it is {kind!r}")
    goal = simulation_setup.stay(robot, q)
    begin = q, np.zeros(robot.nv)
    return simulation_setup.controller(kind, robot, goal, kp=kp, kd=kd, ki=0.0 if ki is None else ki, begin=begin)


def _requests(robot: Robot, names: Sequence[str], frames: Sequence[str], axes: str, method: str) -> list[Any]:
    """List the algorithms with their options; one per frame if they depend on frames."""
    taken = {option for name in names for option in find(name).option_names}
    for flag, given, takers in (
        ("--frame", bool(frames), {"frame", "frames"}),
        ("--axes", axes != AXES.default, {"axes"}),
        ("--method", method != METHOD.default, {"method"}),
    ):
        if given and not takers & taken:
            raise OptionError(f"{flag} has no effect on {', '.join(names)}")
    choices = {name: find(name).choices("method") for name in names if "method" in find(name).option_names}
    if method != METHOD.default and not any(method in known for known in choices.values()):
        name = "forward_dynamics" if "forward_dynamics" in choices else next(iter(choices))
        raise UnknownNameError(f"method (of {name})", method, choices[name])
    requests: list[Any] = []
    for name in names:
        known = find(name).option_names
        options = {"axes": axes} if "axes" in known else {}
        if method in choices.get(name, ()):
            options["method"] = method
        if robot.loops is not None and method == METHOD.default:
            options.pop("method", None)  # closed loops are solved in one way
        if "frame" in known and frames:
            requests += [(name, options | {"frame": frame}) for frame in frames]
        elif "frames" in known and frames:
            requests.append((name, options | {"frames": tuple(frames)}))
        else:
            requests.append((name, options) if options else name)
    return requests
