"""Order of convergence of every integrator, measured; what the variational one preserves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk

import kinetree as kt
from helpers.robots import random_state
from kinetree.simulation.integrators.fixed_step_methods import INTEGRATORS

ORDERS = {"euler": 1, "semi_implicit_euler": 1, "implicit_euler": 1, "rk4": 4, "dopri5": 5, "variational": 2,
          "generalized_alpha": 2}  # fmt: skip

LARGEST = {
    "euler": 0.002,
    "semi_implicit_euler": 0.002,
    "implicit_euler": 0.002,
    "rk4": 0.02,
    "dopri5": 0.04,
    "variational": 0.01,
    "generalized_alpha": 0.01,
}
"""First of three steps, each half of the one before."""

ROUNDED = 1e-13
"""What rounding leaves of these errors, on whichever processor."""


def order_of(errors) -> np.ndarray:
    """Orders between steps that are halved, where rounding changes no digit that is looked at."""
    assert min(errors) > 100 * ROUNDED, errors
    return np.log2(np.array(errors[:-1]) / errors[1:])


def swinging() -> kt.Robot:
    """A free body, a ball joint, a hinge and Euler angles, in gravity."""
    rng = np.random.default_rng(4)
    builder = kt.Builder("swinging")
    for i, (parent, kind) in enumerate(
        (("base", kt.Free()), ("b0", kt.Spherical()), ("b1", kt.Revolute("y")), ("b0", kt.EulerSpherical("XYZ")))
    ):
        box = kt.MassProperties.box(1.0 + 0.3 * i, (0.3, 0.2, 0.4), rng.uniform(-0.2, 0.2, 3))
        builder.body(f"b{i}", parent, kind, position=(0.1 * i, 0.2, -0.1), mass_properties=box)
    return builder.build().with_backend("compiled")


TIME = 0.4


@pytest.fixture(scope="module")
def run():
    robot = swinging()
    q, v, _ = random_state(robot, np.random.default_rng(3))
    v *= 0.5

    def far(integrator: str, **options) -> np.ndarray:
        record = kt.simulate(robot, q, v, time=TIME, integrator=integrator, samples=[TIME], **options)
        return np.concatenate([robot.difference(q, record.q[-1]), record.v[-1]]), record.info["steps"]

    exact, _ = far("dop853", rtol=1e-13, atol=1e-14)
    return lambda *args, **options: (np.abs((out := far(*args, **options))[0] - exact).max(), out[1])


@pytest.mark.parametrize("integrator", ORDERS)
def test_fixed_step_integrators_have_their_order(run, integrator):
    errors = [run(integrator, step=LARGEST[integrator] / 2**k)[0] for k in range(3)]
    assert order_of(errors) == pytest.approx(ORDERS[integrator], abs=0.5), errors


@pytest.mark.parametrize(("integrator", "order", "first"), [("rk45", 5, 0.05), ("dop853", 8, 0.2)])
def test_explicit_adaptive_integrators_have_their_order(run, integrator, order, first):
    """With tolerances out of the way every step is the largest allowed."""
    errors = [run(integrator, rtol=1e6, atol=1e6, largest_step=first / 2**k)[0] for k in range(3)]
    assert order_of(errors)[1] == pytest.approx(order, abs=0.7), errors


@pytest.mark.parametrize(("integrator", "least"), [("radau", 3.5), ("bdf", 2.5), ("sundials", 2.5)])
def test_implicit_integrators_converge_fast(run, integrator, least):
    """The order follows from errors and numbers of steps at two tolerances."""
    if integrator == "sundials":
        pytest.importorskip("sksundae")
    (coarse, few), (fine, many) = (run(integrator, rtol=t, atol=t) for t in (1e-5, 1e-9))
    assert np.log(coarse / fine) / np.log(many / few) > least
    assert fine < 1e-6


def test_every_integrator_is_measured():
    assert set(INTEGRATORS) == set(ORDERS) | {"rk45", "dop853", "radau", "bdf", "sundials"}


@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "variational", "semi_implicit_euler"])
def test_the_reference_and_the_machine_code_step_alike(integrator):
    robot = swinging()
    q, v, _ = random_state(robot, np.random.default_rng(3))
    ends = [
        kt.simulate(r, q, v, time=0.02, step=0.005, integrator=integrator)
        for r in (robot, robot.with_backend("reference"))
    ]
    assert ends[0].q == pytest.approx(ends[1].q, abs=1e-12)
    assert ends[0].v == pytest.approx(ends[1].v, abs=1e-11)


# ------------------------------------------------------------------ closed forms


def body(inertia) -> kt.Robot:
    """A free body without gravity."""
    builder = kt.Builder("body", gravity=(0, 0, 0))
    builder.body("body", "base", kt.Free(), mass=1.0, inertia=inertia)
    return builder.build().with_backend("compiled")


def tumble(inertia: tuple[float, float, float], w: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Euler's equations in Jacobi's functions (Landau, Lifshitz, Mechanics, section 37), from w(0) = (w1, 0, w3).

    I1 < I2 < I3. For M^2 > 2 E I2 the body turns about its third axis on the whole:
    w1 = a cn(s), w2 = b sn(s), w3 = c dn(s).
    """
    i1, i2, i3 = inertia
    energy2, m2 = i1 * w[0] ** 2 + i3 * w[2] ** 2, (i1 * w[0]) ** 2 + (i3 * w[2]) ** 2
    assert m2 > energy2 * i2
    k2 = (i2 - i1) * (energy2 * i3 - m2) / ((i3 - i2) * (m2 - energy2 * i1))
    speed = np.sqrt((i3 - i2) * (m2 - energy2 * i1) / (i1 * i2 * i3))
    sn, cn, dn, _ = ellipj(speed * t, k2)
    a = np.sqrt((energy2 * i3 - m2) / (i1 * (i3 - i1)))
    b = np.sqrt((energy2 * i3 - m2) / (i2 * (i3 - i2)))
    c = np.sqrt((m2 - energy2 * i1) / (i3 * (i3 - i1)))
    return np.stack([a * cn, b * sn, c * dn], axis=-1), 4 * ellipk(k2) / speed


