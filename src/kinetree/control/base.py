"""What every controller answers, and which joints it drives.

A controller is a small frozen dataclass whose law is written over any scalar: lists of
scalars in, lists of scalars out, with the algorithms of :mod:`kinetree.algorithms` inside.
So it runs on floats, on batches, and as machine code together with the robot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import hybrid, newton_euler
from ..errors import OptionError, ShapeError
from ..loops.coordinates import Coordinates
from ..model.tree import Joint, Model
from ..motion.trajectory import Trajectory
from ..spatial import Force, Scalar
from ..spatial.arrays import as_array, batch_shape, pack, split

Scalars = Sequence[Scalar]
Outcome = tuple[list[Scalar], list[Scalar]]
"""Joint forces, and the rates of the controller's own states."""

Gain = Any
"""One number, one per driven degree of freedom, a batch of those (N, n), or scalars put in by ``with_parameters``."""


def driven_joints(tree: Model) -> list[Joint]:
    """Joints with a motor: actuated, and not following another; a floating base has one only where that was said."""
    return [j for j in tree.joints if j.actuated and not j.mimic]


def idle_joints(tree: Model) -> list[Joint]:
    """All other joints that have coordinates of their own."""
    driven = {j.name for j in driven_joints(tree)}
    return [j for j in tree.joints if j.name not in driven and not j.mimic]


def spread(tree: Model, joints: Sequence[Joint], values: Scalars) -> list[Scalar]:
    """One value per degree of freedom of the tree from those of some joints; zero for the others."""
    result: list[Scalar] = [0.0] * tree.nv
    rest = iter(values)
    for joint in joints:
        for k in range(joint.v_slice.start, joint.v_slice.stop):
            result[k] = next(rest)
    return result


def gathered(joints: Sequence[Joint], values: Scalars) -> list[Scalar]:
    """The velocities (or forces) of some joints out of those of the tree."""
    return [x for j in joints for x in values[j.v_slice]]


def forces_for(
    tree: Model, q: Scalars, v: Scalars, driven: Sequence[Joint], a: Scalars, loads: Sequence[Force | None] | None
) -> tuple[list[Scalar], list[Scalar]]:
    """All accelerations and forces when the driven joints accelerate as told and nothing drives the others.

    With a floating base this is 000 eq. 9.8-9.9: first the base gives way, then the forces follow.
    """
    given = spread(tree, driven, a)
    if not idle_joints(tree):
        return given, newton_euler.inverse_dynamics(tree, q, v, given, tree.gravity, loads)[0]
    names = {j.name for j in driven} | {j.name for j in tree.joints if j.mimic and _follows(tree, j, driven)}
    known = [j.name in names for j in tree.joints]
    solve = hybrid.by_partition if tree.has_followers else hybrid.hybrid_dynamics
    return solve(tree, q, v, given, known, tree.gravity, loads)


def _follows(tree: Model, joint: Joint, driven: Sequence[Joint]) -> bool:
    return joint.mimic is not None and joint.mimic.leader in {j.name for j in driven}


class Error(NamedTuple):
    """How far joints are behind the desired motion, and that motion's acceleration."""

    position: list[Scalar]
    velocity: list[Scalar]
    acceleration: list[Scalar]


def tracking_error(
    tree: Model, trajectory: Trajectory, t: Scalar, q: Scalars, v: Scalars, joints: Sequence[Joint] | None = None
) -> Error:
    """Desired minus actual, joint by joint; between orientations the shortest rotation."""
    followed = driven_joints(tree) if joints is None else joints
    desired = desired_motion(tree, trajectory, t, followed)
    position = [x for j, goal in zip(followed, desired.per_joint, strict=True)
                for x in j.kind.difference(q[j.q_slice], goal)]  # fmt: skip
    velocity = [d - w for d, w in zip(desired.velocity, gathered(followed, v), strict=True)]
    return Error(position, velocity, desired.acceleration)


class Desired(NamedTuple):
    """The desired motion of some joints."""

    per_joint: list[list[Scalar]]
    velocity: list[Scalar]
    acceleration: list[Scalar]


def desired_motion(tree: Model, trajectory: Trajectory, t: Scalar, joints: Sequence[Joint] | None = None) -> Desired:
    """A trajectory of some joints (by default the driven ones), or of all joints, at a time."""
    followed = driven_joints(tree) if joints is None else joints
    if not hasattr(trajectory, "at"):
        raise OptionError(
            f"the desired motion must be one of kinetree.trajectories, not {trajectory!r}; "
            "to stay at a position: trajectories.Constant(position)"
        )
    q, v, a = trajectory.at(t)
    nq, nv = sum(j.nq for j in followed), sum(j.nv for j in followed)
    if len(v) == nv and len(q) == nq:
        parts, first = [], 0
        for j in followed:
            parts.append(q[first : first + j.nq])
            first += j.nq
        return Desired(parts, v, a)
    if len(v) == tree.nv and len(q) == tree.nq:
        return Desired([q[j.q_slice] for j in followed], gathered(followed, v), gathered(followed, a))
    which = "driven ones" if all(j.actuated for j in followed) else "coordinates"
    raise ShapeError(
        f"the trajectory moves {len(v)} degrees of freedom; robot {tree.name!r} has {nv} {which} "
        f"({', '.join(j.name for j in followed[:6])}{', ...' if len(followed) > 6 else ''}) and {tree.nv} in all"
    )


def gains(value: Gain, count: int, name: str) -> list[Scalar]:
    """One gain per driven degree of freedom."""
    if isinstance(value, list) and value and not isinstance(value[0], (int, float)):
        return _counted(value, count, name)  # scalars of any kind, or arrays over a batch
    return split(as_gain(value, count, name))


