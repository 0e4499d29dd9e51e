"""Controllers: linear error dynamics against closed forms, independent formulas, limits, and machine code."""

import math
import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import kinetree as kt
from helpers.robots import arm, floating_pair, gripper, random_state, random_tree, rods
from kinetree import control as laws
from kinetree.control.driven_joints import idle_joints
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.trace import trace
from kinetree.errors import ModelError, OptionError, ShapeError, TrajectoryError, UnknownNameError
from kinetree.motion import trajectories
from kinetree.spatial import Force, Vec3

GRIP = trajectories.Cycloid([0, 0, 0, np.pi / 2], [np.pi / 3, 1.4, 1.4, 2.1], 1.0)


def panda_like():
    """Seven hinges, as an arm with a redundant joint has them."""
    builder = kt.Builder("seven")
    parent, box = "base", kt.MassProperties.box(1.5, (0.1, 0.1, 0.3), (0, 0, 0.15))
    for k, axis in enumerate("zyzyzyx"):
        builder.body(
            f"l{k}", parent, kt.Revolute(axis), position=(0, 0, 0.3 if k else 0.0), mass_properties=box,
            effort_limit=20.0 - k,
        )  # fmt: skip
        parent = f"l{k}"
    return builder.frame("hand", parent, (0.05, 0, 0.1)).build()


def run(robot, controller, q0, v0, times, rtol=1e-10):
    """The motion under a controller, integrated here with SciPy and the array path alone."""
    tree, nq, nv = robot.model, robot.nq, robot.nv
    begin = controller.initial_states(tree)

    def rate(t, y):
        q, v, z = robot.normalize(y[:nq]), y[nq : nq + nv], y[nq + nv :]
        tau, z_rate = controller.law(tree, t, list(q), list(v), list(z))
        a = robot.forward_dynamics(q, v, np.array([float(x) for x in tau]))
        return np.concatenate([robot.configuration_rate(q, v), a, np.array([float(x) for x in z_rate])])

    y0 = np.concatenate([q0, v0, begin])
    return solve_ivp(rate, (times[0], times[-1]), y0, "DOP853", times, rtol=rtol, atol=1e-11).y.T


@pytest.mark.parametrize(("kp", "kd"), [(49.0, 14.0), (200.0, 40.0)])
def test_computed_torque_makes_the_error_linear(kp, kd):
    robot = gripper()
    e0, de0 = np.array([0.2, -0.1, 0.15, 0.05]), np.array([0.5, 0.0, -0.4, 0.3])
    q, v, _ = GRIP(0.0)
    times = np.linspace(0.0, 0.6, 7)
    y = run(robot, laws.ComputedTorque(GRIP, kp, kd), q - e0, v - de0, times)
    e = GRIP(times)[0] - y[:, :4]
    t = times[:, None]
    if kd * kd == 4 * kp:  # critically damped
        expected = (e0 + (de0 + 0.5 * kd * e0) * t) * np.exp(-0.5 * kd * t)
    else:
        r1, r2 = np.roots([1.0, kd, kp])
        c1 = (de0 - r2 * e0) / (r1 - r2)
        expected = c1 * np.exp(r1 * t) + (e0 - c1) * np.exp(r2 * t)
    np.testing.assert_allclose(e, expected, atol=1e-8)


def test_critical_damping():
    assert laws.critical_damping(49.0) == 14.0
    np.testing.assert_allclose(laws.critical_damping([4.0, 200.0], 0.5), [2.0, math.sqrt(200.0)])
    with pytest.raises(OptionError, match="negative"):
        laws.critical_damping(-1.0)


def test_pd_and_pid_by_hand():
    robot = arm()
    goal = trajectories.Constant([0.1, 0.2, 0.3])
    q, v = np.array([0.3, 0.1, -0.2]), np.array([1.0, -2.0, 0.5])
    pd = laws.PD(goal, [10.0, 20.0, 30.0], 2.0)
    np.testing.assert_allclose(pd(robot, 0.0, q, v), [10, 20, 30] * (np.array([0.1, 0.2, 0.3]) - q) - 2 * v, atol=1e-14)
    pid = laws.PID(goal, 10.0, 2.0, 5.0)
    z = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(pid(robot, 0.0, q, v, z), 10 * ([0.1, 0.2, 0.3] - q) - 2 * v + 5 * z, atol=1e-14)
    _, rate = pid.law(robot.model, 0.0, list(q), list(v), list(z))
    np.testing.assert_allclose(rate, np.array([0.1, 0.2, 0.3]) - q, atol=1e-15)


