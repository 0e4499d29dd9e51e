"""Equations of motion against Lagrange's, which SymPy derives from energies written down here.

Positions, angular velocities and energies are built from elementary rotations in this
file; nothing of kinetree's spatial algebra is used on that side.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import sympy as sp
from scipy.spatial.transform import Rotation

import kinetree as kt
from helpers.compare import assert_close, times, transpose
from helpers.robots import random_state
from kinetree.algorithms.table import FORWARD_METHODS
from kinetree.model.joints import THREE_AXIS_SEQUENCES

GRAVITY = (0.7, -1.3, -9.4)
STATES = 24
SKEW_AXIS = (0.36, -0.48, 0.8)  # a unit vector in decimals


class System(NamedTuple):
    """A robot and the functions of (q, v, a) that Lagrange gives for it."""

    robot: kt.Robot
    tau: Callable[..., np.ndarray]
    mass: Callable[..., np.ndarray]
    gravity: Callable[..., np.ndarray]
    kinetic: Callable[..., np.ndarray]
    potential: Callable[..., np.ndarray]


# Two bodies to build from: (mass, center of mass, inertia about it: xx, yy, zz, xy, xz, yz)
ONE = (1.3, (0.2, -0.1, 0.35), (0.09, 0.11, 0.08, 0.01, -0.02, 0.015))
TWO = (0.8, (-0.15, 0.25, 0.1), (0.05, 0.04, 0.06, -0.01, 0.012, 0.005))


def each(function: Callable[[object], object], values: object) -> np.ndarray:
    """Apply a function to every entry of an array of objects."""
    return np.asarray(np.vectorize(function, otypes=[object])(values), dtype=object)


def exact(numbers: object) -> np.ndarray:
    """Decimal numbers as fractions, in an array of objects."""
    return each(lambda x: sp.QQ(str(x)), numbers)


class Lagrangian:
    """Energies of a system with n coordinates, as polynomials in q, sin q, cos q, v and a.

    Polynomials with fractions keep SymPy's derivatives exact and fast.
    """

    def __init__(self, n: int, armature: tuple[float, ...] = ()) -> None:
        names = [f"{letter}{k}" for letter in "scqva" for k in range(n)]
        self.ring, *generators = sp.ring(names, sp.QQ, sp.lex)
        self.s, self.c, self.q, self.v, self.a = (generators[k * n : (k + 1) * n] for k in range(5))
        self.one = [s**2 + c**2 - 1 for s, c in zip(self.s, self.c, strict=True)]
        self.kinetic = sum((x * v**2 / 2 for x, v in zip(exact(armature), self.v, strict=False)), self.ring(0))
        self.potential = self.ring(0)

    def turn(self, axis: str | tuple[float, float, float], k: int) -> np.ndarray:
        """Rotation about an axis by coordinate k, by Rodrigues' formula: 1 + sin K + (1 - cos) K^2."""
        x, y, z = exact({"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}.get(axis, axis))
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=object)
        return exact(np.eye(3, dtype=int)) + cross * self.s[k] + cross @ cross * (1 - self.c[k])

    def diff(self, p: object, k: int) -> object:
        """Derivative of a polynomial by coordinate k: the chain rule for sine and cosine."""
        p = self.ring(p)
        return p.diff(self.q[k]) + self.c[k] * p.diff(self.s[k]) - self.s[k] * p.diff(self.c[k])

    def rate(self, values: np.ndarray) -> np.ndarray:
        """Time derivative of polynomials, as far as it comes from q."""
        return each(lambda p: sum(self.diff(p, k) * v for k, v in enumerate(self.v)), values)

    def body_rate(self, rotation: np.ndarray) -> np.ndarray:
        """Angular velocity in body axes, from R^T R'."""
        w = self.reduced(rotation.T @ self.rate(rotation))
        return np.array([w[2, 1], w[0, 2], w[1, 0]])

    def reduced(self, values: np.ndarray) -> np.ndarray:
        """The same with sin^2 + cos^2 = 1 used up."""
        return each(lambda p: self.ring(p).rem(self.one), values)

    def add(self, data: tuple, rotation: np.ndarray, position: object) -> None:
        """Count a body's energies."""
        mass, com, inertia = (exact(x) for x in data)
        xx, yy, zz, xy, xz, yz = inertia
        moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        center = np.asarray(position, dtype=object) + rotation @ com
        velocity, w = self.reduced(self.rate(center)), self.body_rate(rotation)
        half = sp.QQ(1, 2)
        self.kinetic += mass.item() * half * (velocity @ velocity) + half * (w @ moments @ w)
        self.potential -= mass.item() * (exact(GRAVITY) @ center)

    def solve(self, robot: kt.Robot) -> System:
        """d/dt dT/dv - dT/dq + dV/dq, and what it is made of, as functions over a batch."""
        n = len(self.v)
        kinetic = self.kinetic.rem(self.one)
        weight = [self.diff(self.potential, k) for k in range(n)]
        tau, mass = [], []
        for k in range(n):
            momentum = kinetic.diff(self.v[k])
            mass.append([momentum.diff(v) for v in self.v])
            change = self.rate(momentum).item() + sum(m * a for m, a in zip(mass[-1], self.a, strict=True))
            tau.append((change - self.diff(kinetic, k) + weight[k]).rem(self.one))
        return System(robot, *(self.numeric(x) for x in (tau, mass, weight, kinetic, self.potential)))

    def numeric(self, values: object) -> Callable[..., np.ndarray]:
        """A function of q, v and a (zero if left out) over a batch."""

        def call(q: np.ndarray, v: np.ndarray | None = None, a: np.ndarray | None = None) -> np.ndarray:
            zero = np.zeros_like(q)
            parts = (np.sin(q), np.cos(q), q, zero if v is None else v, zero if a is None else a)
            point = np.concatenate(parts, axis=-1)

            def evaluate(p: object) -> np.ndarray:
                exponents = np.array(self.ring(p).monoms(), dtype=int).reshape(-1, point.shape[-1])
                coefficients = np.array([float(x) for x in self.ring(p).coeffs()])
                return np.prod(point[:, None, :] ** exponents, axis=-1) @ coefficients

            found = [evaluate(p) for p in np.ravel(np.array(values, dtype=object))]
            return np.stack(found, axis=-1).reshape(len(q), *np.shape(np.array(values, dtype=object)))

        return call


def properties(data: tuple) -> dict[str, object]:
    mass, com, inertia = data
    return {"mass": mass, "com": com, "inertia": inertia}


@cache
def double_pendulum() -> System:
    builder = kt.Builder(gravity=GRAVITY)
    builder.body(
        "a", "base", kt.Revolute("y"), position=(0.1, 0.2, 0.3), rotor_inertia=0.02, gear_ratio=3, **properties(ONE)
    )
    builder.body("b", "a", kt.Revolute("y"), position=(0.1, 0.0, -0.6), **properties(TWO))
    system = Lagrangian(2, (0.18, 0.0))
    first, origin = system.turn("y", 0), exact((0.1, 0.2, 0.3))
    system.add(ONE, first, origin)
    system.add(TWO, first @ system.turn("y", 1), origin + first @ exact((0.1, 0.0, -0.6)))
    return system.solve(builder.build())


@cache
def universal_pendulum() -> System:
    """A universal joint, and a skew hinge at the end of its link."""
    builder = kt.Builder(gravity=GRAVITY)
    builder.body("a", "base", kt.Universal("XY"), rotor_inertia=(0.03, 0.05), **properties(ONE))
    builder.body("b", "a", kt.Revolute(SKEW_AXIS), position=(0.0, 0.1, -0.5), **properties(TWO))
    system = Lagrangian(3, (0.03, 0.05, 0.0))
    first = system.turn("x", 0) @ system.turn("y", 1)
    system.add(ONE, first, exact((0, 0, 0)))
    system.add(TWO, first @ system.turn(SKEW_AXIS, 2), first @ exact((0.0, 0.1, -0.5)))
    return system.solve(builder.build())


@cache
def spherical_pendulum(sequence: str = "ZYX") -> System:
    robot = kt.Builder(gravity=GRAVITY).body("a", "base", kt.EulerSpherical(sequence), **properties(ONE)).build()
    system = Lagrangian(3)
    system.add(ONE, euler_rotation(system, sequence), exact((0, 0, 0)))
    return system.solve(robot)


def euler_rotation(system: Lagrangian, sequence: str) -> np.ndarray:
    a, b, c = (system.turn(axis.lower(), k) for k, axis in enumerate(sequence))
    return a @ b @ c


@cache
def floating_two_link() -> System:
    """A body that slides and turns in the plane, with a second one hinged to it."""
    builder = kt.Builder(gravity=GRAVITY)
    builder.body("a", "base", kt.Planar("z"), **properties(ONE))
    builder.body("b", "a", kt.Revolute("z"), position=(0.5, 0.1, 0.2), rotor_inertia=0.04, **properties(TWO))
    system = Lagrangian(4, (0.0, 0.0, 0.0, 0.04))
    first, origin = system.turn("z", 0), np.array([system.q[1], system.q[2], 0], dtype=object)
    system.add(ONE, first, origin)
    system.add(TWO, first @ system.turn("z", 3), origin + first @ exact((0.5, 0.1, 0.2)))
    return system.solve(builder.build())


@cache
def screw() -> System:
    """A helical joint about a skew axis that carries a slider."""
    builder = kt.Builder(gravity=GRAVITY)
    builder.body("a", "base", kt.Helical(SKEW_AXIS, 0.35), rotor_inertia=0.02, **properties(ONE))
    builder.body("b", "a", kt.Prismatic("x"), position=(0.1, 0.2, 0.3), **properties(TWO))
    system = Lagrangian(2, (0.02, 0.0))
    first, origin = system.turn(SKEW_AXIS, 0), exact(SKEW_AXIS) * exact(0.35).item() * system.q[0]
    system.add(ONE, first, origin)
    slid = np.array([exact(0.1).item() + system.q[1], *exact((0.2, 0.3))], dtype=object)
    system.add(TWO, first, origin + first @ slid)
    return system.solve(builder.build())


SYSTEMS = [double_pendulum, universal_pendulum, spherical_pendulum, floating_two_link, screw]
each_system = pytest.mark.parametrize("system", SYSTEMS, ids=lambda f: f.__name__)


@each_system
def test_equations_of_motion(system):
    s = system()
    q, v, a = random_state(s.robot, np.random.default_rng(30), STATES)
    tau = s.tau(q, v, a)
    assert_close(s.robot.inverse_dynamics(q, v, a), tau)
    assert_close(s.robot.mass_matrix(q), s.mass(q))
    assert_close(s.robot.bias_force(q, v), s.tau(q, v))
    assert_close(s.robot.gravity_force(q), s.gravity(q))
    assert_close(times(s.robot.coriolis_matrix(q, v), v), s.tau(q, v) - s.gravity(q))
    assert_close(s.robot.inverse_mass_matrix(q), np.linalg.inv(s.mass(q)))
    for method in FORWARD_METHODS:
        assert_close(s.robot.forward_dynamics(q, v, tau, method=method), a)


@each_system
def test_energies(system):
    s = system()
    q, v, _ = random_state(s.robot, np.random.default_rng(31), STATES)
    assert_close(s.robot.kinetic_energy(q, v), s.kinetic(q, v), 1e-12)
    assert_close(s.robot.potential_energy(q), s.potential(q), 1e-12)


@pytest.mark.parametrize("sequence", THREE_AXIS_SEQUENCES)
def test_spherical_pendulum_in_other_angles(sequence):
    s = spherical_pendulum(sequence)
    q, v, a = random_state(s.robot, np.random.default_rng(32), STATES)
    assert_close(s.robot.inverse_dynamics(q, v, a), s.tau(q, v, a))
    assert_close(s.robot.forward_dynamics(q, v, s.tau(q, v, a)), a)


@cache
def angle_map(sequence: str) -> tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]:
    """E(q) with body angular velocity = E v, and E'(q, v)."""
    system = Lagrangian(3)
    w = system.body_rate(euler_rotation(system, sequence))
    e = np.array([[x.diff(v) for v in system.v] for x in w], dtype=object)
    return system.numeric(e), system.numeric(system.rate(e))