INERTIA = (1.0, 2.0, 3.0)


def dzhanibekov() -> np.ndarray:
    """Nearly about the middle axis: a quarter period after passing (w1, 0, w3) the body spins about axis 2."""
    # 2E I2 slightly below M^2: i1 w1^2 (i2 - i1) slightly below i3 w3^2 (i3 - i2)
    return np.array([np.sqrt(3.0), 0.0, 1.0 + 1e-4])


def test_the_dzhanibekov_tumble_follows_jacobis_functions():
    robot, start = body(INERTIA), dzhanibekov()
    _, period = tumble(INERTIA, start, np.zeros(1))
    times = np.linspace(0.0, 1.5 * period, 400)
    expected, _ = tumble(INERTIA, start, times)
    assert expected[:, 1].min() < -1.7  # it does turn over
    assert expected[:, 1].max() > 1.7
    v0 = np.concatenate([start, [0.1, 0.2, 0.3]])
    record = kt.simulate(robot, None, v0, time=times[-1], samples=times, rtol=1e-12, atol=1e-13)
    assert record.v[:, :3] == pytest.approx(expected, abs=1e-7)
    momentum = robot.momentum(record.q, record.v, about="origin")
    assert momentum == pytest.approx(np.broadcast_to(momentum[0], momentum.shape), abs=1e-8)


def test_the_variational_integrator_keeps_momentum_exactly_and_energy_bounded_on_the_tumble():
    robot, start = body(INERTIA), dzhanibekov()
    v0 = np.concatenate([start, [0.1, 0.2, 0.3]])
    record = kt.simulate(robot, None, v0, time=60.0, step=0.02, integrator="variational", samples=301)
    momentum = robot.momentum(record.q, record.v, about="origin")
    assert momentum == pytest.approx(np.broadcast_to(momentum[0], momentum.shape), abs=1e-10)
    error = np.abs(record.energy.error)
    assert error.max() < 1e-3 * record.energy.kinetic[0]
    assert error[-100:].max() < 1.5 * error[:100].max()


def test_a_ball_joint_passes_gimbal_lock_like_any_other_place():
    """A torque-free symmetric top: precession about the momentum and spin about the axis, both steady.

    It starts level and pitches through 90 degrees, where Euler angles X, Y, Z lock.
    """
    builder = kt.Builder("top", gravity=(0, 0, 0))
    builder.body("top", "base", kt.Spherical(), mass=1.0, inertia=(1.0, 1.0, 1.8))
    robot = builder.build().with_backend("compiled")
    w = np.array([0.0, 3.0, 0.4])
    turn = Rotation.from_euler("XYZ", [0.2, 0.1, -0.3])
    times = np.linspace(0.0, 5.0, 201)
    momentum = turn.apply(np.array([1.0, 1.0, 1.8]) * w)
    spin = w[2] * (1.0 - 1.8)
    expected = [Rotation.from_rotvec(t * momentum) * turn * Rotation.from_rotvec([0, 0, t * spin]) for t in times]
    pitches = np.array([r.as_euler("XYZ")[1] for r in expected])
    assert np.abs(pitches).max() > np.radians(85)  # it does come near
    record = kt.simulate(robot, turn.as_quat(), w, time=5.0, samples=times, rtol=1e-12, atol=1e-12)
    off = [(Rotation.from_quat(q).inv() * r).magnitude() for q, r in zip(record.q, expected, strict=True)]
    assert max(off) < 1e-9
    coarse = kt.simulate(robot, turn.as_quat(), w, time=5.0, samples=times, step=0.005, integrator="rk4")
    off = [(Rotation.from_quat(q).inv() * r).magnitude() for q, r in zip(coarse.q, expected, strict=True)]
    assert max(off) < 1e-7


# ------------------------------------------------------------------ symplectic


def double_pendulum() -> kt.Robot:
    rod = kt.MassProperties.rod(1.0, (0, 0, 0), (0, 0, -1))
    builder = kt.Builder("double pendulum")
    builder.body("upper", "base", kt.Revolute("y"), mass_properties=rod)
    builder.body("lower", "upper", kt.Revolute("y"), position=(0, 0, -1), mass_properties=rod)
    return builder.build().with_backend("compiled")


