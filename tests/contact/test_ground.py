"""Compliant ground: the sources' laws, what they may never do, and that all ways of running them agree."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import kinetree as kt
from helpers.robots import random_state, random_tree
from kinetree.contact import ground as g
from kinetree.contact.surfaces import touch
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.trace import trace
from kinetree.spatial import Vec3
from kinetree.spatial.arrays import flatten, pack, split

LAWS = {
    "firm": g.Firm(2000.0, 300.0, 0.02),
    "dusty": g.Dusty(2000.0, 300.0, 0.01),
    "hunt_crossley": g.HuntCrossley(5e4, 0.8),
    "hunt_crossley_flat": g.HuntCrossley(5e3, 0.8, exponent=1),
}
numbers = st.floats(-1.0, 1.0)


@pytest.mark.parametrize("law", [g.Firm, g.Dusty])
@pytest.mark.parametrize(("numbers", "name"), [((-5, 10, 3), "stiffness"), ((5, -1, 3), "factor"), ((5, 1, 0), "mass")])
def test_damping_of_what_cannot_be_is_refused(law, numbers, name):
    with pytest.raises(kt.ModelError, match=f"{law.__name__}: {name} must be finite and positive"):
        law.overdamped(*numbers)


def walker():
    builder = kt.Builder("walker")
    builder.body("trunk", "base", kt.Free(), mass=4.0, inertia=(0.1, 0.2, 0.15))
    builder.body(
        "leg", "trunk", kt.Revolute("y"), position=(0, 0.1, 0), mass=1.0, com=(0, 0, -0.2), inertia=(0.02,) * 3
    )
    builder.body("foot", "leg", kt.Revolute("y"), position=(0, 0, -0.4), mass=0.3, inertia=(0.01,) * 3)
    return builder.frame("sole", "foot", (0.03, 0, -0.05)).build()


def state_near_ground(rng, robot, shape=()):
    q = robot.random_configuration(rng, shape)
    q[..., 4:6], q[..., 6] = rng.uniform(-1, 1, (*shape, 2)), rng.uniform(0.0, 0.5, shape)
    return q, rng.uniform(-2, 2, (*shape, robot.nv))


# ------------------------------------------------------------------ normal laws


def test_cubic_satisfies_its_four_conditions():
    """Shah eq. D.3: c = c' = 0 at the surface, c = c_max and c' = 0 at the given depth, constant beyond."""
    law = g.Firm(1.0, 7.0, 0.04)

    def damping(depth):  # the force on the way out is k d - c |rate|; a slow rate keeps it positive
        rate = -1e-6
        return (law.force(depth, rate) - depth) / rate

    d = 0.04
    system = [[1, 0, 0, 0], [0, 1, 0, 0], [1, d, d**2, d**3], [0, 1, 2 * d, 3 * d**2]]
    a = np.linalg.solve(system, [0, 0, 7.0, 0])
    for depth in np.linspace(0.001, d, 9):
        assert damping(depth) == pytest.approx(np.polyval(a[::-1], depth), rel=1e-6)
    assert damping(1.7 * d) == pytest.approx(7.0, rel=1e-6)
    assert law.force(0.01, 0.5) == pytest.approx(0.01 + 7.0 * 0.5)


def test_damping_of_the_planar_biped():
    law = g.Firm.overdamped(2000.0, 10.0, 9.4)
    assert law.damping == pytest.approx(2742.26, abs=5e-3)  # Shah chapter 10
    # the default depth is the smallest at which nothing would pull at 4.5 m/s, without any cutting off
    depths = np.linspace(1e-6, law.depth, 2001)
    s = depths / law.depth
    raw = law.stiffness * depths - law.damping * (3 * s**2 - 2 * s**3) * 4.5
    assert raw.min() >= -1e-9
    assert raw.min() == pytest.approx(0.0, abs=1e-2 * law.stiffness * law.depth)


def test_dust_brakes_and_the_spring_lies_below():
    law = g.Dusty(2000.0, 300.0, 0.01)
    assert law.force(0.006, 0.2) == pytest.approx(60.0)  # damper only
    assert law.force(0.016, 0.2) == pytest.approx(60.0 + 12.0)
    assert law.force(0.016, -0.2) == pytest.approx(12.0)  # no damper on the way out
    assert law.force(0.006, -0.2) == 0.0
    below, above = law.force(0.01 - 1e-12, 0.2), law.force(0.01 + 1e-12, 0.2)
    assert below == pytest.approx(above, rel=1e-9)  # no jump at the bottom of the dust


@pytest.mark.parametrize("name", LAWS)
@given(depth=st.floats(-0.1, 0.1), rate=st.floats(-10.0, 10.0))
def test_never_pulls_and_never_makes_energy(name, depth, rate):
    law = LAWS[name]
    force = law.force(depth, rate)
    assert force >= 0.0
    if depth < 0.0:
        assert force == 0.0
    # what goes in is at least what is stored: F d' >= dU/dt
    if depth > 1e-6:
        h = 1e-7
        storing = (law.energy(depth + h) - law.energy(depth - h)) / (2 * h) * rate
        assert force * rate >= storing - 1e-4 * (1.0 + abs(storing))


@pytest.mark.parametrize("name", LAWS)
def test_stored_energy_is_the_integral_of_the_elastic_force(name):
    law = LAWS[name]
    depths = np.linspace(0.0, 0.05, 20001)
    work = np.trapezoid(law.force(depths, np.zeros_like(depths)), depths)
    assert law.energy(0.05) == pytest.approx(work, rel=1e-6)
    assert law.energy(-0.01) == 0.0


def test_nan_is_not_turned_into_nothing():
    for law in LAWS.values():
        assert np.isnan(law.force(math.nan, 0.0))
        both = law.force(np.array([0.01, math.nan]), np.array([0.1, 0.1]))
        assert np.isfinite(both[0])
        assert np.isnan(both[1])


def test_rebound_of_hunt_crossley():
    """The speed after a blow is 1 - 2/3 b v of the one before, to first order in b v."""
    for b in (0.02, 0.005):
        law = g.HuntCrossley(1e5, b)

        def fall(t, y, law=law):
            return [y[1], -law.force(y[0], y[1])]

        def out(t, y):
            return y[0]

        out.terminal, out.direction = True, -1
        run = solve_ivp(fall, (0, 1), [1e-12, 1.0], rtol=1e-11, atol=1e-13, events=out)
        assert -run.y[1, -1] == pytest.approx(1 - 2 / 3 * b, abs=1.0 * b * b)


# ------------------------------------------------------------------ friction


@given(vx=numbers, vy=numbers, pressure=st.floats(0.0, 500.0))
def test_friction_is_within_its_limit_and_against_the_motion(vx, vy, pressure):
    law = g.PseudoCoulomb(0.6, 900.0)
    axes = (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0))
    force = law.force(pressure, Vec3(vx, vy, 0.0), axes)
    size = math.hypot(force.x, force.y)
    assert size <= 0.6 * pressure * (1 + 1e-12)
    assert force.x * vx + force.y * vy <= 1e-12
    speed = math.hypot(vx, vy)
    limit = 0.6 * pressure
    if limit > 1e-3 and speed > 1e-9:  # Shah eq. D.5 along the sliding
        assert size == pytest.approx(limit * 2 / math.pi * math.atan(900.0 * speed / limit * math.pi / 2), rel=1e-9)
    apart = g.PseudoCoulomb(0.6, 900.0, isotropic=False).force(pressure, Vec3(vx, vy, 0.0), axes)
    if limit > 1e-3:
        for f, v in ((apart.x, vx), (apart.y, vy)):
            assert f == pytest.approx(-limit * 2 / math.pi * math.atan(900.0 * v / limit * math.pi / 2), abs=1e-9)


def test_friction_at_rest_and_in_the_air():
    law = g.PseudoCoulomb(0.7, 1000.0)
    axes = (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0))
    assert tuple(law.force(10.0, Vec3(0.0, 0.0, 0.0), axes)) == (0.0, 0.0, 0.0)
    assert np.allclose(tuple(law.force(0.0, Vec3(3.0, 0.0, 0.0), axes)), 0.0)
    slow = law.force(100.0, Vec3(1e-7, 0.0, 0.0), axes)
    assert slow.x == pytest.approx(-1e-4, rel=1e-5)  # viscous


# ------------------------------------------------------------------ surfaces


def test_plane_in_any_pose():
    plane = g.Plane((0.3, -0.2, 0.1), (1.0, 2.0, -2.0))
    gap, normal = plane.gap(Vec3(1.0, 1.0, 1.0))
    n = np.array([1, 2, -2]) / 3
    assert gap == pytest.approx(n @ (np.array([1, 1, 1]) - [0.3, -0.2, 0.1]))
    a, b = (np.array(list(t)) for t in plane.tangents(normal))
    assert np.allclose(np.column_stack([a, b, list(normal)]).T @ np.column_stack([a, b, list(normal)]), np.eye(3))
    slope = g.Plane.inclined(0.3)
    assert np.allclose(slope.normal, (math.sin(0.3), 0, math.cos(0.3)))


def test_height_field_slopes_are_exact():
    """Of a point on the surface, which is its own foot."""
    field = g.HeightField(lambda x, y: 0.1 * kt.sin(3.0 * x) * kt.cos(y) + kt.where(x > 0.2, x - 0.2, 0.0 * x))
    for x, y in ((0.4, -0.7), (0.1, 0.3)):
        height = 0.1 * math.sin(3 * x) * math.cos(y) + max(x - 0.2, 0.0)
        gap, normal = field.gap(Vec3(x, y, height + 1e-9))
        dx = 0.3 * math.cos(3 * x) * math.cos(y) + (1.0 if x > 0.2 else 0.0)
        dy = -0.1 * math.sin(3 * x) * math.sin(y)
        n = np.array([-dx, -dy, 1.0]) / math.sqrt(1 + dx * dx + dy * dy)
        assert np.allclose(list(normal), n, atol=1e-8)
        assert gap == pytest.approx(1e-9 * n[2], rel=1e-6)


def test_grid_is_the_natural_bicubic_spline():
    rng = np.random.default_rng(2)
    x, y = np.linspace(-1.0, 2.0, 7), np.linspace(0.0, 1.0, 5)
    heights = rng.normal(size=(7, 5))
    grid = g.Grid(x, y, heights)
    along = CubicSpline(x, heights, bc_type="natural")
    for px, py in rng.uniform([-1.0, 0.0], [2.0, 1.0], (20, 2)):
        h = CubicSpline(y, along(px), bc_type="natural")
        hx = CubicSpline(y, along(px, 1), bc_type="natural")
        value, dx, dy = grid._sample(px, py)
        assert np.allclose((value, dx, dy), (h(py), hx(py), h(py, 1)), atol=1e-11)
    for i in (0, 3, 6):  # through the samples, also at the border
        assert grid._sample(float(x[i]), float(y[2]))[0] == pytest.approx(heights[i, 2])
    beyond = grid._sample(5.0, 0.5)
    assert beyond[0] == pytest.approx(grid._sample(2.0, 0.5)[0])
    assert beyond[1] == 0.0


@pytest.mark.parametrize("shape", [(2, 2), (6, 4), (80, 80), (700, 300)])
@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
def test_grid_is_the_same_as_machine_code_and_on_batches(shape, single):
    """Of any size, on the lines and beyond the border, too."""
    rng = np.random.default_rng(3)
    lines = [np.arange(n) * 0.5 for n in shape]
    grid = g.Grid(*lines, rng.normal(size=shape))

    def law(p):
        gap, normal = grid.gap(Vec3(*p))
        return [gap, *normal]

    traced = trace(law, (3,), flatten)
    assert len(traced.graph) < 2000
    kernel = Kernel("grid", lambda: traced, (3,), (4,), None, ("p",), single, tables=traced.graph.tables)
    points = rng.uniform(-0.5, 0.5 * (np.array([*shape, 1.0]) + 1.0), (60, 3))
    points[:20, :2] = np.round(2.0 * points[:20, :2]) / 2.0
    points[0, :2], points[1, :2] = 0.0, [line[-1] for line in lines]
    batch = pack(law(split(points)), (60,))
    one_by_one = np.array([[float(x) for x in law([float(c) for c in p])] for p in points])
    assert np.allclose(batch, one_by_one, atol=1e-14)
    assert np.allclose(kernel(points.astype(kernel.dtype)), one_by_one, atol=2e-5 * max(shape) if single else 1e-12)
    points[7, 1] = np.nan
    found = kernel(points.astype(kernel.dtype))
    assert np.isnan(found[7]).all()
    assert np.isfinite(np.delete(found, 7, axis=0)).all()


@pytest.mark.slow
def test_robots_move_over_large_grids_as_over_the_function_they_were_made_of():
    """A hilly field of 201 x 161 heights, simulated, and in a world with derivatives of its step."""
    x, y = np.linspace(-2, 2, 201), np.linspace(-1.6, 1.6, 161)

    def hills(x, y):
        return 0.05 * kt.sin(3.0 * x) * kt.cos(2.0 * y)

    fields = [g.HeightField(hills), g.Grid(x, y, hills(x[:, None], y[None, :]))]
    grounds = [g.Ground(["ball"], g.HuntCrossley(2e4, 0.5), surface=field) for field in fields]
    b = kt.Builder("ball").body("ball", "base", kt.Free(), mass=1.0, inertia=(0.004,) * 3)
    robot = b.body("rotor", "ball", kt.Revolute("z"), mass=0.1, inertia=(0.001,) * 3).build().with_backend("compiled")
    q, v = np.array([0, 0, 0, 1, 0.3, 0.2, 0.03, 0]), np.array([0, 0, 0, 0.8, -0.5, 0, 0])
    records = [
        kt.simulate(robot, q, v, time=0.3, ground=ground, integrator="rk4", step=1e-3, samples=4) for ground in grounds
    ]
    assert np.abs(records[0].contact_forces).max() > 5.0
    assert np.allclose(records[0].q, records[1].q, atol=1e-5)
    (_, *one), (_, *other) = (
        kt.World(robot, batch=3, ground=ground, q0=q, v0=v).step_with_derivatives([0.1]) for ground in grounds
    )
    assert np.abs(one[0]).max() > 1.5  # the ground acts
    for a, b in zip(one, other, strict=True):
        assert np.allclose(a, b, rtol=0, atol=1e-4 * np.abs(a).max())


def test_ball_against_ball_and_tangents():
    ball = g.Ball(0.3, (0.1, 0.0, 0.0))
    for away in ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.3, -0.5, -0.9)):
        u = np.array(away) / np.linalg.norm(away)
        gap, normal = ball.gap(Vec3(*(np.array([0.1, 0, 0]) + 0.7 * u)))
        assert gap == pytest.approx(0.4)
        frame = np.array([list(normal), *(list(t) for t in ball.tangents(normal))])
        assert np.allclose(frame @ frame.T, np.eye(3), atol=1e-14)
        assert np.allclose(frame[0], u)
        assert np.linalg.det(frame) == pytest.approx(1.0)


# ------------------------------------------------------------------ the element on robots


GROUNDS = {
    "plane": {"surface": g.Plane((0.1, 0.2, 0.1), (0.2, -0.1, 1.0))},
    "waves": {"surface": g.HeightField(lambda x, y: 0.1 * kt.sin(3.0 * x) * kt.cos(y))},
    "carried": {"surface": g.Plane((0, 0, -0.1)), "on": "trunk"},
    "ball": {"surface": g.Ball(0.4), "on": "trunk"},
}


@pytest.mark.parametrize("which", GROUNDS)
def test_loads_have_the_work_of_the_forces_at_the_points(which):
    """Virtual work, with Jacobians found in another way: joint forces = sum of J^T f."""
    robot, rng = walker(), np.random.default_rng(5)
    spots = [*g.rectangle("sole", 0.2, 0.1), g.Spot("leg", (0, 0, -0.2), 0.05)]
    ground = g.Ground(spots, g.HuntCrossley(1e4, 0.5), g.PseudoCoulomb(0.5, 300.0, isotropic=False), **GROUNDS[which])
    met = 0
    for _ in range(12):
        q, v = state_near_ground(rng, robot)
        loads, tau, _ = ground.loads(robot.model, 0.0, list(q), list(v))
        assert tau is None
        wrenches = np.array([[0.0] * 6 if f is None else [float(x) for x in f] for f in loads])
        felt = robot.bias_force(q, v) - robot.bias_force(q, v, wrenches)
        forces = ground(robot, q, v)
        met += np.count_nonzero(np.linalg.norm(forces, axis=1))
        expected = np.zeros(robot.nv)
        for touching, at, f in zip(ground.touches(robot.model, list(q), list(v)), spots, forces, strict=True):
            world = np.array([float(x) for x in touching.point])
            for frame, sign in ((at.frame, 1.0), (ground.on, -1.0)):
                if frame is None:
                    continue
                pose = robot.pose(q, frame)
                local = pose[:3, :3].T @ (world - pose[:3, 3])
                expected += sign * robot.point_jacobian(q, frame, local).T @ f
        assert np.allclose(felt, expected, atol=1e-8 * (1 + np.abs(expected).max()))
        assert ground.power(robot.model, 0.0, list(q), list(v)) == pytest.approx(expected @ v, abs=1e-6)
        assert ground.dissipation(robot.model, 0.0, list(q), list(v)) >= -1e-9
    assert met > 5


@pytest.mark.parametrize("which", GROUNDS)
def test_machine_code_batches_and_numbers_agree(which):
    robot, rng = walker(), np.random.default_rng(6)
    ground = g.Ground(
        [*g.line("sole", 0.2), g.Spot("leg", (0, 0, -0.2), 0.05)], g.Firm(4e3, 200.0, 0.02), **GROUNDS[which]
    )
    tree, nb = robot.model, 3

    def law(q, v):
        loads, _, _ = ground.loads(tree, 0.0, q, v)
        return [[0.0] * 6 if f is None else list(f) for f in loads] + [
            [ground.power(tree, 0.0, q, v), ground.energy(tree, 0.0, q, v), 0.0, 0.0, 0.0, 0.0]
        ]

    q, v = state_near_ground(rng, robot, (30,))
    batch = pack(law(split(q), split(v)), (30,))
    kernel = Kernel(
        "g", lambda: trace(law, (tree.nq, tree.nv), flatten), (tree.nq, tree.nv), (nb + 1, 6), None, ("q", "v"), False
    )
    single = np.array([pack(law(list(a), list(b)), ()) for a, b in zip(q, v, strict=True)])
    assert np.abs(single).max() > 10.0
    assert np.allclose(batch, single, rtol=1e-12, atol=1e-9)
    assert np.allclose(kernel(q, v), single, rtol=1e-9, atol=1e-9)


def test_nan_stays_in_its_lane():
    robot = walker()
    ground = g.Ground(["sole"], g.Firm(4e3, 200.0, 0.02))
    q = np.tile(robot.neutral(), (3, 1))
    q[1, 6] = np.nan
    forces = ground(robot, q, np.zeros(robot.nv))
    assert np.isnan(forces[1]).all()
    assert np.isfinite(forces[[0, 2]]).all()


def test_parameters_in_a_batch_and_put_back():
    robot = walker()
    stiff = np.array([1e3, 2e3, 4e3])
    ground = g.Ground(["sole"], g.Firm(stiff, 200.0, 0.02), g.PseudoCoulomb(0.5, 100.0))
    named = ground.parameters(robot.model)
    assert named["stiffness"].shape == (3, 1)
    assert set(named) == {"stiffness", "damping", "depth", "friction", "sliding_damping"}
    q, v = np.tile(robot.neutral(), (3, 1)), np.zeros((3, robot.nv))
    q[:, 6] = 0.44
    forces = ground(robot, q, v)
    assert np.allclose(forces[:, 0, 2], stiff * 0.01)
    again = ground.with_parameters({"stiffness": [7e3], "friction": [0.0]})
    assert again(robot, q[0], v[0])[0, 2] == pytest.approx(70.0)
    assert again.friction.friction == 0.0


def test_two_bodies_push_each_other_equally():
    builder = kt.Builder("pair", gravity=(0, 0, 0))
    for name in ("a", "b"):
        builder.body(name, "base", kt.Free(), mass=1.5, inertia=(0.1, 0.2, 0.25))
    robot = builder.build()
    ground = g.Ground([g.Spot("a", radius=0.3)], g.HuntCrossley(1e5, 0.4), surface=g.Ball(0.2), on="b")
    q = robot.neutral()
    q[4:7], q[11:14] = (0.1, 0.0, 0.4), (0.0, 0.05, 0.0)
    v = np.random.default_rng(1).normal(size=12)
    loads, _, _ = ground.loads(robot.model, 0.0, list(q), list(v))
    wrenches = np.array([[float(x) for x in f] for f in loads])
    assert np.abs(wrenches).max() > 1.0
    a = robot.forward_dynamics(q, v, np.zeros(12), wrenches)
    assert np.allclose(robot.momentum_rate(q, v, a), 0.0, atol=1e-9)  # no net force, no net moment


def test_energy_balance_of_a_drop():
    """Shah eq. C.3: what the robot loses is what the ground takes, integrated beside the motion."""
    robot = walker()
    ground = g.Ground(g.rectangle("sole", 0.2, 0.1), g.HuntCrossley(2e5, 0.6), g.PseudoCoulomb(0.6, 400.0))
    tree, nq, nv = robot.model, robot.nq, robot.nv

    def fall(t, y):
        q, v = robot.normalize(y[:nq]), y[nq : nq + nv]
        loads, _, _ = ground.loads(tree, t, list(q), list(v))
        wrenches = np.array([[0.0] * 6 if f is None else [float(x) for x in f] for f in loads])
        a = robot.forward_dynamics(q, v, np.zeros(nv), wrenches)
        rest = [ground.power(tree, t, list(q), list(v)), ground.dissipation(tree, t, list(q), list(v))]
        return np.concatenate([robot.configuration_rate(q, v), a, rest])

    q = robot.neutral()
    q[6] = 0.47
    run = solve_ivp(fall, (0, 0.12), np.concatenate([q, np.zeros(nv + 2)]), rtol=1e-6, atol=1e-8)
    q, v = robot.normalize(run.y[:nq, -1]), run.y[nq : nq + nv, -1]
    before = robot.potential_energy(run.y[:nq, 0])
    after = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    work, lost = run.y[-2:, -1]
    assert work < -0.1
    assert after - before == pytest.approx(work, abs=1e-5)
    assert -work == pytest.approx(lost + ground.energy(tree, 0.0, list(q), list(v)), abs=1e-5)


def test_whole_body_touches_at_every_joint_and_frame():
    robot = walker()
    spots = g.whole_body(robot)
    assert {s.frame for s in spots} == {"trunk", "leg", "foot", "sole"}
    assert (0.0, 0.1, 0.0) in [s.point for s in spots if s.frame == "trunk"]
    assert len(spots) == len(set(spots)) == 6
    ground = g.Ground(spots, g.HuntCrossley(1e4, 0.5))
    q = robot.neutral()
    q[6] = -0.5
    assert np.all(ground(robot, q, np.zeros(robot.nv))[:, 2] > 0.0)


def test_feet_of_one_two_and_four_points():
    assert [s.point for s in g.line("sole", 0.15)] == [(-0.075, 0, 0), (0.075, 0, 0)]
    corners = np.array(sorted(s.point for s in g.rectangle("sole", 0.2, 0.1, center=(0.05, 0, 0))))
    assert np.allclose(corners, [(-0.05, -0.05, 0), (-0.05, 0.05, 0), (0.15, -0.05, 0), (0.15, 0.05, 0)])
    assert len(g.box("trunk", (1, 2, 3))) == 8


def test_contact_on_any_body_of_any_tree():
    """The power of the forces equals that of the loads on the bodies."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        robot = random_tree(rng, 5, floating=True)
        q, v, _ = random_state(robot, rng)
        ground = g.Ground(["f1", "b3", "f4"], g.HuntCrossley(1e3, 0.5), surface=g.Plane((0, 0, 3.0)))
        loads, _, _ = ground.loads(robot.model, 0.0, list(q), list(v))
        wrenches = np.array([[0.0] * 6 if f is None else [float(x) for x in f] for f in loads])
        zero = np.zeros(robot.nv)
        power = robot.power(q, v, zero, wrenches) - robot.power(q, v, zero)
        assert ground.power(robot.model, 0.0, list(q), list(v)) == pytest.approx(power, rel=1e-9, abs=1e-9)


