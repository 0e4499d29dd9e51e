"""What a motion is asked for: quantities of a moment, with the numbers that they should have.

Each is a list of differences that should be small, as a cost, or zero, as a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algorithms import kinematics
from kinetree.algorithms.clearance.of_robot import separations
from kinetree.errors import ModelError, OptionError, ShapeError, UnknownNameError, UnsupportedError, refuse_unknown
from kinetree.evaluation.law_kernels import is_condition, refuse_nested
from kinetree.model.pose import rpy_matrix
from kinetree.model.tree import Model
from kinetree.motion.trajectory_interface import Trajectory
from kinetree.robot.clearance import chosen_pairs
from kinetree.simulation.worlds.instant import Moment
from kinetree.spatial import Scalar, Vec3
from kinetree.spatial.arrays import Array, quaternions_of
from kinetree.spatial.exponential import quaternion_log, quaternion_product
from kinetree.spatial.rotation import quaternion_of

Scalars = Sequence[Scalar]

RUN, END, ALWAYS = "run", "end", "always"
WHEN = (RUN, END, ALWAYS)
"""When a term counts: at all nodes but the last one, at the last one, at all of them."""


@dataclass(frozen=True, eq=False)
class Term:
    """A quantity, how much it weighs, and when it counts.

    Parameters
    ----------
    weight : float or array_like
        As a cost, ``weight * difference**2`` is integrated over time, or added once at the end; one number, or one per
        entry.  As a limit, weights are ignored.
    at : {"run", "end", "always"}
        Whether the term counts while the motion runs, at its end, or both.
    """

    weight: float | ArrayLike = field(default=1.0, kw_only=True)
    at: str = field(default=RUN, kw_only=True)
    called: ClassVar[str] = "term"

    def __post_init__(self) -> None:
        refuse_unknown("time of a term", self.at, WHEN)
        weight = np.asarray(self.weight, dtype=float)
        if weight.ndim > 1 or not np.isfinite(weight).all() or np.any(weight < 0.0):
            raise OptionError(f"weight of {self.called} must be a number that is not negative, or a row of them")

    def counts(self, at_end: bool) -> bool:
        """Return whether the term counts at the end, or on the way."""
        return self.at == ALWAYS or (self.at == END) == at_end

    def numbers(self, model: Model, times: Array) -> Array:
        """Return the numbers that are wanted: (n,), (batch, n), or (nodes, batch, n) if they change with time."""
        return np.zeros(0)

    def differences(self, m: Moment, wanted: Scalars) -> list[Scalar]:
        """Return what should be zero, over any scalar."""
        raise NotImplementedError

    def names(self, model: Model, count: int) -> list[str]:
        """Return the names of the differences, for messages."""
        return [f"{self.called}[{k}]" if count > 1 else self.called for k in range(count)]


def wanted_numbers(given: Any, size: int, name: str, what: str) -> Array:
    """Return what is wanted as ``size`` numbers, (size,) or (batch, size), or refuse it by its name."""
    numbers = np.asarray(given, dtype=float)
    if numbers.ndim == 0:
        numbers = np.full(size, float(numbers))
    if numbers.ndim > 2 or numbers.shape[-1] != size or not np.isfinite(numbers).all():
        raise ShapeError(f"{name} must be {size} finite numbers, {what}, or one row of them per motion; not {given!r}")
    return numbers


def _along(target: Trajectory, times: Array, which: int, size: int) -> Array:
    found = np.array([target.at(float(min(t, target.end)))[which] for t in times])
    if found.shape[-1] != size:
        raise ShapeError(f"the trajectory has {found.shape[-1]} coordinates, the robot {size}")
    return found[:, None]


def _freedoms(model: Model, joints: Sequence[str] | None) -> list[int]:
    if joints is None:
        return list(range(model.nv))
    names = (joints,) if isinstance(joints, str) else joints
    for name in names:
        if name not in model.joint_index:
            raise UnknownNameError("joint", name, model.joint_index)
    return [k for name in names for k in range(*model.joint(name).v_slice.indices(model.nv))]


def _freedom_names(model: Model) -> list[str]:
    return [joint.name if joint.nv == 1 else f"{joint.name}[{k}]" for joint in model.joints for k in range(joint.nv)]


@dataclass(frozen=True, eq=False)
class Positions(Term):
    """Distance of the configuration from another one, along each freedom.

    Parameters
    ----------
    target : array_like, shape (..., nq), or Trajectory
        The configuration, one per motion of a batch, or one that changes with time.
    joints : sequence of str, optional
        The joints that count; all by default.
    """

    target: Any
    joints: Sequence[str] | None = None
    called: ClassVar[str] = "position"

    def numbers(self, model: Model, times: Array) -> Array:
        """Return the configurations, (..., nq)."""
        if isinstance(self.target, Trajectory):
            return _along(self.target, times, 0, model.nq)
        return wanted_numbers(self.target, model.nq, "a target of Positions", "a configuration")

    def differences(self, m: Moment, wanted: Scalars) -> list[Scalar]:
        """Return the way from the target, along each freedom."""
        apart = kinematics.difference(m.tree, wanted, m.q)
        return [apart[k] for k in _freedoms(m.tree, self.joints)]

    def names(self, model: Model, count: int) -> list[str]:
        """Return ``position of JOINT`` for each freedom."""
        return [f"position of {_freedom_names(model)[k]}" for k in _freedoms(model, self.joints)]


@dataclass(frozen=True, eq=False)
class Velocities(Term):
    """Velocities of the joints, less those that are wanted.

    Parameters
    ----------
    target : float or array_like, shape (..., nv), or Trajectory
    joints : sequence of str, optional
        The joints that count; all by default.
    """

    target: Any = 0.0
    joints: Sequence[str] | None = None
    called: ClassVar[str] = "velocity"

    def numbers(self, model: Model, times: Array) -> Array:
        """Return the velocities, (..., nv)."""
        if isinstance(self.target, Trajectory):
            return _along(self.target, times, 1, model.nv)
        return wanted_numbers(self.target, model.nv, "a target of Velocities", "one per freedom")

    def differences(self, m: Moment, wanted: Scalars) -> list[Scalar]:
        """Return velocities less the target."""
        return [m.v[k] - wanted[k] for k in _freedoms(m.tree, self.joints)]

    def names(self, model: Model, count: int) -> list[str]:
        """Return ``velocity of JOINT`` for each freedom."""
        return [f"velocity of {_freedom_names(model)[k]}" for k in _freedoms(model, self.joints)]


@dataclass(frozen=True, eq=False)
class Effort(Term):
    """Actions of the motors, less those that are wanted: zero by default.

    Parameters
    ----------
    target : float or array_like, shape (..., motors)
    """

    target: Any = 0.0
    called: ClassVar[str] = "effort"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.at != RUN:
            raise OptionError("there is no action at the end of a motion: effort counts while it runs, at='run'")

    def numbers(self, model: Model, times: Array) -> Array:
        """Return the actions, (..., motors), or one number for all of them, (1,)."""
        return np.atleast_1d(np.asarray(self.target, dtype=float))

    def differences(self, m: Moment, wanted: Scalars) -> list[Scalar]:
        """Return actions less the target."""
        if len(wanted) not in (1, len(m.action)):
            raise ShapeError(f"a target of Effort must be one number, or {len(m.action)}; not {len(wanted)}")
        each = list(wanted) * (len(m.action) if len(wanted) == 1 else 1)
        return [u - w for u, w in zip(m.action, each, strict=True)]


@dataclass(frozen=True, eq=False)
class FramePosition(Term):
    """Where the origin of a frame is in the world, less where it should be.

    Parameters
    ----------
    frame : str
        A frame or a body.
    position : array_like, shape (..., 3)
    axes : str
        Axes of the world that count.
    """

    frame: str
    position: ArrayLike
    axes: str = "xyz"
    called: ClassVar[str] = "place"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.axes or set(self.axes) - set("xyz"):
            raise OptionError(f"axes of FramePosition are some of 'xyz', not {self.axes!r}")

    def numbers(self, model: Model, times: Array) -> Array:
        """Return the position, (..., 3)."""
        return wanted_numbers(self.position, 3, f"the position of {self.frame!r}", "x, y and z in meters")

    def differences(self, m: Moment, wanted: Scalars) -> list[Scalar]:
        """Return the way from the wanted position."""
        place = m.place(self.frame)
        return [getattr(place, axis) - wanted["xyz".index(axis)] for axis in self.axes]

    def names(self, model: Model, count: int) -> list[str]:
        """Return ``AXIS of FRAME`` for each axis."""
        return [f"{axis} of {self.frame}" for axis in self.axes]


@dataclass(frozen=True, eq=False)
class FrameRotation(Term):
    """How a frame is turned against a wanted orientation, as a rotation vector in radians.

    Parameters
    ----------
    frame : str
    rotation : array_like, shape (..., 3, 3), or (3,) roll, pitch and yaw
        The wanted rotation from the frame's axes to those of the world.
    """

    frame: str
    rotation: ArrayLike
    called: ClassVar[str] = "orientation"

    def numbers(self, model: Model, times: Array) -> Array:
        """Return the wanted quaternion, (..., 4)."""
        given = np.asarray(self.rotation, dtype=float)
        if given.shape == (3,):
            given = rpy_matrix(*given)
        if given.shape[-2:] != (3, 3) or np.abs(given @ np.swapaxes(given, -1, -2) - np.eye(3)).max() > 1e-6:
            raise ShapeError(f"rotation of {self.frame!r} must be a rotation matrix, or roll, pitch and yaw")
        return quaternions_of(given)

    def differences(self, m: Moment, wanted: Scalars) -> list[Scalar]:
        """Return the rotation vector from the wanted orientation, along the axes of the world."""
        x, y, z, w = wanted
        found: Vec3 = quaternion_log(quaternion_product(quaternion_of(_matrix(m, self.frame)), (-x, -y, -z, w)))
        return [found.x, found.y, found.z]

    def names(self, model: Model, count: int) -> list[str]:
        """Return ``turn of FRAME about AXIS`` for each axis."""
        return [f"turn of {self.frame} about {axis}" for axis in "xyz"]


def _matrix(m: Moment, frame: str) -> Any:
    rotation = m.pose(frame)
    return rotation.matrix()


@dataclass(frozen=True, eq=False)
class FrameVelocity(Term):
    """Velocity of a frame's origin along the axes of the world, less the wanted one.

    Parameters
    ----------
    frame : str
    velocity : array_like, shape (..., 3)
    """

    frame: str
    velocity: ArrayLike = 0.0
    called: ClassVar[str] = "speed"

    def numbers(self, model: Model, times: Array) -> Array:
        """Return the velocity, (..., 3)."""
        return wanted_numbers(self.velocity, 3, f"the velocity of {self.frame!r}", "along x, y and z")

    def differences(self, m: Moment, wanted: Scalars) -> list[Scalar]:
        """Return the velocity less the wanted one."""
        found = m.velocity(self.frame)
        return [x - w for x, w in zip((found.x, found.y, found.z), wanted, strict=True)]

    def names(self, model: Model, count: int) -> list[str]:
        """Return ``speed of FRAME along AXIS`` for each axis."""
        return [f"speed of {self.frame} along {axis}" for axis in "xyz"]


@dataclass(frozen=True, eq=False)
class ShapeClearance(Term):
    """Signed distances between shapes, less those that are wanted: negative where shapes overlap.

    As a limit it keeps shapes apart: ``Bounded(Clearance([("hand", "table")]), lower=0.02)``, in meters.

    Parameters
    ----------
    pairs : sequence of pairs of str, optional
        Names of shapes or bodies; by default all that may touch.
    target : float
    """

    pairs: Sequence[Sequence[str]] | None = None
    target: float = 0.0
    called: ClassVar[str] = "clearance"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.isfinite(np.asarray(self.target, dtype=float)).all() or np.ndim(self.target):
            raise OptionError(f"the target of Clearance is one distance in meters, not {self.target!r}")

    def _chosen(self, model: Model) -> list[tuple[int, int]]:
        found = list(chosen_pairs(model, self.pairs))
        if not found:
            raise ModelError(f"a Clearance of {model.name!r}: none of its {len(model.shapes)} shapes may touch another")
        return found

    def differences(self, m: Moment, wanted: Scalars) -> list[Scalar]:
        """Return distances less the target."""
        return [x.distance - self.target for x in separations(m.tree, m.q, self._chosen(m.tree))]

    def names(self, model: Model, count: int) -> list[str]:
        """Return ``clearance of FIRST and SECOND`` for each pair."""
        shapes = model.shapes
        return [f"clearance of {shapes[i].name} and {shapes[j].name}" for i, j in self._chosen(model)]


Clearance = ShapeClearance
"""Its public name; :class:`kinetree.Clearance` is what a robot tells of its distances."""


@dataclass(frozen=True, eq=False)
class Residual(Term):
    """Numbers of your own that should be zero, or small.

    Parameters
    ----------
    function : callable
        ``f(m)`` returns a number, or a list of them, from a moment: ``m.q``, ``m.v``, ``m.action``, ``m.time``,
        ``m.place("hand")``, ``m.center_of_mass``, ``m.goal["name"]``.  It runs on traced scalars: use ``kt.sin`` and
        ``kt.where``.
    name : str, optional
    """

    function: Callable[[Any], Any]
    name: str = ""
    called: ClassVar[str] = "residual"

    def differences(self, m: Moment, wanted: Scalars) -> list[Scalar]:
        """Return what the function returns, as a list."""
        name = self.name or getattr(self.function, "__name__", "residual")
        try:
            found = self.function(m)
            listed = list(found) if isinstance(found, (list, tuple, Vec3)) or hasattr(found, "__len__") else [found]
            refuse_nested(listed, "[m.q[0] - 1.0, m.v[0]]")
        except (TypeError, IndexError) as problem:
            raise ModelError(f"residual {name!r} cannot be traced: {problem}") from None
        for k, x in enumerate(listed):
            if is_condition(x):
                raise ModelError(
                    f"entry {k} of residual {name!r} is a comparison, which has no slope: return the difference of its "
                    "sides, or kt.where(condition, a, b)"
                )
        return listed

    def names(self, model: Model, count: int) -> list[str]:
        """Return the name, with a number if there are several."""
        name = self.name or getattr(self.function, "__name__", "residual")
        return [f"{name}[{k}]" if count > 1 else name for k in range(count)]


@dataclass(frozen=True, eq=False)
class Bounded:
    """A limit: the numbers of a term stay between two values.

    Parameters
    ----------
    term : Term
        Its differences from its own target are limited.
    lower, upper : float or array_like
        One number, or one per entry; infinite where there is no limit.
    """

    term: Term
    lower: float | ArrayLike = -np.inf
    upper: float | ArrayLike = np.inf

    def __post_init__(self) -> None:
        if not isinstance(self.term, Term):
            raise OptionError(f"Bounded limits a term such as kt.optimize.FramePosition(...), not {self.term!r}")
        lower, upper = (np.asarray(x, dtype=float) for x in (self.lower, self.upper))
        if np.isnan(lower).any() or np.isnan(upper).any() or np.any(lower > upper):
            raise OptionError(f"Bounded needs lower limits that are not above the upper ones: {lower} and {upper}")


def refuse_not_a_term(given: Any, what: str) -> None:
    """Refuse what is not a term."""
    if isinstance(given, type) and issubclass(given, Term):
        raise OptionError(f"{what} contains the class {given.__name__} itself: make one, {given.__name__}(...)")
    if not isinstance(given, Term):
        raise OptionError(f"{what} contains {given!r}, which is no term such as kt.optimize.Effort()")


def unsupported(what: str) -> UnsupportedError:
    """Return an error for what a plan does not do."""
    return UnsupportedError(f"kt.optimize does not {what}")
