"""Operational-space control: a frame follows a path in space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import articulated_body, jacobian, kinematics, newton_euler, operational_space
from ..errors import ModelError, OptionError, Setting, ShapeError, UnsupportedError
from ..model.tree import Model
from ..motion.trajectory_interface import Trajectory
from ..spatial import Matrix3, MatrixRotation, Scalar, Vec3, dot, ldl, ldl_solve
from ..spatial.arrays import as_array, split
from ..spatial.numbers import real_numbers
from .base import Controller, Gain, Outcome, servo
from .driven_joints import Scalars, gathered, idle_joints, spread
from .mechanism_loops import Yielding, left_to_motors, loops_of, trusted


@dataclass(frozen=True, eq=False)
class OperationalSpace(Controller):
    """A frame follows a path in space: tau = J^T Lambda (x''_des + kp e + kd e' - J' v) + h, perhaps with a posture.

    Away from singularities the error of the position obeys e'' + kd e' + kp e = 0.  In a mechanism with closed loops,
    Lambda is that of the closed mechanism, and the motors produce the forces of all joints.

    Parameters
    ----------
    frame : str
        Body or frame that follows.
    path : Trajectory
        Three coordinates of its origin in the world.
    kp, kd : gains
        Gains in 1/s^2 and 1/s: one number, or one per controlled direction, x, y, z, then rotations about x, y, z.  The
        stiffness against external forces is Lambda kp, which is very small where the robot is light, as in rotations
        of a wrist; :class:`CartesianImpedance` has stiffnesses instead.
    orientation : Trajectory or 3x3 matrix, optional
        A quaternion over time (:class:`~kinetree.motion.point_to_point.Rotation`) or a constant orientation;
        free if not given.  Its error is axis times sine of the angle.
    posture : array_like, shape (nq,), optional
        Positions that the joints are pulled toward, as far as that does not affect the frame.
    posture_kp, posture_kd : float or array_like, shape (nv,)
        Stiffness and damping of the posture, in N m/rad and N m s/rad (or the like), one number or one per joint; the
        damping also acts without a posture.
    damping : float
        Damping near singularities: damping^2 is added to the diagonal of the inverse inertia, which bounds the forces.
    """

    frame: str
    path: Trajectory
    kp: Gain
    kd: Gain
    orientation: Any = None
    posture: ArrayLike | None = None
    posture_kp: ArrayLike = 0.0
    posture_kd: ArrayLike = 0.0
    damping: float = 0.0
    GAINS = ("kp", "kd")
    EACH = "controlled direction (x, y, z, and about them where there is an orientation)"
    RELIES_ON_LOOPS = True

    def __post_init__(self) -> None:
        self.refuse_no_numbers()
        if not isinstance(self.path, Trajectory):
            raise OptionError(
                f"the path must be a trajectory of x, y, z, such as trajectories.Constant, not {self.path!r}"
            )
        if self.path.n != 3:
            raise ShapeError(f"the path must have 3 coordinates, x, y, z, not {self.path.n}")
        for name in ("posture_kp", "posture_kd"):
            real_numbers(getattr(self, name), Setting(name))
        if isinstance(self.orientation, Trajectory):
            if (self.orientation.nq, self.orientation.n) != (4, 3):
                raise ShapeError("the orientation must be a quaternion over time, such as trajectories.Rotation")
        elif self.orientation is not None:
            matrix = np.asarray(self.orientation, dtype=float)
            if matrix.shape == (4, 4):
                raise ShapeError("the orientation must be a 3x3 rotation matrix: from a pose, take pose[:3, :3]")
            if matrix.shape != (3, 3) or not np.allclose(matrix @ matrix.T, np.eye(3), atol=1e-9):
                raise OptionError(f"the orientation must be a 3x3 rotation matrix, got {matrix.tolist()}")

    def _width(self, tree: Model, name: str) -> int:
        return 3 if self.orientation is None else 6

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        chosen, rows, push, acceleration = self._wanted(tree, t, q, v)
        rates = jacobian.rows(jacobian.jacobian_rate(tree, q, v, self.frame, "aligned"))
        needed = [a + p - dot(rates[i], v) for i, a, p in zip(chosen, acceleration, push, strict=True)]
        drawn = self._drawn(tree, q, v)
        if tree.is_constrained:
            return self._in_loops(tree, q, v, rows, needed, drawn), []

        compliance = operational_space.inverse_inertia(tree, q, [self.frame], "aligned")
        bias, _ = newton_euler.inverse_dynamics(tree, q, v, None, tree.gravity)
        if drawn is not None:  # minus the part that would affect the frame
            felt = articulated_body.forward_dynamics(tree, q, [0.0] * tree.nv, drawn, [0.0] * 3, springs=False)
            needed = [x - dot(row, felt) for row, x in zip(rows, needed, strict=True)]
            bias = [a + b for a, b in zip(bias, drawn, strict=True)]
        return self._pushed(rows, [[compliance[i][j] for j in chosen] for i in chosen], needed, bias), []

    def _wanted(
        self, tree: Model, t: Scalar, q: Scalars, v: Scalars
    ) -> tuple[list[int], list[list[Scalar]], list[Scalar], list[Scalar]]:
        """Return the controlled directions, their rows of J, kp e + kd e', and the desired acceleration."""
        if idle_joints(tree) and not tree.is_constrained:
            raise ModelError(
                f"robot {tree.name!r} has joints without motor: operational-space control needs all joints driven"
            )
        chosen = [3, 4, 5, 0, 1, 2][: self._width(tree, "kp")]  # position first; Jacobians have rotation first
        every = jacobian.rows(jacobian.jacobian(tree, q, self.frame, "aligned"))
        rows = [list(every[i]) for i in chosen]
        e, wanted, acceleration = self._error(tree, t, q)
        e_dot = [w - dot(row, v) for row, w in zip(rows, wanted, strict=True)]
        return chosen, rows, servo(e, e_dot, self.kp, self.kd), acceleration

    def _pushed(self, rows: Sequence[Scalars], compliance: Any, needed: Scalars, bias: Scalars) -> list[Scalar]:
        """Return J^T F + h, with the force F that gives the frame the needed acceleration."""
        stiff = [[x + (self.damping**2 if i == j else 0.0) for j, x in enumerate(row)]
                 for i, row in enumerate(compliance)]  # fmt: skip
        force = ldl_solve(ldl(stiff), needed)
        return [dot(column, force) + h for column, h in zip(zip(*rows, strict=True), bias, strict=True)]

    def _in_loops(
        self, tree: Model, q: Scalars, v: Scalars, rows: Sequence[Scalars], needed: Scalars, drawn: Scalars | None
    ) -> list[Scalar]:
        """Return the motor forces of the task for a mechanism.

        The response is that of the closed mechanism, and only its motors act.
        """
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
        driven = tree.driven_joints
        return spread(tree, driven, trusted(gathered(driven, forces), yielding.quality))

    def _error(self, tree: Model, t: Scalar, q: Scalars) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Return the error, desired velocity and desired acceleration, along world axes."""
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
        stiffness, damping = (
            real_numbers(getattr(self, name), Setting(name), tree.nv).tolist() for name in ("posture_kp", "posture_kd")
        )
        if not any(stiffness) and not any(damping):
            return None
        pull: list[Scalar] = [0.0] * tree.nv
        if self.posture is not None:
            way = kinematics.difference(tree, q, split(as_array(self.posture, (tree.nq,), "posture")))
            pull = [k * x for k, x in zip(stiffness, way, strict=True)]
        return [p - d * rate for p, d, rate in zip(pull, damping, v, strict=True)]


@dataclass(frozen=True, eq=False)
class CartesianImpedance(OperationalSpace):
    """Springs and dampers act on a frame: tau = J^T (kp e + kd e') + g, perhaps with a posture.

    A force f on the frame moves it by f / kp, whatever the robot's inertia.  Use it to touch things;
    :class:`OperationalSpace` follows paths more exactly.

    Parameters
    ----------
    frame : str
        Body or frame that follows.
    path : Trajectory
        Three coordinates in the world that its origin is pulled toward.
    kp, kd : gains
        Gains in N/m and N s/m, for rotations in N m/rad and N m s/rad: one number, or one per controlled direction,
        x, y, z, then rotations about x, y, z.
    orientation, posture, posture_kp, posture_kd
        As in :class:`OperationalSpace`.
    damping : float
        As in :class:`OperationalSpace`, for the part of the posture's forces that does not affect the frame.

    Examples
    --------
    >>> import kinetree as kt
    >>> robot = kt.load("kuka-kr5")
    >>> here = robot.pose(robot.neutral(), "link_6")[:3, 3]
    >>> soft = CartesianImpedance("link_6", kt.trajectories.Constant(here), kp=[300.0, 2000.0, 2000.0], kd=60.0)
    """

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        chosen, rows, push, _ = self._wanted(tree, t, q, v)
        hold, _ = newton_euler.inverse_dynamics(tree, q, [0.0] * tree.nv, None, tree.gravity)
        drawn = self._drawn(tree, q, v)
        if drawn is not None and tree.is_constrained:
            raise UnsupportedError("a posture with an impedance is for robots without closed loops")
        if drawn is not None:  # minus the part that would affect the frame
            compliance = operational_space.inverse_inertia(tree, q, [self.frame], "aligned")
            felt = articulated_body.forward_dynamics(tree, q, [0.0] * tree.nv, drawn, [0.0] * 3, springs=False)
            unfelt = [-dot(row, felt) for row in rows]
            drawn = self._pushed(rows, [[compliance[i][j] for j in chosen] for i in chosen], unfelt, drawn)
            hold = [a + b for a, b in zip(hold, drawn, strict=True)]
        tau = [dot(column, push) + h for column, h in zip(zip(*rows, strict=True), hold, strict=True)]
        if not tree.is_constrained:
            return tau, []
        return left_to_motors(tree, self.loops or loops_of(tree), q, tau, "CartesianImpedance"), []