def test_integral_removes_what_gravity_leaves():
    robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -0.5)).build()
    goal = trajectories.Constant([0.7])
    times = [0.0, 20.0]
    left = run(robot, laws.PD(goal, 30.0, 8.0), np.zeros(1), np.zeros(1), times)[-1, 0]
    np.testing.assert_allclose(30.0 * (0.7 - left), robot.gravity_force([left])[0], atol=1e-6)
    assert abs(left - 0.7) > 0.05
    gone = run(robot, laws.PID(goal, 30.0, 8.0, 20.0), np.zeros(1), np.zeros(1), times)[-1, 0]
    np.testing.assert_allclose(gone, 0.7, atol=1e-5)
    held = run(robot, laws.PD(goal, 30.0, 8.0) + laws.GravityCompensation(), np.zeros(1), np.zeros(1), times)
    np.testing.assert_allclose(held[-1, 0], 0.7, atol=1e-9)


def test_feedforward_on_a_fixed_base():
    robot = gripper()
    q, v, a = GRIP(0.4)
    tau = laws.Feedforward(GRIP, 5.0, 1.0)(robot, 0.4, q - 0.1, v + 0.2)
    np.testing.assert_allclose(tau, robot.inverse_dynamics(q, v, a) + 0.5 - 0.2, atol=1e-12)
    y = run(robot, laws.Feedforward(GRIP, 0.0, 0.0), *GRIP(0.0)[:2], [0.0, 0.5, 1.0])
    np.testing.assert_allclose(y[:, :4], GRIP([0.0, 0.5, 1.0])[0], atol=1e-5)  # open loop, from the exact start


class Spring:
    """A force element for tests: the trunk hangs on a spring from the world's origin."""

    def __init__(self, body):
        self.body = body

    def loads(self, tree, t, q, v, z):
        from kinetree.algorithms.kinematics import poses

        k = tree.body_index[self.body]
        pose = poses(tree, q)[k].pose
        pull = pose.unrotate(pose.translation * -40.0)
        loads = [None] * len(tree.bodies)
        loads[k] = Force(Vec3(0.0, 0.0, 0.0), pull)
        return loads, None, []

    def wrench(self, robot, q):
        pose = robot.pose(q, self.body)
        return {self.body: np.r_[0, 0, 0, -40.0 * pose[:3, :3].T @ pose[:3, 3]]}


def test_floating_base_laws_are_the_sources_equations():
    """Shah eq. 9.10, with the blocks of the mass matrix, judges eq. 9.8-9.9."""
    builder, spring = kt.Builder("hopper"), Spring("trunk")
    box = kt.MassProperties.box(1.5, (0.3, 0.2, 0.1), (0.05, 0.0, 0.02))
    builder.body("trunk", "base", kt.Free(), mass_properties=box)
    builder.body("leg", "trunk", kt.Revolute("y"), position=(-0.2, 0, 0), mass_properties=box)
    robot = builder.build()
    goal = trajectories.Sine(np.zeros(1), 1.0, 1.0)
    q, v, _ = random_state(robot, np.random.default_rng(2))
    assert [j.name for j in robot.model.driven_joints] == ["leg_joint"]
    qd, vd, ad = goal(0.3)
    alpha = ad + 49.0 * (qd - q[7:]) + 14.0 * (vd - v[6:])
    mass = robot.mass_matrix(q)
    h = robot.bias_force(q, v, spring.wrench(robot, q))
    i0, i_t0, i_t = mass[:6, :6], mass[6:, :6], mass[6:, 6:]
    back = i_t0 @ np.linalg.inv(i0)
    expected = (i_t - back @ i_t0.T) @ alpha + h[6:] - back @ h[:6]
    tau = laws.ComputedTorque(goal, 49.0, 14.0, senses=[spring])(robot, 0.3, q, v)
    np.testing.assert_allclose(tau[:6], 0.0, atol=0)
    np.testing.assert_allclose(tau[6:], expected, rtol=1e-10)
    a = robot.forward_dynamics(q, v, tau, spring.wrench(robot, q))
    np.testing.assert_allclose(a[6:], alpha, rtol=1e-9)

    feed = laws.Feedforward(goal, 3.0, 2.0, senses=[spring], q0=q[:7], v0=v[:6])
    base = feed.initial_states(robot.model)
    np.testing.assert_array_equal(base, [*q[:7], *v[:6]])
    q_other, v_other, _ = random_state(robot, np.random.default_rng(9))
    tau, z_rate = feed.law(robot.model, 0.3, list(q_other), list(v_other), list(base))
    planned_q, planned_v = np.r_[q[:7], qd], np.r_[v[:6], vd]
    a0, tau_id = robot.floating_base_inverse_dynamics(planned_q, planned_v, ad, spring.wrench(robot, planned_q))
    push = 3.0 * (qd - q_other[7:]) + 2.0 * (vd - v_other[6:])
    np.testing.assert_allclose(tau[6:], tau_id + push, rtol=1e-9)
    np.testing.assert_allclose(z_rate[7:], a0, rtol=1e-9)
    np.testing.assert_allclose(z_rate[:7], robot.configuration_rate(planned_q, planned_v)[:7], rtol=1e-9)
    assert len(tau) == 7


