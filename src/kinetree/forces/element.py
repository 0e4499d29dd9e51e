"""The interface of force elements, and the state of the robot that they use.

An element is a small frozen dataclass.  Its law :meth:`ForceElement.act` gets the robot at one instant
(:class:`Surroundings`: coordinates of joints, points and frames of bodies, and their motion) and applies forces to it.
It is written over any scalar, so it runs on numbers, on batches and as machine code together with the robot.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..algorithms.acting_element import ActingElement, Loads, Pushing, Scalars
from ..algorithms.compliant_directions import Along, BodyLine, GivingWay, difference, impedance_of, point_slope
from ..algorithms.kinematics import Posed, Twist, poses, twists
from ..algorithms.tendons import Taut, distance
from ..contact.surfaces import place
from ..control.base import Controller
from ..control.user_laws import TorqueTable
from ..errors import ModelError, OptionError, ShapeError, UnsupportedError
from ..model.tree import BASE, Model
from ..motion.splines import straight
from ..motion.trajectory_interface import Trajectory, span_of, trajectories_of
from ..spatial import Force, Scalar, Transform, Vec3
from ..spatial.arrays import pack, split
from ..spatial.numbers import as_numbers, is_unknown, shown

Point = Any
"""The name of a body or frame, for its origin; or a pair of such a name and a point (x, y, z) in its coordinates."""


class MovingPoint(NamedTuple):
    """A point of a body: its position, its motion, and the frame that it belongs to."""

    body: int
    arm: Vec3
    """The point in coordinates of the body."""
    position: Vec3
    """The point in the world; all that follows is along the world's axes, too."""
    velocity: Vec3
    pose: Transform
    """Pose of the frame."""
    spin: Vec3
    """The angular velocity."""