@pytest.mark.parametrize("sequence", ["ZYX", "ZXZ"])
def test_ball_joint_with_a_quaternion(sequence):
    """Through w = E v: T does not change, so M = E^T M_w E, and forces do the same work: tau = E^T tau_w."""
    s = spherical_pendulum(sequence)
    e_of, e_rate_of = angle_map(sequence)
    ball = kt.Builder(gravity=GRAVITY).body("a", "base", kt.Spherical(), **properties(ONE)).build()
    q, v, a = random_state(s.robot, np.random.default_rng(33), STATES)
    e, e_rate = e_of(q), e_rate_of(q, v)
    quaternion = Rotation.from_euler(sequence, q).as_quat()
    w, w_dot = times(e, v), times(e, a) + times(e_rate, v)
    to_angles = transpose(e)
    tau_w = np.linalg.solve(to_angles, s.tau(q, v, a)[..., None])[..., 0]
    assert_close(ball.inverse_dynamics(quaternion, w, w_dot), tau_w)
    assert_close(to_angles @ ball.mass_matrix(quaternion) @ e, s.mass(q))
    assert_close(times(to_angles, ball.gravity_force(quaternion)), s.gravity(q))
    for method in FORWARD_METHODS:
        assert_close(ball.forward_dynamics(quaternion, w, tau_w, method=method), w_dot)
    assert_close(ball.kinetic_energy(quaternion, w), s.kinetic(q, v), 1e-12)


