"""A motion that was planned in the studio: via points of joints at times, and the forces that it takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kinetree.algorithms.joint_friction import rubbing_names
from kinetree.errors import refuse_unknown
from kinetree.model.tree import Joint
from kinetree.robot.robot import Robot

from .run_code import CodePart, RunProblem, names, number, row, rows
from .runs import Numbers, StudioRun
from .tried_numbers import tried_line

KINDS = ("cubic spline", "quintic", "cycloid", "trapezoid", "constant speed")
"""How a joint goes through its points: smoothly, or from one to the next."""

SMOOTH = {"cubic spline": "", "quintic": ", degree=5"}
MOVES = {"cycloid": "Cycloid", "trapezoid": "Trapezoidal"}

Row = tuple[float | None, ...]


def simple_joints(robot: Robot) -> list[Joint]:
    """Return the joints that a motion gives positions of: in a mechanism those that determine all others."""
    joints = [j for j in robot.model.joints if not j.mimic and j.nq == j.nv == 1]
    if robot.loops is None:
        return joints
    free = robot.independent()
    return sorted(
        (j for j in joints if robot.v_names[j.v_slice.start] in free),
        key=lambda j: free.index(robot.v_names[j.v_slice.start]),
    )


@dataclass(frozen=True, kw_only=True)
class PlannedMotion(StudioRun):
    """Joints that go through points at times, and the forces that this takes.

    Attributes
    ----------
    joints : tuple of str
        Joints that move; the others stay where they are, or follow if loops make them.
    kinds : tuple of str
        How each joint goes through its points, one of :data:`KINDS`.
    times : tuple of float
        Seconds, from zero.
    points : tuple of tuples
        For each time the positions of these joints; None where a joint has no point.
    values : dict from str to float
        Numbers of sliders that were tried.
    count : int
        Samples.
    """

    KIND: ClassVar[str] = "motion"
    IS_TUNED: ClassVar[bool] = True

    joints: tuple[str, ...]
    kinds: tuple[str, ...]
    times: Numbers
    points: tuple[Row, ...]
    values: dict[str, float]
    count: int = 181

    @property
    def title(self) -> str:
        """What is done, for a comment."""
        return f"a motion through {len(self.times)} points in {self.times[-1]:.6g} s" if self.times else "a motion"

    def parts(self, name: str, robot: Robot) -> list[CodePart]:
        """Return the code: the motion, and the forces."""
        tried, using = tried_line(name, robot, self.values)
        friction = ", friction=True" if rubbing_names(robot.model) else ""
        lines = [
            f"tau = {using}.inverse_dynamics(q, v, a{friction})",
            *_terms(using, robot, friction),
        ]  # fmt: skip
        return [
            CodePart("motion", [*tried, *self.motion_lines(robot), *self.states_lines(using, robot)]),
            CodePart("forces", lines),
        ]

    def lines(self, name: str, robot: Robot) -> list[str]:
        """Return Python code that repeats it."""
        return [f"# {self.title}", *(line for part in self.parts(name, robot) for line in part.lines)]

    # ------------------------------------------------------------------ the trajectory

    def columns(self, robot: Robot) -> list[str]:
        """Return the joints of the trajectory in the order of its coordinates."""
        moving = [j.name for j in simple_joints(robot)]
        for joint in self.joints:
            robot.joint(joint)
            refuse_unknown("joint that can be given a motion", joint, moving)
        return moving if robot.loops is not None else [name for name in moving if name in self.joints]

    def motion_lines(self, robot: Robot) -> list[str]:
        """Return the line that makes the trajectory of :meth:`columns`."""
        self._check()
        every = self.columns(robot)
        if not every:
            none = not simple_joints(robot)
            said = "this robot has no joint that turns or slides alone, so nothing can be given a motion"
            raise RunProblem(said if none else "no joint has a point: add one", "motion")
        tables = [self._of(name, robot) for name in every]
        kind, times, _ = tables[0]
        if all((own, at) == (kind, times) for own, at, _ in tables) and times == list(self.times):
            columns = zip(*(values for _, _, values in tables), strict=True)
            return [f"motion = {_through(kind, times, [list(x) for x in columns])}"]
        parts = [self._waiting(*table) for table in tables]
        return ["motion = kt.trajectories.Stacked([", *(f"    {part}," for part in parts), "])"]

    def _waiting(self, kind: str, times: Sequence[float], values: Sequence[float]) -> str:
        """Return the trajectory of one joint, which waits before its first point and after its last."""
        before, after = times[0], self.times[-1] - times[-1]
        points = [[x] for x in values]
        parts = [_through(kind, [t - before for t in times], points)] if len(times) > 1 else []
        for wait, at, place in ((before, points[0], 0), (after, points[-1], len(parts) + 1)):
            if wait > 0.0:
                parts.insert(place, f"kt.trajectories.Constant({row(at)}, {number(wait)})")
        return parts[0] if len(parts) == 1 else f"kt.trajectories.Joined([{', '.join(parts)}])"

    def _check(self) -> None:
        if len(self.times) < 2:
            raise RunProblem("a motion needs two points at least: add one", "motion")
        if self.times[0] != 0.0:
            raise RunProblem(f"the first point is at 0 s, not at {self.times[0]:g} s", "motion")
        for before, after in zip(self.times, self.times[1:], strict=False):
            if not after > before:
                raise RunProblem(f"times must increase: {after:g} s comes after {before:g} s", "motion")
        if any(len(one) != len(self.joints) for one in self.points) or len(self.points) != len(self.times):
            raise RunProblem("each time needs a position of each joint, or nothing", "motion")
        for kind in self.kinds:
            refuse_unknown("kind of motion", kind, KINDS)

    def _of(self, joint: str, robot: Robot) -> tuple[str, list[float], list[float]]:
        """Return how a joint moves, its times and its positions."""
        own = float(self.q[robot.joint(joint).q_slice.start])
        if joint not in self.joints:
            return self.kinds[0], list(self.times), [own] * len(self.times)
        k = self.joints.index(joint)
        given = [(t, float(x)) for t, one in zip(self.times, self.points, strict=True) if (x := one[k]) is not None]
        if not given:
            return self.kinds[k], list(self.times), [own] * len(self.times)
        return self.kinds[k], [t for t, _ in given], [x for _, x in given]

    # ------------------------------------------------------------------ all joints

    def states_lines(self, name: str, robot: Robot, at: str = "") -> list[str]:
        """Return lines that find ``q``, ``v`` and ``a`` of all joints, at samples or at given times."""
        moving = self.columns(robot)
        found = [f"t = {at or f'np.linspace(0.0, {number(self.times[-1])}, {self.count})'}"]
        if robot.loops is not None:
            return [*found, f"start = np.array({row(self.q)})", *self._closed_lines(name, robot, moving)]
        places, rates = ([getattr(robot.joint(j), part).start for j in moving] for part in ("q_slice", "v_slice"))
        if places == list(range(robot.nq)):
            return [*found, "q, v, a = motion(t)"]
        return [
            *found, f"q, v, a = np.tile({row(self.q)}, (len(t), 1)), *np.zeros((2, len(t), {name}.nv))",
            f"q[:, {places}], v[:, {rates}], a[:, {rates}] = motion(t)",
        ]  # fmt: skip

    def _closed_lines(self, name: str, robot: Robot, moving: Sequence[str]) -> list[str]:
        """Return lines for a mechanism; what determines it besides the joints that move, such as a base, stays."""
        free = robot.independent()
        own = {robot.v_names[robot.joint(j).v_slice.start] for j in moving}
        still = [j for j in robot.model.joints if set(robot.v_names[j.v_slice]) & (set(free) - own)]
        stays = "".join(f", {j.name!r}: np.tile(start[{j.q_slice.start}:{j.q_slice.stop}], (len(t), 1))" for j in still)
        path = (
            f"{{**dict(zip({names(moving)}, position.T)){stays}}}"
            if still
            else f"dict(zip({names(moving)}, position.T))"
        )
        found = ["position, rate, change = motion(t)", f"q = {name}.follow({path}, start, limits=False, lead_in=True)"]
        if still:
            places = [free.index(robot.v_names[robot.joint(j).v_slice.start]) for j in moving]
            found += [
                f"moved, (rate, change) = (rate, change), np.zeros((2, len(t), {len(free)}))",
                f"rate[:, {places}], change[:, {places}] = moved",
            ]
        return [*found, f"v = {name}.velocities(q, rate)", f"a = {name}.accelerations(q, v, change)"]


def _through(kind: str, times: Sequence[float], points: Sequence[Sequence[float]]) -> str:
    """Return a trajectory through points as Python makes it."""
    if kind in SMOOTH:
        return f"kt.trajectories.spline({row(times)}, {rows(points)}{SMOOTH[kind]})"
    pieces = []
    for t, u, here, there in zip(times, times[1:], points, points[1:], strict=False):
        span = u - t
        if kind in MOVES:
            pieces.append(f"kt.trajectories.{MOVES[kind]}({row(here)}, {row(there)}, {number(span)})")
        else:
            speed = [(y - x) / span for x, y in zip(here, there, strict=True)]
            pieces.append(f"kt.trajectories.ConstantSpeed({row(here)}, {row(speed)}, {number(span)})")
    return pieces[0] if len(pieces) == 1 else f"kt.trajectories.Joined([{', '.join(pieces)}])"


def _terms(name: str, robot: Robot, friction: str) -> list[str]:
    """Return lines for the parts of the forces: of the weight, of velocities and of accelerations."""
    still = f"{name}.accelerations(q, v, np.zeros_like(rate))" if robot.loops is not None else "0 * a"
    return [
        f"weight = {name}.inverse_dynamics(q, 0 * v, 0 * a)",
        f"of_velocity = {name}.inverse_dynamics(q, v, {still}) - weight",
        f"of_acceleration = {name}.inverse_dynamics(q, v, a) - weight - of_velocity",
        *(["of_friction = tau - weight - of_velocity - of_acceleration"] if friction else []),
    ]


def finite_rows(given: Any) -> tuple[Row, ...]:
    """Read rows of points: numbers, or None."""
    found = tuple(tuple(None if x is None else float(x) for x in one) for one in given)
    if any(x is not None and not math.isfinite(x) for one in found for x in one):
        raise RunProblem("positions must be numbers", "motion")
    return found


def motor_places(robot: Robot) -> list[int]:
    """Return the freedoms with motors; all if none has one."""
    return list(robot.model.motors) or list(range(robot.nv))


def integral(t: Any, x: Any) -> float:
    """Integrate samples over time."""
    return float(np.trapezoid(x, t))
