"""A sweep that was made in the studio: what is measured of a motion or a simulation, over one number or two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from kinetree.errors import UnknownNameError, refuse_unknown
from kinetree.robot.robot import Robot

from ..page.chosen_numbers import ChosenNumbers
from .planned_motion import PlannedMotion, motor_places
from .run_code import CodePart, RunProblem, number
from .run_curves import pin_names
from .runs import Numbers, StudioRun
from .simulated import FASTEST_METHOD, SimulatedRun

MOST_ROWS, MOST_PINS = 10_000, 400
"""The most points of a sweep; of one that measures a pin, since each of its designs is made anew."""

GAINS = {"stiffness of the motors (factor)": "kp", "damping of the motors (factor)": "kd"}
"""Factors of gains that can vary."""

OF_MOTORS: dict[str, tuple[str, str]] = {
    "peak torque of": ("{force}", "np.abs(tau[..., {k}]).max(axis=-1)"),
    "rms torque of": ("{force}", "np.sqrt(np.trapezoid(tau[..., {k}]**2, t) / (t[-1] - t[0]))"),
    "peak power of": ("W", "np.abs(tau[..., {k}] * v[..., {k}]).max(axis=-1)"),
    "work of": ("J", "np.trapezoid(np.abs(tau[..., {k}] * v[..., {k}]), t)"),
}
"""What is measured of a motor: unit and code."""

OF_JOINTS: dict[str, tuple[str, str]] = {
    "last position of": ("{unit}", "q[..., -1, {i}]"),
    "swing of": ("{unit}", "np.ptp(q[..., {i}], axis=-1)"),
    "fastest speed of": ("{unit}/s", "np.abs(v[..., {k}]).max(axis=-1)"),
}
"""What is measured of a joint of one freedom."""

PEAK_FORCE = "peak force in"


def measured(robot: Robot, simulated: bool) -> dict[str, tuple[str, str]]:
    """Return what can be measured: unit and code by name; pins have no code of one line."""
    found: dict[str, tuple[str, str]] = {}
    for k in motor_places(robot):
        for words, (unit, code) in OF_MOTORS.items():
            found[f"{words} {robot.v_names[k]}"] = unit.format(force=robot.tau_units[k]), code.format(k=k)
    joints = [j for j in robot.model.joints if not j.mimic and j.nq == j.nv == 1]
    for joint in joints:
        at = {"i": joint.q_slice.start, "k": joint.v_slice.start}
        for words, (unit, code) in OF_JOINTS.items():
            found[f"{words} {joint.name}"] = unit.format(unit=joint.kind.q_units[0]), code.format(**at)
    if not simulated:
        found |= {f"{PEAK_FORCE} {pin}": ("N", "") for pin in pin_names(robot)}
    return found


def varied(robot: Robot, simulated: bool) -> dict[str, dict[str, Any]]:
    """Return the numbers that can vary: unit, usual ends, and the robot's own value, by name."""
    held = robot.loops is not None and simulated
    sliders = [s for s in ChosenNumbers(robot.model).sliders if not (held and s.group == "lengths")]
    if not simulated:
        sliders = [s for s in sliders if s.group != "damping"]
    found = {s.name: {"unit": s.unit, "low": s.low, "high": s.high, "value": s.value} for s in sliders}
    if simulated:
        found |= {name: {"unit": "", "low": 0.1, "high": 4.0, "value": 1.0} for name in GAINS}
    return found


