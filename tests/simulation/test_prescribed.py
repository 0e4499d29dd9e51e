"""Prescribed motion: closed forms, momentum, hybrid and forward dynamics, batches, bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from kinetree_gallery.systems.walking_machine import walker

SWING = kt.trajectories.Sine([0.2, -0.4], [0.5, 0.8], [0.7, 1.1])


def probe(gravity=(0, 0, 0), **options) -> kt.Robot:
    """A free body with two arms on skew hinges; damping in the second."""
    builder = kt.Builder("probe", gravity=gravity)
    builder.body("hull", "base", kt.Free(), joint_name="base_joint", mass=5, inertia=(0.3, 0.5, 0.4), com=(0.1, 0, 0))
    builder.body(
        "upper",
        "hull",
        kt.Revolute("y"),
        joint_name="upper",
        position=(0.2, 0.1, 0),
        mass=1,
        com=(0.3, 0, 0),
        inertia=(0.1, 0.1, 0.1),
    )
    builder.body(
        "lower",
        "upper",
        kt.Revolute((1, 2, 0)),
        joint_name="lower",
        position=(0.5, 0, 0),
        mass=0.5,
        com=(0, 0.2, 0),
        damping=0.3,
        **options,
    )
    return builder.build().with_backend("compiled")


def hopper() -> kt.Robot:
    """A trunk on a vertical guide without motor, and a leg that slides out of it."""
    builder = kt.Builder("hopper")
    builder.body("trunk", "base", kt.Prismatic("z"), joint_name="height", mass=3, actuated=False)
    builder.body("leg", "trunk", kt.Prismatic("z"), joint_name="leg", mass=0.5)
    return builder.build().with_backend("compiled")


def soil() -> kt.ground.Ground:
    return kt.ground.Ground([kt.ground.Spot("leg", (0, 0, -0.5))], kt.ground.HuntCrossley(2e4, 0.8))


def test_a_wheel_turns_its_carrier_the_other_way():
    """I_hull psi' + I_wheel (psi' + phi') = 0."""
    builder = kt.Builder("carrier", gravity=(0, 0, 0))
    builder.body("hull", "base", kt.Free(), mass=4, inertia=(1, 1, 2))
    builder.body("wheel", "hull", kt.Revolute("z"), joint_name="spin", mass=1, inertia=(0.3, 0.3, 0.5))
    turn = kt.trajectories.Quintic([0.0], [3.0], 2.0)
    record = kt.simulate_prescribed(builder.build().with_backend("compiled"), turn, time=2.0, samples=21)
    angle = 2.0 * np.arctan2(record.q[:, 2], record.q[:, 3])
    phi, _, acceleration = turn(record.time)
    assert angle == pytest.approx(-0.2 * phi[:, 0], abs=1e-9)
    assert record.q[:, 7:] == pytest.approx(phi, abs=1e-12)
    assert record.tau[:, 6] == pytest.approx(2.0 * 0.5 / 2.5 * acceleration[:, 0], abs=1e-9)
    assert record.energy.actuators == pytest.approx(record.energy.kinetic, abs=1e-7)


def test_free_in_space_momentum_stays_and_every_sample_is_hybrid_dynamics():
    robot = probe()
    start = np.array([0, 0, 0, 1, 1, 2, 3.0]), np.array([0.1, -0.2, 0.3, 0.4, 0.5, -0.6])
    record = kt.simulate_prescribed(robot, SWING, *start, time=1.5, samples=16, rtol=1e-10, atol=1e-12)
    momentum = robot.momentum(record.q, record.v)
    assert np.abs(momentum - momentum[0]).max() < 1e-8
    assert record.energy.relative_error < 1e-9
    assert record.energy.friction[-1] < -0.01
    q, v, a = SWING(record.time)
    assert np.allclose(record.q[:, 7:], q, rtol=0, atol=1e-14)
    assert np.allclose(record.v[:, 6:], v, rtol=0, atol=1e-14)
    asked = {"upper": a[:, :1], "lower": a[:, 1:]}
    wanted_a, wanted_tau = robot.hybrid_dynamics(record.q, record.v, a=asked)
    assert np.allclose(record.a, wanted_a, atol=1e-9)
    assert np.allclose(record.tau + record.friction, wanted_tau, atol=1e-9)
    again = robot.forward_dynamics(record.q, record.v, record.tau, friction=True)
    assert np.allclose(record.a, again, atol=1e-8)


