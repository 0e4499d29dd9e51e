"""Runs made in the page of the studio: one turn of a motor, a simulation from a pose; as Python that repeats them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from kinetree.robot.robot import Robot

Numbers = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class StudioRun:
    """Something computed with the robot as it was then.

    Attributes
    ----------
    text : str
        The robot's file at that time.
    q : tuple of float
        Configuration at the beginning.
    """

    KIND: ClassVar[str] = ""
    IS_TUNED: ClassVar[bool] = False
    """Whether runs with other numbers, one after the other, are one run that is being tuned."""

    text: str
    q: Numbers

    def content(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"kind": self.KIND, **asdict(self)}

    def lines(self, name: str, robot: Robot) -> list[str]:
        """Return Python code that repeats it with the robot of that name."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class MotorTurn(StudioRun):
    """One turn of a joint at constant speed; where it cannot turn round, once to and fro between two positions.

    Attributes
    ----------
    joint : str
    speed, low, high : float
        In SI units.
    whole : bool
        Whether it turns round.
    count : int
        Samples after the first one.
    """

    KIND = "turn"

    joint: str
    speed: float
    low: float
    high: float
    whole: bool
    count: int = 180

    def lines(self, name: str, robot: Robot) -> list[str]:
        """Return Python code that repeats it."""
        joint = robot.joint(self.joint)
        freedom = robot.v_names[joint.v_slice.start]
        found = [
            f"# one turn of {self.joint!r}, at {abs(self.speed):.6g} {robot.v_units[joint.v_slice.start]}/s",
            f"start = np.array({list(self.q)})",
            f"period = 2 * np.pi / {abs(self.speed)!r}",
            f"t = np.linspace(0, period, {self.count + 1})",
        ]
        if self.whole:
            found += [
                f"position = {self.low!r} + 2 * np.pi * t / period", f"rate = np.full_like(t, {self.speed!r})",
                "acceleration = np.zeros_like(t)",
            ]  # fmt: skip
        else:
            middle, reach = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
            found += [
                "w = 2 * np.pi / period",
                f"position = {middle!r} - {reach!r} * np.cos(w * t)",
                f"rate = {reach!r} * w * np.sin(w * t)",
                f"acceleration = {reach!r} * w**2 * np.cos(w * t)",
            ]
        if robot.loops is None:
            found += [
                f"q = np.tile(start, (len(t), 1)); q[:, {joint.q_slice.start}] = position",
                f"v = np.zeros((len(t), {name}.nv)); v[:, {joint.v_slice.start}] = rate",
                f"a = np.zeros((len(t), {name}.nv)); a[:, {joint.v_slice.start}] = acceleration",
            ]
        else:
            still = "".join(
                f", {j!r}: np.full_like(t, start[{robot.joint(j).q_slice.start}])" for j in _others(robot, freedom)
            )
            found += [
                f"free = {name}.independent(start)",
                f"q = {name}.follow({{{self.joint!r}: position{still}}}, start, limits=False, lead_in=True)",
                f"rates = np.stack([rate if f == {freedom!r} else np.zeros_like(t) for f in free], axis=-1)",
                f"changes = np.stack([acceleration if f == {freedom!r} else np.zeros_like(t) for f in free], axis=-1)",
                f"v = {name}.velocities(q, rates)",
                f"a = {name}.accelerations(q, v, changes)",
            ]
        return [*found, f"tau = {name}.inverse_dynamics(q, v, a)"]


@dataclass(frozen=True, kw_only=True)
class LetGo(StudioRun):
    """A simulation with constant motor torques, and springs and dampers that hold a pose.

    Attributes
    ----------
    v : tuple of float
        Velocities at the beginning.
    seconds, step : float
    torque, kp, kd, goal : tuple of float
        A number for each driven joint of one freedom.
    """

    KIND = "let go"

    v: Numbers
    seconds: float
    step: float
    torque: Numbers = ()
    kp: Numbers = ()
    kd: Numbers = ()
    goal: Numbers = ()

    @property
    def whole_steps(self) -> float:
        """The end of the last step; the sum of many steps is off by rounding, and would add another one."""
        return round(self.seconds / self.step) * self.step

    def lines(self, name: str, robot: Robot) -> list[str]:
        """Return Python code that repeats it."""
        driven = [j for j in robot.model.driven_joints if j.nq == j.nv == 1]
        acts = any((*self.torque, *self.kp, *self.kd))
        found = [f"# let go for {self.seconds:.6g} s"]
        if acts:
            found += [
                "def motors(t, q, v):",
                f"    force = np.zeros({name}.nv)",
                f"    at, rates = {[j.q_slice.start for j in driven]}, {[j.v_slice.start for j in driven]}",
                f"    goal, kp = np.array({list(self.goal)}), np.array({list(self.kp)})",
                f"    kd, torque = np.array({list(self.kd)}), np.array({list(self.torque)})",
                "    force[rates] = torque + kp * (goal - q[at]) - kd * v[rates]",
                "    return force",
                "",
            ]
        more = "controller=motors, " if acts else ""
        return [
            *found,
            f"record = kt.simulate({name}, {list(self.q)}, {list(self.v)}, time={self.whole_steps!r},",
            f'                     integrator="rk4", step={self.step!r}, {more}progress=False)',
        ]


def _others(robot: Robot, freedom: str) -> list[str]:
    """Return the joints, other than that of a freedom, that determine a mechanism; they stay where they are."""
    free = set(robot.independent()) - {freedom}
    return [j.name for j in robot.model.joints if any(robot.v_names[k] in free for k in range(robot.nv)[j.v_slice])]
