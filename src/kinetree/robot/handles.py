"""Inertia and acceleration at frames of a robot, and forces of motors and bearings.

Each method is one call into an algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.algorithm import check_frames
from ..algorithms.table import HANDLE_METHODS
from ..errors import OptionError, SingularError, refuse_unknown
from ..evaluation.wrenches import Wrenches
from ..spatial.arrays import Array, as_array
from .dynamics import Dynamics
from .kinematics import check_axes

NO_HOLD = 1e-12
"""A motor's power along one freedom below this fraction of that along another counts as zero."""


class HandleResponse(NamedTuple):
    """The acceleration of k frames of a robot under forces on them: ``a = inverse_inertia @ f + acceleration``."""

    inverse_inertia: Array  # (..., 6k, 6k)
    """Phi: blocks of 6x6, on the diagonal for the force on the frame itself, the others for forces on other frames."""
    acceleration: Array  # (..., 6k)
    """b: spatial accelerations without forces on the frames."""


class MotorForces(NamedTuple):
    """The shares of motor and bearings in the wrench that a joint transmits."""

    motor: Array  # (..., freedoms)
    """Q^a, in units of the given directions."""
    bearing: Array  # (..., 6)
    """Moment and force of the bearings on the body, in body axes at its origin; they do no work."""


