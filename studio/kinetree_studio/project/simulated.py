"""A simulation that was set up in the studio: what moves the robot, what it stands on, and how it is stepped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from kinetree.errors import refuse_unknown
from kinetree.robot.robot import Robot

from .planned_motion import PlannedMotion
from .run_code import CodePart, RunProblem, literal, names, number, row
from .runs import Numbers, StudioRun
from .tried_numbers import changed_parameters

CONTROLLERS = ("none", "PD", "PD with gravity", "PID", "computed torque", "gravity compensation", "LQR")
GROUNDS = ("none", "plane", "shapes")
METHODS = ("adaptive", "adaptive, stiff", "Runge-Kutta", "implicit")
INTEGRATORS = {"Runge-Kutta": "rk4", "implicit": "implicit_euler"}

FASTEST_METHOD = {"adaptive": "Runge-Kutta", "adaptive, stiff": "implicit"}
"""What takes the place of a step that is chosen by itself where many designs are simulated together."""

A_SECOND, FEWEST_SAMPLES, MOST_MOMENTS = 100, 101, 3001
"""Samples in a second, and in all."""


@dataclass(frozen=True, kw_only=True)
class SimulatedRun(StudioRun):
    """A simulation with a controller, ground and stops.

    Attributes
    ----------
    v : tuple of float
        Velocities at the beginning.
    motion : PlannedMotion or None
        What a controller is to follow; otherwise it holds ``goal``.
    on_motion : bool
        Whether it begins where the motion does, not at ``q`` and ``v``.
    goal : tuple of float
        The configuration that a controller holds.
    controller : str
        One of :data:`CONTROLLERS`.
    kp, kd, ki : tuple of float
        Gains: one for each motor, or one for all of computed torque; of LQR the weights of positions, velocities and
        forces.
    ground : str
        One of :data:`GROUNDS`: none, a plane under points of the robot, or what its shapes touch.
    height, slope, friction, stiffness : float
        Of the ground; the slope in radians.
    stops : bool
        Whether joints stop at their limits.
    rubs : bool
        Whether friction and damping of joints act.
    method : str
        One of :data:`METHODS`.
    seconds, step : float
    values : dict from str to float
        Numbers of sliders that were tried.
    """

    KIND: ClassVar[str] = "simulation"
    IS_TUNED: ClassVar[bool] = True

    v: Numbers
    seconds: float
    step: float = 1e-3
    motion: StudioRun | None = None
    on_motion: bool = False
    goal: Numbers = ()
    controller: str = "none"
    kp: Numbers = ()
    kd: Numbers = ()
    ki: Numbers = ()
    ground: str = "none"
    height: float = 0.0
    slope: float = 0.0
    friction: float = 0.7
    stiffness: float = 1e5
    stops: bool = False
    rubs: bool = True
    method: str = "adaptive"
    values: dict[str, float]

    def content(self) -> dict[str, Any]:
        """Return it as plain values."""
        motion = None if self.motion is None else {k: x for k, x in self.motion.content().items() if k != "text"}
        return {"kind": self.KIND, **asdict(self), "motion": motion}

    @property
    def title(self) -> str:
        """What is done, for a comment."""
        by = "" if self.controller == "none" else f", with {self.controller}"
        return f"a simulation of {self.seconds:.6g} s{by}"

    @property
    def samples(self) -> int:
        """How many samples it keeps."""
        return min(max(round(A_SECOND * self.seconds) + 1, FEWEST_SAMPLES), MOST_MOMENTS)

    def parts(
        self, name: str, robot: Robot, told: str = "False", fixed: Mapping[str, str] | None = None,
        parameters: str = "", factors: Mapping[str, str] | None = None,
    ) -> list[CodePart]:  # fmt: skip
        """Return the code.

        told: What is written as the progress of the simulation.
        fixed: Methods that take the place of others.
        parameters: Code of numbers of the robot, with a batch in front.
        factors: Variables by which gains are multiplied.
        """
        for what, value, known in (
            ("controller", self.controller, CONTROLLERS), ("ground", self.ground, GROUNDS),
            ("method", self.method, METHODS),
        ):  # fmt: skip
            refuse_unknown(what, value, known)
        method = (fixed or {}).get(self.method, self.method)
        if fixed and method == "Runge-Kutta" and self.ground != "none":
            method = "implicit"
        found = [CodePart("motion", self._motion(name, robot))]
        found.append(CodePart("controller", self._controller(name, robot, factors or {})))
        found.append(CodePart("ground", self._ground(name)))
        given = [f"kt.simulate({name}, q0, v0, time={number(self.seconds)}"]
        if self.controller != "none":
            given.append("controller=controller")
        if self.ground != "none" or self.stops:
            given.append("ground=ground")
        if method in INTEGRATORS:
            given.append(f"integrator={INTEGRATORS[method]!r}, step={number(self.step)}")
        elif self.ground != "none" or method != "adaptive":
            given.append('integrator="radau", rtol=1e-6, atol=1e-8')
        if not self.rubs:
            given.append("friction=False")
        if parameters:
            given.append(f"parameters={parameters}")
        elif changed := changed_parameters(robot, self.values):
            given.append(f"parameters={literal(changed)}")
        given.append(f"samples={self.samples}, progress={told})")
        return [*found, CodePart("simulation", [f"record = {_broken(given)}"])]

    def lines(self, name: str, robot: Robot) -> list[str]:
        """Return Python code that repeats it."""
        return [f"# {self.title}", *(line for part in self.parts(name, robot) for line in part.lines)]

    @property
    def follows(self) -> bool:
        """Whether a motion matters."""
        return isinstance(self.motion, PlannedMotion) and (
            self.on_motion or self.controller in ("PD", "PD with gravity", "PID", "computed torque")
        )

    def _motion(self, name: str, robot: Robot) -> list[str]:
        start = [f"q0, v0 = np.array({row(self.q)}), np.array({row(self.v)})"]
        motion = self.motion
        if not self.follows or not isinstance(motion, PlannedMotion):
            return start
        found = motion.motion_lines(robot)
        if not self.on_motion:
            return [*found, *start]
        changed = changed_parameters(robot, self.values)
        with_values = [f"tried = {name}.with_parameters({literal(changed)})"] if changed else []
        states = motion.states_lines("tried" if changed else name, robot, "np.zeros(1)")
        return [*found, *with_values, *states, "q0, v0 = q[0], v[0]"]

    def _controller(self, name: str, robot: Robot, factors: Mapping[str, str]) -> list[str]:
        if self.controller == "none":
            return []
        if self.controller == "gravity compensation":
            return ["controller = kt.control.GravityCompensation()"]
        if self.controller == "LQR":
            if not len(self.kp) == len(self.kd) == len(self.ki) == 1:
                raise RunProblem("LQR needs weights of positions, velocities and forces", "controller")
            weights = zip(("positions", "velocities", "efforts"), (*self.kp, *self.kd, *self.ki), strict=True)
            listed = ", ".join(f"{key}={number(x)}" for key, x in weights)
            return [f"controller = kt.control.lqr({name}, {row(self._held())}, {listed})"]
        goal, coordinates = self._goal(robot)
        motors = len(robot.model.motors)
        for key, gains in (("kp", self.kp), ("kd", self.kd), ("ki", self.ki if self.controller == "PID" else self.kp)):
            if len(gains) not in (1, motors):
                raise RunProblem(
                    f"{key} is one number, or {motors}, one for each motor: not {len(gains)}", "controller"
                )
        kp, kd = (_gain(x, factors.get(key)) for key, x in (("kp", self.kp), ("kd", self.kd)))
        given = f"kp={kp}, kd={kd}{coordinates}"
        laws = {
            "PD": f"kt.control.PD(goal, {given})",
            "PD with gravity": f"kt.control.PD(goal, {given}) + kt.control.GravityCompensation()",
            "PID": f"kt.control.PID(goal, {given}, ki={_gain(self.ki)})",
            "computed torque": f"kt.control.ComputedTorque(goal, {given})",
        }
        return [f"goal = {goal}", f"controller = {laws[self.controller]}"]

    def _held(self) -> Numbers:
        return self.goal or self.q

    def _goal(self, robot: Robot) -> tuple[str, str]:
        """Return what the controller is to follow, and the argument that says of which joints, if not of motors."""
        driven = [j.name for j in robot.model.driven_joints]
        if not driven:
            raise RunProblem(f"no joint of {robot.name!r} has a motor", "controller")
        if self.motion is None or not isinstance(self.motion, PlannedMotion):
            at = [x for name in driven for x in self._held()[robot.joint(name).q_slice]]
            return f"kt.trajectories.Constant({row(at)})", ""
        moving = self.motion.columns(robot)
        if moving == driven:
            return "motion.held()", ""
        if robot.loops is not None:
            return "motion.held()", f", coordinates={names(moving)}"
        if missing := [name for name in driven if name not in moving]:
            raise RunProblem(f"the motion has no points of {missing[0]!r}, which has a motor", "motion")
        return f"kt.trajectories.Picked(motion, {[moving.index(name) for name in driven]}).held()", ""

    def _ground(self, name: str) -> list[str]:
        found, ground = [], "kt.ground"
        if self.ground == "plane":
            friction = f"{ground}.PseudoCoulomb({number(self.friction)}, 1000.0)" if self.friction else "None"
            found.append(
                f"{ground}.Ground({ground}.whole_body({name}), {ground}.HuntCrossley({number(self.stiffness)}, 0.5), "
                f"{friction}, {ground}.Plane.inclined({number(self.slope)}, point=(0.0, 0.0, {number(self.height)})))"
            )
        if self.ground == "shapes":
            found.append(
                f"kt.forces.ShapeContact.of({name}, normal={ground}.HuntCrossley({number(self.stiffness)}, 10.0, "
                f"exponent=1), friction={number(self.friction)})"
            )
        if self.stops:
            found.append("kt.forces.JointStops()")
        return [f"ground = [{', '.join(found)}]"] if found else []


def _gain(values: Numbers, factor: str | None = None) -> str:
    if factor is not None:
        return f"{factor}[:, None] * {row(values)}"
    return number(values[0]) if len(values) == 1 else row(values)


def _broken(given: list[str]) -> str:
    """Join arguments on lines that are not too long."""
    found = [given[0]]
    for one in given[1:]:
        if len(found[-1]) + len(one) > 110:
            found[-1] += ","
            found.append(f"    {one}")
        else:
            found[-1] += f", {one}"
    return "\n".join(found)
