"""The questions that are put to a robot and to its judge, over a batch of states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import kinetree as kt
from kinetree.model.tree import Joint

from . import SOLVED, agree, size
from .pinocchio_judge import PinocchioJudge

Array = np.ndarray


@dataclass(frozen=True)
class States:
    """A batch of states, everything with the batch in front."""

    q: Array
    v: Array
    a: Array
    tau: Array
    wrenches: Array
    """Moment and force on every body, in body axes at the body's origin."""

    @classmethod
    def draw(cls, robot: kt.Robot, rng: np.random.Generator, count: int, q: Array | None = None) -> States:
        """Random states; wrenches and torques of the size of the robot's weight."""
        weight = robot.mass * 9.81
        return cls(
            robot.random_configuration(rng, count) if q is None else q,
            rng.standard_normal((count, robot.nv)),
            rng.standard_normal((count, robot.nv)),
            rng.standard_normal((count, robot.nv)) * weight / 3,
            rng.standard_normal((count, len(robot.body_names), 6)) * weight / 3,
        )


def compare_dynamics(robot: kt.Robot, judge: PinocchioJudge, s: States) -> None:
    """Forces, accelerations, matrices and energies."""
    q, v, a = s.q, s.v, s.a
    tau = judge.inverse_dynamics(q, v, a, s.wrenches)
    agree("inverse dynamics", robot.inverse_dynamics(q, v, a, s.wrenches), tau)
    agree("joint wrenches", robot.joint_wrenches(q, v, a, s.wrenches), judge.joint_wrenches(q, v, a, s.wrenches))
    agree(
        "forward dynamics",
        robot.forward_dynamics(q, v, s.tau, s.wrenches),
        judge.forward_dynamics(q, v, s.tau, s.wrenches),
        tolerance=SOLVED,
    )
    mass = judge.mass_matrix(q)
    agree("mass matrix", robot.mass_matrix(q), mass)
    agree("inverse mass matrix", robot.inverse_mass_matrix(q), judge.inverse_mass_matrix(q), tolerance=SOLVED)
    gravity = judge.gravity_force(q)
    weight = robot.mass * np.linalg.norm(robot.gravity)
    # Of a single hinge nothing may be left: there the terms that cancel set the scale.
    products = size(mass) * size(v) ** 2
    bias = judge.bias_force(q, v)
    agree("bias force", robot.bias_force(q, v), bias, products)
    agree("gravity force", robot.gravity_force(q), gravity, 1e-3 * weight)
    agree("kinetic energy", robot.kinetic_energy(q, v), judge.kinetic_energy(q, v))
    agree("potential energy", robot.potential_energy(q), judge.potential_energy(q), 1e-3 * weight)


def compare_coriolis(robot: kt.Robot, judge: PinocchioJudge, s: States) -> None:
    """The Coriolis matrix, entry by entry, and the velocity forces it gives."""
    q, v = s.q, s.v
    scale = size(judge.mass_matrix(q)) * size(v)
    matrix = robot.coriolis_matrix(q, v)
    agree("Coriolis matrix", matrix, judge.coriolis_matrix(q, v), scale)
    forces = judge.bias_force(q, v) - judge.gravity_force(q)
    agree(
        "Coriolis force",
        np.einsum("bij,bj->bi", matrix, v),
        forces,
        np.maximum(scale * size(v), size(judge.gravity_force(q))),
    )


def compare_frame(robot: kt.Robot, judge: PinocchioJudge, s: States, frame: str) -> None:
    """Pose, Jacobians, velocities and accelerations of one frame."""
    q, v, a = s.q, s.v, s.a
    agree("pose", robot.pose(q, frame), judge.pose(q, frame))
    for axes in ("body", "world", "aligned"):
        agree(f"Jacobian, {axes}", robot.jacobian(q, frame, axes), judge.jacobian(q, frame, axes))
        agree(f"velocity, {axes}", robot.velocity(q, v, frame, axes), judge.velocity(q, v, frame, axes))
        expected = judge.acceleration(q, v, a, frame, axes, classical=False)
        agree(f"acceleration, {axes}", robot.acceleration(q, v, a, frame, axes), expected)
        if axes != "world":
            actual = robot.acceleration(q, v, a, frame, axes, classical=True)
            expected = judge.acceleration(q, v, a, frame, axes, classical=True)
            agree(f"classical acceleration, {axes}", actual, expected)


