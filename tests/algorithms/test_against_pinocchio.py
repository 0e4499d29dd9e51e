"""Real robots against Pinocchio: fixed and floating, with rotors, with joints that mimic others."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from judges import SOLVED, WORST, agree, print_worst
from judges.comparison import (
    States,
    compare_centroid,
    compare_centroidal_rate,
    compare_configurations,
    compare_coriolis,
    compare_dynamics,
    compare_floating_base,
    compare_frame,
    compare_jacobian_rates,
    compare_mixed_dynamics,
    compare_operational_space,
    compare_pushes,
)
from judges.pinocchio_judge import PinocchioJudge
from judges.real_robots import FIXED, FLOATING, FURTHER_MIMICS, MIMICS, load_quietly, robot_file, with_rotors
from kinetree.algorithms.table import FORWARD_METHODS

Array = np.ndarray

COUNT = 3
"""States per robot."""

CASES = [pytest.param(path, False, id=f"{name}-fixed") for name, path in FIXED.items()] + [
    pytest.param(path, True, id=f"{name}-floating") for name, path in FLOATING.items()
]


@pytest.fixture(autouse=True, scope="module")
def report() -> Iterator[None]:
    WORST.clear()
    yield
    print_worst()


def pair(path: str, floating_base: bool, *, rotors: bool, seed: int = 0) -> tuple[kt.Robot, PinocchioJudge]:
    """A robot and its judge, both from the same file."""
    file = robot_file(path)
    robot = load_quietly(file, floating_base=floating_base, mimic="independent")
    rng = np.random.default_rng(seed)
    if rotors:
        robot = with_rotors(robot, rng)
    robot = robot.with_gravity(9.81 * _direction(rng))
    return robot, PinocchioJudge.of_urdf(robot, file, floating_base=floating_base)


def _direction(rng: np.random.Generator) -> Array:
    axis = rng.standard_normal(3)
    return axis / np.linalg.norm(axis)


def frames_of(robot: kt.Robot, judge: PinocchioJudge, rng: np.random.Generator, count: int) -> list[str]:
    """Random frames that move, among them links welded to others."""
    moving = [f for f in robot.frame_names if robot.frame(f).body >= 0 and judge.has_frame(f)]
    welded = [f for f in moving if f not in robot.body_names] or moving
    chosen = [welded[rng.integers(len(welded))]]
    while len(chosen) < min(count, len(moving)):
        extra = moving[rng.integers(len(moving))]
        chosen += [extra] if extra not in chosen else []
    return chosen


@pytest.mark.parametrize(("path", "floating"), CASES)
def test_forces_accelerations_and_matrices(path: str, floating: bool) -> None:
    robot, judge = pair(path, floating, rotors=True)
    rng = np.random.default_rng(1)
    s = States.draw(robot, rng, COUNT)
    compare_dynamics(robot, judge, s)
    compare_coriolis(robot, judge, s)
    compare_mixed_dynamics(robot, judge, s, rng)
    if floating:
        compare_floating_base(robot, judge, s)


@pytest.mark.parametrize(("path", "floating"), CASES)
def test_frames_and_momentum(path: str, floating: bool) -> None:
    robot, judge = pair(path, floating, rotors=True)
    rng = np.random.default_rng(2)
    s = States.draw(robot, rng, COUNT)
    frames = frames_of(robot, judge, rng, 2)
    for frame in frames:
        compare_frame(robot, judge, s, frame)
        compare_jacobian_rates(robot, judge, s, frame)
    compare_pushes(robot, judge, s, frames[0], rng)
    compare_centroid(robot, judge, s)
    compare_centroidal_rate(robot, judge, s)
    compare_configurations(robot, judge, s, robot.random_configuration(rng, COUNT))


@pytest.mark.parametrize(("path", "floating"), CASES)
def test_regressors(path: str, floating: bool) -> None:
    robot, judge = pair(path, floating, rotors=False)
    s = States.draw(robot, np.random.default_rng(9), 2)
    inertial = robot.parameters().names[: 10 * len(robot.body_names)]
    found = robot.with_backend("reference").regressor(s.q, s.v, s.a, parameters=inertial)
    agree("regressor", found, judge.regressor(s.q, s.v, s.a))


@pytest.mark.parametrize("name", ["panda", "ur5", "solo12"])
def test_regressors_as_machine_code(name: str) -> None:
    floating = name in FLOATING
    robot, judge = pair((FLOATING if floating else FIXED)[name], floating, rotors=False)
    s = States.draw(robot, np.random.default_rng(9), 75)
    inertial = robot.parameters().names[: 10 * len(robot.body_names)]
    expected = judge.regressor(s.q, s.v, s.a)
    agree("regressor", robot.regressor(s.q, s.v, s.a, parameters=inertial), expected)
    agree("regressor", robot.regressor(s.q[0], s.v[0], s.a[0])[:, : len(inertial)], expected[0])


@pytest.mark.parametrize(("path", "floating"), CASES)
def test_every_frame_is_where_pinocchio_has_it(path: str, floating: bool) -> None:
    robot, judge = pair(path, floating, rotors=False)
    q = robot.random_configuration(np.random.default_rng(3), 2)
    names = [f for f in robot.frame_names if judge.has_frame(f)]
    assert set(judge.frame_names()) <= set(names)
    for name in names:
        agree("pose of every frame", robot.pose(q, name), judge.pose(q, name))


@pytest.mark.parametrize("name", ["pr2", "talos", "solo12", "tiago_pro"])
def test_every_way_of_forward_dynamics(name: str) -> None:
    """Robots with fingers on a torso: the mass matrix has a condition of up to 1e7."""
    floating = name in FLOATING
    robot, judge = pair((FLOATING if floating else FIXED)[name], floating, rotors=False)
    s = States.draw(robot, np.random.default_rng(7), 2)
    expected = judge.forward_dynamics(s.q, s.v, s.tau, s.wrenches)
    for method in FORWARD_METHODS:
        actual = robot.forward_dynamics(s.q, s.v, s.tau, s.wrenches, method=method)
        agree(f"forward dynamics, {method}", actual, expected, tolerance=SOLVED)


@pytest.mark.parametrize("name", ["panda", "talos", "simple_humanoid"])
def test_operational_space(name: str) -> None:
    floating = name in FLOATING
    robot, judge = pair((FLOATING if floating else FIXED)[name], floating, rotors=True)
    rng = np.random.default_rng(4)
    s = States.draw(robot, rng, 2)
    compare_operational_space(robot, judge, s, frames_of(robot, judge, rng, 2))


# ---------------------------------------------------------------- joints that follow others


def solved(judge: PinocchioJudge, s: States) -> Array:
    """Accelerations from the judge's mass matrix and inverse dynamics."""
    bias = judge.inverse_dynamics(s.q, s.v, 0 * s.a, s.wrenches)
    return np.linalg.solve(judge.mass_matrix(s.q), (s.tau - bias)[..., None])[..., 0]


