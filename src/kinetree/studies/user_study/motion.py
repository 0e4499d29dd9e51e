"""Motions in study files: kinds of trajectories by name, with their numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import OptionError, UnknownNameError
from ...io.units import Quantity, quantity
from ...model.formats.yaml_nodes import Items, Node, NodeReader, Scalar, Table
from ...motion import trajectories
from ...robot.robot import Robot
from ...simulation.prescribed import BoundMotion
from ...spatial.arrays import Array
from .. import named_systems, simulation_setup
from ..system import States
from .gait import GAIT_KEYS, read_gait, walking_start
from .plan import ClosedMotion

SAMPLES = 201
"""Number of samples of a gallery motion that a controller follows; the motion is a quintic in time between them.

A walk that goes on has as many in each two steps."""

PROFILES = {"cycloid": "cycloid", "quintic": "quintic", "cubic": "cubic", "trapezoid": "trapezoid"}

MOVES: dict[str, Callable[..., trajectories.Trajectory]] = {
    "cycloid": trajectories.Cycloid, "quintic": trajectories.Quintic, "cubic": trajectories.Cubic,
    "trapezoid": trajectories.Trapezoidal,
}  # fmt: skip

PACE = ("speed", "acceleration", "duration")
TOOL_PATHS = {"line": ("to", "orientation"), "arc": ("via", "to", "orientation"), "turn": ("axis", "angle", "center")}
"""Paths of a frame, with the keys that define them."""

STEP_KEYS = {"stride": "m", "period": "s"} | dict.fromkeys(("height", "foot_height", "side", "pendulum_height"), "m")
"""Numbers of the steps of a walking machine of the gallery, those of :func:`kinetree.gallery.walk`, and their units."""

MOTION_KEYS = {
    **dict.fromkeys(MOVES, ("from", "to", "duration")),
    "constant": ("at", "duration"),
    "constant-speed": ("from", "speed", "duration"),
    "sine": ("center", "amplitude", "frequency", "phase", "duration"),
    "spline": ("times", "points"),
    **{kind: ("frame", "from", *keys, *PACE) for kind, keys in TOOL_PATHS.items()},
    "gallery": ("of", "duration", *STEP_KEYS),
    "table": ("file",),
    "gait": GAIT_KEYS,
}


MEASURED_IN = {"speed": "{}/s", "amplitude": "{}", "frequency": "Hz", "phase": "rad"}
"""Units of a motion's numbers for each joint, whose coordinate is in rad or m."""


