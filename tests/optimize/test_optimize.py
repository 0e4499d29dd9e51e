"""Optimal motions, judged by closed forms and by Ipopt on the same discretized problem."""

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import kinetree as kt

o = kt.optimize


def compiled(builder):
    return kt.Robot(builder.build().model, backend="compiled")


def block():
    """Return a mass of 2 kg on a frictionless track."""
    return compiled(kt.Builder("block").body("block", "base", kt.Prismatic("x"), mass=2.0, joint_name="track"))


def cart_pole():
    made = kt.Builder("cart-pole")
    made.body("cart", "base", kt.Prismatic("x"), mass=1.0, joint_name="track", effort_limit=20.0)
    made.body("pole", "cart", kt.Revolute("y"), mass=0.3, com=(0, 0, -0.5), joint_name="hinge", actuated=False)
    return compiled(made)


AT_REST = o.Velocities(at="end")


def test_a_linear_problem_is_the_riccati_recursion():
    h, nodes, q_weight, v_weight, u_weight = 0.05, 40, 3.0, 0.5, 0.2
    costs = [o.Positions([0.0], weight=q_weight, at="always"), o.Velocities(weight=v_weight), o.Effort(weight=u_weight)]
    plan = kt.optimize(block(), [1.0], [-0.3], horizon=h * nodes, step=h, costs=costs, tolerance=1e-9)
    a, b = np.array([[1.0, h], [0.0, 1.0]]), np.array([[h * h], [h]]) / 2.0
    value = np.diag([q_weight, 0.0])
    gains = []
    for _ in range(nodes):
        gain = np.linalg.solve(np.eye(1) * u_weight * h + b.T @ value @ b, b.T @ value @ a)
        value = np.diag([q_weight, v_weight]) * h + a.T @ value @ (a - b @ gain)
        gains.append(gain)
    x = np.array([1.0, -0.3])
    assert_allclose(plan.cost, x @ value @ x, rtol=1e-12)
    assert_allclose(plan.gains[0], -gains[-1], rtol=1e-9)
    for k, gain in enumerate(reversed(gains)):
        assert_allclose(plan.u[k], -gain @ x, atol=1e-9)
        x = a @ x - (b * (gain @ x))[:, 0]
    assert plan.success
    assert plan.iterations <= 3


@pytest.mark.parametrize("most", [9.0, 20.0])
def test_limited_effort_of_a_double_integrator_meets_its_end(most):
    # least effort from rest to rest: linear in time, and clipped where the motor gives no more
    nodes, h = 100, 0.01
    end = [o.Positions([1.0], at="end"), AT_REST]
    limits = {"limits": end, "action_limits": (-most, most), "tolerance": 1e-8}
    plan = kt.optimize(block(), horizon=1.0, step=h, costs=[o.Effort()], **limits)
    assert plan.success, plan
    assert_allclose(plan.q[-1], [1.0], atol=1e-6)
    assert_allclose(plan.v[-1], [0.0], atol=1e-6)
    a, b = np.array([[1.0, h], [0.0, 1.0]]), np.array([h * h, h]) / 2.0
    reach = np.array([np.linalg.matrix_power(a, nodes - 1 - k) @ b for k in range(nodes)]).T
    u = ca.Opti()
    free = u.variable(nodes)
    u.minimize(h * ca.sumsqr(free))
    u.subject_to(reach @ free == np.array([1.0, 0.0]))
    u.subject_to(u.bounded(-most, free, most))
    u.solver("ipopt", {"ipopt.print_level": 0, "print_time": 0, "ipopt.tol": 1e-11})
    assert_allclose(plan.u[:, 0], u.solve().value(free), atol=2e-4 * most)
    assert_allclose(plan.cost, u.solve().value(u.f), rtol=1e-6)
    assert bool(plan.saturated) == (most < 12.0)


