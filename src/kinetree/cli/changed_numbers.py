"""``--set link_2.mass=8kg,16kg``: other numbers for a robot, or several, to compare what comes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ..errors import OptionError, UnknownNameError, refuse_unknown
from ..io.units import Quantity
from .values import read_values

if TYPE_CHECKING:
    from ..robot.robot import Robot

Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Other numbers for the robot: 'link_2.mass=8', 'elbow.damping=0.5', 'gravity=0:0:-1.62'. "
        "Several values, 'link_2.mass=8,16', are compared by inverse and forward.",
        show_default=False,
    ),
]


UNITS = {
    "mass": ("kg",), "com": ("m",), "position": ("m",), "seat": ("m",), "rpy": ("rad",), "gravity": ("m/s^2",),
    "friction": ("N", "Nm"), "stiffness": ("N/m", "Nm"), "spring_rest": ("rad", "m"),
}  # fmt: skip
"""SI units that a number may have; others are given without."""


OF_THREE = ("gravity", "com", "position", "rpy", "seat")


class Case(NamedTuple):
    """A robot with the values, as they were typed, that set it apart."""

    typed: Mapping[str, str]
    robot: Robot


def changed(robot: Robot, texts: Iterable[str] | None) -> Robot:
    """Return a robot with other numbers; several values are refused."""
    cases = changed_in_turn(robot, texts)
    if len(cases) > 1:
        names = ", ".join(cases[0].typed)
        raise OptionError(
            f"--set: {len(cases)} values for {names}: this command takes one; 'kinetree inverse' and 'kinetree "
            "forward' compare several, and so does 'kinetree sweep' for simulations"
        )
    return cases[0].robot


def changed_in_turn(robot: Robot, texts: Iterable[str] | None) -> list[Case]:
    """Return the robot with the first values, with the second ones, and so on."""
    given = _values_by_name(texts or ())
    count = max((len(values) for values in given.values()), default=1)
    for name, values in given.items():
        if len(values) not in (1, count):
            raise OptionError(f"--set: {name} has {len(values)} values, another name has {count}: give one, or as many")
    cases = []
    for k in range(count):
        typed = {name: values[k if len(values) > 1 else 0] for name, values in given.items()}
        numbers = {_in_full(robot, name): _numbers(name, text) for name, text in typed.items()}
        varied = {name: text for name, text in typed.items() if len(given[name]) > 1} if count > 1 else typed
        cases.append(Case(varied, robot.with_parameters(numbers) if numbers else robot))
    return cases


def friction_given(texts: Iterable[str] | None) -> list[str]:
    """Return the names among these that are numbers of friction."""
    from ..algorithms.joint_friction import PARAMETERS

    return [name for name in _values_by_name(texts or ()) if name.rpartition(".")[2] in PARAMETERS]


def moves_joints(texts: Iterable[str] | None) -> bool:
    """Whether joints or loops sit elsewhere with these values, so that loops have to be closed anew."""
    return any(name.rpartition(".")[2] in ("position", "rpy", "seat") for name in _values_by_name(texts or ()))


def _values_by_name(texts: Iterable[str]) -> dict[str, list[str]]:
    """Split ``a.mass=1,2,b.mass=3`` into names with their values."""
    found: dict[str, list[str]] = {}
    for text in texts:
        values: list[str] | None = None
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, sign, value = (word.strip() for word in part.partition("="))
            if sign:
                if name in found:
                    raise OptionError(f"--set: {name!r} is given more than once")
                values = found[name] = []
            if values is None or (sign and not (name and value)):
                raise OptionError(f"--set: give a name and a value, such as link_2.mass=8; not {text!r}")
            values.append(value if sign else part)
    return found


def _numbers(name: str, text: str) -> float | list[float]:
    numbers = read_values(f"{name}={text}".replace(" ", ""), "--set", True)[name]
    for number in numbers:
        if isinstance(number, Quantity) and number.unit not in UNITS.get(name.rpartition(".")[2], ()):
            raise OptionError(f"--set: {name}={number.written}: this unit does not fit: give a number in SI units")
    if name.rpartition(".")[2] in OF_THREE and len(numbers) != 3:
        last = "-9.81" if name == "gravity" else "0.1"
        raise OptionError(f"--set: {name} needs three numbers, separated by colons, such as {name}=0:0:{last}")
    return numbers[0] if len(numbers) == 1 else numbers


def _in_full(robot: Robot, name: str) -> str:
    """Return ``bodies.link_2.mass`` for ``link_2.mass``: a body or joint and what its file calls the number."""
    from ..model.substitution import OF_BODIES, OF_JOINTS, TABLES, with_table  # not needed without changes

    owner, dot, what = name.rpartition(".")
    if not dot and name != "gravity":
        known = ", ".join([*OF_BODIES, *OF_JOINTS])
        raise OptionError(f"--set: {name!r}: whose? BODY.mass, or JOINT.damping; these are {known}; or gravity")
    if name.partition(".")[0] in TABLES or name in robot.parameters().names:
        return name
    owned = [("bodies", "body", OF_BODIES, robot.body_names), ("joints", "joint", OF_JOINTS, robot.joint_names)]
    for table, kind, words, owners in owned:
        if what in words:
            refuse_unknown(f"{kind} to --set", owner, owners)
            return f"{table}.{name}"
    near = [f"{owner}.{word}" for _, _, words, owners in owned if owner in owners for word in words]
    if near and with_table(robot.model, name) is None:
        raise UnknownNameError("parameter", name, near)
    return name