def test_computed_torque_with_a_ball_joint_turns_to_its_goal():
    robot = kt.Builder("ball").body(
        "head", "base", kt.Spherical(), mass=1.0, com=(0.1, 0, 0.2), inertia=(0.1, 0.2, 0.15)
    ).build()  # fmt: skip
    goal = trajectories.Rotation([0, 0, 0, 1], [0.5, 0.5, 0.5, 0.5], 1.0).held()
    q0 = robot.integrate(robot.neutral(), [0.3, -0.2, 0.5])
    y = run(robot, laws.ComputedTorque(goal, 100.0, 20.0), q0, np.zeros(3), [0.0, 2.5], 1e-8)
    assert np.linalg.norm(robot.difference(robot.normalize(y[-1, :4]), np.full(4, 0.5))) < 1e-6


def test_operational_space_error_is_linear_and_the_posture_unfelt():
    robot = panda_like()
    q0 = np.array([0.2, 0.5, -0.3, 1.1, 0.2, 0.8, 0.1])
    x0 = robot.pose(q0, "hand")[:3, 3]
    path = trajectories.Quintic(np.add(x0, [0.03, -0.02, 0.04]), np.add(x0, [0.1, 0.1, -0.1]), 0.5)
    law = laws.OperationalSpace(
        "hand", path, 100.0, 20.0, posture=np.zeros(7), posture_kp=20.0, posture_kd=5.0
    )  # fmt: skip
    times = np.linspace(0.0, 0.12, 4)
    y = run(robot, law, q0, np.zeros(7), times, 1e-7)
    e = path(times)[0] - robot.pose(y[:, :7], "hand")[:, :3, 3]
    expected = e[0] * (1.0 + 10.0 * times[:, None]) * np.exp(-10.0 * times[:, None])
    np.testing.assert_allclose(e, expected, atol=1e-6)
    q, v, _ = random_state(robot, np.random.default_rng(5))
    tau = law(robot, 0.2, q, v)
    a = robot.forward_dynamics(q, v, tau)
    x, xd, xdd = path(0.2)
    here = robot.pose(q, "hand")[:3, 3]
    jacobian = robot.jacobian(q, "hand", "aligned")[3:]
    wanted = xdd + 100.0 * (x - here) + 20.0 * (xd - jacobian @ v)
    np.testing.assert_allclose(robot.acceleration(q, v, a, "hand", "aligned", classical=True)[3:], wanted, rtol=1e-8)


def test_a_frame_on_springs_and_dampers_beside_an_unfelt_posture():
    robot, goal = panda_like(), np.array([0.3, 0.2, 1.2])
    q, v, _ = random_state(robot, np.random.default_rng(6))
    kp, kd = np.array([600.0, 1500.0, 900.0, 20.0, 30.0, 40.0]), np.array([60.0, 90.0, 70.0, 2.0, 3.0, 4.0])
    pull, drag = np.linspace(5.0, 20.0, 7), np.linspace(1.0, 3.0, 7)
    pose, jacobian = robot.pose(q, "hand"), robot.jacobian(q, "hand", "aligned")
    for n, orientation in ((3, None), (6, np.eye(3))):
        rows = np.vstack([jacobian[3:], jacobian[:3]])[:n]
        turned = 0.5 * sum(np.cross(here, there) for here, there in zip(pose[:3, :3].T, np.eye(3), strict=True))
        force = kp[:n] * np.append(goal - pose[:3, 3], turned)[:n] - kd[:n] * (rows @ v)
        options = {"kp": kp[:n], "kd": kd[:n], "orientation": orientation}
        plain = laws.CartesianImpedance("hand", trajectories.Constant(goal), **options)(robot, 0.0, q, v)
        np.testing.assert_allclose(plain, rows.T @ force + robot.gravity_force(q), rtol=1e-9, atol=1e-9)
        drawn = (
            laws.CartesianImpedance(
                "hand", trajectories.Constant(goal), **options, posture=np.zeros(7), posture_kp=pull, posture_kd=drag
            )(robot, 0.0, q, v)
            - plain
        )
        assert np.abs(drawn).max() > 0.1
        assert np.abs(rows @ np.linalg.solve(robot.mass_matrix(q), drawn)).max() < 1e-9
        left = drawn - (-pull * q - drag * v)  # which the frame's own force makes up for
        with pytest.raises(ShapeError, match=rf"kp must be one number or {n}, one per controlled direction"):
            kt.simulate(robot, time=0.1, controller=laws.CartesianImpedance(
                "hand", trajectories.Constant(goal), 9 * [1.0], 1.0, orientation
            ))  # fmt: skip
        assert np.abs(left - rows.T @ np.linalg.lstsq(rows.T, left, rcond=None)[0]).max() < 1e-9


