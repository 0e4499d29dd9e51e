"""``kt.fmu``: a robot with everything around it as a Functional Mock-up Unit."""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms.acting_element import Scalars
from ...algorithms.loop_constraints import UNCLOSED
from ...control.base import Controller, Sum
from ...control.commands import Commanded
from ...control.sampled import find_sampled
from ...errors import OptionError, StateError, UnknownNameError, UnsupportedError, explains_arguments
from ...evaluation.law_kernels import unrolls
from ...export.c_laws import ON_THE_STACK, c_name, law_in_c, step_in_c
from ...io.atomic_files import beside
from ...io.paths import as_path
from ...robot.load import as_robot
from ...robot.robot import Robot
from ...spatial.numbers import real_number
from ..arguments import (
    check_integrator,
    force_elements,
    initial_state,
    known_kinks,
    known_span,
    law_and_function,
    varied_parameters,
)
from ..elimination_order import LoopChoice
from ..equation import Equation, unit_quaternions
from ..integrators.fixed_step_methods import FIXED
from ..options import SimulationOptions
from ..system import DynamicSystem
from ..worlds.actions import commanded
from ..worlds.derivative_methods import named_numbers
from .binaries import PLATFORMS, check_platform, shared_library, this_machine
from .description import CO_SIMULATION, MODEL_EXCHANGE, description
from .sampled_laws import SampledLaws
from .variables import (
    HIDDEN,
    INDEPENDENT,
    FmuVariable,
    Output,
    Results,
    number_variables,
    refuse_repeated,
    state_variables,
)

VERSIONS = ("2.0", "3.0")
"""Versions of the standard."""

KINDS = {"both": (MODEL_EXCHANGE, CO_SIMULATION), MODEL_EXCHANGE: (MODEL_EXCHANGE,), CO_SIMULATION: (CO_SIMULATION,)}
"""Interfaces that an FMU can have."""

ROUNDS_TO_SETTLE = 8
"""Newton steps that close the loops of a start, which a user may have changed."""

ROUNDS_ON_THE_WAY = 3
"""The same for states of an integrator outside, which drift from closed ones by its error."""

LONGEST = 1.0e3
"""Seconds until which kinks of forces are noted, if nothing ends before."""

MOST_KINKS = 10_000
"""The most kinks that are noted."""


@dataclass(frozen=True)
class Fmu:
    """What :func:`fmu` has written.

    Attributes
    ----------
    path : Path
        The file.
    variables : tuple of FmuVariable
        Its variables, with names, roles, units and starts.
    """

    path: Path
    variables: tuple[FmuVariable, ...]

    def named(self, role: str) -> list[str]:
        """Return the names of the variables of a role: ``"input"``, ``"output"``, ``"parameter"``."""
        return [v.name for v in self.variables if v.role == role]


