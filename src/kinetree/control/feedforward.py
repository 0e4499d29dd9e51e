"""Feedforward: the forces of the desired motion plus a servo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import newton_euler
from ..errors import OptionError, ShapeError, UnsupportedError, explains_arguments
from ..former_names import former_arguments
from ..model.tree import Joint, Model
from ..motion.trajectory_interface import Trajectory
from ..spatial import Scalar, sqrt
from .base import Controller, Gain, Outcome, servo
from .computed_torque import check_senses, sensed
from .driven_joints import Scalars, desired_motion, forces_for, gathered, idle_joints, spread, tracking_error
from .mechanism_loops import completed, followed_joints, left_to_motors, loops_of


@explains_arguments
@former_arguments(begin=("q0", "v0"))
@dataclass(frozen=True, eq=False)
class Feedforward(Controller):
    """tau = tau_ID(desired motion) + kp e + kd e' (Shah eq. 9.12, floating base 9.13; Biped eq. 25).

    For a robot with a floating base (or other joints without motor), the desired motion of the
    driven joints does not determine the motion of the base.  The base's motion along the desired one is therefore
    integrated as well, with the ground's forces there, as in the sources: it is the controller's state ``z``.

    In a mechanism with closed loops, the desired motion is completed along them: the search for positions starts from
    those of the robot, so they are on the same branch.  If none are found, the forces are NaN.

    Parameters
    ----------
    trajectory : Trajectory
    kp, kd : gains
        Gains in N m/rad and N m s/rad (or the like); with zero the forces are applied in open loop.
    senses : sequence of force elements
        Ground under the desired motion.
    q0, v0 : array_like, optional
        Initial positions and velocities of the joints without motor; zero by default.
        Not for mechanisms with closed loops, in which these joints follow the others.
    coordinates : sequence of str, optional
        As in :class:`ComputedTorque`.
    """

    trajectory: Trajectory
    kp: Gain
    kd: Gain
    senses: Sequence[Any] = ()
    q0: ArrayLike | None = None
    v0: ArrayLike | None = None
    coordinates: Sequence[str] | None = None
    GAINS = ("kp", "kd")
    RELIES_ON_LOOPS = True

    def __post_init__(self) -> None:
        self.refuse_no_trajectory()
        self.refuse_no_numbers()
        check_senses(self.senses)

    def takes_to_fall(self) -> bool:
        """Return whether it senses nothing that could carry the robot."""
        return not self.senses

    def joints(self, tree: Model) -> list[Joint]:
        """Return the joints whose motion the trajectory gives."""
        return followed_joints(tree, self.coordinates, self.loops)

    def initial_states(self, tree: Model) -> np.ndarray:
        """Return positions and velocities of the joints without motor; none if loops determine them."""
        if tree.is_constrained:
            if self.q0 is not None or self.v0 is not None:
                raise OptionError(
                    f"leave q0 and v0 out: robot {tree.name!r} has closed loops, its joints follow those of the motors"
                )
            return np.zeros(0)
        idle = idle_joints(tree)
        rest = [x for j in idle for x in j.kind.neutral()], [0.0] * sum(j.nv for j in idle)
        q, v = (np.asarray(usual if x is None else x, float) for x, usual in zip((self.q0, self.v0), rest, strict=True))
        if (q.shape, v.shape) != ((len(rest[0]),), (len(rest[1]),)):
            raise ShapeError(
                f"q0 and v0 must hold {len(rest[0])} positions and {len(rest[1])} velocities of "
                f"{', '.join(j.name for j in idle) or 'no joints'}, got shapes {q.shape} and {v.shape}"
            )
        return np.concatenate([q, v])

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces, and the rate of the desired motion's base."""
        if tree.is_constrained:
            return self._along_loops(tree, t, q, v), []
        driven, idle = tree.driven_joints, idle_joints(tree)
        error = tracking_error(tree, self.trajectory, t, q, v, self.joints(tree))
        planned_q, planned_v = self.planned(tree, t, z)
        loads = sensed(tree, self.senses, t, planned_q, planned_v)
        a, forces = forces_for(tree, planned_q, planned_v, driven, error.acceleration, loads)
        push = servo(error.position, error.velocity, self.kp, self.kd)
        tau = [f + p for f, p in zip(gathered(driven, forces), push, strict=True)]
        moving = [x for j in idle for x in j.kind.rate(planned_q[j.q_slice], planned_v[j.v_slice])]
        return spread(tree, driven, tau), moving + gathered(idle, a)

    def _along_loops(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> list[Scalar]:
        """Return the motor forces along the completed motion plus those of the servo."""
        loops, followed = self.loops or loops_of(tree), self.joints(tree)
        if sum(j.nv for j in followed) < loops.freedoms:
            raise UnsupportedError(
                f"robot {tree.name!r} has closed loops and fewer motors than freedoms, so its desired motion does not "
                "follow from the trajectory: use ComputedTorque, which uses the actual state"
            )
        error = tracking_error(tree, self.trajectory, t, q, v, followed)
        planned = completed(tree, loops, q, followed, desired_motion(tree, self.trajectory, t, followed))
        loads = sensed(tree, self.senses, t, planned[0], planned[1])
        forces, _ = newton_euler.inverse_dynamics(tree, *planned, tree.gravity, loads)
        push = spread(tree, followed, servo(error.position, error.velocity, self.kp, self.kd))
        shares = (left_to_motors(tree, loops, at, tau, "Feedforward") for at, tau in ((planned[0], forces), (q, push)))
        return [a + b for a, b in zip(*shares, strict=True)]

    def planned(self, tree: Model, t: Scalar, z: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """Return the whole desired state: driven joints by the trajectory, the others by ``z``."""
        driven, idle = tree.driven_joints, idle_joints(tree)
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
    """Return a joint's coordinates with the quaternion normalized, since integration drifts."""
    where_ = joint.kind.quaternion
    if where_ is None:
        return q
    own = q[where_]
    norm = sqrt(own[0] * own[0] + own[1] * own[1] + own[2] * own[2] + own[3] * own[3])
    return [x / norm if where_.start <= k < where_.stop else x for k, x in enumerate(q)]