def test_operational_space_turns_the_frame():
    robot = panda_like()
    q0 = np.array([0.2, 0.5, -0.3, 1.1, 0.2, 0.8, 0.1])
    pose = robot.pose(q0, "hand")
    from scipy.spatial.transform import Rotation

    first = Rotation.from_matrix(pose[:3, :3])
    last = first * Rotation.from_rotvec([0.3, -0.2, 0.25])
    turn = trajectories.Rotation(first.as_quat(), last.as_quat(), 1.0)
    law = laws.OperationalSpace("hand", trajectories.Constant(pose[:3, 3]), 100.0, 20.0, orientation=turn)
    y = run(robot, law, q0, np.zeros(7), [0.0, 0.4, 1.0], 1e-7)
    reached = robot.pose(y[:, :7], "hand")
    np.testing.assert_allclose(reached[:, :3, 3], pose[None, :3, 3].repeat(3, 0), atol=1e-6)
    middle = Rotation.from_quat(turn(0.4)[0]).as_matrix()
    np.testing.assert_allclose(reached[1, :3, :3], middle, atol=1e-5)
    np.testing.assert_allclose(reached[2, :3, :3], last.as_matrix(), atol=1e-5)
    keep = laws.OperationalSpace("hand", trajectories.Constant(pose[:3, 3]), 1.0, 1.0, orientation=pose[:3, :3])
    np.testing.assert_allclose(keep(robot, 0.0, q0, np.zeros(7)), robot.gravity_force(q0), atol=1e-9)


def test_table_replays_and_ends():
    robot = gripper()
    times = np.linspace(0, 1, 201)
    table = laws.TorqueTable(times, robot.inverse_dynamics(*GRIP(times)))
    y = run(robot, table, *GRIP(0.0)[:2], [0.0, 0.2], 1e-6)
    np.testing.assert_allclose(y[-1, :4], GRIP(0.2)[0], atol=1e-3)
    step = laws.TorqueTable([0.0, 1.0, 2.0], [[1.0] * 4, [2.0] * 4, [9.0] * 4], kind="step")
    at = [0.0, 0.99, 1.0, 1.5, 2.0, 3.0]  # three rows of a plan are three steps
    assert step(robot, at, np.zeros(4), np.zeros(4))[:, 0].tolist() == [1.0, 1.0, 2.0, 2.0, 9.0, 9.0]
    with pytest.raises(TrajectoryError, match="ends at t = 3"):
        step(robot, 3.5, np.zeros(4), np.zeros(4))
    assert (
        laws.TorqueTable([0, 1], np.ones((2, 4)), hold=True)(robot, 7.0, np.zeros(4), np.zeros(4)).tolist() == [1] * 4
    )


def test_saturation_by_effort_limits():
    robot = panda_like()
    strong = laws.PD(trajectories.Constant(np.full(7, 2.0)), 1000.0, 0.0)
    limited = laws.Saturated(strong)
    q = np.array([1.99, 1.99, 0, 0, 0, 5, 5.0])
    tau = limited(robot, 0.0, q, np.zeros(7))
    np.testing.assert_allclose(
        tau, np.clip(strong(robot, 0.0, q, np.zeros(7)), -robot.effort_limits, robot.effort_limits)
    )
    assert tau[2] == 18.0
    assert tau[6] == -14.0
    assert np.abs(laws.Saturated(strong, 3.0)(robot, 0.0, q, np.zeros(7))).max() == 3.0
    assert np.isnan(limited(robot, 0.0, np.full(7, np.nan), np.zeros(7))).all()