class HandleMethods(Dynamics):
    """The part of :class:`kinetree.Robot` about inertia and forces at frames."""

    def operational_space_inertia(
        self, q: ArrayLike, frames: str | Sequence[str], axes: str = "body", *, inverse: bool = False,
        method: str = "factors",
    ) -> Array:  # fmt: skip
        """Return the operational-space inertia at one frame or several frames together.

        Parameters
        ----------
        frames : str or sequence of str
        axes : {"body", "world", "aligned"}
            As in :meth:`jacobian`.
        inverse : bool
            Whether to return ``J M^-1 J^T``, which exists even if its inverse does not.
        method : {"factors", "handles"}
            Use Jacobians and the factors of the mass matrix, or propagate accelerations of an articulated body from
            joint to joint (Featherstone section 9.5), which takes fewer operations on long chains.  Robots with
            followers always use factors.

        Returns
        -------
        ndarray, shape (..., 6k, 6k)
        """
        check_axes(axes)
        refuse_unknown("method of operational-space inertia", method, HANDLE_METHODS)
        names = self._handles(frames)
        held = SingularError(
            f"frames {', '.join(names)} cannot move freely in all {6 * len(names)} directions here, so their "
            "inertia is infinite in some; use inverse=True, or fewer frames"
        )
        freedoms = self.nv if self.loops is None else self.loops.choice.coordinates.freedoms
        if not inverse and freedoms < 6 * len(names):
            raise held
        options = {"frames": names, "axes": axes, "inverse": True, "method": method}
        if self.loops is not None:
            compliance = self.loops.forward.compliance(q, names, axes)
        else:
            self.evaluator.check_pivots()
            compliance = self.evaluator.run("operational_space_inertia", options, q=q)
        if inverse:
            return compliance
        finite = np.isfinite(compliance).all(axis=(-1, -2), keepdims=True)
        there = compliance[finite[..., 0, 0]]
        if there.size and np.any(np.linalg.cond(there) > 1e13):
            raise held
        if self.loops is None:
            return self.evaluator.run("operational_space_inertia", {**options, "inverse": False}, q=q)
        felt = np.linalg.inv(np.where(finite, compliance, np.eye(compliance.shape[-1])))
        return self.loops.prepared.handed_out(np.where(finite, felt, np.nan))

    def handle_response(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, frames: str | Sequence[str], wrenches: Wrenches = None, *,
        axes: str = "body",
    ) -> HandleResponse:  # fmt: skip
        """Return the response of frames to forces on them: the robot is an articulated body with these handles.

        Forces and moments f on the frames give the accelerations ``a = Phi f + b`` (Featherstone eq. 9.18).  Nothing
        else about the robot matters for what is attached to the handles: a load, a second robot, the ground.

        Parameters
        ----------
        q, v, tau, wrenches : array_like
            As in :meth:`forward_dynamics`.
        frames : str or sequence of str
            The handles.
        axes : {"body", "world", "aligned"}
            As in :meth:`jacobian` and :meth:`acceleration`, for forces and accelerations.

        Returns
        -------
        HandleResponse
            ``inverse_inertia`` (..., 6k, 6k) and ``acceleration`` (..., 6k).

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.Builder("mass").body("cart", "base", kt.Prismatic("x"), mass=2).build()
        >>> response = robot.handle_response([0.0], [0.0], [1.0], "cart")
        >>> float(response.inverse_inertia[3, 3]), float(response.acceleration[3])
        (0.5, 0.5)
        """
        names = self._handles(frames)
        if not names:
            raise OptionError("name at least one frame")
        phi = self.operational_space_inertia(q, names, axes, inverse=True, method="handles")
        a = self.forward_dynamics(q, v, tau, wrenches)
        b = np.concatenate([self.acceleration(q, v, a, name, axes) for name in names], axis=-1)
        return HandleResponse(np.array(np.broadcast_to(phi, (*b.shape[:-1], *phi.shape[-2:]))), b)

    def motor_forces(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, motors: Mapping[str, ArrayLike], wrenches: Wrenches = None
    ) -> dict[str, MotorForces]:
        """Return the forces of motors that do not act along their joints' freedoms, and what bearings then carry.

        A motor acts on its body by forces in some directions F, a column per freedom of the joint: an inclined
        cylinder, a belt on one side of a wheel.  Of the whole force f that the joint transmits, it supplies F Q^a with
        Q^a = (S^T F)^-1 S^T f, and the bearings supply the rest (Featherstone eq. 7.12-7.15).

        Parameters
        ----------
        q, v, a, wrenches
            As in :meth:`inverse_dynamics`.
        motors : mapping of str to array_like, shape (6,) or (6, freedoms)
            F of each joint: moment and force on its body, in body axes at the body's origin, per unit of the motor's.

        Returns
        -------
        dict of str to MotorForces

        Examples
        --------
        A slide that is pushed at 60 degrees needs twice the force, and its guide carries the lateral part.

        >>> import numpy as np
        >>> import kinetree as kt
        >>> cart = kt.Builder("cart", gravity=(0, 0, 0)).body("cart", "base", kt.Prismatic("x"), mass=3).build()
        >>> leaning = [0, 0, 0, np.cos(np.pi / 3), np.sin(np.pi / 3), 0]
        >>> found = cart.motor_forces([0.0], [0.0], [1.0], {"cart_joint": leaning})["cart_joint"]
        >>> print(found.motor.round(6), found.bearing.round(4) + 0.0)
        [6.] [ 0.      0.      0.      0.     -5.1962  0.    ]
        """
        whole = self.joint_wrenches(q, v, a, wrenches)
        subspaces = self.evaluator.run("joint_subspaces", q=q)
        starts = np.cumsum([0, *(link.kind.nv for link in self.model.links)])
        found = {}
        for name, given in motors.items():
            self.model.joint(name)
            body = self.joint_names.index(name)
            freedoms = subspaces[..., starts[body] : starts[body + 1], :]
            found[name] = _split_off(name, given, freedoms, whole[..., body, :])
        return found

    def _handles(self, frames: str | Sequence[str]) -> tuple[str, ...]:
        none = not isinstance(frames, str) and len(frames) == 0 and self.loops is None  # the joint's matrix has no rows
        return () if none else check_frames(self.model, frames)


def _split_off(name: str, directions: ArrayLike, freedoms: Array, whole: Array) -> MotorForces:
    """Share a joint's force between its motor and its bearings; ``freedoms`` (..., k, 6) are rows of S^T."""
    count = freedoms.shape[-2]
    given = np.asarray(directions, dtype=float)
    f = as_array(given[:, None] if given.ndim == 1 else given, (6, count), f"motors[{name!r}]", "a column per freedom")
    power = freedoms @ f
    sizes = np.linalg.svd(np.where(np.isfinite(power), power, 0.0), compute_uv=False)
    if np.any((sizes[..., -1] <= NO_HOLD * sizes[..., 0]) & np.isfinite(power).all(axis=(-1, -2))):
        raise SingularError(
            f"the motor of joint {name!r} does not act on one of its freedoms: the bearings take up its force. "
            "Give directions that move the joint"
        )
    motor = np.linalg.solve(np.where(np.isfinite(power), power, np.nan), freedoms @ whole[..., None])
    return MotorForces(motor[..., 0], whole - (f @ motor)[..., 0])