def as_gain(value: Gain, count: int, name: str) -> np.ndarray:
    """A gain as an array (..., count)."""
    try:
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"{name} must be numbers, got {value!r}") from None
    if np.any(np.isnan(numbers)):
        raise OptionError(f"{name} is not a number")
    if numbers.ndim == 0:
        return np.full(count, float(numbers))
    if numbers.shape[-1] not in (1, count):
        n, batch = numbers.shape[-1], numbers.shape
        hint = f"; one for each of {n} simulations are {name}[:, None], shape ({n}, 1)" if len(batch) == 1 else ""
        wanted = "one number" if count == 1 else f"one number or {count}, one per driven degree of freedom"
        raise ShapeError(f"{name} must be {wanted}, with a batch of simulations in front; got shape {batch}{hint}")
    return np.broadcast_to(numbers, (*numbers.shape[:-1], count))


def _counted(value: list[Scalar], count: int, name: str) -> list[Scalar]:
    if len(value) != count:
        raise ShapeError(f"{name} must have {count} entries, got {len(value)}")
    return value


def critical_damping(kp: ArrayLike, ratio: float = 1.0) -> np.ndarray:
    """The velocity gain 2 ratio sqrt(kp) with which e'' + kd e' + kp e = 0 comes to rest soonest (000 L3026).

    Parameters
    ----------
    kp : array_like
    ratio : float
        Damping ratio: 1 is critical, more is sluggish, less overshoots.
    """
    stiffness = np.asarray(kp, dtype=float)
    if np.any(stiffness < 0):
        raise OptionError("kp must not be negative: a negative stiffness drives the error away")
    return 2.0 * ratio * np.sqrt(stiffness)


@dataclass(frozen=True, eq=False)
class Controller:
    """Base of all controllers."""

    loops: Coordinates | None = field(default=None, kw_only=True, repr=False)
    """What the law has to know of the robot's closed loops, see :meth:`bound`."""

    GAINS: ClassVar[tuple[str, ...]] = ()
    """Fields that may vary over a batch of simulations."""

    RELIES_ON_LOOPS: ClassVar[bool] = False
    """Whether the law computes with closed loops, so that its forces mean nothing where they are open."""

    def relies_on_loops(self) -> bool:
        """Whether forces are refused where loops are open."""
        return self.RELIES_ON_LOOPS

    def bound(self, robot: Any) -> Self:
        """Return the controller with what it has to know of a robot's loops; itself where there is nothing to know."""
        if not (self.RELIES_ON_LOOPS and robot.model.loops):
            return self
        from .of_loops import known_loops

        return replace(self, loops=known_loops(robot))

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Joint forces (nv of them) and the rates of the controller's own states ``z``."""
        raise NotImplementedError

    def initial_states(self, tree: Model) -> np.ndarray:
        """What the controller's own states are at the beginning; most have none."""
        return np.zeros(0)

    @property
    def span(self) -> tuple[float, float]:
        """The time that the controller knows what to do for."""
        found = [getattr(self, f.name) for f in fields(self)]
        known = [x for x in found if isinstance(x, Trajectory) and not x.hold]
        return max([-math.inf, *(x.start for x in known)]), min([math.inf, *(x.end for x in known)])

    def parameters(self, tree: Model) -> dict[str, np.ndarray]:
        """The gains, each (..., n), that may vary over a batch."""
        return {name: as_gain(getattr(self, name), self._width(tree, name), name) for name in self.GAINS}

    def _width(self, tree: Model, name: str) -> int:
        return sum(j.nv for j in self.joints(tree))

    def joints(self, tree: Model) -> list[Joint]:
        """The joints whose motion the controller's trajectory tells, in its order."""
        return driven_joints(tree)

    def with_parameters(self, numbers: Mapping[str, Scalars]) -> Self:
        """The same controller with other gains, of any scalar."""
        changed: dict[str, Any] = {name: list(values) for name, values in numbers.items()}
        return replace(self, **changed)

    def __add__(self, other: Controller) -> Controller:
        """Both at once: their forces add up."""
        from .laws import Sum

        return Sum((self, other))

    def __call__(
        self, robot: Any, t: ArrayLike, q: ArrayLike, v: ArrayLike, z: ArrayLike | None = None, *,
        tolerance: float | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Joint forces for one state or a batch.

        Parameters
        ----------
        robot : Robot
        t : float or array_like, shape (...)
        q, v : array_like, shapes (..., nq), (..., nv)
        z : array_like, shape (..., nz), optional
            The controller's own states; by default those it begins with.
        tolerance : float, optional
            How far loops may be open, in metres and radians, before a law that computes with them is refused.  By
            default a hundredth, of the mechanism's size where that is below a metre: what encoders measure and what
            integrators try on their way is never quite closed.

        Returns
        -------
        ndarray, shape (..., nv)
        """
        tree, bound = robot.model, self.bound(robot)
        if tree.loops and self.relies_on_loops():
            from .of_loops import refuse_open

            refuse_open(robot, q, tolerance)
        begin = bound.initial_states(tree)
        states = as_array(begin if z is None else z, (len(begin),), "z")
        times = np.asarray(t, dtype=float)
        position, rate = as_array(q, (tree.nq,), "q"), as_array(v, (tree.nv,), "v")
        batch = batch_shape(q=(position, 1), v=(rate, 1), t=(times, 0), z=(states, 1))
        moment = times if times.ndim else float(times)
        with np.errstate(all="ignore"):
            tau, _ = bound.law(tree, moment, split(position), split(rate), split(states))
        return pack(list(tau), np.broadcast_shapes(batch, *(np.shape(x) for x in tau)))