def spring_law(t, q, v):
    return [kt.where(q[k] > 0.1, -2.0 * q[k], kt.sin(t)) - 0.1 * v[k] for k in range(len(v))]


def controllers(robot):
    n = robot.nv
    goal = trajectories.Sine(np.full(n, 0.2), 0.3, 0.7)
    times = np.linspace(0, 4, 9)
    return {
        "pd": laws.PD(goal, 10.0, np.arange(1.0, n + 1)),
        "pid": laws.PID(goal, 10.0, 1.0, 2.0),
        "computed torque": laws.ComputedTorque(goal, 49.0, 14.0),
        "feedforward": laws.Feedforward(goal, 49.0, 7.0),
        "gravity": laws.GravityCompensation(),
        "operational space": laws.OperationalSpace(
            "hand", trajectories.Sine([0.3, 0.2, 0.8], 0.1, 0.5), 50.0, 10.0, orientation=np.eye(3), posture_kd=1.0,
            damping=0.05,
        ),
        "table": laws.TorqueTable(times, np.random.default_rng(0).uniform(-1, 1, (9, n))),
        "saturated": laws.Saturated(laws.PD(goal, 1e3, 1.0) + laws.PID(goal, 1.0, 1.0, 3.0), 5.0),
        "law": laws.Law(spring_law),
    }  # fmt: skip


@pytest.mark.parametrize("name", list(controllers(panda_like())))
def test_machine_code_says_the_same(name):
    robot = panda_like()
    controller = controllers(robot)[name]
    tree, rng = robot.model, np.random.default_rng(1)
    begin = controller.initial_states(tree)
    q, v, _ = random_state(robot, rng, 20)
    t, z = rng.uniform(0, 4, (20, 1)), rng.uniform(-1, 1, (20, len(begin)))
    numbers = controller.parameters(tree)
    lengths = [1, tree.nq, tree.nv, len(begin), *(x.shape[-1] for x in numbers.values())]

    def compute(t, q, v, z, *rest):
        filled = controller.with_parameters(dict(zip(numbers, rest, strict=True)))
        tau, rate = filled.law(tree, t[0], q, v, z)
        return [*tau, *rate]

    traced = trace(compute, lengths, lambda x: x)
    kernel = Kernel(name, lambda: traced, tuple(lengths), (tree.nv + len(begin),), None, tables=traced.graph.tables)
    varied = [np.broadcast_to(x, (20, x.shape[-1])) * rng.uniform(0.5, 2.0, (20, 1)) for x in numbers.values()]
    got = kernel(t, q, v, z, *varied)
    other = controller.with_parameters({k: list(np.moveaxis(x, -1, 0)) for k, x in zip(numbers, varied, strict=True)})
    np.testing.assert_allclose(got[:, : tree.nv], other(robot, t[:, 0], q, v, z), rtol=1e-9, atol=1e-9)


def test_batches_of_states_and_of_gains():
    robot = panda_like()
    q, v, _ = random_state(robot, np.random.default_rng(3), 5)
    for name, controller in controllers(robot).items():
        together = controller(robot, 1.5, q, v)
        single = np.array([controller(robot, 1.5, a, b) for a, b in zip(q, v, strict=True)])
        np.testing.assert_allclose(together, single, rtol=1e-10, atol=1e-10, err_msg=name)
    many = np.linspace(1.0, 2.0, 5)[:, None] * np.ones(7)
    goal = trajectories.Constant(np.zeros(7))
    tau = laws.PD(goal, many, 0.0)(robot, 0.0, q[0], v[0])
    np.testing.assert_allclose(tau, -many * q[0])
    assert laws.PD(goal, many, 1.0).parameters(robot.model)["kp"].shape == (5, 7)


def test_python_functions_and_spans():
    robot = gripper()
    law = laws.from_function(lambda t, q, v: -3.0 * q + t)
    np.testing.assert_allclose(law(robot, 2.0, np.ones(4), np.zeros(4)), -1.0)
    assert laws.PD(GRIP, 1.0, 1.0).span == (0.0, 1.0)
    assert laws.PD(GRIP.held(), 1.0, 1.0).span == (-math.inf, math.inf)
    assert (laws.PD(GRIP, 1, 1) + laws.GravityCompensation()).span == (0.0, 1.0)
    assert laws.Saturated(laws.TorqueTable([0, 2], np.ones((2, 4)))).span == (0.0, 2.0)