def test_the_variational_step_is_symplectic():
    """The step as a map of (q, p) keeps the area form: D^T J D = J."""
    robot, h = double_pendulum(), 0.05
    simulator = kt.Simulator(robot, integrator="variational", step=h, works=False)

    def one(x: np.ndarray) -> np.ndarray:
        q, p = x[:2], x[2:]
        record = simulator.run(q, np.linalg.solve(robot.mass_matrix(q), p), time=h)
        return np.concatenate([record.q[-1], robot.mass_matrix(record.q[-1]) @ record.v[-1]])

    x, e = np.array([0.7, -0.4, 1.1, 0.3]), 1e-4
    slope = np.stack([(one(x + e * d) - one(x - e * d)) / (2 * e) for d in np.eye(4)], axis=1)
    form = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    assert slope.T @ form @ slope == pytest.approx(form, abs=1e-7)
    assert np.abs(slope - np.eye(4)).max() > 0.1  # and it is no trivial map


@pytest.mark.slow
def test_a_thousand_seconds_of_a_double_pendulum_keep_the_energy_bounded():
    robot = double_pendulum()
    record = kt.simulate(
        robot, [1.0, 1.5], time=1000.0, step=0.01, integrator="variational", samples=10001, works=False, progress=False
    )
    energy = record.energy.mechanical
    error = np.abs(energy - energy[0])
    assert error.max() < 0.02 * np.ptp(record.energy.kinetic)
    first, last = error[:1000].max(), error[-1000:].max()
    assert last < 2.0 * first  # bounded: no drift over a hundred thousand steps


@pytest.mark.parametrize(("backend", "speed", "time"), [("reference", -60.0, 0.08), ("compiled", 0.0, 6.0)])
def test_a_variational_run_goes_on_however_fast_a_spinning_body_falls(backend, speed, time):
    robot = kt.Builder("f").body("a", "base", kt.Free(), mass=2.0, inertia=(0.1, 0.2, 0.3)).build()
    robot, v0 = robot.with_backend(backend), [0.3, -0.5, 0.6, 1.0, -2.0, speed]
    record = kt.simulate(robot, None, v0, time=time, integrator="variational", step=0.02, samples=5, works=False)
    assert record.status == "complete"
    began = robot.center_of_mass_velocity(record.q[0], record.v[0])
    fall = record.time[:, None] * began + 0.5 * record.time[:, None] ** 2 * np.array([0.0, 0.0, -9.81])
    assert np.abs(robot.center_of_mass(record.q) - fall).max() < 0.02  # of 180 m


def test_a_massless_tip_is_refused_to_the_variational_integrator():
    b = kt.Builder("m").body("a", "base", kt.Revolute("x"), mass=1.0, com=(0, 0, -1))
    robot = b.body("tip", "a", kt.Revolute("x"), position=(0, 0, -1)).build()
    with pytest.raises(kt.SingularError, match="joint 'tip_joint' moves body 'tip'"):
        kt.simulate(robot, [0.1, 0.1], time=0.1, integrator="variational", step=0.01)


def test_forces_held_for_some_steps_are_those_of_these_steps():
    """Where forces jump at the end of a step, that step has the ones before: a cart's motion is exact to rounding."""
    cart = kt.Builder("cart").body("cart", "base", kt.Prismatic("x"), mass=2.0).build()
    push, held = np.array([1.0, -3.0, 5.0, -2.0, 4.0, 0.5, -7.0, 3.0]), 0.3  # whose sums round either way
    times = held * np.arange(len(push) + 1)
    q, v = [0.0], [0.0]
    for a in push / 2.0:
        q.append(q[-1] + held * v[-1] + 0.5 * held**2 * a)
        v.append(v[-1] + held * a)
    table = kt.control.TorqueTable(times, np.append(push, 0.0), kind="step")
    as_a_law = kt.control.Law(lambda t, q, v: [sum(f * kt.where((t >= a) & (t < a + held), 1.0, 0.0)
                                                   for f, a in zip(push, times, strict=False))])  # fmt: skip
    outside = kt.forces.JointPush("cart_joint", kt.trajectories.Function(
        lambda t: [sum(f * kt.where((t >= a) & (t < a + held), 1.0, 0.0) for f, a in zip(push, times, strict=False))]
    ))  # fmt: skip
    index = lambda t, q, v: [push[int(t / held)] if t < times[-1] else 0.0]  # noqa: E731
    for integrator, given in (
        ("dopri5", {"controller": table}), ("rk4", {"controller": table}), ("rk4", {"controller": as_a_law}),
        ("rk4", {"forces": outside}), ("rk4", {"controller": index}),
    ):  # fmt: skip
        run = kt.simulate(cart, time=times[-1], integrator=integrator, step=0.1, samples=times, **given)
        assert np.allclose(run.q[:, 0], q, rtol=0.0, atol=1e-12)
        assert np.allclose(run.v[:, 0], v, atol=1e-12)
