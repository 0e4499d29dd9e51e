"""Controllers: what the motors do at every moment.

Each one is a few lines of law over any scalar; see :mod:`kinetree.control.base`
for what they have in common.  Forces of joints without a motor (a floating base among
them) are zero.

Examples
--------
>>> from kinetree.simulation import control, trajectories
>>> goal = trajectories.Cycloid([0.0, 0.0, 0.0], [0.5, 1.0, -0.5], 2.0).held()
>>> hold = control.PD(goal, kp=49.0, kd=control.critical_damping(49.0)) + control.GravityCompensation()
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import articulated_body, jacobian, kinematics, newton_euler, operational_space
from ..errors import ModelError, OptionError, ShapeError, UnknownNameError, UnsupportedError
from ..model.tree import Joint, Model
from ..motion.piecewise import check_table, check_times, hermite
from ..motion.splines import Piecewise
from ..motion.trajectory import SLACK, Trajectory
from ..simulation.system import friction_force
from ..spatial import Force, Matrix3, MatrixRotation, Scalar, Vec3, dot, ldl, ldl_solve, sqrt, where
from ..spatial.arrays import pack, split
from .base import (
    Controller,
    Gain,
    Outcome,
    Scalars,
    as_gain,
    critical_damping,
    desired_motion,
    driven_joints,
    forces_for,
    gains,
    gathered,
    idle_joints,
    spread,
    tracking_error,
)
from .of_loops import Yielding, completed, followed_joints, left_to_motors, loops_of, trusted
from .of_loops import forces_for as closed_forces_for

__all__ = [
    "PD",
    "PID",
    "ComputedTorque",
    "Controller",
    "Feedforward",
    "FrictionCompensation",
    "GravityCompensation",
    "Law",
    "OperationalSpace",
    "PythonLaw",
    "Saturated",
    "Sum",
    "TorqueTable",
    "critical_damping",
    "from_function",
    "gains",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class PD(Controller):
    """tau = kp e + kd e'.

    Parameters
    ----------
    trajectory : Trajectory
        Desired motion of the driven joints, or of all joints.
    kp, kd : float or array_like
        One number, one per driven degree of freedom, or a batch of those.
    """

    trajectory: Trajectory
    kp: Gain
    kd: Gain
    GAINS = ("kp", "kd")

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Joint forces."""
        error = tracking_error(tree, self.trajectory, t, q, v)
        return spread(tree, driven_joints(tree), servo(error.position, error.velocity, self.kp, self.kd)), []


def servo(e: Scalars, e_dot: Scalars, kp: Gain, kd: Gain) -> list[Scalar]:
    """Kp e + kd e', the part that all these laws share."""
    n = len(e)
    columns = (gains(kp, n, "kp"), e, gains(kd, n, "kd"), e_dot)
    return [p * x + d * y for p, x, d, y in zip(*columns, strict=True)]


@dataclass(frozen=True, eq=False)
class PID(Controller):
    """tau = kp e + kd e' + ki (integral of e) (000 eq. 9.2)."""

    trajectory: Trajectory
    kp: Gain
    kd: Gain
    ki: Gain
    GAINS = ("kp", "kd", "ki")

    def initial_states(self, tree: Model) -> np.ndarray:
        """The integrals of the errors are zero at the beginning."""
        return np.zeros(sum(j.nv for j in driven_joints(tree)))

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Joint forces, and the errors as the rates of their integrals."""
        error = tracking_error(tree, self.trajectory, t, q, v)
        push = servo(error.position, error.velocity, self.kp, self.kd)
        integral = [k * x for k, x in zip(gains(self.ki, len(z), "ki"), z, strict=True)]
        tau = [a + b for a, b in zip(push, integral, strict=True)]
        return spread(tree, driven_joints(tree), tau), error.position


@dataclass(frozen=True, eq=False)
class ComputedTorque(Controller):
    """tau = I alpha + h with alpha = q''_des + kp e + kd e' (000 eq. 9.3-9.4, floating base 9.8-9.9, 9.11).

    The error then obeys e'' + kd e' + kp e = 0 whatever the robot, but for the friction of its joints,
    which :class:`FrictionCompensation` takes away.

    Parameters
    ----------
    trajectory : Trajectory
    kp, kd : gains
        In 1/s^2 and 1/s.
    senses : sequence of force elements
        Ground or other elements whose forces the controller knows.  A walking machine that does
        not know its ground takes itself to be falling.
    coordinates : sequence of str, optional
        For mechanisms with closed loops: names of the joints that the trajectory, the errors and the gains belong
        to, from which all others follow; by default those with motors.  Must be given where there are more motors
        than freedoms, which then share the forces so that the sum of their squares is least.
    """

    trajectory: Trajectory
    kp: Gain
    kd: Gain
    senses: Sequence[Any] = ()
    coordinates: Sequence[str] | None = None
    GAINS = ("kp", "kd")
    RELIES_ON_LOOPS = True

    def __post_init__(self) -> None:
        _check_senses(self.senses)

    def joints(self, tree: Model) -> list[Joint]:
        """The joints whose motion the trajectory tells."""
        return followed_joints(tree, self.coordinates, self.loops)

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Joint forces."""
        followed = self.joints(tree)
        error = tracking_error(tree, self.trajectory, t, q, v, followed)
        push = servo(error.position, error.velocity, self.kp, self.kd)
        alpha = [a + b for a, b in zip(error.acceleration, push, strict=True)]
        loads = sensed(tree, self.senses, t, q, v)
        if tree.loops:
            loops = self.loops or loops_of(tree)
            return closed_forces_for(tree, loops, q, v, followed, alpha, loads), []
        _, tau = forces_for(tree, q, v, followed, alpha, loads)
        return spread(tree, followed, gathered(followed, tau)), []