def test_joints_without_motor_and_followers():
    builder = kt.Builder("cart")
    builder.body("cart", "base", kt.Prismatic("x"), mass=1.0)
    builder.body("pole", "cart", kt.Revolute("y"), mass=0.5, com=(0, 0, 0.5), actuated=False)
    robot = builder.build()
    assert [j.name for j in idle_joints(robot.model)] == ["pole_joint"]
    goal = trajectories.Constant([0.3])
    tau = laws.ComputedTorque(goal, 9.0, 6.0)(robot, 0.0, [0.1, 0.4], [0.2, -0.5])
    assert tau[1] == 0.0
    a = robot.forward_dynamics([0.1, 0.4], [0.2, -0.5], tau)
    np.testing.assert_allclose(a[0], 9.0 * 0.2 - 6.0 * 0.2, rtol=1e-12)
    tree = random_tree(np.random.default_rng(11), 7, ["revolute", "prismatic"], followers=True)
    q, v, _ = random_state(tree, np.random.default_rng(1))
    goal = trajectories.Constant(np.zeros(tree.nv))
    tau = laws.ComputedTorque(goal, 2.0, 1.0)(tree, 0.0, q, v)
    np.testing.assert_allclose(tree.forward_dynamics(q, v, tau), -2.0 * q - v, atol=1e-8)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda r: laws.PD(trajectories.Constant([0, 0]), 1, 1)(r, 0, np.zeros(3), np.zeros(3)),
            ShapeError,
            "3 driven",
        ),
        (lambda r: laws.PD(trajectories.Constant([0, 0, 0]), [1, 2], 1)(r, 0, [0] * 3, [0] * 3), ShapeError, "kp"),
        (lambda r: laws.PD(trajectories.Constant([0, 0, 0]), np.nan, 1)(r, 0, [0] * 3, [0] * 3), OptionError, "kp"),
        (lambda r: laws.PD(GRIP, 1, 1)(gripper(), 3.0, [0] * 4, [0] * 4), TrajectoryError, "t = 3 s"),
        (lambda r: laws.Law(lambda t, q, v: [0.0])(r, 0, [0] * 3, [0] * 3), ShapeError, "returned 1"),
        (lambda r: laws.from_function(lambda t, q, v: [0.0])(r, 0, [0] * 3, [0] * 3), ShapeError, "shape"),
        (lambda r: laws.from_function(3), OptionError, "function"),
        (lambda r: laws.from_function(max) + laws.GravityCompensation(), OptionError, "inside of it"),
        (lambda r: laws.Saturated(laws.from_function(max)), OptionError, "inside of it"),
        (lambda r: laws.GravityCompensation() + 3, OptionError, "int"),
        (lambda r: laws.TorqueTable([0, 1], np.ones((2, 2)))(r, 0, [0] * 3, [0] * 3), ShapeError, "2 columns"),
        (lambda r: laws.TorqueTable([0, 1], np.ones((2, 3)), kind="spline"), UnknownNameError, "linear"),
        (lambda r: laws.ComputedTorque(GRIP, 1, 1, senses=["floor"]), OptionError, "force elements"),
        (lambda r: laws.Feedforward(GRIP, 1, 1, q0=[1], v0=[2]).initial_states(r.model), ShapeError, "q0 and v0"),
        (lambda r: laws.OperationalSpace("tool", GRIP, 1, 1), ShapeError, "3 coordinates"),
        (lambda r: laws.Saturated(laws.GravityCompensation(), -1.0)(r, 0, [0] * 3, [0] * 3), OptionError, "limit"),
        (
            lambda r: laws.OperationalSpace("nose", trajectories.Constant([0, 0, 0]), 1, 1)(
                floating_pair(), 0, floating_pair().neutral(), np.zeros(10)
            ),
            ModelError,
            "without motor",
        ),
    ],
)
def test_bad_controllers_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make(arm())


GOAL = kt.trajectories.Cycloid([0.0, 0.0], [0.5, -0.3], 1.0).held()


@pytest.mark.parametrize("wrong", ["a", None, {"elbow": 1.0}, ["1"]])
def test_gains_that_are_no_numbers_are_refused_where_they_are_given(wrong):
    goal = kt.trajectories.Constant([0.0])
    for make in (kt.control.PD, kt.control.ComputedTorque):
        with pytest.raises(kt.ShapeError, match="kd must be numbers"):
            make(goal, 1.0, wrong)
    with pytest.raises(kt.ShapeError, match="kp must be numbers"):
        kt.control.Commanded("position", kp=wrong)