def rk_free_cart_pole(x, u, h):
    """Return a semi-implicit step of the cart-pole, from its textbook equations."""
    m, p, g = 1.0, 0.3, 9.81
    ell, s, c = 0.5, ca.sin(x[1]), ca.cos(x[1])
    # the pole's center is at (x - l sin, -l cos)
    mass = ca.blockcat([[m + p, -p * ell * c], [-p * ell * c, p * ell**2]])
    force = ca.vertcat(u - p * ell * s * x[3] ** 2, -p * g * ell * s)
    v = x[2:] + h * ca.solve(mass, force)
    return ca.vertcat(x[:2] + h * v, v)


def ipopt_swing_up(nodes, h, start):
    opti = ca.Opti()
    x, u = opti.variable(4, nodes + 1), opti.variable(1, nodes)
    cost = 0
    for k in range(nodes):
        opti.subject_to(x[:, k + 1] == rk_free_cart_pole(x[:, k], u[k], h))
        cost += h * (1e-2 * u[k] ** 2 + 0.1 * (x[0, k] ** 2 + (x[1, k] - np.pi) ** 2))
    opti.minimize(cost)
    opti.subject_to(x[:, 0] == 0)
    opti.subject_to(x[:, -1] == np.array([0, np.pi, 0, 0]))
    opti.subject_to(opti.bounded(-20.0, u, 20.0))
    opti.set_initial(x, start.T)
    opti.solver("ipopt", {"ipopt.print_level": 0, "print_time": 0, "ipopt.tol": 1e-10})
    found = opti.solve()
    return found.value(opti.f), found.value(u)


def test_swing_up_equals_ipopt():
    up, nodes, h = [0.0, np.pi], 50, 0.04
    costs, limits = (
        [o.Effort(weight=1e-2), o.Positions(up, weight=0.1)],
        ["torques", o.Positions(up, at="end"), AT_REST],
    )
    plan = kt.optimize(cart_pole(), horizon=nodes * h, step=h, costs=costs, limits=limits, tolerance=1e-8)
    assert plan.success, plan
    assert_allclose(plan.q[-1], up, atol=1e-7)
    assert np.abs(plan.u).max() <= 20.0
    cost, u = ipopt_swing_up(nodes, h, np.concatenate([plan.q, plan.v], axis=1))
    assert_allclose(plan.cost, cost, rtol=1e-6)
    assert_allclose(plan.u[:, 0], u, atol=1e-3)


def test_plan_is_what_the_world_does():
    up = [0.0, np.pi]
    robot = cart_pole()
    plan = kt.optimize(robot, horizon=1.0, step=0.02, costs=[o.Effort(weight=1e-2), o.Positions(up)], iterations=5)
    world = kt.World(robot, step=0.02)
    for u in plan.u:
        world.step(u)
    assert_allclose(world.q[0], plan.q[-1], atol=1e-10)
    record = plan.record()
    assert_allclose(record.q, plan.q, atol=1e-14)
    assert_allclose(record.tau[:-1, 0], plan.u[:, 0], atol=1e-12)
    assert record.status == plan.status == "out of iterations"


def test_batches_are_their_plans_one_by_one():
    starts = np.array([[0.0, 0.1], [0.2, -0.3], [0.0, 1.0]])
    costs = [o.Effort(weight=1e-2), o.Positions([0.0, np.pi], weight=0.1)]
    problem = o.MotionProblem(cart_pole(), horizon=1.0, step=0.02, costs=costs, tolerance=1e-5)
    together = problem.solve(starts)
    assert together.q.shape == (51, 3, 2)
    for k, start in enumerate(starts):
        alone = problem.solve(start)
        assert alone.status == together.status[k] == "optimal"
        assert_allclose(together.cost[k], alone.cost, rtol=1e-8)
        assert together.lane(k).cost == together.cost[k]


def test_velocity_limits_hold_and_are_named():
    made = kt.Builder("fast").body("block", "base", kt.Prismatic("x"), mass=2.0, joint_name="track", velocity_limit=1.2)
    end = [o.Positions([1.0], at="end"), AT_REST]
    plan = kt.optimize(compiled(made), horizon=1.0, costs=[o.Effort()], limits=["velocities", *end])
    assert plan.success
    assert plan.v.max() <= 1.2 + 2e-6
    assert plan.v.max() > 1.2 - 1e-5
    assert {x.name for x in plan.limits} == {"velocity limit of track", "velocity of track", "position of track"}
    assert "velocity limit of track" in str(plan)
    assert not plan.violations


