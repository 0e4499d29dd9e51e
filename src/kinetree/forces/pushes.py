"""Given forces: constant, over time, or as your own functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import OptionError, ShapeError, refuse_unknown
from ..evaluation.law_failures import asked_with_lists
from ..motion.trajectory_interface import Trajectory
from ..spatial import Scalar, Vec3
from ..spatial.numbers import shown
from .element import ForceElement, Point, Surroundings, at_time, frame_and_point, listed

AXES = ("world", "body")


@dataclass(frozen=True, eq=False)
class Push(ForceElement):
    """A force and a torque on a body, constant or over time.

    Parameters
    ----------
    at : str or (str, (x, y, z))
        A body or frame, or a point in its coordinates.
    force, torque : three numbers, (times, values), Trajectory or function of time
        Force in N and torque in N m.  A table of values, one row per time, is straight between its rows; the values of
        a trajectory are its positions.  Both may be of any length.
    axes : {"world", "body"}
        Whether they are along world axes, or along those of the frame as it turns.

    Examples
    --------
    >>> gust = Push("drone", force=lambda t: [2.0 * kt.sin(3.0 * t), 0.0, 0.0])  # doctest: +SKIP
    """

    at: Point
    force: Any = (0.0, 0.0, 0.0)
    torque: Any = (0.0, 0.0, 0.0)
    axes: str = "world"
    VARIES: ClassVar = {"force": 3, "torque": 3}

    def __post_init__(self) -> None:
        frame_and_point(self.at)
        refuse_unknown("kind of axes", self.axes, AXES)
        for name in self.VARIES:
            self.check_given(name, 3)

    def act(self, on: Surroundings) -> None:
        """Apply force and torque."""
        at = on.point(self.at)
        for given, what, give in ((self.force, "force", on.push), (self.torque, "torque", on.turn)):
            vector = Vec3.of(at_time(given, on.t, 3, f"{what} of {self.label}"))
            give(at, at.pose.rotate(vector) if self.axes == "body" else vector)


@dataclass(frozen=True, eq=False)
class JointPush(ForceElement):
    """A force along a joint, constant or over time, in addition to the controller and also at joints without a motor.

    Parameters
    ----------
    joint : str
    force : number, (times, values), Trajectory or function of time
        Force in N m or N; a table is straight between its values.
    coordinate : int
        Index of the coordinate, if the joint has several.
    over : str
        A joint whose coordinate, instead of time, is the argument of ``force``, which is then a Characteristic or a
        function: for example, the gas force on a piston over the crank angle.

    Examples
    --------
    >>> from kinetree.forces import Characteristic
    >>> gas = Characteristic([0.0, 0.5, 3.0, 6.0], [-900.0, -400.0, 0.0, -100.0], period=6.283185, smooth=True)
    >>> firing = JointPush("piston_joint", gas, over="crank_joint")
    """

    joint: str
    force: Any
    coordinate: int = 0
    over: str = ""
    VARIES: ClassVar = {"force": 0}

    def __post_init__(self) -> None:
        if self.over and (isinstance(self.force, Trajectory) or not callable(self.force)):
            raise OptionError(
                f"JointPush: over joint {self.over!r} force must be a kinetree.forces.Characteristic or a function of "
                f"its coordinate, not {shown(self.force)}"
            )
        self.check_given("force", 0)

    def act(self, on: Surroundings) -> None:
        """Drive the joint."""
        along = on.coordinate(self.joint, self.coordinate)
        at = on.coordinate(self.over).length if self.over else on.t
        on.drive(along, at_time(self.force, at, 1, f"force of {self.label}")[0])


@dataclass(frozen=True, eq=False)
class OwnForce(ForceElement):
    """A force of your own: a plain function of time, positions and velocities, written over any scalar.

    Parameters
    ----------
    function : callable
        ``function(t, q, v)`` gets a scalar and two lists of scalars, and returns nv forces, one per freedom.  It uses
        ``+ - * /``, :func:`kinetree.sin` and the like, and :func:`kinetree.where` instead of ``if``, and is compiled
        with the robot.
    potential : callable, optional
        ``potential(q)``: the energy that it stores, for the energy balance.

    Examples
    --------
    >>> centering = OwnForce(lambda t, q, v: [-5.0 * x**3 for x in q], potential=lambda q: 1.25 * sum(x**4 for x in q))
    """

    function: Callable[[Scalar, list[Scalar], list[Scalar]], Sequence[Scalar]]
    potential: Callable[[list[Scalar]], Scalar] | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise OptionError(f"a force of your own is a function f(t, q, v), not {self.function!r}")

    def act(self, on: Surroundings) -> None:
        """Apply the force of the function."""
        forces = listed(asked_with_lists(self.function, on.t, list(on.q), list(on.v)), self.label)
        if len(forces) != on.tree.nv:
            raise ShapeError(
                f"{self.label} returned {len(forces)} forces; robot {on.tree.name!r} has nv = {on.tree.nv} freedoms"
            )
        on.joint_forces[:] = [a + b for a, b in zip(on.joint_forces, forces, strict=True)]

    def stored(self, on: Surroundings) -> Scalar:
        """Return the potential."""
        return 0.0 if self.potential is None else self.potential(list(on.q))


@dataclass(frozen=True, eq=False)
class PointForce(ForceElement):
    """A force of your own on a point of a body: a plain function of the point's position and velocity.

    Parameters
    ----------
    at : str or (str, (x, y, z))
    function : callable
        ``function(t, x, v)`` gets the time, the point's position and velocity in the world, lists of three scalars, and
        returns the force along world axes.
    potential : callable, optional
        ``potential(x)``: the energy that it stores, for the energy balance.
    """

    at: Point
    function: Callable[[Scalar, list[Scalar], list[Scalar]], Sequence[Scalar]]
    potential: Callable[[list[Scalar]], Scalar] | None = None

    def __post_init__(self) -> None:
        frame_and_point(self.at)
        if not callable(self.function):
            raise OptionError(f"a force of your own is a function f(t, x, v), not {self.function!r}")

    def act(self, on: Surroundings) -> None:
        """Apply the force of the function."""
        at = on.point(self.at)
        force = listed(self.function(on.t, list(at.position), list(at.velocity)), self.label)
        if len(force) != 3:
            raise ShapeError(f"{self.label} must return three numbers along world axes, got {len(force)}")
        on.push(at, Vec3.of(force))

    def stored(self, on: Surroundings) -> Scalar:
        """Return the potential."""
        return 0.0 if self.potential is None else self.potential(list(on.point(self.at).position))
