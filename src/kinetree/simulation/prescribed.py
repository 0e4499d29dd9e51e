"""Motions that joints and loops follow exactly, as functions of time, and the forces that drive them.

A trajectory of joints of a tree is followed by hybrid dynamics.  For a robot on a floating base, the motion of the
joints does not determine the forces: these depend on the motion of the base, which depends on the ground's forces along
the way.  Inverse dynamics is therefore itself a differential equation (Shah section 7.1.1, eq. 7.1-7.2; ``runinv`` of
ReDySim, section 10.3.1).  At every instant the accelerations of the prescribed joints are known, and the forces at all
others (only friction and stops): hybrid dynamics gives the rest, the accelerations of the base, which are integrated,
and the forces of the motors for the record.

Motions by name, and those of mechanisms, are constraints that depend on time: see :mod:`.constrained.holding`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import hybrid
from ..algorithms.constrained_dynamics import Targets
from ..control.driven_joints import desired_motion, spread
from ..errors import Message, OptionError, Setting, ShapeError, StateError, UnknownNameError, UnsupportedError
from ..evaluation.law_kernels import count_operations
from ..loops.tolerances import ACCEPTED
from ..model.joints import Distance, PointOnLine, PointOnPlane
from ..model.tree import Joint, Model
from ..motion.trajectory_interface import Trajectory, span_of
from ..robot.kept_programs import answers_of
from ..robot.robot import Robot
from ..spatial import Force, Scalar
from ..spatial.arrays import Array, as_array, pack, split
from ..spatial.numbers import shown
from ..spatial.taylor import Jet

Scalars = Sequence[Scalar]

Law = Callable[[Scalar], tuple[list[Scalar], list[Scalar], list[Scalar]]]
"""Maps a time to positions, velocities and accelerations."""

DRIVEN_LOOPS = (Distance, PointOnLine, PointOnPlane)
"""Loop joints whose gaps are lengths everywhere, so that each can be given a length."""

LONGEST_MOTION = 5_000
"""Operations of a trajectory beyond which compiling it takes longer than it saves."""

OPERATIONS = "operations of the motion"
"""The key under which the length of a motion is kept."""


@dataclass(frozen=True, eq=False)
class Prescribed:
    """A motion that joints follow whatever forces it takes; ``prescribed=`` of :func:`kinetree.simulate`.

    Parameters
    ----------
    trajectory : Trajectory
        Motion of these joints, or of all joints of the robot.
    joints : sequence of str, optional
        Names of the joints; by default all that have a motor.  A joint without a motor may be included, such as a base
        that is shaken: its force in the record is the one that shakes it.
    """

    trajectory: Trajectory
    joints: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.trajectory, Trajectory):
            raise OptionError(f"a prescribed motion is one of kinetree.trajectories, not {self.trajectory!r}")
        if self.joints is not None:
            names = [self.joints] if isinstance(self.joints, str) else list(self.joints)
            object.__setattr__(self, "joints", tuple(names))

    @property
    def span(self) -> tuple[float, float]:
        """The time span for which the motion is defined."""
        return span_of(self)


class BoundMotion:
    """A prescribed motion bound to a robot: the positions of its joints and loops at any time.

    The motion that users prescribe (:class:`Prescribed`, a trajectory, a mapping) is independent of a robot, and may be
    given to several robots.

    Parameters
    ----------
    robot : Robot
    given : Prescribed, Trajectory, mapping or None
        A mapping from names of joints or loops to trajectories or functions of time is possible.

    Attributes
    ----------
    moved : list of Joint
        Joints whose motion is prescribed.
    rows : tuple of int
        Constraints of loops that are prescribed.
    """

    def __init__(self, robot: Robot, given: Any = None) -> None:
        if isinstance(given, type):
            raise OptionError(f"the prescribed motion is the class {given.__name__} itself: make one")
        self.robot, self.model = robot, robot.model
        self.by_name = given is None or isinstance(given, Mapping)
        self.given: Any = dict(given or {}) if self.by_name else given
        self.moved: list[Joint] = []
        self.rows: tuple[int, ...] = ()
        self._laws: list[Law] = []
        if self.by_name:
            self._read_names()
        else:
            try:
                self._read_trajectory(robot, given if isinstance(given, Prescribed) else Prescribed(given))
            except ShapeError as problem:
                raise ShapeError(f"the prescribed motion does not fit: {problem}") from None

    def __bool__(self) -> bool:
        return bool(self._laws)

    # ------------------------------------------------------------------ what was given

    def _read_trajectory(self, robot: Robot, given: Prescribed) -> None:
        """Read the motion of some joints, or of all; refuse one that this robot cannot follow."""
        model, trajectory, names = self.model, given.trajectory, given.joints
        for name in names or ():
            if robot.joint(name).mimic:
                raise OptionError(f"joint {name!r} mimics another: prescribe the motion of the one that it follows")
        if len(set(names or ())) != len(names or ()):
            raise OptionError(f"a joint is prescribed twice: {', '.join(names or ())}")
        moved = self.moved = model.driven_joints if names is None else [j for j in model.joints if j.name in names]
        if not moved:
            raise OptionError(
                f"no joint of {robot.name!r} has a motor, so none can follow a motion: name some, Prescribed(..., "
                "joints=[...])"
            )
        trajectory.check_axes(robot, [joint.name for joint in moved])

        def law(t: Scalar) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
            found = desired_motion(model, trajectory, t, moved)
            return [x for position in found.per_joint for x in position], found.velocity, found.acceleration

        law(trajectory.start if np.isfinite(trajectory.start) else 0.0)  # or says why not
        self._laws, self._trajectories = [law], [trajectory]
        if model.is_constrained:
            for joint in moved:
                _refuse_joint(joint)
            if trajectory.is_batched():
                raise UnsupportedError(f"the trajectory for {moved[0].name!r} holds a batch of motions: give it one")

    def _read_names(self) -> None:
        """Read motions by the names of joints and loops."""
        model, of_loops, rows = self.model, list[Law](), list[int]()
        known = {loop.name: k for k, loop in enumerate(model.loops)}
        for name, motion in self.given.items():
            if name in model.joint_index:
                joint = model.joint(name)
                _refuse_joint(joint)
                self.moved.append(joint)
                self._laws.append(_law(name, motion, joint.nv))
            elif name in known:
                loop = model.loops[known[name]]
                if not isinstance(loop.kind, DRIVEN_LOOPS):
                    raise UnsupportedError(
                        f"loop {name!r} is a {loop.kind.name} joint, whose gaps are not lengths: motions can be "
                        "prescribed for distance, point_on_line and point_on_plane loops; for others put the loop's "
                        "frame on a body that a joint carries, and prescribe that joint"
                    )
                first = sum(other.count for other in model.loops[: known[name]])
                rows += range(first, first + loop.count)
                of_loops.append(_law(name, motion, loop.count))
            else:
                raise UnknownNameError("joint or loop (to be prescribed)", name, [*model.joint_index, *known])
        self.rows, self._laws = tuple(rows), [*self._laws, *of_loops]
        self._trajectories = [motion for motion in self.given.values() if isinstance(motion, Trajectory)]

    @cached_property
    def names(self) -> list[str]:
        """Names of what is prescribed: freedoms of joints, then constraints of loops."""
        of_joints = [name for joint in self.moved for name in self.model.v_names[joint.v_slice]]
        return of_joints + [self.model.constraint_names[row] for row in self.rows]

    @property
    def others(self) -> list[Joint]:
        """The joints that move by the dynamics."""
        moved = {j.name for j in self.moved}
        return [j for j in self.model.joints if j.name not in moved and not j.mimic]

    @property
    def span(self) -> tuple[float, float]:
        """The common time span of all trajectories."""
        known = [m for m in self._trajectories if not m.hold]
        return max((m.start for m in known), default=-np.inf), min((m.end for m in known), default=np.inf)

    @cached_property
    def joints(self) -> tuple[tuple[int, int], ...]:
        """Indices in q and in v of the freedoms that are prescribed as constraints."""
        return tuple(zip(self._q_places, self._v_places, strict=True))

    @cached_property
    def _q_places(self) -> list[int]:
        return [k for joint in self.moved for k in range(joint.q_slice.start, joint.q_slice.stop)]

    @cached_property
    def _v_places(self) -> list[int]:
        return [k for joint in self.moved for k in range(joint.v_slice.start, joint.v_slice.stop)]

    # ------------------------------------------------------------------ at a time

    def _told(self, t: Scalar) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Return all prescribed positions, velocities and accelerations."""
        parts: tuple[list[Scalar], list[Scalar], list[Scalar]] = [], [], []
        for law in self._laws:
            for part, own in zip(parts, law(t), strict=True):
                part += own
        return parts

    def at(self, t: Scalar) -> Targets:
        """Return the prescribed motion at a time, for constraints."""
        return Targets(self.joints, self.rows, *self._told(t))

    def refuse_unknown(self, t: float) -> None:
        """Refuse motions that are not finite at their start."""
        for name, *numbers in zip(self.names, *self._told(t), strict=True):
            if not np.isfinite(numbers).all():
                listed = ", ".join(f"{float(x):g}" for x in numbers)
                raise OptionError(
                    f"the motion that is prescribed for {name!r} begins at t = {t:g} s with position, velocity and "
                    f"acceleration {listed}: these must be finite numbers"
                )

    def placed(self, t: Scalar, q: Scalars, v: Scalars) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Return a state with the prescribed joints at their prescribed positions, and their accelerations."""
        q, v = list(q), list(v)
        position, velocity, acceleration = self._told(t)
        for places, whole, part in ((self._q_places, q, position), (self._v_places, v, velocity)):
            for k, x in zip(places, part, strict=True):
                whole[k] = x
        return q, v, spread(self.model, self.moved, acceleration)

    def forces(
        self, tree: Model, q: Scalars, v: Scalars, a: Scalars, beside: Scalars, loads: Sequence[Force | None] | None
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return all accelerations and the motor forces; at prescribed joints, those that their motion requires.

        Parameters
        ----------
        a : sequence
            Accelerations of the prescribed joints.
        beside : sequence
            Forces at all joints apart from motors: friction, stops.
        """
        moved = {j.name for j in self.moved}
        names = moved | {j.name for j in tree.joints if j.mimic and j.mimic.leader in moved}
        known = [j.name in names for j in tree.joints]
        mine = {k for j in tree.joints if j.name in names for k in range(j.v_slice.start, j.v_slice.stop)}
        given = [x if k in mine else f for k, (x, f) in enumerate(zip(a, beside, strict=True))]
        solve = hybrid.by_partition if tree.has_followers else hybrid.hybrid_dynamics
        accelerations, total = solve(tree, q, v, given, known, tree.gravity, loads)
        pairs = enumerate(zip(total, beside, strict=True))
        return accelerations, [x - f if k in mine else 0.0 for k, (x, f) in pairs]

    # ------------------------------------------------------------------ on arrays

    @cached_property
    def is_long(self) -> bool:
        """Whether it should be evaluated outside machine code, like a table of a thousand rows."""
        known = answers_of(self.robot, OPERATIONS, self.given)
        try:
            if OPERATIONS not in known:
                known[OPERATIONS] = count_operations(lambda t: [x for part in self._told(t[0]) for x in part], (1,))
        except Exception:  # whatever is wrong with the motion shows when it is used
            return True
        return bool(known[OPERATIONS] > LONGEST_MOTION)

    def numbers(self, t: Array | float) -> Array:
        """Return positions, velocities and accelerations at times of any shape, one after the other."""
        with np.errstate(all="ignore"):
            values = [x for part in self._told(t) for x in part]
        return pack(values, np.broadcast_shapes(np.shape(t), *(np.shape(x) for x in values)))

    def with_numbers(self, values: Scalars) -> Self:
        """Return the motion with the results of :meth:`numbers` in place of its laws."""
        ends = np.cumsum([0, len(self._q_places), len(self._v_places), len(self._v_places)])
        parts = [list(values[a:b]) for a, b in pairwise(ends)]
        made = copy(self)
        made._laws = [lambda t: (parts[0], parts[1], parts[2])]
        return made

    def on_motion(self, times: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """Return states with the prescribed joints exactly on their motion; times broadcast against the batch."""
        batch = np.broadcast_shapes(times.shape, q.shape[:-1], v.shape[:-1])
        with np.errstate(all="ignore"):
            placed_q, placed_v, _ = self.placed(times, split(q), split(v))
        return pack(placed_q, batch), pack(placed_v, batch)

    def start(self, robot: Robot, t: float, q: Array, v: Array, given: tuple[bool, bool]) -> tuple[Array, Array]:
        """Return a start on the motion; refuse a given start that is not on it."""
        on_q, on_v = self.on_motion(np.asarray(t), q, v)
        far = {"q0": np.abs(robot.difference(q, on_q)), "v0": np.abs(on_v - v)}
        for (called, off), is_given in zip(far.items(), given, strict=True):
            worst = off.reshape(-1, robot.nv).max(axis=0, initial=0.0)
            if is_given and np.any(worst > ACCEPTED):
                name = robot.v_names[int(np.nanargmax(worst))]
                raise StateError(
                    Message(
                        f"{called} has joint {name!r} {np.nanmax(worst):.3g} off the motion that is prescribed: leave ",
                        Setting(called),
                        " out, or give the other joints alone to kinetree.simulate_prescribed(..., q0=...)",
                    )
                )
        return on_q, on_v

    def whole_start(self, robot: Robot, t: float, q0: ArrayLike | None, v0: ArrayLike | None) -> tuple[Array, Array]:
        """Return the whole initial state from that of the joints that are not prescribed."""
        others, whole = self.others, []
        for called, value, rest, slices, names, units in (
            ("q0", q0, robot.neutral(), [j.q_slice for j in others], robot.q_names, robot.q_units),
            ("v0", v0, np.zeros(robot.nv), [j.v_slice for j in others], robot.v_names, robot.v_units),
        ):
            if value is not None:
                places = [k for own in slices for k in range(own.start, own.stop)]
                listed = ", ".join(f"{names[k]} [{units[k]}]" for k in places) or "none"  # angles or lengths
                more = f"{len(places)} numbers of the other joints: {listed}"
                part = as_array(value, (len(places),), called, more)
                rest = np.broadcast_to(rest, (*part.shape[:-1], rest.shape[-1])).copy()
                rest[..., places] = part
            whole.append(rest)
        return self.on_motion(np.asarray(t), robot.normalize(whole[0]), whole[1])


def _refuse_joint(joint: Joint) -> None:
    """Refuse a joint that no constraint can make follow a function of time."""
    if joint.mimic:
        raise OptionError(
            f"joint {joint.name!r} mimics {joint.mimic.leader!r} and cannot be prescribed: prescribe that one"
        )
    if joint.kind.quaternion is not None:
        raise UnsupportedError(
            f"joint {joint.name!r} has a quaternion, which no function of time prescribes coordinate by coordinate: "
            "use a joint with angles, such as kinetree.EulerSpherical or kinetree.EulerFree"
        )


def _law(name: str, motion: Any, count: int) -> Law:
    """Return positions, velocities and accelerations as a function of time."""
    if isinstance(motion, Trajectory):
        if motion.n != count:
            raise OptionError(f"the trajectory for {name!r} has {motion.n} coordinates, {count} are needed")
        if motion.is_batched():
            raise UnsupportedError(f"the trajectory for {name!r} holds a batch of motions: give it one")
        return motion.at
    if not callable(motion):
        raise OptionError(
            f"prescribed {name!r} must be a trajectory or a function of time, not {motion!r}; to hold it where it is "
            "give a function that returns a number"
        )

    def law(t: Scalar) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        try:
            answer = motion(Jet(t, 1.0))
        except (TypeError, AttributeError) as problem:
            raise OptionError(
                f"the function that prescribes {name!r} cannot be differentiated ({problem}): write it with "
                "kinetree.sin, kinetree.cos, kinetree.sqrt and arithmetic, or give a trajectory"
            ) from problem
        except (ValueError, ArithmeticError) as problem:
            raise OptionError(f"the function that prescribes {name!r} cannot be evaluated ({problem})") from problem
        listed = list(answer) if isinstance(answer, (list, tuple, np.ndarray)) else [answer]
        if len(listed) != count:
            raise OptionError(f"the function that prescribes {name!r} returned {len(listed)} numbers, not {count}")
        jets = [_number(x, name) for x in listed]
        return [j.value for j in jets], [j.first for j in jets], [j.second for j in jets]

    return law


def _number(x: Any, name: str) -> Jet:
    """Return the result of a function of time, with its rates; a plain number has none."""
    if isinstance(x, Jet):
        return x
    if isinstance(x, (bool, np.bool_)) or not isinstance(x, Real):
        raise OptionError(
            f"the function that prescribes {name!r} returned {shown(x)}, which is not a number: it must return the "
            "position at the time that it is given"
        )
    return Jet(float(x))