def test_on_the_ground_it_is_what_computed_torque_does_and_batches_are_their_lanes():
    robot, push = hopper(), kt.trajectories.Sine([-0.1], [0.05], [2.0])
    ground = soil()
    options = {"time": 1.0, "ground": ground, "samples": 11}
    record = kt.simulate_prescribed(robot, push, [0.62], **options, integrator="radau")
    law = kt.control.ComputedTorque(push, 0.0, 0.0, senses=[ground])
    again = kt.simulate(robot, record.q[0], record.v[0], controller=law, integrator="radau", **options)
    with pytest.warns(
        kt.KinetreeWarning, match=r"assumes that it is falling: ComputedTorque\(\.\.\., senses=\[ground\]\)"
    ):
        kt.Simulator(robot, controller=kt.control.Saturated(replace(law, senses=()), 1e3), ground=ground)
    assert record.contact_forces[:, 0, 2].max() > 30.0
    assert np.allclose(record.q, again.q, atol=1e-6)
    assert np.allclose(record.tau, again.tau, atol=1e-3 * np.abs(again.tau).max())
    assert record.energy.relative_error < 1e-6
    heights = np.array([[0.62], [0.7], [0.65]])
    many = kt.simulate_prescribed(robot, push, heights, [0.1], integrator="rk4", step=5e-4, works=True, **options)
    alone = kt.simulate_prescribed(robot, push, heights[1], [0.1], integrator="rk4", step=5e-4, **options)
    assert many.q.shape == (11, 3, 2)
    assert np.allclose(many.q[:, 1], alone.q, atol=1e-12)
    assert np.allclose(many.energy.total[:, 1], alone.energy.total, atol=1e-9)
    lost = np.array([[0.62], [np.nan]])
    apart = kt.simulate_prescribed(robot, push, lost, [0.1], integrator="rk4", step=5e-4, **options)
    assert np.allclose(apart.q[:, 0], many.q[:, 0], atol=1e-10)
    assert np.isnan(apart.q[:, 1, 0]).all()


def test_a_long_table_is_looked_up_outside_of_machine_code():
    robot, t = hopper(), np.linspace(0.0, 0.5, 501)
    push = kt.trajectories.Sine([-0.1], [0.05], [2.0])
    table = kt.trajectories.sampled(t, *push(t))
    options = {"time": 0.5, "ground": soil(), "integrator": "rk4", "step": 1e-3, "samples": 6}
    heights = np.array([[0.62], [0.7]])
    short, long = (kt.simulate_prescribed(robot, x, heights, **options) for x in (push, table))
    assert np.allclose(short.q, long.q, atol=1e-7)
    assert np.allclose(short.tau, long.tau, atol=1e-4 * np.abs(short.tau).max())


def test_a_pivot_that_is_shaken():
    """l x'' = -(g + z'') sin x; what shakes it is a force at a joint without motor."""
    builder = kt.Builder("kapitza")
    builder.body("slide", "base", kt.Prismatic("z"), joint_name="pivot", mass=1, actuated=False)
    builder.body("bob", "slide", kt.Revolute("y"), joint_name="hinge", mass=2, com=(0, 0, -0.5), actuated=False)
    robot, shake = builder.build().with_backend("compiled"), kt.trajectories.Sine([0.0], [0.02], [20.0])
    record = kt.simulate(robot, [0.0, 3.0], prescribed=kt.Prescribed(shake, ["pivot"]), v0=[0.04 * np.pi * 20, 0.0],
                         time=1.0, samples=11, rtol=1e-10, atol=1e-12)  # fmt: skip

    def fall(t, y):
        return [y[1], -(9.81 + shake(t)[2][0]) * np.sin(y[0]) / 0.5]

    judged = solve_ivp(fall, (0, 1), [3.0, 0.0], t_eval=record.time, rtol=1e-11, atol=1e-12, method="DOP853")
    assert np.allclose(record.q[:, 1], judged.y[0], atol=1e-7)
    rate = robot.momentum_rate(record.q, record.v, record.a)[:, 5]
    assert np.allclose(record.tau[:, 0], rate + 3 * 9.81, atol=1e-8)
    assert np.all(record.tau[:, 1] == 0.0)


