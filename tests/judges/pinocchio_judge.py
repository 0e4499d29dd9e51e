"""Pinocchio as a judge.

What differs, and is translated here joint by joint and by joint name:

- Pinocchio puts linear before angular components, and a free joint's position before its
  quaternion; it writes an unbounded angle as (cos, sin).
- Its planar joint has q = (x, y, cos, sin) and velocities in body axes, and it knows only
  one of the twelve Euler sequences.  Such joints differ from ours by a change of
  velocities ``v_pin = T(q) v`` that varies with q, so accelerations also need ``T' v``.
- Its joints are numbered depth first.

Where Pinocchio itself cannot be trusted, measured against its own finite differences
with version 4.1:

- ``computeCoriolisMatrix``, ``computeJointJacobiansTimeVariation`` and ``dccrba`` leave out
  the apparent rate of the motion subspace for joints where it is not constant
  (JointModelSphericalZYX, JointModelUniversal, most composites; its issue 2053).  A judge
  built with ``chains=True`` puts a chain of single joints and massless links in their
  place, for which the three are right.
- ``computeCentroidalMapTimeVariation`` is wrong even for plain hinges; ``dccrba`` is right.
- ``computeKineticEnergy`` forgets the rotor inertia of revolute and helical joints with an
  unaligned axis, so rotors are added here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import kinetree as kt
from kinetree.model.joints import JointKind
from kinetree.model.parameters import OF_BODIES

from .pinocchio_joints import SWAP, Array, Counterpart, counterpart

PARAMETERS = ("M", "MX", "MY", "MZ", "XX", "XY", "YY", "XZ", "YZ", "ZZ")
"""Its order of the ten parameters of a body."""

FRAMES = {"body": pin.LOCAL, "world": pin.WORLD, "aligned": pin.LOCAL_WORLD_ALIGNED}


@dataclass(frozen=True)
class Part:
    """A body of a tree and the joint that carries it, described to both sides alike."""

    name: str
    parent: str | None
    kind: JointKind
    rotation: Array
    position: Array
    mass: float
    com: Array
    inertia: Array
    armature: tuple[float, ...] = ()
    tool: Any = field(default_factory=lambda: (np.eye(3), np.zeros(3)))
    """Rotation and position of a further frame on the body, named ``<name>_tool``."""


@dataclass(frozen=True)
class Seat:
    """Where one of our joints sits in Pinocchio's q and v."""

    joint: Any
    counterpart: Counterpart
    rows_q: list[int]
    rows_v: list[int]


def pinocchio_tree(parts: Sequence[Part], gravity: Array, *, chains: bool = False) -> Any:
    """The same tree in Pinocchio, joints added depth first as it wants them."""
    model = pin.Model()
    model.gravity = pin.Motion(np.array(gravity, dtype=float), np.zeros(3))
    armatures: list[tuple[int, float]] = []
    carriers: dict[str | None, tuple[int, Any]] = {None: (0, pin.SE3.Identity())}

    def add(part: Part) -> None:
        joint, offset = carriers[part.parent]
        place = offset * pin.SE3(part.rotation, part.position)
        if not isinstance(part.kind, kt.Fixed):
            other = counterpart(part.kind, chain=chains)
            for k, joint_model in enumerate(other.models):
                joint = model.addJoint(joint, joint_model, place, _link_name(f"{part.name}_joint", k, other))
                place = pin.SE3.Identity()
            armatures.extend(_rotor_rows(model, part, other))
        model.appendBodyToJoint(joint, pin.Inertia(part.mass, part.com, part.inertia), place)
        model.addFrame(pin.Frame(part.name, joint, 0, place, pin.FrameType.BODY))
        tool = place * pin.SE3(*part.tool)
        model.addFrame(pin.Frame(f"{part.name}_tool", joint, 0, tool, pin.FrameType.BODY))
        carriers[part.name] = (joint, place)
        for child in parts:
            if child.parent == part.name:
                add(child)

    for part in parts:
        if part.parent is None:
            add(part)
    armature = np.zeros(model.nv)
    for row, value in armatures:
        armature[row] = value
    model.armature = armature
    return model


def _link_name(joint: str, k: int, other: Counterpart) -> str:
    return joint if len(other.models) == 1 else f"{joint}/{k}"


