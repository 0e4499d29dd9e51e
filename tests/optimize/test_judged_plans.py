"""Plans of an arm and of a leg on compliant ground, judged by Ipopt and by differences of whole motions."""

import casadi as ca
import numpy as np
from numpy.testing import assert_allclose

import kinetree as kt

o = kt.optimize


def compiled(builder):
    return kt.Robot(builder.build().model, backend="compiled")


def arm():
    b = kt.Builder("arm")
    for k, (axis, torque) in enumerate((("z", 4.0), ("y", 12.0), ("y", 6.0), ("x", 2.0))):
        b.body(
            f"link{k}", f"link{k - 1}" if k else "base", kt.Revolute(axis), position=(0, 0, 0.3), mass=1.0,
            com=(0.01, 0.0, 0.15), inertia=(0.01, 0.01, 0.003), effort_limit=torque,
        )  # fmt: skip
    return compiled(b.frame("hand", f"link{3}", (0.05, 0, 0.2)))


def test_reach_under_torque_limits_equals_ipopt():
    robot, nodes, h = arm(), 25, 0.03
    q0, goal = np.array([0.2, 0.6, 0.9, 0.0]), np.array([0.35, 0.35, 0.75])
    costs = [o.Effort(weight=1e-3), o.Velocities(weight=0.02)]
    limits = ["torques", o.FramePosition("hand", goal, at="end"), o.Velocities(at="end")]
    plan = kt.optimize(robot, q0, horizon=nodes * h, step=h, costs=costs, limits=limits, tolerance=1e-8)
    assert plan.success, plan
    assert plan.saturated
    assert_allclose(robot.pose(plan.q[-1], "hand")[:3, 3], goal, atol=1e-7)

    accelerate = kt.symbolic.function(robot, "forward_dynamics", "casadi")
    place = kt.symbolic.function(robot, "pose", "casadi", frame="hand")
    opti = ca.Opti()
    q, v, u = opti.variable(4, nodes + 1), opti.variable(4, nodes + 1), opti.variable(4, nodes)
    for k in range(nodes):
        opti.subject_to(v[:, k + 1] == v[:, k] + h * accelerate(q[:, k], v[:, k], u[:, k]))
        opti.subject_to(q[:, k + 1] == q[:, k] + h * v[:, k + 1])
        opti.subject_to(opti.bounded(-robot.effort_limits, u[:, k], robot.effort_limits))
    opti.minimize(h * (1e-3 * ca.sumsqr(u) + 0.02 * ca.sumsqr(v[:, :nodes])))
    opti.subject_to(q[:, 0] == q0)
    opti.subject_to(ca.horzcat(v[:, 0], v[:, -1]) == 0)
    opti.subject_to(place(q[:, -1])[:3, 3] == goal)
    opti.set_initial(q, plan.q.T)
    opti.set_initial(u, plan.u.T)
    opti.solver("ipopt", {"print_time": 0}, {"print_level": 0, "sb": "yes", "tol": 1e-10})
    found = opti.solve()
    assert_allclose(plan.cost, found.value(opti.f), rtol=1e-6)
    assert_allclose(plan.q, found.value(q).T, atol=2e-4)


def test_a_leg_on_compliant_ground_is_planned_through_its_contact():
    b = kt.Builder("leg").body("trunk", "base", kt.Prismatic("z"), mass=3.0, actuated=False)
    b.body(
        "thigh", "trunk", kt.Revolute("y"), mass=0.5, com=(0, 0, -0.1), inertia=(0.004, 0.004, 0.001), effort_limit=25.0
    )
    b.body(
        "shank", "thigh", kt.Revolute("y"), position=(0, 0, -0.2), mass=0.3, com=(0, 0, -0.1),
        inertia=(0.003, 0.003, 0.001), effort_limit=25.0,
    )  # fmt: skip
    robot = compiled(b.frame("foot", "shank", (0, 0, -0.2)))
    ground = kt.ground.Ground(["foot"], kt.ground.HuntCrossley(1e4, 0.5), kt.ground.PseudoCoulomb(0.7, 50.0))
    q0 = np.array([0.0, 0.5, -1.0])
    q0[0] -= robot.pose(q0, "foot")[2, 3] + 2e-3
    high = o.FramePosition("trunk", [0.0, 0.0, q0[0] + 0.25], axes="z", weight=20.0, at="end")
    costs = [o.Effort(weight=1e-4), high, o.Positions(q0, joints=["thigh_joint", "shank_joint"], weight=1e-2)]
    plan = kt.optimize(
        robot, q0, horizon=0.4, step=0.01, substeps=5, costs=costs, limits=["torques"], ground=ground, tolerance=1e-6,
        iterations=1000,
    )  # fmt: skip
    assert plan.success, plan
    assert plan.q[-1, 0] > q0[0] + 0.15  # it jumps
    assert np.abs(plan.record().contact_forces[-1]).max() == 0.0
    assert np.abs(plan.record().contact_forces[:20]).max() > 40.0
    # no small change of the actions makes it better
    world, rng = kt.World(robot, batch=2, step=0.002, substeps=5, q0=q0, ground=ground), np.random.default_rng(0)
    weights = 0.01 * np.array([1e-4, 1e-2])

    def cost(actions):
        world.reset()
        total = np.zeros(2)
        for u in np.swapaxes(actions, 0, 1):
            total += weights[0] * (u**2).sum(axis=1) + weights[1] * ((world.q - q0)[:, 1:] ** 2).sum(axis=1)
            world.step(u)
        return total + 20.0 * (world.q[:, 0] - q0[0] - 0.25) ** 2

    assert_allclose(cost(np.stack([plan.u, plan.u])), plan.cost, rtol=1e-9)
    free = (np.abs(plan.u) < 25.0) * rng.normal(size=plan.u.shape)

    def slope(u):
        up, down = cost(np.stack([u + 1e-4 * free, u - 1e-4 * free]))
        return abs(up - down) / 2e-4

    assert slope(plan.u) < 1e-3 * slope(0.95 * plan.u)
