"""The variables of an FMU: what can be read and written from outside, by name, with units."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...algorithms import energy, loop_constraints
from ...algorithms.acting_element import Scalars
from ...control.commands import Commanded
from ...errors import OptionError
from ...model.tree import Model
from ...spatial import Scalar, sqrt
from ..equation import Equation
from ..worlds.instant import Moment

INDEPENDENT, INPUT, OUTPUT, PARAMETER, LOCAL = "independent", "input", "output", "parameter", "local"
"""Roles of variables, as FMI calls them."""

HIDDEN = "hidden"
"""The role of numbers that nobody sets, such as the time of the last command."""

Output = Callable[[Moment], Any]
"""A function of the user, over any scalar: returns a number or a sequence of numbers."""

_RATES = {"rad": "rad/s", "m": "m/s", "1": "1/s"}
_FORCES = {"rad": "N.m", "m": "N", "1": "1"}


@dataclass(frozen=True)
class FmuVariable:
    """A variable of an FMU; its position in the list is its reference."""

    name: str
    role: str
    description: str
    unit: str = "1"
    start: float | None = None
    derivative_of: int | None = None
    """The reference of the state whose rate this is."""

    @property
    def is_state(self) -> bool:
        """Whether it is a state, which has a start and changes with time."""
        return self.role == OUTPUT and self.start is not None


def state_variables(equation: Equation, state: np.ndarray) -> list[FmuVariable]:
    """Return the states with their starts, and their rates, for references from 1."""
    tree, nz = equation.tree, equation.system.nz
    places, rates = equation.robot.q_names, equation.robot.v_names
    units_q, units_v = _units(tree, "q_units", tree.nq), _units(tree, "v_units", tree.nv)
    named = [(f"{name}.position", "position", unit) for name, unit in zip(places, units_q, strict=True)]
    named += [(f"{name}.velocity", "velocity", _RATES[unit]) for name, unit in zip(rates, units_v, strict=True)]
    named += [(f"state[{k}]", "state of a controller or force element", "1") for k in range(nz)]
    states = [
        FmuVariable(name, OUTPUT, what, unit, float(x)) for (name, what, unit), x in zip(named, state, strict=True)
    ]
    return states + [
        FmuVariable(f"der({s.name})", LOCAL, f"rate of {s.name}", _rate_of(s.unit), derivative_of=k + 1)
        for k, s in enumerate(states)
    ]


def _rate_of(unit: str) -> str:
    """Return the unit of a rate: that of velocities is squared in seconds."""
    return _RATES.get(unit) or f"{unit}2"


def _units(tree: Model, which: str, count: int) -> list[str]:
    """Return the unit of each coordinate or freedom."""
    found = ["1"] * count
    for joint in tree.joints:
        if not joint.mimic:
            own = joint.q_slice if which == "q_units" else joint.v_slice
            found[own] = getattr(joint.kind, which)
    return found


_COMMANDS = {
    "torque": ("torque", "force of the motor", _FORCES),
    "position": ("target", "target of the servo", {"rad": "rad", "m": "m", "1": "1"}),
    "velocity": ("target_velocity", "target of the servo", _RATES),
    "signal": ("signal", "signal of the actuator", {}),
}


def number_variables(
    equation: Equation, command: Commanded, commands: slice, named: Mapping[str, slice], takes_input: bool
) -> list[FmuVariable]:
    """Return a variable for each number of the equation: inputs, parameters, and those that nobody sets.

    Parameters
    ----------
    equation : Equation
    command : Commanded
        The law of the motors, whose command is the input.
    commands : slice
        The command among the numbers.
    named : mapping from str to slice
        The parameters among the numbers.
    takes_input : bool
        Whether the command is an input.
    """
    tree, numbers = equation.tree, equation.numbers
    found = [FmuVariable(f"number[{k}]", HIDDEN, "") for k in range(len(numbers))]
    for name, where in named.items():
        for k, place in enumerate(range(where.start, where.stop)):
            own = name if where.stop - where.start == 1 else f"{name}[{k}]"
            found[place] = FmuVariable(own, PARAMETER, "parameter", start=float(numbers[place]))
    if takes_input:
        word, what, units = _COMMANDS[command.mode]
        own_units = ["1"] * tree.nv if command.mode == "signal" else _motor_units(tree)
        for place, name, unit in zip(
            range(commands.start, commands.stop), command.names(tree), own_units, strict=False
        ):
            found[place] = FmuVariable(f"{name}.{word}", INPUT, what, units.get(unit, "1"), start=float(numbers[place]))
    return found


def _motor_units(tree: Model) -> list[str]:
    return [unit for joint in tree.driven_joints for unit in joint.kind.v_units]


class Results:
    """What an FMU computes besides its states: forces of motors, energies, gaps, ground, and functions of the user.

    Parameters
    ----------
    equation : Equation
    outputs : mapping from str to callable
        Functions of a moment, by the names of their results.
    """

    def __init__(self, equation: Equation, outputs: Mapping[str, Output]) -> None:
        self.equation, self.own = equation, dict(outputs)
        for name, function in self.own.items():
            if not isinstance(name, str) or not callable(function):
                raise OptionError(f"outputs are functions of a moment by name, not {name!r}: {function!r}")
        self.variables: list[FmuVariable] = []
        self.n_switches = 0
        """How many of the last results pass through zero where a force changes: event indicators."""

    def of(self, t: Scalars, state: Scalars, numbers: Scalars) -> list[Scalar]:
        """Return all results, of any scalar; the variables that describe them are noted."""
        equation, tree = self.equation, self.equation.tree
        q, v, z = equation.parts(state)
        system = equation.with_numbers(numbers)
        moment = Moment(system, t[0], q, v, z, (), equation.loops)
        units = _units(tree, "v_units", tree.nv)
        forces = [(f"{name}.force", _FORCES[unit]) for name, unit in zip(equation.robot.v_names, units, strict=True)]
        rows: list[tuple[str, str, str, Any]] = [
            (name, "force of the motor", unit, x) for (name, unit), x in zip(forces, moment.forces, strict=True)
        ]
        rows.append(("energy.kinetic", "kinetic energy", "J", energy.kinetic_energy(system.tree, q, v)))
        rows.append(
            ("energy.potential", "potential energy", "J", energy.potential_energy(system.tree, q, system.tree.gravity))
        )
        if equation.loops is not None:
            gap = sqrt(sum((x * x for x in loop_constraints.gaps(system.tree, q)), 0.0))
            rows.append(("closure_error", "how far loops are open, in m and rad", "1", gap))
        touching = system.contact_forces(t[0], q, v, z)
        if touching:
            total = [sum(touching[k::3], 0.0) for k in range(3)]
            rows += [
                (f"ground.{axis}", "force of the ground on the robot", "N", x)
                for axis, x in zip("xyz", total, strict=True)
            ]
        for name, function in self.own.items():
            rows += _flat(name, function(moment))
        found = [FmuVariable(name, OUTPUT, what, unit) for name, what, unit, _ in rows]
        switches = [x for part in system.parts for x in part.element.switches(system.tree, t[0], q, v)]
        found += [FmuVariable(f"switch[{k}]", LOCAL, "zero where a force changes") for k in range(len(switches))]
        self.variables, self.n_switches = found, len(switches)
        return [0.0 * q[0] + x if q else x for x in (*(row[-1] for row in rows), *switches)]


def _flat(name: str, found: Any) -> Iterable[tuple[str, str, str, Any]]:
    """Return the numbers that a function of the user returned, each with its name."""
    try:
        each = list(found)
    except TypeError:
        return [(name, "output", "1", found)]
    return [(f"{name}[{k}]", "output", "1", x) for k, x in enumerate(each)]


def refuse_repeated(variables: Sequence[FmuVariable]) -> None:
    """Refuse two variables of one name, which only functions of the user can cause."""
    seen: set[str] = set()
    for variable in variables:
        if variable.name in seen:
            raise OptionError(f"two variables are called {variable.name!r}: give the output another name")
        seen.add(variable.name)
