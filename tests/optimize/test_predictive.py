"""Feedback along plans and predictive control, judged by Riccati's closed form and by what the robots do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import solve_discrete_are

import kinetree as kt
from kinetree_optimize.held_friction import with_friction_held

o = kt.optimize
AT_REST = o.Velocities(at="end")
UP = [0.0, np.pi]


def compiled(builder):
    return kt.Robot(builder.build().model, backend="compiled")


def block(**options):
    made = kt.Builder("block").body("block", "base", kt.Prismatic("x"), mass=2.0, joint_name="track", **options)
    return compiled(made)


def cart_pole():
    made = kt.Builder("cart-pole")
    made.body("cart", "base", kt.Prismatic("x"), mass=1.0, joint_name="track", effort_limit=20.0)
    made.body("pole", "cart", kt.Revolute("y"), mass=0.3, com=(0, 0, -0.5), joint_name="hinge", actuated=False)
    return compiled(made)


def swing_up():
    costs = [o.Effort(weight=1e-2), o.Positions(UP, weight=0.1)]
    limits = ["torques", o.Positions(UP, at="end"), AT_REST]
    return kt.optimize(cart_pole(), horizon=2.0, step=0.02, costs=costs, limits=limits)


def test_tvlqr_far_from_the_end_is_the_lqr_of_discrete_time():
    plan = kt.optimize(block(), [0.0], horizon=10.0, step=0.02, costs=[o.Effort()], limits=[])
    found = o.tvlqr(plan, positions=3.0, velocities=0.5, efforts=0.2)
    h = 0.02
    a, b = np.array([[1.0, h], [0.0, 1.0]]), np.array([[h * h], [h]]) / 2.0
    p = solve_discrete_are(a, b, h * np.diag([3.0, 0.5]), [[h * 0.2]])
    gain = np.linalg.solve(h * 0.2 + b.T @ p @ b, b.T @ p @ a)
    assert_allclose(found.gains[0], -gain, rtol=1e-6)


def test_tvlqr_takes_no_coulomb_friction_for_a_damper():
    """At rest, 4 N smoothed at 0.01 m/s are 400 N s/m, which a regulator must not count on."""
    options = {"horizon": 1.0, "step": 0.02, "costs": [o.Effort(), o.Velocities()], "limits": []}
    weights = {"positions": 3.0, "velocities": 0.5, "efforts": 0.2}
    rough, free = (kt.optimize(block(damping=0.7, friction=f), [0.0], **options) for f in (4.0, 0.0))
    assert np.array_equal(rough.q, free.q)  # it rests
    wanted = o.tvlqr(free, **weights).gains
    assert_allclose(o.tvlqr(rough, **weights).gains, wanted, rtol=1e-12)
    damped = kt.optimize(block(damping=0.7 + 4.0 / 0.01), [0.0], **options)
    assert_allclose(o.tvlqr(rough, coulomb=True, **weights).gains, o.tvlqr(damped, **weights).gains, rtol=1e-9)
    assert np.abs(wanted[0]).min() > 2.0 * np.abs(o.tvlqr(rough, coulomb=True, **weights).gains[0]).min()


def test_a_moving_plan_keeps_its_coulomb_friction_as_a_force():
    """Where inertia depends on the posture, the slopes of steps know the force; far from rest they are those of old."""
    arm = kt.Builder("arm")
    arm.body("upper", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -0.5), friction=[1.0], joint_name="a")
    arm.body("lower", "upper", kt.Revolute("y"), position=(0, 0, -1), mass=1.0, com=(0, 0, -0.5), joint_name="b",
             damping=0.2, friction=2.0, stribeck=0.5, stribeck_speed=0.3)  # fmt: skip
    problem = o.MotionProblem(
        compiled(arm), horizon=0.1, step=0.01, costs=[o.Effort()], limits=[], friction_speed=1e-3, substeps=2
    )
    q, v, u = np.array([[0.3, 0.8]]), np.array([[1.5, -2.0]]), np.array([[3.0, 1.0]])
    held, own = with_friction_held(problem, q, v), problem.dynamics
    x, t = np.concatenate([q, v], axis=-1), np.zeros(1)
    assert_allclose(held.ends(t, x, u)[:, 0], own.ends(t, x, u)[:, 0], rtol=1e-12)
    steps, old = (d.slopes(t, x, d.ends(t, x, u), u) for d in (held, own))
    assert_allclose(steps, old, atol=2e-5)
    h = 1e-6
    moved = [held.ends(t, x + h * e, u)[:, -1] - held.ends(t, x - h * e, u)[:, -1] for e in np.eye(4)]
    assert_allclose(steps[0, :, :4], np.array(moved)[:, 0].T / (2 * h), atol=1e-8)


@pytest.mark.parametrize("how", ["follow", "tvlqr"])
def test_followers_keep_a_disturbed_swing_up_on_its_plan(how):
    plan = swing_up()
    follower = o.follow(plan) if how == "follow" else o.tvlqr(plan, positions=10.0, velocities=1.0, efforts=0.05)
    options = {"integrator": "semi_implicit_euler", "step": 0.02, "time": 2.0}
    start = [0.02, -0.03]
    robot = plan.problem.robot
    led = kt.simulate(robot, start, controller=kt.control.Sampled(follower, period=0.02), **options)
    held = kt.control.Sampled(lambda t, q, v: np.array([plan.u[min(int(t / 0.02 + 1e-6), 99), 0], 0.0]), period=0.02)
    alone = kt.simulate(robot, start, controller=held, **options)
    off, without = (np.abs(r.q[-1] - UP).max() for r in (led, alone))
    assert off < 0.1 * without
    assert off < 0.05


def test_predictive_control_swings_up_and_stays_there():
    costs = [o.Positions(UP, weight=1.0, at="always"), o.Velocities(weight=0.1, at="always"), o.Effort(weight=1e-2)]
    problem = o.MotionProblem(cart_pole(), horizon=1.0, step=0.02, costs=costs)
    law = kt.control.Predictive(problem, iterations=2)
    controller = kt.control.Sampled(law, period=0.02)
    options = {"integrator": "semi_implicit_euler", "step": 0.02, "time": 4.0}
    record = kt.simulate(problem.robot, [0.0, 0.2], controller=controller, **options)
    assert np.abs(record.q[-1] - UP).max() < 1e-2
    assert np.abs(record.tau).max() <= 20.0
    again = kt.simulate(problem.robot, [0.0, 0.2], controller=controller, **options)
    assert_allclose(again.q, record.q, atol=1e-12)
    assert law.plan.q.shape == (51, 2)


def test_predictive_control_of_a_linear_robot_is_lqr():
    h = 0.02
    costs = [o.Positions([0.0], weight=3.0), o.Velocities(weight=0.5), o.Effort(weight=0.2)]
    problem = o.MotionProblem(block(), horizon=5.0, step=h, costs=costs)
    law = kt.control.Predictive(problem)
    a, b = np.array([[1.0, h], [0.0, 1.0]]), np.array([[h * h], [h]]) / 2.0
    p = solve_discrete_are(a, b, h * np.diag([3.0, 0.5]), [[h * 0.2]])
    gain = np.linalg.solve(h * 0.2 + b.T @ p @ b, b.T @ p @ a)
    x = np.array([[0.4, 0.1], [-1.0, 0.3]])
    for k in range(5):
        u = law.actions(k * h, x[:, :1], x[:, 1:])
        assert_allclose(u, -x @ gain.T, rtol=1e-3)
        x = x @ a.T + u @ b.T + 0.01 * (k % 2)


def test_what_predictive_control_needs_is_said():
    with pytest.raises(kt.OptionError, match=r"takes a kt\.optimize\.MotionProblem"):
        kt.control.Predictive(block())
    plan = kt.optimize(block(), [[0.0], [1.0]], horizon=0.2, costs=[o.Effort()], limits=[])
    with pytest.raises(kt.OptionError, match=r"take plan\.lane"):
        o.follow(plan)
    servo = kt.control.Commanded("position", kp=40.0, kd=1.0)
    problem = o.MotionProblem(block(), horizon=0.2, costs=[o.Effort()], action=servo, limits=[])
    with pytest.raises(kt.OptionError, match="must be torques"):
        kt.control.Predictive(problem)


@pytest.mark.parametrize("horizon", [None, (0.5, 2.0)])
def test_a_free_horizon_is_refused_with_what_finds_it(horizon):
    with pytest.raises(kt.OptionError, match=r"halve an interval until plan\.success turns False"):
        kt.optimize(block(), [0.0], horizon=horizon, costs=[o.Effort()])
