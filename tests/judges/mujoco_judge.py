"""MuJoCo as a judge.

What differs: quaternions are w, x, y, z; a free joint has its position first, and its
velocity is that of the origin along world axes, then the angular velocity in body axes;
external wrenches act at centers of mass along world axes; damping is part of the
dynamics, not an option.  Contacts, limits and all other constraints are switched off.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import kinetree as kt

Array = np.ndarray

WXYZ = [3, 0, 1, 2]
"""From x, y, z, w to w, x, y, z."""


def without_geometry(urdf: Path) -> str:
    """A URDF without what may refer to meshes; dynamics need none of it."""
    text = urdf.read_text()
    for tag in ("visual", "collision"):
        text = re.sub(rf"<{tag}\b[^>]*/>|<{tag}\b.*?</{tag}>", "", text, flags=re.DOTALL)
    return text


def urdf_spec(urdf: Path, *, floating_base: bool = False) -> Any:
    """MuJoCo's own reading of a URDF, before it is compiled."""
    spec = mujoco.MjSpec.from_string(without_geometry(urdf))
    if floating_base:
        spec.bodies[1].add_freejoint(name="floating_base")
    return spec


@dataclass(frozen=True)
class Seat:
    """Where one of our joints sits in MuJoCo's qpos and qvel."""

    joint: Any
    qpos: slice
    qvel: slice