def test_steps_that_end_where_legs_change_see_one_leg_at_a_time():
    """Fixed steps ask for the motion just where a step ends, in machine code: rounding must not mix two steps."""
    m = walker("biped-planar")
    robot = m.robot.with_backend("compiled")
    with pytest.warns(kt.KinetreeWarning, match="'biped-planar' has fallen"):
        record = kt.simulate_prescribed(
            robot, m.walk, *m.base_start(), time=4.0, integrator="euler", step=0.5, works=False
        )
    before, after = (m.walk(record.time + side)[0] for side in (-1e-9, 1e-9))
    assert np.allclose(before[1:], after[1:], atol=1e-7)
    assert np.allclose(record.q[:, 6:], after, atol=1e-6)


def test_followers_go_with_their_leader():
    robot = probe(mimic=kt.Mimic("upper", 0.5))
    alone = kt.trajectories.Sine([0.2], [0.5], [0.7])
    record = kt.simulate_prescribed(robot, alone, time=0.5, samples=3, friction=False)
    momentum = robot.momentum(record.q, record.v)
    assert np.abs(momentum - momentum[0]).max() < 1e-8
    assert record.energy.relative_error < 1e-8


FINE = {"time": 0.1, "prescribed": SWING}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"prescribed": kt.trajectories.Sine([0.2], [0.5], [0.7])}, "2 driven ones"),
        ({"prescribed": 3.0}, "one of kinetree.trajectories"),
        ({"prescribed": kt.Prescribed(SWING, ["upper", "elbow"])}, "did you mean|no joint named 'elbow'"),
        ({"prescribed": kt.Prescribed(SWING, ["upper", "upper"])}, "twice"),
        ({"controller": kt.control.GravityCompensation()}, "together with a prescribed motion"),
        ({"integrator": "variational", "step": 0.01}, "cannot be stepped by 'variational'"),
        ({"q0": [0, 0, 0, 1, 0, 0, 0, 0.3, -0.4]}, "joint 'upper' 0.1 off the motion"),
        ({"prescribed": kt.trajectories.Quintic([0, 0], [1, 1], 0.05)}, "trajectory ends here"),
    ],
)
def test_bad_input(given, words):
    with pytest.raises(kt.KinetreeError, match=words):
        kt.simulate(probe(), **FINE | given)


def test_what_cannot_be_prescribed():
    with pytest.raises(kt.ShapeError, match=r"moves 2 degrees of freedom; robot .* has 1 driven ones"):
        kt.simulate_prescribed(kt.gallery.load("four-bar"), SWING, time=1.0)
    with pytest.raises(kt.UnsupportedError, match="closed loops, so the motion determines"):
        kt.simulate_prescribed(kt.gallery.load("four-bar"), kt.trajectories.Constant([0.1]), [0.1, 0.2], time=1.0)
    with pytest.raises(kt.ShapeError, match=r"q0 must have shape \(..., 7\) .*base_joint"):
        kt.simulate_prescribed(probe(), SWING, [0.0], time=1.0)
    with pytest.raises(kt.OptionError, match="mimics another"):
        kt.simulate_prescribed(probe(mimic=kt.Mimic("upper", 0.5)), SWING, joints=["lower"], time=1.0)