def test_sets_of_the_sources():
    ground = g.from_source("planar-biped", ["sole"], 9.4)
    assert (ground.normal.stiffness, ground.friction.friction, ground.friction.sliding_damping) == (2000.0, 0.7, 1000.0)
    assert ground.normal.damping == pytest.approx(2742.26, abs=5e-3)
    assert isinstance(g.from_source("hexapod", ["sole"], 16.0, dusty=True).normal, g.Dusty)
    with pytest.raises(kt.UnknownNameError, match="quadruped"):
        g.from_source("quadrupd", ["sole"], 1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: g.Firm(-1.0, 1.0, 0.1), "stiffness must be finite and positive"),
        (lambda: g.Dusty(1.0, math.nan), "damping"),
        (lambda: g.HuntCrossley(1.0, 1.0, exponent=1.3), "exponent"),
        (lambda: g.PseudoCoulomb(-0.1), "friction"),
        (lambda: g.Plane(normal=(0, 0, 0)), "normal"),
        (lambda: g.Ball(-1.0), "radius"),
        (lambda: g.Spot("a", (0, 0)), "three finite numbers"),
        (lambda: g.Ground([], g.Firm(1, 1, 1)), "at least one"),
        (lambda: g.Ground("sole", g.Firm(1, 1, 1)), "list"),
        (lambda: g.Ground(["sole"], 3.0), "law"),
        (lambda: g.Grid([0, 1, 3], [0, 1], np.zeros((3, 2))), "even steps"),
        (lambda: g.Grid([0, 1, 2], [0, 1], np.zeros((2, 2))), "shape"),
        (lambda: g.HeightField(lambda x, y: math.sin(x)), "kinetree's sin"),
        (lambda: g.HeightField(3.0), "Grid"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(kt.KinetreeError, match=message):
        make()


def test_unknown_frame_is_named():
    with pytest.raises(kt.UnknownNameError, match="sole"):
        g.Ground(["sol"], g.Firm(1.0, 1.0, 1.0))(walker(), walker().neutral(), np.zeros(8))


def test_too_large_a_grid_for_symbols():
    casadi = pytest.importorskip("casadi")
    x, y = casadi.SX.sym("x"), casadi.SX.sym("y")
    small = g.Grid(np.arange(3.0), np.arange(4.0), np.random.default_rng(5).normal(size=(3, 4)))
    height = casadi.Function("height", [x, y], [small._sample(x, y)[0]])
    assert float(height(0.3, 1.6)) == pytest.approx(small._sample(0.3, 1.6)[0])
    grid = g.Grid(np.arange(80.0), np.arange(80.0), np.zeros((80, 80)))
    with pytest.raises(kt.UnsupportedError, match="80 x 80 heights is too large for symbols"):
        grid._sample(x, y)


def test_a_grid_beyond_what_single_precision_counts():
    with pytest.raises(kt.ModelError, match="at most 16777216 heights, not 5000 x 4000"):
        g.Grid(np.arange(5000.0), np.arange(4000.0), np.zeros((5000, 4000)))


def test_touch_moves_with_the_body_that_carries_the_surface():
    """The gap's rate is the relative velocity along the normal, against finite differences."""
    robot, rng = walker(), np.random.default_rng(8)
    from kinetree.algorithms.kinematics import poses, twists

    def met(q, v, surface):
        posed = poses(robot.model, list(q))
        moving = twists(robot.model, list(q), list(v), None, posed)
        return touch(robot.model, posed, moving, g.Spot("sole", (0.1, 0, 0), 0.05), surface, "trunk")

    for surface in (g.Ball(0.2), g.Plane((0, 0, -0.2), (0.3, 0.1, 1))):
        q, v = state_near_ground(rng, robot)
        h = 1e-6
        rate = (met(robot.integrate(q, h * v), v, surface).gap - met(robot.integrate(q, -h * v), v, surface).gap) / (
            2 * h
        )
        here = met(q, v, surface)
        assert here.velocity.dot(here.normal) == pytest.approx(rate, abs=1e-7)