def test_price_of_a_limit_is_the_slope_of_the_cost():
    def best(most):
        made = kt.Builder("a").body("block", "base", kt.Prismatic("x"), mass=2.0, joint_name="track",
                                    velocity_limit=most)  # fmt: skip
        limits = ["velocities", o.Positions([1.0], at="end"), AT_REST]
        return kt.optimize(compiled(made), horizon=1.0, step=0.02, costs=[o.Effort()], limits=limits, tolerance=1e-8)

    price = sum(x.price for x in best(1.2).limits if x.name == "velocity limit of track")
    assert_allclose(price, (best(1.1999).cost - best(1.2001).cost) / 2e-4, rtol=1e-4)


def test_impossible_limits_are_named_with_the_least_violation():
    # a meter in a second from rest to rest needs 8 N at least
    end = [o.Positions([1.0], at="end"), AT_REST]
    plan = kt.optimize(block(), horizon=1.0, costs=[o.Effort()], limits=end, action_limits=(-5.0, 5.0))
    assert plan.status == "limits cannot be met"
    worst = plan.violations[0]
    assert worst.name in ("position of track", "velocity of track")
    assert worst.node == 100
    # the least sum of squares of what is left at the end
    a, b = np.array([[1.0, 0.01], [0.0, 1.0]]), np.array([1e-4, 1e-2]) / 2.0
    reach = np.array([np.linalg.matrix_power(a, 99 - k) @ b for k in range(100)]).T
    from scipy.optimize import lsq_linear

    least = lsq_linear(reach, [1.0, 0.0], (-5.0, 5.0), tol=1e-14)
    assert_allclose([plan.q[-1, 0] - 1.0, plan.v[-1, 0]], least.fun, atol=1e-5)
    assert "not kept" in str(plan)
    assert "limits cannot be met" in repr(plan)


def test_loops_are_closed_at_every_node_and_slopes_are_those_of_closed_motions():
    four_bar = kt.load("four-bar").with_backend("compiled")
    q0 = four_bar.assembled()
    turned = o.Residual(lambda m: m.q[0] - (q0[0] + 0.7), name="crank", at="end")
    plan = kt.optimize(four_bar, q0, horizon=0.5, costs=[o.Effort()], limits=[turned, AT_REST])
    assert plan.success
    assert np.abs(four_bar.closure_error(plan.q)).max() < 1e-12
    assert_allclose(plan.q[-1, 0], q0[0] + 0.7, atol=1e-6)
    assert_allclose(plan.record().constraint_forces.shape, (51, len(four_bar.constraint_names)))
    # no other actions that end there cost less: actions moved along the null space of where it ends
    d = plan.problem.dynamics
    rng = np.random.default_rng(1)
    x = np.concatenate([plan.q, plan.v], axis=-1)
    ends = d.ends(plan.t[:-1], x[:-1], plan.u)
    slopes = d.slopes(plan.t[:-1], x[:-1], ends, plan.u)
    reach, after = np.zeros((2, 50)), np.eye(2)
    for k in reversed(range(50)):
        reach[:, k] = (after @ slopes[k, :, 2:])[:, 0]
        after = after @ slopes[k, :, :2]
    way = rng.normal(size=50)
    way -= reach.T @ np.linalg.solve(reach @ reach.T, reach @ way)
    assert abs(plan.u[:, 0] @ way) < 1e-5 * np.linalg.norm(way) * np.linalg.norm(plan.u)
    # and where they end moves as these slopes say
    moved, e = rng.normal(size=50), 1e-8
    rolled = []
    for s in (1, -1):
        state = x[0]
        for k in range(50):
            state = d.ends(np.zeros(1), state[None], plan.u[k][None] + s * e * moved[k])[0, -1, : d.nx]
        rolled.append(state[d.directions])
    assert_allclose((rolled[0] - rolled[1]) / (2 * e), reach @ moved, rtol=1e-5)


