"""Joints that follow a given motion exactly, while all others move by the dynamics: inverse dynamics in time.

Of a robot on a floating base the motion of the joints does not tell the forces: these depend on how the base moves,
and that depends on the forces of the ground along the way.  So inverse dynamics is itself a differential equation
(Shah section 7.1.1, eq. 7.1-7.2; ``runinv`` of ReDySim, section 10.3.1).  At every instant the accelerations of the
prescribed joints are known and the forces at all others (none, but for friction and stops): hybrid dynamics gives the
rest, the accelerations of the base to be integrated and the forces of the motors for the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import hybrid
from ..control.driven_joints import Desired, desired_motion, driven_joints, spread
from ..errors import Message, OptionError, Setting, ShapeError, StateError
from ..model.tree import Joint, Model
from ..motion.trajectory import Trajectory
from ..robot.robot import Robot
from ..run.law_kernels import count_operations
from ..spatial import Force, Scalar
from ..spatial.arrays import Array, as_array, pack, split

Scalars = Sequence[Scalar]

LONGEST_MOTION = 5_000
"""Operations of a trajectory beyond which compiling it takes longer than it saves."""

ON_MOTION = 1e-6
"""How far from its motion a prescribed joint may be said to start, in meters, radians and their rates."""


@dataclass(frozen=True, eq=False)
class Prescribed:
    """A motion that joints follow whatever it takes; ``prescribed=`` of :func:`kinetree.simulate`.

    Parameters
    ----------
    trajectory : Trajectory
        Of these joints, or of all of the robot.
    joints : sequence of str, optional
        Their names; by default all that have a motor.  A joint without one may be among them, such as a base that is
        shaken: its force in the record is what does it.
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
        """The time for which the motion is known."""
        held = self.trajectory.hold
        return (-np.inf, np.inf) if held else (self.trajectory.start, self.trajectory.end)

    def moved(self, tree: Model) -> list[Joint]:
        """Return the joints that follow the motion, in the tree's order."""
        if self.joints is None:
            return driven_joints(tree)
        return [j for j in tree.joints if j.name in self.joints]

    def others(self, tree: Model) -> list[Joint]:
        """Return the joints that move by the dynamics."""
        moved = {j.name for j in self.moved(tree)}
        return [j for j in tree.joints if j.name not in moved and not j.mimic]

    def check(self, robot: Robot) -> None:
        """Refuse a motion that this robot cannot be held to."""
        tree = robot.model
        for name in self.joints or ():
            if robot.joint(name).mimic:
                raise OptionError(f"joint {name!r} mimics another: prescribe the motion of the one that it follows")
        if len(set(self.joints or ())) != len(self.joints or ()):
            raise OptionError(f"a joint is prescribed twice: {', '.join(self.joints or ())}")
        if not self.moved(tree):
            raise OptionError(
                f"no joint of {robot.name!r} has a motor, so none can follow a motion: name some, Prescribed(..., "
                "joints=[...])"
            )
        self.trajectory.check_axes(robot, [joint.name for joint in self.moved(tree)])
        begin = self.trajectory.start
        desired_motion(tree, self.trajectory, begin if np.isfinite(begin) else 0.0, self.moved(tree))  # or says why not

    def by_joint(self, tree: Model) -> dict[str, Trajectory]:
        """Return the motion of each joint, as constraints that time drives have it: those of mechanisms."""
        from ..motion.combine import Picked

        moved, n = self.moved(tree), self.trajectory.n
        if n == sum(j.nv for j in moved):
            ends = list(accumulate(j.nv for j in moved))
            places = [range(end - j.nv, end) for j, end in zip(moved, ends, strict=True)]
        else:
            places = [range(j.v_slice.start, j.v_slice.stop) for j in moved]
        return {j.name: Picked(self.trajectory, own) for j, own in zip(moved, places, strict=True)}

    def wanted(self, tree: Model, t: Scalar) -> Desired:
        """Return where the prescribed joints are at a time, how fast, and how they accelerate."""
        return desired_motion(tree, self.trajectory, t, self.moved(tree))

    def placed(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Return a state with the prescribed joints where they have to be, and their accelerations."""
        moved, wanted = self.moved(tree), self.wanted(tree, t)
        q, v = list(q), list(v)
        for joint, position in zip(moved, wanted.per_joint, strict=True):
            q[joint.q_slice] = position
        rate = spread(tree, moved, wanted.velocity)
        for joint in moved:
            v[joint.v_slice] = rate[joint.v_slice]
        return q, v, spread(tree, moved, wanted.acceleration)

    def forces(
        self, tree: Model, q: Scalars, v: Scalars, a: Scalars, beside: Scalars, loads: Sequence[Force | None] | None
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return all accelerations, and the joint forces of motors: of prescribed joints what their motion takes.

        Parameters
        ----------
        a : sequence
            Accelerations of the prescribed joints.
        beside : sequence
            Forces at all joints that are there without motors: friction, stops.
        """
        moved = {j.name for j in self.moved(tree)}
        names = moved | {j.name for j in tree.joints if j.mimic and j.mimic.leader in moved}
        known = [j.name in names for j in tree.joints]
        mine = {k for j in tree.joints if j.name in names for k in range(j.v_slice.start, j.v_slice.stop)}
        given = [x if k in mine else f for k, (x, f) in enumerate(zip(a, beside, strict=True))]
        solve = hybrid.by_partition if tree.has_followers else hybrid.hybrid_dynamics
        accelerations, total = solve(tree, q, v, given, known, tree.gravity, loads)
        pairs = enumerate(zip(total, beside, strict=True))
        return accelerations, [x - f if k in mine else 0.0 for k, (x, f) in pairs]

    # ------------------------------------------------------------------ on arrays

    def is_long(self, tree: Model) -> bool:
        """Return whether it is better looked up outside of machine code: a table of a thousand rows, say."""

        def law(t: Scalars) -> list[Scalar]:
            found = self.wanted(tree, t[0])
            return [x for row in found.per_joint for x in row] + found.velocity + found.acceleration

        try:
            return count_operations(law, (1,)) > LONGEST_MOTION
        except Exception:  # whatever is wrong with it shows when it is used
            return True

    def numbers(self, tree: Model, t: Array | float) -> Array:
        """Return positions, velocities and accelerations at times of any shape, one after the other."""
        with np.errstate(all="ignore"):
            found = self.wanted(tree, t)
        values = [x for row in found.per_joint for x in row] + found.velocity + found.acceleration
        return pack(values, np.broadcast_shapes(np.shape(t), *(np.shape(x) for x in values)))

    def on_motion(self, tree: Model, times: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """Return states with the prescribed joints exactly on their motion; times broadcast against the batch."""
        batch = np.broadcast_shapes(times.shape, q.shape[:-1], v.shape[:-1])
        with np.errstate(all="ignore"):
            placed_q, placed_v, _ = self.placed(tree, times, split(q), split(v))
        return pack(placed_q, batch), pack(placed_v, batch)

    def start(self, robot: Robot, t: float, q: Array, v: Array, given: tuple[bool, bool]) -> tuple[Array, Array]:
        """Return a start on the motion; refuse one that was given elsewhere."""
        on_q, on_v = self.on_motion(robot.model, np.asarray(t), q, v)
        if given[0]:
            self._refuse_off(robot, "q0", np.abs(robot.difference(q, on_q)))
        if given[1]:
            self._refuse_off(robot, "v0", np.abs(on_v - v))
        return on_q, on_v

    def _refuse_off(self, robot: Robot, called: str, off: Array) -> None:
        worst = off.reshape(-1, robot.nv).max(axis=0, initial=0.0)
        if np.any(worst > ON_MOTION):
            name = robot.v_names[int(np.nanargmax(worst))]
            raise StateError(
                Message(
                    f"{called} has joint {name!r} {np.nanmax(worst):.3g} off the motion that is prescribed: leave ",
                    Setting(called),
                    " out, or give the other joints alone to kinetree.simulate_prescribed(..., q0=...)",
                )
            )

    def whole_start(self, robot: Robot, t: float, q0: ArrayLike | None, v0: ArrayLike | None) -> tuple[Array, Array]:
        """Return the whole start from that of the joints that are not prescribed."""
        others = self.others(robot.model)
        q, v = robot.neutral(), np.zeros(robot.nv)
        sizes = {"q0": sum(j.nq for j in others), "v0": sum(j.nv for j in others)}
        told = {
            "q0": _entries(robot.q_names, robot.q_units, [j.q_slice for j in others]),
            "v0": _entries(robot.v_names, robot.v_units, [j.v_slice for j in others]),
        }
        given = {"q0": q0, "v0": v0}
        parts = {}
        for key, value in given.items():
            if value is not None:
                more = f"{sizes[key]} numbers of the other joints: {told[key]}"
                parts[key] = as_array(value, (sizes[key],), key, more)
        if "q0" in parts:
            q = _spread_arrays(q, [j.q_slice for j in others], parts["q0"])
        if "v0" in parts:
            v = _spread_arrays(v, [j.v_slice for j in others], parts["v0"])
        return self.on_motion(robot.model, np.asarray(t), robot.normalize(q), v)


def _entries(names: Sequence[str], units: Sequence[str], places: Sequence[slice]) -> str:
    """For messages: entries of some joints, with the units that say which are angles and which are ways."""
    listed = [f"{names[k]} [{units[k]}]" for place in places for k in range(place.start, place.stop)]
    return ", ".join(listed) or "none"


@dataclass(frozen=True, eq=False)
class LookedUp(Prescribed):
    """A prescribed motion whose numbers at the time in question are found before its law runs, and given to it."""

    values: Sequence[Scalar] = ()
    """Positions, velocities and accelerations of the prescribed joints."""

    def wanted(self, tree: Model, t: Scalar) -> Desired:
        """Return the numbers that were given."""
        moved = self.moved(tree)
        parts: list[list[Scalar]] = []
        first = 0
        for joint in moved:
            parts.append(list(self.values[first : first + joint.nq]))
            first += joint.nq
        n = sum(joint.nv for joint in moved)
        return Desired(parts, list(self.values[first : first + n]), list(self.values[first + n :]))


def _spread_arrays(whole: Array, places: Sequence[slice], values: Array) -> Array:
    """Return a vector with some of its entries replaced, by a batch of them perhaps."""
    filled = np.broadcast_to(whole, (*values.shape[:-1], whole.shape[-1])).copy()
    first = 0
    for place in places:
        count = place.stop - place.start
        filled[..., place] = values[..., first : first + count]
        first += count
    return filled


def as_prescribed(given: Any, robot: Robot) -> Prescribed:
    """Return a checked prescribed motion from what a user may give: one, or a trajectory."""
    if isinstance(given, type):
        raise OptionError(f"the prescribed motion is the class {given.__name__} itself: make one")
    made = given if isinstance(given, Prescribed) else Prescribed(given)
    try:
        made.check(robot)
    except ShapeError as problem:
        raise ShapeError(f"the prescribed motion does not fit: {problem}") from None
    return made