@pytest.mark.parametrize("path", [pytest.param(path, id=name) for name, path in MIMICS.items()])
def test_followers_as_pinocchio_treats_them(path: str) -> None:
    file = robot_file(path)
    robot = load_quietly(file)
    judge = PinocchioJudge.of_urdf(robot, file, mimic=True)
    assert any(j.mimic for j in robot.model.joints)
    s = States.draw(robot, np.random.default_rng(5), COUNT)
    tau = judge.inverse_dynamics(s.q, s.v, s.a, s.wrenches)
    agree("followers: inverse dynamics", robot.inverse_dynamics(s.q, s.v, s.a, s.wrenches), tau)
    agree("followers: mass matrix", robot.mass_matrix(s.q), judge.mass_matrix(s.q))
    a = robot.forward_dynamics(s.q, s.v, s.tau, s.wrenches)
    agree("followers: forward dynamics", a, solved(judge, s), tolerance=SOLVED)
    for body in robot.body_names:
        agree("followers: poses", robot.pose(s.q, body), judge.pose(s.q, body))


def follower_map(robot: kt.Robot, free: kt.Robot, file: Path) -> tuple[Array, Array]:
    """G and offset with ``q_free = G q + offset``, read off the URDF itself."""
    tags = {j.get("name"): j.find("mimic") for j in ET.parse(file).getroot().iter("joint") if j.get("type")}
    matrix, offset = np.zeros((free.nq, robot.nq)), np.zeros(free.nq)
    for name in free.joint_names:
        ratio, shift, leader = 1.0, 0.0, name
        while (tag := tags.get(leader)) is not None:
            shift += ratio * float(tag.get("offset", 0.0))
            ratio *= float(tag.get("multiplier", 1.0))
            leader = tag.get("joint")
        matrix[free.joint(name).q_slice, robot.joint(leader).q_slice] = ratio
        offset[free.joint(name).q_slice] = shift
    return matrix, offset