class MotionReader(NodeReader):
    """Reads the desired motion of a study's file."""

    robot: Robot
    system: str | None
    """Its name in the gallery."""
    q: Array
    v: Array
    """Initial state."""
    path: Path
    """The file."""
    free_base: bool = False
    """Whether only the joints with motors follow the motion, and the others move by the dynamics."""
    top: dict[str, Node]
    """Sections of the file."""
    brought: tuple[Any, ...] = ()
    """Ground that belongs to a motion, if none is given."""
    start_given: tuple[Any, Any] = (None, None)
    """Initial positions and velocities in the file: all entries, some by name, or None."""

    def given(self, node: Node | None) -> Any:
        """Return numbers, numbers by joint, or a word."""
        if node is None:
            return None
        if isinstance(node, Table):
            return {name: self.angles(value, f"joint {name!r}") for name, value in node.entries.items()}
        if isinstance(node, Items):
            return self.angles(node, "an entry")
        return self.text(node, "a configuration")

    def angles(self, node: Node, what: str) -> Any:
        """Return one number, or a list, each perhaps with a unit: ``90 deg``, ``120 mm``, ``60 rpm``."""
        if isinstance(node, Items):
            return [self.angles(item, what) for item in node.items]
        with self.at(node):
            found = quantity(node.text, what) if isinstance(node, Scalar) and node.plain else None
        return self.number(node, what) if found is None else found

    def measured(self, node: Node, what: str, unit: str = "s") -> float:
        """Return a number in SI, or one with a unit that fits: ``500 ms``."""
        found = self.angles(node, what)
        if isinstance(found, Quantity):
            with self.at(node):
                found.refuse_other(unit, what)
        return float(found)

    def read_motion(
        self, node: Node | None
    ) -> tuple[trajectories.Trajectory | None, Callable[[Array], States] | None, float]:
        """Read the desired motion, the motion of all joints, and its duration."""
        if node is None:
            return None, None, 0.0
        if not isinstance(node, Table) or "kind" not in node.entries:
            raise self.error("motion needs a kind, such as 'kind: cycloid'", node)
        kind = self.text(node.entries["kind"], "kind of motion")
        if kind not in MOTION_KEYS:
            raise self.error(str(UnknownNameError("kind of motion", kind, MOTION_KEYS)), node.entries["kind"])
        fields = self.fields(node, f"a motion of kind {kind!r}", ("kind", *MOTION_KEYS[kind]))
        with self.at(node):
            if kind == "gallery":
                return self.gallery_motion(fields, node)
            if kind in ("table", "gait"):
                return self.table(fields, node) if kind == "table" else self.gait(fields, node)
            if kind in TOOL_PATHS:
                moved = self.tool_motion(kind, fields, node)
                return moved.held(), lambda times: States(*moved(times)), moved.end
            made, span = self.trajectory(kind, fields, node)
            return made.held() if np.isfinite(made.end) else made, self.states_of(made), span

    def simulated_time(self) -> float:
        """Return the time that the file gives to the simulation; 0 if it says none."""
        node = self.top.get("simulation")
        given = node.entries.get("time") if isinstance(node, Table) else None
        return 0.0 if given is None else self.measured(given, "time")

    def states_of(self, made: trajectories.Trajectory) -> Callable[[Array], States]:
        """Return the motion of all joints."""
        if self.robot.loops is not None:
            return ClosedMotion(self.robot, made, self.q)
        return lambda times: States(*made(times))

    def trajectory(self, kind: str, fields: dict[str, Node], node: Node) -> tuple[trajectories.Trajectory, float]:
        """Make the trajectory of all coordinates or, in a mechanism, of the driven joints."""
        if kind == "spline":
            return self.spline(fields, node)
        if "duration" not in fields:
            raise self.error(f"a motion of kind {kind!r} needs 'duration', in seconds", node)
        span = self.measured(fields["duration"], "duration")
        if kind in MOVES:
            if "to" not in fields:
                raise self.error(f"a motion of kind {kind!r} needs 'to': where it goes", node)
            begin, end = self.configured(fields, "from"), self.configured(fields, "to")
            if self.robot.loops is not None:
                return MOVES[kind](self.coordinates(begin), self.coordinates(end), span), span
            return trajectories.Between(self.robot, begin, end, span, PROFILES[kind]), span
        if kind == "constant":
            at = self.configured(fields, "at")
            if self.robot.loops is not None:
                return trajectories.Constant(self.coordinates(at)), span
            return trajectories.Between(self.robot, at, at, span), span
        if kind == "constant-speed":
            speed = self.entries(fields, "speed", None)
            return trajectories.ConstantSpeed(self.coordinates(self.configured(fields, "from")), speed), span
        center = self.coordinates(self.configured(fields, "center"))
        swing = [self.entries(fields, key, default) for key, default in
                 (("amplitude", None), ("frequency", None), ("phase", 0.0))]  # fmt: skip
        return trajectories.Sine(center, *swing), span

    def tool_motion(self, kind: str, fields: dict[str, Node], node: Node) -> trajectories.ToolMotion:
        """Make the motion of all joints with which a frame follows a line, an arc or a turn."""
        for key in ("frame", *(("axis", "angle") if kind == "turn" else TOOL_PATHS[kind][:-1])):
            if key not in fields:
                raise self.error(f"a motion of kind {kind!r} needs {key!r}", node)

        def point(key: str) -> Array:
            return np.array([self.measured(x, key, "m") for x in self.items(fields[key], key)])

        frame = self.text(fields["frame"], "frame")
        first = np.array(self.robot.pose(self.q, frame))
        if "from" in fields:
            first[:3, 3] = point("from")
        said = self.text(fields["orientation"], "orientation") if "orientation" in fields else "free"
        if said not in ("kept", "free"):
            raise self.error(str(UnknownNameError("orientation", said, ("kept", "free"))), fields["orientation"])
        angular = "rad" if kind == "turn" else "m"
        units = dict(zip(PACE, (f"{angular}/s", f"{angular}/s^2", "s"), strict=True))
        pace: dict[str, Any] = {
            key: self.measured(fields[key], key, unit) for key, unit in units.items() if key in fields
        }
        free = "center" in fields if kind == "turn" else said == "free"
        begin = first[:3, 3] if free else first
        if kind == "turn":
            axis, angle = self.numbers(fields["axis"], "axis", 3), self.measured(fields["angle"], "angle", "rad")
            path: Any = trajectories.Turn(begin, axis, angle, point("center") if free else None, **pace)
        elif kind == "arc":
            path = trajectories.Arc(begin, point("via"), point("to"), **pace)
        else:
            path = trajectories.Line(begin, point("to"), **pace)
        return trajectories.ToolMotion(self.robot, frame, path, self.q)

    def configured(self, fields: dict[str, Node], key: str) -> Array:
        """Read a configuration; by default the initial one."""
        if key not in fields:
            return self.q
        with self.at(fields[key]):
            given = self.given(fields[key])
            stays = isinstance(given, dict) and self.robot.loops is None  # joints that are not named
            return simulation_setup.configuration(
                self.robot, given, self.system, f"motion.{key}", self.q if stays else None
            )

    @property
    def moving(self) -> list[Any]:
        """Joints that a motion moves."""
        if self.robot.loops is not None:
            return self.robot.model.driven_joints
        return list(self.robot.model.joints)

    def coordinates(self, q: Array) -> Array:
        """Return the coordinates of the joints that a motion moves."""
        if self.robot.loops is None and self.robot.nq != self.robot.nv:
            raise OptionError(
                f"the robot has quaternions, which this kind of motion cannot move: use one of {', '.join(MOVES)}"
            )
        return np.concatenate([q[joint.q_slice] for joint in self.moving])

    def entries(self, fields: dict[str, Node], key: str, default: float | None) -> Array:
        """Read a number per coordinate of the motion: one for all, a list, or by joint, zero for the others."""
        count = sum(joint.nv for joint in self.moving)
        if key not in fields:
            if default is None:
                raise OptionError(f"the motion needs {key!r}: one number, a list, or by joint")
            return np.full(count, default)
        node = fields[key]
        with self.at(node):
            if isinstance(node, Scalar):
                return np.full(count, self.measured(node, key, MEASURED_IN[key].format("rad")))
            if isinstance(node, Items):
                return np.array(self.numbers(node, key, count))
            values = np.zeros(self.robot.nv)
            for name, value in node.entries.items():
                unit = self.robot.v_units[self.robot.joint(name).v_slice.start]
                said, wanted = f"{key} of {name!r}", MEASURED_IN[key].format(unit)
                single = isinstance(value, Scalar)
                given = self.measured(value, said, wanted) if single else self.angles(value, said)
                values[self.robot.joint(name).v_slice] = simulation_setup.of_joint(
                    self.robot, name, given, "v", f"motion.{key}"
                )
            return np.concatenate([values[joint.v_slice] for joint in self.moving])

    def table(
        self, fields: dict[str, Node], node: Node
    ) -> tuple[trajectories.Trajectory, Callable[[Array], States] | None, float]:
        """Read a motion of the driven joints from a table."""
        if "file" not in fields:
            raise self.error("a motion of kind 'table' needs 'file'", node)
        made, _ = simulation_setup.table_motion(self.robot, self.path.parent / self.text(fields["file"], "file"))
        self.free_base = True
        self.start_on(*BoundMotion(self.robot, made).on_motion(np.asarray(made.start), self.q, self.v))
        return made.held(), None, made.end - made.start

    def gait(
        self, fields: dict[str, Node], node: Node
    ) -> tuple[trajectories.Trajectory, Callable[[Array], States] | None, float]:
        """Read a walk; the robot starts on it, except for the start that the file gives."""
        made, walk, above = read_gait(self, self.robot, self.q, fields, node)
        self.free_base = True
        self.start_on(*walking_start(self.robot, made, walk, above))
        return made, None, self.measured(fields["duration"], "duration")

    def start_on(self, q: Array, v: Array) -> None:
        """Start on a motion, except for the start that the file gives."""
        given_q, given_v = self.start_given
        if given_q is None or isinstance(given_q, dict):
            self.q = simulation_setup.with_entries(self.robot, q, given_q or {}, "q", "start.q")
        if given_v is None or isinstance(given_v, dict):
            self.v = simulation_setup.with_entries(self.robot, v, given_v or {}, "v", "start.v")

    def spline(self, fields: dict[str, Node], node: Node) -> tuple[trajectories.Trajectory, float]:
        """Make a smooth curve through points, at rest at both ends."""
        for key in ("times", "points"):
            if key not in fields:
                raise self.error(f"a spline needs {key!r}", node)
        times = [self.measured(item, "a time") for item in self.items(fields["times"], "times")]
        count = sum(joint.nv for joint in self.moving)
        rows = self.items(fields["points"], "points")
        points = [self.numbers(row, "a point of the spline", count) for row in rows]
        if len(points) != len(times) or not times or times[0] != 0.0:
            raise self.error(f"a spline needs a point for each of its times, the first at 0; not {len(points)} points "
                             f"for times {times}", fields["times"])  # fmt: skip
        self.coordinates(self.q)  # refuses quaternions
        return trajectories.spline(times, points), times[-1]

    def gallery_motion(
        self, fields: dict[str, Node], node: Node
    ) -> tuple[trajectories.Trajectory, Callable[[Array], States], float]:
        """Return the motion of a system of the gallery, perhaps with another duration.

        Machines with steps walk on, by default for as long as the simulation lasts; other motions become slower.
        """
        system = self.text(fields["of"], "of") if "of" in fields else self.system or self.robot.model.motion_of
        if not system:
            raise self.error(
                "a motion of kind 'gallery' is for robots of the gallery; for one of its files 'of' says whose, "
                "such as {kind: gallery, of: gripper}",
                node,
            )
        named, alike = named_systems.system(system), named_systems.load(system)
        if alike.q_names != self.robot.q_names:
            raise OptionError(
                f"the motion of {system!r} is one of {', '.join(alike.joint_names)}, and this robot has "
                f"{', '.join(self.robot.joint_names)}"
            )
        steps = {key: self.measured(fields[key], key, unit) for key, unit in STEP_KEYS.items() if key in fields}
        if steps:
            if named.stepping is None:
                key = next(iter(steps))
                said = f"{system!r} has no steps: {key!r} is for the walking machines of the gallery"
                raise self.error(said, fields[key])
            with self.at(fields[next(iter(steps))]):
                named = named.stepping(self.robot, **steps)
        own = named_systems.motion_of(named, system)
        begin, end = own.span
        walks = named.stepping is not None  # step after step: for how long is free, and its pace is that of the steps
        span = end - begin
        if "duration" in fields:
            span = self.measured(fields["duration"], "duration")
        elif walks:
            span = max(span, self.simulated_time())
        if not span > 0:
            raise OptionError(f"the duration of a motion must be positive, not {span:g}")
        pace = 1.0 if walks else (end - begin) / span

        def states(times: Array) -> States:
            q, v, a = own.states(np.asarray(times) * pace + begin)
            return States(q, v * pace, a * pace**2)

        self.coordinates(self.q)  # refuses quaternions
        places = [k for joint in self.moving for k in range(joint.q_slice.start, joint.q_slice.stop)]
        speeds = [k for joint in self.moving for k in joint.freedoms]
        apart = (end - begin) / pace / (SAMPLES - 1)
        # steps end at samples, wherever all ends
        times = np.append(np.arange(max(1, round(span / apart))) * apart, span)
        q, v, a = states(times)
        if self.robot.loops is not None and not self.robot.closure_error(q).max() < simulation_setup.CLOSED:
            raise OptionError(f"loops of this robot do not allow the motion of {system!r}: its links are different")
        followed = trajectories.sampled(times, q[:, places], v[:, speeds], a[:, speeds])
        ground = named.ground
        if ground is not None:  # without ground, machines fall, and from the wrong initial state they stumble
            self.brought = (ground(),)
            self.start_on(q[0], v[0])
        return followed.held(), states, span