@dataclass(frozen=True, kw_only=True)
class SweptRun(StudioRun):
    """One measured number over one or two others.

    Attributes
    ----------
    of : StudioRun
        The motion, or the simulation, that is made by all of them.
    numbers : tuple of str
        One name or two, of :func:`varied`.
    lows, highs, counts : tuple of float
        From where to where, and how many, for each.
    measure : str
        One of :func:`measured`.
    """

    KIND: ClassVar[str] = "sweep"
    IS_TUNED: ClassVar[bool] = True

    of: StudioRun
    numbers: tuple[str, ...]
    lows: Numbers
    highs: Numbers
    counts: Numbers
    measure: str

    def content(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"kind": self.KIND, **asdict(self), "of": {k: x for k, x in self.of.content().items() if k != "text"}}

    @property
    def simulated(self) -> bool:
        """Whether each design is simulated."""
        return isinstance(self.of, SimulatedRun)

    def unit(self, robot: Robot) -> str:
        """Return the unit of what is measured."""
        return measured(robot, self.simulated)[self.measure][0]

    def lines(self, name: str, robot: Robot) -> list[str]:
        """Return Python code that repeats it."""
        parts = self.parts(name, robot)
        return [f"# {self.measure} over {' and '.join(self.numbers)}", *(line for part in parts for line in part.lines)]

    def parts(self, name: str, robot: Robot, told: str = "False") -> list[CodePart]:
        """Return the code; the result is ``value``."""
        known = varied(robot, self.simulated)
        for one in self.numbers:
            refuse_unknown("number that can vary", one, known)
        if self.measure not in (measures := measured(robot, self.simulated)):
            raise UnknownNameError("what can be measured", self.measure, measures)
        found = [CodePart("sweep", [*self._axes(), *self._function(robot)])]
        if isinstance(self.of, PlannedMotion):
            found += self._of_motion(self.of, name, robot)
        elif isinstance(self.of, SimulatedRun):
            found += self._of_simulation(self.of, name, robot, told)
        if self.measure.startswith(PEAK_FORCE):
            return [*found, CodePart("sweep", self._pin(name, robot, told))]
        code = measures[self.measure][1]
        return [*found, CodePart("sweep", [f"value = {code}"])]

    def _axes(self) -> list[str]:
        counts = [int(x) for x in self.counts]
        if not len(self.numbers) == len(self.lows) == len(self.highs) == len(counts) or len(counts) not in (1, 2):
            raise RunProblem("a sweep is of one number or of two, each with its ends", "sweep")
        rows, most = 1, MOST_PINS if self.measure.startswith(PEAK_FORCE) else MOST_ROWS
        for name, low, high, count in zip(self.numbers, self.lows, self.highs, counts, strict=True):
            if not low < high:
                raise RunProblem(
                    f"{name} goes from a smaller number to a larger one, not from {low:g} to {high:g}", "sweep"
                )
            if count < 2:
                raise RunProblem(f"{name} needs two values at least, not {count}", "sweep")
            rows *= count
        if rows > most:
            raise RunProblem(f"these are {rows} designs, and a sweep has {most} at most: take fewer steps", "sweep")
        spans = [
            f"np.linspace({number(a)}, {number(b)}, {n})" for a, b, n in zip(self.lows, self.highs, counts, strict=True)
        ]
        if len(spans) == 1:
            return [f"x = {spans[0]}  # {self.numbers[0]!r}"]
        if self.numbers[0] == self.numbers[1]:
            raise RunProblem("choose two different numbers, or one", "sweep")
        return [
            f"grid = np.meshgrid({spans[0]}, {spans[1]}, indexing='ij')",
            f"x, y = (part.ravel() for part in grid)  # {self.numbers[0]!r}, {self.numbers[1]!r}",
        ]

    @property
    def _variables(self) -> str:
        return ", ".join("xy"[: len(self.numbers)])

    def _function(self, robot: Robot) -> list[str]:
        """Return the function from the variables to numbers of the robot."""
        symbols = {n: "xy"[k] for k, n in enumerate(self.numbers) if n not in GAINS}
        tried = getattr(self.of, "values", {})
        if not symbols and not tried:
            return []
        chosen = ChosenNumbers(robot.model)
        written = _as_code(chosen.written(symbols or {"gravity": "x"}, tried))
        return [f"def numbers({self._variables}):", f"    return {written}", ""]

    def _shaped(self, shape: str) -> str:
        return ", ".join(f"{x}{shape}" for x in "xy"[: len(self.numbers)])

    def _of_motion(self, motion: PlannedMotion, name: str, robot: Robot) -> list[CodePart]:
        states = motion.states_lines(name, robot)
        found = [CodePart("motion", [*motion.motion_lines(robot), *states])]
        if robot.loops is None:
            line = f"tau = {name}.inverse_dynamics(q, v, a, parameters=numbers({self._shaped('[:, None]')}))"
            return [*found, CodePart("sweep", [line])]
        return [
            *found[:-1], CodePart("motion", [*motion.motion_lines(robot), *states[:3]]),
            CodePart("sweep", [
                f"moved = {name}.driven_motion(position, rate, change, numbers({self._variables}), q_guess=start)",
                "q, v, a, tau = moved.q, moved.v, moved.a, moved.tau",
            ]),
        ]  # fmt: skip

    def _pin(self, name: str, robot: Robot, told: str) -> list[str]:
        pin = self.measure.removeprefix(f"{PEAK_FORCE} ")
        if robot.loops is None:
            state, k = "q, v, a", robot.joint_names.index(pin)
            force = f"design.joint_wrenches({state})[:, {k}, 3:]"
        else:
            state = "q[k], v[k], a[k]"
            force = f"design.constraint_forces({state}).at({pin!r})[:, 3:]"
        ready = [] if robot.loops is None else [
            "    if not moved.closed[k]:", "        return np.nan",
        ]  # fmt: skip
        tell = [] if told == "False" else [f"    {told}(k)"]
        return [
            "def peak(k):", *tell, *ready, f"    design = {name}.with_parameters(numbers({self._shaped('[k]')}))",
            f"    return np.linalg.norm({force}, axis=-1).max()", "",
            "value = np.array([peak(k) for k in range(len(x))])",
        ]  # fmt: skip

    def _of_simulation(self, run: SimulatedRun, name: str, robot: Robot, told: str) -> list[CodePart]:
        gains = {GAINS[n]: "xy"[k] for k, n in enumerate(self.numbers) if n in GAINS}
        if gains and run.controller in ("none", "gravity compensation", "LQR"):
            raise RunProblem(
                f"{run.controller!r} has no gains that could vary: choose PD, PID or computed torque", "sweep"
            )
        has_numbers = bool(self._function(robot))
        extra = f"numbers({self._variables})" if has_numbers else ""
        parts = run.parts(name, robot, told, FASTEST_METHOD, extra, gains)
        swap = "t, (q, v, tau) = record.time, (np.swapaxes(part, 0, 1) for part in (record.q, record.v, record.tau))"
        return [*parts, CodePart("simulation", [swap])]


def _as_code(tree: Mapping[str, Any]) -> str:
    entries = (f"{key!r}: {_as_code(x) if isinstance(x, Mapping) else x}" for key, x in tree.items())
    return f"{{{', '.join(entries)}}}"