@pytest.mark.parametrize("path", [pytest.param(path, id=name) for name, path in (MIMICS | FURTHER_MIMICS).items()])
def test_followers_as_a_projection_of_free_joints(path: str) -> None:
    """With G constant, M = G^T M_free G, and likewise for everything else."""
    file = robot_file(path)
    rng = np.random.default_rng(6)
    free = with_rotors(load_quietly(file, mimic="independent"), rng)
    robot = load_quietly(file)
    robot = kt.Robot(robot.model.with_joints(_rotors_of(robot, free)))
    assert robot.nv < free.nv
    judge = PinocchioJudge.of_urdf(free, file)
    g, offset = follower_map(robot, free, file)
    s = States.draw(robot, rng, COUNT)
    q, v, a = s.q @ g.T + offset, s.v @ g.T, s.a @ g.T
    tau = judge.inverse_dynamics(q, v, a, s.wrenches) @ g
    mass = g.T @ judge.mass_matrix(q) @ g
    agree("followers: inverse dynamics", robot.inverse_dynamics(s.q, s.v, s.a, s.wrenches), tau)
    rest = judge.inverse_dynamics(q, v, 0 * a, s.wrenches) @ g
    expected = np.linalg.solve(mass, (s.tau - rest)[..., None])[..., 0]
    for method in FORWARD_METHODS if path in MIMICS.values() else FORWARD_METHODS[:2]:
        actual = robot.forward_dynamics(s.q, s.v, s.tau, s.wrenches, method=method)
        agree(f"followers: forward dynamics, {method}", actual, expected, tolerance=SOLVED)
    agree("followers: mass matrix", robot.mass_matrix(s.q), mass)
    inverse = robot.inverse_mass_matrix(s.q)
    agree("followers: inverse mass matrix", inverse, np.linalg.inv(mass), tolerance=SOLVED)
    agree("followers: bias force", robot.bias_force(s.q, s.v), judge.bias_force(q, v) @ g)
    agree("followers: gravity force", robot.gravity_force(s.q), judge.gravity_force(q) @ g)
    coriolis = g.T @ judge.coriolis_matrix(q, v) @ g
    agree("followers: Coriolis matrix", robot.coriolis_matrix(s.q, s.v), coriolis)
    agree("followers: kinetic energy", robot.kinetic_energy(s.q, s.v), judge.kinetic_energy(q, v))
    agree("followers: potential energy", robot.potential_energy(s.q), judge.potential_energy(q))
    frame = next(robot.body_names[i] for i, j in enumerate(robot.model.joints) if j.mimic)
    for axes in ("body", "world", "aligned"):
        agree("followers: Jacobian", robot.jacobian(s.q, frame, axes), judge.jacobian(q, frame, axes) @ g)
        rate = judge.jacobian_rate(q, v, frame, axes) @ g
        agree("followers: Jacobian rate", robot.jacobian_rate(s.q, s.v, frame, axes), rate)
    momentum_matrix = judge.centroidal_momentum_matrix(q) @ g
    agree("followers: momentum matrix", robot.centroidal_momentum_matrix(s.q), momentum_matrix)
    rate = judge.centroidal_momentum_matrix_rate(q, v) @ g
    agree("followers: momentum matrix rate", robot.centroidal_momentum_matrix_rate(s.q, s.v), rate)


def _rotors_of(robot: kt.Robot, free: kt.Robot) -> list[object]:
    """The joints of ``robot`` with the rotors of the same joints of ``free``."""
    sources = [free.joint(j.name) for j in robot.model.joints]
    return [
        replace(j, rotor_inertia=source.rotor_inertia, gear_ratio=source.gear_ratio)
        for j, source in zip(robot.model.joints, sources, strict=True)
    ]