class Surroundings:
    """A robot at one instant, for use by force elements, and the forces that they apply.

    Parameters
    ----------
    tree : Model
    t : scalar
        The time.
    q, v : sequences of scalars
        Positions and velocities of the joints.
    """

    def __init__(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> None:
        self.tree, self.t, self.q, self.v = tree, t, q, v
        self.loads: Loads = [None] * len(tree.bodies)
        self.joint_forces: list[Scalar] = [0.0] * tree.nv
        self.pushes: list[Vec3] = []

    @cached_property
    def posed(self) -> list[Posed]:
        """The poses of all bodies."""
        return poses(self.tree, self.q)

    @cached_property
    def moving(self) -> list[Twist]:
        """The velocities of all bodies."""
        return twists(self.tree, self.q, self.v, None, self.posed)

    def coordinate(self, joint: str, number: int = 0) -> Taut:
        """Return a coordinate of a joint or follower, and its derivatives with respect to the freedoms of the robot."""
        link = self.tree.links[self.tree.joint_index[self.tree.joint(joint).name]]
        count = link.kind.nv
        if link.kind.quaternion is not None:
            raise UnsupportedError(
                f"joint {joint!r} has a quaternion, which is not a coordinate to act along: use a Bushing between "
                "its bodies, or forces on points"
            )
        if not 0 <= number < link.kind.nq:
            raise OptionError(f"joint {joint!r} has coordinates 0 to {link.kind.nq - 1}, not {number!r}")
        position = link.position(self.q)
        units = [[1.0 if j == k else 0.0 for j in range(count)] for k in range(count)]
        shares = [link.kind.rate(position, unit)[number] for unit in units]
        slope = {link.v_slice.start + k: share * link.ratio for k, share in enumerate(shares)}
        return Taut(position[number], slope)

    def point(self, at: Point) -> MovingPoint:
        """Return a point of a body, or of the base."""
        name, local = frame_and_point(at)
        is_base = name == "base" and name not in self.tree.frame_table  # under whatever name the file gives it
        found = place(self.tree, None if is_base else name, self.posed, self.moving)
        arm = found.frame.point(Vec3.of(local))
        return MovingPoint(
            found.body, arm, found.pose.point(arm),
            found.pose.rotate(found.velocity.linear + found.velocity.angular.cross(arm)),
            found.pose @ found.frame, found.pose.rotate(found.velocity.angular),
        )  # fmt: skip

    def distance(self, a: MovingPoint, b: MovingPoint) -> tuple[Scalar, Scalar, Vec3]:
        """Return the distance between two points, its rate, and the direction from a to b.

        The direction is zero if the points coincide.
        """
        length, direction = distance(b.position - a.position)
        return length, (b.velocity - a.velocity).dot(direction), direction

    def line(self, a: MovingPoint, b: MovingPoint) -> Taut:
        """Return the distance between two points and its derivatives with respect to the robot's freedoms."""
        length, _, direction = self.distance(a, b)
        slopes = [point_slope(self.tree, self.posed, x.body, x.arm, direction) for x in (a, b)]
        return Taut(length, difference(slopes[1], slopes[0]))

    def held(self, a: MovingPoint, b: MovingPoint) -> Taut | BodyLine:
        """Return the line along which two points yield: one through a body if the other point is fixed in the world."""
        if (a.body == BASE) == (b.body == BASE):
            return self.line(a, b)
        _, rate, direction = self.distance(a, b)
        body, arm, toward = (a.body, a.arm, -direction) if b.body == BASE else (b.body, b.arm, direction)
        own = self.posed[body].pose.unrotate(toward)
        return BodyLine(body, Force(arm.cross(own), own), rate)

    def push(self, at: MovingPoint, force: Vec3) -> None:
        """Apply a force along world axes at a point; forces on the base are ignored."""
        self.pushes.append(force)
        if at.body != BASE:
            own = self.posed[at.body].pose.unrotate(force)
            self._add(at.body, Force(at.arm.cross(own), own))

    def turn(self, at: MovingPoint, torque: Vec3) -> None:
        """Apply a torque along world axes to the body of a point."""
        if at.body != BASE:
            self._add(at.body, Force(self.posed[at.body].pose.unrotate(torque), Vec3(0.0, 0.0, 0.0)))

    def drive(self, along: Taut, force: Scalar) -> None:
        """Apply a force along a coordinate."""
        for k, share in along.slope.items():
            self.joint_forces[k] = self.joint_forces[k] + share * force

    def _add(self, body: int, load: Force) -> None:
        present = self.loads[body]
        self.loads[body] = load if present is None else present + load


@dataclass(frozen=True, eq=False)
class ForceElement(ActingElement):
    """Base of springs, pushes and the like: a new one defines how it acts and, if it stores energy, how much.

    Parameters
    ----------
    name : str
        Name in records; by default the kind of element.
    """

    name: str = field(default="", kw_only=True)

    VARIES: ClassVar[Mapping[str, int]] = {}
    """Fields that may vary over a batch of simulations, with the number of entries of each; 0 for a scalar."""

    def act(self, on: Surroundings) -> None:
        """Apply the element's forces to the robot."""
        raise NotImplementedError

    def stored(self, on: Surroundings) -> Scalar:
        """Return the energy that it stores and can give back."""
        return 0.0

    def yields(self, on: Surroundings) -> Along:
        """Return the lines along which it yields, with stiffness and damping, for implicit steps."""
        return []

    # ------------------------------------------------------------------ the interface to simulations

    def loads(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> Pushing:
        """Return forces on the bodies and on the joints; no states."""
        on = Surroundings(tree, t, q, v)
        self.act(on)
        return on.loads, on.joint_forces, []

    def energy(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> Scalar:
        """Return its stored energy."""
        return self.stored(Surroundings(tree, t, q, v))

    def impedance(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> GivingWay:
        """Return stiffness and damping along the lines of :meth:`yields`."""
        return impedance_of(tree, self.yields(Surroundings(tree, t, q, v)))

    def parameters(self, tree: Model) -> dict[str, np.ndarray]:
        """Return the numbers that may vary over a batch, with an axis for their entries."""
        found = {}
        for name, width in self.VARIES.items():
            value = getattr(self, name)
            if is_number(value):
                numbers = np.asarray(value, dtype=float)
                found[name] = numbers if width else numbers[..., None]
        return found

    def with_parameters(self, values: Mapping[str, Sequence[Scalar]]) -> Self:
        """Return the same element with other numbers, of any scalar."""
        put: dict[str, Any] = {name: list(x) if self.VARIES[name] else x[0] for name, x in values.items()}
        return replace(self, **put)

    @property
    def span(self) -> tuple[float, float]:
        """The common time span of its trajectories."""
        return span_of(self)

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return the times between two others at which its trajectories have kinks or jumps."""
        return np.unique(np.concatenate([np.zeros(0), *(x.kinks(begin, end) for x in trajectories_of(self))]))

    def books(self, record: Any) -> dict[str, np.ndarray]:
        """Return the element's forces, its power on the robot and its stored energy at each sample of a record.

        Parameters
        ----------
        record : Record
            A record with its robot.

        Returns
        -------
        dict
            ``power`` in watts and ``energy`` in joules, arrays (T, ...); ``force`` at each point that it acts on, along
            world axes, (T, ..., points, 3); ``joint_force`` along the freedoms that it drives directly, (T, ..., nv).
        """
        if getattr(record, "robot", None) is None:
            raise OptionError("the books of a force need the robot: load the record with load(path, robot=...)")
        tree, q, v = record.robot.model, split(record.q), split(record.v)
        times = np.reshape(record.time, (-1, *(1,) * (record.q.ndim - 2)))
        shape = record.q.shape[:-1]
        with np.errstate(all="ignore"):
            found = {"power": self.power(tree, times, q, v), "energy": self.energy(tree, times, q, v)}
            on = Surroundings(tree, times, q, v)
            self.act(on)
        force = pack([x for push in on.pushes for x in push], shape).reshape(*shape, len(on.pushes), 3)
        told = {name: np.array(np.broadcast_to(x, shape), dtype=float) for name, x in found.items()}
        return told | {"force": force, "joint_force": pack(on.joint_forces, shape)}

    def named(self, name: str) -> Self:
        """Return the same element under another name."""
        return replace(self, name=name)

    @property
    def label(self) -> str:
        """The element's name, or its kind."""
        return self.name or self.kind

    # ------------------------------------------------------------------ checks

    def check_number(self, name: str, *, least: float = -math.inf, width: int = 0, or_else: str = "") -> None:
        """Convert a field to numbers, perhaps with a batch in front; refuse what is not a number or too small."""
        value = getattr(self, name)
        if is_unknown(value):
            return
        what, wanted = f"{type(self).__name__}: {name}", f"{width} numbers" if width else "a number"
        numbers = as_numbers(value)
        if numbers is None:
            raise OptionError(f"{what} must be {wanted}{or_else}, not {shown(value)}")
        if width and numbers.shape[-1:] != (width,):
            raise ShapeError(f"{what} must be {wanted}{or_else}, perhaps with a batch in front, not {shown(value)}")
        if not np.all(np.isfinite(numbers)) or np.any(numbers < least):
            bound = "" if least == -math.inf else f" and not below {least:g}"
            raise ModelError(f"{what} must be finite{bound}, not {shown(value)}")
        object.__setattr__(self, name, numbers if numbers.ndim else float(numbers))

    def check_given(self, name: str, width: int) -> None:
        """Refuse anything but ``width`` numbers, one number, a table ``(times, values)``, or a function of time."""
        value = getattr(self, name)
        if isinstance(value, TorqueTable):
            value = value.table
            object.__setattr__(self, name, value)
        elif _is_table(value, width):
            value = straight(*value)
            object.__setattr__(self, name, value)
        if isinstance(value, Controller):
            raise OptionError(
                f"{type(self).__name__}: {name} must be numbers, (times, values), a Trajectory or a function of "
                f"time; a {type(value).__name__} drives joints: give it to controller="
            )
        if isinstance(value, Trajectory):
            if value.n != max(width, 1):
                raise ShapeError(f"{type(self).__name__}: {name} is a trajectory of {value.n}, not {max(width, 1)}")
        elif not callable(value):
            self.check_number(
                name, width=width, or_else=", a table (times, values), a Trajectory or a function of time"
            )


def is_number(value: Any) -> bool:
    """Return whether a field holds numbers, not a law, a trajectory or scalars put in by a simulation."""
    if isinstance(value, (list, tuple)):
        return all(is_number(x) for x in value)
    return isinstance(value, (int, float, np.ndarray, np.generic)) and not isinstance(value, bool)


def frame_and_point(at: Point) -> tuple[str, tuple[float, float, float]]:
    """Return the name of a body or frame, and a point in its coordinates."""
    if isinstance(at, str):
        return at, (0.0, 0.0, 0.0)
    try:
        name, point = at
        x, y, z = (float(c) for c in point)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(
            f"a point is the name of a body or frame, or a pair such as ('hand', (0.1, 0.0, 0.0)); not {shown(at)}"
        ) from None
    if not isinstance(name, str) or not all(math.isfinite(c) for c in (x, y, z)):
        raise OptionError(f"a point is the name of a body or frame and three finite numbers, not {shown(at)}")
    return name, (x, y, z)


def at_time(given: Any, t: Scalar, count: int, what: str) -> list[Scalar]:
    """Return ``count`` numbers at a time: constants, or those of a trajectory or a function of time."""
    if isinstance(given, Trajectory):
        found: Sequence[Scalar] = given.at(t)[0]
    elif callable(given):
        answer = given(t)
        several = isinstance(answer, (list, tuple, Vec3)) or (count > 1 and np.ndim(answer) > 0)
        found = list(answer) if several else [answer]
    elif isinstance(given, np.ndarray):
        found = split(given) if count > 1 else [given]  # a single number has no axis of its own after the batch
    else:
        found = given if isinstance(given, list) else [given]
    if len(found) != count:
        raise ShapeError(f"{what} must be {count} number{'s' if count > 1 else ''} at each time, got {len(found)}")
    return list(found)


def listed(answer: Any, label: str) -> list[Scalar]:
    """Return the result of a user's function as a list; refuse a single number, or nothing."""
    if isinstance(answer, (str, bytes)) or not isinstance(answer, Iterable):
        raise OptionError(f"the function of {label} must return a list of forces, not {shown(answer)}")
    return list(answer)


def _is_table(value: Any, width: int) -> bool:
    """Return whether a value is a pair of times and of rows, one per time."""
    if not isinstance(value, tuple) or len(value) != 2 or isinstance(value[0], str):
        return False
    return np.ndim(value[0]) == 1 and np.ndim(value[1]) == (2 if width else 1)