class MujocoJudge:
    """Answers for batches of states, in kinetree's coordinates and conventions.

    Parameters
    ----------
    robot : kt.Robot
        Only its names, kinds and layout of coordinates are used.
    model : mujoco.MjModel
    """

    def __init__(self, robot: kt.Robot, model: Any) -> None:
        self.robot, self.model = robot, model
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_ACTUATION
        model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
        model.opt.gravity[:] = robot.gravity
        self.data = mujoco.MjData(model)
        self.seats = []
        for joint in robot.model.joints:
            k = self._joint_id(joint)
            q, v = int(model.jnt_qposadr[k]), int(model.jnt_dofadr[k])
            self.seats.append(Seat(joint, slice(q, q + joint.nq), slice(v, v + joint.nv)))
        assert robot.nv == model.nv

    def _joint_id(self, joint: Any) -> int:
        """By name; a free base by its kind, since readers give it names of their own."""
        if isinstance(joint.kind, kt.Free):
            (k,) = np.flatnonzero(self.model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
            return int(k)
        k = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, joint.name)
        assert k >= 0, f"MuJoCo has no joint {joint.name!r}"
        return k

    # Coordinates of one state

    def position(self, q: Array) -> Array:
        """MuJoCo's qpos."""
        theirs = np.full(self.model.nq, np.nan)
        for seat in self.seats:
            own = q[seat.joint.q_slice]
            if isinstance(seat.joint.kind, kt.Free):
                own = np.concatenate([own[4:], own[:4][WXYZ]])
            elif isinstance(seat.joint.kind, kt.Spherical):
                own = own[WXYZ]
            theirs[seat.qpos] = own
        return theirs

    def tangent(self, q: Array) -> Array:
        """T with ``qvel = T v``."""
        total = np.zeros((self.model.nv, self.robot.nv))
        for seat in self.seats:
            block = np.eye(seat.joint.nv)
            if isinstance(seat.joint.kind, kt.Free):
                block = np.zeros((6, 6))
                block[:3, 3:] = _rotation(q[seat.joint.q_slice][:4])
                block[3:, :3] = np.eye(3)
            total[seat.qvel, seat.joint.v_slice] = block
        return total

    def tangent_rate(self, q: Array, v: Array) -> Array:
        """The time derivative of T: the axes of a free body's velocity turn with it."""
        total = np.zeros((self.model.nv, self.robot.nv))
        for seat in self.seats:
            if isinstance(seat.joint.kind, kt.Free):
                block = np.zeros((6, 6))
                x, y, z = v[seat.joint.v_slice][:3]
                turning = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
                block[:3, 3:] = _rotation(q[seat.joint.q_slice][:4]) @ turning
                total[seat.qvel, seat.joint.v_slice] = block
        return total

    def _set(self, q: Array, v: Array) -> Array:
        """Put a state into ``data``; returns T."""
        t = self.tangent(q)
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = self.position(q), t @ v
        return t

    # Dynamics

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        """Joint forces, damping included."""
        rows = []
        for x, u, w in zip(q, v, a, strict=True):
            t = self._set(x, u)
            self.data.qacc[:] = t @ w + self.tangent_rate(x, u) @ u
            mujoco.mj_inverse(self.model, self.data)
            rows.append(t.T @ self.data.qfrc_inverse)
        return np.stack(rows)

    def forward_dynamics(self, q: Array, v: Array, tau: Array, pushes: dict[str, Array] | None = None) -> Array:
        """Accelerations, damping included; ``pushes`` are force and moment at a body's center in world axes."""
        rows = []
        for i, (x, u, f) in enumerate(zip(q, v, tau, strict=True)):
            t = self._set(x, u)
            self.data.qfrc_applied[:] = np.linalg.solve(t.T, f)
            for body, push in (pushes or {}).items():
                self.data.xfrc_applied[self.model.body(body).id] = push[i]
            mujoco.mj_forward(self.model, self.data)
            rows.append(np.linalg.solve(t, self.data.qacc - self.tangent_rate(x, u) @ u))
        return np.stack(rows)

    def mass_matrix(self, q: Array) -> Array:
        """Armature included."""
        rows = []
        for x in q:
            t = self._set(x, np.zeros(self.robot.nv))
            mujoco.mj_forward(self.model, self.data)
            full = np.zeros((self.model.nv, self.model.nv))
            mujoco.mj_fullM(self.model, self.data, full)
            rows.append(t.T @ full @ t)
        return np.stack(rows)

    def bias_force(self, q: Array, v: Array) -> Array:
        """Velocity terms and gravity, without damping."""
        rows = []
        for x, u, mass in zip(q, v, self.mass_matrix(q), strict=True):
            t = self._set(x, u)
            mujoco.mj_forward(self.model, self.data)
            turning = np.linalg.solve(t, self.tangent_rate(x, u) @ u)
            rows.append(t.T @ self.data.qfrc_bias + mass @ turning)
        return np.stack(rows)

    def energies(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Kinetic and potential energy."""
        rows = []
        for x, u in zip(q, v, strict=True):
            self._set(x, u)
            mujoco.mj_forward(self.model, self.data)
            rows.append(self.data.energy.copy())
        energies = np.array(rows)
        return energies[:, 1], energies[:, 0]

    # Kinematics

    def pose(self, q: Array, body: str) -> Array:
        """Homogeneous matrices of a body."""
        rows = []
        for x in q:
            self._set(x, np.zeros(self.robot.nv))
            mujoco.mj_kinematics(self.model, self.data)
            here = self.data.body(body)
            m = np.eye(4)
            m[:3, :3], m[:3, 3] = here.xmat.reshape(3, 3), here.xpos
            rows.append(m)
        return np.stack(rows)

    def body_center(self, q: Array, body: str) -> Array:
        """World coordinates of a body's center of mass."""
        rows = []
        for x in q:
            self._set(x, np.zeros(self.robot.nv))
            mujoco.mj_kinematics(self.model, self.data)
            rows.append(self.data.body(body).xipos.copy())
        return np.stack(rows)

    def jacobian(self, q: Array, body: str) -> Array:
        """Of a body's origin along world axes, angular rows first."""
        rows = []
        for x in q:
            t = self._set(x, np.zeros(self.robot.nv))
            mujoco.mj_forward(self.model, self.data)
            linear, angular = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
            mujoco.mj_jacBody(self.model, self.data, linear, angular, self.model.body(body).id)
            rows.append(np.concatenate([angular, linear]) @ t)
        return np.stack(rows)

    def momentum(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Center of mass, and the momentum about it."""
        centers, momenta = [], []
        for x, u in zip(q, v, strict=True):
            self._set(x, u)
            mujoco.mj_forward(self.model, self.data)
            mujoco.mj_subtreeVel(self.model, self.data)
            linear = self.data.subtree_linvel[0] * self.model.body_subtreemass[0]
            centers.append(self.data.subtree_com[0].copy())
            momenta.append(np.concatenate([self.data.subtree_angmom[0], linear]))
        return np.stack(centers), np.stack(momenta)


def _rotation(quaternion: Array) -> Array:
    nine = np.zeros(9)
    mujoco.mju_quat2Mat(nine, quaternion[WXYZ])
    return nine.reshape(3, 3)