def test_a_floating_base_turns_by_moving_its_limbs():
    b = kt.Builder("cat", gravity=(0, 0, 0)).body("trunk", "base", kt.Free(), mass=2.0, inertia=(0.02, 0.03, 0.04))
    for name, axis, down in (("leg", "y", -1), ("arm", "x", 1)):
        b.body(name, "trunk", kt.Revolute(axis), mass=0.4, com=(0, 0, 0.2 * down), inertia=(0.01, 0.01, 0.002))
    robot = compiled(b)
    turned = o.FrameRotation("trunk", [0.3, -0.5, 0.0], at="end", weight=10.0)
    rest = o.Velocities(at="end", joints=["leg_joint", "arm_joint"])
    plan = kt.optimize(robot, horizon=1.0, step=0.02, costs=[o.Effort(weight=1e-4), turned], limits=[rest])
    assert plan.success
    assert np.abs(plan.v[-1, -2:]).max() < 1e-5
    # nothing pushes: momentum stays zero, quaternions unit
    assert np.abs(robot.momentum(plan.q, plan.v)).max() < 2e-2
    assert_allclose(np.linalg.norm(plan.q[:, :4], axis=1), 1.0, atol=1e-12)
    # the gradient: small changes of the actions change the cost by no more than their square
    x = np.concatenate([plan.q, plan.v], axis=-1)
    d = plan.problem.dynamics
    ends = d.ends(plan.t[:-1], x[:-1], plan.u)
    slopes = d.slopes(plan.t[:-1], x[:-1], ends, plan.u)
    e, k, j = 1e-6, 7, 1
    moved = [d.ends(np.zeros(1), x[k][None], plan.u[k][None] + s * e * np.eye(2)[j])[0, -1] for s in (1, -1)]
    difference = np.concatenate([robot.difference(moved[1][:9], moved[0][:9]), moved[0][9:] - moved[1][9:]]) / (2 * e)
    assert_allclose(slopes[k, :, 16 + j], difference, atol=1e-7)


def test_what_has_no_derivative_or_no_value_is_named():
    end = [o.Positions([1.0], at="end"), o.Velocities(at="end")]
    root = o.Residual(lambda m: kt.sqrt(m.q[0] * m.q[0]), name="root")
    plan = kt.optimize(block(), horizon=0.4, step=0.02, costs=[o.Effort(), root], limits=["torques", *end])
    assert plan.status == "lost"
    assert plan.reason == "'root' has no derivative at node 0, 0 s"
    assert plan.reason in str(plan)
    near = o.Bounded(o.Residual(lambda m: 1.0 / m.q[0], name="near", at="end"), -2.0, 2.0)
    plan = kt.optimize(block(), horizon=0.4, step=0.02, costs=[o.Effort()], limits=["torques", near])
    assert plan.reason == "'near' has no value at node 20, 0.4 s"
    fine = kt.optimize(block(), horizon=0.4, step=0.02, costs=[o.Effort()], limits=["torques"])
    assert fine.success
    assert fine.reason == ""
    with pytest.raises(kt.OptionError, match="second_order is True, False or None"):
        kt.optimize(block(), horizon=0.4, step=0.02, costs=[o.Effort()], second_order="yes")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["five-bar", pytest.param("delta", marks=pytest.mark.thorough)])
def test_loops_of_planned_mechanisms_are_closed_at_every_node(name):
    robot = kt.gallery.load(name).with_backend("compiled")
    q0 = kt.gallery.start(name)
    motors = [robot.q_names.index(joint) for joint in robot.independent()]
    turned = q0[motors] + np.linspace(0.15, 0.3, len(motors))
    there = o.Residual(lambda m: [m.q[k] - x for k, x in zip(motors, turned, strict=True)], name="turned", at="end")
    plan = kt.optimize(
        robot, q0, horizon=0.4, step=0.02, costs=[o.Effort(weight=1e-2)], limits=[there, o.Velocities(at="end")]
    )
    assert plan.success, plan
    assert_allclose(plan.q[-1, motors], turned, atol=1e-5)
    assert np.abs(robot.closure_error(plan.q)).max() < 1e-10
    assert np.abs(robot.closure_error(plan.record().q)).max() < 1e-10