def compare_jacobian_rates(robot: kt.Robot, judge: PinocchioJudge, s: States, frame: str) -> None:
    """Time derivatives of a frame's Jacobians."""
    for axes in ("body", "world", "aligned"):
        scale = size(judge.jacobian(s.q, frame, axes)) * size(s.v)
        actual = robot.jacobian_rate(s.q, s.v, frame, axes)
        agree(f"Jacobian rate, {axes}", actual, judge.jacobian_rate(s.q, s.v, frame, axes), scale)


def compare_centroid(robot: kt.Robot, judge: PinocchioJudge, s: States) -> None:
    """Center of mass and momentum of the whole robot."""
    q, v, a = s.q, s.v, s.a
    matrix = judge.centroidal_momentum_matrix(q)
    scale = size(matrix) * size(v)
    agree("total mass", np.array([robot.mass]), np.array([judge.mass()]))
    com, com_velocity = judge.center_of_mass(q), judge.center_of_mass_velocity(q, v)
    agree("center of mass", robot.center_of_mass(q), com)
    agree("velocity of the center of mass", robot.center_of_mass_velocity(q, v), com_velocity, scale / robot.mass)
    momentum = judge.momentum(q, v)
    agree("centroidal momentum", robot.momentum(q, v), momentum, scale)
    moment = momentum[:, :3] + np.cross(com, momentum[:, 3:])
    about_origin = np.concatenate([moment, momentum[:, 3:]], axis=-1)
    agree("momentum about the origin", robot.momentum(q, v, about="origin"), about_origin, scale)
    agree("centroidal momentum matrix", robot.centroidal_momentum_matrix(q), matrix)
    agree("momentum rate", robot.momentum_rate(q, v, a), judge.momentum_rate(q, v, a), scale)
    drift = judge.momentum_rate(q, v, 0 * a)
    agree("centroidal momentum drift", robot.centroidal_momentum_drift(q, v), drift, scale * size(v))


def compare_centroidal_rate(robot: kt.Robot, judge: PinocchioJudge, s: States) -> None:
    """Time derivative of the centroidal momentum matrix."""
    scale = size(judge.centroidal_momentum_matrix(s.q)) * size(s.v)
    actual = robot.centroidal_momentum_matrix_rate(s.q, s.v)
    agree("centroidal momentum matrix rate", actual, judge.centroidal_momentum_matrix_rate(s.q, s.v), scale)


def compare_configurations(robot: kt.Robot, judge: PinocchioJudge, s: States, other_q: Array) -> None:
    """Neutral configuration, integration and difference, where both sides mean the same."""
    agree("neutral", judge.positions(robot.neutral()[None]), judge.neutral()[None])
    agree(
        "integrate",
        _signed(judge, judge.positions(robot.integrate(s.q, s.v))),
        _signed(judge, judge.integrate(s.q, s.v)),
    )
    # Pinocchio takes the shorter way round an unbounded hinge; our angle is never wrapped.
    unbounded = [k for j in robot.model.joints if isinstance(j.kind, kt.Continuous) for k in _rows(j)]
    actual, expected = robot.difference(s.q, other_q), judge.difference(s.q, other_q)
    turns = np.round((actual - expected) / (2 * np.pi))
    assert not np.delete(turns, unbounded, axis=-1).any()
    agree("difference", actual - 2 * np.pi * turns, expected)


def _rows(joint: Joint) -> range:
    return range(joint.v_slice.start, joint.v_slice.stop)


def _signed(judge: PinocchioJudge, q: Array) -> Array:
    """Of the two quaternions of a rotation the one with positive w."""
    q = np.array(q)
    for seat in judge.seats:
        if seat.joint.kind.quaternion is not None:
            rows = seat.rows_q[-4:]
            q[:, rows] *= np.where(q[:, rows[-1:]] < 0, -1.0, 1.0)
    return q