def _rotor_rows(model: Any, part: Part, other: Counterpart) -> list[tuple[int, float]]:
    """Which entries of Pinocchio's v turn the rotors of a joint just added."""
    rows = list(range(model.nv - part.kind.nv, model.nv))
    tangent = np.eye(part.kind.nv) if other.tangent is None else other.tangent(np.zeros(part.kind.nq))
    pairs = []
    for k, value in enumerate(part.armature):
        if value:
            assert other.rotors[k], f"Pinocchio cannot express rotor {k} of {part.kind}"
            pairs.append((rows[int(np.argmax(np.abs(tangent[:, k])))], value))
    return pairs


class PinocchioJudge:
    """Answers for batches of states, in kinetree's coordinates and conventions.

    Parameters
    ----------
    robot : kt.Robot
        Only its names, kinds and layout of coordinates are used.
    model : pin.Model
    chains : bool
        Whether ``model`` has chains of single joints for compound joints.
    aliases : dict
        Pinocchio's names of joints that are called otherwise there.
    """

    def __init__(
        self, robot: kt.Robot, model: Any, *, chains: bool = False, aliases: dict[str, str] | None = None
    ) -> None:
        self.robot, self.model, self.data = robot, model, model.createData()
        self.bare = model.copy()
        self.bare.armature = np.zeros(model.nv)
        self.seats: list[Seat] = []
        self.carrier: list[int] = []
        for joint in robot.model.joints:
            other = counterpart(joint.kind, chain=chains)
            name = (aliases or {}).get(joint.name, joint.name)
            ids = [self._joint_id(_link_name(name, k, other)) for k in range(len(other.models))]
            self.carrier.append(ids[-1])
            if joint.mimic is None:
                rows_q = [r for i in ids for r in range(model.idx_qs[i], model.idx_qs[i] + model.nqs[i])]
                rows_v = [r for i in ids for r in range(model.idx_vs[i], model.idx_vs[i] + model.nvs[i])]
                self.seats.append(Seat(joint, other, rows_q, rows_v))
        assert sum(len(s.rows_v) for s in self.seats) == model.nv, "Pinocchio has joints that kinetree has not"
        assert robot.nv == model.nv

    @classmethod
    def of_tree(cls, robot: kt.Robot, parts: Sequence[Part], *, chains: bool = False) -> PinocchioJudge:
        """For a tree described by parts."""
        return cls(robot, pinocchio_tree(parts, robot.gravity, chains=chains), chains=chains)

    @classmethod
    def of_urdf(
        cls, robot: kt.Robot, path: Path, *, floating_base: bool = False, mimic: bool = False
    ) -> PinocchioJudge:
        """For a file that Pinocchio reads itself; gravity is the robot's."""
        arguments = (str(path), pin.JointModelFreeFlyer()) if floating_base else (str(path),)
        model = pin.buildModelFromUrdf(*arguments, mimic=mimic)
        model.gravity = pin.Motion(robot.gravity, np.zeros(3))
        aliases = {robot.joint_names[0]: "root_joint"} if floating_base else {}
        judge = cls(robot, model, aliases=aliases)
        for seat in judge.seats:
            if seat.joint.nv == 1:
                model.armature[seat.rows_v] = seat.joint.armature
        return judge

    def _joint_id(self, name: str) -> int:
        assert self.model.existJointName(name), f"Pinocchio has no joint {name!r}: {list(self.model.names)}"
        return self.model.getJointId(name)

    def _frame_id(self, name: str) -> int:
        assert self.has_frame(name), f"Pinocchio has no body frame {name!r}"
        return self.model.getFrameId(name, pin.FrameType.BODY)

    def has_frame(self, name: str) -> bool:
        """Whether Pinocchio knows a body of this name, welded ones included."""
        return self.model.existFrame(name, pin.FrameType.BODY)

    def frame_names(self) -> list[str]:
        """Every body that Pinocchio knows."""
        return [f.name for f in self.model.frames if f.type == pin.FrameType.BODY]

    # Coordinates of one state

    def position(self, q: Array) -> Array:
        """Pinocchio's q."""
        theirs = np.full(self.model.nq, np.nan)
        for seat in self.seats:
            theirs[seat.rows_q] = seat.counterpart.position(q[seat.joint.q_slice])
        return theirs

    def tangent(self, q: Array) -> Array:
        """T with ``v_pin = T v``."""
        total = np.zeros((self.model.nv, self.robot.nv))
        for seat in self.seats:
            block = np.eye(len(seat.rows_v))
            if seat.counterpart.tangent is not None:
                block = seat.counterpart.tangent(q[seat.joint.q_slice])
            total[seat.rows_v, seat.joint.v_slice] = block
        return total

    def tangent_rate(self, q: Array, v: Array) -> Array:
        """The time derivative of T, by a complex step (exact to rounding; q' = v where T varies)."""
        total = np.zeros((self.model.nv, self.robot.nv))
        step = 1e-30
        for seat in self.seats:
            if not seat.counterpart.constant:
                moved = q[seat.joint.q_slice] + 1j * step * v[seat.joint.v_slice]
                total[seat.rows_v, seat.joint.v_slice] = seat.counterpart.tangent(moved).imag / step
        return total

    @property
    def integrates_alike(self) -> bool:
        """Whether constant velocity means the same on both sides for every joint."""
        return all(seat.counterpart.constant for seat in self.seats)

    def _forces(self, wrenches: Array | None) -> Any:
        """One force per Pinocchio joint from one row (moment, force) per body."""
        forces = pin.StdVec_Force()
        rows = [np.zeros(6)] * self.model.njoints
        if wrenches is not None:
            for carrier, wrench in zip(self.carrier, wrenches, strict=True):
                rows[carrier] = wrench[SWAP]
        for row in rows:
            forces.append(pin.Force(row))
        return forces

    # Configurations

    def neutral(self) -> Array:
        """Pinocchio's own neutral configuration, in its own coordinates."""
        return pin.neutral(self.model)

    def positions(self, q: Array) -> Array:
        """Pinocchio's q for a batch."""
        return np.stack([self.position(x) for x in q])

    def integrate(self, q: Array, v: Array) -> Array:
        """The configuration reached, in Pinocchio's coordinates."""
        return np.stack(
            [pin.integrate(self.model, self.position(x), self.tangent(x) @ u) for x, u in zip(q, v, strict=True)]
        )

    def difference(self, q0: Array, q1: Array) -> Array:
        """The velocity from one configuration to the other."""
        return np.stack(
            [
                self.tangent(x).T @ pin.difference(self.model, self.position(x), self.position(y))
                for x, y in zip(q0, q1, strict=True)
            ]
        )

    # Dynamics

    def inverse_dynamics(self, q: Array, v: Array, a: Array, wrenches: Array | None = None) -> Array:
        """Joint forces, by RNEA."""
        rows = []
        for i, (x, u, w) in enumerate(zip(q, v, a, strict=True)):
            t = self.tangent(x)
            loads = self._forces(None if wrenches is None else wrenches[i])
            acceleration = t @ w + self.tangent_rate(x, u) @ u
            rows.append(t.T @ pin.rnea(self.model, self.data, self.position(x), t @ u, acceleration, loads))
        return np.stack(rows)

    def regressor(self, q: Array, v: Array, a: Array) -> Array:
        """Joint forces per unit of the ten parameters of each of our bodies, in the order of our table."""
        order = [PARAMETERS.index(symbol) for symbol in OF_BODIES]
        columns = [10 * (carrier - 1) + k for carrier in self.carrier for k in order]
        rows = []
        for x, u, w in zip(q, v, a, strict=True):
            t = self.tangent(x)
            acceleration = t @ w + self.tangent_rate(x, u) @ u
            theirs = pin.computeJointTorqueRegressor(self.model, self.data, self.position(x), t @ u, acceleration)
            rows.append(t.T @ theirs[:, columns])
        return np.stack(rows)

    def joint_wrenches(self, q: Array, v: Array, a: Array, wrenches: Array | None = None) -> Array:
        """What every joint passes to its body, moment first."""
        rows = []
        for i in range(len(q)):
            self.inverse_dynamics(
                q[i : i + 1], v[i : i + 1], a[i : i + 1], None if wrenches is None else wrenches[i : i + 1]
            )
            rows.append([self.data.f[k].vector[SWAP] for k in self.carrier])
        return np.array(rows)

    def forward_dynamics(self, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
        """Accelerations, by ABA."""
        rows = []
        for i, (x, u, f) in enumerate(zip(q, v, tau, strict=True)):
            t = self.tangent(x)
            inverse = np.linalg.inv(t)
            loads = self._forces(None if wrenches is None else wrenches[i])
            theirs = pin.aba(self.model, self.data, self.position(x), t @ u, inverse.T @ f, loads)
            rows.append(inverse @ (theirs - self.tangent_rate(x, u) @ u))
        return np.stack(rows)

    def mass_matrix(self, q: Array) -> Array:
        """By composite rigid bodies."""
        return np.stack([self.tangent(x).T @ self._mass_matrix(x) @ self.tangent(x) for x in q])

    def _mass_matrix(self, q: Array) -> Array:
        return _symmetric(pin.crba(self.model, self.data, self.position(q)))

    def inverse_mass_matrix(self, q: Array) -> Array:
        """By its own recursion, not by inverting."""
        rows = []
        for x in q:
            inverse = np.linalg.inv(self.tangent(x))
            rows.append(inverse @ _symmetric(pin.computeMinverse(self.model, self.data, self.position(x))) @ inverse.T)
        return np.stack(rows)

    def coriolis_matrix(self, q: Array, v: Array) -> Array:
        """C = T^T (C_pin T + M_pin T')."""
        rows = []
        for x, u in zip(q, v, strict=True):
            t = self.tangent(x)
            c = pin.computeCoriolisMatrix(self.model, self.data, self.position(x), t @ u).copy()
            rows.append(t.T @ (c @ t + self._mass_matrix(x) @ self.tangent_rate(x, u)))
        return np.stack(rows)

    def bias_force(self, q: Array, v: Array) -> Array:
        """Velocity terms and gravity."""
        rows = []
        for x, u in zip(q, v, strict=True):
            t = self.tangent(x)
            theirs = pin.nonLinearEffects(self.model, self.data, self.position(x), t @ u).copy()
            rows.append(t.T @ (theirs + self._mass_matrix(x) @ self.tangent_rate(x, u) @ u))
        return np.stack(rows)

    def gravity_force(self, q: Array) -> Array:
        """Generalized gravity."""
        return np.stack(
            [self.tangent(x).T @ pin.computeGeneralizedGravity(self.model, self.data, self.position(x)) for x in q]
        )

    def kinetic_energy(self, q: Array, v: Array) -> Array:
        """Of the bodies by Pinocchio; of the rotors by hand, see the module's head."""
        rows = []
        for x, u in zip(q, v, strict=True):
            theirs = self.tangent(x) @ u
            bodies = pin.computeKineticEnergy(self.bare, self.data, self.position(x), theirs)
            rows.append(bodies + 0.5 * np.sum(self.model.armature * theirs**2))
        return np.array(rows)

    def potential_energy(self, q: Array) -> Array:
        """Of gravity."""
        return np.array([pin.computePotentialEnergy(self.model, self.data, self.position(x)) for x in q])

    # Kinematics

    def pose(self, q: Array, frame: str) -> Array:
        """Homogeneous matrices of a frame."""
        rows, k = [], self._frame_id(frame)
        for x in q:
            pin.framesForwardKinematics(self.model, self.data, self.position(x))
            rows.append(self.data.oMf[k].homogeneous.copy())
        return np.stack(rows)

    def jacobian(self, q: Array, frame: str, axes: str) -> Array:
        """Frame Jacobians, angular rows first."""
        rows, k = [], self._frame_id(frame)
        for x in q:
            theirs = pin.computeFrameJacobian(self.model, self.data, self.position(x), k, FRAMES[axes])
            rows.append(_six_rows(theirs) @ self.tangent(x))
        return np.stack(rows)

    def jacobian_rate(self, q: Array, v: Array, frame: str, axes: str) -> Array:
        """J' = J_pin' T + J_pin T'."""
        rows, k = [], self._frame_id(frame)
        for x, u in zip(q, v, strict=True):
            t, theirs = self.tangent(x), self.position(x)
            pin.computeJointJacobiansTimeVariation(self.model, self.data, theirs, t @ u)
            pin.updateFramePlacements(self.model, self.data)
            rate = pin.getFrameJacobianTimeVariation(self.model, self.data, k, FRAMES[axes])
            plain = pin.getFrameJacobian(self.model, self.data, k, FRAMES[axes])
            rows.append(_six_rows(rate) @ t + _six_rows(plain) @ self.tangent_rate(x, u))
        return np.stack(rows)

    def _move(self, q: Array, v: Array, a: Array) -> None:
        t = self.tangent(q)
        acceleration = t @ a + self.tangent_rate(q, v) @ v
        pin.forwardKinematics(self.model, self.data, self.position(q), t @ v, acceleration)

    def velocity(self, q: Array, v: Array, frame: str, axes: str) -> Array:
        """Of a frame."""
        rows, k = [], self._frame_id(frame)
        for x, u in zip(q, v, strict=True):
            self._move(x, u, 0 * u)
            rows.append(pin.getFrameVelocity(self.model, self.data, k, FRAMES[axes]).vector[SWAP])
        return np.stack(rows)

    def acceleration(self, q: Array, v: Array, a: Array, frame: str, axes: str, *, classical: bool) -> Array:
        """Of a frame, spatial or classical."""
        rows, k = [], self._frame_id(frame)
        ask = pin.getFrameClassicalAcceleration if classical else pin.getFrameAcceleration
        for x, u, w in zip(q, v, a, strict=True):
            self._move(x, u, w)
            rows.append(ask(self.model, self.data, k, FRAMES[axes]).vector[SWAP])
        return np.stack(rows)

    # The whole robot

    def mass(self) -> float:
        """Of all moving bodies."""
        return pin.computeTotalMass(self.model)

    def center_of_mass(self, q: Array) -> Array:
        """In the world."""
        return np.stack([pin.centerOfMass(self.model, self.data, self.position(x)).copy() for x in q])

    def center_of_mass_velocity(self, q: Array, v: Array) -> Array:
        """In the world."""
        rows = []
        for x, u in zip(q, v, strict=True):
            pin.centerOfMass(self.model, self.data, self.position(x), self.tangent(x) @ u)
            rows.append(self.data.vcom[0].copy())
        return np.stack(rows)

    def momentum(self, q: Array, v: Array) -> Array:
        """About the center of mass."""
        rows = []
        for x, u in zip(q, v, strict=True):
            h = pin.computeCentroidalMomentum(self.model, self.data, self.position(x), self.tangent(x) @ u)
            rows.append(h.vector[SWAP])
        return np.stack(rows)

    def momentum_rate(self, q: Array, v: Array, a: Array) -> Array:
        """About the center of mass."""
        rows = []
        for x, u, w in zip(q, v, a, strict=True):
            t = self.tangent(x)
            acceleration = t @ w + self.tangent_rate(x, u) @ u
            rate = pin.computeCentroidalMomentumTimeVariation(
                self.model, self.data, self.position(x), t @ u, acceleration
            )
            rows.append(rate.vector[SWAP])
        return np.stack(rows)

    def centroidal_momentum_matrix(self, q: Array) -> Array:
        """A with momentum = A v."""
        rows = []
        for x in q:
            theirs = pin.computeCentroidalMap(self.model, self.data, self.position(x))
            rows.append(_six_rows(theirs) @ self.tangent(x))
        return np.stack(rows)

    def centroidal_momentum_matrix_rate(self, q: Array, v: Array) -> Array:
        """A' = A_pin' T + A_pin T'."""
        rows = []
        for x, u in zip(q, v, strict=True):
            t, theirs = self.tangent(x), self.position(x)
            rate = pin.dccrba(self.model, self.data, theirs, t @ u)
            rows.append(_six_rows(rate) @ t + _six_rows(self.data.Ag) @ self.tangent_rate(x, u))
        return np.stack(rows)


def _symmetric(upper: Array) -> Array:
    """Pinocchio fills only the upper triangle."""
    return np.triu(upper) + np.triu(upper, 1).T


def _six_rows(matrix: Array) -> Array:
    """A 6 x nv matrix, angular rows first; with one degree of freedom Pinocchio returns a vector."""
    return np.reshape(matrix, (6, -1))[SWAP]
