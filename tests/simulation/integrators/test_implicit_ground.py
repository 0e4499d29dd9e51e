"""Implicit steps on ground and stops, with wires and friction: against closed forms and dense algebra."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from kinetree.simulation.equation import Equation
from kinetree.simulation.system import DynamicSystem
from kinetree.spatial.arrays import pack

g = kt.ground
STEP = {"integrator": "implicit_euler", "step": 1e-3}


def block(**options):
    return (
        kt.Builder("block", **options)
        .body("block", "base", kt.Free(), mass=1.0, inertia=(1e-2,) * 3)
        .build()
        .with_backend("compiled")
    )


def table(loop=False):
    """A trunk on four light feet, each on a leg that a servo holds; with ``loop``, a rod between two of the feet."""
    b = kt.Builder("table").body("trunk", "base", kt.Free(), mass=10.0, inertia=(0.3, 0.3, 0.4))
    for k, (x, y) in enumerate(((0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2))):
        leg = {"mass": 0.3, "com": (0, 0, -0.2), "inertia": (2e-3,) * 3}
        b.body(f"leg{k}", "trunk", kt.Revolute("y"), position=(x, y, 0), **leg)
        b.frame(f"foot{k}", f"leg{k}", (0, 0, -0.4))
    if loop:
        b.loop("rod", "leg0", "leg2", kt.Distance(0.6), placement=(0, 0, -0.1), seat=(0, 0, -0.1))
    return b.build().with_backend("compiled")


FEET = [f"foot{k}" for k in range(4)]


def standing(robot, depth=0.0):
    q = robot.neutral()
    q[6] = 0.4 - depth
    return q


def hold(robot, kp=2000.0, kd=20.0):
    return kt.control.PD(kt.trajectories.Constant(np.zeros(4)), kp, kd)


# ------------------------------------------------------------------ what gives way


@pytest.mark.parametrize("law", [g.HuntCrossley(1e5, 0.7), g.Firm(1e5, 400.0, 0.01), g.Dusty(1e5, 300.0, 1e-4)])
@pytest.mark.parametrize("on", [None, "plate"])
def test_the_impedance_of_ground_is_the_slope_of_its_forces(law, on):
    """By velocities with friction at rest, by positions without: central differences of the joint forces."""
    b = kt.Builder("arm").body("plate", "base", kt.Prismatic("z"), mass=2.0)
    b.body("a", "base", kt.Revolute("y"), mass=1.0)
    b.body("b", "a", kt.Revolute("x"), position=(0.3, 0.1, 0), mass=1.0).frame("tip", "b", (0.1, 0.2, -0.1))
    robot = b.build().with_backend("compiled")
    q, v = np.array([0.0, 0.2, 0.1]), np.array([-0.02, 0.01, -0.02])
    x, y, z = robot.pose(q, "tip")[:3, 3]
    surface = g.Plane((x, y, z + 2e-3), (0.1, -0.2, 1.0))
    still = g.Ground([g.Spot("tip", radius=0.01)], law, None, surface, on)
    rough = g.Ground([g.Spot("tip", radius=0.01)], law, g.PseudoCoulomb(0.8, 150.0), surface, on)

    def forces(ground, q, v):
        system = DynamicSystem(robot, None, (ground,), friction=False)
        acting = system.acting(0.0, list(q), list(v), [])
        return robot.inverse_dynamics(q, np.zeros(3), np.zeros(3)) - robot.inverse_dynamics(
            q, np.zeros(3), np.zeros(3), np.array([[0.0] * 6 if f is None else pack(list(f), ()) for f in acting.loads])
        )

    def matrix(ground, q, v, which):
        gives = DynamicSystem(robot, None, (ground,), friction=False).impedance(0.0, list(q), list(v))
        gives.along = [(line, k if which else 0.0, 0.0 if which else c) for line, k, c in gives.along]
        return np.array(gives.added_mass(1.0, list(q)), dtype=float)

    h = 1e-7
    for k in range(3):
        unit = np.eye(3)[k]
        by_rate = (forces(rough, q, h * unit) - forces(rough, q, -h * unit)) / (2 * h)
        if not isinstance(law, g.Dusty) and not isinstance(law, g.Firm):  # whose damping depends on the direction
            assert np.allclose(-by_rate, matrix(rough, q, np.zeros(3), False)[:, k], rtol=1e-5, atol=1e-4)
        moving = (forces(still, q, v + h * unit) - forces(still, q, v - h * unit)) / (2 * h)
        assert np.allclose(-moving, matrix(still, q, v, False)[:, k], rtol=1e-5, atol=1e-4)
        deeper = (forces(still, q + h * unit, 0 * v) - forces(still, q - h * unit, 0 * v)) / (2 * h)
        # the lever arms change, too, and the force is some 1e-3 m of the stiffness
        assert np.allclose(-deeper, matrix(still, q, 0 * v, True)[:, k], rtol=0.05, atol=0.03 * 1e5 * 0.1)


def dense(equation, q, v, h):
    """(M + added) a = all forces - h k v, by dense algebra."""
    system, robot = equation.system, equation.robot
    tree = getattr(robot, "tree", robot)
    acting = system.acting(0.0, list(q), list(v), [])
    gives = system.impedance(0.0, list(q), list(v))
    loads = np.array([[0.0] * 6 if f is None else pack(list(f), ()) for f in acting.loads])
    right = pack(acting.total, ()) + pack(gives.push(h, list(q), list(v)), ()) - tree.bias_force(q, v, wrenches=loads)
    left = tree.mass_matrix(q) + np.array(gives.added_mass(h, list(q)), dtype=float)
    return left, right


@pytest.mark.parametrize("method", ["articulated_body", "composite_body", "udu"])
@pytest.mark.parametrize("coupled", [False, True])
def test_accelerations_ahead_are_those_of_dense_algebra(method, coupled):
    """With ground below four feet, stops, a servo; and, coupled, a spring between two feet."""
    robot, rng = table(), np.random.default_rng(3)
    ground = g.Ground(FEET, g.HuntCrossley(1e6, 0.5), g.PseudoCoulomb(0.6, 3e3))
    others = (kt.forces.PointSpring("foot0", "foot3", stiffness=1e5, damping=10.0, length=0.6),) if coupled else ()
    system = DynamicSystem(robot, hold(robot), (ground, *others), wanted_method=method, works=False)
    equation = Equation(system)
    q, v = standing(robot, 1e-3), 0.1 * rng.normal(size=robot.nv)
    q[7:] = 0.01 * rng.normal(size=4)
    a = equation.accelerations(0.0, q, v, np.zeros(0), ahead=1e-3)[0]
    assert np.allclose(a, np.linalg.solve(*dense(equation, q, v, 1e-3)), rtol=1e-9, atol=1e-9)
    free = equation.accelerations(0.0, q, v, np.zeros(0))[0]
    assert np.abs(a - free).max() > 10.0  # it does look ahead


def test_loops_on_ground_look_ahead():
    """Machine code by both ways of elimination, and the way that looks for the rank: as dense equations."""
    robot = table(loop=True)
    ground = g.Ground(FEET, g.HuntCrossley(1e6, 0.5), g.PseudoCoulomb(0.6, 3e3))
    equation = Equation(DynamicSystem(robot, hold(robot), (ground,), works=False))
    q = standing(robot, 1e-3)
    equation = equation.prepared(q)
    v = robot.project(q, 0.1 * np.random.default_rng(1).normal(size=robot.nv))[1]
    left, right = dense(equation, q, v, 1e-3)
    k, n = robot.loop_jacobian(q), robot.nv
    whole = np.block([[left, -k.T], [k, np.zeros((len(k), len(k)))]])
    wanted = np.linalg.solve(whole, np.concatenate([right, -robot.loop_drift(q, v)]))[:n]
    assert np.allclose(equation.accelerations(0.0, q, v, np.zeros(0), ahead=1e-3)[0], wanted, rtol=1e-8, atol=1e-8)
    for choice in (equation.loops, kt.simulation.elimination_order.LoopChoice(equation.loops.rows)):
        found = equation.system.closed_rate(0.0, q.tolist(), v.tolist(), [], choice, ahead=1e-3)[0]
        assert np.allclose(found, wanted, rtol=1e-8, atol=1e-8)


# ------------------------------------------------------------------ rest


@pytest.mark.parametrize("as_force", [False, True])
def test_a_slider_rests_on_a_hard_stop_as_on_a_spring(as_force):
    robot = (
        kt.Builder("slider")
        .body("m", "base", kt.Prismatic("z"), mass=1.0, lower=0.0, upper=9.0)
        .build()
        .with_backend("compiled")
    )
    stops = kt.forces.JointStops(g.HuntCrossley(1e7, 0.0, exponent=1))
    record = kt.simulate(robot, [1e-5], time=0.3, **{"forces" if as_force else "ground": stops}, **STEP)
    assert record.q.max() <= 1e-5  # it was thrown off at 1.5 m/s and more
    assert record.q[-1, 0] == pytest.approx(-9.81e-7, rel=1e-9)
    assert abs(record.v[-1, 0]) < 1e-12
    world = kt.World(robot, ground=stops, q0=[1e-5], **STEP)
    for _ in range(300):
        world.step([0.0])
    assert world.q[0, 0] == pytest.approx(-9.81e-7, rel=1e-9)


def test_a_robot_stands_still_on_hard_ground_with_stiff_friction():
    """Feet of 0.3 kg on 1e4 N s/m at 1 ms: 33 times what an explicit step can take."""
    robot = table()
    ground = g.Ground(FEET, g.HuntCrossley(1e6, 0.5, exponent=1), g.PseudoCoulomb(0.7, 1e4))
    record = kt.simulate(robot, standing(robot), time=0.4, controller=hold(robot), ground=ground, **STEP)
    weight = record.contact_forces[-20:, :, 2].sum(axis=-1) / (9.81 * robot.mass)
    assert np.allclose(weight, 1.0, atol=1e-6)
    assert np.abs(record.v[-20:]).max() < 1e-4
    servo = kt.control.Commanded("position", kp=2000.0, kd=20.0)
    start = standing(robot), np.zeros(robot.nv)
    world = kt.World(robot, action=servo, ground=ground, q0=start[0], v0=start[1], substeps=2, **STEP)
    for _ in range(200):
        world.step(np.zeros(4))
    assert np.allclose(world.q[0], record.q[-1], atol=1e-6)
    assert world.contact_forces[0, :, 2].sum() == pytest.approx(9.81 * robot.mass, rel=1e-6)


@pytest.mark.parametrize(("stiffness", "damping"), [(1e5, 1e3), (1e5, 1e5)])
def test_what_slides_stops_after_its_way(stiffness, damping):
    """v^2 / (2 mu g), also where the axes of the body are turned against the ground, and then it stands."""
    robot = block()
    turn = np.array([1.0, 2.0, 0.5]) / np.sqrt(5.25)
    for angle in (0.0, 0.7):
        q = np.array([*(turn * np.sin(angle / 2)), np.cos(angle / 2), 0.0, 0.0, 0.1])
        axes = robot.pose(q, "block")[:3, :3]
        corners = [axes.T @ (x, y, -0.1) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
        law = g.HuntCrossley(stiffness, 0.5, exponent=1)
        ground = g.Ground([g.Spot("block", tuple(c)) for c in corners], law, g.PseudoCoulomb(0.5, damping))
        record = kt.simulate(robot, q, [0, 0, 0, *axes.T[:, 0]], time=0.4, ground=ground, **STEP)
        assert record.q[-1, 4] == pytest.approx(1.0 / (2 * 0.5 * 9.81), rel=0.02)
        assert np.abs(record.v[-1]).max() < 1e-6
        assert record.contact_forces[-1, :, 2].sum() == pytest.approx(9.81, rel=1e-6)


def test_a_ball_is_carried_along_by_a_moving_plate():
    """Friction between two bodies: the ball rolls, and takes 1 / (1 + 7/2 M/m) of the plate's momentum."""
    b = kt.Builder("plate").body("plate", "base", kt.Prismatic("x"), mass=5.0)
    robot = b.body("ball", "base", kt.Free(), mass=1.0, inertia=(4e-3,) * 3).build().with_backend("compiled")
    law = g.HuntCrossley(1e6, 5.0, exponent=1)
    ground = g.Ground([g.Spot("ball", radius=0.1)], law, g.PseudoCoulomb(0.5, 1e5), on="plate")
    record = kt.simulate(robot, [0, 0, 0, 0, 1, 0, 0, 0.1], [1.0, *[0] * 6], time=0.3, ground=ground, **STEP)
    assert record.v[-1, 0] == pytest.approx(5.0 / (5.0 + 2.0 / 7.0), rel=1e-3)
    assert np.abs(record.contact_forces[-50:, 0, :2]).max() < 0.05