def compare_pushes(robot: kt.Robot, judge: PinocchioJudge, s: States, frame: str, rng: np.random.Generator) -> None:
    """Wrenches on a frame at any point, in body or world axes as it happens, twice at once, and as bare arrays."""
    count = len(s.q)
    force, moment, point = rng.standard_normal((3, count, 3)) * np.array([30.0, 10.0, 0.5])[:, None, None]
    pose = judge.pose(s.q, frame)
    rotation, origin = pose[:, :3, :3], pose[:, :3, 3]
    carrier = robot.frame(frame).body
    axes, point_axes = (str(x) for x in rng.choice(["body", "world"], 2))
    push = kt.Wrench(force, moment, point, axes=axes, point_axes=point_axes)
    in_world = [_turned(rotation, x) if axes == "body" else x for x in (force, moment)]
    at = origin + _turned(rotation, point) if point_axes == "body" else point
    loads = _on_carrier(robot, judge, s.q, carrier, *in_world, at)
    expected = judge.inverse_dynamics(s.q, s.v, s.a, loads)
    agree("wrench on a frame", robot.inverse_dynamics(s.q, s.v, s.a, {frame: push}), expected)
    expected = judge.forward_dynamics(s.q, s.v, s.tau, 2 * loads)
    agree(
        "wrenches on a frame",
        robot.forward_dynamics(s.q, s.v, s.tau, {frame: [push, push]}),
        expected,
        tolerance=SOLVED,
    )
    plain = np.concatenate([moment, force], axis=-1)
    loads = _on_carrier(robot, judge, s.q, carrier, _turned(rotation, force), _turned(rotation, moment), origin)
    expected = judge.inverse_dynamics(s.q, s.v, s.a, loads)
    agree("wrench as an array", robot.inverse_dynamics(s.q, s.v, s.a, {frame: plain}), expected)


def _on_carrier(
    robot: kt.Robot, judge: PinocchioJudge, q: Array, carrier: int, force: Array, moment: Array, at: Array
) -> Array:
    """A load in world axes at a world point, as one row per body in body axes at the body's origin."""
    pose = judge.pose(q, robot.body_names[carrier])
    moment = moment + np.cross(at - pose[:, :3, 3], force)
    back = np.swapaxes(pose[:, :3, :3], -1, -2)
    loads = np.zeros((len(q), len(robot.body_names), 6))
    loads[:, carrier] = np.concatenate([_turned(back, moment), _turned(back, force)], axis=-1)
    return loads


def _turned(rotation: Array, x: Array) -> Array:
    return np.einsum("bij,bj->bi", rotation, x)


def compare_mixed_dynamics(robot: kt.Robot, judge: PinocchioJudge, s: States, rng: np.random.Generator) -> None:
    """Hybrid dynamics with a random half of the joints prescribed: Pinocchio confirms the forces."""
    joints = [j for j in robot.model.joints if not j.mimic]
    prescribed = {j.name: s.a[:, j.v_slice] for j in joints if rng.random() < 0.5}
    driven = {j.name: s.tau[:, j.v_slice] for j in joints if j.name not in prescribed}
    a, tau = robot.hybrid_dynamics(s.q, s.v, a=prescribed, tau=driven, wrenches=s.wrenches)
    agree("hybrid dynamics", tau, judge.inverse_dynamics(s.q, s.v, a, s.wrenches), tolerance=SOLVED)
    for j in joints:
        given, found = (s.a, a) if j.name in prescribed else (s.tau, tau)
        np.testing.assert_array_equal(found[:, j.v_slice], given[:, j.v_slice])


def compare_floating_base(robot: kt.Robot, judge: PinocchioJudge, s: States) -> None:
    """Base acceleration and joint forces from joint accelerations: Pinocchio finds nothing pushing the base."""
    base, tau = robot.floating_base_inverse_dynamics(s.q, s.v, s.a[:, 6:], s.wrenches)
    a = np.concatenate([base, s.a[:, 6:]], axis=-1)
    expected = judge.inverse_dynamics(s.q, s.v, a, s.wrenches)
    loads = size(s.wrenches)
    agree("floating base: nothing pushes", expected[:, :6], np.zeros_like(expected[:, :6]), loads, SOLVED)
    agree("floating base: joint forces", tau, expected[:, 6:], tolerance=SOLVED)


def compare_operational_space(robot: kt.Robot, judge: PinocchioJudge, s: States, frames: list[str]) -> None:
    """J M^-1 J^T of one and of several frames."""
    inverse = judge.inverse_mass_matrix(s.q)
    for axes in ("body", "world", "aligned"):
        stacked = np.concatenate([judge.jacobian(s.q, f, axes) for f in frames], axis=-2)
        expected = stacked @ inverse @ np.swapaxes(stacked, -1, -2)
        actual = robot.operational_space_inertia(s.q, frames, axes, inverse=True)
        agree("operational-space compliance", actual, expected, tolerance=SOLVED)