def test_a_path_that_is_no_trajectory():
    with pytest.raises(kt.OptionError, match=r"trajectories\.Constant"):
        kt.control.OperationalSpace("b1", [0.0, 0.0, -1.0], 1.0, 1.0)


def test_gains_and_grounds_of_many_simulations_go_together():
    b = kt.Builder("leg").body("trunk", "base", kt.Prismatic("z"), mass=1.0, actuated=False)
    robot = b.body("foot", "trunk", kt.Prismatic("z"), mass=0.1).build()
    kp, stiffness = np.array([100.0, 200.0, 400.0]), np.array([1e3, 2e3, 5e3])
    hold = kt.trajectories.Constant([-0.5])

    def run(kp, stiffness):
        ground = kt.ground.Ground(["foot"], kt.ground.HuntCrossley(stiffness, 0.5))
        law = kt.control.PD(hold, kp, 5.0)
        return kt.simulate(
            robot, [0.5, -0.5], time=0.1, controller=law, ground=ground, integrator="rk4", step=1e-3, samples=3
        )

    together = run(kp[:, None], stiffness)
    assert together.batch == (3,)
    assert together.q[-1, 1] == pytest.approx(run(200.0, 2e3).q[-1], abs=1e-12)


def test_gains_of_many_simulations_as_the_message_says():
    kp = np.linspace(1.0, 50.0, 5)
    options = {"time": 0.05, "integrator": "rk4", "step": 0.01, "samples": 2}
    together = kt.simulate(rods(), controller=kt.control.PD(GOAL, kp[:, None], 1.0), **options)
    alone = kt.simulate(rods(), controller=kt.control.PD(GOAL, kp[3], 1.0), **options)
    assert together.q[:, 3] == pytest.approx(alone.q, abs=1e-12)


def test_the_shape_of_gains_for_many_simulations_is_said():
    """Whatever the message tells to give, shape and all, works."""
    options = {"time": 0.05, "integrator": "rk4", "step": 0.01, "samples": 2}
    for name, gains in (("kp", [np.linspace(1.0, 50.0, 5), 1.0]), ("kd", [1.0, np.linspace(1.0, 2.0, 7)])):
        n = max(map(np.size, gains))
        with pytest.raises(
            kt.ShapeError, match=rf"{name} must be .* in front; got shape \({n},\); one for each"
        ) as caught:
            kt.simulate(rods(), controller=kt.control.PD(GOAL, *gains), **options)
        advice, shape = re.search(r"simulations are (k.\[:, None\]), shape (\(\d, 1\))", str(caught.value)).groups()
        given = eval(advice, {name: max(gains, key=np.size)})  # as a user would type it
        assert str(given.shape) == shape
        told = [given if np.size(x) > 1 else x for x in gains]
        assert kt.simulate(rods(), controller=kt.control.PD(GOAL, *told), **options).batch == (n,)


def test_friction_compensation_makes_computed_torque_exact():
    robot = rods(damping=0.8, friction=0.5)
    law = kt.control.ComputedTorque(GOAL, 49.0, 14.0)
    options = {"time": 1.0, "samples": 21, "friction_speed": 0.05}
    left = kt.simulate(robot, controller=law, **options)
    exact = kt.simulate(robot, controller=law + kt.control.FrictionCompensation(friction_speed=0.05), **options)
    desired = GOAL(left.time)[0]
    assert np.abs(left.q - desired).max() > 1e-3  # friction is felt
    assert np.abs(exact.q - desired).max() < 1e-6
    assert exact.energy.friction[-1] < -0.1  # and it still acts
    with pytest.raises(kt.OptionError, match="friction_speed"):
        kt.control.FrictionCompensation(0.0)


def test_a_law_returns_one_number_for_each_freedom():
    robot = rods(2)
    for function in (lambda t, q, v: [q, 0.0], lambda t, q, v: [0.0, Vec3(*q, 0.0)], lambda t, q, v: [None, 0.0]):
        with pytest.raises(kt.KinetreeError, match="the law must return 2 numbers"):
            kt.simulate(robot, time=0.01, controller=laws.Law(function), ground=None)
    with pytest.raises(ValueError, match="lists of different lengths"):  # machine code would write beside its array
        trace(lambda q: [[q[0], q[1]], q[0]], (2,), lambda x: x)


