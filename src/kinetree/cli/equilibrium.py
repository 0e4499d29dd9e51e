"""``kinetree equilibrium``: where a robot comes to rest, and what holds it there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from ..io.units import ShownUnits
from .completion import complete_joint
from .shared import GivenRobot, Json, Units, make_console, print_json, takes_robot
from .values import read_values

if TYPE_CHECKING:
    from ..motion.equilibrium import Equilibrium

Held = Annotated[
    str | None,
    typer.Option(
        help="Joints that are held: 'O=2.5deg,elbow=0.3' at positions, 'O,elbow' where they are, or 'none'.",
        show_default="joints with motors", autocompletion=complete_joint,
    ),
]  # fmt: skip
Begin = Annotated[
    str | None,
    typer.Option(
        "--q0", help="Where it begins to sink: numbers, or joints as in elbow=20deg.", show_default="as drawn"
    ),
]
Tau = Annotated[
    str | None,
    typer.Option(help="Forces at joints that are not held, in N m and N: elbow=2,slide=-5.", show_default="none"),
]
Limits = Annotated[bool, typer.Option(help="Whether joints stop at their limits.")]
Descend = Annotated[
    bool, typer.Option(help="Sink to a place of rest, or find the nearest balanced place, stable or not.")
]


@takes_robot
def equilibrium(
    given: GivenRobot, held: Held = None, q0: Begin = None, tau: Tau = None, limits: Limits = True,
    descend: Descend = True, units: Units = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Find where a robot comes to rest under its weight and springs, and what holds it there.

    Joints with motors are held where they are; the table has the forces that hold them, those of springs and stops,
    natural frequencies, and whether the place is stable.

    For example:

        kinetree equilibrium toggle-clamp --held O=3deg
        kinetree equilibrium clamp.yaml --held none --q0 O=1deg --units deg
    """
    from ..motion.equilibrium import equilibrium as settle
    from ..studies import simulation_setup

    robot, shown = given.load(), ShownUnits.read(units)
    q = simulation_setup.configuration(robot, read_values(q0, "--q0", True), given.of_gallery, "--q0")
    forces = read_values(tau, "--tau", True) or {}
    found = settle(
        robot, q, held=_held(held), tau={name: x[0] for name, x in forces.items()}, limits=limits, descend=descend
    )
    if as_json:
        print_json({
            "kind": found.kind, "q": dict(zip(robot.q_names, found.q.tolist(), strict=True)),
            "tau": dict(zip(robot.v_names, found.tau.tolist(), strict=True)), "stops": found.stops,
            "springs": found.springs, "frequencies": _frequencies(found),
        })  # fmt: skip
        return
    make_console().print(escape(found.text(shown)), soft_wrap=True, highlight=False)


def _held(text: str | None) -> Any:
    if text is None or text.strip() == "none":
        return None if text is None else []
    if "=" in text:
        return {name: values[0] for name, values in read_values(text, "--held", True).items()}
    return [name for name in text.replace(",", " ").split() if name]


def _frequencies(found: Equilibrium) -> list[float] | None:
    from ..errors import SingularError

    try:
        return list(found.frequencies.tolist())
    except SingularError:
        return None
