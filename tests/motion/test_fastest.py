"""Fastest motions along paths, judged by closed forms, by TOPP-RA, and by the limits between the points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import kinetree as kt

fastest = kt.trajectories.fastest


def compiled(builder):
    return kt.Robot(builder.build().model, backend="compiled")


def block(**options):
    made = kt.Builder("block").body("block", "base", kt.Prismatic("x"), mass=2.0, joint_name="track", **options)
    return compiled(made)


def arm(**options):
    b = kt.Builder("arm")
    axes = "yyz"
    for k, (axis, torque) in enumerate(zip(axes, (60.0, 30.0, 5.0), strict=True)):
        b.body(
            f"link{k}", f"link{k - 1}" if k else "base", kt.Revolute(axis), position=(0, 0, 0.4 if k else 0),
            mass=2.0, com=(0.02, 0.01, 0.2), inertia=(0.03, 0.03, 0.01), effort_limit=torque, velocity_limit=4.0,
            **options,
        )  # fmt: skip
    return compiled(b)


WAY = np.array([[0.1, 0.6, 0.0], [0.8, -0.4, 0.7], [1.2, 0.5, -0.5], [0.3, 1.0, 0.2]])


@pytest.mark.parametrize("points", [11, 100, 1001])
def test_bang_bang(points):
    motion = fastest([[0.0], [1.0]], block(effort_limit=8.0), points=points)
    assert_allclose(motion.duration, 2.0 * np.sqrt(2.0 / 8.0), rtol=1e-12 if points % 2 else 1e-3)
    q, v, a = motion(motion.end / 4)
    assert_allclose([q[0], v[0], a[0]], [1 / 8, 1.0, 4.0], rtol=1e-9 if points % 2 else 1e-3)


def test_trapezoid_of_speed():
    motion = fastest([[0.0, 0.0], [2.0, 1.0]], velocity=[1.5, 9.0], acceleration=[3.0, 9.0], points=1001)
    assert_allclose(motion.duration, 2.0 / 1.5 + 1.5 / 3.0, rtol=1e-5)
    assert motion.duration >= 2.0 / 1.5 + 1.5 / 3.0 - 1e-12


def test_circle_is_left_to_its_centripetal_acceleration():
    # on a circle of radius r at constant speed, both joints together take v^2/r: the least of many limits on the way
    circle = kt.trajectories.Function(lambda t: [kt.cos(t), kt.sin(t)], 0.0, 6.0)
    path = kt.trajectories.spline(np.linspace(0, 6, 201), circle.states(np.linspace(0, 6, 201))[0], ends="not-a-knot")
    motion = fastest(path, acceleration=2.0, begin_speed=1.0, end_speed=1.0, points=2001)
    t = np.linspace(0.0, motion.end, 7001)
    assert np.abs(motion.states(t)[2]).max() < 2.0 * (1.0 + 1e-6)


@pytest.mark.parametrize("acceleration", [None, 20.0])
def test_limits_hold_between_the_points(acceleration):
    robot = arm(damping=0.8, friction=0.5)
    motion = fastest(WAY, robot, acceleration=acceleration, points=1001)
    q, v, a = motion.states(np.linspace(0.0, motion.end, 20_001)[1:-1])  # friction is that of motion
    tau = robot.inverse_dynamics(q, v, a, friction=True)
    use = np.abs(tau) / robot.effort_limits
    assert use.max() < 1.0 + 1e-6
    assert (np.abs(v) / robot.velocity_limits).max() < 1.0 + 1e-6
    if acceleration:
        assert np.abs(a).max() < acceleration * (1.0 + 1e-6)
    else:  # something is at its limit nearly all the time
        assert np.mean(np.maximum(use.max(axis=1), np.abs(v / 4.0).max(axis=1)) > 0.97) > 0.9


@pytest.mark.parametrize("points", [51, 301, 1001])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_limits_hold_between_the_points_of_any_path(points, seed):
    rng = np.random.default_rng(seed)
    robot = arm(damping=rng.uniform(0.0, 2.0), friction=rng.uniform(0.0, 1.0))
    motion = fastest(rng.uniform(-1.0, 1.0, (6, 3)), robot, torque=[90.0, 40.0, 5.0], points=points)
    q, v, a = motion.states(np.linspace(0.0, motion.end, 10_001)[1:-1])
    use = np.abs(robot.inverse_dynamics(q, v, a, friction=True)) / [90.0, 40.0, 5.0]
    assert max(use.max(), (np.abs(v) / 4.0).max()) < 1.0 + 1e-6
    if points > 100:
        assert np.mean(np.maximum(use.max(axis=1), np.abs(v / 4.0).max(axis=1)) > 0.95) > 0.9


def test_dense_samples_of_a_curve_with_sharp_bends():
    # knots of the spline are not among the points
    s = np.linspace(0.0, 6.0, 777)
    way = np.stack([np.cos(s), 0.6 * np.sin(s) + 0.1 * np.tanh(8.0 * np.sin(3.0 * s)), 0.5 * s / 6], axis=1)
    robot = arm(damping=0.3)
    motion = fastest(kt.trajectories.sampled(s, way), robot, torque=[200.0, 90.0, 30.0], points=1001)
    q, v, a = motion.states(np.linspace(0.0, motion.end, 50_001)[1:-1])
    use = np.abs(robot.inverse_dynamics(q, v, a, friction=True)) / [200.0, 90.0, 30.0]
    assert max(use.max(), (np.abs(v) / 4.0).max()) < 1.0 + 1e-6


def test_pendulum_by_its_energy():
    # lifted by its largest torque, then slowed down by it: speeds follow from work, the time is an integral over them
    from scipy.integrate import quad
    from scipy.optimize import brentq

    b = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -0.5), effort_limit=8.0)
    robot, way = compiled(b), 2.0
    inertia, weight, most = float(robot.mass_matrix(np.zeros(1))[0, 0]), 9.81 * 0.5, 8.0

    def lifted(s):
        return weight * (1.0 - np.cos(s))

    turn = brentq(lambda s: most * s - lifted(s) - (most * (way - s) + lifted(way) - lifted(s)), 0.1, 1.99)
    early = quad(lambda r: 2.0 * r / np.sqrt(2.0 / inertia * (most * r * r - lifted(r * r))), 0.0, np.sqrt(turn))[0]
    late = quad(
        lambda r: 2.0 * r / np.sqrt(2.0 / inertia * (most * r * r + lifted(way) - lifted(way - r * r))),
        0.0, np.sqrt(way - turn),
    )[0]  # fmt: skip
    motion = fastest([[0.0], [way]], robot, points=4001)
    assert_allclose(motion.duration, early + late, rtol=1e-4)
    assert motion.duration > early + late - 1e-9


def test_power_of_a_block():
    # with a large force, a block is left to its power on both halves of the way: m v^2 v' = P
    mass, power, way = 2.0, 5.0, 1.0
    motion = fastest([[0.0], [way]], block(effort_limit=1e3), power=power, points=4001)
    half = (9.0 * mass / (8.0 * power)) ** (1.0 / 3.0) * (way / 2.0) ** (2.0 / 3.0)
    assert_allclose(motion.duration, 2.0 * half, rtol=1e-2)  # from rest, a power gives an infinite acceleration
    assert motion.duration > 2.0 * half
    _, v, a = motion.states(np.linspace(0.0, motion.end, 9001)[1:-1])
    used = np.abs(mass * a * v)
    assert used.max() < power * (1.0 + 1e-6)
    assert np.mean(used > 0.99 * power) > 0.95
    together = fastest([[0.0], [way]], block(effort_limit=1e3), total_power=power, points=4001)
    assert_allclose(together.duration, motion.duration, rtol=1e-9)


@pytest.mark.parametrize("kind", ["power", "total_power"])
def test_powers_of_an_arm_with_friction(kind):
    robot = arm(damping=0.8, friction=0.5)
    most = {"power": np.array([30.0, 20.0, 2.0]), "total_power": 35.0}[kind]
    motion, free = fastest(WAY, robot, points=1001, **{kind: most}), fastest(WAY, robot, points=1001)
    assert motion.duration > 1.02 * free.duration
    q, v, a = motion.states(np.linspace(0.0, motion.end, 20_001)[1:-1])
    tau = robot.inverse_dynamics(q, v, a, friction=True)
    powers = tau * v if kind == "power" else (tau * v).sum(axis=1, keepdims=True)
    assert (np.abs(powers) / most).max() < 1.0 + 1e-6
    assert (np.abs(tau) / robot.effort_limits).max() < 1.0 + 1e-6
    used = np.abs(np.concatenate([powers / most, tau / robot.effort_limits, v / robot.velocity_limits], axis=1))
    assert np.mean(used.max(axis=1) > 0.98) > 0.9


def test_line_and_arc_of_a_tool():
    robot, q0 = kt.load("kuka-kr5").with_backend("compiled"), np.array([0.3, 0.6, -0.4, 0.2, 0.8, 0.1])
    here = robot.pose(q0, "link_6")
    line = kt.trajectories.Line(here, here[:3, 3] + [0.0, 0.2, 0.1], speed=0.2)
    path = kt.trajectories.ToolMotion(robot, "link_6", line, q0)
    most = 1.5 * np.abs(robot.inverse_dynamics(q0, np.zeros(6), np.zeros(6))) + 20.0
    motion = fastest(path, robot, torque=most, velocity=2.0, points=501)
    q, v, a = motion.states(np.linspace(0.0, motion.end, 2001)[1:-1])
    use = np.abs(robot.inverse_dynamics(q, v, a, friction=True)) / most
    assert max(use.max(), np.abs(v).max() / 2.0) < 1.0 + 1e-6
    assert np.mean(np.maximum(use.max(axis=1), np.abs(v).max(axis=1) / 2.0) > 0.97) > 0.95
    ways = robot.pose(q, "link_6")[:, :3, 3] - here[:3, 3]
    assert np.abs(np.cross(ways, [0.0, 0.2, 0.1])).max() < 1e-9


def test_as_fast_as_toppra():
    toppra = pytest.importorskip("toppra")
    from toppra import algorithm, constraint

    robot, most = arm(), np.array([60.0, 30.0, 5.0])
    ways = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(WAY, axis=0), axis=1))])
    path = toppra.SplineInterpolator(ways, WAY, bc_type="natural")
    torque = constraint.JointTorqueConstraint(
        lambda q, v, a: robot.inverse_dynamics(np.asarray(q), np.asarray(v), np.asarray(a)),
        np.stack([-most, most], axis=1), np.zeros(3), discretization_scheme=constraint.DiscretizationType.Interpolation,
    )  # fmt: skip
    speed = constraint.JointVelocityConstraint(np.full((3, 2), 4.0) * [-1, 1])
    grid = np.linspace(0.0, ways[-1], 1001)
    judge = algorithm.TOPPRA([speed, torque], path, gridpoints=grid, solver_wrapper="seidel")
    rates = judge.compute_parameterization(0.0, 0.0)[1]
    motion = fastest(WAY, robot, points=1001)
    assert_allclose(motion.duration, (2.0 * np.diff(grid) / (rates[1:] + rates[:-1])).sum(), rtol=1e-4)
    middle = slice(20, -20)
    assert_allclose(motion.speed[middle], np.interp(motion.s, grid, rates)[middle], rtol=2e-2)


def test_many_paths_are_found_one_by_one():
    robot, rng = arm(), np.random.default_rng(2)
    ways = [WAY + 0.1 * rng.normal(size=WAY.shape) for _ in range(5)]
    together = fastest(ways, robot, points=101)
    for k, way in enumerate(ways):
        alone = fastest(way, robot, points=101)
        assert_allclose(together.duration[k], alone.duration, rtol=1e-12)
        assert_allclose(together[k].states(0.3), alone.states(0.3), rtol=1e-9, atol=1e-12)


def test_mechanism_keeps_the_limits_of_its_motor():
    four_bar = kt.load("four-bar").with_backend("compiled")
    q0 = four_bar.assembled()
    turned = q0[0] + np.linspace(0.0, 0.8, 41)
    closed = [q0]
    for angle in turned[1:]:
        closed.append(four_bar.close(closed[-1], fixed={"crank_joint": angle}))
    path = kt.trajectories.spline(turned - q0[0], np.array(closed), ends="not-a-knot", degree=5)
    motor = four_bar.joint_names.index("crank_joint")
    most = np.full(3, np.inf)
    most[motor] = 1.5 * np.abs(four_bar.inverse_dynamics(np.array(closed), np.zeros((41, 3)), np.zeros((41, 3)))).max()
    motion = fastest(path, four_bar, torque=most, points=401)
    q, v, a = motion.states(np.linspace(0.0, motion.end, 301))
    tau = four_bar.inverse_dynamics(q, v, a, tolerance=1e-5)
    assert np.abs(tau[:, motor]).max() < most[motor] * (1.0 + 1e-4)
    assert np.mean(np.abs(tau[:, motor]) > 0.99 * most[motor]) > 0.9


def test_what_cannot_be_is_said():
    weak = block(effort_limit=8.0)
    with pytest.raises(kt.OptionError, match="nothing limits the motion"):
        fastest([[0.0], [1.0]])
    with pytest.raises(kt.OptionError, match="torques need the robot"):
        fastest([[0.0], [1.0]], torque=1.0)
    with pytest.raises(kt.ShapeError, match="the robot has 1"):
        fastest([[0.0, 1.0], [1.0, 1.0]], weak)
    with pytest.raises(kt.TrajectoryError, match="stands still at its parameter 0"):
        fastest(kt.trajectories.Quintic([0.0], [1.0], 1.0), weak)
    with pytest.raises(kt.TrajectoryError, match="lower begin_speed"):
        fastest([[0.0], [1.0]], weak, begin_speed=30.0)
    with pytest.raises(kt.OptionError, match="point 1 of the path is the same"):
        fastest([[0.0], [0.0]], weak)
    lifted = [[np.pi / 2, 0.0, 0.0], [np.pi / 2, 0.3, 0.0]]
    strong = [[0.0, 0.0, 0.0], [0.2, 0.1, 0.1]]
    with pytest.raises(kt.TrajectoryError, match=r"link0_joint cannot stand still .* at s = 0: it takes \d+ %"):
        fastest(lifted, arm(), torque=10.0)
    both = fastest([lifted, strong], arm(), torque=10.0, points=51)
    assert np.isnan(both.duration[0])
    assert both.duration[1] == pytest.approx(fastest(strong, arm(), torque=10.0, points=51).duration, rel=1e-12)
    assert list(both.reasons) == [0]
    with pytest.raises(kt.TrajectoryError, match="cannot stand still"):
        both[0]