def test_trajectories_in_a_law_are_compiled_with_it():
    robot = rods(3)
    way = trajectories.Quintic([0.0, 0.0, 0.0], [0.5, -0.3, 0.8], 0.3).held()
    gains = trajectories.sampled(np.linspace(0, 1, 5), np.random.default_rng(0).random((5, 9)))

    def law(t, q, v):
        wanted, speed, _ = way(t)
        return gains(t)[0].reshape(3, 3) @ (wanted - q) + 0.3 * (speed - v)

    assert np.array_equal(way([0.1, 0.2])[0], way(np.array([0.1, 0.2]))[0])  # a list of times is no traced time
    options = {"time": 0.5, "rtol": 1e-10, "atol": 1e-10, "samples": 11}
    compiled = kt.simulate(robot.with_backend("compiled"), controller=laws.Law(law), **options)
    python = kt.simulate(robot, controller=law, **options)
    np.testing.assert_allclose(compiled.q, python.q, atol=1e-9)
    assert abs(compiled.q[-1] - compiled.q[0]).max() > 0.01


def test_computed_torque_with_an_integral_is_of_third_order():
    """A load that nobody knows of: e'' = -kp e - kd e' - ki z - f/m, z' = e, for a batch of gains, and in samples."""
    made = kt.Builder("cart").body("cart", "base", kt.Prismatic("x"), mass=2.0).build()
    cart, ki, push = made.with_backend("compiled"), np.array([[0.0], [300.0], [1000.0]]), 6.0
    law = laws.ComputedTorque(trajectories.Constant([0.5]), 100.0, 20.0, ki=ki)
    options = {"time": 1.5, "integrator": "rk4", "step": 2e-3, "samples": [0.0, 0.3, 1.5]}
    record = kt.simulate(cart, controller=law, forces=kt.forces.JointPush("cart_joint", push), **options)
    for k, gain in enumerate(ki[:, 0]):
        rate = np.array([[0, 1, 0, 0], [-100, -20, -gain, -1], [1, 0, 0, 0], [0, 0, 0, 0]], dtype=float)
        e = [(expm(rate * t) @ [0.5, 0.0, 0.0, push / 2.0])[0] for t in record.time]
        assert np.allclose(0.5 - record.q[:, k, 0], e, rtol=0.0, atol=1e-9)
    fast = laws.Sampled(laws.ComputedTorque(trajectories.Constant([0.5]), 100.0, 20.0, ki=1000.0), 2e-3)
    options |= {"time": 0.3, "samples": [0.0, 0.3]}
    sampled = kt.simulate(cart, controller=fast, forces=kt.forces.JointPush("cart_joint", push), **options)
    assert np.allclose(sampled.q[:, 0], record.q[:2, 2, 0], atol=5e-3)


NO_GAINS = {
    "nan": np.nan, "inf": np.inf, "complex": 1j, "row": [np.nan], "array": np.array([1j]), "huge": 10**400, "set": {1},
    "ragged": [[1.0], [2.0, 3.0]],
}  # fmt: skip


@pytest.mark.parametrize("bad", NO_GAINS.values(), ids=NO_GAINS)
def test_gains_that_are_no_finite_numbers_are_refused_when_the_controller_is_made(bad):
    goal, path = trajectories.Constant([0.5]), trajectories.Constant([0.1, 0.2, 0.3])
    made = {
        "kp": [
            lambda: laws.PD(goal, bad, 1.0), lambda: laws.PID(goal, bad, 1.0, 1.0),
            lambda: laws.ComputedTorque(goal, bad, 1.0), lambda: laws.Feedforward(goal, bad, 1.0),
            lambda: laws.OperationalSpace("hand", path, bad, 1.0), lambda: laws.Commanded("position", kp=bad),
        ],
        "kd": [lambda: laws.PD(goal, 1.0, bad), lambda: laws.Commanded("velocity", kd=bad)],
        "ki": [lambda: laws.PID(goal, 1.0, 1.0, bad), lambda: laws.ComputedTorque(goal, 1.0, 1.0, ki=bad)],
    }  # fmt: skip
    for name, makers in made.items():
        for make in makers:
            with pytest.raises((OptionError, ShapeError), match=name):
                make()


@pytest.mark.parametrize("bad", [np.nan, -1.0, 0.0, 1j, "wide"])
def test_a_limit_that_is_none_is_refused_when_the_controller_is_made(bad):
    with pytest.raises((OptionError, ShapeError), match="limit"):
        laws.PID(trajectories.Constant([0.5]), 1.0, 1.0, 1.0, limit=bad)