# ------------------------------------------------------------------ springs between points


def test_what_hangs_on_a_stiff_wire_swings():
    """A bob on 1e6 N/m at 1 ms: a pendulum. Counted at the freedoms, the wire held it across as well as along."""
    wire = kt.forces.PointSpring("base", "block", stiffness=1e6, length=1.0)
    start = [0, 0, 0, 1, np.sin(0.3), 0, -np.cos(0.3)]
    record = kt.simulate(block(), start, time=0.5, forces=wire, samples=6, **STEP)
    exact = solve_ivp(
        lambda t, x: [x[1], -9.81 * np.sin(x[0])], (0, 0.5), [0.3, 0.0], t_eval=record.time, rtol=1e-9, atol=1e-9
    )
    assert np.abs(np.arctan2(record.q[:, 4], -record.q[:, 6]) - exact.y[0]).max() < 2e-3


def test_two_bodies_on_a_stiff_wire_turn_about_each_other():
    b = kt.Builder("two", gravity=(0, 0, 0)).body("a", "base", kt.Free(), mass=1.0, inertia=(4e-3,) * 3)
    robot = b.body("b", "base", kt.Free(), mass=2.0, inertia=(4e-3,) * 3).build().with_backend("compiled")
    q, v = np.array([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1.0, 0, 0]), np.zeros(12)
    v[4], v[10] = 2.0, -1.0  # 3 rad/s about the center of mass at 2/3
    wire = kt.forces.PointSpring("a", "b", stiffness=1e6, length=1.0)
    record = kt.simulate(robot, q, v, time=0.5, forces=wire, samples=2, **STEP)
    turned = record.q[-1, 11:13] - record.q[-1, 4:6]
    assert np.arctan2(turned[1], turned[0]) == pytest.approx(-1.5, abs=5e-3)


# ------------------------------------------------------------------ friction of joints, dampers and motors


@pytest.mark.parametrize("force", [5.0, 50.0])
def test_strong_friction_of_a_light_joint_stops_it(force):
    """It turned round at every step for ever: +0.19, -0.19 m/s, with 50 N faster than it began."""
    b = kt.Builder("slider", gravity=(0, 0, 0)).body("m", "base", kt.Prismatic("x"), mass=0.013, friction=force)
    bare = (
        kt.Builder("slider", gravity=(0, 0, 0))
        .body("m", "base", kt.Prismatic("x"), mass=0.013)
        .build()
        .with_backend("compiled")
    )
    damper = kt.forces.JointSpring("m_joint", damping=lambda rate: force * kt.tanh(rate / 0.01))
    motor = kt.forces.Motor("m_joint", signal=0.0, stall_torque=1e-6, no_load_speed=1e3, rubbing=force)
    for robot, forces in ((b.build(), ()), (bare, damper), (bare, motor)):
        record = kt.simulate(robot, [0.0], [1.0], time=0.05, forces=forces, **STEP)
        assert np.all(np.diff(record.v[:, 0]) <= 0.0)
        assert abs(record.v[-1, 0]) < 1e-12