@explains_arguments
def fmu(
    robot: Robot | str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    *,
    version: str = "2.0",
    kind: str = "both",
    action: str | Commanded | None = "torque",
    controller: Controller | None = None,
    ground: Any = (),
    forces: Any = (),
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    parameters: Mapping[str, Any] | None = None,
    outputs: Mapping[str, Output] | None = None,
    integrator: str = "rk4",
    step: float = 1e-3,
    friction: bool = True,
    friction_speed: float = 1e-2,
    platforms: Sequence[str] = (),
) -> Fmu:
    """Write a robot with everything around it as a Functional Mock-up Unit, for Simulink, OpenModelica, Dymola, ...

    The FMU contains the equations of motion as C, compiled; it needs neither Python nor kinetree.

    Parameters
    ----------
    robot : Robot, or path-like
        A robot, its file, or its name in the gallery; with or without loops.
    path : path-like, optional
        The file; by default the robot's name with ``.fmu``.
    version : {"2.0", "3.0"}
        Version of the standard.
    kind : {"both", "co-simulation", "model-exchange"}
        Whether the FMU brings its integrator along (co-simulation), leaves it to the other program (model exchange), or
        offers both.
    action : {"torque", "position", "velocity", "signal"}, Commanded or None
        Meaning of the inputs: forces of the motors; targets of servos, with the gains of a
        :class:`kinetree.control.Commanded`; signals of the robot's own actuators; or None for no inputs.
    controller : controller, optional
        A controller of :mod:`kinetree.control`, whose forces are added to those of the inputs.
    ground, forces : force elements
        As in :func:`kinetree.simulate`.
    q0, v0 : array_like, optional
        Start, which the other program can change.
    parameters : mapping, optional
        Numbers of the robot that become parameters of the FMU, with their starts, as in :func:`kinetree.simulate`.
    outputs : mapping of str to callable, optional
        Further outputs: functions of a moment over any scalar, as in :class:`kinetree.World`, such as
        ``{"hand": lambda m: m.place("hand")}``.
    integrator : str
        Integrator for co-simulation, with a fixed step.
    step : float
        Seconds of its steps; the last step before a communication point may be shorter.
    friction : bool
        Whether the joints' own damping and friction act.
    friction_speed : float
        Coulomb friction is smoothed to ``v / sqrt(v^2 + friction_speed^2)``.
    platforms : sequence of str
        Machines for which it is compiled, ``"x86_64-linux"``, ``"x86_64-windows"``, ``"x86_64-darwin"``,
        ``"aarch64-linux"``, ``"aarch64-darwin"``; by default this one.  Others need ``pip install 'kinetree[fmu]'``.

    Returns
    -------
    Fmu
        The path, and the variables by name.

    Raises
    ------
    UnsupportedError
        If something is part of it that does not become C: a plain Python function, random noise.
    OutputError
        If the file cannot be written, or the C compiler refuses.

    Examples
    --------
    >>> import kinetree as kt
    >>> made = kt.fmu("kuka-kr5", "kr5.fmu", outputs={"wrist": lambda m: m.place("link_6")})  # doctest: +SKIP
    >>> made.named("input")[:2]  # doctest: +SKIP
    ['joint_1.torque', 'joint_2.torque']
    """
    robot = as_robot(robot)
    if version not in VERSIONS:
        raise UnknownNameError("version of FMI", version, VERSIONS)
    if kind not in KINDS:
        raise UnknownNameError("kind of FMU", kind, KINDS)
    if not isinstance(integrator, str) or integrator not in FIXED:
        raise UnknownNameError("integrator with a fixed step", integrator, FIXED)
    check_integrator(robot, integrator)
    options = SimulationOptions(integrator=integrator, step=step, friction=friction, friction_speed=friction_speed)
    machines = [platforms] if isinstance(platforms, str) else list(platforms) or [this_machine()]
    for machine in machines:
        check_platform(machine)
    target = as_path(f"{robot.name}.fmu" if path is None else path, "the file of the FMU")
    if target.suffix != ".fmu":
        raise OptionError(f"the file of an FMU ends in .fmu, not {target.name!r}")
    if not target.parent.is_dir():
        raise OptionError(f"there is no folder {str(target.parent)!r} for {target.name}: make it first")
    written = _Unit(robot, action, controller, ground, forces, parameters, outputs or {}, options, q0, v0)
    written.save(target, version, KINDS[kind], machines)
    return Fmu(target, tuple(written.variables))


