"""Linear models against differences of the motion itself: of its rates, and of simulations."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import five_bar, lamp
from kinetree.errors import OptionError


def moved(robot, q, v, x):
    """The state whose deviation is x, (n, 2 f)."""
    count = x.shape[-1] // 2
    if not robot.closes_loops:
        return robot.integrate(q, x[..., :count]), v + x[..., count:]
    ind = list(robot.coordinates.independent)
    free = np.ones(robot.nv, dtype=bool)
    free[ind] = False
    near = robot.loops.closing.closed_from(robot.integrate(q, x[..., :count] @ robot.basis(q).T), free, 1e-13)[0]
    return near, robot.velocities(near, v[ind] + x[..., count:])


def deviation(robot, q0, v0, q, v):
    ind = list(robot.coordinates.independent) if robot.closes_loops else list(range(robot.nv))
    return np.concatenate([robot.difference(q0, q)[..., ind], (v - v0)[..., ind]], axis=-1)


def simulated(robot, q, v, tau, time):
    """Where states are after a while, by small steps of fourth order."""
    held = kt.control.Law(lambda t, q, v: [float(x) for x in tau])
    done = kt.simulate(
        robot, q, v, time=time, controller=held, integrator="rk4", step=time / 10, samples=2, progress=False
    )
    return done.q[-1], done.v[-1]


def leg(kind):
    b = kt.Builder("leg")
    solid = {"mass": 1.0, "com": (0.02, 0.01, -0.2), "inertia": (0.05, 0.05, 0.04), "stiffness": 2.0, "damping": 0.3,
             "friction": 0.2}  # fmt: skip
    b.body("trunk", "base", kind, mass=3.0, com=(0.05, 0, 0.1), inertia=(0.1, 0.15, 0.1), actuated=False)
    turn = kt.Revolute("y")
    b.body("thigh", "trunk", turn, **solid)
    b.body("shin", "thigh", turn, position=(0, 0, -0.4), actuated=False, **solid)
    b.body("crank", "trunk", turn, position=(0.08, 0, 0), **solid)
    b.body("rod", "crank", turn, position=(0.06, 0, 0), actuated=False, **solid)
    b.loop("ankle", "rod", "shin", kt.Spherical(), placement=(-0.06, 0, -0.45), seat=(0.08, 0, -0.05))
    return b.build()


def rates(robot, q, v, tau):
    """v and a, with friction as simulations have it."""
    smooth = [0.2 * x / np.sqrt(x * x + 0.25) + 0.3 * x if k >= robot.nv - 4 else 0.0 * x
              for k, x in enumerate(np.moveaxis(v, -1, 0))]  # fmt: skip
    return robot.forward_dynamics(q, v, tau - np.stack(smooth, axis=-1))


@pytest.mark.parametrize("kind", [kt.Free(), kt.Spherical()], ids=lambda k: k.name)
def test_rates_beside_a_state(kind):
    """The commutator of turning frames, springs, damping, loops: x' itself, from states beside it."""
    robot = leg(kind)
    rng = np.random.default_rng(1)
    start = rng.normal(size=robot.nq) * 0.2
    start[-4:] = [0.4, -0.3, 0.3, 0.2]
    q = robot.close(robot.normalize(start), fixed=["thigh_joint", "crank_joint"])
    v = robot.velocities(q, rng.normal(size=robot.coordinates.freedoms))
    tau = rng.normal(size=robot.nv)
    model = robot.linearize(q, v, tau, friction_speed=0.5)
    ind, n = list(robot.coordinates.independent), model.A.shape[-1]
    assert model.states[: n // 2] == tuple(robot.independent())
    assert model.inputs == tuple(robot.v_names)
    np.testing.assert_allclose(model.rate, np.concatenate([v[ind], rates(robot, q, v, tau)[ind]]), atol=1e-9)

    def rate(x, dt=1e-3):
        """Rate of the deviation from the state that moves on by itself, along Taylor's series of the motion."""
        near, speed = moved(robot, q, v, x)
        pushed, plain = rates(robot, near, speed, tau), rates(robot, q, v, tau)
        ends = []
        for s in (-2, -1, 1, 2):
            there = robot.integrate(near, s * dt * speed + (s * dt) ** 2 / 2 * pushed)
            middle = robot.integrate(q, s * dt * v + (s * dt) ** 2 / 2 * plain)
            ends.append(robot.difference(middle, there)[..., ind])
        by_time = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * dt)
        return np.concatenate([by_time, (pushed - plain)[..., ind]], axis=-1)

    h = 1e-3
    f = [rate(k * h * np.eye(n)) for k in (-2, -1, 1, 2)]
    np.testing.assert_allclose(
        (f[0] - 8 * f[1] + 8 * f[2] - f[3]).T / (12 * h), model.A, atol=1e-6 * np.abs(model.A).max()
    )
    push = rates(robot, q, v, tau + np.eye(robot.nv)) - rates(robot, q, v, tau)
    np.testing.assert_allclose(model.B[n // 2 :], push[:, ind].T, atol=1e-9)
    assert not model.B[: n // 2].any()
    both = robot.linearize(np.stack([q, q]), v, np.stack([tau, tau]), friction_speed=0.5)
    np.testing.assert_allclose(both.A[1], model.A, atol=1e-12 * np.abs(model.A).max())


@pytest.mark.slow
def test_steps_at_an_equilibrium_are_those_of_a_simulation():
    """A hanging double pendulum and a five-bar held by its motors: deviations develop as the discrete model says."""
    b = kt.Builder("double pendulum")
    for name, parent in (("upper", "base"), ("lower", "upper")):
        place = (0, 0, 0) if parent == "base" else (0, 0, -1)
        b.body(name, parent, kt.Revolute("y"), position=place, mass=1.0, com=(0, 0, -0.5), damping=0.2, stiffness=1.5)
    pendulum, rod = b.build(), five_bar()
    closed = rod.close([2.0, -1.0, 1.0, 1.0], fixed=["a1_joint", "b1_joint"])
    for robot, q in ((pendulum, np.zeros(2)), (rod, closed)):
        rest = np.zeros(robot.nv)
        tau = robot.inverse_dynamics(q, rest, rest)
        step = 0.05
        model = robot.linearize(q, rest, tau, step)
        assert model.step == step
        np.testing.assert_allclose(model.rate, 0.0, atol=1e-10)
        n, h = model.A.shape[-1], 1e-4
        ends = simulated(robot, *moved(robot, q, rest, np.concatenate([h * np.eye(n), -h * np.eye(n)])), tau, step)
        d = deviation(robot, q, rest, *ends)
        np.testing.assert_allclose((d[:n] - d[n:]).T / (2 * h), model.A, atol=2e-6 * np.abs(model.A).max())
        first = np.eye(robot.nv)[0]
        d = [
            deviation(robot, q, rest, *simulated(robot, q, rest, tau + push, step))
            for push in (0.01 * first, -0.01 * first)
        ]
        np.testing.assert_allclose((d[0] - d[1]) / 0.02, model.B[:, 0], atol=2e-6 * np.abs(model.B).max())


def test_tendons_and_bad_input():
    b = kt.Builder("cart").body("cart", "base", kt.Prismatic("x"), mass=2.0)
    b.body("pole", "cart", kt.Revolute("y"), mass=1.0, com=(0, 0, 0.5))
    b.tendon("line", joints={"cart_joint": 1.0, "pole_joint": 0.5}, damping=0.7)
    robot = b.build()
    q, v, tau = np.array([0.1, 0.2]), np.array([0.5, -0.3]), np.zeros(2)
    found, _ = robot.linearize(q, v, tau)
    h = 1e-6
    ahead, behind = (robot.forward_dynamics(q, v + s * h * np.eye(2), tau, friction=True) for s in (1, -1))
    np.testing.assert_allclose(found[2:, 2:], (ahead - behind).T / (2 * h), atol=1e-8)
    with pytest.raises(kt.OptionError, match="step"):
        robot.linearize(q, v, tau, step=-0.1)


def test_springs_between_points_of_a_mechanism():
    """As a tree and with its coupling: the graph of a kernel multiplies its nodes by dual numbers here."""
    whole, h = lamp(), 1e-5
    for robot, q in ((whole, np.array([0.8, -0.8, 0.2])), (whole.tree, np.array([0.7, -0.5, 0.2]))):
        v = robot.velocities(q, [0.3, -0.2]) if robot.closes_loops else np.array([0.3, 0.1, -0.2])
        model = robot.linearize(q, v, np.zeros(3))
        x = np.concatenate([h * np.eye(len(model.A)), -h * np.eye(len(model.A))])
        states = moved(robot, q, v, x)
        a = robot.forward_dynamics(*states, np.zeros(3), friction=True)
        n, ind = len(x) // 2, list(robot.coordinates.independent) if robot.closes_loops else [0, 1, 2]
        slope = (a[:n, ind] - a[n:, ind]).T / (2 * h)
        np.testing.assert_allclose(model.A[n // 2 :], slope, atol=1e-6 * np.abs(slope).max())


def test_forces_are_part_of_the_model():
    """By differences of the accelerations of a simulation, and of forward dynamics with the forces added."""
    b = kt.Builder("arm")
    for name, parent in (("upper", "base"), ("lower", "upper")):
        b.body(
            name, parent, kt.Revolute("y"), position=(0, 0, -0.5), mass=1.0, com=(0, 0, -0.3), inertia=(0.1, 0.1, 0.1)
        )
    arm = b.build()
    spring = kt.forces.JointSpring("lower_joint", stiffness=4.0, damping=0.3, rest=0.1)
    rope = kt.forces.PointSpring(
        ("base", (1.0, 0, 0)), ("lower", (0, 0, -0.6)), stiffness=30.0, damping=2.0, length=0.4
    )
    forces = [spring, rope, kt.forces.Drag("lower", quadratic=0.5), lambda t, q, v: [t - 0.1 * v[0] ** 3, -q[1] * q[0]]]
    q, v, tau = np.array([0.3, -0.4]), np.array([0.5, 0.2]), np.array([1.0, 2.0])

    simulator = kt.Simulator(arm, forces=forces, controller=lambda t, a, b: tau, integrator="euler", step=1.0)

    def accelerations(q, v):
        return simulator.run(q, v, time=0.0).a[0]

    model, h = arm.linearize(q, v, tau, forces=forces), 1e-5
    assert np.allclose(model.rate[2:], accelerations(q, v), atol=1e-10)
    for k in range(2):
        aside = h * np.eye(2)[k]
        by_q = (accelerations(q + aside, v) - accelerations(q - aside, v)) / (2.0 * h)
        by_v = (accelerations(q, v + aside) - accelerations(q, v - aside)) / (2.0 * h)
        assert np.allclose(model.A[2:, [k, 2 + k]], np.stack([by_q, by_v], axis=1), atol=1e-6)
    later = arm.linearize(q, v, tau, forces=forces, time=2.0)
    assert np.allclose(later.rate[2:] - model.rate[2:], model.B[2:, 0] * 2.0)
    with pytest.raises(OptionError, match="forces must be force elements"):
        arm.linearize(q, v, tau, forces=[3.0])


def test_forces_are_part_of_the_model_of_a_mechanism():
    robot, rng = five_bar(), np.random.default_rng(2)
    q = robot.close([2.0, -1.0, 1.0, 1.0], fixed=["a1_joint", "b1_joint"])
    v = robot.velocities(q, rng.uniform(-1.0, 1.0, len(robot.coordinates.independent)))
    tau, k = rng.uniform(-1.0, 1.0, robot.nv), rng.uniform(-5.0, 5.0, (robot.nv, robot.nv))

    def force(t, q, v):
        return [sum(k[i, j] * q[j] * v[j] + k[j, i] * q[j] for j in range(robot.nv)) for i in range(robot.nv)]

    model = robot.linearize(q, v, tau, forces=force)
    n, ind, h = len(model.states), list(robot.coordinates.independent), 1e-6

    def rates(x):
        there, going = (y[0] for y in moved(robot, q, v, x[None]))
        return robot.forward_dynamics(there, going, tau + np.array(force(0.0, there, going)))[ind]

    for j in range(n):
        x = h * np.eye(n)[j]
        assert np.allclose(model.A[n // 2 :, j], (rates(x) - rates(-x)) / (2.0 * h), rtol=1e-5, atol=1e-4)


def test_springs_between_bodies_that_a_gear_couples():
    """A tendon through points of moving bodies and a motor, whose friction has an absolute value in it."""
    b, solid = kt.Builder("lamp"), {"mass": 1.0, "com": (0.02, 0.0, 0.2), "inertia": (0.05, 0.05, 0.04)}
    b.body("lower", "base", kt.Revolute("y"), **solid)
    b.body("upper", "lower", kt.Revolute("y"), position=(0, 0, 0.4), **solid)
    b.body("shade", "upper", kt.Revolute("y"), position=(0, 0, 0.4), **solid)
    b.tendon("spring", points=[("base", (0.3, 0, 0)), ("lower", (0.05, 0, 0.1)), ("shade", (0, 0, 0.1))],
             stiffness=120.0, rest=0.3)  # fmt: skip
    b.tendon("slack", points=[("lower", (0.3, 0, 0)), ("shade", (0.05, 0, 0.1))], stiffness=50.0, rest=(0.0, 3.0))
    b.coupling("belt", "shade_joint", {"lower_joint": -0.7})
    robot, rng, h = b.build().with_backend("compiled"), np.random.default_rng(3), 1e-5
    motor = kt.forces.Motor("lower_joint", signal=0.5, stall_torque=3.0, no_load_speed=4.0, rubbing=0.1)
    q = robot.close([0.3, 0.5, 0.0], fixed=["lower_joint", "upper_joint"])
    v = robot.velocities(q, rng.normal(size=2))
    model, ind = robot.linearize(q, v, np.zeros(3), forces=motor), list(robot.coordinates.independent)

    def rates(x):
        there, going = (y[0] for y in moved(robot, q, v, x[None]))
        push = motor.loads(robot.model, 0.0, list(there), list(going))[1]
        return robot.forward_dynamics(there, going, np.array(push))[ind]

    differences = [(rates(h * x) - rates(-h * x)) / (2.0 * h) for x in np.eye(4)]
    np.testing.assert_allclose(model.A[2:], np.transpose(differences), atol=1e-6)
