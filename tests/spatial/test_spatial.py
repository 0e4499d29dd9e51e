"""Spatial algebra against plain 6x6 matrices, and the freedom of the scalar."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import kinetree as kt
from helpers.compare import assert_close, derivative, skew
from helpers.robots import random_state, random_tree
from kinetree.algorithms import composite_body, newton_euler
from kinetree.spatial import (
    BASIS,
    ZERO3,
    ArticulatedInertia,
    AxisRotation,
    Force,
    Matrix3,
    MatrixRotation,
    Motion,
    RigidInertia,
    Symmetric3,
    Transform,
    Vec3,
    arctan2,
    axis_turn,
    combine,
    ldl,
    ldl_inverse,
    ldl_solve,
    where,
)
from kinetree.spatial.dual import Dual

seeds = st.integers(0, 2**32 - 1)


def vec(x: np.ndarray) -> Vec3:
    return Vec3(*(float(c) for c in x))


def six(x: np.ndarray, kind: type) -> Motion | Force:
    return kind(vec(x[:3]), vec(x[3:]))


def array(x: object) -> np.ndarray:
    return np.array(list(x), dtype=float)


def dense(matrix: Matrix3 | Symmetric3) -> np.ndarray:
    matrix = matrix.dense() if isinstance(matrix, Symmetric3) else matrix
    return np.array(matrix.to_rows(), dtype=float)


def symmetric(m: np.ndarray) -> Symmetric3:
    return Symmetric3(m[0, 0], m[0, 1], m[0, 2], m[1, 1], m[1, 2], m[2, 2])


def random_transform(rng: np.random.Generator) -> Transform:
    """One to three rotations of either form, with or without a shift."""
    rotations = []
    for _ in range(rng.integers(0, 4)):
        if rng.random() < 0.5:
            rotations.append(AxisRotation.by_angle(int(rng.integers(3)), float(rng.uniform(-4, 4))))
        else:
            rotations.append(MatrixRotation(Matrix3.of(Rotation.random(rng=rng).as_matrix().tolist())))
    return Transform(rotations, vec(rng.uniform(-1, 1, 3)) if rng.random() < 0.8 else ZERO3)


def motion_matrix(x: Transform) -> np.ndarray:
    """The 6x6 matrix that takes motions from child to parent coordinates, angular part first."""
    r, p = dense(x.matrix()), array(x.translation)
    result = np.zeros((6, 6))
    result[:3, :3] = result[3:, 3:] = r
    result[3:, :3] = skew(p) @ r
    return result


def inertia_matrix(inertia: RigidInertia) -> np.ndarray:
    h = skew(array(inertia.first))
    return np.block([[dense(inertia.second), h], [-h, inertia.mass * np.eye(3)]])


def random_inertia(rng: np.random.Generator) -> RigidInertia:
    mass = float(rng.uniform(0.5, 3))
    com = rng.uniform(-0.5, 0.5, 3)
    root = rng.uniform(-1, 1, (3, 3))
    second = root @ root.T - mass * skew(com) @ skew(com)
    return RigidInertia(mass, vec(mass * com), symmetric(second))


# Vectors and matrices


@given(seed=seeds)
def test_vectors(seed):
    a, b = np.random.default_rng(seed).uniform(-3, 3, (2, 3))
    u, w = vec(a), vec(b)
    assert_close(array(u + w), a + b, 1e-15)
    assert_close(array(u - w), a - b, 1e-15)
    assert_close(array(-u), -a, 1e-15)
    assert_close(array(u * 2.5), 2.5 * a, 1e-15)
    assert_close(array(2.5 * u), 2.5 * a, 1e-15)
    assert_close(u.dot(w), a @ b, 1e-14, scale=10.0)
    assert_close(array(u.cross(w)), np.cross(a, b), 1e-14, scale=10.0)


def test_the_exact_zero_is_skipped_everywhere():
    u = Vec3(1.0, 2.0, 3.0)
    assert u + ZERO3 is u
    assert ZERO3 + u is u
    assert u - ZERO3 is u
    assert array(ZERO3 - u).tolist() == [-1, -2, -3]
    assert u.cross(ZERO3) is ZERO3
    assert u.dot(ZERO3) == 0.0
    assert ZERO3 * 5 is ZERO3
    assert -ZERO3 is ZERO3
    assert Vec3.of((0.0, 0, -0.0)) is ZERO3
    assert Vec3.of((0.0, np.zeros(2), 0.0)) is not ZERO3  # a batch may be zero by chance only
    assert Vec3.of((0.0, 1e-300, 0.0)) is not ZERO3


@given(seed=seeds)
def test_matrices(seed):
    rng = np.random.default_rng(seed)
    a, b, x = rng.uniform(-3, 3, (3, 3)), rng.uniform(-3, 3, (3, 3)), rng.uniform(-3, 3, 3)
    m, n = Matrix3.of(a.tolist()), Matrix3.of(b.tolist())
    assert_close(dense(m.times(n)), a @ b, 1e-14)
    assert_close(dense(m + n), a + b, 1e-15)
    assert_close(dense(m - n), a - b, 1e-15)
    assert_close(dense(m.T), a.T, 1e-15)
    assert_close(array(m @ vec(x)), a @ x, 1e-14)
    assert_close(dense(Matrix3.cross_of(vec(x))), skew(x), 1e-15)
    assert_close(dense(Matrix3.from_columns(*(vec(c) for c in a.T))), a, 1e-15)
    s, t = a + a.T, b + b.T
    assert_close(array(symmetric(s) @ vec(x)), s @ x, 1e-14)
    assert_close(dense(symmetric(s) + symmetric(t)), s + t, 1e-15)
    assert_close(dense(symmetric(s) - symmetric(t)), s - t, 1e-14)
    assert_close(dense(Symmetric3.outer(vec(x))), np.outer(x, x), 1e-15)


# Rotations and transforms


@given(seed=seeds)
def test_rotations_of_both_forms(seed):
    rng = np.random.default_rng(seed)
    angle, x = float(rng.uniform(-7, 7)), rng.uniform(-1, 1, 3)
    general, s = rng.uniform(-1, 1, (3, 3)), rng.uniform(-1, 1, (3, 3))
    s = s + s.T
    axes = [np.eye(3)[k] * sign for k in range(3) for sign in (1, -1)] + [x / np.linalg.norm(x)]
    for axis in axes:
        rotation = axis_turn(vec(axis), angle)
        r = Rotation.from_rotvec(axis * angle).as_matrix()
        assert_close(dense(rotation.matrix()), r, 1e-14)
        assert_close(array(rotation.apply(vec(x))), r @ x, 1e-14)
        assert_close(array(rotation.unapply(vec(x))), r.T @ x, 1e-14)
        assert_close(dense(rotation.conjugate_symmetric(symmetric(s))), r @ s @ r.T, 1e-14)
        assert_close(dense(rotation.conjugate(Matrix3.of(general.tolist()))), r @ general @ r.T, 1e-14)
        assert rotation.apply(ZERO3) is ZERO3
    assert isinstance(axis_turn(BASIS[1], angle), AxisRotation)
    assert isinstance(axis_turn(-BASIS[1], angle), AxisRotation)


@given(seed=seeds)
def test_transforms_are_six_by_six_matrices(seed):
    rng = np.random.default_rng(seed)
    x, y = random_transform(rng), random_transform(rng)
    up = motion_matrix(x)
    down, force_up = np.linalg.inv(up), np.linalg.inv(up).T
    m, f = rng.uniform(-1, 1, (2, 6))
    assert_close(array(x.motion_to_parent(six(m, Motion))), up @ m, 1e-14, scale=10.0)
    assert_close(array(x.motion_to_child(six(m, Motion))), down @ m, 1e-14, scale=10.0)
    assert_close(array(x.force_to_parent(six(f, Force))), force_up @ f, 1e-14, scale=10.0)
    assert_close(array(x.force_to_child(six(f, Force))), up.T @ f, 1e-14, scale=10.0)
    assert_close(motion_matrix(x @ y), up @ motion_matrix(y), 1e-14)
    assert_close(motion_matrix(x.inverse()), down, 1e-13)
    assert_close(motion_matrix(x.collapsed()), up, 1e-14)
    homogeneous = np.array(x.homogeneous(), dtype=float)
    assert_close(array(x.point(vec(m[:3]))), (homogeneous @ [*m[:3], 1])[:3], 1e-14, scale=10.0)
    inertia = random_inertia(rng)
    moved = inertia_matrix(x.rigid_to_parent(inertia))
    assert_close(moved, force_up @ inertia_matrix(inertia) @ down, 1e-13)
    root = rng.uniform(-1, 1, (6, 6))
    big = root @ root.T
    blocks = ArticulatedInertia(symmetric(big[:3, :3]), Matrix3.of(big[:3, 3:].tolist()), symmetric(big[3:, 3:]))
    assert_close(np.array(blocks.to_rows(), dtype=float), big, 1e-15)
    found = np.array(x.articulated_to_parent(blocks).to_rows(), dtype=float)
    assert_close(found, force_up @ big @ down, 1e-13)


@given(seed=seeds)
def test_products_of_motions_forces_and_inertias(seed):
    rng = np.random.default_rng(seed)
    a, b, f = rng.uniform(-1, 1, (3, 6))
    w, u = skew(a[:3]), skew(a[3:])
    cross = np.block([[w, np.zeros((3, 3))], [u, w]])
    m = six(a, Motion)
    assert_close(array(m.cross(six(b, Motion))), cross @ b, 1e-15, scale=10.0)
    assert_close(array(m.cross_force(six(f, Force))), -cross.T @ f, 1e-15, scale=10.0)
    assert_close(m.dot(six(f, Force)), a @ f, 1e-15, scale=10.0)
    inertia = random_inertia(rng)
    assert_close(array(inertia @ m), inertia_matrix(inertia) @ a, 1e-14, scale=10.0)
    assert_close(np.array(inertia.articulated().to_rows(), dtype=float), inertia_matrix(inertia), 1e-15)
    assert_close(array(inertia.articulated() @ m), inertia_matrix(inertia) @ a, 1e-14, scale=10.0)
    turning = Motion(vec(a[:3]), ZERO3)
    assert_close(array(inertia.articulated() @ turning), inertia_matrix(inertia) @ [*a[:3], 0, 0, 0], 1e-14, scale=10.0)
    dyad = ArticulatedInertia.dyad(six(2 * f, Force), six(f, Force))
    assert_close(np.array(dyad.to_rows(), dtype=float), 2 * np.outer(f, f), 1e-15)
    g = six(f, Force)
    assert_close(array(-g), -f, 1e-15)
    assert_close(array(g - six(b, Force)), f - b, 1e-15)
    assert_close(array(g * 2.0 + 3.0 * six(b, Force)), 2 * f + 3 * b, 1e-15)
    assert_close(array(-m), -a, 1e-15)
    assert_close(array(m - six(b, Motion)), a - b, 1e-15)
    assert_close(array(m * 2.0 + 3.0 * six(b, Motion)), 2 * a + 3 * b, 1e-15)
    assert_close(array(combine([m, six(b, Motion)], [2.0, -3.0])), 2 * a - 3 * b, 1e-15)


@given(seed=seeds, n=st.integers(1, 6))
def test_small_symmetric_systems(seed, n):
    rng = np.random.default_rng(seed)
    root = rng.uniform(-1, 1, (n, n))
    a = root @ root.T + 0.1 * np.eye(n)
    b = rng.uniform(-1, 1, n)
    factors = ldl(a.tolist())
    lower, d = np.array(factors[0]), np.array(factors[1])
    assert_close(lower @ np.diag(d) @ lower.T, a, 1e-14)
    assert_close(np.array(ldl_solve(factors, b.tolist())), np.linalg.solve(a, b), 1e-12)
    assert_close(np.array(ldl_inverse(factors)), np.linalg.inv(a), 1e-12)


# Any scalar


@pytest.mark.parametrize(
    ("function", "at"),
    [
        (lambda x: x * x * x - 2 * x + 1, 0.7),
        (lambda x: 1 / (1 + x) - x / 3, 0.7),
        (lambda x: (2 - x) * (x - 3) / (x + 2), 0.7),
        (lambda x: kt.sin(3 * x) * kt.cos(x), 0.7),
        (lambda x: kt.sqrt(1 + x**3) / x**2, 0.7),
        (lambda x: arctan2(kt.sin(x), 2 + x), 0.7),
        (lambda x: arctan2(2.0 + x, -x), 0.7),
        (lambda x: np.sin(x) / np.sqrt(x) - np.negative(x), 0.7),
        (lambda x: np.float64(2.0) * x + np.array(3.0) / x - np.arctan2(x, 2.0), 0.7),
        (lambda x: x**-2 + x**0.5, 0.7),
    ],
)
def test_dual_numbers_differentiate(function, at):
    found = function(Dual(at, 1.0))
    assert_close(found.value, np.array(float(function(at))), 1e-15)
    assert_close(found.rate, np.array(derivative(lambda t: [float(function(at + x)) for x in t])), 1e-10)
    # duals of duals: the second derivative, which the first one's derivative must be
    second = function(Dual(Dual(at, 1.0), 1.0)).rate.rate
    slope = derivative(lambda t: [float(function(Dual(at + x, 1.0)).rate) for x in t])
    assert_close(second, np.array(slope), 1e-9)


def test_dual_numbers_over_batches():
    x = np.linspace(0.1, 2, 7)
    found = np.array(2.0) * kt.sin(Dual(x, np.ones(7))) + x
    assert_close(found.value, 2 * np.sin(x) + x, 1e-15)
    assert_close(found.rate, 2 * np.cos(x), 1e-15)
    assert np.all((Dual(x, 1.0) < 1.0) == (x < 1.0))
    assert np.all((Dual(x, 1.0) > 1.0) == (x > 1.0))


def test_where_chooses_lane_by_lane():
    x = np.array([1.0, -1.0, np.nan])
    np.testing.assert_array_equal(where(x > 0, x, 0.0), [1.0, 0.0, 0.0])
    assert where(np.bool_(True), 1.0, math.nan) == 1.0
    assert where(False, math.nan, 2.0) == 2.0
    s = sp.Symbol("s")
    assert where(s > 0, s, -s).subs(s, -3) == 3


def test_recursions_run_on_complex_numbers():
    """The imaginary part of a tiny imaginary step is a derivative to the last digit."""
    rng = np.random.default_rng(110)
    robot = random_tree(rng, 4)
    q, v, a = random_state(robot, rng, 3)
    step = 1e-30
    for k in range(robot.nv):
        e = np.eye(robot.nv)[k]
        column = robot.inverse_dynamics(q, v, a + 1j * step * e).imag / step
        assert_close(column, robot.mass_matrix(q)[..., k], 1e-12)
        slope = robot.potential_energy(robot.integrate(q, 1j * step * e)).imag / step
        assert_close(slope, robot.gravity_force(q)[..., k], 1e-11, scale=100.0)


def test_recursions_run_on_symbols():
    """A pendulum's equation comes out readable."""
    model = kt.Builder(gravity=(0, 0, -10)).body("bob", "base", kt.Revolute("y"), mass=2, com=(0, 0, -3)).model()
    q, v, a = sp.symbols("q v a")
    (tau,), _ = newton_euler.inverse_dynamics(model, [q], [v], [a], model.gravity)
    assert sp.simplify(tau - (18 * a + 60 * sp.sin(q))) == 0
    ((mass,),) = composite_body.mass_matrix(model, [q])
    assert float(mass) == 18.0


def test_recursions_run_on_dual_numbers():
    rng = np.random.default_rng(111)
    robot = random_tree(rng, 4, ["revolute", "universal", "helical", "planar", "custom"])
    q, v, a = random_state(robot, rng)
    direction = rng.uniform(-1, 1, robot.nq)
    moving = [Dual(float(x), float(d)) for x, d in zip(q, direction, strict=True)]
    tau, _ = newton_euler.inverse_dynamics(robot.model, moving, list(v), list(a), robot.model.gravity)
    expected = derivative(lambda t: robot.inverse_dynamics(q + t[:, None] * direction, v, a))
    assert_close([t.rate for t in tau], expected, 1e-9)