class _Unit:
    """The C and the variables of one FMU."""

    def __init__(
        self, robot: Robot, action: Any, controller: Any, ground: Any, forces: Any, parameters: Any,
        outputs: Mapping[str, Output], options: SimulationOptions, q0: Any, v0: Any,
    ) -> None:  # fmt: skip
        if not unrolls(robot):
            raise UnsupportedError(f"robot {robot.name!r} has too many bodies for an FMU, {len(robot.model.bodies)}")
        self.robot, self.options = robot, options
        command = commanded("torque" if action is None else action)
        elements = force_elements(ground), force_elements(forces, "forces")
        law = _with_command(command, controller, robot)
        varied = varied_parameters(robot, parameters or None, options.integrator)
        self.system = DynamicSystem(robot, law, *elements, options.friction, options.friction_speed, False, varied)
        q, v = initial_state(robot, q0, v0)
        if q.ndim > 1 or v.ndim > 1:
            raise StateError("an FMU has one start: q0 and v0 without a batch")
        self.equation = Equation(self.system).prepared(q)
        if self.equation.numbers.ndim > 1:
            raise OptionError("an FMU has one set of numbers: parameters and gains without a batch")
        if self.equation.by_robot and self.equation.loops is None:
            raise UnsupportedError(
                f"no choice of constraints of {robot.name!r} implies all others where it starts, as at a singular "
                "configuration: start elsewhere"
            )
        self.choice = self.equation.loops
        self.ways = [None] if self.choice is None else list(self.choice.ways)
        self.start = np.concatenate([q, v, self.system.initial_z()])
        self.span = known_span((controller, *elements[1]))
        at, named, _ = named_numbers(self.system, self.equation.places_of_numbers, False)
        idle = {"torque": ("kp", "kd"), "velocity": ("kp",), "signal": ("kp", "kd")}.get(command.mode, ())
        shown = {name: where for name, where in named.items() if name not in idle}
        found = find_sampled(self.system.controller)
        self.sampled = None if found is None else SampledLaws(self.equation, found)
        self.results = Results(self.equation, outputs)
        self.c = self._laws()  # which finds out what the results are
        count = number_variables(self.equation, command, at["command"], shown, action is not None)
        self.variables = [
            FmuVariable("time", INDEPENDENT, "time", "s"),
            *state_variables(self.equation, self.start), *count, *self.results.variables,
        ]  # fmt: skip
        refuse_repeated([v for v in self.variables if v.role != HIDDEN])

    # ------------------------------------------------------------------ C

    def _laws(self) -> str:
        """Return all laws of the model as functions in C."""
        equation, steps = self.equation, self.equation.steps
        sizes = ("t", 1), ("state", len(self.start)), ("numbers", len(equation.numbers))
        parts = []
        for k, way in enumerate(self.ways):
            parts.append(step_in_c(f"step_{k}", *steps.laws(self.options.integrator, way)))
            parts.append(law_in_c(f"rates_{k}", self._rates(way), sizes))
        parts.append(law_in_c("settled_state", self._settled, sizes[1:]))
        parts.append(law_in_c("results_of", self.results.of, sizes))
        if self.sampled is not None:
            parts.append(self.sampled.functions())
        return "\n".join(parts)

    def _rates(self, way: LoopChoice | None) -> Any:
        """Return the law of rates; those of a mechanism are computed at the nearest closed state.

        So an integrator outside, which knows nothing of loops, only sees states drift by its own error.
        """
        equation = self.equation

        def law(t: Scalars, state: Scalars, numbers: Scalars) -> list[Any]:
            q, v, z = equation.parts(state)
            if way is None:
                return equation.rates_of_scalars(t[0], q, v, z, numbers)
            q, _ = unit_quaternions(equation.tree, q)
            q, v, _ = way.closed(equation.with_numbers(numbers).tree, q, v, ROUNDS_ON_THE_WAY)
            return equation.rates_of_scalars(t[0], q, v, z, numbers, choice=way)

        return law

    def _settled(self, state: Scalars, numbers: Scalars) -> list[Any]:
        """Return a start with unit quaternions and closed loops, and the square of the gap that was left."""
        q, v, z = self.equation.parts(state)
        q, _ = unit_quaternions(self.equation.tree, q)
        left: Any = 0.0
        if self.choice is not None:
            q, v, left = self.choice.closed(self.equation.with_numbers(numbers).tree, q, v, ROUNDS_TO_SETTLE)
        return [*q, *v, *z, left]

    def source(self, version: str, identity: str) -> str:
        """Return the whole program."""
        kinks = self._kinks()
        numbers = {
            "STATES": len(self.start), "NUMBERS": len(self.equation.numbers), "RESULTS": len(self.results.variables),
            "SWITCHES": self.results.n_switches,
            "WAYS": len(self.ways), "KINKS": len(kinks), "STEP": _number(cast("float", self.options.step)),
            "WIDEST_GAP": _number(UNCLOSED), "SPAN_BEGIN": _number(self.span[0]), "SPAN_END": _number(self.span[1]),
        }  # fmt: skip
        tables = {"start_state": ("double", self.start), "start_numbers": ("double", self.equation.numbers)}
        tables["kinks"] = "double", kinks
        if self.sampled is not None:
            numbers |= self.sampled.numbers()
            tables |= self.sampled.tables()
        head = [
            "#include <math.h>", "#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>", "",
            f'#define IDENTITY "{identity}"', f"#define {ON_THE_STACK}",
            *(f"#define {name} {value}" for name, value in numbers.items()), "",
        ]  # fmt: skip
        ways = len(self.ways)
        called = [
            _functions("step", "steps_by", "double, double, const double *, const double *, double *", ways),
            _functions("rates", "rates_by", "const double *, const double *, const double *, double *", ways),
        ]
        samples = "no_samples.c" if self.sampled is None else "samples.c"
        files = [_text(name) for name in (samples, "instance.c", f"fmi{version[0]}.c")]
        listed = [_table(name, *of) for name, of in tables.items()]
        return "\n".join([*head, self.c, *listed, *called, *files])

    def _kinks(self) -> np.ndarray:
        begin, end = self.span
        found = known_kinks(self.system, max(begin, -LONGEST), min(end, LONGEST))
        if len(found) > MOST_KINKS:
            raise UnsupportedError(
                f"forces have {len(found)} kinks or jumps in {LONGEST:g} s, and an FMU notes no more than {MOST_KINKS}"
            )
        return found

    # ------------------------------------------------------------------ the file

    def save(self, path: Path, version: str, kinds: Sequence[str], machines: Sequence[str]) -> None:
        """Write the archive: description, libraries, source."""
        name = self.robot.name
        model = c_name(name, "robot")
        identity = hashlib.sha256(repr((version, self.c, self.variables, self.options.step)).encode()).hexdigest()[:32]
        identity = f"{{{identity[:8]}-{identity[8:12]}-{identity[12:16]}-{identity[16:20]}-{identity[20:]}}}"
        stop = self.span[1] if math.isfinite(self.span[1]) else 1.0
        summary = f"{name}: {self.robot.nv} degrees of freedom, {len(self.robot.model.bodies)} bodies"
        step = real_number(self.options.step, "step", positive=True)
        text = description(version, name, model, identity, self.variables, kinds, step, float(stop), summary,
                           self.results.n_switches)  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / f"{model}.c"
            source.write_text(self.source(version, identity), encoding="ascii", newline="\n")
            libraries = []
            for machine in machines:
                old, ending, _ = PLATFORMS[machine]
                library = Path(folder) / f"{machine}.{ending}"
                shared_library(source, library, machine)
                libraries.append((library, f"binaries/{old if version == '2.0' else machine}/{model}.{ending}"))
            with beside(path) as place, zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
                archive.writestr("modelDescription.xml", text)
                for library, where in libraries:
                    archive.write(library, where)
                archive.write(source, f"documentation/{model}.c")


def _with_command(command: Commanded, controller: Any, robot: Robot) -> Controller:
    """Return the law of motors: that of the inputs, and the controller beside it."""
    if controller is None:
        return command
    law, function = law_and_function(controller, robot)
    if function is not None or law is None:
        raise UnsupportedError("a plain Python function cannot be written as C: use a controller of kinetree.control")
    return Sum((command, law))


def _number(x: float) -> str:
    return f"({'-' if x < 0 else ''}HUGE_VAL)" if math.isinf(x) else f"({float(x)!r})"


def _table(name: str, kind: str, numbers: np.ndarray) -> str:
    written = [str(x) if kind == "int" else _number(x) for x in numbers.tolist()]
    return f"static const {kind} {name}[] = {{{', '.join(written) or '0'}}};"


def _functions(name: str, called: str, arguments: str, count: int) -> str:
    listed = ", ".join(f"{name}_{k}" for k in range(count))
    return f"static void (*const {called}[])({arguments}) = {{{listed}}};"


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="ascii")