def test_simple_pendulum_by_hand():
    """m l^2 q'' + m g l sin q = tau: no library at all on the other side."""
    robot = kt.Builder().body("bob", "base", kt.Revolute("y"), mass=2.0, com=(0, 0, -0.5)).build()
    q = np.linspace(-3, 3, 13)[:, None]
    a = robot.forward_dynamics(q, np.ones_like(q), np.full_like(q, 0.3))
    assert_close(a, (0.3 - 2.0 * 9.81 * 0.5 * np.sin(q)) / (2.0 * 0.25), 1e-14)


def test_free_body_by_hand():
    """Euler's equations about the center of mass, and Newton's for it, in body axes."""
    inertia = np.array([[0.5, 0.1, 0.0], [0.1, 0.6, -0.2], [0.0, -0.2, 0.7]])
    robot = kt.Builder().body("a", "base", kt.Free(), mass=3.0, inertia=inertia).build()
    q, v, a = random_state(robot, np.random.default_rng(34), STATES)
    w, u, w_dot, u_dot = v[:, :3], v[:, 3:], a[:, :3], a[:, 3:]
    moment = w_dot @ inertia + np.cross(w, w @ inertia)
    down = Rotation.from_quat(q[:, :4]).inv().apply([0, 0, -9.81])
    force = 3.0 * (u_dot + np.cross(w, u) - down)
    assert_close(robot.inverse_dynamics(q, v, a), np.concatenate([moment, force], axis=-1), 1e-13)