def _check_senses(elements: Sequence[Any]) -> None:
    for element in elements:
        if not hasattr(element, "loads"):
            raise OptionError(f"senses must be force elements such as a ground, not {type(element).__name__}")


def sensed(tree: Model, elements: Sequence[Any], t: Scalar, q: Scalars, v: Scalars) -> list[Force | None] | None:
    """Forces of elements on the bodies at a state; elements with states of their own cannot be foreseen."""
    total: list[Force | None] | None = None
    for element in elements:
        begin = getattr(element, "initial_states", None)
        if begin is not None and len(begin(tree)):
            raise OptionError(f"{type(element).__name__} has states of its own, which a controller cannot know")
        loads, _, _ = element.loads(tree, t, q, v, [])
        if loads is not None:
            total = list(loads) if total is None else [_both(a, b) for a, b in zip(total, loads, strict=True)]
    return total


def _both(a: Force | None, b: Force | None) -> Force | None:
    return b if a is None else a if b is None else a + b


@dataclass(frozen=True, eq=False)
class Feedforward(Controller):
    """tau = tau_ID(desired motion) + kp e + kd e' (000 eq. 9.12, floating base 9.13; 003 eq. 25).

    Of a robot with a floating base (or other joints without motor) the desired motion of the
    driven joints says what they do, not what the base does.  So the base's own motion along the
    desired one is integrated beside it, with the ground's forces there, as the sources do: it is
    the controller's state ``z``.

    In a mechanism with closed loops the desired motion is completed along them: positions are searched from those
    of the robot on, so they are put together in the same way.  Where none are found the forces are NaN.

    Parameters
    ----------
    trajectory : Trajectory
    kp, kd : gains
        In N m/rad and N m s/rad (or the like); zero replays the forces open loop.
    senses : sequence of force elements
        Ground under the desired motion.
    begin : tuple of (q, v), optional
        Where the joints without motor are at the beginning and how they move; by default at zero, at rest.
        Not for mechanisms with closed loops, in which they follow the others.
    coordinates : sequence of str, optional
        As in :class:`ComputedTorque`.
    """

    trajectory: Trajectory
    kp: Gain
    kd: Gain
    senses: Sequence[Any] = ()
    begin: tuple[ArrayLike, ArrayLike] | None = None
    coordinates: Sequence[str] | None = None
    GAINS = ("kp", "kd")
    RELIES_ON_LOOPS = True

    def __post_init__(self) -> None:
        _check_senses(self.senses)

    def joints(self, tree: Model) -> list[Joint]:
        """The joints whose motion the trajectory tells."""
        return followed_joints(tree, self.coordinates, self.loops)

    def initial_states(self, tree: Model) -> np.ndarray:
        """Positions and velocities of the joints without motor; none where loops say what these are."""
        if tree.loops:
            if self.begin is not None:
                raise OptionError(
                    f"leave begin out: robot {tree.name!r} has closed loops, its joints follow the motors'"
                )
            return np.zeros(0)
        idle = idle_joints(tree)
        if self.begin is None:
            return np.array([*(x for j in idle for x in j.kind.neutral()), *[0.0] * sum(j.nv for j in idle)])
        q, v = (np.asarray(x, dtype=float) for x in self.begin)
        if q.shape != (sum(j.nq for j in idle),) or v.shape != (sum(j.nv for j in idle),):
            raise ShapeError(
                f"begin must hold {sum(j.nq for j in idle)} positions and {sum(j.nv for j in idle)} velocities of "
                f"{', '.join(j.name for j in idle) or 'no joints'}, got shapes {q.shape} and {v.shape}"
            )
        return np.concatenate([q, v])

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Joint forces, and the rate of the desired motion's base."""
        if tree.loops:
            return self._along_loops(tree, t, q, v), []
        driven, idle = driven_joints(tree), idle_joints(tree)
        error = tracking_error(tree, self.trajectory, t, q, v, self.joints(tree))
        planned_q, planned_v = self.planned(tree, t, z)
        loads = sensed(tree, self.senses, t, planned_q, planned_v)
        a, forces = forces_for(tree, planned_q, planned_v, driven, error.acceleration, loads)
        push = servo(error.position, error.velocity, self.kp, self.kd)
        tau = [f + p for f, p in zip(gathered(driven, forces), push, strict=True)]
        moving = [x for j in idle for x in j.kind.rate(planned_q[j.q_slice], planned_v[j.v_slice])]
        return spread(tree, driven, tau), moving + gathered(idle, a)

    def _along_loops(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> list[Scalar]:
        """Motor forces along the completed motion, and what the servo adds to them."""
        loops, followed = self.loops or loops_of(tree), self.joints(tree)
        if sum(j.nv for j in followed) < loops.freedoms:
            raise UnsupportedError(
                f"robot {tree.name!r} has closed loops and fewer motors than freedoms, so its desired motion does not "
                "follow from the trajectory: use ComputedTorque, which looks at where it is"
            )
        error = tracking_error(tree, self.trajectory, t, q, v, followed)
        planned = completed(tree, loops, q, followed, desired_motion(tree, self.trajectory, t, followed))
        loads = sensed(tree, self.senses, t, planned[0], planned[1])
        forces, _ = newton_euler.inverse_dynamics(tree, *planned, tree.gravity, loads)
        push = spread(tree, followed, servo(error.position, error.velocity, self.kp, self.kd))
        shares = (left_to_motors(tree, loops, at, tau, "Feedforward") for at, tau in ((planned[0], forces), (q, push)))
        return [a + b for a, b in zip(*shares, strict=True)]

    def planned(self, tree: Model, t: Scalar, z: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """The whole desired state: driven joints by the trajectory, the others by ``z``."""
        driven, idle = driven_joints(tree), idle_joints(tree)
        desired = desired_motion(tree, self.trajectory, t)
        positions = {j.name: x for j, x in zip(driven, desired.per_joint, strict=True)}
        first = 0
        for j in idle:
            positions[j.name] = _unit(j, list(z[first : first + j.nq]))
            first += j.nq
        q = [x for j in tree.joints if not j.mimic for x in positions[j.name]]
        rest = spread(tree, idle, z[first:])
        v = [a + b for a, b in zip(spread(tree, driven, desired.velocity), rest, strict=True)]
        return q, v


def _unit(joint: Joint, q: list[Scalar]) -> list[Scalar]:
    """A joint's coordinates with the quaternion scaled to unit length, from which integration drifts."""
    where_ = joint.kind.quaternion
    if where_ is None:
        return q
    own = q[where_]
    norm = sqrt(own[0] * own[0] + own[1] * own[1] + own[2] * own[2] + own[3] * own[3])
    return [x / norm if where_.start <= k < where_.stop else x for k, x in enumerate(q)]


@dataclass(frozen=True, eq=False)
class GravityCompensation(Controller):
    """tau = g(q): what holds the robot still. Of a floating base, what its joints hold when the base is held.

    The motors of a mechanism with closed loops carry the weight of all its links.
    """

    RELIES_ON_LOOPS = True

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Joint forces."""
        weight, _ = newton_euler.inverse_dynamics(tree, q, [0.0] * tree.nv, None, tree.gravity)
        if tree.loops:
            return left_to_motors(tree, self.loops or loops_of(tree), q, weight, "GravityCompensation"), []
        driven = driven_joints(tree)
        return spread(tree, driven, gathered(driven, weight)), []


@dataclass(frozen=True, eq=False)
class FrictionCompensation(Controller):
    """What overcomes the friction of the driven joints: added to a law that computes with the rigid robot alone.

    The motors of a mechanism with closed loops overcome that of its passive joints too.

    Parameters
    ----------
    friction_speed : float
        As given to :func:`kinetree.simulate`; Coulomb friction is ``friction v / sqrt(v^2 + friction_speed^2)``.

    Examples
    --------
    ``ComputedTorque(goal, kp, kd) + FrictionCompensation()``
    """

    friction_speed: float = 1e-2
    RELIES_ON_LOOPS = True

    def __post_init__(self) -> None:
        if not self.friction_speed > 0.0:
            raise OptionError(f"friction_speed must be positive, not {self.friction_speed!r}")

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Joint forces."""
        against = [-f for f in friction_force(tree, v, self.friction_speed)]
        if tree.loops:
            return left_to_motors(tree, self.loops or loops_of(tree), q, against, "FrictionCompensation"), []
        driven = driven_joints(tree)
        return spread(tree, driven, gathered(driven, against)), []


@dataclass(frozen=True, eq=False)
class OperationalSpace(Controller):
    """A frame follows a path in space: tau = J^T Lambda (x''_des + kp e + kd e' - J' v) + h, and a posture beside it.

    Away from singularities the error of the position obeys e'' + kd e' + kp e = 0.  In a mechanism with closed loops
    Lambda is that of the closed mechanism, and the motors do what is asked of all joints.

    Parameters
    ----------
    frame : str
        Body or frame that follows.
    path : Trajectory
        Three coordinates of its origin in the world.
    kp, kd : gains
        One number, or one per controlled direction: x, y, z, then rotations about x, y, z.
    orientation : Trajectory or 3x3 matrix, optional
        A quaternion over time (:class:`~kinetree.motion.formulas.Rotation`) or one orientation to
        keep; left free when not given.  Its error is axis times sine of the angle.
    posture : array_like, shape (nq,), optional
        Where the joints are drawn to as far as the frame does not feel it.
    posture_kp, posture_kd : float
        Stiffness and damping of that; the damping acts without a posture too.
    damping : float
        Added to the inverse inertia as damping^2 on its diagonal: bounds the forces near singularities.
    """

    frame: str
    path: Trajectory
    kp: Gain
    kd: Gain
    orientation: Any = None
    posture: ArrayLike | None = None
    posture_kp: float = 0.0
    posture_kd: float = 0.0
    damping: float = 0.0
    GAINS = ("kp", "kd")
    RELIES_ON_LOOPS = True

    def __post_init__(self) -> None:
        if not isinstance(self.path, Trajectory):
            raise OptionError(
                f"the path must be a trajectory of x, y, z, such as trajectories.Constant, not {self.path!r}"
            )
        if self.path.n != 3:
            raise ShapeError(f"the path must have 3 coordinates, x, y, z, not {self.path.n}")
        if isinstance(self.orientation, Trajectory):
            if (self.orientation.nq, self.orientation.n) != (4, 3):
                raise ShapeError("the orientation must be a quaternion over time, such as trajectories.Rotation")
        elif self.orientation is not None:
            matrix = np.asarray(self.orientation, dtype=float)
            if matrix.shape != (3, 3) or not np.allclose(matrix @ matrix.T, np.eye(3), atol=1e-9):
                raise OptionError(f"the orientation must be a 3x3 rotation matrix, got {matrix.tolist()}")

    def _width(self, tree: Model, name: str) -> int:
        return 3 if self.orientation is None else 6

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Joint forces."""
        if idle_joints(tree) and not tree.loops:
            raise ModelError(
                f"robot {tree.name!r} has joints without motor: operational-space control needs all driven"
            )
        n = self._width(tree, "kp")
        chosen = [3, 4, 5, 0, 1, 2][:n]  # position first; Jacobians have the rotation first
        every = jacobian.rows(jacobian.jacobian(tree, q, self.frame, "aligned"))
        rates = jacobian.rows(jacobian.jacobian_rate(tree, q, v, self.frame, "aligned"))
        rows = [every[i] for i in chosen]
        e, wanted, acceleration = self._error(tree, t, q)
        e_dot = [w - dot(row, v) for row, w in zip(rows, wanted, strict=True)]
        push = servo(e, e_dot, self.kp, self.kd)
        needed = [a + p - dot(rates[i], v) for i, a, p in zip(chosen, acceleration, push, strict=True)]
        drawn = self._drawn(tree, q, v)
        if tree.loops:
            return self._in_loops(tree, q, v, rows, needed, drawn), []

        compliance = operational_space.inverse_inertia(tree, q, [self.frame], "aligned")
        bias, _ = newton_euler.inverse_dynamics(tree, q, v, None, tree.gravity)
        if drawn is not None:  # less what of it the frame would feel
            felt = articulated_body.forward_dynamics(tree, q, [0.0] * tree.nv, drawn, [0.0, 0.0, 0.0])
            needed = [x - dot(row, felt) for row, x in zip(rows, needed, strict=True)]
            bias = [a + b for a, b in zip(bias, drawn, strict=True)]
        return self._pushed(rows, [[compliance[i][j] for j in chosen] for i in chosen], needed, bias), []

    def _pushed(self, rows: Sequence[Scalars], compliance: Any, needed: Scalars, bias: Scalars) -> list[Scalar]:
        """J^T F + h, with the force F that gives the frame the acceleration that is needed."""
        stiff = [[x + (self.damping**2 if i == j else 0.0) for j, x in enumerate(row)]
                 for i, row in enumerate(compliance)]  # fmt: skip
        force = ldl_solve(ldl(stiff), needed)
        return [dot(column, force) + h for column, h in zip(zip(*rows, strict=True), bias, strict=True)]

    def _in_loops(
        self, tree: Model, q: Scalars, v: Scalars, rows: Sequence[Scalars], needed: Scalars, drawn: Scalars | None
    ) -> list[Scalar]:
        """The same for a mechanism: it gives way as its loops allow, moves along them, and its motors do it all."""
        loops = self.loops or loops_of(tree)
        yielding = Yielding(tree, loops, q)
        moving = yielding.at_rest(q, v)
        bias, _ = newton_euler.inverse_dynamics(tree, q, v, moving, tree.gravity)
        if drawn is not None:
            bias = [a + b for a, b in zip(bias, drawn, strict=True)]
            moving = [a + b for a, b in zip(moving, yielding.to(drawn), strict=True)]
        columns = [yielding.to(row) for row in rows]
        compliance = [[dot(row, column) for column in columns] for row in rows]
        left = [x - dot(row, moving) for row, x in zip(rows, needed, strict=True)]
        forces = left_to_motors(tree, loops, q, self._pushed(rows, compliance, left, bias), "OperationalSpace")
        driven = driven_joints(tree)
        return spread(tree, driven, trusted(gathered(driven, forces), yielding.quality))

    def _error(self, tree: Model, t: Scalar, q: Scalars) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Error, desired velocity and desired acceleration, along world axes."""
        pose = kinematics.frame_pose(tree, q, self.frame)
        x, v, a = self.path.at(t)
        e = [goal - here for goal, here in zip(x, pose.translation, strict=True)]
        if self.orientation is None:
            return e, v, a
        if isinstance(self.orientation, Trajectory):
            quaternion, w, w_dot = self.orientation.at(t)
            turn = MatrixRotation.from_quaternion(*quaternion)
            goals, wanted = turn.m, [*turn.apply(Vec3(*w)), *turn.apply(Vec3(*w_dot))]
        else:
            goals, wanted = Matrix3.of(np.asarray(self.orientation, float).tolist()), [0.0] * 6
        total = Vec3(0.0, 0.0, 0.0)
        for here, goal in zip(pose.matrix().T.rows, goals.T.rows, strict=True):
            total = total + here.cross(goal)
        return e + [0.5 * x for x in total], v + wanted[:3], a + wanted[3:]

    def _drawn(self, tree: Model, q: Scalars, v: Scalars) -> list[Scalar] | None:
        if self.posture_kp == 0.0 and self.posture_kd == 0.0:
            return None
        pull: list[Scalar] = [0.0] * tree.nv
        if self.posture is not None:
            way = kinematics.difference(tree, q, split(np.asarray(self.posture, dtype=float)))
            pull = [self.posture_kp * x for x in way]
        return [p - self.posture_kd * rate for p, rate in zip(pull, v, strict=True)]


@dataclass(frozen=True, eq=False)
class TorqueTable(Controller):
    """Forces out of a table, replayed.

    Parameters
    ----------
    times : array_like, shape (K,)
    tau : array_like, shape (K, n)
        Of the driven degrees of freedom, or of all.
    kind : {"linear", "step"}
        Straight between rows, or each row until the next.
    hold : bool
        Keep the last row after the end (and the first before the start) instead of an error.
    """

    times: ArrayLike
    tau: ArrayLike
    kind: str = "linear"
    hold: bool = False
    table: Piecewise = field(init=False, repr=False)

    def __post_init__(self) -> None:
        knots = check_times(self.times)
        rows = check_table(self.tau, len(knots), "tau")
        if self.kind not in ("linear", "step"):
            raise UnknownNameError("kind of table", self.kind, ("linear", "step"))
        made = hermite(knots, [rows]) if self.kind == "linear" else np.stack([rows[:-1], 0.0 * rows[:-1]], axis=1)
        object.__setattr__(self, "table", Piecewise(knots, made, hold=self.hold))

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Joint forces."""
        tau, _, _ = self.table.at(t)
        if self.kind == "step":  # the last row acts from its time on, which is after the last piece of the table
            end, last = self.table.end, np.asarray(self.tau, dtype=float)[-1].tolist()
            late = end + SLACK * max(1.0, abs(self.table.start), abs(end))
            beyond = last if self.hold else [where(t > late, x, row) for x, row in zip(tau, last, strict=True)]
            tau = [where(t < end, x, row) for x, row in zip(tau, beyond, strict=True)]
        driven = driven_joints(tree)
        count = sum(j.nv for j in driven)
        if len(tau) == count:
            return spread(tree, driven, tau), []
        if len(tau) == tree.nv:
            return tau, []
        raise ShapeError(
            f"the table has {len(tau)} columns; robot {tree.name!r} has {count} driven joints, nv = {tree.nv}"
        )


# ---------------------------------------------------------------- put together


def _named(parts: Sequence[Controller], numbers: Mapping[str, Scalars]) -> list[dict[str, Scalars]]:
    """The numbers of each part, out of names such as ``1.kp``."""
    found: list[dict[str, Scalars]] = [{} for _ in parts]
    for name, values in numbers.items():
        which, _, own = name.partition(".")
        found[int(which)][own] = values
    return found


def _compilable(part: Controller) -> Controller:
    """Refuse plain Python functions, which cannot be part of a compiled law."""
    if isinstance(part, PythonLaw):
        raise OptionError(
            "a plain Python function cannot be combined with other laws: call them inside of it, or use Law"
        )
    if not isinstance(part, Controller):
        raise OptionError(f"a controller is needed here, not {type(part).__name__}")
    return part


@dataclass(frozen=True, eq=False)
class Sum(Controller):
    """Several controllers at once: their forces add up."""

    parts: Sequence[Controller]

    def __post_init__(self) -> None:
        flat: list[Controller] = []
        for part in self.parts:
            flat += list(part.parts) if isinstance(part, Sum) else [_compilable(part)]
        object.__setattr__(self, "parts", tuple(flat))

    @property
    def span(self) -> tuple[float, float]:
        """The time that all of them know."""
        return max(p.span[0] for p in self.parts), min(p.span[1] for p in self.parts)

    def relies_on_loops(self) -> bool:
        """Whether one of them does."""
        return any(part.relies_on_loops() for part in self.parts)

    def bound(self, robot: Any) -> Self:
        """Return the same controllers, each with what it has to know of the robot's loops."""
        return replace(self, parts=tuple(part.bound(robot) for part in self.parts))

    def initial_states(self, tree: Model) -> np.ndarray:
        """States of all parts, one after the other."""
        return np.concatenate([np.zeros(0), *(p.initial_states(tree) for p in self.parts)])

    def parameters(self, tree: Model) -> dict[str, np.ndarray]:
        """Gains of all parts, with the part's number before the name."""
        return {f"{k}.{name}": x for k, p in enumerate(self.parts) for name, x in p.parameters(tree).items()}

    def with_parameters(self, numbers: Mapping[str, Scalars]) -> Self:
        """The same controllers with other gains."""
        own = _named(self.parts, numbers)
        return replace(self, parts=tuple(p.with_parameters(x) for p, x in zip(self.parts, own, strict=True)))

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Joint forces."""
        total: list[Scalar] = [0.0] * tree.nv
        rates: list[Scalar] = []
        first = 0
        for part in self.parts:
            count = len(part.initial_states(tree))
            tau, rate = part.law(tree, t, q, v, z[first : first + count])
            total = [a + b for a, b in zip(total, tau, strict=True)]
            rates += list(rate)
            first += count
        return total, rates


@dataclass(frozen=True, eq=False)
class Saturated(Controller):
    """Another controller whose forces stop at limits.

    Parameters
    ----------
    controller : Controller
    limit : float or array_like, optional
        Largest force of each degree of freedom; the robot's effort limits by default.
    """

    controller: Controller
    limit: ArrayLike | None = None

    def __post_init__(self) -> None:
        _compilable(self.controller)

    @property
    def span(self) -> tuple[float, float]:
        """That of the other controller."""
        return self.controller.span

    def relies_on_loops(self) -> bool:
        """Whether the other controller does."""
        return self.controller.relies_on_loops()

    def bound(self, robot: Any) -> Self:
        """Return the same with what the other controller has to know of the robot's loops."""
        return replace(self, controller=self.controller.bound(robot))

    def initial_states(self, tree: Model) -> np.ndarray:
        """States of the other controller."""
        return self.controller.initial_states(tree)

    def parameters(self, tree: Model) -> dict[str, np.ndarray]:
        """Gains of the other controller."""
        return self.controller.parameters(tree)

    def with_parameters(self, numbers: Mapping[str, Scalars]) -> Self:
        """The same with other gains."""
        return replace(self, controller=self.controller.with_parameters(numbers))

    def limits(self, tree: Model) -> np.ndarray:
        """Largest force of each degree of freedom."""
        if self.limit is None:
            return tree.joint_vector("effort_limit")
        bounds = as_gain(self.limit, tree.nv, "limit")
        if bounds.ndim != 1 or np.any(bounds < 0):
            raise OptionError(f"limit must be one number or {tree.nv}, not negative")
        return bounds

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Joint forces, none above its limit."""
        tau, rates = self.controller.law(tree, t, q, v, z)
        return [_limited(x, float(bound)) for x, bound in zip(tau, self.limits(tree), strict=True)], rates


def _limited(x: Scalar, bound: float) -> Scalar:
    if math.isinf(bound) or (isinstance(x, float) and x == 0.0):
        return x
    return where(x > bound, bound, where(x < -bound, -bound, x))  # NaN is not hidden


# ---------------------------------------------------------------- functions as controllers


@dataclass(frozen=True, eq=False)
class Law(Controller):
    """A user's own law, written over any scalar, which is compiled like the others.

    Parameters
    ----------
    function : callable
        ``function(t, q, v)`` gets a scalar and two lists of scalars and returns nv scalars; it
        uses ``+ - * /``, :func:`kinetree.sin` and the like, and :func:`kinetree.where` instead of ``if``.

    Examples
    --------
    >>> damper = Law(lambda t, q, v: [-0.5 * rate for rate in v])
    """

    function: Callable[[Scalar, list[Scalar], list[Scalar]], Sequence[Scalar]]

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Joint forces."""
        tau = list(self.function(t, list(q), list(v)))
        if len(tau) != tree.nv:
            raise ShapeError(f"the law returned {len(tau)} forces, robot {tree.name!r} has nv = {tree.nv}")
        return tau, []


@dataclass(frozen=True, eq=False)
class PythonLaw(Controller):
    """Any Python function of arrays as a controller; it cannot be compiled. Made by :func:`from_function`."""

    python_function: Callable[[Any, np.ndarray, np.ndarray], ArrayLike]

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Joint forces."""
        batch = np.broadcast_shapes(np.shape(t), *(np.shape(x) for x in (*q, *v)))
        tau = np.asarray(self.python_function(t, pack(list(q), batch), pack(list(v), batch)), dtype=float)
        if tau.shape[-1:] != (tree.nv,):
            raise ShapeError(f"the controller returned shape {tau.shape}, expected (..., {tree.nv}) = nv")
        return split(tau), []


def from_function(function: Callable[[Any, np.ndarray, np.ndarray], ArrayLike]) -> PythonLaw:
    """A controller from a Python function ``f(t, q, v) -> tau`` of arrays; slower, as it is not compiled."""
    if not callable(function):
        raise OptionError(f"a controller is a function f(t, q, v) -> tau, not {type(function).__name__}")
    return PythonLaw(function)
